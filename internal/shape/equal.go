package shape

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"unsafe"
)

// manySteps is how many structs are gone through before it is remembered which
// ones: messages have fewer, values that refer to themselves have no end.
// From then on each struct costs a map entry more.

const manySteps = 10_000

// Equal reports whether two messages of one type say the same: whether they
// would be encoded alike, except for the order of what has none. So an optional
// field that is nil differs from one that is empty, and other nil slices and maps
// are empty ones; sets, maps and Pairs may be in any order; a number that is none
// equals another one. Fields that are none of the IDL's are not looked at; what is kept of
// unknown ones is compared as bytes. A view is compared by what it shows.
//
// Two nils are equal, of one pointer type or without a type. Messages of different
// types, and values that are no messages, are not equal.
// Values that refer to themselves are compared to the end.
//
// Nothing is allocated for messages of fewer than manySteps structs whose sets are in
// one order and whose maps are of strings.
func (m *Memo) Equal(a, b any) bool {
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
	st, p, err := m.Of(a)
	if err != nil {
		return false
	}
	other, q, err := m.Of(b)
	e := equaler{}
	return err == nil && other == st && e.fields(st, p, q)
}

// A span is what a value refers to: a struct, a slice with n elements, a map.
type span struct {
	p unsafe.Pointer
	n int // of a slice its length, else -1
}

// An equaler is the state of one comparison.
//
// A pair that was met before counts as equal: if it is not, the walk that is still at it,
// or was, says so. That is what makes the comparison of values that refer to themselves
// end.
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
func (e *equaler) fields(st *Struct, p, q unsafe.Pointer) bool {
	if p == q || e.again(p, q, -1) {
		return true
	}
	if st.View != nil {
		return e.views(st, p, q)
	}
	for i := range st.Fields {
		f := &st.Fields[i]
		// Safety: p and q point to a st.Go each, and offset is that of a field.
		x, y := unsafe.Add(p, f.Offset), unsafe.Add(q, f.Offset)
		no := f.Absent(x)
		if no != f.Absent(y) || !no && !e.value(f.Type, x, y) {
			return false
		}
	}
	return st.unknown == 0 || bytes.Equal(*st.Kept(p), *st.Kept(q))
}

// views compares two views. What they know without a look at their structs is cheap.
func (e *equaler) views(st *Struct, p, q unsafe.Pointer) bool {
	if same, known := st.View.Same(p, q); known {
		return same
	}
	x, y := st.View.Plain(p), st.View.Plain(q)
	return x != nil && y != nil && e.fields(st.Of, x, y)
}

// value compares two values of type t.
//
// It has a case for each kind and no more in each than one line; the table would not be
// clearer in two halves.
func (e *equaler) value(t *Type, p, q unsafe.Pointer) bool {
	// Safety: for all loads below: p and q point to a t.Go each, whose layout
	// kind says.
	switch t.Kind {
	case Bool, Int8:
		return *(*uint8)(p) == *(*uint8)(q)
	case Int16:
		return *(*uint16)(p) == *(*uint16)(q)
	case Int32, Uint32:
		return *(*uint32)(p) == *(*uint32)(q)
	case Float64:
		x, y := *(*float64)(p), *(*float64)(q)
		return x == y || math.IsNaN(x) && math.IsNaN(y)
	case Float32:
		x, y := *(*float32)(p), *(*float32)(q)
		return x == y || x != x && y != y
	case Int64, Uint64:
		return *(*uint64)(p) == *(*uint64)(q)
	case UUID:
		return *(*[16]byte)(p) == *(*[16]byte)(q)
	case String:
		return *(*string)(p) == *(*string)(q)
	case Bytes:
		return bytes.Equal(*(*[]byte)(p), *(*[]byte)(q))
	case Pointer:
		x, y := *(*unsafe.Pointer)(p), *(*unsafe.Pointer)(q)
		return x == y || x != nil && y != nil && e.value(t.Elem, x, y)
	case Ref:
		x, y := *(*unsafe.Pointer)(p), *(*unsafe.Pointer)(q)
		return x == y || x != nil && y != nil && e.fields(t.Struct, x, y)
	case Union:
		return e.unions(t, *(*Face)(p), *(*Face)(q))
	case List, Set:
		return e.lists(t, t.Elem, *(*Slice)(p), *(*Slice)(q))
	case Pairs:
		return e.lists(t, t, *(*Slice)(p), *(*Slice)(q))
	case Map:
		return e.maps(t, p, q)
	}
	return false
}

// unions compares two unions. One without a variant, or with a nil one, is unset, and
// equal to any other unset one. A type that is no variant is equal only to itself: nothing is
// known of its fields.
func (e *equaler) unions(t *Type, x, y Face) bool {
	if x.Data == nil || y.Data == nil {
		return x.Data == y.Data
	}
	if x.Itab != y.Itab {
		return false
	}
	v := t.Holds(x)
	return x.Data == y.Data || v != nil && e.fields(v.Struct, x.Data, y.Data)
}

