package shape

import (
	"reflect"
	"unsafe"
)

// NewScalar makes a scalar, a string or a UUID.
// Plain types stand for named ones, since the collector looks at pointers only; that
// saves what reflection would add.
func (t *Type) NewScalar() unsafe.Pointer {
	// Safety: the memory has t's size and, but for strings, no pointers; it is
	// aligned for it, because the allocator aligns by size.
	switch t.Kind {
	case Bool, Int8:
		return unsafe.Pointer(new(uint8))
	case Int16:
		return unsafe.Pointer(new(uint16))
	case Int32, Uint32, Float32:
		return unsafe.Pointer(new(uint32))
	case Int64, Uint64, Float64:
		return unsafe.Pointer(new(uint64))
	case UUID:
		return unsafe.Pointer(new([16]byte))
	}
	return unsafe.Pointer(new(string))
}

// Make makes n elements of a slice, without reflection for those that are common.
//
// What reflection makes costs an allocation more for the slice's header.
func (t *Type) Make(n int) unsafe.Pointer {
	// Safety: the elements have the same size and pointers at the same places
	// as those of t.Go.
	switch t.Elem.Kind {
	case Bool, Int8:
		return unsafe.Pointer(unsafe.SliceData(make([]uint8, n)))
	case Int16:
		return unsafe.Pointer(unsafe.SliceData(make([]uint16, n)))
	case Int32, Uint32, Float32:
		return unsafe.Pointer(unsafe.SliceData(make([]uint32, n)))
	case Int64, Uint64, Float64:
		return unsafe.Pointer(unsafe.SliceData(make([]uint64, n)))
	case String:
		return unsafe.Pointer(unsafe.SliceData(make([]string, n)))
	}
	return reflect.MakeSlice(t.Go, n, n).UnsafePointer()
}
