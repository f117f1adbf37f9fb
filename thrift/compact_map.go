package thrift

import (
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
)

// entries decodes a map into the map or Pairs at p; see decoder.entries.
func (d *compactDecoder) entries(t *shape.Type, p unsafe.Pointer, o, depth int) (int, fault) {
	if depth <= 0 {
		return o, tooDeep
	}
	key, elem, n, end, f := compactMapHead(d.b, o)
	if f == short && n > 0 {
		return o, tooLarge
	}
	if o = end; f != fine {
		return o, f
	}
	if n != 0 && (compactTypes[key] != wires[t.Key.Kind] || compactTypes[elem] != wires[t.Elem.Kind]) {
		return o, wrongType
	}
	depth--
	if t.Kind == shape.Pairs {
		return d.pairs(t, p, o, n, depth)
	}
	if !d.ChargeMap(n, t.Key.Size+t.Elem.Size) {
		return o, tooCostly
	}
	switch t.Maps {
	case shape.StringString:
		return readCompactMap[string, string](d, t, p, o, n, depth)
	case shape.StringPointer:
		return readCompactMap[string, unsafe.Pointer](d, t, p, o, n, depth)
	case shape.StringSlice:
		return readCompactMap[string, []byte](d, t, p, o, n, depth)
	case shape.String8:
		return readCompactMap[string, uint64](d, t, p, o, n, depth)
	case shape.String4:
		return readCompactMap[string, uint32](d, t, p, o, n, depth)
	case shape.String1:
		return readCompactMap[string, uint8](d, t, p, o, n, depth)
	case shape.Map4String:
		return readCompactMap[uint32, string](d, t, p, o, n, depth)
	case shape.Map4Pointer:
		return readCompactMap[uint32, unsafe.Pointer](d, t, p, o, n, depth)
	case shape.Map4Slice:
		return readCompactMap[uint32, []byte](d, t, p, o, n, depth)
	case shape.Map4x8:
		return readCompactMap[uint32, uint64](d, t, p, o, n, depth)
	case shape.Map4x4:
		return readCompactMap[uint32, uint32](d, t, p, o, n, depth)
	case shape.Map8String:
		return readCompactMap[uint64, string](d, t, p, o, n, depth)
	case shape.Map8Pointer:
		return readCompactMap[uint64, unsafe.Pointer](d, t, p, o, n, depth)
	case shape.Map8Slice:
		return readCompactMap[uint64, []byte](d, t, p, o, n, depth)
	case shape.Map8x8:
		return readCompactMap[uint64, uint64](d, t, p, o, n, depth)
	case shape.Map8x4:
		return readCompactMap[uint64, uint32](d, t, p, o, n, depth)
	}
	return d.anyMap(t, p, o, n, depth)
}

// readCompactMap decodes n entries into a map with the layout of map[K]V; see
// readMap.
func readCompactMap[K comparable, V any](d *compactDecoder, t *shape.Type, p unsafe.Pointer, o, n, depth int) (int, fault) {
	m := make(map[K]V, n)
	var k K
	var v V
	var f fault
	for range n {
		// Safety: k has the layout of t.Key, v that of t.Elem; mapKindOf.
		if o, f = d.value(t.Key, unsafe.Pointer(&k), o, depth); f != fine {
			return o, f
		}
		if o, f = d.value(t.Elem, unsafe.Pointer(&v), o, depth); f != fine {
			return o, f
		}
		m[k] = v
	}
	// Safety: p points to a map whose keys and values have these layouts and
	// whose keys are hashed alike; a map does not know its type.
	*(*map[K]V)(p) = m
	return o, fine
}

// anyMap decodes n entries by reflection.
func (d *compactDecoder) anyMap(t *shape.Type, p unsafe.Pointer, o, n, depth int) (int, fault) {
	m := reflect.MakeMapWithSize(t.Go, n)
	k, v := reflect.New(t.Key.Go), reflect.New(t.Elem.Go)
	var f fault
	for range n {
		if o, f = d.value(t.Key, k.UnsafePointer(), o, depth); f != fine {
			return o, f
		}
		if o, f = d.value(t.Elem, v.UnsafePointer(), o, depth); f != fine {
			return o, f
		}
		m.SetMapIndex(k.Elem(), v.Elem())
	}
	// Safety: p points to a t.Go, and a map is a pointer.
	*(*unsafe.Pointer)(p) = m.UnsafePointer()
	return o, fine
}

// pairs decodes n entries into the Pairs at p.
func (d *compactDecoder) pairs(t *shape.Type, p unsafe.Pointer, o, n, depth int) (int, fault) {
	size := int(t.Pair.Size())
	if !d.Charges(n, size) {
		return o, tooCostly
	}
	s := reflect.MakeSlice(t.Go, n, n).UnsafePointer()
	// Safety: p points to a t.Go, s to n structs of that size; the key is their
	// first field, and ValueAt is the offset of the second.
	var f fault
	for i := range n {
		q := unsafe.Add(s, i*size)
		if o, f = d.value(t.Key, q, o, depth); f != fine {
			return o, f
		}
		if o, f = d.value(t.Elem, unsafe.Add(q, t.ValueAt), o, depth); f != fine {
			return o, f
		}
	}
	*(*shape.Slice)(p) = shape.Slice{Data: s, Len: n, Cap: n}
	return o, fine
}
