package thrift

import (
	"encoding/binary"
	"reflect"
	"unsafe"
)

// A compactEncoder is an encoder that writes the Compact protocol. What the two
// have in common is the encoder's: errors, and strings that do not fit.
type compactEncoder struct{ encoder }

// fields appends the fields of the struct at base, and its stop; see
// encoder.fields.
func (e *compactEncoder) fields(b []byte, pl *plan, base unsafe.Pointer, depth int) []byte {
	if depth <= 0 {
		if e.err == nil {
			e.err = &TypeError{Type: pl.rt, Why: whyDeep}
		}
		return b
	}
	if pl.of != nil {
		return e.view(b, pl, pl.viewAt(base))
	}
	last := int16(0)
	for i := range pl.ops {
		f := &pl.ops[i]
		// Safety: base points to a pl.rt, and offset and kind are those of one
		// of its fields: compile took them from reflection.
		p := unsafe.Add(base, f.offset)
		if skip, why := f.absent(p); skip {
			if why != "" {
				return e.fail(b, pl, f, why)
			}
			continue
		}
		if cap(b)-len(b) < headroom {
			b = e.out.Next(b)
		}
		t, kind := f.t, compactOf[f.t.wire]
		if t.kind == kPointer {
			// Safety: p points to a pointer to a t.elem.rt, which is not nil.
			t, p = t.elem, *(*unsafe.Pointer)(p)
		}
		// Safety: p points to a t.rt, a bool.
		if t.kind == kBool && !*(*bool)(p) {
			kind = compactFalse
		}
		id := int16(f.head)
		b = appendCompactHead(b, kind, id, last)
		if last = id; t.kind == kBool {
			continue // the header has said it all
		}
		if b = e.value(b, t, p, depth-1); e.err != nil {
			return b
		}
	}
	if pl.unknown != 0 {
		b = e.unknown(b, pl, base, last, depth-1)
	}
	return append(b, byte(compactStop))
}

// text appends length and bytes of a string.
func (e *compactEncoder) text(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	if len(s) <= cap(b)-len(b)-headroom {
		return append(b, s...)
	}
	return e.spill(b, s)
}

// bytes appends length and copy of p.
func (e *compactEncoder) bytes(b, p []byte) []byte {
	if len(p) > maxSize {
		e.err = errTooLong
		return b
	}
	return e.raw(binary.AppendUvarint(b, uint64(len(p))), p)
}

// value appends the value of type t at p, which is no bool of a field's.
func (e *compactEncoder) value(b []byte, t *typ, p unsafe.Pointer, depth int) []byte {
	// Safety: for all loads below: p points to a t.rt, whose layout kind says.
	switch t.kind {
	case kString:
		return e.text(b, *(*string)(p))
	case kStruct:
		q := *(*unsafe.Pointer)(p)
		if q == nil {
			return e.failAt(b, t, whyNil)
		}
		return e.fields(b, t.plan, q, depth)
	case k8:
		if t.wire == TypeDouble {
			return binary.LittleEndian.AppendUint64(b, *(*uint64)(p))
		}
		return binary.AppendUvarint(b, zigzag(*(*int64)(p)))
	case k4:
		return binary.AppendUvarint(b, zigzag(int64(*(*int32)(p))))
	case k2:
		return binary.AppendUvarint(b, zigzag(int64(*(*int16)(p))))
	case k1:
		return append(b, *(*uint8)(p))
	case kBool:
		return append(b, compactBool(*(*bool)(p)))
	case kUUID:
		return append(b, (*(*UUID)(p))[:]...)
	case kBytes:
		return e.bytes(b, *(*[]byte)(p))
	case kList:
		return e.list(b, t, p, depth)
	case kMap, kPairs:
		return e.entries(b, t, p, depth)
	default: // kUnion; a kPointer was followed by fields
		return e.union(b, t, (*face)(p), depth)
	}
}

// compactBool is a bool as element.
func compactBool(v bool) byte {
	if v {
		return byte(compactTrue)
	}
	return byte(compactFalse)
}

// union appends the variant that f holds; see encoder.union.
func (e *compactEncoder) union(b []byte, t *typ, f *face, depth int) []byte {
	if f.itab == 0 || f.data == nil {
		return e.failAt(b, t, whyNil)
	}
	v := t.holds(*f)
	if v == nil {
		return e.failAt(b, t, "holds a type that is none of its variants")
	}
	o := &v.plan.ops[0]
	// Safety: data points to the variant's struct, whose only field o is.
	if skip, _ := o.absent(unsafe.Add(f.data, o.offset)); skip {
		return e.fail(b, v.plan, o, whyNil)
	}
	return e.fields(b, v.plan, f.data, depth)
}

