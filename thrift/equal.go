package thrift

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"unsafe"
)

// manySteps is how many structs are gone through before it is remembered which
// ones: messages have fewer, values that refer to themselves have no end.
const manySteps = 10_000

// Equal reports whether two messages of one type say the same: whether they
// would be encoded alike, except for the order of what has none. So an optional
// field that is nil differs from one that is empty, and other nil slices and maps
// are empty ones; sets, maps and Pairs may be in any order; a double that is no number
// equals another one. Fields without a thrift tag are not looked at; what a field
// of type Unknown kept is compared as bytes.
//
// A lazy view is compared by what it shows; for that it is decoded, unless both have the
// same bytes. One with a value that cannot be encoded equals none but itself.
//
// Two nils are equal, of one pointer type or without a type. Messages of different
// types, and values that are no messages, are not equal.
// Values that refer to themselves are compared to the end.
func Equal(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if !x.IsValid() || !y.IsValid() {
		return x.IsValid() == y.IsValid()
	}
	if x.Type() != y.Type() || x.Kind() != reflect.Pointer {
		return false
	}
	if x.IsNil() || y.IsNil() {
		return x.IsNil() == y.IsNil() && x.Type().Elem().Kind() == reflect.Struct
	}
	pl, p, err := planOf(a)
	if err != nil {
		return false
	}
	e := equaler{}
	return e.fields(pl, p, y.UnsafePointer())
}

// A span is what a value refers to: a struct, a slice with n elements, a map.
type span struct {
	p unsafe.Pointer
	n int // of a slice its length, else -1
}

// nested reports whether the elements of a list or a map may lead back to it.
func (t *typ) nested() bool {
	return t.elem.kind >= kStruct || t.key != nil && t.key.kind >= kStruct
}

// An equaler is the state of one comparison.
type equaler struct {
	steps int
	seen  map[[2]span]bool // pairs that are equal, or will turn out otherwise elsewhere
	hash  *hasher          // nil until a set is out of order
}

// again counts a step and reports whether the pair was met before.
func (e *equaler) again(p, q unsafe.Pointer, n int) bool {
	if e.steps++; e.steps <= manySteps {
		return false
	}
	k := [2]span{{p, n}, {q, n}}
	if e.seen[k] {
		return true
	}
	if e.seen == nil {
		e.seen = map[[2]span]bool{}
	}
	e.seen[k] = true
	return false
}

// fields compares the structs at p and q.
func (e *equaler) fields(pl *plan, p, q unsafe.Pointer) bool {
	if p == q || e.again(p, q, -1) {
		return true
	}
	if pl.of != nil {
		return e.views(pl, pl.viewAt(p), pl.viewAt(q))
	}
	for i := range pl.ops {
		f := &pl.ops[i]
		// Safety: p and q point to a pl.rt each, and offset is that of a field.
		x, y := unsafe.Add(p, f.offset), unsafe.Add(q, f.offset)
		noX, _ := f.absent(x)
		noY, _ := f.absent(y)
		if noX != noY || !noX && !e.value(f.t, x, y) {
			return false
		}
	}
	return pl.unknown == 0 || bytes.Equal(*pl.kept(p), *pl.kept(q))
}

// value compares two values of type t.
func (e *equaler) value(t *typ, p, q unsafe.Pointer) bool {
	// Safety: for all loads below: p and q point to a t.rt each, whose layout
	// kind says.
	switch t.kind {
	case kBool, k1:
		return *(*uint8)(p) == *(*uint8)(q)
	case k2:
		return *(*uint16)(p) == *(*uint16)(q)
	case k4:
		return *(*uint32)(p) == *(*uint32)(q)
	case k8:
		if t.wire == TypeDouble {
			x, y := *(*float64)(p), *(*float64)(q)
			return x == y || math.IsNaN(x) && math.IsNaN(y)
		}
		return *(*uint64)(p) == *(*uint64)(q)
	case kUUID:
		return *(*UUID)(p) == *(*UUID)(q)
	case kString:
		return *(*string)(p) == *(*string)(q)
	case kBytes:
		return bytes.Equal(*(*[]byte)(p), *(*[]byte)(q))
	case kPointer:
		x, y := *(*unsafe.Pointer)(p), *(*unsafe.Pointer)(q)
		return x == y || x != nil && y != nil && e.value(t.elem, x, y)
	case kStruct:
		x, y := *(*unsafe.Pointer)(p), *(*unsafe.Pointer)(q)
		return x == y || x != nil && y != nil && e.fields(t.plan, x, y)
	case kUnion:
		return e.unions(t, *(*face)(p), *(*face)(q))
	case kList:
		return e.lists(t, t.elem, *(*slice)(p), *(*slice)(q))
	case kPairs:
		return e.lists(t, t, *(*slice)(p), *(*slice)(q))
	case kMap:
		return e.maps(t, p, q)
	}
	return false
}

func (e *equaler) unions(t *typ, x, y face) bool {
	if x.data == nil || y.data == nil {
		return x.data == y.data
	}
	if x.itab != y.itab {
		return false
	}
	v := t.holds(x)
	return x.data == y.data || v != nil && e.fields(v.plan, x.data, y.data)
}

