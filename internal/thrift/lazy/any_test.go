package lazy_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/lazy"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// changed makes a view of a random message in which something was set, and the
// plain message that it shows then.
func changed(t testing.TB, seed, stream uint64) (*thrifttest.Filler, *lazy.LazyEverything, *lazy.Everything) {
	t.Helper()
	r, msg := randomEverything(seed, stream)
	x := openEverything(t, thrifttest.Encode(t, msg))
	for range r.IntN(4) {
		r.Change(t, reflect.ValueOf(x), reflect.ValueOf(msg))
	}
	plain, err := x.Plain()
	if err != nil {
		t.Fatal(err)
	}
	return r, x, plain
}

func TestLazyEqual(t *testing.T) {
	for seed := range uint64(200) {
		r, x, plain := changed(t, seed, 40)
		shuffled := openEverything(t, thrifttest.Encode(t, plain)) // maps in another order
		if !thrift.Equal(x, shuffled) || !thrift.Equal(x, x) || thrift.Equal(x, plain) {
			t.Fatalf("seed %d", seed)
		}
		other := thrift.Clone(plain)
		r.Change(t, reflect.ValueOf(shuffled), reflect.ValueOf(other))
		if got, want := thrift.Equal(x, shuffled), thrift.Equal(plain, plainOf(t, shuffled)); got != want {
			t.Fatalf("seed %d: %v; the structs: %v", seed, got, want)
		}
	}
	a, b := new(lazy.LazyLeaf), openLeaf(t, &lazy.Leaf{})
	if thrift.Equal(a, b) || !thrift.Equal(a, new(lazy.LazyLeaf)) || !thrift.Equal(b, openLeaf(t, &lazy.Leaf{})) || thrift.Equal(b, openLeaf(t, &lazy.Leaf{ID: 1})) {
		t.Error("views that hold nothing")
	}
	// As fields, also of elements of a set in another order.
	type args struct {
		Leaf *lazy.LazyLeaf `thrift:"leaf,1"`
	}
	type all struct {
		Args thrift.Set[*args] `thrift:"args,1"`
	}
	of := func(ids ...int64) *all {
		m := new(all)
		for _, id := range ids {
			m.Args = append(m.Args, &args{openLeaf(t, &lazy.Leaf{ID: id})})
		}
		return m
	}
	if !thrift.Equal(of(1, 2, 3), of(3, 1, 2)) || thrift.Equal(of(1, 2, 3), of(3, 1, 1)) || !thrift.Equal(&args{}, &args{}) || thrift.Equal(&args{}, &args{b}) {
		t.Error("views as fields")
	}
	if bad := spoiled(t); thrift.Equal(bad, thrift.Clone(bad)) || !thrift.Equal(bad, bad) {
		t.Error("a view that cannot be encoded")
	}
}

