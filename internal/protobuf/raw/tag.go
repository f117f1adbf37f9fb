package raw

// A Wire says how long a value is. It is the lowest three bits of a tag.
type Wire uint32

// The wire types. 6 and 7 are none.
const (
	Varint     Wire = 0
	Fixed64    Wire = 1
	Bytes      Wire = 2
	StartGroup Wire = 3
	EndGroup   Wire = 4
	Fixed32    Wire = 5
)

// MaxNumber is the largest number of a field; the least is 1.
const MaxNumber = 1<<29 - 1

// Tag makes the tag of a field.
func Tag(number int, w Wire) uint32 { return uint32(number)<<3 | uint32(w) }

// ReadTag reads the tag at b[o:]. Its number is right, its wire type may be none.
func ReadTag(b []byte, o int) (tag uint32, end int, f Fault) {
	v, end, f := Uvarint(b, o)
	if f != Fine {
		return 0, end, f
	}
	if n := v >> 3; n < 1 || n > MaxNumber {
		return 0, o, BadTag
	}
	return uint32(v), end, Fine
}

// Length reads the length at b[o:] and holds it against what is left.
func Length(b []byte, o int) (n, end int, f Fault) {
	v, end, f := Uvarint(b, o)
	if f != Fine {
		return 0, end, f
	}
	if v > uint64(len(b)-end) {
		return 0, o, TooLarge
	}
	return int(v), end, Fine
}

// Skip finds the end of the value at b[o:] of a field with that tag. A group may have depth
// levels, itself included.
func Skip(b []byte, o int, tag uint32, depth int) (int, Fault) {
	switch Wire(tag & 7) {
	case Varint:
		_, end, f := Uvarint(b, o)
		return end, f
	case Fixed64:
		if len(b)-o < 8 {
			return o, Short
		}
		return o + 8, Fine
	case Fixed32:
		if len(b)-o < 4 {
			return o, Short
		}
		return o + 4, Fine
	case Bytes:
		n, end, f := Length(b, o)
		return end + n, f
	case StartGroup:
		if depth <= 0 {
			return o, TooDeep
		}
		return skipGroup(b, o, tag, depth-1)
	case EndGroup:
		return o, BadGroup
	}
	return o, BadWire
}

// skipGroup passes over the fields of a group and its end. Groups nest, and depth bounds that.
func skipGroup(b []byte, o int, start uint32, depth int) (int, Fault) {
	for o < len(b) {
		from := o
		tag, end, f := ReadTag(b, o)
		if f != Fine {
			return end, f
		}
		if Wire(tag&7) == EndGroup {
			if tag>>3 != start>>3 {
				return from, BadGroup
			}
			return end, Fine
		}
		if o, f = Skip(b, end, tag, depth); f != Fine {
			return o, f
		}
	}
	return o, NoEnd
}

// Check goes through a message without its type: whether it is a sequence of whole fields, with
// groups of no more than depth levels.
func Check(b []byte, depth int) (int, Fault) {
	for o := 0; o < len(b); {
		tag, end, f := ReadTag(b, o)
		if f != Fine {
			return end, f
		}
		if o, f = Skip(b, end, tag, depth); f != Fine {
			return o, f
		}
	}
	return len(b), Fine
}