// lists compares the elements of slices of type t. el is their type; Pairs,
// whose elements have none, give t itself.
//
// That both are one slice is enough, since NaN equals NaN here: everything equals itself.
func (e *equaler) lists(t, el *Type, x, y Slice) bool {
	if x.Len != y.Len {
		return false
	}
	if x.Data == y.Data || t.Nested() && e.again(x.Data, y.Data, x.Len) {
		return true
	}
	size := t.Stride()
	for i := range x.Len {
		// Safety: both slices have x.Len elements of that size.
		if e.element(t, el, unsafe.Add(x.Data, i*size), unsafe.Add(y.Data, i*size)) {
			continue
		}
		return t.Kind != List && e.unordered(t, el, x, y, i)
	}
	return true
}

// element compares two elements of slices.
//
// Safety: p and q point to an el.Go each or, if that is Pairs, to a pair.
func (e *equaler) element(t, el *Type, p, q unsafe.Pointer) bool {
	if t.Kind != Pairs {
		return e.value(el, p, q)
	}
	return e.value(t.Key, p, q) && e.value(t.Elem, unsafe.Add(p, t.ValueAt), unsafe.Add(q, t.ValueAt))
}

// unordered compares what the slices have from element i on, in any order.
// Hashes, which only this process knows, bring together what may be equal: the
// time does not depend on what a peer has sent.
//
// Elements of one hash are usually equal, so that the inner loop ends at its first turn.
// Those that were matched are moved out of the way by a swap, or one element could stand
// for two.
func (e *equaler) unordered(t, el *Type, x, y Slice, i int) bool {
	if e.hash == nil {
		e.hash = newHasher()
	}
	a, b := e.hash.elements(t, el, x, i), e.hash.elements(t, el, y, i)
	size := t.Stride()
	for i, h := range a {
		if h.sum != b[i].sum {
			return false
		}
		found := false
		for j := i; j < len(b) && b[j].sum == h.sum; j++ {
			// Safety: at is an index of the slices.
			if e.element(t, el, unsafe.Add(x.Data, h.at*size), unsafe.Add(y.Data, b[j].at*size)) {
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
//
// The lengths are compared first, so that it is enough that each entry of x is in y.
func (e *equaler) maps(t *Type, p, q unsafe.Pointer) bool {
	// Safety: p and q point to a t.Go each, and a map of that layout is one.
	if t.Maps == StringString {
		x, y := *(*map[string]string)(p), *(*map[string]string)(q)
		for k, v := range x {
			if w, ok := y[k]; !ok || v != w {
				return false
			}
		}
		return len(x) == len(y)
	}
	x, y := reflect.NewAt(t.Go, p).Elem(), reflect.NewAt(t.Go, q).Elem()
	if x.Len() != y.Len() {
		return false
	}
	if x.Len() == 0 || t.Nested() && e.again(x.UnsafePointer(), y.UnsafePointer(), -1) {
		return true
	}
	v, w := reflect.New(t.Elem.Go), reflect.New(t.Elem.Go)
	for it := x.MapRange(); it.Next(); {
		there := y.MapIndex(it.Key())
		if !there.IsValid() {
			if t.Key.Kind.Float() && math.IsNaN(it.Key().Float()) {
				continue
			}
			return false
		}
		v.Elem().SetIterValue(it)
		w.Elem().Set(there)
		if !e.value(t.Elem, v.UnsafePointer(), w.UnsafePointer()) {
			return false
		}
	}
	return !t.Key.Kind.Float() || e.nans(t, x, y)
}

// nans compares the values whose keys are no numbers: they cannot be looked up,
// and there may be several.
//
// They are compared as a set of values; each such key is one of its own.
func (e *equaler) nans(t *Type, x, y reflect.Value) bool {
	set := &Type{Kind: Set, Elem: t.Elem, Go: reflect.SliceOf(t.Elem.Go)}
	var lists [2]Slice
	for i, m := range []reflect.Value{x, y} {
		values := reflect.New(set.Go)
		for it := m.MapRange(); it.Next(); {
			if math.IsNaN(it.Key().Float()) {
				values.Elem().Set(reflect.Append(values.Elem(), it.Value()))
			}
		}
		// Safety: values points to a slice.
		lists[i] = *(*Slice)(values.UnsafePointer())
	}
	return e.lists(set, set.Elem, lists[0], lists[1])
}

// A hashed is the hash of the element at an index.
type hashed struct {
	sum uint64
	at  int
}

// elements hashes the elements from index i on and sorts them by it.
//
// Sums are unsigned, so the comparison cannot be a subtraction.
func (h *hasher) elements(t, el *Type, s Slice, i int) []hashed {
	list := make([]hashed, 0, s.Len-i)
	for ; i < s.Len; i++ {
		// Safety: s has s.Len elements of that size.
		list = append(list, hashed{h.element(t, el, unsafe.Add(s.Data, i*t.Stride())), i})
	}
	slices.SortFunc(list, func(a, b hashed) int {
		if a.sum < b.sum {
			return -1
		}
		return int(min(a.sum-b.sum, 1))
	})
	return list
}
