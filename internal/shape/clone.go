package shape

import (
	"maps"
	"reflect"
	"slices"
	"unsafe"
)

// Clone gives a copy of the message at p that shares no memory with it that can be
// written to; strings are shared. Nil and empty containers stay what they
// are. Fields that are none of the IDL's are zero in the copy: they are no part of the
// message. The copy of a value that refers to itself does so too, though perhaps later.
//
// It takes time and memory in proportion to what the message is when written out, but for
// values that refer to themselves or to one thing from many places: after manySteps
// structs each is copied once.
func (s *Struct) Clone(p unsafe.Pointer) unsafe.Pointer {
	c := cloner{}
	return c.structure(s, p)
}

// A cloner is the state of one copy.
//
// The first structs are not remembered, since a map entry costs more than a small copy
// and most messages have fewer. So what is shared is copied twice in a small message, and
// once in a large one: both are copies that share nothing with the original.
type cloner struct {
	steps int
	made  map[span]unsafe.Pointer // copies, once there are many
}

// note counts a step, and remembers the copy of what is at p.
//
// A slice is known by its length too: two slices of one array are two things.
func (c *cloner) note(p unsafe.Pointer, n int, q unsafe.Pointer) {
	if c.steps++; c.steps <= manySteps {
		return
	}
	if c.made == nil {
		c.made = map[span]unsafe.Pointer{}
	}
	c.made[span{p, n}] = q
}

// structure copies the struct at p.
func (c *cloner) structure(st *Struct, p unsafe.Pointer) unsafe.Pointer {
	if q := c.made[span{p, -1}]; q != nil {
		return q
	}
	q := reflect.New(st.Go).UnsafePointer()
	c.into(st, q, p)
	return q
}

// into copies the struct at p to q, which is zero.
//
// The note comes before the fields: one of them may lead back here.
func (c *cloner) into(st *Struct, q, p unsafe.Pointer) {
	c.note(p, -1, q)
	if st.View != nil {
		st.View.Clone(q, p)
		return
	}
	for i := range st.Fields {
		f := &st.Fields[i]
		// Safety: p and q point to a st.Go each, and offset is that of a field.
		c.value(f.Type, unsafe.Add(q, f.Offset), unsafe.Add(p, f.Offset))
	}
	if st.unknown != 0 {
		*st.Kept(q) = slices.Clone(*st.Kept(p))
	}
}

// value copies the value of type t at p to q.
func (c *cloner) value(t *Type, q, p unsafe.Pointer) {
	// Safety: for all loads and stores below: p and q point to a t.Go each,
	// whose layout kind says.
	switch t.Kind {
	case Bool, Int8:
		*(*uint8)(q) = *(*uint8)(p)
	case Int16:
		*(*uint16)(q) = *(*uint16)(p)
	case Int32, Uint32, Float32:
		*(*uint32)(q) = *(*uint32)(p)
	case Int64, Uint64, Float64:
		*(*uint64)(q) = *(*uint64)(p)
	case UUID:
		*(*[16]byte)(q) = *(*[16]byte)(p)
	case String:
		*(*string)(q) = *(*string)(p)
	case Bytes:
		*(*[]byte)(q) = slices.Clone(*(*[]byte)(p))
	case Pointer:
		if x := *(*unsafe.Pointer)(p); x != nil {
			y := reflect.New(t.Elem.Go).UnsafePointer()
			c.value(t.Elem, y, x)
			*(*unsafe.Pointer)(q) = y
		}
	case Ref:
		if x := *(*unsafe.Pointer)(p); x != nil {
			*(*unsafe.Pointer)(q) = c.structure(t.Struct, x)
		}
	case Union:
		f := *(*Face)(p)
		if v := t.Holds(f); v != nil && f.Data != nil {
			f.Data = c.structure(v.Struct, f.Data)
		}
		*(*Face)(q) = f // one that is no variant is shared, as nothing is known of it
	case List, Set, Pairs:
		c.list(t, q, p)
	case Map:
		c.entries(t, q, p)
	}
}

