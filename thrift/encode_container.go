package thrift

import (
	"encoding/binary"
	"math"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// maxSize is the longest string, list and map: sizes are signed on the wire.
const maxSize = math.MaxInt32

// list appends the slice at p as a list or a set.
func (e *encoder) list(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	if depth <= 0 {
		return e.failAt(b, t, shape.WhyDeep)
	}
	// Safety: p points to a slice of t.Elem.Go. Below it is looked at as a slice
	// of elements with the same layout.
	s := *(*shape.Slice)(p)
	if s.Len > maxSize {
		e.err = errTooLong
		return b
	}
	el := t.Elem
	b = append(b, byte(wires[el.Kind]))
	b = binary.BigEndian.AppendUint32(b, uint32(s.Len))
	switch el.Kind {
	case shape.Bool, shape.Int8:
		return e.raw(b, *(*[]byte)(p))
	case shape.Int16:
		s := *(*[]uint16)(p)
		if at := len(b); len(s) <= (cap(b)-at-headroom)/2 {
			b = b[:at+2*len(s)]
			codec.To16(b[at:], s)
			return b
		}
		return numbers(e, b, s, 2, codec.To16)
	case shape.Int32:
		s := *(*[]uint32)(p)
		if at := len(b); len(s) <= (cap(b)-at-headroom)/4 {
			b = b[:at+4*len(s)]
			codec.To32(b[at:], s)
			return b
		}
		return numbers(e, b, s, 4, codec.To32)
	case shape.Int64, shape.Float64:
		s := *(*[]uint64)(p)
		if at := len(b); len(s) <= (cap(b)-at-headroom)/8 {
			b = b[:at+8*len(s)]
			codec.To64(b[at:], s)
			return b
		}
		return numbers(e, b, s, 8, codec.To64)
	case shape.String:
		for _, s := range *(*[]string)(p) {
			b = e.text(b, s)
		}
		return b
	case shape.Ref:
		return e.structures(b, el, *(*[]unsafe.Pointer)(p), depth-1)
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

// structures appends structs, which have t as their type.
func (e *encoder) structures(b []byte, t *shape.Type, s []unsafe.Pointer, depth int) []byte {
	made := planAt(t.Struct).made != 0 && !e.plain
	for _, p := range s {
		switch {
		case p == nil:
			return e.failAt(b, t, shape.WhyNil)
		case made:
			b = e.generated(b, planAt(t.Struct), p, depth)
		default:
			b = e.fields(b, planAt(t.Struct), p, depth)
		}
		if e.err != nil {
			return b
		}
	}
	return b
}

// raw appends elements of one byte.
func (e *encoder) raw(b, p []byte) []byte {
	if len(p) <= cap(b)-len(b)-headroom {
		return append(b, p...)
	}
	e.out.Commit(b)
	e.out.Append(p)
	return e.out.Block()
}

// numbers appends elements of size bytes, block by block: many, or near the
// end of a block.
func numbers[T uint16 | uint32 | uint64](e *encoder, b []byte, s []T, size int, to func([]byte, []T)) []byte {
	for {
		n := min(len(s), (cap(b)-len(b))/size)
		at := len(b)
		b = b[:at+n*size]
		to(b[at:], s[:n])
		if s = s[n:]; len(s) == 0 && cap(b)-len(b) >= headroom {
			return b
		}
		if b = e.out.Next(b); len(s) == 0 {
			return b
		}
	}
}

// entries appends the map or Pairs at p. A map's entries come in no order.
func (e *encoder) entries(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	if depth <= 0 {
		return e.failAt(b, t, shape.WhyDeep)
	}
	b = append(b, byte(wires[t.Key.Kind]), byte(wires[t.Elem.Kind]))
	if t.Kind == shape.Pairs {
		return e.pairs(b, t, p, depth-1)
	}
	// Safety: p points to a map, which is a pointer; its number of entries does
	// not depend on its type.
	n := len(*(*map[string]string)(p))
	if n > maxSize {
		e.err = errTooLong
		return b
	}
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	depth--
	switch t.Maps {
	case shape.StringString:
		return e.stringMap(b, *(*map[string]string)(p))
	case shape.StringPointer:
		return writeMap[string, unsafe.Pointer](e, b, t, p, depth)
	case shape.StringSlice:
		return writeMap[string, []byte](e, b, t, p, depth)
	case shape.String8:
		return writeMap[string, uint64](e, b, t, p, depth)
	case shape.String4:
		return writeMap[string, uint32](e, b, t, p, depth)
	case shape.String1:
		return writeMap[string, uint8](e, b, t, p, depth)
	case shape.Map4String:
		return writeMap[uint32, string](e, b, t, p, depth)
	case shape.Map4Pointer:
		return writeMap[uint32, unsafe.Pointer](e, b, t, p, depth)
	case shape.Map4Slice:
		return writeMap[uint32, []byte](e, b, t, p, depth)
	case shape.Map4x8:
		return writeMap[uint32, uint64](e, b, t, p, depth)
	case shape.Map4x4:
		return writeMap[uint32, uint32](e, b, t, p, depth)
	case shape.Map8String:
		return writeMap[uint64, string](e, b, t, p, depth)
	case shape.Map8Pointer:
		return writeMap[uint64, unsafe.Pointer](e, b, t, p, depth)
	case shape.Map8Slice:
		return writeMap[uint64, []byte](e, b, t, p, depth)
	case shape.Map8x8:
		return writeMap[uint64, uint64](e, b, t, p, depth)
	case shape.Map8x4:
		return writeMap[uint64, uint32](e, b, t, p, depth)
	}
	return e.anyMap(b, t, p, depth)
}

// stringMap appends the entries of a map of strings, the most common one: with
// one look at the room for each.
func (e *encoder) stringMap(b []byte, m map[string]string) []byte {
	for k, v := range m {
		if len(k)+len(v) <= min(cap(b)-len(b)-headroom-8, buf.RefMin) {
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(k))), k...)
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
			continue
		}
		if cap(b)-len(b) < headroom {
			b = e.out.Next(b)
		}
		if b = e.text(e.text(b, k), v); e.err != nil {
			return b
		}
	}
	return b
}

