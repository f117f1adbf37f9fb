package plan_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/invariant"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

func TestCompactRandomRoundTrips(t *testing.T) {
	for seed := range uint64(300) {
		r := &thrifttest.Filler{Rand: rand.New(rand.NewPCG(seed, 0))}
		want, got := new(thrifttest.Everything), new(thrifttest.Everything)
		r.Fill(reflect.ValueOf(want).Elem(), true, false)
		body := thrifttest.Compact(t, want)
		if n, err := (raw.Compact{}).SkipStruct(append(bytes.Clone(body), 9), 64); n != len(body) || err != nil {
			t.Fatalf("seed %d: skip: %d of %d, %v", seed, n, len(body), err)
		}
		s := raw.Skipper{Compact: true}
		for have := 0; ; {
			done, n, err := s.Feed(body[:have:have])
			if err != nil || !done && (n <= have || n > len(body)) || done && n != len(body) {
				t.Fatalf("seed %d: skipper at %d of %d: %v, %d, %v", seed, have, len(body), done, n, err)
			}
			if done {
				break
			}
			have = min(len(body), max(n, have+r.IntN(200)))
		}
		if err := thrifttest.DecodeCompact(body, got); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: decoded\n%.2000v; want\n%.2000v", seed, got, want)
		}
	}
}

// TestCompactBytes holds each kind against bytes that were written by hand
// from the specification.
func TestCompactBytes(t *testing.T) {
	type M = map[string]int32
	for _, tt := range []struct {
		name string
		msg  any
		hex  string
	}{
		{"bools are in their headers", &struct {
			A bool  `thrift:"a,1"`
			B bool  `thrift:"b,2"`
			C *bool `thrift:"c,3,optional"`
			D *bool `thrift:"d,4,optional"`
			E *bool `thrift:"e,20,optional"`
		}{true, false, new(true), nil, new(false)}, "11 12 11 0228 00"}, // 20 is 17 from 3
		{"i8", &struct {
			A int8 `thrift:"a,1"`
		}{-2}, "13fe 00"},
		{"numbers", &struct {
			A int16 `thrift:"a,1"`
			B int32 `thrift:"b,2"`
			C int64 `thrift:"c,3"`
			D int64 `thrift:"d,4"`
		}{-2, 50399, math.MinInt64, 63}, "1403 15be9306 16ffffffffffffffffff01 167e 00"},
		{"ids", &struct {
			A int8 `thrift:"a,15"`
			B int8 `thrift:"b,30"`
			C int8 `thrift:"c,46"`
			D int8 `thrift:"d,32767"`
			E int8 `thrift:"e,-1"`
			F int8 `thrift:"f,0"`
			G int8 `thrift:"g,3"`
		}{}, "f300 f300 035c00 03feff0300 030100 1300 3300 00"},
		{"double", &struct {
			A float64 `thrift:"a,1"`
		}{1}, "17 000000000000f03f 00"},
		{"string, binary", &struct {
			A string `thrift:"a,1"`
			B []byte `thrift:"b,2"`
			C []byte `thrift:"c,3"`
			D []byte `thrift:"d,4,optional"`
		}{"abc", []byte{1, 2}, nil, nil}, "1803616263 18020102 1800 00"},
		{"uuid", &struct {
			A thrift.UUID `thrift:"a,1"`
		}{thrift.UUID{0, 0x11, 15: 0xff}}, "1d 00110000000000000000000000 0000ff 00"},
		{"structs count their ids anew", &struct {
			A *thrifttest.Leaf `thrift:"a,1"`
			B *thrifttest.Leaf `thrift:"b,2"`
			C *thrifttest.Leaf `thrift:"c,3"`
		}{&thrifttest.Leaf{ID: 1}, nil, &thrifttest.Leaf{}}, "1c 1602 1800 00 2c 1600 1800 00 00"},
		{"lists", &struct {
			A []int32   `thrift:"a,1"`
			B []bool    `thrift:"b,2"`
			C []int8    `thrift:"c,3"`
			D []float64 `thrift:"d,4"`
			E []string  `thrift:"e,5,optional"`
		}{[]int32{1, -1}, []bool{true, false}, make([]int8, 15), nil, nil},
			"19 25 02 01 19 21 01 02 19 f30f 000000000000000000000000000000 19 07 00"},
		{"sets", &struct {
			A thrift.Set[string]                  `thrift:"a,1"`
			B thrift.Set[thrift.Set[thrift.UUID]] `thrift:"b,2"`
		}{thrift.Set[string]{"x"}, thrift.Set[thrift.Set[thrift.UUID]]{{}}}, "1a 18 0178 1a 1a 0d 00"},
		{"maps", &struct {
			A M                                 `thrift:"a,1"`
			B M                                 `thrift:"b,2"`
			C map[int64]float64                 `thrift:"c,3"`
			D map[bool]thrift.Set[M]            `thrift:"d,4"`
			E thrift.Pairs[*thrifttest.Leaf, M] `thrift:"e,5"`
			F thrift.Pairs[bool, bool]          `thrift:"f,6"`
			G M                                 `thrift:"g,7,optional"`
		}{M{"x": 5}, nil, map[int64]float64{-1: 1}, map[bool]thrift.Set[M]{false: {}}, nil, thrift.Pairs[bool, bool]{{Key: true}}, nil},
			"1b 01 85 0178 0a 1b 00 1b 01 67 01 000000000000f03f 1b 01 1a 02 0b 1b 00 1b 01 11 01 02 00"},
		{"unions", &struct {
			A thrifttest.Either   `thrift:"a,1"`
			B []thrifttest.Either `thrift:"b,2"`
		}{&thrifttest.EitherText{Text: "x"}, []thrifttest.Either{&thrifttest.EitherNumber{Number: 2}}}, "1c 28 0178 00 19 1c 1604 00 00"},
		{"nothing", &struct{}{}, "00"},
	} {
		want := thrifttest.Unhex(t, tt.hex)
		got := thrifttest.Compact(t, tt.msg)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: encoded as %x; want %x", tt.name, got, want)
			continue
		}
		fresh := reflect.New(reflect.TypeOf(tt.msg).Elem())
		if err := thrifttest.DecodeCompact(want, fresh.Interface()); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if again := thrifttest.Compact(t, fresh.Interface()); !bytes.Equal(again, want) {
			t.Errorf("%s: decoded and encoded as %x; want %x", tt.name, again, want)
		}
		checkCompactPrefixes(t, tt.name, want)
	}
}

