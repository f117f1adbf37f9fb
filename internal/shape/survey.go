package shape

import (
	"math/bits"
	"reflect"
	"runtime"
	"unsafe"
)

// PresetCost is how much memory the defaults of one struct take, which has some, when
// n things of size bytes are counted as cost says. It is found out at the first use and not
// when the Struct is made: SetDefaults may be anybody's and use the Memo, whose lock is held
// then. cost is the same in all calls.
func (s *Struct) PresetCost(cost func(n, size int) int64) int64 {
	if have := s.cost.Load(); have != 0 {
		return have - 1
	}
	return s.measurePreset(cost)
}

// measurePreset makes the defaults twice. What both have in common, such as
// strings of the program's text, is not allocated for each. Fields that are none
// of the IDL's are not looked at.
//
// SetDefaults is a method of a generated struct, and is taken to make the same each time.
// Two callers at once may both measure; they find the same number.
func (s *Struct) measurePreset(cost func(n, size int) int64) int64 {
	one, two := s.New(), s.New()
	s.Preset(one)
	s.Preset(two)
	v := surveyor{seen: map[unsafe.Pointer]bool{}, cost: cost}
	v.fields(s, one)
	v.spent = 0
	v.fields(s, two)
	runtime.KeepAlive(one) // so that nothing of two lies where something of it lay
	s.cost.Store(v.spent + 1)
	return v.spent
}

// A surveyor sums up the memory that a value refers to, each thing once.
//
// It has no bound of its own: what it goes through was made by the program's SetDefaults,
// not by a peer, and each thing is gone through once.
type surveyor struct {
	seen  map[unsafe.Pointer]bool
	spent int64
	cost  func(n, size int) int64
}

// fresh adds n things of size bytes at p, and tells whether they were not seen before.
func (s *surveyor) fresh(p unsafe.Pointer, n, size int) bool {
	if p == nil || n == 0 || s.seen[p] {
		return false
	}
	s.seen[p] = true
	s.spent += s.cost(n, size)
	return true
}

// fields adds what the struct at p refers to.
func (s *surveyor) fields(st *Struct, p unsafe.Pointer) {
	for i := range st.Fields {
		f := &st.Fields[i]
		// Safety: p points to a st.Go, and offset is that of a field.
		s.value(f.Type, unsafe.Add(p, f.Offset))
	}
}

// value adds what the value of type t at p refers to.
func (s *surveyor) value(t *Type, p unsafe.Pointer) {
	// Safety: for all loads below: p points to a t.Go, whose layout kind says.
	switch t.Kind {
	case String:
		text := *(*string)(p)
		s.fresh(unsafe.Pointer(unsafe.StringData(text)), len(text), 1)
	case Bytes:
		b := *(*Slice)(p)
		s.fresh(b.Data, b.Cap, 1)
	case Pointer:
		if q := *(*unsafe.Pointer)(p); s.fresh(q, 1, t.Elem.Size) {
			s.value(t.Elem, q)
		}
	case Ref:
		if q := *(*unsafe.Pointer)(p); s.fresh(q, 1, t.Struct.Size) {
			s.fields(t.Struct, q)
		}
	case Union:
		f := *(*Face)(p)
		if v := t.Holds(f); v != nil && s.fresh(f.Data, 1, v.Struct.Size) {
			s.fields(v.Struct, f.Data)
		}
	case List, Set, Pairs:
		s.list(t, *(*Slice)(p))
	case Map:
		s.entries(t, p)
	}
}

// list adds a slice by its capacity, which is what is allocated, and what its elements refer to.
//
// Slices of one array are told by where they begin: it may count memory twice, and never
// leaves any out.
func (s *surveyor) list(t *Type, l Slice) {
	if !s.fresh(l.Data, l.Cap, t.Stride()) {
		return
	}
	for i := range l.Len {
		// Safety: l has l.Len elements of that size; a pair's key is its first
		// field, ValueAt is where its value is, and 0 for other slices.
		p := unsafe.Add(l.Data, i*t.Stride())
		if t.Kind == Pairs {
			s.value(t.Key, p)
		}
		s.value(t.Elem, unsafe.Add(p, t.ValueAt))
	}
}

// entries adds a map, about, and what its keys and values refer to.
func (s *surveyor) entries(t *Type, p unsafe.Pointer) {
	// Safety: p points to a t.Go, which is a map.
	m := reflect.NewAt(t.Go, p).Elem()
	if !s.fresh(m.UnsafePointer(), 1, mapBytes(m.Len(), t.Key.Size+t.Elem.Size)) {
		return
	}
	k, x := reflect.New(t.Key.Go), reflect.New(t.Elem.Go)
	for it := m.MapRange(); it.Next(); {
		k.Elem().SetIterKey(it)
		x.Elem().SetIterValue(it)
		s.value(t.Key, k.UnsafePointer())
		s.value(t.Elem, x.UnsafePointer())
	}
}

// mapBytes is about what a map of n entries takes: its head, and groups of eight
// slots of which 7/8 are used at the most, and whose number is a power of two.
//
// It is an estimate by how Go's maps are laid out since 1.24, and need not be
// exact: the budget is a rough bound itself.
func mapBytes(n, entry int) int {
	if n <= 8 {
		return 64 + 8*entry
	}
	slots := 1 << bits.Len(uint(n+n/7))
	return 128 + slots*(entry+1)
}
