package plan

import (
	"cmp"
	"reflect"
	"slices"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// entries appends the map at p: each entry is a message of key and value.
//
// The length is that of the table of layouts: Go has no way to instantiate a generic
// function by a value.
func (e *Encoder) entries(b []byte, o *Op, p unsafe.Pointer, depth int) []byte {
	// Safety: a map's number of entries does not depend on its type.
	if n := len(*(*map[string]string)(p)); n == 0 {
		return b
	} else if e.sorted && n > 1 {
		return e.sortedEntries(b, o, p, depth)
	}
	if form := o.in.value.Do; o.Type.Maps == shape.StringString && form == Text {
		return e.stringMap(b, o, *(*map[string]string)(p))
	}
	switch o.Type.Maps {
	case shape.StringString:
		return writeMap[string, string](e, b, o, p, depth)
	case shape.StringPointer:
		return writeMap[string, unsafe.Pointer](e, b, o, p, depth)
	case shape.StringSlice:
		return writeMap[string, []byte](e, b, o, p, depth)
	case shape.String8:
		return writeMap[string, uint64](e, b, o, p, depth)
	case shape.String4:
		return writeMap[string, uint32](e, b, o, p, depth)
	case shape.String1:
		return writeMap[string, uint8](e, b, o, p, depth)
	case shape.Map4String:
		return writeMap[uint32, string](e, b, o, p, depth)
	case shape.Map4Pointer:
		return writeMap[uint32, unsafe.Pointer](e, b, o, p, depth)
	case shape.Map4Slice:
		return writeMap[uint32, []byte](e, b, o, p, depth)
	case shape.Map4x8:
		return writeMap[uint32, uint64](e, b, o, p, depth)
	case shape.Map4x4:
		return writeMap[uint32, uint32](e, b, o, p, depth)
	case shape.Map8String:
		return writeMap[uint64, string](e, b, o, p, depth)
	case shape.Map8Pointer:
		return writeMap[uint64, unsafe.Pointer](e, b, o, p, depth)
	case shape.Map8Slice:
		return writeMap[uint64, []byte](e, b, o, p, depth)
	case shape.Map8x8:
		return writeMap[uint64, uint64](e, b, o, p, depth)
	case shape.Map8x4:
		return writeMap[uint64, uint32](e, b, o, p, depth)
	}
	return e.anyMap(b, o, p, depth)
}

// stringMap appends the entries of a map of strings, the most common one: with one look at the
// room for each.
func (e *Encoder) stringMap(b []byte, o *Op, m map[string]string) []byte {
	in := o.in
	for k, v := range m {
		if len(k)+len(v) > min(cap(b)-len(b)-2*headroom, buf.RefMin) {
			// Safety: k and v are what the map's op says, strings.
			if b = e.entry(b, o, unsafe.Pointer(&k), unsafe.Pointer(&v), 0); e.halt {
				return b
			}
			continue
		}
		if in.key.utf8 && !(codec.UTF8(k) && codec.UTF8(v)) {
			return e.failAt(b, o.Type, whyUTF8)
		}
		b = raw.Append(o.head(b), uint64(2+prefixed(len(k))+prefixed(len(v))))
		b = append(raw.Append(append(b, byte(in.key.Head)), uint64(len(k))), k...)
		b = append(raw.Append(append(b, byte(in.value.Head)), uint64(len(v))), v...)
	}
	return b
}

// entry appends one entry. depth is what is left for the message that it is in.
func (e *Encoder) entry(b []byte, o *Op, k, v unsafe.Pointer, depth int) []byte {
	in := o.in
	if b = e.room(b); e.halt {
		return b
	}
	b = o.head(b)
	if in.value.Do == Message {
		// Safety: v points to a pointer to a struct.
		p := *(*unsafe.Pointer)(v)
		if p == nil {
			return e.failAt(b, o.Type.Elem, shape.WhyNil)
		}
		x := part{pl: in.value.Plan, p: p, depth: depth - 1, guess: 1, entry: o}
		if e.inside {
			return e.entryInside(b, x, k)
		}
		return e.outer(b, x, k)
	}
	b = raw.Append(b, uint64(e.sizeValue(&in.key, in.key.Do, k, 0)+e.sizeValue(&in.value, in.value.Do, v, 0)))
	if b = e.room(b); e.halt {
		return b
	}
	if b = e.value(b, &in.key, in.key.Do, k, 0); e.halt {
		return b
	}
	if b = e.room(b); e.halt {
		return b
	}
	return e.value(b, &in.value, in.value.Do, v, 0)
}

// writeMap appends the entries of a map with the layout of map[K]V.
func writeMap[K comparable, V any](e *Encoder, b []byte, o *Op, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a map whose keys and values have these layouts, and a
	// map does not know its type. k and v are declared out here, because escape
	// analysis would move what a loop declares to the heap, entry by entry.
	var k K
	var v V
	for k, v = range *(*map[K]V)(p) {
		if b = e.entry(b, o, unsafe.Pointer(&k), unsafe.Pointer(&v), depth); e.halt {
			return b
		}
	}
	return b
}

// anyMap appends the entries of a map by reflection.
func (e *Encoder) anyMap(b []byte, o *Op, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a map, which is a pointer. It is copied, so that p
	// does not reach reflection and what p points to can stay on the stack.
	m := *(*unsafe.Pointer)(p)
	k, v := reflect.New(o.Type.Key.Go), reflect.New(o.Type.Elem.Go)
	for it := reflect.NewAt(o.Type.Go, unsafe.Pointer(&m)).Elem().MapRange(); it.Next(); {
		k.Elem().SetIterKey(it)
		v.Elem().SetIterValue(it)
		if b = e.entry(b, o, k.UnsafePointer(), v.UnsafePointer(), depth); e.halt {
			return b
		}
	}
	return b
}

// sortedEntries appends the entries in the order of their keys.
func (e *Encoder) sortedEntries(b []byte, o *Op, p unsafe.Pointer, depth int) []byte {
	m := *(*unsafe.Pointer)(p) // Safety: as in anyMap.
	rm := reflect.NewAt(o.Type.Go, unsafe.Pointer(&m)).Elem()
	keys := rm.MapKeys()
	slices.SortFunc(keys, compareKeys)
	k, v := reflect.New(o.Type.Key.Go), reflect.New(o.Type.Elem.Go)
	for _, key := range keys {
		k.Elem().Set(key)
		v.Elem().Set(rm.MapIndex(key))
		if b = e.entry(b, o, k.UnsafePointer(), v.UnsafePointer(), depth); e.halt {
			return b
		}
	}
	return b
}

// compareKeys is the order of maps: false is before true, numbers and strings go by their value.
func compareKeys(a, b reflect.Value) int {
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.Kind() == reflect.Bool:
		if a.Bool() == b.Bool() {
			return 0
		} else if b.Bool() {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.String(), b.String())
}
