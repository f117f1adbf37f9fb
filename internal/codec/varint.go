package codec

// UvarintOf reads the number at the begin of p and gives its length; 0: it does
// not end there. What a byte says by its highest bit is taken back when the
// next one is added: that is one step less than masking.
func UvarintOf(p *[10]byte) (v uint64, n int) {
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
