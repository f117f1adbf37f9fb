package lazy_test

import (
	"bytes"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/lazy"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift"
)

// TestOddBoolsInViews does so for views: of known fields in order and not, of
// elements, of fields that the view does not know, and of a view in a message.
func TestOddBoolsInViews(t *testing.T) {
	odd := 0
	for seed := range uint64(60) {
		r, msg := randomEverything(seed, 77)
		body := thrifttest.Encode(t, msg)
		if seed%2 == 0 {
			body = r.Mixed(t, body)
		}
		for try := 0; try < 4000 && odd < 20*int(seed+1); try++ {
			p := bytes.Clone(body)
			o := r.IntN(len(p))
			if p[o] > 1 {
				continue
			}
			p[o] = byte(2 + r.IntN(254))
			if n, err := raw.SkipStruct(p, 64); err != nil || n != len(p) || bytes.Equal(thrifttest.Tamed(p), p) {
				continue
			}
			x, err := thrift.OpenLazy[lazy.LazyEverything](buf.ViewOf(p), thrifttest.Generous())
			if err != nil {
				continue // the view knows it with another type
			}
			odd++
			want := thrifttest.Tamed(p)
			if got := thrifttest.Encode(t, x); !bytes.Equal(got, want) {
				t.Fatalf("seed %d, byte %d: a view passes on %x; want %x", seed, o, got, want)
			}
			older, err := thrift.OpenLazy[lazy.LazyOlder](buf.ViewOf(p), thrifttest.Generous())
			if err != nil {
				t.Fatal(err)
			}
			if got := thrifttest.Encode(t, older); !bytes.Equal(got, want) {
				t.Fatalf("seed %d, byte %d: a view that does not know it passes on %x; want %x", seed, o, got, want)
			}
			type args struct {
				Msg *lazy.LazyEverything `thrift:"msg,1"`
			}
			framed := append(append([]byte{12, 0, 1}, p...), 0)
			var a args
			if err := (thrift.Binary{}).Decode(buf.ViewOf(framed), &a, thrifttest.Generous()); err != nil {
				t.Fatal(err)
			}
			if got := thrifttest.Encode(t, &a); !bytes.Equal(got, thrifttest.Tamed(framed)) {
				t.Fatalf("seed %d, byte %d: an argument passes on %x; want %x", seed, o, got, thrifttest.Tamed(framed))
			}
		}
	}
	if odd < 500 {
		t.Errorf("only %d places were tried", odd)
	}
}

type fourBools struct {
	A bool  `thrift:"a,1"`
	B bool  `thrift:"b,2"`
	C int8  `thrift:"c,3"`
	D bool  `thrift:"d,4"`
	E bool  `thrift:"e,5"`
	F int64 `thrift:"f,6"`
	G bool  `thrift:"g,7"`
}

type lazyFourBools struct {
	_ [0]fourBools
	thrift.Lazy
}

// TestOddBoolsOfOneRun has several bools beside each other, which are looked at at once.
func TestOddBoolsOfOneRun(t *testing.T) {
	for n := range 1 << 5 {
		msg := fourBools{n&1 != 0, n&2 != 0, 7, n&4 != 0, n&8 != 0, 1 << 40, n&16 != 0}
		body := thrifttest.Encode(t, &msg)
		for o := range body {
			for _, v := range []byte{2, 255} {
				p := bytes.Clone(body)
				p[o] = v
				if n, err := raw.SkipStruct(p, 64); err != nil || n != len(p) {
					continue
				}
				x, err := thrift.OpenLazy[lazyFourBools](buf.ViewOf(p), nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := thrifttest.Encode(t, x); !bytes.Equal(got, thrifttest.Tamed(p)) {
					t.Fatalf("byte %d is %#x: %x is passed on; want %x", o, v, got, thrifttest.Tamed(p))
				}
			}
		}
	}
}