// writeMap appends the entries of a map with the layout of map[K]V.
func writeMap[K comparable, V any](e *encoder, b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a map whose keys and values have these layouts, and a
	// map does not know its type. k and v are declared out here, because escape
	// analysis would move what a loop declares to the heap, entry by entry.
	var k K
	var v V
	for k, v = range *(*map[K]V)(p) {
		if cap(b)-len(b) < headroom {
			b = e.out.Next(b)
		}
		b = e.value(b, t.Key, unsafe.Pointer(&k), depth)
		if b = e.value(b, t.Elem, unsafe.Pointer(&v), depth); e.err != nil {
			return b
		}
	}
	return b
}

// anyMap appends the entries of a map by reflection.
func (e *encoder) anyMap(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a map, which is a pointer. It is copied, so that p
	// does not reach reflection and what p points to can stay on the stack.
	m := *(*unsafe.Pointer)(p)
	if m == nil {
		return b
	}
	k, v := reflect.New(t.Key.Go), reflect.New(t.Elem.Go)
	for it := reflect.NewAt(t.Go, unsafe.Pointer(&m)).Elem().MapRange(); it.Next(); {
		if cap(b)-len(b) < headroom {
			b = e.out.Next(b)
		}
		k.Elem().SetIterKey(it)
		v.Elem().SetIterValue(it)
		b = e.value(b, t.Key, k.UnsafePointer(), depth)
		if b = e.value(b, t.Elem, v.UnsafePointer(), depth); e.err != nil {
			return b
		}
	}
	return b
}

// pairs appends the number of entries and the entries of the Pairs at p.
func (e *encoder) pairs(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a t.Go, a slice of structs of which the key is the
	// first field, and ValueAt is the offset of the second.
	s := *(*shape.Slice)(p)
	if s.Len > maxSize {
		e.err = errTooLong
		return b
	}
	b = binary.BigEndian.AppendUint32(b, uint32(s.Len))
	for i := range s.Len {
		if cap(b)-len(b) < headroom {
			b = e.out.Next(b)
		}
		q := unsafe.Add(s.Data, i*int(t.Pair.Size()))
		b = e.value(b, t.Key, q, depth)
		if b = e.value(b, t.Elem, unsafe.Add(q, t.ValueAt), depth); e.err != nil {
			return b
		}
	}
	return b
}
