package raw

import "github.com/limosa-rpc/limosa/internal/codec"

// Uvarint reads the number at b[o:]. As Apache's libraries it takes ten bytes,
// whatever the number is for, and drops what does not fit. With short the
// offset is the least length that b needs.
//
// The limit of ten bytes is that of 64 bits; what a peer may gain by longer ones is time
// only, at a byte for each step.
func Uvarint(b []byte, o int) (v uint64, end int, f Fault) {
	if uint(o) < uint(len(b)) && b[o] < 0x80 {
		return uint64(b[o]), o + 1, Fine
	}
	return UvarintSlow(b, o)
}

// UvarintSlow is Uvarint for numbers of more than one byte.
//
// With ten bytes at hand no step has to look for the end of b, which is what most time
// goes to otherwise.
func UvarintSlow(b []byte, o int) (v uint64, end int, f Fault) {
	if len(b)-o >= 10 {
		v, n := codec.UvarintOf((*[10]byte)(b[o:]))
		if n == 0 {
			return 0, o, longNumber
		}
		return v, o + n, Fine
	}
	for i := range 10 {
		if o+i >= len(b) {
			return 0, o + i + 1, Short
		}
		c := b[o+i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, o + i + 1, Fine
		}
	}
	return 0, o, longNumber
}

// CompactSize reads a length or a number of elements.
//
// A size is a signed number of 32 bits in Apache's libraries, so what is negative as one
// is refused; bits above these are dropped, as they are there.
func CompactSize(b []byte, o int) (n, end int, f Fault) {
	v, end, f := Uvarint(b, o)
	if f != Fine {
		return 0, end, f
	}
	if int32(uint32(v)) < 0 {
		return 0, o, Negative
	}
	return int(uint32(v)), end, Fine
}

// Zigzag puts the sign into the lowest bit.
//
// Small numbers of either sign are short so: 0, -1, 1, -2 become 0, 1, 2, 3.
func Zigzag(n int64) uint64 { return uint64(n<<1) ^ uint64(n>>63) }

// Unzigzag takes it from there.
func Unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
