package thrift_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/thrift"
)

func random(seed, stream uint64) (*filler, *Everything) {
	r := &filler{Rand: rand.New(rand.NewPCG(seed, stream))}
	m := new(Everything)
	r.fill(reflect.ValueOf(m).Elem(), true, false)
	return r, m
}

// normal is a message after it went over the wire.
func normal(t testing.TB, m *Everything) *Everything {
	t.Helper()
	got := new(Everything)
	if err := decode(encode(t, m), got); err != nil {
		t.Fatal(err)
	}
	return got
}

// Equal is what reflect.DeepEqual says of two messages that came over the wire,
// of which one field at most differs.
func TestEqualIsEqualOnTheWire(t *testing.T) {
	differed := 0
	for seed := range uint64(600) {
		r, a := random(seed, 20)
		b := normal(t, a)
		if !thrift.Equal(a, b) || !thrift.Equal(b, a) {
			t.Fatalf("seed %d: a message differs from itself over the wire", seed)
		}
		v := reflect.ValueOf(b).Elem()
		i := r.IntN(v.NumField())
		f := v.Type().Field(i)
		if f.Tag.Get("thrift") == "" || !f.IsExported() {
			continue
		}
		v.Field(i).SetZero()
		r.fill(v.Field(i), true, strings.HasSuffix(f.Tag.Get("thrift"), ",optional"))
		want := reflect.DeepEqual(normal(t, a), normal(t, b))
		if got := thrift.Equal(a, b); got != want {
			t.Fatalf("seed %d: field %s: %t, want %t\n%v\n%v", seed, f.Name, got, want, reflect.ValueOf(a).Elem().Field(i), v.Field(i))
		}
		if !want {
			differed++
		}
	}
	if differed < 100 {
		t.Errorf("only %d pairs differed", differed)
	}
}

// shuffle puts all sets and Pairs below v into another order.
func shuffle(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			shuffle(r, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				shuffle(r, v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			shuffle(r, v.Index(i))
		}
		if name := v.Type().Name(); strings.HasPrefix(name, "Set[") || strings.HasPrefix(name, "Pairs[") {
			r.Shuffle(v.Len(), reflect.Swapper(v.Interface()))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			shuffle(r, it.Value())
		}
	}
}

func TestEqualInAnyOrder(t *testing.T) {
	moved := 0
	for seed := range uint64(300) {
		r, a := random(seed, 21)
		b := normal(t, a)
		shuffle(r.Rand, reflect.ValueOf(b))
		if !thrift.Equal(a, b) {
			t.Fatalf("seed %d", seed)
		}
		if !reflect.DeepEqual(normal(t, a), b) {
			moved++
		}
	}
	if moved < 100 {
		t.Errorf("only %d were in another order", moved)
	}
}

type sets struct {
	Doubles thrift.Set[float64]                     `thrift:"doubles,1"`
	Leaves  thrift.Set[*Leaf]                       `thrift:"leaves,2"`
	Pairs   thrift.Pairs[*Leaf, string]             `thrift:"pairs,3"`
	Maps    thrift.Set[map[string]thrift.Set[int8]] `thrift:"maps,4"`
	Unions  thrift.Set[Either]                      `thrift:"unions,5"`
	List    []int8                                  `thrift:"list,6"`
	Opt     []int8                                  `thrift:"opt,7,optional"`
	Ptr     *float64                                `thrift:"ptr,8,optional"`
}

func nans(values ...int64) map[float64]int64 {
	m := map[float64]int64{}
	for _, v := range values {
		m[math.NaN()] = v
	}
	return m
}

