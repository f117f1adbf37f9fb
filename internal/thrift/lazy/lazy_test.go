package lazy_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/lazy"
	"github.com/limosa-rpc/limosa/internal/invariant"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/thrift/impl"
)

// differs holds each getter of a view against the field of the plain struct. It
// gives the first difference.
func differs(view, plain reflect.Value) string {
	if view.IsNil() || plain.IsNil() {
		if view.IsNil() != plain.IsNil() {
			return fmt.Sprintf("the view is nil: %v, the struct: %v", view.IsNil(), plain.IsNil())
		}
		return ""
	}
	for i := range plain.Elem().NumField() {
		f := plain.Type().Elem().Field(i)
		if d := differsValue(thrifttest.Accessor(view, plain, i, false).Call(nil), plain.Elem().Field(i)); d != "" {
			return f.Name + ": " + d
		}
	}
	return ""
}

func differsValue(got []reflect.Value, want reflect.Value) string {
	if len(got) == 2 {
		if ok := got[1].Bool(); ok == want.IsNil() {
			return fmt.Sprintf("there: %v; want %v", ok, !want.IsNil())
		} else if !ok {
			return ""
		}
		want = want.Elem()
	}
	v := got[0]
	name := strings.TrimPrefix(v.Type().String(), "*")
	name = name[strings.IndexByte(name, '.')+1:]
	switch {
	case v.Kind() == reflect.Pointer && strings.HasPrefix(name, "Lazy"):
		return differs(v, want)
	case strings.HasPrefix(name, "Map["):
		return differsMap(v, want)
	case strings.HasSuffix(v.Type().PkgPath(), "/thrift/lazy"):
		return differsList(v, want, strings.HasPrefix(name, "Structs["))
	}
	if !reflect.DeepEqual(v.Interface(), want.Interface()) {
		return fmt.Sprintf("%.100v; want %.100v", v, want)
	}
	return ""
}

func differsList(v, want reflect.Value, structs bool) string {
	n := int(v.MethodByName("Len").Call(nil)[0].Int())
	if n != want.Len() {
		return fmt.Sprintf("%d elements; want %d", n, want.Len())
	}
	same := func(i int, x reflect.Value) string {
		if structs {
			if d := differs(x, want.Index(i)); d != "" {
				return fmt.Sprintf("element %d: %s", i, d)
			}
		} else if !reflect.DeepEqual(x.Interface(), want.Index(i).Interface()) {
			return fmt.Sprintf("element %d: %.100v; want %.100v", i, x, want.Index(i))
		}
		return ""
	}
	for i := n - 1; i >= 0; i-- {
		if d := same(i, v.MethodByName("At").Call([]reflect.Value{reflect.ValueOf(i)})[0]); d != "" {
			return d
		}
	}
	next := 0
	for i, x := range v.MethodByName("All").Call(nil)[0].Seq2() {
		if int(i.Int()) != next {
			return "All counts wrongly"
		}
		if d := same(next, x); d != "" {
			return "All: " + d
		}
		next++
	}
	if m := v.MethodByName("Slice"); m.IsValid() && n > 0 && !reflect.DeepEqual(m.Call(nil)[0].Interface(), want.Convert(m.Type().Out(0)).Interface()) {
		return "Slice differs"
	}
	if next != n {
		return fmt.Sprintf("All gave %d of %d", next, n)
	}
	return ""
}

func differsMap(v, want reflect.Value) string {
	got := reflect.MakeSlice(reflect.SliceOf(reflect.TypeFor[int]()), 0, 0)
	if want.Kind() == reflect.Map {
		got = reflect.MakeMap(want.Type())
	}
	n := 0
	for k, x := range v.MethodByName("All").Call(nil)[0].Seq2() {
		if want.Kind() == reflect.Map {
			got.SetMapIndex(k, x)
		} else if p := want.Index(n); !reflect.DeepEqual(k.Interface(), p.Field(0).Interface()) || !reflect.DeepEqual(x.Interface(), p.Field(1).Interface()) {
			return fmt.Sprintf("pair %d differs", n)
		}
		n++
	}
	if n != int(v.MethodByName("Len").Call(nil)[0].Int()) || want.Kind() != reflect.Map && n != want.Len() {
		return fmt.Sprintf("%d entries", n)
	}
	if want.Kind() == reflect.Map && (want.Len() != got.Len() || want.Len() > 0 && !reflect.DeepEqual(got.Interface(), want.Interface())) {
		return fmt.Sprintf("%.100v; want %.100v", got, want)
	}
	return ""
}

