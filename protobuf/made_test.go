package protobuf_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/invariant"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest/made"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
)

// byPlan is the codec that generated code is held against.
var byPlan = protobuf.Codec{Plan: true}

// generated are messages with generated methods.
func generated() []func() any {
	return []func() any{
		func() any { return new(made.All) },
		func() any { return new(made.Old) },
		func() any { return new(made.Leaf) },
	}
}

// encoded gives what a codec makes of msg behind n bytes, where blocks end elsewhere each time.
func encoded(t *testing.T, c protobuf.Codec, msg any, n int) ([]byte, string) {
	t.Helper()
	var out buf.Out
	defer out.Reset()
	out.AppendString(strings.Repeat("-", n))
	c.Deterministic = true
	if err := c.Append(&out, msg); err != nil {
		return nil, err.Error()
	}
	return out.Bytes()[n:], ""
}

// sameDecode decodes b by generated code and by the plan, and wants the same of both.
func sameDecode(t *testing.T, fresh func() any, b []byte, lim *rpc.Limits) {
	t.Helper()
	one, other := fresh(), fresh()
	err := protobuf.Codec{}.Decode(buf.ViewOf(b), one, lim)
	want := byPlan.Decode(buf.ViewOf(b), other, lim)
	if fmt.Sprint(err) != fmt.Sprint(want) {
		t.Fatalf("%T of %x: %v, by the plan %v", one, b, err, want)
	}
	if err != nil {
		return
	}
	if !protobuf.Equal(one, other) {
		t.Fatalf("%T of %x:\n%v\nby the plan\n%v", one, b, one, other)
	}
	x, _ := encoded(t, byPlan, one, 0)
	y, _ := encoded(t, byPlan, other, 0)
	if !bytes.Equal(x, y) { // that fields are absent or empty, Equal does not see
		t.Fatalf("%T of %x: %x, by the plan %x", one, b, x, y)
	}
}

// TestMade holds generated code against the plan: bytes wherever blocks end, values, faults of
// prefixes, of changed bytes, under limits.
func TestMade(t *testing.T) {
	for _, fresh := range generated() {
		for seed := range uint64(24) {
			r := prototest.NewFiller(seed)
			if seed%6 == 0 {
				r.Depth, r.Many = 2, 30
			}
			msg := fresh()
			r.Message(msg)
			want, why := encoded(t, byPlan, msg, 0)
			if why != "" {
				t.Fatal(why)
			}
			for _, n := range []int{0, 3500, 4000 + r.IntN(96), 16<<10 - r.IntN(300), r.IntN(64 << 10)} {
				if got, why := encoded(t, protobuf.Codec{}, msg, n); why != "" || !bytes.Equal(got, want) {
					t.Fatalf("%T %d behind %d bytes: %s\n%x\nby the plan\n%x", msg, seed, n, why, got, want)
				}
			}
			sameDecode(t, fresh, want, nil)
			broken(t, fresh, want, r.Rand)
		}
	}
}

// broken decodes what is left of a message, what is changed in it, and what tight limits leave of it.
func broken(t *testing.T, fresh func() any, b []byte, r *rand.Rand) {
	t.Helper()
	for range 12 {
		if len(b) == 0 {
			return
		}
		sameDecode(t, fresh, b[:r.IntN(len(b))], nil)
		x := bytes.Clone(b)
		x[r.IntN(len(x))] = byte(r.IntN(256))
		sameDecode(t, fresh, x, nil)
		sameDecode(t, fresh, append(x, b...), nil)
		lim := rpc.Limits{Depth: 1 + r.IntN(3), DecodeFactor: 1 + r.IntN(3)}.WithDefaults()
		sameDecode(t, fresh, b, lim)
	}
}

// TestMadeBlocks encodes messages that no block holds, and lists of messages of every length, each part of which may be
// what leaves its block.
func TestMadeBlocks(t *testing.T) {
	for _, size := range []int{10, 126, 127, 128, 129, 1000, 4000, 9000, 16383, 16384, 70_000} {
		x := &made.All{}
		for i := range 20 {
			x.Lleaf = append(x.Lleaf, &made.Leaf{ID: int64(i), Name: strings.Repeat("n", size)})
			x.Lst = append(x.Lst, strings.Repeat("s", size+i))
			x.Li64 = append(x.Li64, 1<<(i*3))
		}
		for _, top := range []*made.All{x, {Self: x, Lself: []*made.All{x, x, {Self: x}}}, {Msl: map[string]*made.Leaf{"a": x.Lleaf[0]}, Mxa: map[int64]*made.All{1: x, 2: {}}}} {
			want, _ := encoded(t, byPlan, top, 0)
			for _, n := range []int{0, 100, 4000, 20_000} {
				if got, why := encoded(t, protobuf.Codec{}, top, n); why != "" || !bytes.Equal(got, want) {
					t.Fatalf("%d behind %d: %s, %d bytes instead of %d", size, n, why, len(got), len(want))
				}
			}
			sameDecode(t, generated()[0], want, rpc.Limits{DecodeFactor: 1000}.WithDefaults())
		}
	}
}

