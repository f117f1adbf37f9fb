package thrift_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/thrift"
)

// shared finds memory that two values have in common and that can be written to.
func shared(a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return ""
		}
		if a.Pointer() == b.Pointer() {
			return a.Type().String()
		}
		return shared(a.Elem(), b.Elem())
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return ""
		}
		return shared(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if s := shared(a.Field(i), b.Field(i)); s != "" {
				return a.Type().Field(i).Name + " " + s
			}
		}
	case reflect.Slice:
		if a.Cap() > 0 && b.Cap() > 0 && a.Pointer() == b.Pointer() {
			return a.Type().String()
		}
		for i := range min(a.Len(), b.Len()) {
			if s := shared(a.Index(i), b.Index(i)); s != "" {
				return s
			}
		}
	case reflect.Map:
		if !a.IsNil() && a.Pointer() == b.Pointer() {
			return a.Type().String()
		}
		for it := a.MapRange(); it.Next(); {
			if v := b.MapIndex(it.Key()); v.IsValid() {
				if s := shared(it.Value(), v); s != "" {
					return s
				}
			}
		}
	}
	return ""
}

func TestCloneIsEqualAndApart(t *testing.T) {
	for seed := range uint64(300) {
		_, m := random(seed, 22)
		m.Plain, m.unexported = 0, ""
		c := thrift.Clone(m)
		if !reflect.DeepEqual(c, m) || !thrift.Equal(c, m) {
			t.Fatalf("seed %d: the copy differs", seed)
		}
		if s := shared(reflect.ValueOf(c), reflect.ValueOf(m)); s != "" {
			t.Fatalf("seed %d: %s is shared", seed, s)
		}
	}
}

func TestClone(t *testing.T) {
	if thrift.Clone[Leaf](nil) != nil {
		t.Error("nil")
	}
	// Nothing that has no tag, nothing that is not set.
	m := &Everything{Plain: 5, unexported: "x"}
	if c := thrift.Clone(m); !reflect.DeepEqual(c, &Everything{}) {
		t.Errorf("%+v", c)
	}
	// nil elements, nil variants, empty and nil containers.
	s := &sets{Unions: thrift.Set[Either]{nil, (*EitherText)(nil), &EitherList{}}, Leaves: thrift.Set[*Leaf]{nil, {ID: 1}}, List: []int8{}, Maps: thrift.Set[map[string]thrift.Set[int8]]{nil, {}, {"x": nil}}}
	if c := thrift.Clone(s); !reflect.DeepEqual(c, s) {
		t.Errorf("%+v", c)
	}
	// Decoded into memory of its own.
	for n := range 4 {
		r := ring(n+1, "x")
		if c := thrift.Clone(r); !thrift.Equal(c, r) || c == r || c.Next == r.Next {
			t.Errorf("ring of %d", n+1)
		}
	}
	deep := &Tree{Value: 1}
	for range 60 {
		deep = &Tree{Children: []*Tree{deep, deep}}
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
	m := &Everything{I64s: append(make([]int64, 0, 10), 1, 2)}
	c := thrift.Clone(m)
	_ = append(c.I64s, 3)
	if got := m.I64s[:3][2]; got != 0 {
		t.Errorf("%d was written behind the original", got)
	}
}