// checkCompactPrefixes makes sure that no beginning of body is taken for whole.
func checkCompactPrefixes(t *testing.T, name string, body []byte) {
	t.Helper()
	for i := range body {
		p := body[:i:i]
		if n, err := (raw.Compact{}).SkipStruct(p, 64); err != raw.ErrShort || n <= i || n > len(body) {
			t.Errorf("%s: skip of %d of %d: %d, %v", name, i, len(body), n, err)
		}
		s := raw.Skipper{Compact: true}
		if done, n, err := s.Feed(p); done || n <= i || n > len(body) || err != nil {
			t.Errorf("%s: skipper of %d of %d: %v, %d, %v", name, i, len(body), done, n, err)
		}
	}
}

// TestCompactIsLenient has what other writers write.
func TestCompactIsLenient(t *testing.T) {
	type M struct {
		Bools []bool                    `thrift:"bools,1"`
		I32   int32                     `thrift:"i32,2"`
		Map   map[int8]*thrifttest.Leaf `thrift:"map,3"`
		Far   *bool                     `thrift:"far,4"`
		Texts []string                  `thrift:"texts,5"`
	}
	for in, want := range map[string]M{
		"19 31 01 02 00 00":          {Bools: []bool{true, false, false}}, // 0 was false once
		"19 32 01 02 01 00":          {Bools: []bool{true, false, true}},  // both kinds are bools
		"19 f8 00 00":                {},                                  // an empty list of another kind
		"19 00 00":                   {Bools: []bool{}},
		"25 82808000 00":             {I32: 1},
		"25 ffffffffffffffffff01 00": {I32: math.MinInt32}, // what does not fit is dropped
		"0504 02 00":                 {I32: 1},             // an id in full where a step would do
		"3b 80 00 00":                {Map: map[int8]*thrifttest.Leaf{}},
		"41 30":                      {Far: new(true)}, // the lower half alone is the stop
		"f1 38 03616263 25 02 00":    {},               // 15, then 18; then 20, which is not 2
		"39 25 02 04 25 02 00":       {},               // a list where there is a map
		"49 35 02 04 06 00":          {},               // a list where there is a bool
		"59 25 02 04 00":             {},               // a list of other elements
		"15 02 15 02 00":             {I32: 1},         // a number where there is a list
	} {
		var got M
		if err := thrifttest.DecodeCompact(thrifttest.Unhex(t, in), &got); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if in == "19 f8 00 00" {
			want.Bools = []bool{}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v; want %+v", in, got, want)
		}
	}
}

