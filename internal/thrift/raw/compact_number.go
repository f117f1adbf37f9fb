package raw

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
		v, n := uvarintOf((*[10]byte)(b[o:]))
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

// uvarintOf reads the number at the begin of p and gives its length; 0: it does
// not end there. What a byte says by its highest bit is taken back when the
// next one is added: that is one step less than masking.
func uvarintOf(p *[10]byte) (v uint64, n int) {
	v = uint64(p[0])
	if p[0] < 0x80 {
		return v, 1
	}
	if v += uint64(p[1])<<7 - 1<<7; p[1] < 0x80 {
		return v, 2
	}
	if v += uint64(p[2])<<14 - 1<<14; p[2] < 0x80 {
		return v, 3
	}
	if v += uint64(p[3])<<21 - 1<<21; p[3] < 0x80 {
		return v, 4
	}
	if v += uint64(p[4])<<28 - 1<<28; p[4] < 0x80 {
		return v, 5
	}
	if v += uint64(p[5])<<35 - 1<<35; p[5] < 0x80 {
		return v, 6
	}
	if v += uint64(p[6])<<42 - 1<<42; p[6] < 0x80 {
		return v, 7
	}
	if v += uint64(p[7])<<49 - 1<<49; p[7] < 0x80 {
		return v, 8
	}
	if v += uint64(p[8])<<56 - 1<<56; p[8] < 0x80 {
		return v, 9
	}
	if v += uint64(p[9])<<63 - 1<<63; p[9] < 0x80 {
		return v, 10
	}
	return 0, 0
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
