package thrift

import (
	"maps"
	"reflect"
	"slices"
	"unsafe"
)

// Clone gives a copy of a message that shares no memory with it that can be
// written to; strings are shared. nil gives nil. Nil and empty containers stay what they
// are. Fields without a thrift tag are zero in the copy: they are no part of the
// message. A lazy view is copied with the bytes that it shows, which the copy does not
// share: it outlives the original, and need not be released. The copy of a value that refers to itself does so too, though perhaps
// later. It panics with a *TypeError if M cannot be a message.
func Clone[M any](m *M) *M {
	if m == nil {
		return nil
	}
	pl, p, err := planOf(m)
	if err != nil {
		panic(err)
	}
	c := cloner{}
	// Safety: the plan is that of M.
	return (*M)(c.structure(pl, p))
}

// A cloner is the state of one copy.
type cloner struct {
	steps int
	made  map[span]unsafe.Pointer // copies, once there are many
}

// note counts a step, and remembers the copy of what is at p.
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
func (c *cloner) structure(pl *plan, p unsafe.Pointer) unsafe.Pointer {
	if q := c.made[span{p, -1}]; q != nil {
		return q
	}
	q := reflect.New(pl.rt).UnsafePointer()
	c.into(pl, q, p)
	return q
}

// into copies the struct at p to q, which is zero.
func (c *cloner) into(pl *plan, q, p unsafe.Pointer) {
	c.note(p, -1, q)
	if pl.of != nil {
		c.view(pl.viewAt(q), pl.viewAt(p))
		return
	}
	for i := range pl.ops {
		f := &pl.ops[i]
		// Safety: p and q point to a pl.rt each, and offset is that of a field.
		c.value(f.t, unsafe.Add(q, f.offset), unsafe.Add(p, f.offset))
	}
	if pl.unknown != 0 {
		*pl.kept(q) = slices.Clone(*pl.kept(p))
	}
}

// value copies the value of type t at p to q.
func (c *cloner) value(t *typ, q, p unsafe.Pointer) {
	// Safety: for all loads and stores below: p and q point to a t.rt each,
	// whose layout kind says.
	switch t.kind {
	case kBool, k1:
		*(*uint8)(q) = *(*uint8)(p)
	case k2:
		*(*uint16)(q) = *(*uint16)(p)
	case k4:
		*(*uint32)(q) = *(*uint32)(p)
	case k8:
		*(*uint64)(q) = *(*uint64)(p)
	case kUUID:
		*(*UUID)(q) = *(*UUID)(p)
	case kString:
		*(*string)(q) = *(*string)(p)
	case kBytes:
		*(*[]byte)(q) = slices.Clone(*(*[]byte)(p))
	case kPointer:
		if x := *(*unsafe.Pointer)(p); x != nil {
			y := reflect.New(t.elem.rt).UnsafePointer()
			c.value(t.elem, y, x)
			*(*unsafe.Pointer)(q) = y
		}
	case kStruct:
		if x := *(*unsafe.Pointer)(p); x != nil {
			*(*unsafe.Pointer)(q) = c.structure(t.plan, x)
		}
	case kUnion:
		f := *(*face)(p)
		if v := t.holds(f); v != nil && f.data != nil {
			f.data = c.structure(v.plan, f.data)
		}
		*(*face)(q) = f // one that is no variant is shared, as nothing is known of it
	case kList, kPairs:
		c.list(t, q, p)
	case kMap:
		c.entries(t, q, p)
	}
}

// list copies the slice at p to q: a list, a set or Pairs.
func (c *cloner) list(t *typ, q, p unsafe.Pointer) {
	// Safety: p and q point to a t.rt each; both slices have n elements of
	// size bytes. A pair's key is its first field, pairAt is where the other one is.
	x := *(*slice)(p)
	if x.data == nil {
		return
	}
	if y := c.made[span{x.data, x.len}]; y != nil && t.nested() {
		*(*slice)(q) = slice{y, x.len, x.len}
		return
	}
	s := reflect.MakeSlice(t.rt, x.len, x.len)
	y := s.UnsafePointer()
	if t.nested() {
		c.note(x.data, x.len, y)
	}
	switch {
	case t.kind == kPairs:
		for i := range x.len {
			from, to := unsafe.Add(x.data, i*t.stride()), unsafe.Add(y, i*t.stride())
			c.value(t.key, to, from)
			c.value(t.elem, unsafe.Add(to, t.pairAt), unsafe.Add(from, t.pairAt))
		}
	case t.elem.kind == kStruct:
		c.structures(t.elem.plan, unsafe.Slice((*unsafe.Pointer)(y), x.len), unsafe.Slice((*unsafe.Pointer)(x.data), x.len))
	case t.elem.kind <= kString:
		reflect.Copy(s, reflect.NewAt(t.rt, p).Elem())
	default:
		for i := range x.len {
			c.value(t.elem, unsafe.Add(y, i*t.elem.size), unsafe.Add(x.data, i*t.elem.size))
		}
	}
	*(*slice)(q) = slice{y, x.len, x.len}
}

// structures copies the structs that from points to, in slabs as the decoder
// makes them.
func (c *cloner) structures(pl *plan, to, from []unsafe.Pointer) {
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
			room = min(len(from)-i, pl.slab)
			slab = reflect.MakeSlice(pl.slices, room, room).UnsafePointer()
		}
		to[i] = slab
		c.into(pl, slab, p)
		if room--; room > 0 {
			// Safety: the slab has room more structs of that size; behind the last
			// one nothing is pointed to.
			slab = unsafe.Add(slab, pl.size)
		}
	}
}

// entries copies the map at p to q.
func (c *cloner) entries(t *typ, q, p unsafe.Pointer) {
	// Safety: p and q point to a t.rt each, and a map of that layout is one.
	if t.maps == mapStringString {
		*(*map[string]string)(q) = maps.Clone(*(*map[string]string)(p))
		return
	}
	from := reflect.NewAt(t.rt, p).Elem()
	if from.IsNil() {
		return
	}
	if m := c.made[span{from.UnsafePointer(), -1}]; m != nil {
		*(*unsafe.Pointer)(q) = m
		return
	}
	to := reflect.MakeMapWithSize(t.rt, from.Len())
	if t.nested() {
		c.note(from.UnsafePointer(), -1, to.UnsafePointer())
	}
	k, x, y := reflect.New(t.key.rt).Elem(), reflect.New(t.elem.rt), reflect.New(t.elem.rt)
	for it := from.MapRange(); it.Next(); {
		k.SetIterKey(it)
		x.Elem().SetIterValue(it)
		y.Elem().SetZero()
		c.value(t.elem, y.UnsafePointer(), x.UnsafePointer())
		to.SetMapIndex(k, y.Elem())
	}
	// Safety: as above; reflection stores with the write barrier.
	reflect.NewAt(t.rt, q).Elem().Set(to)
}
