package thrift

import (
	"math/bits"
	"reflect"
	"runtime"
	"unsafe"
)

// A budget is how many bytes of memory a decode may still allocate. Everything
// that a message makes a decoder allocate is taken from it before, but strings:
// they have their bytes in the message. That goes for the defaults of its
// structs, which take nothing on the wire, and for what a lazy view would become
// when it is decoded.
type budget int64

// unlimited is the budget for what is this program's own.
const unlimited budget = 1 << 62

// charge takes an allocation of n bytes from the budget, with what rounding up
// to a size class costs, and reports whether that was there.
func (m *budget) charge(n int) bool { return m.charges(n, 1) }

// charges is charge for n things of size bytes; n is at most the message's
// length, so that the product fits.
func (m *budget) charges(n, size int) bool {
	all := int64(n) * int64(size)
	*m -= budget(all + all>>3 + 16)
	return *m >= 0
}

// defaults takes the memory for the defaults of a struct, which has some, and
// sets them in the fresh one at p.
func (m *budget) defaults(pl *plan, p unsafe.Pointer) bool {
	if cost := pl.defaultsCost(); cost != 0 {
		if *m -= cost; *m < 0 {
			return false
		}
	}
	pl.setDefaults(p)
	return true
}

// defaultsCost is how much memory the defaults of one struct take. It is found
// out at the first use and not when the plan is made: SetDefaults may be anybody's
// and use this package, whose lock is held then.
func (pl *plan) defaultsCost() budget {
	if cost := pl.presetCost.Load(); cost != 0 {
		return budget(cost - 1)
	}
	return pl.measureDefaults()
}

// measureDefaults makes the defaults twice. What both have in common, such as
// strings of the program's text, is not allocated for each. Fields that are none
// of Thrift's are not looked at.
func (pl *plan) measureDefaults() budget {
	one, two := reflect.New(pl.rt).UnsafePointer(), reflect.New(pl.rt).UnsafePointer()
	pl.setDefaults(one)
	pl.setDefaults(two)
	s := surveyor{seen: map[unsafe.Pointer]bool{}}
	s.fields(pl, one)
	s.spent = 0
	s.fields(pl, two)
	runtime.KeepAlive(one) // so that nothing of two lies where something of it lay
	pl.presetCost.Store(int64(s.spent) + 1)
	return s.spent
}

// A surveyor sums up the memory that a value refers to, each thing once.
type surveyor struct {
	seen  map[unsafe.Pointer]bool
	spent budget
}

// fresh adds n things of size bytes at p, and tells whether they were not seen before.
func (s *surveyor) fresh(p unsafe.Pointer, n, size int) bool {
	if p == nil || n == 0 || s.seen[p] {
		return false
	}
	s.seen[p] = true
	var cost budget
	cost.charges(n, size)
	s.spent -= cost
	return true
}

// fields adds what the struct at p refers to.
func (s *surveyor) fields(pl *plan, p unsafe.Pointer) {
	for i := range pl.ops {
		f := &pl.ops[i]
		// Safety: p points to a pl.rt, and offset is that of a field.
		s.value(f.t, unsafe.Add(p, f.offset))
	}
}

// value adds what the value of type t at p refers to.
func (s *surveyor) value(t *typ, p unsafe.Pointer) {
	// Safety: for all loads below: p points to a t.rt, whose layout kind says.
	switch t.kind {
	case kString:
		text := *(*string)(p)
		s.fresh(unsafe.Pointer(unsafe.StringData(text)), len(text), 1)
	case kBytes:
		b := *(*slice)(p)
		s.fresh(b.data, b.cap, 1)
	case kPointer:
		if q := *(*unsafe.Pointer)(p); s.fresh(q, 1, t.elem.size) {
			s.value(t.elem, q)
		}
	case kStruct:
		if q := *(*unsafe.Pointer)(p); s.fresh(q, 1, t.plan.size) {
			s.fields(t.plan, q)
		}
	case kUnion:
		f := *(*face)(p)
		if v := t.holds(f); v != nil && s.fresh(f.data, 1, v.plan.size) {
			s.fields(v.plan, f.data)
		}
	case kList, kPairs:
		s.list(t, *(*slice)(p))
	case kMap:
		s.entries(t, p)
	}
}

func (s *surveyor) list(t *typ, l slice) {
	if !s.fresh(l.data, l.cap, t.stride()) {
		return
	}
	for i := range l.len {
		// Safety: l has l.len elements of that size; a pair's key is its first
		// field, pairAt is where its value is, and 0 for other slices.
		p := unsafe.Add(l.data, i*t.stride())
		if t.kind == kPairs {
			s.value(t.key, p)
		}
		s.value(t.elem, unsafe.Add(p, t.pairAt))
	}
}

func (s *surveyor) entries(t *typ, p unsafe.Pointer) {
	// Safety: p points to a t.rt, which is a map.
	m := reflect.NewAt(t.rt, p).Elem()
	if !s.fresh(m.UnsafePointer(), 1, mapBytes(m.Len(), t.key.size+t.elem.size)) {
		return
	}
	k, x := reflect.New(t.key.rt), reflect.New(t.elem.rt)
	for it := m.MapRange(); it.Next(); {
		k.Elem().SetIterKey(it)
		x.Elem().SetIterValue(it)
		s.value(t.key, k.UnsafePointer())
		s.value(t.elem, x.UnsafePointer())
	}
}

// mapBytes is about what a map of n entries takes: its head, and groups of eight
// slots of which 7/8 are used at the most, and whose number is a power of two.
func mapBytes(n, entry int) int {
	if n <= 8 {
		return 64 + 8*entry
	}
	slots := 1 << bits.Len(uint(n+n/7))
	return 128 + slots*(entry+1)
}