func openLeaf(t testing.TB, m *lazy.Leaf) *lazy.LazyLeaf {
	t.Helper()
	x, err := thrift.NewLazy[lazy.LazyLeaf](m)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// spoiled is a view in which something was set that cannot be encoded.
func spoiled(t testing.TB) *lazy.LazyBranch {
	t.Helper()
	x, err := thrift.NewLazy[lazy.LazyBranch](&lazy.Branch{ID: 6})
	if err != nil {
		t.Fatal(err)
	}
	x.SetID(77)
	x.SetLeaves(lazy.Leaves{nil})
	return x
}

type branchArgs struct {
	Branch *lazy.LazyBranch `thrift:"branch,1"`
}

func TestLazyClone(t *testing.T) {
	for seed := range uint64(200) {
		r, x, plain := changed(t, seed, 41)
		received := thrifttest.Encode(t, x)
		body := bytes.Clone(received)
		if seed%2 == 0 {
			x = openEverything(t, received)
		}
		c := thrift.Clone(x)
		if !bytes.Equal(thrifttest.Encode(t, c), body) {
			t.Fatalf("seed %d: the copy goes out differently", seed)
		}
		// Neither sees what happens to the other.
		r.Change(t, reflect.ValueOf(c), reflect.ValueOf(thrift.Clone(plain)))
		if !bytes.Equal(thrifttest.Encode(t, x), body) {
			t.Fatalf("seed %d: the original changed", seed)
		}
		want := thrifttest.Encode(t, c)
		x.Release()
		clear(received)
		if !bytes.Equal(thrifttest.Encode(t, c), want) {
			t.Fatalf("seed %d: the copy changed", seed)
		}
		c.Release()
	}
	x := openEverything(t, thrifttest.Encode(t, &lazy.Everything{Leaf: &lazy.Leaf{ID: 1}, Lg: []string{"a"}}))
	part := thrift.Clone(x.Leaf())
	x.Release()
	if part.SetName("n"); part.ID() != 1 || part.Name() != "n" {
		t.Error("the copy of a part")
	}
	part.Release() // a message of its own
	if c := thrift.Clone(new(lazy.LazyLeaf)); !thrift.Equal(c, new(lazy.LazyLeaf)) {
		t.Error("the copy of nothing")
	}
	if c := thrift.Clone(spoiled(t)); thrift.Validate(c) == nil || c.ID() != 77 {
		t.Error("the copy of what cannot be encoded")
	}
}

func TestLazyStringAndValidate(t *testing.T) {
	for seed := range uint64(200) {
		_, x, plain := changed(t, seed, 42)
		if got, want := thrift.String(x), "Lazy"+thrift.String(plain); got != want && len(got) < 1024 {
			t.Fatalf("seed %d:\n%s\n%s", seed, got, want)
		}
		if err := thrift.Validate(x); err != nil {
			t.Fatal(err)
		}
	}
	type args struct {
		Leaf *lazy.LazyLeaf `thrift:"leaf,1"`
	}
	x := openLeaf(t, &lazy.Leaf{ID: 1})
	if got := thrift.String(&args{x}); got != `args{leaf:{id:1 name:"" green:false}}` {
		t.Error(got)
	}
	bad, ok := errors.AsType[*thrift.InvalidError](thrift.Validate(&branchArgs{spoiled(t)}))
	if !ok || bad.Path != "branch" || !strings.Contains(bad.Why, "cannot be encoded") {
		t.Error(bad)
	}
	if bad := spoiled(t); thrift.Validate(bad) == nil || thrifttest.Appends(bad) == nil || !strings.Contains(thrift.String(bad), "id:77") {
		t.Error("what cannot be encoded:", thrift.String(bad))
	}
	x.Release()
	if got := thrift.String(x); got != "LazyLeafnil" {
		t.Error(got)
	}
	none := &args{new(lazy.LazyLeaf)}
	if thrift.Validate(none) == nil || thrift.String(none) != "args{leaf:nil}" {
		t.Error("a view that holds nothing:", thrift.String(none))
	}
}

// A mask does to a view what it does to the struct.
func TestLazyMasks(t *testing.T) {
	tried := 0
	for seed := range uint64(600) {
		r, x, plain := changed(t, seed, 43)
		paths := r.Paths(reflect.TypeFor[lazy.Everything]())
		view, err := thrift.Keep[lazy.LazyEverything](paths)
		mask, errPlain := thrift.Keep[lazy.Everything](paths)
		if seed%2 == 0 {
			view, err = thrift.Drop[lazy.LazyEverything](paths)
			mask, errPlain = thrift.Drop[lazy.Everything](paths)
		}
		if (err == nil) != (errPlain == nil) {
			t.Fatalf("%q: %v; for the struct: %v", paths, err, errPlain)
		}
		if err != nil {
			continue // a map's Pairs, or required
		}
		tried++
		if seed%3 == 0 { // what is unknown, or comes twice
			x = openEverything(t, r.Twice(t, thrifttest.Encode(t, x)))
		}
		view.Apply(x)
		mask.Apply(plain)
		var got, want buf.Out
		errGot, errWant := (thrift.Binary{}).Append(&got, x), (thrift.Binary{}).Append(&want, plain)
		if (errGot == nil) != (errWant == nil) {
			t.Fatalf("seed %d, %q: %v; the struct: %v", seed, paths, errGot, errWant)
		}
		if errGot == nil {
			a, b := new(lazy.Everything), new(lazy.Everything)
			if err := errors.Join(thrifttest.Decode(got.Bytes(), a), thrifttest.Decode(want.Bytes(), b)); err != nil || !reflect.DeepEqual(plainOf(t, a), plainOf(t, b)) {
				t.Fatalf("seed %d, %q: %v\n%s\n%s", seed, paths, err, thrift.String(a), thrift.String(b))
			}
			if d := differs(reflect.ValueOf(x), reflect.ValueOf(a)); d != "" {
				t.Fatalf("seed %d, %q: %s", seed, paths, d)
			}
			rest := new(struct{ Rest thrift.Unknown })
			if err := thrifttest.Decode(got.Bytes(), rest); err != nil || bytes.Contains(rest.Rest, []byte("unknown!")) == (seed%2 == 1) && seed%3 == 0 {
				t.Fatalf("seed %d, %q: what is unknown: %v", seed, paths, err)
			}
		}
		got.Reset()
		want.Reset()
		x.Release()
	}
	if tried < 300 {
		t.Errorf("only %d masks could be made", tried)
	}
}

type mustHave struct {
	Either thrifttest.Either `thrift:"either,1,required"`
}

// lazyMust is a view as it is generated.
type lazyMust struct {
	_ [0]mustHave
	thrift.Lazy
}

func TestLazyMaskRules(t *testing.T) {
	mask, err := thrift.Drop[lazy.LazyEverything]("leaf.name,leaves.name")
	if err != nil {
		t.Fatal(err)
	}
	// A first value that does not count must not let through what is dropped.
	secret := thrifttest.Encode(t, &lazy.Everything{Leaf: &lazy.Leaf{Name: "secret"}})
	open := thrifttest.Encode(t, &lazy.Everything{Leaf: &lazy.Leaf{Name: "known"}})
	x := openEverything(t, append(secret[:len(secret)-1:len(secret)-1], open...))
	leaf := x.Leaf()
	mask.Apply(x)
	if got := thrifttest.Encode(t, x); bytes.Contains(got, []byte("secret")) || bytes.Contains(got, []byte("known")) {
		t.Errorf("%q", got)
	}
	mask.Apply(x)
	mask.Apply(new(lazy.LazyEverything)) // holds nothing
	mask.Apply(nil)
	for what, f := range map[string]func(){
		"a part of before": func() { leaf.ID() },
		"masking a part": func() {
			m, err := thrift.Keep[lazy.LazyLeaf]("")
			if err != nil {
				t.Error(err)
			}
			m.Apply(x.Leaf())
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", what)
				}
			}()
			f()
		}()
	}
	if _, err := thrift.Keep[lazy.LazyEverything]("leaf.nothing"); err == nil {
		t.Error("a path that does not fit")
	}
	// One that turns out to have other elements.
	numbers := thrifttest.Unhex(t, "0f 0020 08 00000001 00000007")
	x = openEverything(t, append(numbers, thrifttest.Encode(t, &lazy.Everything{Leaves: []*lazy.Leaf{{ID: 1, Name: "a"}}})...))
	if mask.Apply(x); x.Leaves().Len() != 1 || x.Leaves().At(0).ID() != 1 || x.Leaves().At(0).Name() != "" || bytes.Contains(thrifttest.Encode(t, x), numbers) {
		t.Error(thrift.String(x))
	}
	// A required union stays, whatever it holds.
	must, err := thrift.Keep[lazyMust]("either.number")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*mustHave{{&thrifttest.EitherNumber{Number: 1}}, {&thrifttest.EitherText{Text: "t"}}} {
		y, err := thrift.NewLazy[lazyMust](m)
		if err != nil {
			t.Fatal(err)
		}
		if must.Apply(y); !bytes.Equal(thrifttest.Encode(t, y), thrifttest.Encode(t, m)) {
			t.Errorf("%x", thrifttest.Encode(t, y))
		}
	}
	// As a field.
	type args struct {
		Leaf *lazy.LazyLeaf `thrift:"leaf,1"`
		N    int32          `thrift:"n,2"`
	}
	keep, err := thrift.Keep[args]("leaf.id")
	if err != nil {
		t.Fatal(err)
	}
	m := &args{openLeaf(t, &lazy.Leaf{ID: 3, Name: "x"}), 4}
	if keep.Apply(m); m.N != 0 || m.Leaf.ID() != 3 || m.Leaf.Name() != "" {
		t.Error(thrift.String(m))
	}
}

