package shape_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// holes sets some pointers and unions below v to nil.
func holes(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if v.CanSet() && r.IntN(40) == 0 {
			v.SetZero()
			return
		}
		holes(r, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				holes(r, v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			holes(r, v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if k := it.Value().Kind(); (k == reflect.Pointer || k == reflect.Interface) && r.IntN(40) == 0 {
				v.SetMapIndex(it.Key(), reflect.Zero(it.Value().Type()))
			}
		}
	}
}

// Validate says no exactly when the encoder does.
func TestValidateAgreesWithTheEncoder(t *testing.T) {
	bad := 0
	for seed := range uint64(500) {
		r, m := thrifttest.Random(seed, 23)
		if err := thrift.Validate(m); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		holes(r.Rand, reflect.ValueOf(m))
		if want, got := thrifttest.Appends(m), thrift.Validate(m); (want == nil) != (got == nil) {
			t.Fatalf("seed %d: %v, the encoder says %v", seed, got, want)
		} else if got != nil {
			bad++
		}
	}
	if bad < 100 || bad > 490 {
		t.Errorf("%d of 500 were wrong", bad)
	}
}

type demand struct {
	Leaf   *thrifttest.Leaf                                  `thrift:"the_leaf,1,required"`
	Either thrifttest.Either                                 `thrift:"either,2,required"`
	List   []*thrifttest.Strict                              `thrift:"list,3"`
	Map    map[string]*thrifttest.Strict                     `thrift:"map,4"`
	Pairs  thrift.Pairs[thrifttest.Either, *thrifttest.Leaf] `thrift:"pairs,5"`
	Colors map[thrifttest.Color][]thrifttest.Either          `thrift:"colors,6"`
	UUIDs  map[thrift.UUID]*thrifttest.Leaf                  `thrift:"uuids,7"`
	Bools  map[bool]*thrifttest.Leaf                         `thrift:"bools,8"`
	Rest   thrift.Unknown
}

// alien is a pointer with the union's method that is no variant of it.
type alien struct{ thrifttest.EitherText }

func TestValidate(t *testing.T) {
	leaf, text := &thrifttest.Leaf{}, &thrifttest.EitherText{}
	good := &thrifttest.Strict{C: leaf}
	deep := &thrifttest.Tree{}
	for range 63 {
		deep = &thrifttest.Tree{Next: deep}
	}
	for _, c := range []struct {
		m    any
		path string
		why  string // "" if it is right
	}{
		{&demand{Leaf: leaf, Either: text}, "", ""},
		{&demand{Either: text}, "the_leaf", "is required and nil"},
		{&demand{Leaf: leaf}, "either", "is required and nil"},
		{&demand{Leaf: leaf, Either: (*thrifttest.EitherText)(nil)}, "either", "is required and nil"},
		{&demand{Leaf: leaf, Either: &alien{}}, "either", shape.WhyForeign},
		{&demand{Leaf: leaf, Either: &thrifttest.EitherTree{}}, "either.tree", "is nil"},
		{&demand{Leaf: leaf, Either: &thrifttest.EitherList{List: []thrifttest.Either{text, nil}}}, "either.list[1]", "is nil"},
		{&demand{Leaf: leaf, Either: text, List: []*thrifttest.Strict{good, {}}}, "list[1].c", "is required and nil"},
		{&demand{Leaf: leaf, Either: text, List: []*thrifttest.Strict{nil}}, "list[0]", "is nil"},
		{&demand{Leaf: leaf, Either: text, Map: map[string]*thrifttest.Strict{"a b": {}}}, `map["a b"].c`, "is required and nil"},
		{&demand{Leaf: leaf, Either: text, Pairs: thrift.Pairs[thrifttest.Either, *thrifttest.Leaf]{{Key: nil, Value: leaf}}}, "pairs[0].key", "is nil"},
		{&demand{Leaf: leaf, Either: text, Pairs: thrift.Pairs[thrifttest.Either, *thrifttest.Leaf]{{Key: text, Value: nil}}}, "pairs[0]", "is nil"},
		{&demand{Leaf: leaf, Either: text, Colors: map[thrifttest.Color][]thrifttest.Either{7: {nil}}}, "colors[7][0]", "is nil"},
		{&demand{Leaf: leaf, Either: text, UUIDs: map[thrift.UUID]*thrifttest.Leaf{{}: nil}}, "uuids[00000000-0000-0000-0000-000000000000]", "is nil"},
		{&demand{Leaf: leaf, Either: text, Bools: map[bool]*thrifttest.Leaf{true: nil}}, "bools[true]", "is nil"},
		{&demand{Leaf: leaf, Either: text, Rest: thrift.Unknown{8, 0, 50, 0, 0, 0, 1}}, "", ""},
		{&demand{Leaf: leaf, Either: text, Rest: thrift.Unknown{8, 0, 50, 0, 0, 0}}, "", "has a thrift.Unknown that does not hold whole fields, or too deep ones"},
		{deep, "", ""},
		{&thrifttest.Tree{Next: deep}, "", "is nested too deeply, or refers to itself"},
		{thrifttest.Ring(1, "x"), "", "is nested too deeply, or refers to itself"},
	} {
		err := thrift.Validate(c.m)
		if (thrifttest.Appends(c.m) == nil) != (err == nil) {
			t.Errorf("%s: the encoder says %v, not %v", c.path, thrifttest.Appends(c.m), err)
		}
		if c.why == "" {
			if err != nil {
				t.Errorf("%+v: %v", c.m, err)
			}
			continue
		}
		var bad *thrift.InvalidError
		if !errors.As(err, &bad) || bad.Why != c.why || c.path != "" && bad.Path != c.path || rpc.CodeOf(err) != rpc.InvalidArgument {
			t.Errorf("%v; want %s %s", err, c.path, c.why)
		}
	}
	for _, m := range []any{nil, 5, (*thrifttest.Leaf)(nil), thrifttest.Leaf{}} {
		var typ *thrift.TypeError
		if err := thrift.Validate(m); !errors.As(err, &typ) {
			t.Errorf("%T: %v", m, err)
		}
	}
	// Each level twice: 2^60 ways.
	twice := &thrifttest.Tree{}
	for range 25 {
		twice = &thrifttest.Tree{Children: []*thrifttest.Tree{twice, twice}}
	}
	if err := thrift.Validate(twice); err != nil {
		t.Error(err)
	}
}
