package codec

import (
	"encoding/binary"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/invariant"
)

// vectorLeast is how many elements are swapped by vectors at the least; fewer
// are not worth the call. The assembly relies on it: eight elements of two
// bytes are half a vector, and it knows nothing smaller.
const vectorLeast = 8

// wideAbove is what is swapped by wide vectors where there are any: more bytes
// than this. Up to there they save nothing, and cost a sixth more where the processor
// stores half of one at a time (Zen 4). The assembly relies on no fewer than 256.
const wideAbove = 512

// The functions below put numbers of the host's byte order into a message and
// take them out of one. A list or set of i16, i32, i64 or double is a slice of
// uint16, uint32 or uint64 to them. The message may begin at any address; one
// that is too short panics. Any number of goroutines may read the same memory.
//
// Slice and message share no memory, or they begin at the same byte: numbers
// may be swapped where they lie. Anything in between gives wrong numbers, and
// panics in builds with the tag invariants.
//
// Fewer than vectorLeast elements are swapped in the function that chooses: for
// them a call more would show. The first four go through array pointers, so
// that bounds are checked once.

// From16 fills dst with the big-endian numbers of src, which holds at least
// 2*len(dst) bytes.
func From16(dst []uint16, src []byte) {
	if invariant.Enabled {
		checkApart(at(dst), at(src), 2*len(dst))
	}
	if len(dst) >= vectorLeast {
		if !hasVectors() {
			LoopFrom16(dst, src)
			return
		}
		src = src[: 2*len(dst) : len(src)]
		if len(src) > wideAbove && hasWide() {
			wide16(at(dst), at(src), len(src))
			return
		}
		swap16(at(dst), at(src), len(src))
		return
	}
	i := 0
	if len(dst) >= 4 {
		d, s := (*[4]uint16)(dst), (*[8]byte)(src)
		d[0], d[1] = binary.BigEndian.Uint16(s[0:]), binary.BigEndian.Uint16(s[2:])
		d[2], d[3] = binary.BigEndian.Uint16(s[4:]), binary.BigEndian.Uint16(s[6:])
		i = 4
	}
	for ; i < len(dst); i++ {
		dst[i] = binary.BigEndian.Uint16(src[2*i:])
	}
}

// From32 fills dst with the big-endian numbers of src, which holds at least
// 4*len(dst) bytes.
func From32(dst []uint32, src []byte) {
	if invariant.Enabled {
		checkApart(at(dst), at(src), 4*len(dst))
	}
	if len(dst) >= vectorLeast {
		if !hasVectors() {
			LoopFrom32(dst, src)
			return
		}
		src = src[: 4*len(dst) : len(src)]
		if len(src) > wideAbove && hasWide() {
			wide32(at(dst), at(src), len(src))
			return
		}
		swap32(at(dst), at(src), len(src))
		return
	}
	i := 0
	if len(dst) >= 4 {
		d, s := (*[4]uint32)(dst), (*[16]byte)(src)
		d[0], d[1] = binary.BigEndian.Uint32(s[0:]), binary.BigEndian.Uint32(s[4:])
		d[2], d[3] = binary.BigEndian.Uint32(s[8:]), binary.BigEndian.Uint32(s[12:])
		i = 4
	}
	for ; i < len(dst); i++ {
		dst[i] = binary.BigEndian.Uint32(src[4*i:])
	}
}

// From64 fills dst with the big-endian numbers of src, which holds at least
// 8*len(dst) bytes.
func From64(dst []uint64, src []byte) {
	if invariant.Enabled {
		checkApart(at(dst), at(src), 8*len(dst))
	}
	if len(dst) >= vectorLeast {
		if !hasVectors() {
			LoopFrom64(dst, src)
			return
		}
		src = src[: 8*len(dst) : len(src)]
		if len(src) > wideAbove && hasWide() {
			wide64(at(dst), at(src), len(src))
			return
		}
		swap64(at(dst), at(src), len(src))
		return
	}
	i := 0
	if len(dst) >= 4 {
		d, s := (*[4]uint64)(dst), (*[32]byte)(src)
		d[0], d[1] = binary.BigEndian.Uint64(s[0:]), binary.BigEndian.Uint64(s[8:])
		d[2], d[3] = binary.BigEndian.Uint64(s[16:]), binary.BigEndian.Uint64(s[24:])
		i = 4
	}
	for ; i < len(dst); i++ {
		dst[i] = binary.BigEndian.Uint64(src[8*i:])
	}
}