// Compact and JSON write what a view shows, and make views.
func TestLazyInOtherProtocols(t *testing.T) {
	for seed := range uint64(200) {
		_, x, plain := changed(t, seed, 44)
		for _, c := range []rpc.Codec{thrift.Compact{}, thrift.JSON{}} {
			body := thrifttest.Written(t, c, x)
			got, view := new(lazy.Everything), new(lazy.LazyEverything)
			if err := c.Decode(buf.ViewOf(body), got, generous); err != nil || !thrift.Equal(got, plainOf(t, plain)) {
				t.Fatalf("seed %d, %T: %v\n%s\n%s", seed, c, err, thrift.String(got), thrift.String(plain))
			}
			if err := c.Decode(buf.ViewOf(body), view, generous); err != nil {
				t.Fatal(err)
			}
			if again, err := view.Plain(); err != nil || !thrift.Equal(again, got) {
				t.Fatalf("seed %d, %T: the view is another one, %v", seed, c, err)
			}
			// Into one that is open.
			if err := c.Decode(buf.ViewOf(body), view, generous); err != nil || len(thrifttest.Encode(t, view)) == 0 {
				t.Fatal(err)
			}
			// What is refused leaves nothing.
			if err := c.Decode(buf.ViewOf(body[:len(body)-1]), view, generous); err == nil || thrifttest.Appends(view) == nil {
				t.Fatal(err)
			}
		}
	}
	// Compact keeps what the view does not know.
	for seed := range uint64(50) {
		_, want := randomEverything(seed, 45)
		x, err := thrift.OpenLazy[lazy.LazyOlder](buf.ViewOf(thrifttest.Encode(t, want)), nil)
		if err != nil {
			t.Fatal(err)
		}
		again := new(lazy.LazyOlder)
		if err := thrifttest.DecodeCompact(thrifttest.Written(t, thrift.Compact{}, x), again); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(plainOf(t, again), plainOf(t, want)) {
			t.Fatalf("seed %d: something got lost", seed)
		}
	}
	type args struct {
		Leaf *lazy.LazyLeaf `thrift:"leaf,1"`
		N    int32          `thrift:"n,2"`
	}
	for _, c := range []rpc.Codec{thrift.Compact{}, thrift.JSON{}} {
		body, got := thrifttest.Written(t, c, &args{openLeaf(t, &lazy.Leaf{ID: 3, Name: "n"}), 4}), new(args)
		if err := c.Decode(buf.ViewOf(body), got, nil); err != nil || got.Leaf.ID() != 3 || got.Leaf.Name() != "n" || got.N != 4 {
			t.Errorf("%T: %v, %s", c, err, thrift.String(got))
		}
		for n := range body {
			var syntax *thrift.SyntaxError
			if err := c.Decode(buf.ViewOf(body[:n:n]), new(args), nil); !errors.As(err, &syntax) || syntax.Offset > n {
				t.Errorf("%T, %d of %d bytes: %v", c, n, len(body), err)
			}
		}
		for _, msg := range []any{spoiled(t), &branchArgs{spoiled(t)}, new(lazy.LazyLeaf), &args{new(lazy.LazyLeaf), 1}} {
			var out buf.Out
			if err := c.Append(&out, msg); rpc.CodeOf(err) != rpc.Internal {
				t.Errorf("%T in %T: %v", msg, c, err)
			}
			out.Reset()
		}
	}
	type list struct {
		Leaves []*lazy.LazyLeaf `thrift:"leaves,1"`
	}
	if err := thrifttest.Appends(&list{}); err == nil {
		t.Error("a list of views was taken")
	}
}

