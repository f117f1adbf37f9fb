package plan

import (
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// entries decodes a map into the map or Pairs at p. The memory is charged before it is made:
// a map takes more than its entries, in groups whose number is a power of two.
//
// The length is that of the table of layouts: Go has no way to instantiate a generic
// function by a value.
func (d *Decoder) entries(t *shape.Type, p unsafe.Pointer, o, depth int) (n int, f raw.Fault) {
	if depth <= 0 {
		return o, raw.TooDeep
	}
	if d.lim != nil && d.body.Len() != 0 {
		body := d.apart()
		o, f := d.entries(t, p, o, depth)
		d.body = body
		return o, f
	}
	if d.wire == inCompact {
		n, o, f = d.compactMap(t, o)
	} else {
		n, o, f = d.binaryMap(t, o)
	}
	if f != raw.Fine {
		return o, f
	}
	depth--
	if t.Kind == shape.Pairs {
		return d.pairs(t, p, o, n, depth)
	}
	if !d.ChargeMap(n, t.Key.Size+t.Elem.Size) {
		return o, raw.TooCostly
	}
	// By layout, not by type: a map[UserID]Order is gone through as a
	// map[uint64]unsafe.Pointer. What reflection does for one entry takes 1.6 to 4 times
	// as long.
	switch t.Maps {
	case shape.StringString:
		return d.StringMap((*map[string]string)(p), o, n)
	case shape.StringPointer:
		return readMap[string, unsafe.Pointer](d, t, p, o, n, depth)
	case shape.StringSlice:
		return readMap[string, []byte](d, t, p, o, n, depth)
	case shape.String8:
		return readMap[string, uint64](d, t, p, o, n, depth)
	case shape.String4:
		return readMap[string, uint32](d, t, p, o, n, depth)
	case shape.String1:
		return readMap[string, uint8](d, t, p, o, n, depth)
	case shape.Map4String:
		return readMap[uint32, string](d, t, p, o, n, depth)
	case shape.Map4Pointer:
		return readMap[uint32, unsafe.Pointer](d, t, p, o, n, depth)
	case shape.Map4Slice:
		return readMap[uint32, []byte](d, t, p, o, n, depth)
	case shape.Map4x8:
		return readMap[uint32, uint64](d, t, p, o, n, depth)
	case shape.Map4x4:
		return readMap[uint32, uint32](d, t, p, o, n, depth)
	case shape.Map8String:
		return readMap[uint64, string](d, t, p, o, n, depth)
	case shape.Map8Pointer:
		return readMap[uint64, unsafe.Pointer](d, t, p, o, n, depth)
	case shape.Map8Slice:
		return readMap[uint64, []byte](d, t, p, o, n, depth)
	case shape.Map8x8:
		return readMap[uint64, uint64](d, t, p, o, n, depth)
	case shape.Map8x4:
		return readMap[uint64, uint32](d, t, p, o, n, depth)
	}
	return d.anyMap(t, p, o, n, depth)
}

// batch is how many entries of a map of strings are read before they are put into it. A
// string that was written a moment ago is hashed slowly, since the processor cannot
// hand over what several stores have written to one load before they are through.
const batch = 8

// StringMap decodes n entries into a map of strings, the most common one. On the wire
// it is 2*n strings.
//
// Of a key that comes twice the last value counts, as in any map here.
func (d *Decoder) StringMap(p *map[string]string, o, n int) (int, raw.Fault) {
	m := make(map[string]string, n)
	var some [2 * batch]string
	for left := 2 * n; left > 0; left -= len(some) {
		s := some[:min(left, len(some))]
		var f raw.Fault
		if d.wire == inCompact {
			o, f = d.compactTexts(s, o)
		} else {
			o, f = d.Strings(s, o)
		}
		if f != raw.Fine {
			return o, f
		}
		for ; len(s) >= 2; s = s[2:] {
			m[s[0]] = s[1]
		}
	}
	*p = m
	return o, raw.Fine
}

// readMap decodes n entries into a map with the layout of map[K]V.
//
// k and v are used again for each entry. That is safe since Value replaces what they held
// as a whole and never writes to memory that an earlier entry refers to.
func readMap[K comparable, V any](d *Decoder, t *shape.Type, p unsafe.Pointer, o, n, depth int) (int, raw.Fault) {
	m := make(map[K]V, n)
	var k K
	var v V
	var f raw.Fault
	for range n {
		// Safety: k has the layout of t.Key, v that of t.Elem; mapKindOf.
		if o, f = d.Value(t.Key, unsafe.Pointer(&k), o, depth); f != raw.Fine {
			return o, f
		}
		if o, f = d.Value(t.Elem, unsafe.Pointer(&v), o, depth); f != raw.Fine {
			return o, f
		}
		m[k] = v
	}
	// Safety: p points to a map whose keys and values have these layouts and
	// whose keys are hashed alike; a map does not know its type.
	*(*map[K]V)(p) = m
	return o, raw.Fine
}

// anyMap decodes n entries by reflection. Key and value are decoded into the same two places
// again and again, and copied into the map: what a key refers to is made anew each time.
func (d *Decoder) anyMap(t *shape.Type, p unsafe.Pointer, o, n, depth int) (int, raw.Fault) {
	m := reflect.MakeMapWithSize(t.Go, n)
	k, v := reflect.New(t.Key.Go), reflect.New(t.Elem.Go)
	var f raw.Fault
	for range n {
		if o, f = d.Value(t.Key, k.UnsafePointer(), o, depth); f != raw.Fine {
			return o, f
		}
		if o, f = d.Value(t.Elem, v.UnsafePointer(), o, depth); f != raw.Fine {
			return o, f
		}
		m.SetMapIndex(k.Elem(), v.Elem())
	}
	// Safety: p points to a t.Go, and a map is a pointer.
	*(*unsafe.Pointer)(p) = m.UnsafePointer()
	return o, raw.Fine
}

// pairs decodes n entries into the Pairs at p, which keep the order of the message, and keys
// that come twice.
func (d *Decoder) pairs(t *shape.Type, p unsafe.Pointer, o, n, depth int) (int, raw.Fault) {
	size := int(t.Pair.Size())
	if !d.Charges(n, size) {
		return o, raw.TooCostly
	}
	s := reflect.MakeSlice(t.Go, n, n).UnsafePointer()
	// Safety: p points to a t.Go, s to n structs of that size; the key is their
	// first field, and ValueAt is the offset of the second.
	var f raw.Fault
	for i := range n {
		q := unsafe.Add(s, i*size)
		if o, f = d.Value(t.Key, q, o, depth); f != raw.Fine {
			return o, f
		}
		if o, f = d.Value(t.Elem, unsafe.Add(q, t.ValueAt), o, depth); f != raw.Fine {
			return o, f
		}
	}
	*(*shape.Slice)(p) = shape.Slice{Data: s, Len: n, Cap: n}
	return o, raw.Fine
}
