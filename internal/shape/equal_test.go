package shape_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift"
)

// Equal is what reflect.DeepEqual says of two messages that came over the wire,
// of which one field at most differs.
func TestEqualIsEqualOnTheWire(t *testing.T) {
	differed := 0
	for seed := range uint64(600) {
		r, a := thrifttest.Random(seed, 20)
		b := thrifttest.Normal(t, a)
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
		r.Fill(v.Field(i), true, strings.HasSuffix(f.Tag.Get("thrift"), ",optional"))
		want := reflect.DeepEqual(thrifttest.Normal(t, a), thrifttest.Normal(t, b))
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

func TestEqualInAnyOrder(t *testing.T) {
	moved := 0
	for seed := range uint64(300) {
		r, a := thrifttest.Random(seed, 21)
		b := thrifttest.Normal(t, a)
		thrifttest.Shuffle(r.Rand, reflect.ValueOf(b))
		if !thrift.Equal(a, b) {
			t.Fatalf("seed %d", seed)
		}
		if !reflect.DeepEqual(thrifttest.Normal(t, a), b) {
			moved++
		}
	}
	if moved < 100 {
		t.Errorf("only %d were in another order", moved)
	}
}

type sets struct {
	Doubles thrift.Set[float64]                     `thrift:"doubles,1"`
	Leaves  thrift.Set[*thrifttest.Leaf]            `thrift:"leaves,2"`
	Pairs   thrift.Pairs[*thrifttest.Leaf, string]  `thrift:"pairs,3"`
	Maps    thrift.Set[map[string]thrift.Set[int8]] `thrift:"maps,4"`
	Unions  thrift.Set[thrifttest.Either]           `thrift:"unions,5"`
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
		{nil, (*thrifttest.Leaf)(nil), false},
		{(*thrifttest.Leaf)(nil), (*thrifttest.Leaf)(nil), true},
		{(*thrifttest.Leaf)(nil), (*thrifttest.Tree)(nil), false},
		{(*thrifttest.Leaf)(nil), &thrifttest.Leaf{}, false},
		{&thrifttest.Leaf{}, (*thrifttest.Leaf)(nil), false},
		{&thrifttest.Leaf{}, &thrifttest.Leaf{}, true},
		{&thrifttest.Leaf{}, &thrifttest.Leaf{ID: 1}, false},
		{&thrifttest.Leaf{}, &thrifttest.Tree{}, false},
		{thrifttest.Leaf{}, thrifttest.Leaf{}, false},
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
		{&sets{Leaves: thrift.Set[*thrifttest.Leaf]{{ID: 1}, {ID: 2}}}, &sets{Leaves: thrift.Set[*thrifttest.Leaf]{{ID: 2}, {ID: 1}}}, true},
		{&sets{Leaves: thrift.Set[*thrifttest.Leaf]{{ID: 1}, nil}}, &sets{Leaves: thrift.Set[*thrifttest.Leaf]{nil, {ID: 1}}}, true},
		{&sets{Leaves: thrift.Set[*thrifttest.Leaf]{{ID: 1}, nil}}, &sets{Leaves: thrift.Set[*thrifttest.Leaf]{nil, {}}}, false},
		{&sets{Pairs: thrift.Pairs[*thrifttest.Leaf, string]{{Key: &thrifttest.Leaf{ID: 1}, Value: "a"}, {Key: &thrifttest.Leaf{ID: 2}, Value: "b"}}}, &sets{Pairs: thrift.Pairs[*thrifttest.Leaf, string]{{Key: &thrifttest.Leaf{ID: 2}, Value: "b"}, {Key: &thrifttest.Leaf{ID: 1}, Value: "a"}}}, true},
		{&sets{Pairs: thrift.Pairs[*thrifttest.Leaf, string]{{Key: &thrifttest.Leaf{ID: 1}, Value: "a"}, {Key: &thrifttest.Leaf{ID: 2}, Value: "b"}}}, &sets{Pairs: thrift.Pairs[*thrifttest.Leaf, string]{{Key: &thrifttest.Leaf{ID: 2}, Value: "a"}, {Key: &thrifttest.Leaf{ID: 1}, Value: "b"}}}, false},
		{&sets{Maps: thrift.Set[map[string]thrift.Set[int8]]{{"a": {1, 2}}, {"b": nil}}}, &sets{Maps: thrift.Set[map[string]thrift.Set[int8]]{{"b": {}}, {"a": {2, 1}}}}, true},
		{&sets{Unions: thrift.Set[thrifttest.Either]{&thrifttest.EitherNumber{Number: 1}, &thrifttest.EitherText{Text: "x"}, nil}}, &sets{Unions: thrift.Set[thrifttest.Either]{(*thrifttest.EitherText)(nil), &thrifttest.EitherText{Text: "x"}, &thrifttest.EitherNumber{Number: 1}}}, true},
		{&sets{Unions: thrift.Set[thrifttest.Either]{&thrifttest.EitherNumber{Number: 1}}}, &sets{Unions: thrift.Set[thrifttest.Either]{&thrifttest.EitherText{}}}, false},
		{&sets{Ptr: &zero}, &sets{}, false},
		{&sets{Ptr: &nan}, &sets{Ptr: new(math.NaN())}, true},
		{&thrifttest.Everything{MD8: map[float64]int64{nan: 1, 2: 3}}, &thrifttest.Everything{MD8: map[float64]int64{2: 3, -nan: 1}}, true},
		{&thrifttest.Everything{MD8: map[float64]int64{nan: 1, 2: 3}}, &thrifttest.Everything{MD8: map[float64]int64{2: 3, nan: 2}}, false},
		{&thrifttest.Everything{MD8: map[float64]int64{nan: 1}}, &thrifttest.Everything{MD8: map[float64]int64{2: 1}}, false},
		{&thrifttest.Everything{MD8: nans(1, 2, 3)}, &thrifttest.Everything{MD8: nans(3, 1, 2)}, true},
		{&thrifttest.Everything{MD8: nans(1, 2, 3)}, &thrifttest.Everything{MD8: nans(3, 1, 1)}, false},
	} {
		if got := thrift.Equal(c.a, c.b); got != c.want {
			t.Errorf("%d: %+v, %+v: %t", i, c.a, c.b, got)
		}
		if got := thrift.Equal(c.b, c.a); got != c.want {
			t.Errorf("%d the other way round: %t", i, got)
		}
	}
}

// A peer cannot make sets expensive by their order, nor by nesting them.
func TestEqualOfLargeSets(t *testing.T) {
	n := 30_000
	a, b := &sets{}, &sets{}
	for i := range n {
		a.Leaves = append(a.Leaves, &thrifttest.Leaf{Name: "same", ID: int64(i)})
		b.Leaves = append(b.Leaves, &thrifttest.Leaf{Name: "same", ID: int64(n - 1 - i)})
	}
	if !thrift.Equal(a, b) {
		t.Error("backwards")
	}
	b.Leaves[0] = &thrifttest.Leaf{Name: "same", ID: -1}
	if thrift.Equal(a, b) {
		t.Error("one differs")
	}
	for i := range n {
		a.Leaves[i], b.Leaves[i] = &thrifttest.Leaf{ID: 1}, &thrifttest.Leaf{ID: 1}
	}
	a.Leaves[0], b.Leaves[n-1] = &thrifttest.Leaf{}, &thrifttest.Leaf{}
	if !thrift.Equal(a, b) {
		t.Error("all alike but one")
	}
}

func TestEqualOfRings(t *testing.T) {
	if !thrift.Equal(thrifttest.Ring(3, "x"), thrifttest.Ring(3, "x")) || !thrift.Equal(thrifttest.Ring(2, "x"), thrifttest.Ring(2, "x")) {
		t.Error("rings")
	}
	if thrift.Equal(thrifttest.Ring(3, "x"), thrifttest.Ring(3, "y")) || thrift.Equal(thrifttest.Ring(3, "x"), thrifttest.Ring(4, "x")) {
		t.Error("rings that differ")
	}
	// In a set, out of order.
	type treeSet struct {
		Set thrift.Set[*thrifttest.Tree] `thrift:"set,1"`
	}
	a, b := &treeSet{thrift.Set[*thrifttest.Tree]{thrifttest.Ring(3, "x"), {Value: 7}}}, &treeSet{thrift.Set[*thrifttest.Tree]{{Value: 7}, thrifttest.Ring(3, "x")}}
	if !thrift.Equal(a, b) {
		t.Error("rings in sets")
	}
	// Each level twice: 2^60 ways through 60 structs.
	deep := func(leaf int32) *thrifttest.Tree {
		x := &thrifttest.Tree{Value: leaf}
		for range 60 {
			x = &thrifttest.Tree{Children: []*thrifttest.Tree{x, x}}
		}
		return x
	}
	if !thrift.Equal(deep(1), deep(1)) || thrift.Equal(deep(1), deep(2)) {
		t.Error("shared structs")
	}
}