func TestCompactRefuses(t *testing.T) {
	for _, tt := range []struct {
		in, why string
		offset  int
	}{
		{"", "truncated", 0},
		{"1e", "unknown wire type", 0},
		{"03", "truncated", 1},
		{"0380808080808080808080 00", "number of more than ten bytes", 1},
		{"56 80808080808080808080 00", "number of more than ten bytes", 1},
		{"88 ffffffff0f 00", "negative size", 1},
		{"88 8080808008 00", "negative size", 1},
		{"88 05 6162 00", "size beyond the end", 1},
		{"98 ffffffff07 00", "size beyond the end", 1},
		{"a9 f6 ffffffff07 00", "size beyond the end", 1},
		{"a9 f6 ffffffff0f 00", "negative size", 2},
		{"a9 1e 00 00", "unknown wire type", 1},
		{"a9 0e 00 00", "unknown wire type", 1},
		{"a9 10 00 00", "unknown wire type", 1},
		{"4b 05 8c 00", "size beyond the end", 1},
		{"4b 01 8e 00", "unknown wire type", 2},
		{"4b 01 08 00", "unknown wire type", 2},
		{"0bc603 05 8c 00", "size beyond the end", 3},
		{"0bc603 00", "truncated", 4},
		{"fb ffffffff07 dd 00", "size beyond the end", 7}, // 64 GB of UUIDs
		{"00 00", "bytes after the end", 1},
		{"88 03616263 00 00", "bytes after the end", 6},
	} {
		p := thrifttest.Unhex(t, tt.in)
		err := thrifttest.DecodeCompact(p, new(thrifttest.Bomb))
		var syntax *thrift.SyntaxError
		if !errors.As(err, &syntax) || syntax.Why != tt.why || syntax.Offset != tt.offset || rpc.CodeOf(err) != rpc.InvalidArgument {
			// What is unknown to the message is passed over, and truncated then.
			// In 32 bits the end of 2 GB is beyond all offsets.
			if syntax == nil || tt.why != "size beyond the end" || syntax.Why != "truncated" && (strconv.IntSize > 32 || syntax.Why != tt.why) {
				t.Errorf("%s: %v; want %q at %d", tt.in, err, tt.why, tt.offset)
			}
		}
	}
}

func TestCompactSmallMessagesCannotCostMuch(t *testing.T) {
	const n = 1 << 20
	for _, tt := range []struct {
		name string
		body []byte
		why  string
	}{
		{"two million levels", bytes.Repeat(thrifttest.Unhex(t, "bc"), 2_000_000), "nested too deeply"},
		{"two million unknown levels", bytes.Repeat(thrifttest.Unhex(t, "fc"), 2_000_000), "nested too deeply"},
		{"two million lists", append(thrifttest.Unhex(t, "39"), bytes.Repeat(thrifttest.Unhex(t, "19"), 2_000_000)...), "nested too deeply"},
		{"2 G structs", thrifttest.Unhex(t, "19 fc ffffffff07 00"), "size beyond the end"},
		{"a million structs", append(append(thrifttest.Unhex(t, "19 fc 808040"), make([]byte, n)...), 0), "takes more memory than its size allows"},
		{"a million unions", append(append(thrifttest.Unhex(t, "79 fc 808040"), make([]byte, n)...), 0), ""},
		{"a million entries", append(append(thrifttest.Unhex(t, "5b 808040 3c"), make([]byte, 2*n)...), 0), ""},
		{"100,000 strings", append(append(thrifttest.Unhex(t, "29 f8 a08d06"), make([]byte, 100_000)...), 0), ""},
		{"a field 100,000 times", append(bytes.Repeat(thrifttest.Unhex(t, "0c16 00"), 100_000), 0), "takes more memory than its size allows"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := thrifttest.DecodeCompact(tt.body, new(thrifttest.Bomb))
		runtime.ReadMemStats(&after)
		spent := int(after.TotalAlloc - before.TotalAlloc)
		if allowed := 32*len(tt.body) + 64<<10 + 1<<10; spent > allowed {
			t.Errorf("%s: %d bytes of memory for %d; allowed are %d", tt.name, spent, len(tt.body), allowed)
		}
		if strconv.IntSize == 32 && err == nil {
			continue // half the size fits
		}
		if tt.why == "" && err != nil || tt.why != "" && (err == nil || !strings.Contains(err.Error(), tt.why)) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.why)
		}
	}
}