func TestLazyGettersGiveWhatDecodingGives(t *testing.T) {
	for seed := range uint64(300) {
		r, msg := randomEverything(seed, 20)
		body := thrifttest.Encode(t, msg)
		if seed%3 > 0 {
			body = r.Mixed(t, body)
		}
		want := new(lazy.Everything)
		if err := (thrift.Binary{}).Decode(buf.ViewOf(body), want, generous); err != nil {
			if _, got := thrift.OpenLazy[lazy.LazyEverything](buf.ViewOf(body), generous); got == nil || got.Error() != err.Error() {
				t.Fatalf("seed %d: %v; want %v", seed, got, err)
			}
			continue // a struct that some other struct was put in the place of
		}
		x := openEverything(t, body)
		if d := differs(reflect.ValueOf(x), reflect.ValueOf(want)); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
		if got := thrifttest.Encode(t, x); !bytes.Equal(got, body) {
			t.Fatalf("seed %d: what was only read went out differently", seed)
		}
		if got, err := x.Plain(); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: Plain: %v", seed, err)
		}
	}
}

func TestLazySettersChangeWhatPlainOnesChange(t *testing.T) {
	for seed := range uint64(400) {
		r, msg := randomEverything(seed, 21)
		body := thrifttest.Encode(t, msg)
		if seed%3 == 1 {
			body = r.Mixed(t, body)
		}
		want := new(lazy.Everything)
		if err := (thrift.Binary{}).Decode(buf.ViewOf(body), want, generous); err != nil {
			if _, got := thrift.OpenLazy[lazy.LazyEverything](buf.ViewOf(body), generous); got == nil || got.Error() != err.Error() {
				t.Fatalf("seed %d: %v; want %v", seed, got, err)
			}
			continue // a struct that some other struct was put in the place of
		}
		saved := bytes.Clone(body)
		x := openEverything(t, body)
		for range r.IntN(4) {
			r.Change(t, reflect.ValueOf(x), reflect.ValueOf(want))
			if r.IntN(2) == 0 {
				if d := differs(reflect.ValueOf(x), reflect.ValueOf(want)); d != "" {
					t.Fatalf("seed %d: %s", seed, d)
				}
			}
			got := thrifttest.Encode(t, x) // changes go on after a message was sent
			if again := thrifttest.Encode(t, x); !bytes.Equal(got, again) {
				t.Fatalf("seed %d: two encodings differ", seed)
			}
			if !reflect.DeepEqual(plainOf(t, plainOf(t, x)), plainOf(t, want)) {
				t.Fatalf("seed %d: the changed message is another one", seed)
			}
		}
		if !bytes.Equal(body, saved) {
			t.Fatalf("seed %d: received bytes were written to", seed)
		}
	}
}

// A view of an older version forwards what it does not know.
func TestLazyKeepsUnknownFields(t *testing.T) {
	for seed := range uint64(50) {
		_, want := randomEverything(seed, 22)
		x, err := thrift.OpenLazy[lazy.LazyOlder](buf.ViewOf(thrifttest.Encode(t, want)), nil)
		if err != nil {
			t.Fatal(err)
		}
		x.SetG("changed")
		x.SetA(!x.A())
		want.G, want.A = "changed", !want.A
		if n := x.Leaves().Len(); n > 0 {
			x.Leaves().At(n - 1).SetWeight(new(int32(5)))
			want.Leaves[n-1].Weight = new(int32(5))
		}
		if want.Leaf = (&lazy.Leaf{ID: 3}); seed%2 == 0 {
			want.Leaf = nil
		}
		x.SetLeaf(want.Leaf)
		if !reflect.DeepEqual(plainOf(t, x), plainOf(t, want)) {
			t.Fatalf("seed %d: something got lost", seed)
		}
	}
}

