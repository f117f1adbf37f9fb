package lazy_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/lazy"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/thrift/impl"
)

// costly is a message of a list of n empty structs in the field id.
func costly(id byte, n int) []byte {
	p := binary.BigEndian.AppendUint32([]byte{15, 0, id, 12}, uint32(n))
	return append(p, make([]byte, n+1)...)
}

// spent is how many bytes f allocates.
func spent(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// TestLazyKeepsItsBudget opens a message that would take far more memory than its
// bytes allow, which is no reason not to pass it on, and tries everything that would
// decode it.
func TestLazyKeepsItsBudget(t *testing.T) {
	const n = 1 << 20
	body := costly(32, n) // of leaves
	allowed := rpc.Limits{}.WithDefaults().DecodeBudget(len(body)) + 64<<10
	open := func(body []byte) *lazy.LazyEverything { return openEverything(t, body) }
	maskOf := func(m *thrift.Mask[lazy.LazyEverything], err error) *thrift.Mask[lazy.LazyEverything] {
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	other := append([]byte{8, 0, 4, 0, 0, 0, 1}, body...)
	nested := append([]byte{15, 0, 35, 15, 0, 0, 0, 1}, body[3:]...) // a list of lists is decoded by a mask
	x := open(body)
	costs := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "more memory than its size allows")
	}
	for name, f := range map[string]func() bool{
		"Plain": func() bool {
			_, err := x.Plain()
			var syntax *thrift.SyntaxError
			return costs(err) && errors.As(err, &syntax) && rpc.CodeOf(err) == rpc.InvalidArgument
		},
		"Plain of a clone": func() bool { _, err := thrift.Clone(x).Plain(); return costs(err) },
		"Plain of a view in a message": func() bool {
			var args struct {
				Msg *lazy.LazyEverything `thrift:"msg,1"`
			}
			if err := thrifttest.Decode(append(append([]byte{12, 0, 1}, body...), 0), &args); err != nil {
				t.Error(err)
				return false
			}
			_, err := args.Msg.Plain()
			return costs(err)
		},
		"Plain of what was set in": func() bool {
			y := open(body)
			y.SetMs(map[string]string{"a": "b"})
			_, err := y.Plain()
			return costs(err)
		},
		"Equal":                   func() bool { return !thrift.Equal(x, open(other)) },
		"Equal to the same bytes": func() bool { return thrift.Equal(x, open(body)) },
		"JSON":                    func() bool { return costs(thrift.JSON{}.Append(new(buf.Out), x)) },
		"a mask": func() bool {
			y := open(nested)
			maskOf(thrift.Keep[lazy.LazyEverything]("nested.id")).Apply(y)
			return costs(thrifttest.Appends(y))
		},
		"a getter that decodes": func() (ok bool) {
			defer func() {
				err, _ := recover().(error)
				ok = costs(err) && rpc.CodeOf(err) == rpc.InvalidArgument
			}()
			for range open(nested).Nested().All() {
				t.Error("it gave a list")
			}
			return false
		},
	} {
		ok := false
		if took := spent(func() { ok = f() }); !ok || took > 2*allowed {
			t.Errorf("%s: as it ought to be: %v; %d bytes were allocated, allowed are %d", name, ok, took, allowed)
		}
	}
	if got := thrifttest.Encode(t, x); len(got) != len(body) {
		t.Errorf("%d bytes were passed on; want %d", len(got), len(body))
	}
	if _, err := thrift.OpenLazy[lazy.LazyEverything](buf.ViewOf(body), generous); err != nil {
		t.Fatal(err)
	}
	y, _ := thrift.OpenLazy[lazy.LazyEverything](buf.ViewOf(body), generous)
	if m, err := y.Plain(); err != nil || len(m.Leaves) != n {
		t.Errorf("with a larger budget: %v", err)
	}
}