// To16 writes src in big-endian order to dst, which has room for 2*len(src)
// bytes.
func To16(dst []byte, src []uint16) {
	if invariant.Enabled {
		checkApart(at(dst), at(src), 2*len(src))
	}
	if len(src) >= vectorLeast {
		if !hasVectors() {
			LoopTo16(dst, src)
			return
		}
		dst = dst[: 2*len(src) : len(dst)]
		if len(dst) > wideAbove && hasWide() {
			wide16(at(dst), at(src), len(dst))
			return
		}
		swap16(at(dst), at(src), len(dst))
		return
	}
	i := 0
	if len(src) >= 4 {
		d, s := (*[8]byte)(dst), (*[4]uint16)(src)
		binary.BigEndian.PutUint16(d[0:], s[0])
		binary.BigEndian.PutUint16(d[2:], s[1])
		binary.BigEndian.PutUint16(d[4:], s[2])
		binary.BigEndian.PutUint16(d[6:], s[3])
		i = 4
	}
	for ; i < len(src); i++ {
		binary.BigEndian.PutUint16(dst[2*i:], src[i])
	}
}

// To32 writes src in big-endian order to dst, which has room for 4*len(src)
// bytes.
func To32(dst []byte, src []uint32) {
	if invariant.Enabled {
		checkApart(at(dst), at(src), 4*len(src))
	}
	if len(src) >= vectorLeast {
		if !hasVectors() {
			LoopTo32(dst, src)
			return
		}
		dst = dst[: 4*len(src) : len(dst)]
		if len(dst) > wideAbove && hasWide() {
			wide32(at(dst), at(src), len(dst))
			return
		}
		swap32(at(dst), at(src), len(dst))
		return
	}
	i := 0
	if len(src) >= 4 {
		d, s := (*[16]byte)(dst), (*[4]uint32)(src)
		binary.BigEndian.PutUint32(d[0:], s[0])
		binary.BigEndian.PutUint32(d[4:], s[1])
		binary.BigEndian.PutUint32(d[8:], s[2])
		binary.BigEndian.PutUint32(d[12:], s[3])
		i = 4
	}
	for ; i < len(src); i++ {
		binary.BigEndian.PutUint32(dst[4*i:], src[i])
	}
}

// To64 writes src in big-endian order to dst, which has room for 8*len(src)
// bytes.
func To64(dst []byte, src []uint64) {
	if invariant.Enabled {
		checkApart(at(dst), at(src), 8*len(src))
	}
	if len(src) >= vectorLeast {
		if !hasVectors() {
			LoopTo64(dst, src)
			return
		}
		dst = dst[: 8*len(src) : len(dst)]
		if len(dst) > wideAbove && hasWide() {
			wide64(at(dst), at(src), len(dst))
			return
		}
		swap64(at(dst), at(src), len(dst))
		return
	}
	i := 0
	if len(src) >= 4 {
		d, s := (*[32]byte)(dst), (*[4]uint64)(src)
		binary.BigEndian.PutUint64(d[0:], s[0])
		binary.BigEndian.PutUint64(d[8:], s[1])
		binary.BigEndian.PutUint64(d[16:], s[2])
		binary.BigEndian.PutUint64(d[24:], s[3])
		i = 4
	}
	for ; i < len(src); i++ {
		binary.BigEndian.PutUint64(dst[8*i:], src[i])
	}
}

// at gives where the memory of s begins. Safety: nothing is read through it
// here; the callers pass the length that they have checked along with it.
func at[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// checkApart panics if two stretches of n bytes overlap without being the same.
// Safety: the addresses are compared only.
func checkApart(dst, src unsafe.Pointer, n int) {
	d, s := uintptr(dst), uintptr(src)
	invariant.Check(d == s || d+uintptr(n) <= s || s+uintptr(n) <= d, "codec: %d bytes at %#x are swapped onto a part of themselves at %#x", n, s, d)
}
