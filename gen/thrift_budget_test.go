package gen_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/kinds"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// TestDefaultsAreCharged sends structs of one byte whose defaults take hundreds,
// and as many bytes again to raise the budget.
func TestDefaultsAreCharged(t *testing.T) {
	const n = 1 << 17
	filled := func(body []byte) []byte {
		body = binary.BigEndian.AppendUint32(append(body, 11, 0, 99), n)
		return append(append(body, make([]byte, n)...), 0)
	}
	list := binary.BigEndian.AppendUint32([]byte{15, 0, 1, 12}, n)
	repeat := []byte{}
	for range n / 4 {
		repeat = append(repeat, 12, 0, 2, 0)
	}
	for name, body := range map[string][]byte{"a list": filled(append(list, make([]byte, n)...)), "a field again and again": filled(repeat)} {
		for _, c := range []thrift.Binary{{}, {Plan: true}} {
			var err error
			spent := thrifttest.Allocated(func() { err = c.Decode(buf.ViewOf(body), new(kinds.Bags), nil) })
			allowed := rpc.Limits{}.WithDefaults().DecodeBudget(len(body)) + 1<<10 // the error
			var syntax *thrift.SyntaxError
			if !errors.As(err, &syntax) || syntax.Why != "takes more memory than its size allows" || spent > allowed {
				t.Errorf("%s, plan %v: %v, %d bytes were allocated; allowed are %d", name, c.Plan, err, spent, allowed)
			}
		}
	}
	got := new(kinds.Bags)
	if err := (thrift.Binary{}).Decode(buf.ViewOf([]byte{12, 0, 2, 0, 0}), got, nil); err != nil || got.One.Counts["j"] != 10 || got.Other != nil {
		t.Errorf("an honest message: %+v, %v", got, err)
	}
}

// TestDecodeReplacesGenerated decodes an empty message into one that was used.
func TestDecodeReplacesGenerated(t *testing.T) {
	done := 0
	for _, kind := range generated() {
		want := fresh(kind)
		if (thrift.Binary{}).Decode(buf.ViewOf([]byte{0}), want, nil) != nil {
			continue // it has required fields
		}
		for seed := range uint64(10) {
			f, used := filler{r: rand.New(rand.NewPCG(seed, 9)), most: 3}, fresh(kind)
			f.fill(reflect.ValueOf(used).Elem(), 3)
			if err := (thrift.Binary{}).Decode(buf.ViewOf([]byte{0}), used, nil); err != nil || !reflect.DeepEqual(used, want) {
				t.Fatalf("%T, seed %d: %v is left, %v", kind, seed, used, err)
			}
		}
		done++
	}
	if done < 10 {
		t.Errorf("only %d types were tried", done)
	}
}
