package raw

import (
	"encoding/binary"
	"slices"
)

// A bool's byte other than 0 and 1 is false to us and to Apache's libraries for Go
// and Java, and true to those for C++ and Python. What passes messages on must not let
// a sender show the one to it and the other to who comes behind. So such bytes
// become 0 where received bytes are kept to be sent again: in views, and in what
// an Unknown holds.

// Tame makes bools of the value of type t at b[o:] what they mean, which is 0 if they are
// neither 0 nor 1. It gives the value's end; the bytes were checked.
//
// It writes to b, which has to be the caller's own: a received block may be shared.
func Tame(b []byte, o int, t Type) int {
	end, _ := eachBool(b, o, t, func(p []byte) bool {
		for i := range p {
			if p[i] > 1 {
				p[i] = 0
			}
		}
		return true
	})
	return end
}

// Odd tells whether a bool in the value of type t at b[o:] is neither 0 nor 1. The
// bytes were checked.
//
// Most messages are not odd, so they are looked at first and copied, to be tamed, only if
// they are.
func Odd(b []byte, o int, t Type) bool {
	_, none := eachBool(b, o, t, func(p []byte) bool { return !AnyAbove1(p) })
	return !none
}

// MayHoldBools tells whether a value of type t is a bool, or has some within.
// It spares a look at strings and numbers; what it takes for possible may have none.
func MayHoldBools(t Type) bool { return t == TypeBool || t >= TypeStruct && t != TypeUUID }

// AnyAbove1 tells whether there is a byte other than 0 and 1.
//
// Eight bools are one load. The mask has every bit but the lowest of each byte, so the
// order of the bytes does not matter.
func AnyAbove1(p []byte) bool {
	var any uint64
	for ; len(p) >= 8; p = p[8:] {
		any |= binary.NativeEndian.Uint64(p)
	}
	return any&0xfefefefefefefefe != 0 || slices.ContainsFunc(p, func(c byte) bool { return c > 1 })
}

// eachBool calls f with all bools in the value of type t at b[o:], in stretches, until
// it gives false; then more is false. The bytes were checked.
//
// It trusts the lengths, and its recursion is as deep as the check has allowed.
func eachBool(b []byte, o int, t Type, f func([]byte) bool) (end int, more bool) {
	switch t {
	case TypeBool:
		return o + 1, f(b[o : o+1])
	case TypeStruct:
		for b[o] != byte(TypeStop) {
			if o, more = eachBool(b, o+3, Type(b[o]), f); !more {
				return o, false
			}
		}
		return o + 1, true
	case TypeList, TypeSet:
		return eachBoolOf(b, o+5, TypeStop, Type(b[o]), int(binary.BigEndian.Uint32(b[o+1:])), f)
	case TypeMap:
		return eachBoolOf(b, o+6, Type(b[o]), Type(b[o+1]), int(binary.BigEndian.Uint32(b[o+2:])), f)
	case TypeString:
		return o + 4 + int(binary.BigEndian.Uint32(b[o:])), true
	}
	return o + int(Fixed[t]), true
}

// eachBoolOf is eachBool for n elements, or entries if key is not TypeStop.
func eachBoolOf(b []byte, o int, key, elem Type, n int, f func([]byte) bool) (end int, more bool) {
	if n == 0 {
		return o, true
	}
	size := int(Fixed[key]) + int(Fixed[elem])
	switch {
	case key == TypeStop && elem == TypeBool:
		return o + n, f(b[o : o+n])
	case Fixed[elem] != 0 && (key == TypeStop || Fixed[key] != 0) && elem != TypeBool && key != TypeBool:
		return o + n*size, true
	}
	for range n {
		more = true
		if key != TypeStop {
			o, more = eachBool(b, o, key, f)
		}
		if more {
			o, more = eachBool(b, o, elem, f)
		}
		if !more {
			return o, false
		}
	}
	return o, true
}