// A view takes of Compact what the struct takes, with the same words.
func TestLazyCompactRefusals(t *testing.T) {
	_, msg := randomEverything(3, 46)
	body := thrifttest.Written(t, thrift.Compact{}, msg)
	for n := range body {
		want, got := thrifttest.DecodeCompact(body[:n:n], new(lazy.Everything)), thrifttest.DecodeCompact(body[:n:n], new(lazy.LazyEverything))
		if want == nil || got == nil || want.Error() != got.Error() {
			t.Fatalf("%d of %d bytes: %v; want %v", n, len(body), got, want)
		}
	}
	tight := rpc.Limits{DecodeFactor: 1}.WithDefaults()
	big := append([]byte{0x19, 0xf6, 0x80, 0x80, 0x10}, make([]byte, 1<<18+1)...)
	var syntax *thrift.SyntaxError
	if err := (thrift.Compact{}).Decode(buf.ViewOf(big), new(lazy.LazyLeaf), tight); !errors.As(err, &syntax) {
		t.Errorf("over the budget: %v", err)
	}
	if err := thrifttest.DecodeCompact(big, new(lazy.LazyLeaf)); err != nil {
		t.Errorf("by default: %v", err)
	}
	deep := slices.Concat([]byte{0x4c}, bytes.Repeat([]byte{0x4c}, 70), make([]byte, 72))
	if err := thrifttest.DecodeCompact(deep, new(lazy.LazyBranch)); err == nil {
		t.Error("too deep")
	}
}