// TestCompactOrdinaryMessagesFit: what is dense, and honest, is not refused.
func TestCompactOrdinaryMessagesFit(t *testing.T) {
	m := &struct {
		Numbers map[int64]int64   `thrift:"numbers,1"`
		Texts   map[string]string `thrift:"texts,2"`
		Empty   []string          `thrift:"empty,3"`
		I64s    []int64           `thrift:"i64s,4"`
	}{map[int64]int64{}, map[string]string{}, make([]string, 100_000), make([]int64, 100_000)}
	for i := range 100_000 {
		m.Numbers[int64(i%100)] = int64(i)
		m.Texts[fmt.Sprint(i)] = "a"
	}
	if err := thrifttest.DecodeCompact(thrifttest.Compact(t, m), reflect.New(reflect.TypeOf(m).Elem()).Interface()); err != nil {
		t.Error(err)
	}
}

func TestCompactDepthIsCounted(t *testing.T) {
	for n, ok := range map[int]bool{64: true, 65: false} {
		root := &thrifttest.Tree{}
		for range n - 1 {
			root = &thrifttest.Tree{Next: root}
		}
		var out buf.Out
		if err := (thrift.Compact{}).Append(&out, root); (err == nil) != ok {
			t.Errorf("%d levels: encode: %v", n, err)
		}
		out.Reset()
		if err := (thrift.Compact{MaxDepth: 100}).Append(&out, root); err != nil {
			t.Fatal(err)
		}
		body := out.Bytes()
		out.Reset()
		if err := thrifttest.DecodeCompact(body, new(thrifttest.Tree)); (err == nil) != ok {
			t.Errorf("%d levels: decode: %v", n, err)
		}
		if err := thrifttest.DecodeCompact(body, new(struct{})); (err == nil) != ok {
			t.Errorf("%d levels: skipped in decode: %v", n, err)
		}
		if _, err := (raw.Compact{}).SkipStruct(body, 64); (err == nil) != ok {
			t.Errorf("%d levels: skip: %v", n, err)
		}
		s := raw.Skipper{Compact: true}
		if done, _, err := s.Feed(body); done != ok || (err == nil) != ok {
			t.Errorf("%d levels: skipper: %v, %v", n, done, err)
		}
	}
	next := &thrifttest.Tree{}
	next.Named = map[string]*thrifttest.Tree{"a": next}
	if err := (thrift.Compact{}).Append(new(buf.Out), next); err == nil || !strings.Contains(err.Error(), "refers to itself") {
		t.Errorf("a cycle: %v", err)
	}
}

func TestCompactRequired(t *testing.T) {
	if err := thrifttest.DecodeCompact(thrifttest.Compact(t, &thrifttest.Strict{A: 1, B: "b", C: &thrifttest.Leaf{}, D: nil}), new(thrifttest.Strict)); err != nil {
		t.Fatal(err)
	}
	if err := (thrift.Compact{}).Append(new(buf.Out), &thrifttest.Strict{}); rpc.CodeOf(err) != rpc.Internal || !strings.Contains(err.Error(), "Strict.C: is required and nil") {
		t.Errorf("nil required struct: %v", err)
	}
	for in, field := range map[string]string{"00": "Strict.a", "1502 00": "Strict.b", "2800 1c00 1800 00": "Strict.a"} {
		p := thrifttest.Unhex(t, in)
		var syntax *thrift.SyntaxError
		if err := thrifttest.DecodeCompact(p, new(thrifttest.Strict)); !errors.As(err, &syntax) || syntax.Path != field || syntax.Why != "required field is missing" || syntax.Offset != len(p)-1 {
			t.Errorf("%s: %v; want %s", in, err, field)
		}
	}
	var fields []reflect.StructField
	for i := range 100 {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[bool](),
			Tag: reflect.StructTag(fmt.Sprintf(`thrift:"f%d,%d,required"`, i, i+1)),
		})
	}
	rt := reflect.StructOf(fields)
	body := thrifttest.Compact(t, reflect.New(rt).Interface())
	if err := thrifttest.DecodeCompact(body, reflect.New(rt).Interface()); err != nil {
		t.Error(err)
	}
	if err := thrifttest.DecodeCompact(append(body[:len(body)-2], 0), reflect.New(rt).Interface()); err == nil || !strings.Contains(err.Error(), "f99: required field is missing") && !strings.Contains(err.Error(), ".f99") {
		t.Errorf("the 100th is missing: %v", err)
	}
}

