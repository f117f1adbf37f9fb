package raw

import (
	"encoding/binary"
	"math/bits"

	"github.com/limosa-rpc/limosa/internal/codec"
)

// MaxVarint is how many bytes a number takes at the most.
const MaxVarint = 10

// Uvarint reads the number at b[o:].
func Uvarint(b []byte, o int) (v uint64, end int, f Fault) {
	if uint(o) < uint(len(b)) && b[o] < 0x80 {
		return uint64(b[o]), o + 1, Fine
	}
	return UvarintSlow(b, o)
}

// UvarintSlow is Uvarint for numbers of more than one byte.
func UvarintSlow(b []byte, o int) (v uint64, end int, f Fault) {
	if len(b)-o < MaxVarint {
		return uvarintAtEnd(b, o)
	}
	p := (*[MaxVarint]byte)(b[o:])
	v, n := codec.UvarintOf(p)
	if n == 0 || n == MaxVarint && p[MaxVarint-1] > 1 {
		return 0, o, LongNumber
	}
	return v, o + n, Fine
}

// uvarintAtEnd reads a number where fewer bytes are left than one may have.
func uvarintAtEnd(b []byte, o int) (v uint64, end int, f Fault) {
	for i, c := range b[min(o, len(b)):] {
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, o + i + 1, Fine
		}
	}
	return 0, o, Short
}

// Size is how many bytes v takes.
func Size(v uint64) int {
	// 9/64 is a little less than 1/7, and right for 0 to 64 bits.
	return int(9*uint32(bits.Len64(v))+64) / 64
}

// Append appends v.
func Append(b []byte, v uint64) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	return binary.AppendUvarint(b, v)
}

// Put writes v to p and gives how many bytes that took. It may write more than that. It does not
// ask how long v is but if that is very much, since no processor could foretell that.
func Put(p *[MaxVarint]byte, v uint64) int {
	if v >= 1<<56 {
		return PutLong(p, v)
	}
	word, n := Septets(v)
	binary.LittleEndian.PutUint64(p[:], word)
	return n
}

// Septets gives the bytes of v, which is less than 1<<56: n of them, the first one lowest. It is small enough to be
// inlined, which Put is not.
func Septets(v uint64) (word uint64, n int) {
	n = Size(v)
	return spread(v) | marks&(1<<(8*uint(n-1)&63)-1), n
}

// PutLong is Put for 1<<56 and more, which take nine and ten bytes.
func PutLong(p *[MaxVarint]byte, v uint64) int {
	binary.LittleEndian.PutUint64(p[:], spread(v)|marks)
	p[8] = byte(v >> 56)
	if v < 1<<63 {
		return 9
	}
	p[8] |= 0x80
	p[9] = 1
	return 10
}

// spread puts the lower 56 bits of v into the lower seven of each byte.
func spread(v uint64) uint64 {
	x := v&0x0fffffff | v<<4&0x0fffffff00000000
	x = x&0x00003fff00003fff | x<<2&0x3fff00003fff0000
	return x&0x007f007f007f007f | x<<1&0x7f007f007f007f00
}

// Zigzag puts the sign into the lowest bit.
func Zigzag(n int64) uint64 { return uint64(n<<1) ^ uint64(n>>63) }

// Unzigzag takes it from there.
func Unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