func TestLazyDuplicates(t *testing.T) {
	leaf := func(parts ...string) []byte { return []byte(strings.Join(parts, "") + "\x00") }
	const id1, id2 = "\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01", "\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02"
	const name, number = "\x0b\x00\x02\x00\x00\x00\x01n", "\x08\x00\x02\x00\x00\x00\x07"
	for _, tt := range []struct {
		body []byte
		id   int64
		want []byte // after SetID(9)
	}{
		{leaf(id1, id2, name), 2, leaf("\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x09", name)},
		{leaf(id2, name, number, id1), 1, leaf(name, number, "\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x09")},
		{leaf(name), 0, leaf(name, "\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x09")},
		{leaf(), 0, leaf("\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x09")},
	} {
		x, err := thrift.OpenLazy[lazy.LazyLeaf](buf.ViewOf(tt.body), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.ID(); got != tt.id {
			t.Errorf("%x: id %d; want %d", tt.body, got, tt.id)
		}
		x.SetID(1)
		x.SetID(9)
		if got := thrifttest.Encode(t, x); !bytes.Equal(got, tt.want) || x.ID() != 9 {
			t.Errorf("%x became %x; want %x", tt.body, got, tt.want)
		}
	}
}

func TestLazyDefaults(t *testing.T) {
	x, err := thrift.OpenLazy[lazy.LazySettings](buf.ViewOf([]byte{0}), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := lazy.NewSettings()
	if d := differs(reflect.ValueOf(x), reflect.ValueOf(want)); d != "" {
		t.Fatal(d)
	}
	x.Leaf().SetWeight(new(int32(3)))
	want.Leaf.Weight = new(int32(3))
	x.SetHost(nil)
	want.Host = nil
	if d := differs(reflect.ValueOf(x), reflect.ValueOf(want)); d != "" {
		t.Fatal(d)
	}
	got, err := x.Plain()
	if err != nil || got.Leaf.Weight == nil || *got.Leaf.Weight != 3 || got.Leaf.Name != "seven" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Setting what is around a change drops it; a view of what is gone does no harm.
func TestLazyStaleViews(t *testing.T) {
	x := openEverything(t, thrifttest.Encode(t, &lazy.Everything{Leaf: &lazy.Leaf{ID: 1, Name: "old"}, Leaves: []*lazy.Leaf{{ID: 2}, {ID: 3}}}))
	old, elem := x.Leaf(), x.Leaves().At(1)
	old.SetName("changed")
	elem.SetID(30)
	if x.Leaf().Name() != "changed" || x.Leaves().At(1).ID() != 30 {
		t.Fatal("another view of the same struct does not see the change")
	}
	x.SetLeaf(&lazy.Leaf{ID: 5, Name: "new"})
	x.SetLeaves([]*lazy.Leaf{{ID: 4}})
	old.SetID(99)
	elem.SetName("lost")
	fresh := x.Leaf()
	fresh.SetGreen(true)
	got := plainOf(t, x)
	if want := (&lazy.Leaf{ID: 5, Name: "new", Green: true}); !reflect.DeepEqual(got.Leaf, want) || len(got.Leaves) != 1 || got.Leaves[0].Name != "" {
		t.Errorf("%+v, %+v", got.Leaf, got.Leaves)
	}
}

func TestLazyUnencodable(t *testing.T) {
	for name, set := range map[string]func(*lazy.LazyEverything){
		"nil element": func(x *lazy.LazyEverything) { x.SetLeaves([]*lazy.Leaf{nil}) },
		"in a nested view": func(x *lazy.LazyEverything) {
			x.Branch().SetFruit((*lazy.FruitName)(nil))
			x.Branch().SetLeaves(lazy.Leaves{nil})
		},
		"in a value's view": func(x *lazy.LazyEverything) {
			x.SetLeaf(&lazy.Leaf{})
			x.SetBranch(&lazy.Branch{})
			x.Branch().SetBranches([]*lazy.Branch{nil})
		},
	} {
		x := openEverything(t, thrifttest.Encode(t, &lazy.Everything{Branch: &lazy.Branch{}}))
		set(x)
		var out buf.Out
		err := (thrift.Binary{}).Append(&out, x)
		out.Reset()
		var typ *thrift.TypeError
		if !errors.As(err, &typ) || rpc.CodeOf(err) != rpc.Internal {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := x.Plain(); err == nil {
			t.Errorf("%s: Plain gives no error", name)
		}
	}
}

func TestLazyMisuse(t *testing.T) {
	body := thrifttest.Encode(t, &lazy.Everything{Leaf: &lazy.Leaf{}, Le: []int64{1, 2}, Lg: []string{"a"}, Leaves: []*lazy.Leaf{{}}, Ms: map[string]string{"a": "b"}})
	x := openEverything(t, body)
	leaf, numbers, texts, leaves, entries := x.Leaf(), x.Le(), x.Lg(), x.Leaves(), x.Ms()
	panics := func(what string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s does not panic", what)
			}
		}()
		f()
	}
	panics("releasing a part", leaf.Release)
	panics("an index too large", func() { numbers.At(2) })
	panics("a negative index", func() { texts.At(-1) })
	panics("a missing struct", func() { leaves.At(1) })
	panics("a field of another type", func() { impl.LazySet(&x.Lazy, 0, "text") })
	panics("elements that are no generated views", func() { impl.LazyStructList[aside](&x.Lazy, 33) })
	panics("a getter of another type", func() { impl.LazyGet[string](&x.Lazy, 0) })
	x.Release()
	panics("a second Release", x.Release)
	panics("a getter after Release", func() { x.A() })
	panics("a setter after Release", func() { x.SetE(7) })
	panics("a part after Release", func() { leaf.ID() })
	panics("a number after Release", func() { numbers.At(0) })
	panics("Slice after Release", func() { numbers.Slice() })
	panics("a text after Release", func() { texts.At(0) })
	panics("a struct after Release", func() {
		for range leaves.All() {
		}
	})
	panics("a map after Release", func() {
		for range entries.All() {
		}
	})
	panics("encoding after Release", func() { thrifttest.Encode(t, x) })
	panics("a view that holds nothing", func() { new(lazy.LazyLeaf).ID() })
	if err := (thrift.Binary{}).Append(new(buf.Out), new(lazy.LazyLeaf)); rpc.CodeOf(err) != rpc.Internal {
		t.Errorf("encoding a view that holds nothing: %v", err)
	}
	if _, err := thrift.NewLazy[lazy.LazyLeaf](new(lazy.Branch)); err == nil {
		t.Error("a view of another struct")
	}
	fresh, err := thrift.NewLazy[lazy.LazyLeaf](&lazy.Leaf{ID: 4})
	if err != nil || fresh.ID() != 4 {
		t.Errorf("NewLazy: %v", err)
	}
}

func TestLazyRefusesWhatDecodingRefuses(t *testing.T) {
	_, msg := randomEverything(3, 23)
	body := thrifttest.Encode(t, msg)
	for n := range body {
		x, err := thrift.OpenLazy[lazy.LazyEverything](buf.ViewOf(body[:n:n]), nil)
		var syntax *thrift.SyntaxError
		if x != nil || !errors.As(err, &syntax) || rpc.CodeOf(err) != rpc.InvalidArgument {
			t.Fatalf("%d of %d bytes: %v, %v", n, len(body), x, err)
		}
		if want := thrifttest.Decode(body[:n:n], new(lazy.Everything)); want.Error() != err.Error() {
			t.Fatalf("%d of %d bytes: %v; want %v", n, len(body), err, want)
		}
	}
	deep := &lazy.Branch{}
	for range 70 {
		deep = &lazy.Branch{Next: deep}
	}
	var out buf.Out
	if err := (thrift.Binary{MaxDepth: 100}).Append(&out, deep); err != nil {
		t.Fatal(err)
	}
	tall := out.Bytes()
	for depth := 60; depth < 80; depth++ {
		lim := rpc.Limits{Depth: depth}.WithDefaults()
		_, err := thrift.OpenLazy[lazy.LazyBranch](buf.ViewOf(tall), lim)
		if want := (thrift.Binary{}).Decode(buf.ViewOf(tall), new(lazy.Branch), lim); (err == nil) != (want == nil) {
			t.Errorf("depth %d: %v; want %v", depth, err, want)
		}
	}
}

// Hostile messages cost no more than honest ones: each level looks at what is
// inside a bounded number of times.
func TestLazyDeepWrongTypes(t *testing.T) {
	const levels = 60
	var b []byte
	for range levels {
		b = append(b, byte(raw.TypeStruct), 0, 4) // next
	}
	for range levels {
		// A list of branches that turns out to be one of leaves in the end.
		b = append(b, byte(raw.TypeList), 0, 5, byte(raw.TypeI32), 0, 0, 0, 1, 0, 0, 0, 0, byte(raw.TypeI32), 0, 1, 0, 0, 0, 1, 0)
	}
	b = append(b, byte(raw.TypeI32), 0, 1, 0, 0, 0, 1, 0)
	x, err := thrift.OpenLazy[lazy.LazyBranch](buf.ViewOf(b), nil)
	if err != nil {
		t.Fatal(err)
	}
	if x.Branches().Len() != 0 || x.Next() == nil {
		t.Error("the wrong list counts")
	}
}

// FuzzLazy holds views against the decoder on arbitrary bytes.
func FuzzLazy(f *testing.F) {
	for seed := range uint64(6) {
		r, msg := randomEverything(seed, 24)
		body := thrifttest.Encode(f, msg)
		f.Add(r.Mixed(f, body), seed)
		for o := 0; body[o] != 0; {
			n, err := raw.Skip(body[o+3:], raw.Type(body[o]), 64)
			if err != nil {
				f.Fatal(err)
			}
			if n < 200 {
				f.Add(append(bytes.Clone(body[o:o+3+n]), 0), seed)
			}
			o += 3 + n
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		if len(body) > 4<<10 {
			return // a byte may be a struct, and reflection takes its time for each
		}
		saved := bytes.Clone(body)
		want := new(lazy.Everything)
		refused := (thrift.Binary{}).Decode(buf.ViewOf(body), want, generous)
		x, err := thrift.OpenLazy[lazy.LazyEverything](buf.ViewOf(body), generous)
		if (err == nil) != (refused == nil) {
			t.Fatalf("%v; the decoder says %v", err, refused)
		}
		if err != nil {
			if err.Error() != refused.Error() {
				t.Fatalf("%v; the decoder says %v", err, refused)
			}
			return
		}
		if d := differs(reflect.ValueOf(x), reflect.ValueOf(want)); d != "" && !strings.Contains(fmt.Sprint(want), "NaN") {
			t.Fatal(d)
		}
		if got := thrifttest.Encode(t, x); !bytes.Equal(got, thrifttest.Tamed(saved)) {
			t.Fatal("went out differently")
		}
		r := &thrifttest.Filler{Rand: rand.New(rand.NewPCG(seed, 1)), Depth: 4}
		r.Change(t, reflect.ValueOf(x), reflect.ValueOf(want))
		var out buf.Out
		defer out.Reset()
		if err := (thrift.Binary{}).Append(&out, x); err != nil {
			t.Fatal(err)
		}
		got := new(lazy.Everything)
		if err := (thrift.Binary{}).Decode(buf.ViewOf(out.Bytes()), got, generous); err != nil {
			t.Fatal(err)
		}
		var a, b buf.Out
		defer a.Reset()
		defer b.Reset()
		errA, errB := (thrift.Binary{}).Append(&a, got), (thrift.Binary{}).Append(&b, want)
		if (errA == nil) != (errB == nil) || errA == nil && a.Len() != b.Len() {
			t.Fatalf("%d bytes, %v; want %d, %v", a.Len(), errA, b.Len(), errB)
		}
		if !bytes.Equal(body, saved) {
			t.Fatal("the body was written to")
		}
	})
}

func TestLazyAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("skipped: debugging builds record every block")
	}
	body := thrifttest.Encode(t, &lazy.Everything{Leaves: slices.Repeat([]*lazy.Leaf{{Name: "n"}}, 100), Le: make([]int64, 100)})
	view := buf.ViewOf(body)
	for name, tt := range map[string]struct {
		most float64
		f    func(x *lazy.LazyEverything)
	}{
		"open":    {3, func(*lazy.LazyEverything) {}}, // the view, the lease, the index of more than 64 fields
		"scalars": {3, func(x *lazy.LazyEverything) { x.A(); x.E(); x.F(); x.Oe(); x.Le().At(5) }},
		"string":  {4, func(x *lazy.LazyEverything) { x.G() }},
		"structs": {3, func(x *lazy.LazyEverything) {
			for _, l := range x.Leaves().All() {
				l.ID()
				l.Weight()
				l.Green()
			}
		}},
		"set": {5, func(x *lazy.LazyEverything) { x.SetE(7) }}, // value, edits
	} {
		if got := testing.AllocsPerRun(100, func() {
			x, err := thrift.OpenLazy[lazy.LazyEverything](view, generous)
			if err != nil {
				t.Fatal(err)
			}
			tt.f(x)
		}); got > tt.most {
			t.Errorf("%s: %v allocations; want %v", name, got, tt.most)
		}
	}
}