func TestCompactLongStrings(t *testing.T) {
	for _, n := range []int{127, 128, 480, 4 << 10, buf.RefMin, 100_000} {
		want := &struct {
			A string            `thrift:"a,1"`
			B []string          `thrift:"b,2"`
			C map[string]string `thrift:"c,3"`
			D []byte            `thrift:"d,4"`
		}{strings.Repeat("a", n), []string{strings.Repeat("b", n), "c"}, map[string]string{strings.Repeat("d", n): strings.Repeat("e", n)}, make([]byte, n)}
		got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
		if err := thrifttest.DecodeCompact(thrifttest.Compact(t, want), got); err != nil || !reflect.DeepEqual(got, any(want)) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestBinaryHasCompact(t *testing.T) {
	if c := (thrift.Binary{MaxDepth: 3}).In(rpc.Compact); c != (thrift.Compact{MaxDepth: 3}) {
		t.Errorf("%#v", c)
	}
	if c := (thrift.Binary{}).In(200); c != nil {
		t.Errorf("%#v", c)
	}
}

func TestCompactAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("allocations are counted in ordinary builds")
	}
	echo := &thrifttest.Echo{ID: 1, Text: strings.Repeat("x", 1000), Numbers: []int64{1, 2, 3}}
	body := thrifttest.Compact(t, echo)
	var out buf.Out
	if n := testing.AllocsPerRun(100, func() {
		if err := (thrift.Compact{}).Append(&out, echo); err != nil {
			t.Fatal(err)
		}
		out.Reset()
	}); n != 0 {
		t.Errorf("encode: %v allocations", n)
	}
	lim, view := rpc.Limits{}.WithDefaults(), buf.ViewOf(body)
	var got thrifttest.Echo
	if n := testing.AllocsPerRun(100, func() {
		if err := (thrift.Compact{}).Decode(view, &got, lim); err != nil {
			t.Fatal(err)
		}
	}); n != 2 {
		t.Errorf("decode: %v allocations; want the text and the numbers", n)
	}
	m := &struct {
		M map[string]int64 `thrift:"m,1"`
	}{map[string]int64{}}
	for i := range 100 {
		m.M[fmt.Sprint(i)] = 1
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := (thrift.Compact{}).Append(&out, m); err != nil {
			t.Fatal(err)
		}
		out.Reset()
	}); n != 0 {
		t.Errorf("encode of a map: %v allocations", n)
	}
}