func TestEqual(t *testing.T) {
	nan, zero := math.NaN(), 0.0
	for i, c := range []struct {
		a, b any
		want bool
	}{
		{nil, nil, true},
		{nil, (*Leaf)(nil), false},
		{(*Leaf)(nil), (*Leaf)(nil), true},
		{(*Leaf)(nil), (*Tree)(nil), false},
		{(*Leaf)(nil), &Leaf{}, false},
		{&Leaf{}, (*Leaf)(nil), false},
		{&Leaf{}, &Leaf{}, true},
		{&Leaf{}, &Leaf{ID: 1}, false},
		{&Leaf{}, &Tree{}, false},
		{Leaf{}, Leaf{}, false},
		{1, 1, false},
		{new(1), new(1), false},
		{&struct{ X chan int }{}, &struct{ X chan int }{}, true},
		{&struct {
			X chan int `thrift:"x,1"`
		}{}, &struct {
			X chan int `thrift:"x,1"`
		}{}, false},
		{&sets{}, &sets{List: []int8{}}, true},
		{&sets{}, &sets{Opt: []int8{}}, false},
		{&sets{List: []int8{1, 2}}, &sets{List: []int8{2, 1}}, false},
		{&sets{Doubles: thrift.Set[float64]{nan, zero, 1}}, &sets{Doubles: thrift.Set[float64]{1, nan, math.Copysign(0, -1)}}, true},
		{&sets{Doubles: thrift.Set[float64]{1, 1, 2}}, &sets{Doubles: thrift.Set[float64]{1, 2, 2}}, false},
		{&sets{Doubles: thrift.Set[float64]{1, 2, 2}}, &sets{Doubles: thrift.Set[float64]{2, 2, 1}}, true},
		{&sets{Leaves: thrift.Set[*Leaf]{{ID: 1}, {ID: 2}}}, &sets{Leaves: thrift.Set[*Leaf]{{ID: 2}, {ID: 1}}}, true},
		{&sets{Leaves: thrift.Set[*Leaf]{{ID: 1}, nil}}, &sets{Leaves: thrift.Set[*Leaf]{nil, {ID: 1}}}, true},
		{&sets{Leaves: thrift.Set[*Leaf]{{ID: 1}, nil}}, &sets{Leaves: thrift.Set[*Leaf]{nil, {}}}, false},
		{&sets{Pairs: thrift.Pairs[*Leaf, string]{{&Leaf{ID: 1}, "a"}, {&Leaf{ID: 2}, "b"}}}, &sets{Pairs: thrift.Pairs[*Leaf, string]{{&Leaf{ID: 2}, "b"}, {&Leaf{ID: 1}, "a"}}}, true},
		{&sets{Pairs: thrift.Pairs[*Leaf, string]{{&Leaf{ID: 1}, "a"}, {&Leaf{ID: 2}, "b"}}}, &sets{Pairs: thrift.Pairs[*Leaf, string]{{&Leaf{ID: 2}, "a"}, {&Leaf{ID: 1}, "b"}}}, false},
		{&sets{Maps: thrift.Set[map[string]thrift.Set[int8]]{{"a": {1, 2}}, {"b": nil}}}, &sets{Maps: thrift.Set[map[string]thrift.Set[int8]]{{"b": {}}, {"a": {2, 1}}}}, true},
		{&sets{Unions: thrift.Set[Either]{&EitherNumber{1}, &EitherText{"x"}, nil}}, &sets{Unions: thrift.Set[Either]{(*EitherText)(nil), &EitherText{"x"}, &EitherNumber{1}}}, true},
		{&sets{Unions: thrift.Set[Either]{&EitherNumber{1}}}, &sets{Unions: thrift.Set[Either]{&EitherText{}}}, false},
		{&sets{Ptr: &zero}, &sets{}, false},
		{&sets{Ptr: &nan}, &sets{Ptr: new(math.NaN())}, true},
		{&Everything{MD8: map[float64]int64{nan: 1, 2: 3}}, &Everything{MD8: map[float64]int64{2: 3, -nan: 1}}, true},
		{&Everything{MD8: map[float64]int64{nan: 1, 2: 3}}, &Everything{MD8: map[float64]int64{2: 3, nan: 2}}, false},
		{&Everything{MD8: map[float64]int64{nan: 1}}, &Everything{MD8: map[float64]int64{2: 1}}, false},
		{&Everything{MD8: nans(1, 2, 3)}, &Everything{MD8: nans(3, 1, 2)}, true},
		{&Everything{MD8: nans(1, 2, 3)}, &Everything{MD8: nans(3, 1, 1)}, false},
	} {
		if got := thrift.Equal(c.a, c.b); got != c.want {
			t.Errorf("%d: %+v, %+v: %t", i, c.a, c.b, got)
		}
		if got := thrift.Equal(c.b, c.a); got != c.want {
			t.Errorf("%d the other way round: %t", i, got)
		}
	}
}

// ring makes values that refer to themselves, along one way or along many.
func ring(n int, name string) *Tree {
	first := &Tree{Value: 1}
	last := first
	for range n - 1 {
		last.Next = &Tree{Value: 1}
		last = last.Next
	}
	last.Next = first
	last.Children = []*Tree{first, last, first}
	last.Named = map[string]*Tree{name: last}
	return first
}

// A peer cannot make sets expensive by their order, nor by nesting them.
func TestEqualOfLargeSets(t *testing.T) {
	n := 30_000
	a, b := &sets{}, &sets{}
	for i := range n {
		a.Leaves = append(a.Leaves, &Leaf{Name: "same", ID: int64(i)})
		b.Leaves = append(b.Leaves, &Leaf{Name: "same", ID: int64(n - 1 - i)})
	}
	if !thrift.Equal(a, b) {
		t.Error("backwards")
	}
	b.Leaves[0] = &Leaf{Name: "same", ID: -1}
	if thrift.Equal(a, b) {
		t.Error("one differs")
	}
	for i := range n {
		a.Leaves[i], b.Leaves[i] = &Leaf{ID: 1}, &Leaf{ID: 1}
	}
	a.Leaves[0], b.Leaves[n-1] = &Leaf{}, &Leaf{}
	if !thrift.Equal(a, b) {
		t.Error("all alike but one")
	}
}

func TestEqualOfRings(t *testing.T) {
	if !thrift.Equal(ring(3, "x"), ring(3, "x")) || !thrift.Equal(ring(2, "x"), ring(2, "x")) {
		t.Error("rings")
	}
	if thrift.Equal(ring(3, "x"), ring(3, "y")) || thrift.Equal(ring(3, "x"), ring(4, "x")) {
		t.Error("rings that differ")
	}
	// In a set, out of order.
	type treeSet struct {
		Set thrift.Set[*Tree] `thrift:"set,1"`
	}
	a, b := &treeSet{thrift.Set[*Tree]{ring(3, "x"), {Value: 7}}}, &treeSet{thrift.Set[*Tree]{{Value: 7}, ring(3, "x")}}
	if !thrift.Equal(a, b) {
		t.Error("rings in sets")
	}
	// Each level twice: 2^60 ways through 60 structs.
	deep := func(leaf int32) *Tree {
		x := &Tree{Value: leaf}
		for range 60 {
			x = &Tree{Children: []*Tree{x, x}}
		}
		return x
	}
	if !thrift.Equal(deep(1), deep(1)) || thrift.Equal(deep(1), deep(2)) {
		t.Error("shared structs")
	}
}
