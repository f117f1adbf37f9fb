package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/invariant"
)

// A direction is one of the six functions over plain bytes, and the loop that
// does the same: what they do with n elements from src to dst.
type direction struct {
	name       string
	size       int
	swap, loop func(dst, src []byte, n int)
}

// numbersAt looks at the memory of b as n numbers.
// Safety: b is as long as they are, and begins where such numbers may.
func numbersAt[T uint16 | uint32 | uint64](b []byte, n int) []T {
	var one T
	if need := n * int(unsafe.Sizeof(one)); len(b) < need {
		panic("codec: a test's buffer is too short")
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

var directions = []direction{
	{"From16", 2,
		func(dst, src []byte, n int) { From16(numbersAt[uint16](dst, n), src) },
		func(dst, src []byte, n int) { LoopFrom16(numbersAt[uint16](dst, n), src) }},
	{"From32", 4,
		func(dst, src []byte, n int) { From32(numbersAt[uint32](dst, n), src) },
		func(dst, src []byte, n int) { LoopFrom32(numbersAt[uint32](dst, n), src) }},
	{"From64", 8,
		func(dst, src []byte, n int) { From64(numbersAt[uint64](dst, n), src) },
		func(dst, src []byte, n int) { LoopFrom64(numbersAt[uint64](dst, n), src) }},
	{"To16", 2,
		func(dst, src []byte, n int) { To16(dst, numbersAt[uint16](src, n)) },
		func(dst, src []byte, n int) { LoopTo16(dst, numbersAt[uint16](src, n)) }},
	{"To32", 4,
		func(dst, src []byte, n int) { To32(dst, numbersAt[uint32](src, n)) },
		func(dst, src []byte, n int) { LoopTo32(dst, numbersAt[uint32](src, n)) }},
	{"To64", 8,
		func(dst, src []byte, n int) { To64(dst, numbersAt[uint64](src, n)) },
		func(dst, src []byte, n int) { LoopTo64(dst, numbersAt[uint64](src, n)) }},
}

// offsets gives where both sides begin if the message is to begin at at: numbers are aligned.
func (d direction) offsets(at int) (dst, src int) {
	if d.name[0] == 'F' {
		return 0, at
	}
	return at, 0
}

// What becomes of numbers is what encoding/binary makes of them, on a machine of
// either byte order.
func TestSwapAgainstEncodingBinary(t *testing.T) {
	for n := range 40 {
		v16, v32, v64 := make([]uint16, n), make([]uint32, n), make([]uint64, n)
		for i := range n {
			x := rand.Uint64()
			v16[i], v32[i], v64[i] = uint16(x), uint32(x), x
		}
		check := func(size int, v any, to func([]byte), from func([]byte) any) {
			t.Helper()
			want, err := binary.Append(nil, binary.BigEndian, v)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, size*n)
			to(got)
			if !bytes.Equal(got, want) {
				t.Fatalf("%d of %d bytes: %x; want %x", n, size, got, want)
			}
			back, err := binary.Append(nil, binary.BigEndian, from(got))
			if err != nil || !bytes.Equal(back, want) {
				t.Fatalf("%d of %d bytes came back as %x; want %x", n, size, back, want)
			}
		}
		check(2, v16, func(p []byte) { To16(p, v16) }, func(p []byte) any { d := make([]uint16, n); From16(d, p); return d })
		check(4, v32, func(p []byte) { To32(p, v32) }, func(p []byte) any { d := make([]uint32, n); From32(d, p); return d })
		check(8, v64, func(p []byte) { To64(p, v64) }, func(p []byte) any { d := make([]uint64, n); From64(d, p); return d })
	}
}

// Every length up to 300 elements, the message at every place of a cache line:
// the same bytes as by the loop, and none around them touched.
func TestSwapIsTheLoop(t *testing.T) {
	const lengths, places, margin = 300, 64, 64
	src, blank := randomBytes(8*lengths+places+margin, 1), bytes.Repeat([]byte{0xA5}, 8*lengths+places+2*margin)
	for _, d := range directions {
		t.Run(d.name, func(t *testing.T) {
			whole, want := bytes.Clone(blank), make([]byte, 8*lengths)
			places := places
			if testing.Short() {
				places = 9
			}
			for n := range lengths + 1 {
				for at := range places {
					to, from := d.offsets(at)
					size := n * d.size
					d.loop(want, src[from:], n)
					copy(whole, blank)
					got := whole[margin+to:]
					d.swap(got, src[from:], n)
					if i := firstOther(got[:size], want[:size]); i < size {
						t.Fatalf("%d elements at %d: byte %d is %x; want %x", n, at, i, got[i], want[i])
					}
					before, after := whole[:margin+to], got[size:]
					if !bytes.Equal(before, blank[:len(before)]) || !bytes.Equal(after, blank[:len(after)]) {
						t.Fatalf("%d elements at %d: bytes around them were written", n, at)
					}
				}
			}
		})
	}
}

// firstOther gives the place of the first byte that is not as wanted, len(want) if all are.
func firstOther(got, want []byte) int {
	for i, c := range want {
		if got[i] != c {
			return i
		}
	}
	return len(want)
}

func TestSwapInPlace(t *testing.T) {
	for _, d := range directions {
		for n := range 301 {
			for name, swap := range map[string]func(dst, src []byte, n int){"swap": d.swap, "loop": d.loop} {
				got := randomBytes(n*d.size, uint64(n))
				want := make([]byte, len(got))
				d.loop(want, got, n)
				swap(got, got, n)
				if i := firstOther(got, want); i < len(want) {
					t.Fatalf("%s, %s of %d elements: byte %d is %x; want %x", d.name, name, n, i, got[i], want[i])
				}
			}
		}
	}
}

// A message that is too short panics, whatever its capacity, and so does one
// that lies half on its numbers in a debugging build.
func TestSwapRefuses(t *testing.T) {
	panics := func(f func()) (did bool) {
		defer func() { did = recover() != nil }()
		f()
		return false
	}
	for _, d := range directions {
		for _, n := range []int{1, 4, 7, 8, 16, 100} {
			numbers, message := make([]byte, n*d.size), make([]byte, n*d.size)
			dst, src := numbers, message[:len(message)-1]
			if d.name[0] == 'T' {
				dst, src = src, dst
			}
			if !panics(func() { d.swap(dst, src, n) }) {
				t.Errorf("%s of %d: a message a byte too short is taken", d.name, n)
			}
			both := make([]byte, (n+1)*d.size)
			if got, want := panics(func() { d.swap(both, both[d.size:], n) }), invariant.Enabled && n > 1; got != want {
				t.Errorf("%s of %d: an overlap is refused: %v; want %v", d.name, n, got, want)
			}
		}
	}
}

// Nothing is allocated: lists lie where the caller has them, be it on the stack.
func TestSwapDoesNotAllocate(t *testing.T) {
	if invariant.Enabled {
		t.Skip("skipped: a debugging build's checks allocate")
	}
	numbers, message := [100]uint64{}, [800]byte{}
	if n := testing.AllocsPerRun(100, func() { From64(numbers[:], message[:]); To64(message[:], numbers[:]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzSwap holds the swaps to what the loops do, for any bytes at any two places.
func FuzzSwap(f *testing.F) {
	f.Add([]byte("12345678"), uint16(1), uint8(0), uint8(0))
	f.Add([]byte{0, 1, 0xFF, 0x80, 0x7F}, uint16(8), uint8(1), uint8(5))
	f.Add([]byte("\x00\x7f"), uint16(33), uint8(31), uint8(63))
	f.Add([]byte{1}, uint16(300), uint8(3), uint8(8))
	f.Fuzz(func(t *testing.T, pattern []byte, n uint16, numbersFrom, messageFrom uint8) {
		if len(pattern) == 0 {
			return
		}
		n %= 1200
		for _, d := range directions {
			to, from := int(numbersFrom)*d.size, int(messageFrom)
			if d.name[0] == 'T' {
				to, from = from, to
			}
			size := int(n) * d.size
			src := bytes.Repeat(pattern, (from+size)/len(pattern)+1)
			src = src[from:][:size]
			got, want := make([]byte, to+size), make([]byte, to+size)
			d.loop(want[to:], src, int(n))
			d.swap(got[to:], src, int(n))
			if i := firstOther(got, want); i < len(want) {
				t.Fatalf("%s, %d elements from %d to %d: byte %d is %x; want %x", d.name, n, from, to, i, got[i], want[i])
			}
		}
	})
}

func randomBytes(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 3))
	b := make([]byte, n+8)[:n] // from 8 bytes on memory is aligned for all numbers
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func BenchmarkSwap(b *testing.B) {
	for _, d := range directions {
		for _, n := range []int{4, 8, 16, 64, 1024, 131072} {
			for name, swap := range map[string]func(dst, src []byte, n int){"swap": d.swap, "loop": d.loop} {
				b.Run(fmt.Sprintf("%s/%d/%s", d.name, n, name), func(b *testing.B) {
					to, from := d.offsets(5)
					dst, src := make([]byte, n*d.size+8)[to:], randomBytes(n*d.size+8, 1)[from:]
					b.SetBytes(int64(n * d.size))
					for b.Loop() {
						swap(dst, src, n)
					}
				})
			}
		}
	}
}
