package thrift

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
)

// A compactEncoder is an encoder that writes the Compact protocol. What the two
// have in common is the encoder's: errors, and strings that do not fit.
type compactEncoder struct{ encoder }

// fields appends the fields of the struct at base, and its stop; see
// encoder.fields.
func (e *compactEncoder) fields(b []byte, pl *plan, base unsafe.Pointer, depth int) []byte {
	if depth <= 0 {
		if e.err == nil {
			e.err = &TypeError{Type: pl.Go, Why: shape.WhyDeep}
		}
		return b
	}
	if pl.of != nil {
		return e.view(b, pl, pl.viewAt(base))
	}
	last := int16(0)
	for i := range pl.Fields {
		f := &pl.Fields[i]
		// Safety: base points to a pl.Go, and offset and kind are those of one
		// of its fields: compile took them from reflection.
		p := unsafe.Add(base, f.Offset)
		if f.Absent(p) {
			if f.Rule == shape.Required {
				return e.fail(b, pl, f, shape.WhyRequired)
			}
			continue
		}
		if cap(b)-len(b) < headroom {
			b = e.out.Next(b)
		}
		t, kind := f.Type, compactOf[wireOf(f)]
		if t.Kind == shape.Pointer {
			// Safety: p points to a pointer to a t.Elem.Go, which is not nil.
			t, p = t.Elem, *(*unsafe.Pointer)(p)
		}
		// Safety: p points to a t.Go, a bool.
		if t.Kind == shape.Bool && !*(*bool)(p) {
			kind = compactFalse
		}
		id := int16(f.Tag)
		b = appendCompactHead(b, kind, id, last)
		if last = id; t.Kind == shape.Bool {
			continue // the header has said it all
		}
		if b = e.value(b, t, p, depth-1); e.err != nil {
			return b
		}
	}
	if pl.HasKept() {
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
func (e *compactEncoder) value(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	// Safety: for all loads below: p points to a t.Go, whose layout kind says.
	switch t.Kind {
	case shape.String:
		return e.text(b, *(*string)(p))
	case shape.Ref:
		q := *(*unsafe.Pointer)(p)
		if q == nil {
			return e.failAt(b, t, shape.WhyNil)
		}
		return e.fields(b, planAt(t.Struct), q, depth)
	case shape.Int64, shape.Float64:
		if t.Kind == shape.Float64 {
			return binary.LittleEndian.AppendUint64(b, *(*uint64)(p))
		}
		return binary.AppendUvarint(b, zigzag(*(*int64)(p)))
	case shape.Int32:
		return binary.AppendUvarint(b, zigzag(int64(*(*int32)(p))))
	case shape.Int16:
		return binary.AppendUvarint(b, zigzag(int64(*(*int16)(p))))
	case shape.Int8:
		return append(b, *(*uint8)(p))
	case shape.Bool:
		return append(b, compactBool(*(*bool)(p)))
	case shape.UUID:
		return append(b, (*(*UUID)(p))[:]...)
	case shape.Bytes:
		return e.bytes(b, *(*[]byte)(p))
	case shape.List, shape.Set:
		return e.list(b, t, p, depth)
	case shape.Map, shape.Pairs:
		return e.entries(b, t, p, depth)
	default: // shape.Union; a shape.Pointer was followed by fields
		return e.union(b, t, (*shape.Face)(p), depth)
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
func (e *compactEncoder) union(b []byte, t *shape.Type, f *shape.Face, depth int) []byte {
	if f.Itab == 0 || f.Data == nil {
		return e.failAt(b, t, shape.WhyNil)
	}
	v := t.Holds(*f)
	if v == nil {
		return e.failAt(b, t, shape.WhyForeign)
	}
	o := &v.Struct.Fields[0]
	// Safety: data points to the variant's struct, whose only field o is.
	if o.Absent(unsafe.Add(f.Data, o.Offset)) {
		return e.fail(b, planAt(v.Struct), o, shape.WhyNil)
	}
	return e.fields(b, planAt(v.Struct), f.Data, depth)
}

// list appends the slice at p as a list or a set.
func (e *compactEncoder) list(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	if depth <= 0 {
		return e.failAt(b, t, shape.WhyDeep)
	}
	// Safety: p points to a slice of t.Elem.Go; below, each element is where
	// its size puts it.
	s := *(*shape.Slice)(p)
	if s.Len > maxSize {
		e.err = errTooLong
		return b
	}
	el := t.Elem
	if kind := byte(compactOf[wires[el.Kind]]); s.Len < 15 {
		b = append(b, byte(s.Len)<<4|kind)
	} else {
		b = binary.AppendUvarint(append(b, 0xf0|kind), uint64(s.Len))
	}
	switch {
	case el.Kind == shape.Int8:
		return e.raw(b, *(*[]byte)(p))
	case el.Kind == shape.Int64:
		return e.numbers(b, *(*[]int64)(p))
	}
	for i := range s.Len {
		if cap(b)-len(b) < headroom {
			b = e.out.Next(b)
		}
		if b = e.value(b, el, unsafe.Add(s.Data, i*el.Size), depth-1); e.err != nil {
			return b
		}
	}
	return b
}

// entries appends the map or Pairs at p. A map's entries come in no order.
func (e *compactEncoder) entries(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	if depth <= 0 {
		return e.failAt(b, t, shape.WhyDeep)
	}
	// Safety: p points to a slice, or to a map, which is a pointer; a map's
	// number of entries does not depend on its type.
	n := 0
	if t.Kind == shape.Pairs {
		n = (*shape.Slice)(p).Len
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
	b = append(b, byte(compactOf[wires[t.Key.Kind]])<<4|byte(compactOf[wires[t.Elem.Kind]]))
	depth--
	if t.Kind == shape.Pairs {
		return e.pairs(b, t, p, depth)
	}
	switch t.Maps {
	case shape.StringString:
		return writeCompactMap[string, string](e, b, t, p, depth)
	case shape.StringPointer:
		return writeCompactMap[string, unsafe.Pointer](e, b, t, p, depth)
	case shape.StringSlice:
		return writeCompactMap[string, []byte](e, b, t, p, depth)
	case shape.String8:
		return writeCompactMap[string, uint64](e, b, t, p, depth)
	case shape.String4:
		return writeCompactMap[string, uint32](e, b, t, p, depth)
	case shape.String1:
		return writeCompactMap[string, uint8](e, b, t, p, depth)
	case shape.Map4String:
		return writeCompactMap[uint32, string](e, b, t, p, depth)
	case shape.Map4Pointer:
		return writeCompactMap[uint32, unsafe.Pointer](e, b, t, p, depth)
	case shape.Map4Slice:
		return writeCompactMap[uint32, []byte](e, b, t, p, depth)
	case shape.Map4x8:
		return writeCompactMap[uint32, uint64](e, b, t, p, depth)
	case shape.Map4x4:
		return writeCompactMap[uint32, uint32](e, b, t, p, depth)
	case shape.Map8String:
		return writeCompactMap[uint64, string](e, b, t, p, depth)
	case shape.Map8Pointer:
		return writeCompactMap[uint64, unsafe.Pointer](e, b, t, p, depth)
	case shape.Map8Slice:
		return writeCompactMap[uint64, []byte](e, b, t, p, depth)
	case shape.Map8x8:
		return writeCompactMap[uint64, uint64](e, b, t, p, depth)
	case shape.Map8x4:
		return writeCompactMap[uint64, uint32](e, b, t, p, depth)
	}
	return e.anyMap(b, t, p, depth)
}

// writeCompactMap appends the entries of a map with the layout of map[K]V; see
// writeMap.
func writeCompactMap[K comparable, V any](e *compactEncoder, b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
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
func (e *compactEncoder) entry(b []byte, t *shape.Type, k, v unsafe.Pointer, depth int) []byte {
	if cap(b)-len(b) < 2*headroom {
		b = e.out.Next(b)
	}
	return e.value(e.value(b, t.Key, k, depth), t.Elem, v, depth)
}

// anyMap appends the entries of a map, which is not empty, by reflection.
func (e *compactEncoder) anyMap(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a map, which is a pointer. It is copied, so that p
	// does not reach reflection and what p points to can stay on the stack.
	m := *(*unsafe.Pointer)(p)
	k, v := reflect.New(t.Key.Go), reflect.New(t.Elem.Go)
	for it := reflect.NewAt(t.Go, unsafe.Pointer(&m)).Elem().MapRange(); it.Next(); {
		k.Elem().SetIterKey(it)
		v.Elem().SetIterValue(it)
		if b = e.entry(b, t, k.UnsafePointer(), v.UnsafePointer(), depth); e.err != nil {
			return b
		}
	}
	return b
}

// pairs appends the entries of the Pairs at p.
func (e *compactEncoder) pairs(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a t.Go, a slice of structs of which the key is the
	// first field, and ValueAt is the offset of the second.
	s := *(*shape.Slice)(p)
	for i := range s.Len {
		q := unsafe.Add(s.Data, i*int(t.Pair.Size()))
		if b = e.entry(b, t, q, unsafe.Add(q, t.ValueAt), depth); e.err != nil {
			return b
		}
	}
	return b
}
