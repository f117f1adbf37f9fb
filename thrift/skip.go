package thrift

import (
	"encoding/binary"
	"math"
)

// fixed is the size of a value that always has the same, and 0 for others.
var fixed = [256]uint8{TypeBool: 1, TypeI8: 1, TypeI16: 2, TypeI32: 4, TypeI64: 8, TypeDouble: 8, TypeUUID: 16}

// least is the smallest number of bytes that a value can have, and 0 for what
// is no type of values. It bounds how many elements the rest of the input holds.
var least = [256]uint8{
	TypeBool: 1, TypeI8: 1, TypeI16: 2, TypeI32: 4, TypeI64: 8, TypeDouble: 8, TypeUUID: 16,
	TypeString: 4, TypeStruct: 1, TypeMap: 6, TypeSet: 5, TypeList: 5,
}

// SkipStruct finds the end of the struct at the begin of p: n is its length.
// Nesting beyond maxDepth is an error; the struct itself is at depth 1. With
// ErrShort p is a proper beginning, and n is the least length that the struct
// can have. Any other error is a *SyntaxError. It allocates only that.
func SkipStruct(p []byte, maxDepth int) (n int, err error) { return Skip(p, TypeStruct, maxDepth) }

// Skip is SkipStruct for a value of any type. Scalars have no depth.
func Skip(p []byte, t Type, maxDepth int) (n int, err error) {
	n, f := skip(p, 0, t, maxDepth)
	switch f {
	case fine:
		return n, nil
	case short:
		return n, ErrShort
	}
	return 0, f.at(n)
}

// skip finds the end of a value of type t at p[o:]. With short the result is
// the length that p needs at the least, with other faults their offset. depth
// is how many more levels are allowed, and with it bounds the recursion.
func skip(p []byte, o int, t Type, depth int) (int, fault) {
	switch t {
	case TypeBool, TypeI8, TypeI16, TypeI32, TypeI64, TypeDouble, TypeUUID:
		return bounded(p, o, int(fixed[t]))
	case TypeString:
		if len(p)-o < 4 {
			return o + 4, short
		}
		n := binary.BigEndian.Uint32(p[o:])
		if n > math.MaxInt32 {
			return o, negative
		}
		return bounded(p, o+4, int(n))
	}
	if depth <= 0 {
		return o, tooDeep
	}
	switch t {
	case TypeStruct:
		return skipFields(p, o, depth-1)
	case TypeMap:
		if len(p)-o < 6 {
			return o + 6, short
		}
		n := binary.BigEndian.Uint32(p[o+2:])
		if n != 0 && least[p[o]] == 0 {
			return o, badType // a key type of 0 would pass for a list below
		}
		return skipElems(p, o+6, Type(p[o]), Type(p[o+1]), n, depth-1)
	case TypeList, TypeSet:
		if len(p)-o < 5 {
			return o + 5, short
		}
		return skipElems(p, o+5, TypeStop, Type(p[o]), binary.BigEndian.Uint32(p[o+1:]), depth-1)
	}
	return o, badType
}

// bounded is the end of n bytes at p[o:].
func bounded(p []byte, o, n int) (int, fault) {
	if n > math.MaxInt-o {
		return o, tooLarge
	}
	if len(p)-o < n {
		return o + n, short
	}
	return o + n, fine
}

func skipFields(p []byte, o, depth int) (int, fault) {
	for {
		if o >= len(p) {
			return o + 1, short
		}
		t := Type(p[o])
		if t == TypeStop {
			return o + 1, fine
		}
		if n := int(fixed[t]); n != 0 && len(p)-o >= 3+n {
			o += 3 + n
			continue
		}
		if least[t] == 0 {
			return o, badType
		}
		if len(p)-o < 3 {
			return o + 3 + int(least[t]), short
		}
		var f fault
		if o, f = skip(p, o+3, t, depth); f != fine {
			return o, f
		}
	}
}

// skipElems passes over n elements, or pairs if key is not TypeStop. The types of
// an empty container are not looked at: peers write 0 there.
func skipElems(p []byte, o int, key, elem Type, n uint32, depth int) (int, fault) {
	if n == 0 {
		return o, fine
	}
	size, f := elemsLeast(key, elem, n)
	if f != fine {
		return o, f
	}
	if fixed[elem] != 0 && (key == TypeStop || fixed[key] != 0) {
		return bounded(p, o, size)
	}
	if end, f := bounded(p, o, size); f != fine {
		return end, f
	}
	for range n {
		if key != TypeStop {
			if o, f = skip(p, o, key, depth); f != fine {
				return o, f
			}
		}
		if o, f = skip(p, o, elem, depth); f != fine {
			return o, f
		}
	}
	return o, fine
}

// elemsLeast is the smallest number of bytes that n > 0 elements take.
func elemsLeast(key, elem Type, n uint32) (int, fault) {
	if n > math.MaxInt32 {
		return 0, negative
	}
	if least[elem] == 0 || key != TypeStop && least[key] == 0 {
		return 0, badType
	}
	size := int64(n) * int64(least[elem]+least[key])
	if size > math.MaxInt {
		return 0, tooLarge
	}
	return int(size), fine
}
