package raw

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
)

const (
	marks = 0x8080808080808080 // of bytes behind which a number goes on
	// wide is how many bytes are looked at together at the least.
	wide = 8
)

// Count gives how many numbers end in b.
func Count(b []byte) int {
	n := 0
	for ; len(b) >= wide; b = b[wide:] {
		n += bits.OnesCount64(^binary.LittleEndian.Uint64(b) & marks)
	}
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n
}

// A Word is how numbers lie in a slice: int32, uint32 and enums are uint32 here, int64 and uint64
// are uint64.
type Word interface{ uint32 | uint64 }

// Numbers reads packed numbers into dst, which has as many as Count told for b. It gives len(b), or the
// offset of a number that is too long or cut off. A number of more bits than T has loses
// the upper ones.
func Numbers[T Word](dst []T, b []byte) (int, Fault) {
	i, o := 0, 0
	for i < len(dst) {
		if len(b)-o < MaxVarint {
			return numbersAtEnd(dst[i:], b, o)
		}
		p := (*[MaxVarint]byte)(b[o:])
		if w := binary.LittleEndian.Uint64(p[:]); w&marks == 0 && len(dst)-i >= wide {
			eight((*[wide]T)(dst[i:]), w)
			i += wide
			o += wide
			continue
		}
		v, n := uint64(p[0]), 1
		if v >= 0x80 {
			if v += uint64(p[1])<<7 - 1<<7; p[1] < 0x80 {
				n = 2
			} else if v, n = codec.UvarintOf(p); n == 0 || n == MaxVarint && p[MaxVarint-1] > 1 {
				return o, LongNumber
			}
		}
		dst[i] = T(v)
		i++
		o += n
	}
	if o < len(b) {
		return o, Short // a number that does not end, since all that end were counted
	}
	return o, Fine
}

// eight stores eight numbers of one byte each.
func eight[T Word](dst *[wide]T, w uint64) {
	dst[0], dst[1], dst[2], dst[3] = T(w&0xff), T(w>>8&0xff), T(w>>16&0xff), T(w>>24&0xff)
	dst[4], dst[5], dst[6], dst[7] = T(w>>32&0xff), T(w>>40&0xff), T(w>>48&0xff), T(w>>56)
}

// numbersAtEnd reads the numbers of b from o on one by one, with all checks: so near the end of b eight bytes at
// once could be beyond it.
func numbersAtEnd[T Word](dst []T, b []byte, o int) (int, Fault) {
	for i := range dst {
		v, end, f := Uvarint(b, o)
		if f != Fine {
			return end, f
		}
		dst[i], o = T(v), end
	}
	if o < len(b) {
		return o, Short
	}
	return o, Fine
}

// Unzigzags takes the sign of each number from its lowest bit.
func Unzigzags[T Word](s []T) {
	for i, v := range s {
		s[i] = v>>1 ^ -(v & 1)
	}
}

// PutNumbers writes numbers to dst, which has MaxVarint bytes for each, and gives how many bytes
// that took. It does not ask how long a number is but for very large ones, since
// no processor could foretell that.
func PutNumbers(dst []byte, s []uint64) int {
	o := 0
	for len(s) > 0 {
		if len(s) >= wide {
			p := (*[wide]uint64)(s)
			if p[0]|p[1]|p[2]|p[3]|p[4]|p[5]|p[6]|p[7] < 0x80 {
				w := p[0] | p[1]<<8 | p[2]<<16 | p[3]<<24 | p[4]<<32 | p[5]<<40 | p[6]<<48 | p[7]<<56
				binary.LittleEndian.PutUint64(dst[o:], w)
				o += wide
				s = s[wide:]
				continue
			}
		}
		k := min(len(s), wide)
		for _, v := range s[:k] {
			p := (*[MaxVarint]byte)(dst[o:])
			if v >= 1<<56 {
				o += PutLong(p, v)
				continue
			}
			word, n := Septets(v)
			binary.LittleEndian.PutUint64(p[:], word)
			o += n
		}
		s = s[k:]
	}
	return o
}

// SizeNumbers is how many bytes the numbers take.
func SizeNumbers(s []uint64) int {
	n := 0
	for _, v := range s {
		n += Size(v)
	}
	return n
}

// Widen makes what is written of uint32 numbers. dst is as long as src, as for all functions
// that make it.
func Widen(dst []uint64, src []uint32) {
	for i, v := range src {
		dst[i] = uint64(v)
	}
}

// WidenSigned makes what is written of int32 numbers: a negative one has ten bytes.
func WidenSigned(dst []uint64, src []uint32) {
	for i, v := range src {
		dst[i] = uint64(int64(int32(v)))
	}
}

// Zigzags32 makes what is written of sint32 numbers.
func Zigzags32(dst []uint64, src []uint32) {
	for i, v := range src {
		dst[i] = uint64(v<<1 ^ uint32(int32(v)>>31))
	}
}

// Zigzags64 makes what is written of sint64 numbers.
func Zigzags64(dst, src []uint64) {
	for i, v := range src {
		dst[i] = Zigzag(int64(v))
	}
}

// host tells whether numbers lie in memory as they do on the wire.
func host() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// From32 fills dst with the numbers of src, which holds at least 4*len(dst) bytes.
func From32(dst []uint32, src []byte) {
	if host() {
		copy(bytesOf(dst, 4), src)
		return
	}
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint32(src[4*i:])
	}
}

// From64 fills dst with the numbers of src, which holds at least 8*len(dst) bytes.
func From64(dst []uint64, src []byte) {
	if host() {
		copy(bytesOf(dst, 8), src)
		return
	}
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(src[8*i:])
	}
}

// To32 writes src to dst, which has room for 4*len(src) bytes.
func To32(dst []byte, src []uint32) {
	if host() {
		copy(dst, bytesOf(src, 4))
		return
	}
	for i, v := range src {
		binary.LittleEndian.PutUint32(dst[4*i:], v)
	}
}

// To64 writes src to dst, which has room for 8*len(src) bytes.
func To64(dst []byte, src []uint64) {
	if host() {
		copy(dst, bytesOf(src, 8))
		return
	}
	for i, v := range src {
		binary.LittleEndian.PutUint64(dst[8*i:], v)
	}
}

// bytesOf is the memory of s, whose elements have that size.
func bytesOf[T Word](s []T, size int) []byte {
	// Safety: s has len(s)*size bytes, without pointers.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*size)
}