// Views that a loop over a list gives may be kept, and changed in their turn or
// later, whatever their fields are.
func TestLazyElementsMayBeKept(t *testing.T) {
	for seed := range uint64(200) {
		r, msg := randomEverything(seed, 25)
		for i := range 30 {
			leaf := &lazy.Leaf{ID: int64(i), Name: r.Text(), Green: i%2 == 0}
			if r.IntN(3) == 0 {
				leaf.Weight = new(int32(i))
			}
			msg.Leaves = append(msg.Leaves, leaf)
		}
		msg = plainOf(t, msg)
		x := openEverything(t, thrifttest.Encode(t, msg))
		if seed%3 == 0 { // fields in another order, twice, and unknown ones
			var leaves []byte
			for range msg.Leaves {
				leaves = append(leaves, thrifttest.Unhex(t, "02 0004 01 0b 0002 00000001 61 08 0063 00000001 0a 0001 0000000000000007 0a 0001 0000000000000009 00")...)
			}
			head := binary.BigEndian.AppendUint32([]byte{15, 0, 32, 12}, uint32(len(msg.Leaves)))
			body := append(append(head, leaves...), 0)
			if msg = new(lazy.Everything); thrifttest.Decode(body, msg) != nil {
				t.Fatal()
			}
			x = openEverything(t, body)
		}
		var kept []*lazy.LazyLeaf
		for i, l := range x.Leaves().All() {
			if d := differs(reflect.ValueOf(l), reflect.ValueOf(msg.Leaves[i])); d != "" {
				t.Fatalf("seed %d, element %d: %s", seed, i, d)
			}
			if i%3 == 0 {
				l.SetName("set")
				msg.Leaves[i].Name = "set"
			}
			kept = append(kept, l)
		}
		for i, l := range kept {
			if i%4 == 0 {
				l.SetWeight(new(int32(7)))
				msg.Leaves[i].Weight = new(int32(7))
			}
			if d := differs(reflect.ValueOf(l), reflect.ValueOf(msg.Leaves[i])); d != "" {
				t.Fatalf("seed %d, element %d later: %s", seed, i, d)
			}
		}
		i := 0
		for _, b := range x.Branches().All() { // six fields, with structs in them
			if d := differs(reflect.ValueOf(b), reflect.ValueOf(msg.Branches[i])); d != "" {
				t.Fatalf("seed %d, branch %d: %s", seed, i, d)
			}
			i++
		}
		if got := plainOf(t, plainOf(t, x)); !reflect.DeepEqual(got, plainOf(t, msg)) {
			t.Fatalf("seed %d: sent differently\n%s\n%s", seed, thrift.String(got), thrift.String(plainOf(t, msg)))
		}
	}
}