// TestMadeFaults wants the plan's errors of generated code.
func TestMadeFaults(t *testing.T) {
	ring := &made.All{}
	ring.Self, ring.Lself = ring, []*made.All{ring, ring}
	bad := "\xff\xfe"
	for name, x := range map[string]any{
		"ring":             ring,
		"text":             &made.All{St: bad},
		"text inside":      &made.All{Lleaf: []*made.Leaf{{}, {Name: bad}}},
		"list of texts":    &made.All{Lst: []string{"", bad}},
		"explicit text":    &made.All{Ost: &bad},
		"nil element":      &made.All{Lleaf: []*made.Leaf{{ID: 1}, nil}},
		"nil deep":         &made.All{Self: &made.All{Lself: []*made.All{nil}}},
		"map":              &made.All{Msl: map[string]*made.Leaf{"a": {Name: bad}}},
		"required bytes":   &made.Needs{},
		"required message": &made.Needs{Raw: []byte{}},
	} {
		_, want := encoded(t, byPlan, x, 0)
		if _, got := encoded(t, protobuf.Codec{}, x, 0); got != want || want == "" {
			t.Errorf("%s: %q, by the plan %q", name, got, want)
		}
	}
	deep := &made.All{}
	for range 50 {
		deep = &made.All{Self: deep}
	}
	for depth := 45; depth < 55; depth++ {
		_, want := encoded(t, protobuf.Codec{Plan: true, MaxDepth: depth}, deep, 0)
		if _, got := encoded(t, protobuf.Codec{MaxDepth: depth}, deep, 0); got != want {
			t.Errorf("%d levels: %q, by the plan %q", depth, got, want)
		}
		b, _ := encoded(t, protobuf.Codec{}, deep, 0)
		sameDecode(t, generated()[0], b, rpc.Limits{Depth: depth}.WithDefaults())
	}
}

// TestMadeBudget wants generated code to take from the budget what the plan takes: messages of as many elements as there is
// memory for, and some more, after what else there may be.
func TestMadeBudget(t *testing.T) {
	for n := 40; n < 130; n++ {
		x := &made.All{St: "text", Ost: new("t"), Oi64: new(int64(1)), Leaf: &made.Leaf{}, Li64: []int64{1, 2, 3}, By: make([]byte, n), Lst: []string{"a"}}
		for range n {
			x.Lself = append(x.Lself, &made.All{})
		}
		b, _ := encoded(t, byPlan, x, 0)
		sameDecode(t, generated()[0], b, rpc.Limits{DecodeFactor: 1}.WithDefaults())
		sameDecode(t, generated()[0], append(b, b...), rpc.Limits{DecodeFactor: 1}.WithDefaults())
	}
}

// Generated code allocates nothing but the message.
func TestMadeAllocs(t *testing.T) {
	x := &made.All{I64: 5, St: "hello", Leaf: &made.Leaf{ID: 1, Name: "leaf"}, Lleaf: []*made.Leaf{{ID: 2}, {ID: 3}}, Msl: map[string]*made.Leaf{"a": {ID: 1}}}
	var out buf.Out
	b, err := protobuf.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := (protobuf.Codec{}).Append(&out, x); err != nil {
			t.Fatal(err)
		}
		out.Reset()
	}); n > 0 && !invariant.Enabled { // which fills blocks that are given back
		t.Errorf("%v allocations an encode", n)
	}
	got, body := new(made.All), buf.ViewOf(b)
	plan := testing.AllocsPerRun(100, func() { byPlan.Decode(body, got, deep) })
	if n := testing.AllocsPerRun(100, func() { (protobuf.Codec{}).Decode(body, got, deep) }); n > plan {
		t.Errorf("%v allocations a decode, the plan has %v", n, plan)
	}
	if !reflect.DeepEqual(got, x) {
		t.Errorf("%v", got)
	}
}

// FuzzMade holds the decoders against each other with anything.
func FuzzMade(f *testing.F) {
	for i, fresh := range generated() {
		for seed := range uint64(10) {
			r := prototest.NewFiller(seed)
			r.Depth, r.Many = 2, 2
			msg := fresh()
			r.Message(msg)
			b, err := protobuf.Marshal(msg)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), b[:min(len(b), 300)])
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		fresh := generated()[int(which)%len(generated())]
		sameDecode(t, fresh, b, nil)
		sameDecode(t, fresh, b, rpc.Limits{Depth: 1 + int(which>>4), DecodeFactor: 1}.WithDefaults())
	})
}

