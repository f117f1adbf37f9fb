package shape_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// FuzzDecode gives the decoder anything. What it takes must be a struct for
// the skipper too, and must come back the same after being encoded.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(10) {
		r := &thrifttest.Filler{Rand: rand.New(rand.NewPCG(seed, 7)), Depth: 4}
		msg := new(thrifttest.Everything)
		r.Fill(reflect.ValueOf(msg).Elem(), true, false)
		for body := thrifttest.Encode(f, msg); len(body) > 1; {
			n, err := raw.Skip(body[3:], raw.Type(body[0]), 64)
			if err != nil {
				f.Fatal(err)
			}
			// Each field is a message of its own: small seeds mutate best.
			if n < 300 {
				f.Add(append(bytes.Clone(body[:3+n]), 0))
			}
			body = body[3+n:]
		}
	}
	f.Add(thrifttest.Encode(f, &thrifttest.Tree{Children: []*thrifttest.Tree{{Value: 1}}, Either: &thrifttest.EitherList{List: []thrifttest.Either{&thrifttest.EitherText{Text: "x"}}}}))
	lim := rpc.Limits{}.WithDefaults()
	f.Fuzz(func(t *testing.T, body []byte) {
		saved := bytes.Clone(body)
		for _, fresh := range []func() any{func() any { return new(thrifttest.Everything) }, func() any { return new(thrifttest.Tree) }, func() any { return new(thrifttest.Bomb) }, func() any { return new(thrifttest.Defaults) }} {
			msg := fresh()
			err := thrift.Binary{}.Decode(buf.ViewOf(body), msg, lim)
			if !bytes.Equal(body, saved) {
				t.Fatal("the body was written to")
			}
			if err != nil {
				var syntax *thrift.SyntaxError
				if !errors.As(err, &syntax) || rpc.CodeOf(err) != rpc.InvalidArgument || syntax.Offset < 0 || syntax.Offset > len(body) {
					t.Fatalf("%T: %v", msg, err)
				}
				continue
			}
			if n, err := raw.SkipStruct(body, lim.Depth); err != nil || n != len(body) {
				t.Fatalf("%T was decoded, but skipped: %d of %d, %v", msg, n, len(body), err)
			}
			var out buf.Out
			if err := (thrift.Binary{}).Append(&out, msg); err != nil {
				// A struct field that was set and a union without a variant
				// cannot be written as elements.
				var typ *thrift.TypeError
				if !errors.As(err, &typ) || typ.Why != "is nil" {
					t.Fatalf("%T: %v", msg, err)
				}
				out.Reset()
				continue
			}
			again, first := fresh(), out.Bytes()
			out.Reset()
			// What was taken from a message at the limit may be larger when it
			// is written: fields of empty containers are added.
			if err := (thrift.Binary{}).Decode(buf.ViewOf(first), again, lim); err != nil {
				t.Fatalf("%T: decoded, encoded, and not decoded again: %v", msg, err)
			}
			if err := (thrift.Binary{}).Append(&out, again); err != nil || out.Len() != len(first) {
				t.Fatalf("%T: %d bytes became %d, %v", msg, len(first), out.Len(), err)
			}
			out.Reset()
		}
	})
}

// FuzzRoundTrip makes messages from seeds: the encoder has no limits to hide
// behind.
func FuzzRoundTrip(f *testing.F) {
	f.Add(uint64(1), 0)
	f.Fuzz(func(t *testing.T, seed uint64, depth int) {
		r := &thrifttest.Filler{Rand: rand.New(rand.NewPCG(seed, 3)), Depth: max(1, min(depth, 6))}
		want, got := new(thrifttest.Everything), new(thrifttest.Everything)
		r.Fill(reflect.ValueOf(want).Elem(), true, false)
		if err := thrifttest.Decode(thrifttest.Encode(t, want), got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v", err)
		}
	})
}