// aside has a list of views that are no generated ones.
type aside struct {
	_ int
	lazy.LazyLeaf
}

// A list's header stands before its elements, which At relies on.
func TestLazyNumbersAtTheEdges(t *testing.T) {
	for n := range 9 {
		body := binary.BigEndian.AppendUint32([]byte{byte(raw.TypeList), 0, 22, byte(raw.TypeI8)}, uint32(n))
		want := make([]int8, n)
		for i := range n {
			want[i] = int8(-i * 11)
			body = append(body, byte(want[i]))
		}
		x := openEverything(t, slices.Clip(append(body, 0)))
		if got := x.Lb().Slice(); n > 0 && !slices.Equal(got, want) {
			t.Errorf("%v; want %v", got, want)
		}
		for i, v := range x.Lb().All() {
			if v != want[i] {
				t.Errorf("element %d: %d; want %d", i, v, want[i])
			}
		}
		x.SetLb(want) // of a value that was set, too
		if n > 0 && x.Lb().At(n-1) != want[n-1] {
			t.Error("after a set")
		}
	}
}

// Views as fields, as arguments and results of methods are: each has a reference
// of its own to the body.
func TestLazyFields(t *testing.T) {
	type args struct {
		A *lazy.LazyLeaf `thrift:"a,1"`
		N int32          `thrift:"n,2"`
		B *lazy.LazyLeaf `thrift:"b,3,optional"`
	}
	type plain struct {
		A *lazy.Leaf `thrift:"a,1"`
		N int32      `thrift:"n,2"`
		B *lazy.Leaf `thrift:"b,3,optional"`
	}
	want := &plain{A: &lazy.Leaf{ID: 1, Name: "one"}, N: 2, B: &lazy.Leaf{ID: 3, Name: "three"}}
	var out buf.Out
	m := out.Mark()
	if err := (thrift.Binary{}).Append(&out, want); err != nil {
		t.Fatal(err)
	}
	body := out.Take(m)
	wire := bytes.Clone(body.Bytes())
	for n := range wire {
		if err := (thrift.Binary{}).Decode(buf.ViewOf(wire[:n:n]), new(args), nil); rpc.CodeOf(err) != rpc.InvalidArgument {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	got := new(args)
	if err := (thrift.Binary{}).Decode(body, got, nil); err != nil {
		t.Fatal(err)
	}
	body.Release()
	if got.A.Name() != "one" || got.N != 2 || got.B.ID() != 3 {
		t.Errorf("%q, %d, %d", got.A.Name(), got.N, got.B.ID())
	}
	got.A.SetName("changed")
	got.B.Release()
	got.B, want.A.Name, want.B = nil, "changed", nil
	if !bytes.Equal(thrifttest.Encode(t, got), thrifttest.Encode(t, want)) {
		t.Error("encoded differently")
	}
	got.A.Release()
	if err := (thrift.Binary{}).Append(&out, &args{A: new(lazy.LazyLeaf)}); err == nil {
		t.Error("a view that holds nothing was encoded")
	}
	out.Reset()
}

// generous are limits that no message of these tests meets.
var generous = thrifttest.Generous()

func openEverything(t testing.TB, body []byte) *lazy.LazyEverything {
	t.Helper()
	x, err := thrift.OpenLazy[lazy.LazyEverything](buf.ViewOf(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func randomEverything(seed, stream uint64) (*thrifttest.Filler, *lazy.Everything) {
	r := &thrifttest.Filler{Rand: rand.New(rand.NewPCG(seed, stream)), Depth: 2}
	msg := new(lazy.Everything)
	r.Fill(reflect.ValueOf(msg).Elem(), true, false)
	return r, msg
}

// PlainOf decodes what was encoded: absent containers have become empty ones.
func plainOf(t testing.TB, msg any) *lazy.Everything {
	t.Helper()
	got := new(lazy.Everything)
	if err := (thrift.Binary{}).Decode(buf.ViewOf(thrifttest.Encode(t, msg)), got, generous); err != nil {
		t.Fatal(err)
	}
	return got
}

// A default that is read is not sent; what is changed in it is, unless the field was set
// or removed since.
func TestLazyDefaultsAreSentOnceTheyAreChanged(t *testing.T) {
	open := func() *lazy.LazySettings {
		x, err := thrift.OpenLazy[lazy.LazySettings](buf.ViewOf([]byte{0}), nil)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	x := open()
	one, other := x.Leaf(), x.Leaf()
	if got := thrifttest.Encode(t, x); len(got) != 1 || one.Name() != "seven" {
		t.Errorf("a default that was only read is sent: %x", got)
	}
	one.SetID(8)
	if other.ID() != 8 || x.Leaf().ID() != 8 {
		t.Error("two views of one default differ")
	}
	got, err := x.Plain()
	if err != nil || got.Leaf.ID != 8 || got.Leaf.Name != "seven" {
		t.Errorf("%+v, %v", got, err)
	}

	x = open()
	old := x.Leaf()
	x.SetLeaf(&lazy.Leaf{ID: 1})
	old.SetID(9)
	if x.Leaf().ID() != 1 || old.ID() != 9 {
		t.Error("a view of a default changes what was set in its place")
	}
	x = open()
	old = x.Leaf()
	x.SetHost(new("far"))
	old.SetID(9)
	x.SetHost(new("near"))
	if got, err := x.Plain(); err != nil || got.Leaf.ID != 9 || *got.Host != "near" {
		t.Errorf("%+v, %v", got, err)
	}
}