// holds finds the variant that a union holds, nil if that is none of it.
func (t *typ) holds(f face) *variant {
	if t.byItab != nil {
		if i, ok := t.byItab[f.itab]; ok {
			return &t.cases[i]
		}
		return nil
	}
	for i := range t.cases {
		if t.cases[i].itab == f.itab {
			return &t.cases[i]
		}
	}
	return nil
}

// stride is the size of an element of a slice: of Pairs, key and value.
func (t *typ) stride() int {
	if t.kind == kPairs {
		return int(t.pair.Size())
	}
	return t.elem.size
}

// lists compares the elements of slices of type t. el is their type; Pairs,
// whose elements have none, give t itself.
func (e *equaler) lists(t, el *typ, x, y slice) bool {
	if x.len != y.len {
		return false
	}
	if x.data == y.data || t.nested() && e.again(x.data, y.data, x.len) {
		return true
	}
	size := t.stride()
	for i := range x.len {
		// Safety: both slices have x.len elements of that size.
		if e.element(t, el, unsafe.Add(x.data, i*size), unsafe.Add(y.data, i*size)) {
			continue
		}
		return (t.wire != TypeList) && e.unordered(t, el, x, y, i)
	}
	return true
}

// element compares two elements of slices.
//
// Safety: p and q point to an el.rt each or, if that is Pairs, to a pair.
func (e *equaler) element(t, el *typ, p, q unsafe.Pointer) bool {
	if t.kind != kPairs {
		return e.value(el, p, q)
	}
	return e.value(t.key, p, q) && e.value(t.elem, unsafe.Add(p, t.pairAt), unsafe.Add(q, t.pairAt))
}

// unordered compares what the slices have from element i on, in any order.
// Hashes, which only this process knows, bring together what may be equal: the
// time does not depend on what a peer has sent.
func (e *equaler) unordered(t, el *typ, x, y slice, i int) bool {
	if e.hash == nil {
		e.hash = newHasher()
	}
	a, b := e.hash.elements(t, el, x, i), e.hash.elements(t, el, y, i)
	size := t.stride()
	for i, h := range a {
		if h.sum != b[i].sum {
			return false
		}
		found := false
		for j := i; j < len(b) && b[j].sum == h.sum; j++ {
			// Safety: at is an index of the slices.
			if e.element(t, el, unsafe.Add(x.data, h.at*size), unsafe.Add(y.data, b[j].at*size)) {
				b[i], b[j], found = b[j], b[i], true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// maps compares two maps.
func (e *equaler) maps(t *typ, p, q unsafe.Pointer) bool {
	// Safety: p and q point to a t.rt each, and a map of that layout is one.
	if t.maps == mapStringString {
		x, y := *(*map[string]string)(p), *(*map[string]string)(q)
		for k, v := range x {
			if w, ok := y[k]; !ok || v != w {
				return false
			}
		}
		return len(x) == len(y)
	}
	x, y := reflect.NewAt(t.rt, p).Elem(), reflect.NewAt(t.rt, q).Elem()
	if x.Len() != y.Len() {
		return false
	}
	if x.Len() == 0 || t.nested() && e.again(x.UnsafePointer(), y.UnsafePointer(), -1) {
		return true
	}
	v, w := reflect.New(t.elem.rt), reflect.New(t.elem.rt)
	for it := x.MapRange(); it.Next(); {
		there := y.MapIndex(it.Key())
		if !there.IsValid() {
			if t.key.wire == TypeDouble && math.IsNaN(it.Key().Float()) {
				continue
			}
			return false
		}
		v.Elem().SetIterValue(it)
		w.Elem().Set(there)
		if !e.value(t.elem, v.UnsafePointer(), w.UnsafePointer()) {
			return false
		}
	}
	return t.key.wire != TypeDouble || e.nans(t, x, y)
}

// nans compares the values whose keys are no numbers: they cannot be looked up,
// and there may be several.
func (e *equaler) nans(t *typ, x, y reflect.Value) bool {
	set := &typ{kind: kList, wire: TypeSet, elem: t.elem, rt: reflect.SliceOf(t.elem.rt)}
	var lists [2]slice
	for i, m := range []reflect.Value{x, y} {
		values := reflect.New(set.rt)
		for it := m.MapRange(); it.Next(); {
			if math.IsNaN(it.Key().Float()) {
				values.Elem().Set(reflect.Append(values.Elem(), it.Value()))
			}
		}
		// Safety: values points to a slice.
		lists[i] = *(*slice)(values.UnsafePointer())
	}
	return e.lists(set, set.elem, lists[0], lists[1])
}

// A hashed is the hash of the element at an index.
type hashed struct {
	sum uint64
	at  int
}

// elements hashes the elements from index i on and sorts them by it.
func (h *hasher) elements(t, el *typ, s slice, i int) []hashed {
	list := make([]hashed, 0, s.len-i)
	for ; i < s.len; i++ {
		// Safety: s has s.len elements of that size.
		list = append(list, hashed{h.element(t, el, unsafe.Add(s.data, i*t.stride())), i})
	}
	slices.SortFunc(list, func(a, b hashed) int {
		if a.sum < b.sum {
			return -1
		}
		return int(min(a.sum-b.sum, 1))
	})
	return list
}
