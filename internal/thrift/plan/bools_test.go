package plan_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift"
)

// TestOddBoolsAreFalseForAll sends bools that are neither 0 nor 1 wherever a bool can
// be: they are false to us, and must be so to whoever gets what is passed on.
func TestOddBoolsAreFalseForAll(t *testing.T) {
	type known struct {
		Bool  bool                        `thrift:"bool,1"`
		Opt   *bool                       `thrift:"opt,2,optional"`
		List  []bool                      `thrift:"list,3"`
		Set   thrift.Set[bool]            `thrift:"set,4"`
		Map   map[bool]bool               `thrift:"map,5"`
		Lists [][]bool                    `thrift:"lists,6"`
		Pairs thrift.Pairs[[]bool, bool]  `thrift:"pairs,7"`
		Deep  map[int8]map[int64][][]bool `thrift:"deep,8"`
		Inner *known                      `thrift:"inner,9"`
		Inn   []*known                    `thrift:"inn,10"`
		Rest  thrift.Unknown
	}
	type stranger struct {
		Rest thrift.Unknown
	}
	yes := true
	msg := known{Bool: true, Opt: &yes, List: []bool{true, false, true, true, true, true, true, true, true, true}, Set: thrift.Set[bool]{true}, Map: map[bool]bool{true: true},
		Lists: [][]bool{{}, {true, true}}, Pairs: thrift.Pairs[[]bool, bool]{{Key: []bool{true}, Value: true}}, Deep: map[int8]map[int64][][]bool{1: {2: {{true}}}}}
	msg.Inn = []*known{{Bool: true}, {List: []bool{true}}}
	msg.Inner = &known{Bool: true, Inner: &known{List: []bool{true}}}
	body := thrifttest.Encode(t, &msg)
	// Bytes of 1 that are a bool are found by what changes when they do.
	odd := 0
	for o := range body {
		for _, v := range []byte{2, 0x80, 0xff} {
			p := bytes.Clone(body)
			p[o] = v
			if n, err := raw.SkipStruct(p, 64); err != nil || n != len(p) || bytes.Equal(thrifttest.Tamed(p), p) {
				continue // no bool
			}
			odd++
			want := thrifttest.Tamed(p)
			var m known
			if err := thrifttest.Decode(p, &m); err != nil {
				t.Fatal(err)
			}
			var s stranger
			if err := thrifttest.Decode(p, &s); err != nil {
				t.Fatal(err)
			}
			if got := thrifttest.Encode(t, &s); !bytes.Equal(got, want) {
				t.Fatalf("byte %d is %#x: an Unknown passes on %x; want %x", o, v, got, want)
			}
			var out buf.Out
			if err := (thrift.Compact{}).Append(&out, &s); err != nil {
				t.Fatal(err)
			}
			var back stranger // what Compact has no place for, the types of empty maps, is lost
			err := thrift.Compact{}.Decode(buf.ViewOf(out.Bytes()), &back, nil)
			var same known
			if err == nil {
				err = thrifttest.Decode(thrifttest.Encode(t, &back), &same)
			}
			if err != nil || !reflect.DeepEqual(same, m) || !bytes.Equal(thrifttest.Encode(t, &back), thrifttest.Tamed(thrifttest.Encode(t, &back))) {
				t.Fatalf("byte %d is %#x: through Compact: %+v, %v; want %+v", o, v, same, err, m)
			}
			out.Reset()
		}
	}
	if odd < 3*20 {
		t.Errorf("only %d places were tried", odd)
	}
}
