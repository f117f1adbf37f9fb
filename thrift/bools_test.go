package thrift_test

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/lazy"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/thrift"
)

// tamed gives a copy of a whole message in which each bool is 0 or 1, the plain way.
func tamed(body []byte) []byte {
	body = bytes.Clone(body)
	var value func(o int, t raw.Type) int
	elems := func(o, n int, types ...raw.Type) int {
		for range n {
			for _, t := range types {
				o = value(o, t)
			}
		}
		return o
	}
	value = func(o int, t raw.Type) int {
		count := func(at int) int { return int(binary.BigEndian.Uint32(body[at:])) }
		switch t {
		case raw.TypeBool:
			if body[o] > 1 {
				body[o] = 0
			}
			return o + 1
		case raw.TypeStruct:
			for body[o] != 0 {
				o = value(o+3, raw.Type(body[o]))
			}
			return o + 1
		case raw.TypeList, raw.TypeSet:
			return elems(o+5, count(o+1), raw.Type(body[o]))
		case raw.TypeMap:
			return elems(o+6, count(o+2), raw.Type(body[o]), raw.Type(body[o+1]))
		}
		n, err := raw.Skip(body[o:], t, 64)
		if err != nil {
			panic(err)
		}
		return o + n
	}
	value(0, raw.TypeStruct)
	return body
}

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
	body := encode(t, &msg)
	// Bytes of 1 that are a bool are found by what changes when they do.
	odd := 0
	for o := range body {
		for _, v := range []byte{2, 0x80, 0xff} {
			p := bytes.Clone(body)
			p[o] = v
			if n, err := raw.SkipStruct(p, 64); err != nil || n != len(p) || bytes.Equal(tamed(p), p) {
				continue // no bool
			}
			odd++
			want := tamed(p)
			var m known
			if err := decode(p, &m); err != nil {
				t.Fatal(err)
			}
			var s stranger
			if err := decode(p, &s); err != nil {
				t.Fatal(err)
			}
			if got := encode(t, &s); !bytes.Equal(got, want) {
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
				err = decode(encode(t, &back), &same)
			}
			if err != nil || !reflect.DeepEqual(same, m) || !bytes.Equal(encode(t, &back), tamed(encode(t, &back))) {
				t.Fatalf("byte %d is %#x: through Compact: %+v, %v; want %+v", o, v, same, err, m)
			}
			out.Reset()
		}
	}
	if odd < 3*20 {
		t.Errorf("only %d places were tried", odd)
	}
}

// TestOddBoolsInViews does so for views: of known fields in order and not, of
// elements, of fields that the view does not know, and of a view in a message.
func TestOddBoolsInViews(t *testing.T) {
	odd := 0
	for seed := range uint64(60) {
		r, msg := randomEverything(seed, 77)
		body := encode(t, msg)
		if seed%2 == 0 {
			body = r.mixed(t, body)
		}
		for try := 0; try < 4000 && odd < 20*int(seed+1); try++ {
			p := bytes.Clone(body)
			o := r.IntN(len(p))
			if p[o] > 1 {
				continue
			}
			p[o] = byte(2 + r.IntN(254))
			if n, err := raw.SkipStruct(p, 64); err != nil || n != len(p) || bytes.Equal(tamed(p), p) {
				continue
			}
			x, err := thrift.OpenLazy[lazy.LazyEverything](buf.ViewOf(p), generous)
			if err != nil {
				continue // the view knows it with another type
			}
			odd++
			want := tamed(p)
			if got := encode(t, x); !bytes.Equal(got, want) {
				t.Fatalf("seed %d, byte %d: a view passes on %x; want %x", seed, o, got, want)
			}
			older, err := thrift.OpenLazy[lazy.LazyOlder](buf.ViewOf(p), generous)
			if err != nil {
				t.Fatal(err)
			}
			if got := encode(t, older); !bytes.Equal(got, want) {
				t.Fatalf("seed %d, byte %d: a view that does not know it passes on %x; want %x", seed, o, got, want)
			}
			type args struct {
				Msg *lazy.LazyEverything `thrift:"msg,1"`
			}
			framed := append(append([]byte{12, 0, 1}, p...), 0)
			var a args
			if err := (thrift.Binary{}).Decode(buf.ViewOf(framed), &a, generous); err != nil {
				t.Fatal(err)
			}
			if got := encode(t, &a); !bytes.Equal(got, tamed(framed)) {
				t.Fatalf("seed %d, byte %d: an argument passes on %x; want %x", seed, o, got, tamed(framed))
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
		body := encode(t, &msg)
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
				if got := encode(t, x); !bytes.Equal(got, tamed(p)) {
					t.Fatalf("byte %d is %#x: %x is passed on; want %x", o, v, got, tamed(p))
				}
			}
		}
	}
}
