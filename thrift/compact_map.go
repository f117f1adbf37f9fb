package thrift

import (
	"reflect"
	"unsafe"
)

// entries decodes a map into the map or Pairs at p; see decoder.entries.
func (d *compactDecoder) entries(t *typ, p unsafe.Pointer, o, depth int) (int, fault) {
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
	if n != 0 && (compactTypes[key] != t.key.wire || compactTypes[elem] != t.elem.wire) {
		return o, wrongType
	}
	depth--
	if t.kind == kPairs {
		return d.pairs(t, p, o, n, depth)
	}
	if !d.charges(n, 2*(t.key.size+t.elem.size+mapEntry)) {
		return o, tooCostly
	}
	switch t.maps {
	case mapStringString:
		return readCompactMap[string, string](d, t, p, o, n, depth)
	case mapStringPointer:
		return readCompactMap[string, unsafe.Pointer](d, t, p, o, n, depth)
	case mapStringSlice:
		return readCompactMap[string, []byte](d, t, p, o, n, depth)
	case mapString8:
		return readCompactMap[string, uint64](d, t, p, o, n, depth)
	case mapString4:
		return readCompactMap[string, uint32](d, t, p, o, n, depth)
	case mapString1:
		return readCompactMap[string, uint8](d, t, p, o, n, depth)
	case map4String:
		return readCompactMap[uint32, string](d, t, p, o, n, depth)
	case map4Pointer:
		return readCompactMap[uint32, unsafe.Pointer](d, t, p, o, n, depth)
	case map4Slice:
		return readCompactMap[uint32, []byte](d, t, p, o, n, depth)
	case map4x8:
		return readCompactMap[uint32, uint64](d, t, p, o, n, depth)
	case map4x4:
		return readCompactMap[uint32, uint32](d, t, p, o, n, depth)
	case map8String:
		return readCompactMap[uint64, string](d, t, p, o, n, depth)
	case map8Pointer:
		return readCompactMap[uint64, unsafe.Pointer](d, t, p, o, n, depth)
	case map8Slice:
		return readCompactMap[uint64, []byte](d, t, p, o, n, depth)
	case map8x8:
		return readCompactMap[uint64, uint64](d, t, p, o, n, depth)
	case map8x4:
		return readCompactMap[uint64, uint32](d, t, p, o, n, depth)
	}
	return d.anyMap(t, p, o, n, depth)
}

// readCompactMap decodes n entries into a map with the layout of map[K]V; see
// readMap.
func readCompactMap[K comparable, V any](d *compactDecoder, t *typ, p unsafe.Pointer, o, n, depth int) (int, fault) {
	m := make(map[K]V, n)
	var k K
	var v V
	var f fault
	for range n {
		// Safety: k has the layout of t.key, v that of t.elem; mapKindOf.
		if o, f = d.value(t.key, unsafe.Pointer(&k), o, depth); f != fine {
			return o, f
		}
		if o, f = d.value(t.elem, unsafe.Pointer(&v), o, depth); f != fine {
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
func (d *compactDecoder) anyMap(t *typ, p unsafe.Pointer, o, n, depth int) (int, fault) {
	m := reflect.MakeMapWithSize(t.rt, n)
	k, v := reflect.New(t.key.rt), reflect.New(t.elem.rt)
	var f fault
	for range n {
		if o, f = d.value(t.key, k.UnsafePointer(), o, depth); f != fine {
			return o, f
		}
		if o, f = d.value(t.elem, v.UnsafePointer(), o, depth); f != fine {
			return o, f
		}
		m.SetMapIndex(k.Elem(), v.Elem())
	}
	// Safety: p points to a t.rt, and a map is a pointer.
	*(*unsafe.Pointer)(p) = m.UnsafePointer()
	return o, fine
}

// pairs decodes n entries into the Pairs at p.
func (d *compactDecoder) pairs(t *typ, p unsafe.Pointer, o, n, depth int) (int, fault) {
	size := int(t.pair.Size())
	if !d.charges(n, size) {
		return o, tooCostly
	}
	s := reflect.MakeSlice(t.rt, n, n).UnsafePointer()
	// Safety: p points to a t.rt, s to n structs of that size; the key is their
	// first field, and pairAt is the offset of the second.
	var f fault
	for i := range n {
		q := unsafe.Add(s, i*size)
		if o, f = d.value(t.key, q, o, depth); f != fine {
			return o, f
		}
		if o, f = d.value(t.elem, unsafe.Add(q, t.pairAt), o, depth); f != fine {
			return o, f
		}
	}
	*(*slice)(p) = slice{s, n, n}
	return o, fine
}
