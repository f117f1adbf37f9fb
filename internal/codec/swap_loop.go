package codec

import "encoding/binary"

// The loops do it where there are no vectors, whatever the host's byte order.
// They take four elements a turn through array pointers: the compiler then
// checks bounds once for all four. That is 2-10 times the speed of indexing.

// LoopFrom16 makes numbers of the big-endian ones in src, which has 2 bytes for each of dst.
func LoopFrom16(dst []uint16, src []byte) {
	for len(dst) >= 4 {
		d, s := (*[4]uint16)(dst), (*[8]byte)(src)
		d[0], d[1] = binary.BigEndian.Uint16(s[0:]), binary.BigEndian.Uint16(s[2:])
		d[2], d[3] = binary.BigEndian.Uint16(s[4:]), binary.BigEndian.Uint16(s[6:])
		dst, src = dst[4:], src[8:]
	}
	for i := range dst {
		dst[i] = binary.BigEndian.Uint16(src[2*i:])
	}
}

// LoopTo16 writes numbers big-endian into dst, which has 2 bytes for each of src.
func LoopTo16(dst []byte, src []uint16) {
	for len(src) >= 4 {
		d, s := (*[8]byte)(dst), (*[4]uint16)(src)
		binary.BigEndian.PutUint16(d[0:], s[0])
		binary.BigEndian.PutUint16(d[2:], s[1])
		binary.BigEndian.PutUint16(d[4:], s[2])
		binary.BigEndian.PutUint16(d[6:], s[3])
		dst, src = dst[8:], src[4:]
	}
	for i, v := range src {
		binary.BigEndian.PutUint16(dst[2*i:], v)
	}
}

// LoopFrom32 makes numbers of the big-endian ones in src, which has 4 bytes for each of dst.
func LoopFrom32(dst []uint32, src []byte) {
	for len(dst) >= 4 {
		d, s := (*[4]uint32)(dst), (*[16]byte)(src)
		d[0], d[1] = binary.BigEndian.Uint32(s[0:]), binary.BigEndian.Uint32(s[4:])
		d[2], d[3] = binary.BigEndian.Uint32(s[8:]), binary.BigEndian.Uint32(s[12:])
		dst, src = dst[4:], src[16:]
	}
	for i := range dst {
		dst[i] = binary.BigEndian.Uint32(src[4*i:])
	}
}

// LoopTo32 writes numbers big-endian into dst, which has 4 bytes for each of src.
func LoopTo32(dst []byte, src []uint32) {
	for len(src) >= 4 {
		d, s := (*[16]byte)(dst), (*[4]uint32)(src)
		binary.BigEndian.PutUint32(d[0:], s[0])
		binary.BigEndian.PutUint32(d[4:], s[1])
		binary.BigEndian.PutUint32(d[8:], s[2])
		binary.BigEndian.PutUint32(d[12:], s[3])
		dst, src = dst[16:], src[4:]
	}
	for i, v := range src {
		binary.BigEndian.PutUint32(dst[4*i:], v)
	}
}

// LoopFrom64 makes numbers of the big-endian ones in src, which has 8 bytes for each of dst.
func LoopFrom64(dst []uint64, src []byte) {
	for len(dst) >= 4 {
		d, s := (*[4]uint64)(dst), (*[32]byte)(src)
		d[0], d[1] = binary.BigEndian.Uint64(s[0:]), binary.BigEndian.Uint64(s[8:])
		d[2], d[3] = binary.BigEndian.Uint64(s[16:]), binary.BigEndian.Uint64(s[24:])
		dst, src = dst[4:], src[32:]
	}
	for i := range dst {
		dst[i] = binary.BigEndian.Uint64(src[8*i:])
	}
}

// LoopTo64 writes numbers big-endian into dst, which has 8 bytes for each of src.
func LoopTo64(dst []byte, src []uint64) {
	for len(src) >= 4 {
		d, s := (*[32]byte)(dst), (*[4]uint64)(src)
		binary.BigEndian.PutUint64(d[0:], s[0])
		binary.BigEndian.PutUint64(d[8:], s[1])
		binary.BigEndian.PutUint64(d[16:], s[2])
		binary.BigEndian.PutUint64(d[24:], s[3])
		dst, src = dst[32:], src[4:]
	}
	for i, v := range src {
		binary.BigEndian.PutUint64(dst[8*i:], v)
	}
}
