package shape

import (
	"hash/maphash"
	"math"
	"reflect"
	"unsafe"
)

// A hasher gives numbers that are the same for values that are Equal, and that
// nobody outside of the process can foretell.
//
// The seed is one for each comparison. With a fixed one a peer could send sets whose
// elements all have one hash, which would be compared each with each.
type hasher struct {
	seed maphash.Seed
	// known remembers the hashes of structs and containers; one that is not
	// known yet, because it contains itself, counts as zero.
	known map[span]uint64
}

// Equal makes one when the first set is found out of order; most never are.
func newHasher() *hasher {
	return &hasher{maphash.MakeSeed(), map[span]uint64{}}
}

// mix depends on the order of its two arguments, and so do sums that are mixed in turn.
func (h *hasher) mix(a, b uint64) uint64 { return maphash.Comparable(h.seed, [2]uint64{a, b}) }

// fields hashes the struct at p: the fields that are there, in their order, by tag and value, and
// what is kept of unknown ones. A view has the hash of what it shows, since it may be equal to
// a view that shows the same with other bytes.
func (h *hasher) fields(st *Struct, p unsafe.Pointer) uint64 {
	if sum, ok := h.known[span{p, -1}]; ok {
		return sum
	}
	// While it is gone through: whoever leads back to it gets this one.
	h.known[span{p, -1}] = 0
	if st.View != nil {
		var sum uint64
		if q := st.View.Plain(p); q != nil {
			sum = h.fields(st.Of, q)
		}
		h.known[span{p, -1}] = sum
		return sum
	}
	var sum uint64
	for i := range st.Fields {
		f := &st.Fields[i]
		// Safety: p points to a st.Go, and offset is that of a field.
		q := unsafe.Add(p, f.Offset)
		if !f.Absent(q) {
			sum = h.mix(h.mix(sum, uint64(f.Tag)), h.value(f.Type, q))
		}
	}
	if st.unknown != 0 {
		sum = h.mix(sum, maphash.Bytes(h.seed, *st.Kept(p)))
	}
	h.known[span{p, -1}] = sum
	return sum
}

// value hashes a value of type t. What Equal takes for the same must have the same hash here;
// what it tells apart should have another one, or sets are compared slowly.
func (h *hasher) value(t *Type, p unsafe.Pointer) uint64 {
	// Safety: for all loads below: p points to a t.Go, whose layout kind says.
	switch t.Kind {
	case Bool, Int8:
		return uint64(*(*uint8)(p))
	case Int16:
		return uint64(*(*uint16)(p))
	case Int32, Uint32:
		return h.mix(0, uint64(*(*uint32)(p)))
	case Int64, Uint64:
		return h.mix(0, *(*uint64)(p))
	case Float64:
		return h.float(*(*float64)(p))
	case Float32:
		return h.float(float64(*(*float32)(p)))
	case UUID:
		return maphash.Comparable(h.seed, *(*[16]byte)(p))
	case String:
		return maphash.String(h.seed, *(*string)(p))
	case Bytes:
		return maphash.Bytes(h.seed, *(*[]byte)(p))
	case Pointer:
		if q := *(*unsafe.Pointer)(p); q != nil {
			return h.value(t.Elem, q)
		}
	case Ref:
		if q := *(*unsafe.Pointer)(p); q != nil {
			return h.fields(t.Struct, q)
		}
	case Union:
		f := *(*Face)(p)
		if v := t.Holds(f); v != nil && f.Data != nil {
			return h.mix(uint64(v.Struct.Fields[0].Tag), h.fields(v.Struct, f.Data))
		}
	case List, Set:
		return h.list(t, t.Elem, *(*Slice)(p))
	case Pairs:
		return h.list(t, t, *(*Slice)(p))
	case Map:
		return h.entries(t, p)
	}
	return 0
}

// float hashes a number: both zeros are one, and so is all that is no number.
//
// As in Equal, so that a message equals itself whatever it holds.
func (h *hasher) float(x float64) uint64 {
	switch {
	case x == 0:
		return h.mix(0, 0)
	case math.IsNaN(x):
		return h.mix(0, math.Float64bits(math.NaN()))
	}
	return h.mix(0, math.Float64bits(x))
}

// list hashes the elements: of what has no order, their sum.
//
// A sum does not depend on the order; its parts are mixed before, or 1+3 would be 2+2.
func (h *hasher) list(t, el *Type, s Slice) uint64 {
	if sum, ok := h.known[span{s.Data, s.Len}]; ok && t.Nested() {
		return sum
	}
	sum := uint64(s.Len)
	if t.Nested() {
		h.known[span{s.Data, s.Len}] = 0
		defer func() { h.known[span{s.Data, s.Len}] = sum }()
	}
	for i := range s.Len {
		// Safety: s has s.Len elements of that size.
		x := h.element(t, el, unsafe.Add(s.Data, i*t.Stride()))
		if t.Kind == List {
			sum = h.mix(sum, x)
		} else {
			sum += h.mix(1, x)
		}
	}
	return sum
}

// element hashes an element of a slice of type t.
//
// Safety: p points to an el.Go or, if t is Pairs, to a pair.
func (h *hasher) element(t, el *Type, p unsafe.Pointer) uint64 {
	if t.Kind != Pairs {
		return h.value(el, p)
	}
	return h.mix(h.value(t.Key, p), h.value(t.Elem, unsafe.Add(p, t.ValueAt)))
}

// entries hashes the map at p: the sum over its entries, which come in another order each time.
func (h *hasher) entries(t *Type, p unsafe.Pointer) uint64 {
	// Safety: p points to a t.Go, which is a map.
	m := reflect.NewAt(t.Go, p).Elem()
	at := span{m.UnsafePointer(), -1}
	if sum, ok := h.known[at]; ok && t.Nested() {
		return sum
	}
	h.known[at] = 0
	sum := uint64(m.Len())
	k, v := reflect.New(t.Key.Go), reflect.New(t.Elem.Go)
	for it := m.MapRange(); it.Next(); {
		k.Elem().SetIterKey(it)
		v.Elem().SetIterValue(it)
		sum += h.mix(h.value(t.Key, k.UnsafePointer()), h.value(t.Elem, v.UnsafePointer()))
	}
	h.known[at] = sum
	return sum
}