// TestLazyStringStopsAtItsBound has a kilobyte of text cost kilobytes.
func TestLazyStringStopsAtItsBound(t *testing.T) {
	for name, body := range map[string][]byte{
		"leaves": costly(32, 1<<20), "unions": costly(36, 1<<20), "plains": costly(34, 1<<20),
		"binary": append(append([]byte{11, 0, 8, 0, 16, 0, 0}, make([]byte, 1<<20)...), 0),
		"text":   append(append([]byte{11, 0, 7, 0, 16, 0, 0}, make([]byte, 1<<20)...), 0),
	} {
		x, text := openEverything(t, body), ""
		if took := spent(func() { text = thrift.String(x) }); took > 64<<10 || len(text) > 1024 || len(text) < 100 {
			t.Errorf("%s: %d bytes were allocated for %d of text: %s", name, took, len(text), text)
		}
	}
}

// TestLazyOwnValuesAreFree: what the program sets does not count against what the
// peer's bytes may cost.
func TestLazyOwnValuesAreFree(t *testing.T) {
	leaves := make([]*lazy.Leaf, 100_000)
	for i := range leaves {
		leaves[i] = new(lazy.Leaf)
	}
	x := openEverything(t, []byte{0})
	x.SetLeaves(leaves)
	if m, err := x.Plain(); err != nil || len(m.Leaves) != len(leaves) {
		t.Errorf("set in the message: %v", err)
	}
	y := openEverything(t, []byte{0})
	y.SetBranch(&lazy.Branch{})
	y.Branch().SetBranches(make([]*lazy.Branch, 0))
	deep := make([]*lazy.Branch, 100_000)
	for i := range deep {
		deep[i] = new(lazy.Branch)
	}
	y.Branch().SetBranches(deep)
	if m, err := y.Plain(); err != nil || len(m.Branch.Branches) != len(deep) {
		t.Errorf("set in what was set: %v", err)
	}
	z, err := thrift.NewLazy[lazy.LazyEverything](&lazy.Everything{Leaves: leaves})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := z.Plain(); err != nil || len(m.Leaves) != len(leaves) {
		t.Errorf("of a struct: %v", err)
	}
}

