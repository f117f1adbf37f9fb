package shape_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift"
)

func TestCloneIsEqualAndApart(t *testing.T) {
	for seed := range uint64(300) {
		_, m := thrifttest.Random(seed, 22)
		m.Plain = 0
		m.Hide("")
		c := thrift.Clone(m)
		if !reflect.DeepEqual(c, m) || !thrift.Equal(c, m) {
			t.Fatalf("seed %d: the copy differs", seed)
		}
		if s := thrifttest.Shared(reflect.ValueOf(c), reflect.ValueOf(m)); s != "" {
			t.Fatalf("seed %d: %s is shared", seed, s)
		}
	}
}

func TestClone(t *testing.T) {
	if thrift.Clone[thrifttest.Leaf](nil) != nil {
		t.Error("nil")
	}
	// Nothing that has no tag, nothing that is not set.
	m := &thrifttest.Everything{Plain: 5}
	m.Hide("x")
	if c := thrift.Clone(m); !reflect.DeepEqual(c, &thrifttest.Everything{}) {
		t.Errorf("%+v", c)
	}
	// nil elements, nil variants, empty and nil containers.
	s := &sets{Unions: thrift.Set[thrifttest.Either]{nil, (*thrifttest.EitherText)(nil), &thrifttest.EitherList{}}, Leaves: thrift.Set[*thrifttest.Leaf]{nil, {ID: 1}}, List: []int8{}, Maps: thrift.Set[map[string]thrift.Set[int8]]{nil, {}, {"x": nil}}}
	if c := thrift.Clone(s); !reflect.DeepEqual(c, s) {
		t.Errorf("%+v", c)
	}
	// Decoded into memory of its own.
	for n := range 4 {
		r := thrifttest.Ring(n+1, "x")
		if c := thrift.Clone(r); !thrift.Equal(c, r) || c == r || c.Next == r.Next {
			t.Errorf("ring of %d", n+1)
		}
	}
	deep := &thrifttest.Tree{Value: 1}
	for range 60 {
		deep = &thrifttest.Tree{Children: []*thrifttest.Tree{deep, deep}}
	}
	if !thrift.Equal(thrift.Clone(deep), deep) {
		t.Error("shared structs")
	}
	defer func() {
		var typ *thrift.TypeError
		if err, ok := recover().(error); !ok || !errors.As(err, &typ) {
			t.Errorf("no message: %v", err)
		}
	}()
	thrift.Clone(new(5))
}

func TestSlicesAreFullyTheCopys(t *testing.T) {
	m := &thrifttest.Everything{I64s: append(make([]int64, 0, 10), 1, 2)}
	c := thrift.Clone(m)
	_ = append(c.I64s, 3)
	if got := m.I64s[:3][2]; got != 0 {
		t.Errorf("%d was written behind the original", got)
	}
}
