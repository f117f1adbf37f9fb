package thrift_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/shape"
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

func appends(m any) error {
	var out buf.Out
	defer out.Reset()
	return thrift.Binary{}.Append(&out, m)
}

// Validate says no exactly when the encoder does.
func TestValidateAgreesWithTheEncoder(t *testing.T) {
	bad := 0
	for seed := range uint64(500) {
		r, m := random(seed, 23)
		if err := thrift.Validate(m); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		holes(r.Rand, reflect.ValueOf(m))
		if want, got := appends(m), thrift.Validate(m); (want == nil) != (got == nil) {
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
	Leaf   *Leaf                       `thrift:"the_leaf,1,required"`
	Either Either                      `thrift:"either,2,required"`
	List   []*Strict                   `thrift:"list,3"`
	Map    map[string]*Strict          `thrift:"map,4"`
	Pairs  thrift.Pairs[Either, *Leaf] `thrift:"pairs,5"`
	Colors map[Color][]Either          `thrift:"colors,6"`
	UUIDs  map[thrift.UUID]*Leaf       `thrift:"uuids,7"`
	Bools  map[bool]*Leaf              `thrift:"bools,8"`
	Rest   thrift.Unknown
}

// alien is a pointer with the union's method that is no variant of it.
type alien struct{ EitherText }

func (*alien) isEither(*EitherNumber, *EitherText, *EitherTree, *EitherList) {}

func TestValidate(t *testing.T) {
	leaf, text := &Leaf{}, &EitherText{}
	good := &Strict{C: leaf}
	deep := &Tree{}
	for range 63 {
		deep = &Tree{Next: deep}
	}
	for _, c := range []struct {
		m    any
		path string
		why  string // "" if it is right
	}{
		{&demand{Leaf: leaf, Either: text}, "", ""},
		{&demand{Either: text}, "the_leaf", "is required and nil"},
		{&demand{Leaf: leaf}, "either", "is required and nil"},
		{&demand{Leaf: leaf, Either: (*EitherText)(nil)}, "either", "is required and nil"},
		{&demand{Leaf: leaf, Either: &alien{}}, "either", shape.WhyForeign},
		{&demand{Leaf: leaf, Either: &EitherTree{}}, "either.tree", "is nil"},
		{&demand{Leaf: leaf, Either: &EitherList{List: []Either{text, nil}}}, "either.list[1]", "is nil"},
		{&demand{Leaf: leaf, Either: text, List: []*Strict{good, {}}}, "list[1].c", "is required and nil"},
		{&demand{Leaf: leaf, Either: text, List: []*Strict{nil}}, "list[0]", "is nil"},
		{&demand{Leaf: leaf, Either: text, Map: map[string]*Strict{"a b": {}}}, `map["a b"].c`, "is required and nil"},
		{&demand{Leaf: leaf, Either: text, Pairs: thrift.Pairs[Either, *Leaf]{{nil, leaf}}}, "pairs[0].key", "is nil"},
		{&demand{Leaf: leaf, Either: text, Pairs: thrift.Pairs[Either, *Leaf]{{text, nil}}}, "pairs[0]", "is nil"},
		{&demand{Leaf: leaf, Either: text, Colors: map[Color][]Either{7: {nil}}}, "colors[7][0]", "is nil"},
		{&demand{Leaf: leaf, Either: text, UUIDs: map[thrift.UUID]*Leaf{{}: nil}}, "uuids[00000000-0000-0000-0000-000000000000]", "is nil"},
		{&demand{Leaf: leaf, Either: text, Bools: map[bool]*Leaf{true: nil}}, "bools[true]", "is nil"},
		{&demand{Leaf: leaf, Either: text, Rest: thrift.Unknown{8, 0, 50, 0, 0, 0, 1}}, "", ""},
		{&demand{Leaf: leaf, Either: text, Rest: thrift.Unknown{8, 0, 50, 0, 0, 0}}, "", "has a thrift.Unknown that does not hold whole fields, or too deep ones"},
		{deep, "", ""},
		{&Tree{Next: deep}, "", "is nested too deeply, or refers to itself"},
		{ring(1, "x"), "", "is nested too deeply, or refers to itself"},
	} {
		err := thrift.Validate(c.m)
		if (appends(c.m) == nil) != (err == nil) {
			t.Errorf("%s: the encoder says %v, not %v", c.path, appends(c.m), err)
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
	for _, m := range []any{nil, 5, (*Leaf)(nil), Leaf{}} {
		var typ *thrift.TypeError
		if err := thrift.Validate(m); !errors.As(err, &typ) {
			t.Errorf("%T: %v", m, err)
		}
	}
	// Each level twice: 2^60 ways.
	twice := &Tree{}
	for range 25 {
		twice = &Tree{Children: []*Tree{twice, twice}}
	}
	if err := thrift.Validate(twice); err != nil {
		t.Error(err)
	}
}