// FuzzCompact gives the decoder anything: what it takes must be a struct for
// both skippers too, and must come back the same after being encoded.
func FuzzCompact(f *testing.F) {
	for seed := range uint64(30) {
		r := &thrifttest.Filler{Rand: rand.New(rand.NewPCG(seed, 7)), Depth: 5}
		msg := new(thrifttest.Everything)
		r.Fill(reflect.ValueOf(msg).Elem(), true, false)
		if body := thrifttest.Compact(f, msg); len(body) < 2000 {
			f.Add(body)
		}
	}
	f.Add(thrifttest.Compact(f, &thrifttest.Tree{Children: []*thrifttest.Tree{{Value: 1}}, Either: &thrifttest.EitherList{List: []thrifttest.Either{&thrifttest.EitherText{Text: "x"}}}}))
	f.Add(thrifttest.Compact(f, &thrifttest.Tree{Named: map[string]*thrifttest.Tree{"a": {}}, Next: &thrifttest.Tree{Either: &thrifttest.EitherNumber{Number: 7}}}))
	f.Add(thrifttest.Compact(f, &thrifttest.Bomb{Strings: []string{"a"}, Nested: [][][]int64{{{1}}}, Map: map[string]*thrifttest.Wide{"": {}}}))
	lim := rpc.Limits{}.WithDefaults()
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, fresh := range []func() any{func() any { return new(thrifttest.Everything) }, func() any { return new(thrifttest.Tree) }, func() any { return new(thrifttest.Bomb) }, func() any { return new(thrifttest.Defaults) }} {
			msg := fresh()
			err := thrift.Compact{}.Decode(buf.ViewOf(body), msg, lim)
			n, skipErr := raw.Compact{}.SkipStruct(body, lim.Depth)
			if err != nil {
				var syntax *thrift.SyntaxError
				if !errors.As(err, &syntax) || rpc.CodeOf(err) != rpc.InvalidArgument || syntax.Offset < 0 || syntax.Offset > len(body) {
					t.Fatalf("%T: %v", msg, err)
				}
				continue
			}
			if skipErr != nil || n != len(body) {
				t.Fatalf("%T was decoded, but skipped: %d of %d, %v", msg, n, len(body), skipErr)
			}
			var out buf.Out
			if err := (thrift.Compact{}).Append(&out, msg); err != nil {
				var typ *thrift.TypeError
				if !errors.As(err, &typ) || typ.Why != "is nil" {
					t.Fatalf("%T: %v", msg, err)
				}
				out.Reset()
				continue
			}
			again, first := fresh(), out.Bytes()
			out.Reset()
			roomy := rpc.Limits{DecodeFactor: 1000}.WithDefaults() // what was left out may be written now
			if err := (thrift.Compact{}).Decode(buf.ViewOf(first), again, roomy); err != nil {
				t.Fatalf("%T: decoded, encoded, and not decoded again: %v", msg, err)
			}
			if err := (thrift.Compact{}).Append(&out, again); err != nil || out.Len() != len(first) {
				t.Fatalf("%T: %d bytes became %d, %v", msg, len(first), out.Len(), err)
			}
			out.Reset()
		}
		checkSkippersAgree(t, body, lim.Depth)
	})
}

func checkSkippersAgree(t *testing.T, body []byte, depth int) {
	t.Helper()
	n, err := raw.Compact{}.SkipStruct(body, depth)
	s := raw.Skipper{Compact: true, MaxDepth: depth}
	var done bool
	var end int
	var err2 error
	for have := 0; ; have = min(have+1+have/7, len(body)) {
		if done, end, err2 = s.Feed(body[:have:have]); done || err2 != nil || have == len(body) {
			break
		}
	}
	switch {
	case err == nil && (!done || end != n), err == raw.ErrShort && (done || err2 != nil || end <= len(body)),
		err != nil && err != raw.ErrShort && err2 == nil:
		t.Fatalf("skip: %d, %v; in pieces: %v, %d, %v", n, err, done, end, err2)
	}
}

func BenchmarkCompact(b *testing.B) {
	medium := &thrifttest.Medium{Tags: map[string]string{}}
	for i := range 100 {
		medium.Items = append(medium.Items, &thrifttest.Item{ID: int64(i), Sku: "sku-12345", Name: "a name of some length", Price: 1.5, Count: 3, Live: true, Made: 1 << 40, Note: "note"})
	}
	for i := range 50 {
		medium.Tags[fmt.Sprint("key-", i)] = "value"
	}
	for name, msg := range map[string]any{
		"echo": &thrifttest.Echo{ID: 1, Text: strings.Repeat("x", 1000), Numbers: []int64{1, 2, 3, 4, 5}}, "medium": medium,
	} {
		for codec, c := range map[string]rpc.Codec{"compact": thrift.Compact{}, "binary": thrift.Binary{}} {
			var out buf.Out
			b.Run(name+"/"+codec+"/encode", func(b *testing.B) {
				for b.Loop() {
					if err := c.Append(&out, msg); err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(out.Len()), "bytes")
					out.Reset()
				}
			})
			if err := c.Append(&out, msg); err != nil {
				b.Fatal(err)
			}
			view, lim := buf.ViewOf(out.Bytes()), rpc.Limits{}.WithDefaults()
			out.Reset()
			b.Run(name+"/"+codec+"/decode", func(b *testing.B) {
				for b.Loop() {
					if err := c.Decode(view, reflect.New(reflect.TypeOf(msg).Elem()).Interface(), lim); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