// list appends the slice at p as a list or a set.
func (e *compactEncoder) list(b []byte, t *typ, p unsafe.Pointer, depth int) []byte {
	if depth <= 0 {
		return e.failAt(b, t, whyDeep)
	}
	// Safety: p points to a slice of t.elem.rt; below, each element is where
	// its size puts it.
	s := *(*slice)(p)
	if s.len > maxSize {
		e.err = errTooLong
		return b
	}
	el := t.elem
	if kind := byte(compactOf[el.wire]); s.len < 15 {
		b = append(b, byte(s.len)<<4|kind)
	} else {
		b = binary.AppendUvarint(append(b, 0xf0|kind), uint64(s.len))
	}
	switch {
	case el.kind == k1:
		return e.raw(b, *(*[]byte)(p))
	case el.wire == TypeI64:
		return e.numbers(b, *(*[]int64)(p))
	}
	for i := range s.len {
		if cap(b)-len(b) < headroom {
			b = e.out.Next(b)
		}
		if b = e.value(b, el, unsafe.Add(s.data, i*el.size), depth-1); e.err != nil {
			return b
		}
	}
	return b
}

// entries appends the map or Pairs at p. A map's entries come in no order.
func (e *compactEncoder) entries(b []byte, t *typ, p unsafe.Pointer, depth int) []byte {
	if depth <= 0 {
		return e.failAt(b, t, whyDeep)
	}
	// Safety: p points to a slice, or to a map, which is a pointer; a map's
	// number of entries does not depend on its type.
	n := 0
	if t.kind == kPairs {
		n = (*slice)(p).len
	} else {
		n = len(*(*map[string]string)(p))
	}
	if n > maxSize {
		e.err = errTooLong
		return b
	}
	b = binary.AppendUvarint(b, uint64(n))
	if n == 0 {
		return b // without types
	}
	b = append(b, byte(compactOf[t.key.wire])<<4|byte(compactOf[t.elem.wire]))
	depth--
	if t.kind == kPairs {
		return e.pairs(b, t, p, depth)
	}
	switch t.maps {
	case mapStringString:
		return writeCompactMap[string, string](e, b, t, p, depth)
	case mapStringPointer:
		return writeCompactMap[string, unsafe.Pointer](e, b, t, p, depth)
	case mapStringSlice:
		return writeCompactMap[string, []byte](e, b, t, p, depth)
	case mapString8:
		return writeCompactMap[string, uint64](e, b, t, p, depth)
	case mapString4:
		return writeCompactMap[string, uint32](e, b, t, p, depth)
	case mapString1:
		return writeCompactMap[string, uint8](e, b, t, p, depth)
	case map4String:
		return writeCompactMap[uint32, string](e, b, t, p, depth)
	case map4Pointer:
		return writeCompactMap[uint32, unsafe.Pointer](e, b, t, p, depth)
	case map4Slice:
		return writeCompactMap[uint32, []byte](e, b, t, p, depth)
	case map4x8:
		return writeCompactMap[uint32, uint64](e, b, t, p, depth)
	case map4x4:
		return writeCompactMap[uint32, uint32](e, b, t, p, depth)
	case map8String:
		return writeCompactMap[uint64, string](e, b, t, p, depth)
	case map8Pointer:
		return writeCompactMap[uint64, unsafe.Pointer](e, b, t, p, depth)
	case map8Slice:
		return writeCompactMap[uint64, []byte](e, b, t, p, depth)
	case map8x8:
		return writeCompactMap[uint64, uint64](e, b, t, p, depth)
	case map8x4:
		return writeCompactMap[uint64, uint32](e, b, t, p, depth)
	}
	return e.anyMap(b, t, p, depth)
}

// writeCompactMap appends the entries of a map with the layout of map[K]V; see
// writeMap.
func writeCompactMap[K comparable, V any](e *compactEncoder, b []byte, t *typ, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a map whose keys and values have these layouts, and a
	// map does not know its type. k and v are declared out here, because escape
	// analysis would move what a loop declares to the heap, entry by entry.
	var k K
	var v V
	for k, v = range *(*map[K]V)(p) {
		if b = e.entry(b, t, unsafe.Pointer(&k), unsafe.Pointer(&v), depth); e.err != nil {
			return b
		}
	}
	return b
}

// entry appends key and value.
func (e *compactEncoder) entry(b []byte, t *typ, k, v unsafe.Pointer, depth int) []byte {
	if cap(b)-len(b) < 2*headroom {
		b = e.out.Next(b)
	}
	return e.value(e.value(b, t.key, k, depth), t.elem, v, depth)
}

// anyMap appends the entries of a map, which is not empty, by reflection.
func (e *compactEncoder) anyMap(b []byte, t *typ, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a map, which is a pointer. It is copied, so that p
	// does not reach reflection and what p points to can stay on the stack.
	m := *(*unsafe.Pointer)(p)
	k, v := reflect.New(t.key.rt), reflect.New(t.elem.rt)
	for it := reflect.NewAt(t.rt, unsafe.Pointer(&m)).Elem().MapRange(); it.Next(); {
		k.Elem().SetIterKey(it)
		v.Elem().SetIterValue(it)
		if b = e.entry(b, t, k.UnsafePointer(), v.UnsafePointer(), depth); e.err != nil {
			return b
		}
	}
	return b
}

// pairs appends the entries of the Pairs at p.
func (e *compactEncoder) pairs(b []byte, t *typ, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a t.rt, a slice of structs of which the key is the
	// first field, and pairAt is the offset of the second.
	s := *(*slice)(p)
	for i := range s.len {
		q := unsafe.Add(s.data, i*int(t.pair.Size()))
		if b = e.entry(b, t, q, unsafe.Add(q, t.pairAt), depth); e.err != nil {
			return b
		}
	}
	return b
}
