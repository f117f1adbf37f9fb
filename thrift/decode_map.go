package thrift

import (
	"encoding/binary"
	"reflect"
	"unsafe"
)

// A mapKind names a map whose layout is that of a map type written here, so
// that it is gone through at the speed of typed code. The zero value is none:
// then reflection does it, at 1.6 to 4 times the cost.
type mapKind uint8

const (
	mapOther mapKind = iota
	mapStringString
	mapStringPointer
	mapStringSlice
	mapString8
	mapString4
	mapString1
	map4String
	map4Pointer
	map4Slice
	map4x8
	map4x4
	map8String
	map8Pointer
	map8Slice
	map8x8
	map8x4
)

// mapKindOf finds the layout for a key and a value. A named int32 has int32's
// layout and hash function; a map of pointers to structs or of maps is one of
// pointers; all slices are alike. Floats are hashed in a way of their own.
func mapKindOf(key, value *typ) mapKind {
	type pair struct{ key, value kind }
	if key.wire == TypeDouble {
		return mapOther
	}
	v := value.kind
	switch v {
	case kMap:
		v = kStruct
	case kBytes, kPairs:
		v = kList
	case kBool:
		v = k1
	}
	return map[pair]mapKind{
		{kString, kString}: mapStringString, {kString, kStruct}: mapStringPointer, {kString, kList}: mapStringSlice,
		{kString, k8}: mapString8, {kString, k4}: mapString4, {kString, k1}: mapString1,
		{k4, kString}: map4String, {k4, kStruct}: map4Pointer, {k4, kList}: map4Slice, {k4, k8}: map4x8, {k4, k4}: map4x4,
		{k8, kString}: map8String, {k8, kStruct}: map8Pointer, {k8, kList}: map8Slice, {k8, k8}: map8x8, {k8, k4}: map8x4,
	}[pair{key.kind, v}]
}

// mapEntry is about what a map takes for an entry beside key and value, and
// that twice: groups are filled by 7/8 at most and their number is a power of two.
const mapEntry = 2

// entries decodes a map into the map or Pairs at p.
func (d *decoder) entries(t *typ, p unsafe.Pointer, o, depth int) (int, fault) {
	b := d.b
	if depth <= 0 {
		return o, tooDeep
	}
	if len(b)-o < 6 {
		return o, short
	}
	if d.lim != nil && d.body.Len() != 0 {
		body := d.apart()
		o, f := d.entries(t, p, o, depth)
		d.body = body
		return o, f
	}
	key, elem, count := Type(b[o]), Type(b[o+1]), binary.BigEndian.Uint32(b[o+2:])
	if count != 0 && (key != t.key.wire || elem != t.elem.wire) {
		return o, wrongType
	}
	n, f := d.count(count, least[key]+least[elem], o+6)
	if f != fine {
		return o, f
	}
	if t.kind == kPairs {
		return d.pairs(t, p, o+6, n, depth-1)
	}
	if !d.charges(n, 2*(t.key.size+t.elem.size+mapEntry)) {
		return o, tooCostly
	}
	o += 6
	depth--
	switch t.maps {
	case mapStringString:
		return d.stringMap((*map[string]string)(p), o, n)
	case mapStringPointer:
		return readMap[string, unsafe.Pointer](d, t, p, o, n, depth)
	case mapStringSlice:
		return readMap[string, []byte](d, t, p, o, n, depth)
	case mapString8:
		return readMap[string, uint64](d, t, p, o, n, depth)
	case mapString4:
		return readMap[string, uint32](d, t, p, o, n, depth)
	case mapString1:
		return readMap[string, uint8](d, t, p, o, n, depth)
	case map4String:
		return readMap[uint32, string](d, t, p, o, n, depth)
	case map4Pointer:
		return readMap[uint32, unsafe.Pointer](d, t, p, o, n, depth)
	case map4Slice:
		return readMap[uint32, []byte](d, t, p, o, n, depth)
	case map4x8:
		return readMap[uint32, uint64](d, t, p, o, n, depth)
	case map4x4:
		return readMap[uint32, uint32](d, t, p, o, n, depth)
	case map8String:
		return readMap[uint64, string](d, t, p, o, n, depth)
	case map8Pointer:
		return readMap[uint64, unsafe.Pointer](d, t, p, o, n, depth)
	case map8Slice:
		return readMap[uint64, []byte](d, t, p, o, n, depth)
	case map8x8:
		return readMap[uint64, uint64](d, t, p, o, n, depth)
	case map8x4:
		return readMap[uint64, uint32](d, t, p, o, n, depth)
	}
	return d.anyMap(t, p, o, n, depth)
}

// batch is how many entries of a map of strings are read before they are put into it. A
// string that was written a moment ago is hashed slowly, since the processor cannot
// hand over what several stores have written to one load before they are through.
const batch = 8

// stringMap decodes n entries into a map of strings, the most common one. On the wire
// it is 2*n strings.
func (d *decoder) stringMap(p *map[string]string, o, n int) (int, fault) {
	m := make(map[string]string, n)
	var some [2 * batch]string
	for left := 2 * n; left > 0; left -= len(some) {
		s := some[:min(left, len(some))]
		var f fault
		if o, f = d.strings(s, o); f != fine {
			return o, f
		}
		for ; len(s) >= 2; s = s[2:] {
			m[s[0]] = s[1]
		}
	}
	*p = m
	return o, fine
}

// readMap decodes n entries into a map with the layout of map[K]V.
func readMap[K comparable, V any](d *decoder, t *typ, p unsafe.Pointer, o, n, depth int) (int, fault) {
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
func (d *decoder) anyMap(t *typ, p unsafe.Pointer, o, n, depth int) (int, fault) {
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
func (d *decoder) pairs(t *typ, p unsafe.Pointer, o, n, depth int) (int, fault) {
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