// TestMadeEdges puts strings and lists of numbers of every length behind each other at the end of a block, as
// fields of one byte and of two, plain, explicit and in lists.
func TestMadeEdges(t *testing.T) {
	numbers := func(n int) (list []int64, short []int32) {
		for i := range n {
			list, short = append(list, 1<<(i*5%64)), append(short, int32(i)<<(i%20))
		}
		return list, short
	}
	for size := range 70 {
		s := strings.Repeat("é", size/7) + strings.Repeat("s", size)
		x := &made.All{St: s, Lst: []string{s, "", s + s}, Ost: &s, By: []byte(s), Oby: []byte(s), Leaf: &made.Leaf{Name: s + s, ID: int64(size)}}
		x.Li64, x.Li32 = numbers(size / 3)
		x.Ls64, x.Lu32 = x.Li64, []uint32{uint32(size)}
		x.Lf64, x.Ldb, x.Lfl = []uint64{uint64(size)}, []float64{1, 2}, []float32{3}
		want, _ := encoded(t, byPlan, x, 0)
		for _, left := range []int{3, 31, 64, 65, 100, 127, 128, 300, 400} {
			if got, why := encoded(t, protobuf.Codec{}, x, 4096-left); why != "" || !bytes.Equal(got, want) {
				t.Fatalf("%d with %d bytes left: %s\n%x\nby the plan\n%x", size, left, why, got, want)
			}
		}
		sameDecode(t, generated()[0], want, nil)
	}
}

// Numbers that are longer than they need be, and that have more bits than their field.
func TestMadeNumbers(t *testing.T) {
	for _, b := range []string{
		"\x08\x80\x00", "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", "\x08\x80", "\x08",
		"\x68\x02", "\x68\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "\x18\xff\xff\xff\xff\xff\x01", "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"\x88\x00\x01", "\x72\x80\x00", "\x72\x81\x00a", "\x72\x02a", "\x7a\x80", "\x61\x00", "\x3d\x00\x00\x00", "\xb2\x01\x03\x80\x80\x01", "\xb2\x01\x01\x80",
		"\xb2\x01\x00", "\xb0\x01\x05", "\xb2\x01\x02\x01\x02\xb2\x01\x01\x03", "\x8a\x01\x02\x08\x80", "\x8a\x01\x05", "\xaa\x02\x00\xaa\x02\x05\x08", "\x10\x01\x08\x02",
		"\xb2\x01\x0b\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "\xb2\x01\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
	} {
		sameDecode(t, generated()[0], []byte(b), nil)
		sameDecode(t, generated()[0], []byte(b+strings.Repeat("\x08\x01", 20)), nil)
	}
}

// TestMadeOwns decodes strings and bytes of every length, in short messages, of which the rest is copied at once, and in long
// ones, and writes over the body afterwards: nothing may refer to it.
func TestMadeOwns(t *testing.T) {
	text := func(n int, c string) string { return strings.Repeat(c, n) }
	for _, more := range []int{0, 40, 600, 3000} {
		for n := range 80 {
			x := &made.All{
				St: text(n, "a"), By: []byte(text(n, "b")), Leaf: &made.Leaf{Name: text(2*n, "c"), ID: int64(n)},
				Lst: []string{text(n, "d"), "", text(7*n, "é")}, Ost: new(text(n+more, "e")),
				Mss:    map[string]string{text(n, "f"): text(n, "g")},
				Lleaf:  []*made.Leaf{{Name: text(n, "h")}, {Name: text(40*n, "i")}},
				Oby:    []byte(text(more, "j")),
				Ocolor: new(made.Color(n)),
			}
			body, err := protobuf.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			got := new(made.All)
			if err := (protobuf.Codec{}).Decode(buf.ViewOf(body), got, nil); err != nil {
				t.Fatal(err)
			}
			for i := range body {
				body[i] = 'X'
			}
			if !protobuf.Equal(got, x) {
				t.Fatalf("%d, %d:\n%v\nwant\n%v", n, more, got, x)
			}
		}
	}
}

// What is wrong in the middle of strings of every length is found wherever it is.
func TestMadeUTF8(t *testing.T) {
	for n := 1; n < 1200; n += 1 + n/40 {
		for _, at := range []int{0, n / 2, n - 1} {
			s := []byte(strings.Repeat("s", n))
			s[at] = 0xff
			x := &made.All{St: string(s)}
			_, want := encoded(t, byPlan, x, 0)
			if _, why := encoded(t, protobuf.Codec{}, x, 0); why != want || why == "" {
				t.Fatalf("%d, %d: %q, by the plan %q", n, at, why, want)
			}
			for _, behind := range []string{"", strings.Repeat("\x08\x01", 20)} {
				b := append([]byte{0x72}, 0x80|byte(n), byte(n>>7))
				sameDecode(t, generated()[0], append(append(b, s...), behind...), nil)
			}
		}
	}
}