// list copies the slice at p to q: a list, a set or Pairs.
//
// A copy has no more room than it needs, whatever the capacity of the original.
func (c *cloner) list(t *Type, q, p unsafe.Pointer) {
	// Safety: p and q point to a t.Go each; both slices have n elements of
	// size bytes. A pair's key is its first field, ValueAt is where the other one is.
	x := *(*Slice)(p)
	if x.Data == nil {
		return
	}
	if y := c.made[span{x.Data, x.Len}]; y != nil && t.Nested() {
		*(*Slice)(q) = Slice{y, x.Len, x.Len}
		return
	}
	s := reflect.MakeSlice(t.Go, x.Len, x.Len)
	y := s.UnsafePointer()
	if t.Nested() {
		c.note(x.Data, x.Len, y)
	}
	switch {
	case t.Kind == Pairs:
		for i := range x.Len {
			from, to := unsafe.Add(x.Data, i*t.Stride()), unsafe.Add(y, i*t.Stride())
			c.value(t.Key, to, from)
			c.value(t.Elem, unsafe.Add(to, t.ValueAt), unsafe.Add(from, t.ValueAt))
		}
	case t.Elem.Kind == Ref:
		c.structures(t.Elem.Struct, unsafe.Slice((*unsafe.Pointer)(y), x.Len), unsafe.Slice((*unsafe.Pointer)(x.Data), x.Len))
	case t.Elem.Kind <= String:
		reflect.Copy(s, reflect.NewAt(t.Go, p).Elem())
	default:
		for i := range x.Len {
			c.value(t.Elem, unsafe.Add(y, i*t.Elem.Size), unsafe.Add(x.Data, i*t.Elem.Size))
		}
	}
	*(*Slice)(q) = Slice{y, x.Len, x.Len}
}

// structures copies the structs that from points to, in slabs as the decoder
// makes them.
//
// A copy that is kept pins its slab as a decoded struct does, at most slabBytes.
func (c *cloner) structures(st *Struct, to, from []unsafe.Pointer) {
	var slab unsafe.Pointer
	room := 0
	for i, p := range from {
		if p == nil {
			continue
		}
		if q := c.made[span{p, -1}]; q != nil {
			to[i] = q
			continue
		}
		if room == 0 {
			room = min(len(from)-i, st.Slab)
			slab = reflect.MakeSlice(st.Slices, room, room).UnsafePointer()
		}
		to[i] = slab
		c.into(st, slab, p)
		if room--; room > 0 {
			// Safety: the slab has room more structs of that size; behind the last
			// one nothing is pointed to.
			slab = unsafe.Add(slab, st.Size)
		}
	}
}

// entries copies the map at p to q.
//
// Keys are kinds up to String and are shared: nobody can write to them.
func (c *cloner) entries(t *Type, q, p unsafe.Pointer) {
	// Safety: p and q point to a t.Go each, and a map of that layout is one.
	if t.Maps == StringString {
		*(*map[string]string)(q) = maps.Clone(*(*map[string]string)(p))
		return
	}
	from := reflect.NewAt(t.Go, p).Elem()
	if from.IsNil() {
		return
	}
	if m := c.made[span{from.UnsafePointer(), -1}]; m != nil {
		*(*unsafe.Pointer)(q) = m
		return
	}
	to := reflect.MakeMapWithSize(t.Go, from.Len())
	if t.Nested() {
		c.note(from.UnsafePointer(), -1, to.UnsafePointer())
	}
	k, x, y := reflect.New(t.Key.Go).Elem(), reflect.New(t.Elem.Go), reflect.New(t.Elem.Go)
	for it := from.MapRange(); it.Next(); {
		k.SetIterKey(it)
		x.Elem().SetIterValue(it)
		y.Elem().SetZero()
		c.value(t.Elem, y.UnsafePointer(), x.UnsafePointer())
		to.SetMapIndex(k, y.Elem())
	}
	// Safety: as above; reflection stores with the write barrier.
	reflect.NewAt(t.Go, q).Elem().Set(to)
}
