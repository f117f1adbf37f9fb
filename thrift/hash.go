package thrift

import (
	"hash/maphash"
	"math"
	"reflect"
	"unsafe"
)

// A hasher gives numbers that are the same for values that are Equal, and that
// nobody outside of the process can foretell.
type hasher struct {
	seed maphash.Seed
	// known remembers the hashes of structs and containers; one that is not
	// known yet, because it contains itself, counts as zero.
	known map[span]uint64
}

func newHasher() *hasher {
	return &hasher{maphash.MakeSeed(), map[span]uint64{}}
}

func (h *hasher) mix(a, b uint64) uint64 { return maphash.Comparable(h.seed, [2]uint64{a, b}) }

func (h *hasher) fields(pl *plan, p unsafe.Pointer) uint64 {
	if sum, ok := h.known[span{p, -1}]; ok {
		return sum
	}
	h.known[span{p, -1}] = 0
	if pl.of != nil {
		sum := h.view(pl.viewAt(p))
		h.known[span{p, -1}] = sum
		return sum
	}
	var sum uint64
	for i := range pl.ops {
		f := &pl.ops[i]
		// Safety: p points to a pl.rt, and offset is that of a field.
		q := unsafe.Add(p, f.offset)
		if no, _ := f.absent(q); !no {
			sum = h.mix(h.mix(sum, uint64(f.head)), h.value(f.t, q))
		}
	}
	if pl.unknown != 0 {
		sum = h.mix(sum, maphash.Bytes(h.seed, *pl.kept(p)))
	}
	h.known[span{p, -1}] = sum
	return sum
}

func (h *hasher) value(t *typ, p unsafe.Pointer) uint64 {
	// Safety: for all loads below: p points to a t.rt, whose layout kind says.
	switch t.kind {
	case kBool, k1:
		return uint64(*(*uint8)(p))
	case k2:
		return uint64(*(*uint16)(p))
	case k4:
		return h.mix(0, uint64(*(*uint32)(p)))
	case k8:
		n := *(*uint64)(p)
		switch x := *(*float64)(p); {
		case t.wire != TypeDouble:
		case x == 0:
			n = 0 // of both signs
		case math.IsNaN(x):
			n = math.Float64bits(math.NaN()) // there are many
		}
		return h.mix(0, n)
	case kUUID:
		return maphash.Comparable(h.seed, *(*UUID)(p))
	case kString:
		return maphash.String(h.seed, *(*string)(p))
	case kBytes:
		return maphash.Bytes(h.seed, *(*[]byte)(p))
	case kPointer:
		if q := *(*unsafe.Pointer)(p); q != nil {
			return h.value(t.elem, q)
		}
	case kStruct:
		if q := *(*unsafe.Pointer)(p); q != nil {
			return h.fields(t.plan, q)
		}
	case kUnion:
		f := *(*face)(p)
		if v := t.holds(f); v != nil && f.data != nil {
			return h.mix(uint64(v.plan.ops[0].head), h.fields(v.plan, f.data))
		}
	case kList:
		return h.list(t, t.elem, *(*slice)(p))
	case kPairs:
		return h.list(t, t, *(*slice)(p))
	case kMap:
		return h.entries(t, p)
	}
	return 0
}

// list hashes the elements: of what has no order, their sum.
func (h *hasher) list(t, el *typ, s slice) uint64 {
	if sum, ok := h.known[span{s.data, s.len}]; ok && t.nested() {
		return sum
	}
	sum := uint64(s.len)
	if t.nested() {
		h.known[span{s.data, s.len}] = 0
		defer func() { h.known[span{s.data, s.len}] = sum }()
	}
	for i := range s.len {
		// Safety: s has s.len elements of that size.
		x := h.element(t, el, unsafe.Add(s.data, i*t.stride()))
		if t.wire == TypeList {
			sum = h.mix(sum, x)
		} else {
			sum += h.mix(1, x)
		}
	}
	return sum
}

// element hashes an element of a slice of type t.
//
// Safety: p points to an el.rt or, if t is Pairs, to a pair.
func (h *hasher) element(t, el *typ, p unsafe.Pointer) uint64 {
	if t.kind != kPairs {
		return h.value(el, p)
	}
	return h.mix(h.value(t.key, p), h.value(t.elem, unsafe.Add(p, t.pairAt)))
}

func (h *hasher) entries(t *typ, p unsafe.Pointer) uint64 {
	// Safety: p points to a t.rt, which is a map.
	m := reflect.NewAt(t.rt, p).Elem()
	at := span{m.UnsafePointer(), -1}
	if sum, ok := h.known[at]; ok && t.nested() {
		return sum
	}
	h.known[at] = 0
	sum := uint64(m.Len())
	k, v := reflect.New(t.key.rt), reflect.New(t.elem.rt)
	for it := m.MapRange(); it.Next(); {
		k.Elem().SetIterKey(it)
		v.Elem().SetIterValue(it)
		sum += h.mix(h.value(t.key, k.UnsafePointer()), h.value(t.elem, v.UnsafePointer()))
	}
	h.known[at] = sum
	return sum
}
