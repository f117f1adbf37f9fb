package plan

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// list appends the slice at p as a list or a set; nil is an empty one. Elements are not looked
// at before: a nil among structs is found when its turn comes, and the whole message fails.
func (e *Encoder) list(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	if depth <= 0 {
		return e.failAt(b, t, shape.WhyDeep)
	}
	// Safety: p points to a slice of t.Elem.Go. Below it is looked at as a slice
	// of elements with the same layout.
	s := *(*shape.Slice)(p)
	if s.Len > raw.MaxSize {
		e.Err = ErrTooLong
		return b
	}
	el := t.Elem
	if e.wire == inCompact {
		b = e.listHeadCompact(b, el, s.Len)
		switch el.Kind {
		case shape.Int8:
			return e.raw(b, *(*[]byte)(p))
		case shape.Int64:
			return e.compactNumbers(b, *(*[]int64)(p))
		}
	} else {
		b = append(b, byte(Wires[el.Kind]))
		b = binary.BigEndian.AppendUint32(b, uint32(s.Len))
		if el.Kind == shape.Ref {
			return e.structures(b, el, *(*[]unsafe.Pointer)(p), depth-1)
		}
		var ok bool
		if b, ok = e.binaryNumbers(b, el, p); ok {
			return b
		}
	}
	for i := range s.Len {
		if cap(b)-len(b) < Headroom {
			b = e.Out.Next(b)
		}
		if b = e.Value(b, el, unsafe.Add(s.Data, i*el.Size), depth-1); e.Err != nil {
			return b
		}
	}
	return b
}

// structures appends structs, which have t as their type, by their generated methods if there
// are some: the call through the interface is paid once for each element, and all that is
// within an element is direct calls.
func (e *Encoder) structures(b []byte, t *shape.Type, s []unsafe.Pointer, depth int) []byte {
	made := At(t.Struct).made != 0 && !e.plain
	for _, p := range s {
		switch {
		case p == nil:
			return e.failAt(b, t, shape.WhyNil)
		case made:
			b = e.generated(b, At(t.Struct), p, depth)
		default:
			b = e.Fields(b, At(t.Struct), p, depth)
		}
		if e.Err != nil {
			return b
		}
	}
	return b
}

// entries appends the map or Pairs at p. A map's entries come in no order.
//
// The length is that of the table of layouts: Go has no way to instantiate a generic
// function by a value.
func (e *Encoder) entries(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
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
	if n > raw.MaxSize {
		e.Err = ErrTooLong
		return b
	}
	if e.wire == inCompact {
		b = e.mapHeadCompact(b, t, n)
	} else {
		b = append(b, byte(Wires[t.Key.Kind]), byte(Wires[t.Elem.Kind]))
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	depth--
	if t.Kind == shape.Pairs {
		return e.pairs(b, t, p, depth)
	}
	switch t.Maps {
	case shape.StringString:
		if e.wire == inCompact {
			return e.compactTexts(b, *(*map[string]string)(p))
		}
		return e.StringMap(b, *(*map[string]string)(p))
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

// StringMap appends the entries of a map of strings, the most common one: with
// one look at the room for each.
func (e *Encoder) StringMap(b []byte, m map[string]string) []byte {
	for k, v := range m {
		if len(k)+len(v) <= min(cap(b)-len(b)-Headroom-8, buf.RefMin) {
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(k))), k...)
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
			continue
		}
		if cap(b)-len(b) < Headroom {
			b = e.Out.Next(b)
		}
		if b = e.Text(e.Text(b, k), v); e.Err != nil {
			return b
		}
	}
	return b
}

// entry appends key and value.
func (e *Encoder) entry(b []byte, t *shape.Type, k, v unsafe.Pointer, depth int) []byte {
	if cap(b)-len(b) < 2*Headroom {
		b = e.Out.Next(b)
	}
	return e.Value(e.Value(b, t.Key, k, depth), t.Elem, v, depth)
}

// writeMap appends the entries of a map with the layout of map[K]V.
func writeMap[K comparable, V any](e *Encoder, b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a map whose keys and values have these layouts, and a
	// map does not know its type. k and v are declared out here, because escape
	// analysis would move what a loop declares to the heap, entry by entry.
	var k K
	var v V
	for k, v = range *(*map[K]V)(p) {
		if b = e.entry(b, t, unsafe.Pointer(&k), unsafe.Pointer(&v), depth); e.Err != nil {
			return b
		}
	}
	return b
}

// anyMap appends the entries of a map by reflection: keys that are bools, floats, UUIDs or
// small numbers, or values that no layout stands for. It makes two values for the whole map,
// not two for each entry.
func (e *Encoder) anyMap(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a map, which is a pointer. It is copied, so that p
	// does not reach reflection and what p points to can stay on the stack.
	m := *(*unsafe.Pointer)(p)
	if m == nil {
		return b
	}
	k, v := reflect.New(t.Key.Go), reflect.New(t.Elem.Go)
	for it := reflect.NewAt(t.Go, unsafe.Pointer(&m)).Elem().MapRange(); it.Next(); {
		k.Elem().SetIterKey(it)
		v.Elem().SetIterValue(it)
		if b = e.entry(b, t, k.UnsafePointer(), v.UnsafePointer(), depth); e.Err != nil {
			return b
		}
	}
	return b
}

// pairs appends the entries of the Pairs at p.
func (e *Encoder) pairs(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a t.Go, a slice of structs of which the key is the
	// first field, and ValueAt is the offset of the second.
	s := *(*shape.Slice)(p)
	for i := range s.Len {
		q := unsafe.Add(s.Data, i*int(t.Pair.Size()))
		if b = e.entry(b, t, q, unsafe.Add(q, t.ValueAt), depth); e.Err != nil {
			return b
		}
	}
	return b
}