// A union in which no variant is known is nil once it is decoded, and the text of a view
// is that of the message.
func TestTextOfHollowUnions(t *testing.T) {
	for _, body := range [][]byte{
		{12, 0, 54, 0, 0},                            // without a field
		{12, 0, 54, 8, 0, 99, 0, 0, 0, 1, 0, 0},      // with one that is not known
		{15, 0, 36, 12, 0, 0, 0, 2, 0, 0, 0},         // in a list
		{12, 0, 54, 8, 0, 1, 0, 0, 0, 1, 0, 0},       // with a variant
		{12, 0, 54, 11, 0, 1, 0, 0, 0, 1, 'x', 0, 0}, // of another type
	} {
		want, x := new(lazy.Everything), new(lazy.LazyEverything)
		if err := thrifttest.Decode(body, want); err != nil {
			t.Fatal(err)
		}
		if err := thrifttest.Decode(body, x); err != nil {
			t.Fatal(err)
		}
		if got, want := thrift.String(x), "Lazy"+thrift.String(want); got != want {
			t.Errorf("% x: %s\nwant %s", body, got, want)
		}
	}
}

// FuzzLazyCompact holds views of arbitrary bytes of Compact against the decoder.
func FuzzLazyCompact(f *testing.F) {
	for seed := range uint64(10) {
		_, msg := randomEverything(seed, 47)
		f.Add(thrifttest.Written(f, thrift.Compact{}, msg), "leaf.name,leaves")
	}
	f.Fuzz(func(t *testing.T, body []byte, paths string) {
		if len(body) > 4<<10 {
			return
		}
		want, x := new(lazy.Everything), new(lazy.LazyEverything)
		refused, err := (thrift.Compact{}).Decode(buf.ViewOf(body), want, generous), (thrift.Compact{}).Decode(buf.ViewOf(body), x, generous)
		if (err == nil) != (refused == nil) || err != nil && err.Error() != refused.Error() {
			t.Fatalf("%v; the decoder says %v", err, refused)
		}
		if err != nil {
			return
		}
		got, err := x.Plain()
		if err != nil || !thrift.Equal(got, want) {
			t.Fatalf("%v\n%s\n%s", err, thrift.String(got), thrift.String(want))
		}
		again := new(lazy.LazyEverything)
		if err := (thrift.Compact{}).Decode(buf.ViewOf(thrifttest.Written(t, thrift.Compact{}, x)), again, generous); err != nil || !thrift.Equal(again, x) || !thrift.Equal(thrift.Clone(x), again) {
			t.Fatal(err)
		}
		if got, want := thrift.String(x), "Lazy"+thrift.String(want); got != want && len(got) < 1024 {
			t.Fatalf("%s\n%s", got, want)
		}
		mask, err := thrift.Drop[lazy.LazyEverything](paths)
		if err != nil {
			return
		}
		onPlain, err := thrift.Drop[lazy.Everything](paths)
		if err != nil {
			t.Fatal(err)
		}
		mask.Apply(x)
		onPlain.Apply(want)
		if thrifttest.Appends(want) != nil {
			return // unions of variants that are not known, in lists
		}
		if got, err := x.Plain(); err != nil || !thrift.Equal(plainOf(t, got), plainOf(t, want)) {
			t.Fatalf("%q: %v\n%s\n%s", paths, err, thrift.String(got), thrift.String(want))
		}
	})
}