// TestLazyOwnValuesAreWhatADecodeTakes sets what takes less memory here than a decoder
// takes for it: binary, which was forgotten once, maps, what is there more than once,
// and structs with other values than their defaults.
func TestLazyOwnValuesAreWhatADecodeTakes(t *testing.T) {
	shades := map[string]int32{}
	for i := range 13 << 10 { // just below a power of two, in groups that are filled by 7/8
		shades[fmt.Sprint(i)] = 1
	}
	for name, set := range map[string]func(x *lazy.LazyEverything){
		"binary":          func(x *lazy.LazyEverything) { x.SetH(make([]byte, 1<<20)) },
		"optional binary": func(x *lazy.LazyEverything) { x.SetOh(make([]byte, 1<<20)) },
		"bytes":           func(x *lazy.LazyEverything) { x.SetLa(make([]bool, 1<<20)) },
		"numbers":         func(x *lazy.LazyEverything) { x.SetLe(make([]int64, 1<<20)) },
		"map":             func(x *lazy.LazyEverything) { x.SetMaps([]map[string]int32{shades}) },
		"one leaf, often": func(x *lazy.LazyEverything) { x.SetLeaves(slices.Repeat([]*lazy.Leaf{{}}, 100_000)) },
		"inside": func(x *lazy.LazyEverything) {
			x.SetBranch(&lazy.Branch{})
			x.Branch().SetFruit(&lazy.FruitName{Name: string(make([]byte, 1<<20))})
			x.Branch().SetBranches(slices.Repeat([]*lazy.Branch{{}}, 100_000))
		},
	} {
		x := openEverything(t, []byte{0})
		set(x)
		if _, err := x.Plain(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !thrift.Equal(x, thrift.Clone(x)) || thrifttest.Appends(x) != nil {
			t.Errorf("%s: is not what was set", name)
		}
	}
	x := openEverything(t, []byte{0})
	x.SetH(make([]byte, 1<<20))
	if got := x.H(); len(got) != 1<<20 { // it panicked
		t.Errorf("%d bytes", len(got))
	}
	plain := []*withDefaults{}
	for range 1000 {
		plain = append(plain, &withDefaults{Many: []int64{1}})
	}
	y, err := thrift.OpenLazy[viewOfDefaults](buf.ViewOf([]byte{0}), nil)
	if err != nil {
		t.Fatal(err)
	}
	impl.LazySet(&y.Lazy, 0, plain)
	if _, err := impl.LazyPlain[ofDefaults](&y.Lazy); err != nil {
		t.Errorf("with other values than their defaults: %v", err)
	}
}

type withDefaults struct {
	Many []int64 `thrift:"many,1"`
}

func (x *withDefaults) SetDefaults() { x.Many = make([]int64, 100) }

type ofDefaults struct {
	List []*withDefaults `thrift:"list,1"`
}

type viewOfDefaults struct {
	_ [0]ofDefaults
	thrift.Lazy
}

// TestViewsInContainersCost holds what a list of structs that have views takes
// against the budget: a view of a message of one byte takes half a kilobyte.
func TestViewsInContainersCost(t *testing.T) {
	type holder struct {
		Leaf *lazy.LazyLeaf `thrift:"leaf,1,optional"`
	}
	type message struct {
		Holders []*holder `thrift:"holders,1"`
	}
	const n, pad = 20_000, 6 * 20_000 // with so much in a field that is not known, all the rest was in the budget
	body := binary.BigEndian.AppendUint32([]byte{15, 0, 1, 12}, n)
	compact := binary.AppendUvarint([]byte{0x19, 0xfc}, n)
	for range n {
		body = append(body, 12, 0, 1, 0, 0)
		compact = append(compact, 0x1c, 0, 0)
	}
	body = append(append(binary.BigEndian.AppendUint32(append(body, 11, 0, 9), pad), make([]byte, pad)...), 0)
	compact = append(append(binary.AppendUvarint(append(compact, 0x88), pad), make([]byte, pad)...), 0)
	for codec, c := range map[rpc.Codec]struct {
		body []byte
		size int // that the budget is for
	}{thrift.Binary{}: {body, len(body)}, thrift.Compact{}: {compact, 2 * len(compact)}} {
		allowed := rpc.Limits{}.WithDefaults().DecodeBudget(c.size)
		var err error
		if took := spent(func() { err = codec.Decode(buf.ViewOf(c.body), new(message), nil) }); took > allowed+allowed/4 {
			t.Errorf("%T: %d bytes were allocated, allowed are %d: %v", codec, took, allowed, err)
		}
		if err := codec.Decode(buf.ViewOf(c.body), new(message), generous); err != nil {
			t.Errorf("%T: with a larger budget: %v", codec, err)
		}
	}
}

// TestLazyStringIsThatOfTheStruct holds texts of any length against those of the
// decoded struct, down to single structs.
func TestLazyStringIsThatOfTheStruct(t *testing.T) {
	texts := 0
	for seed := range uint64(300) {
		r, msg := randomEverything(seed, 78)
		body := thrifttest.Encode(t, msg)
		if seed%3 > 0 {
			body = r.Mixed(t, body)
		}
		x, err := thrift.OpenLazy[lazy.LazyEverything](buf.ViewOf(body), generous)
		if err != nil {
			t.Fatal(err)
		}
		same := func(view, plain any) {
			t.Helper()
			texts++
			if got, want := thrift.String(view), "Lazy"+thrift.String(plain); got != want && (len(got) < 1024 || got[:1000] != want[:1000]) {
				t.Fatalf("seed %d:\n%s\n%s", seed, got, want)
			}
		}
		plain, err := x.Plain()
		if err != nil {
			t.Fatal(err)
		}
		same(x, plain)
		for i, l := range x.Leaves().All() {
			same(l, plain.Leaves[i])
		}
		for i, b := range x.Branches().All() {
			same(b, plain.Branches[i])
		}
		if s := x.Settings(); s != nil {
			same(s, plain.Settings)
		}
		for o := 0; body[o] != 0; { // one field at a time, so that nothing is cut off
			n, err := raw.Skip(body[o+3:], raw.Type(body[o]), 64)
			if err != nil {
				t.Fatal(err)
			}
			one := append(append([]byte{}, body[o:o+3+n]...), 0)
			o += 3 + n
			part, err := thrift.OpenLazy[lazy.LazyEverything](buf.ViewOf(one), generous)
			if err != nil {
				t.Fatal(err)
			}
			if plain, err = part.Plain(); err != nil {
				t.Fatal(err)
			}
			same(part, plain)
		}
	}
	if texts < 3000 {
		t.Errorf("only %d texts", texts)
	}
}
