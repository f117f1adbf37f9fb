package raw

import (
	"encoding/binary"
	"math"
)

// MaxSize is the longest string, list and map: sizes are signed on the wire.
const MaxSize = math.MaxInt32

// Fixed is the size of a value that always has the same, and 0 for others.
var Fixed = [256]uint8{TypeBool: 1, TypeI8: 1, TypeI16: 2, TypeI32: 4, TypeI64: 8, TypeDouble: 8, TypeUUID: 16}

// Least is the smallest number of bytes that a value can have, and 0 for what
// is no type of values. It bounds how many elements the rest of the input holds.
var Least = [256]uint8{
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
	n, f := SkipAt(p, 0, t, maxDepth)
	switch f {
	case Fine:
		return n, nil
	case Short:
		return n, ErrShort
	}
	return 0, f.At(n)
}

// SkipAt finds the end of a value of type t at p[o:]. With short the result is
// the length that p needs at the least, with other faults their offset. depth
// is how many more levels are allowed, and with it bounds the recursion.
//
// A length is held against what is left before it is added to an offset, so that none
// overflows. Time is linear in the bytes that are passed over: containers of fixed size
// cost one multiplication, others at least a byte for each element.
func SkipAt(p []byte, o int, t Type, depth int) (int, Fault) {
	switch t {
	case TypeBool, TypeI8, TypeI16, TypeI32, TypeI64, TypeDouble, TypeUUID:
		return bounded(p, o, int(Fixed[t]))
	case TypeString:
		if len(p)-o < 4 {
			return o + 4, Short
		}
		n := binary.BigEndian.Uint32(p[o:])
		if n > math.MaxInt32 {
			return o, Negative
		}
		return bounded(p, o+4, int(n))
	}
	if depth <= 0 {
		return o, TooDeep
	}
	switch t {
	case TypeStruct:
		return skipFields(p, o, depth-1)
	case TypeMap:
		if len(p)-o < 6 {
			return o + 6, Short
		}
		n := binary.BigEndian.Uint32(p[o+2:])
		if n != 0 && Least[p[o]] == 0 {
			return o, BadType // a key type of 0 would pass for a list below
		}
		return skipElems(p, o+6, Type(p[o]), Type(p[o+1]), n, depth-1)
	case TypeList, TypeSet:
		if len(p)-o < 5 {
			return o + 5, Short
		}
		return skipElems(p, o+5, TypeStop, Type(p[o]), binary.BigEndian.Uint32(p[o+1:]), depth-1)
	}
	return o, BadType
}

// bounded is the end of n bytes at p[o:].
func bounded(p []byte, o, n int) (int, Fault) {
	if n > math.MaxInt-o {
		return o, TooLarge
	}
	if len(p)-o < n {
		return o + n, Short
	}
	return o + n, Fine
}

// skipFields passes over the fields of a struct and its stop; depth is what is left for
// their values. Those of fixed size, which most are, do without a call.
func skipFields(p []byte, o, depth int) (int, Fault) {
	for {
		if o >= len(p) {
			return o + 1, Short
		}
		t := Type(p[o])
		if t == TypeStop {
			return o + 1, Fine
		}
		if n := int(Fixed[t]); n != 0 && len(p)-o >= 3+n {
			o += 3 + n
			continue
		}
		if Least[t] == 0 {
			return o, BadType
		}
		if len(p)-o < 3 {
			return o + 3 + int(Least[t]), Short
		}
		var f Fault
		if o, f = SkipAt(p, o+3, t, depth); f != Fine {
			return o, f
		}
	}
}

// skipElems passes over n elements, or pairs if key is not TypeStop. The types of
// an empty container are not looked at: peers write 0 there.
func skipElems(p []byte, o int, key, elem Type, n uint32, depth int) (int, Fault) {
	if n == 0 {
		return o, Fine
	}
	size, f := elemsLeast(key, elem, n)
	if f != Fine {
		return o, f
	}
	if Fixed[elem] != 0 && (key == TypeStop || Fixed[key] != 0) {
		return bounded(p, o, size)
	}
	if end, f := bounded(p, o, size); f != Fine {
		return end, f
	}
	for range n {
		if key != TypeStop {
			if o, f = SkipAt(p, o, key, depth); f != Fine {
				return o, f
			}
		}
		if o, f = SkipAt(p, o, elem, depth); f != Fine {
			return o, f
		}
	}
	return o, Fine
}

// elemsLeast is the smallest number of bytes that n > 0 elements take.
//
// It is at most 2^31 times 32 bytes: no overflow in 64 bits, and refused where int has
// 32.
func elemsLeast(key, elem Type, n uint32) (int, Fault) {
	if n > math.MaxInt32 {
		return 0, Negative
	}
	if Least[elem] == 0 || key != TypeStop && Least[key] == 0 {
		return 0, BadType
	}
	size := int64(n) * int64(Least[elem]+Least[key])
	if size > math.MaxInt {
		return 0, TooLarge
	}
	return int(size), Fine
}
