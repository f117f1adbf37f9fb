package raw

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// TestUvarint holds both ways to read a number against encoding/binary: with
// ten bytes there, and with fewer.
func TestUvarint(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	check := func(v uint64) {
		t.Helper()
		p := binary.AppendUvarint([]byte{7, 7, 7}, v)
		for _, b := range [][]byte{p[:len(p):len(p)], append(append([]byte{}, p...), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)} {
			if got, end, f := Uvarint(b, 3); got != v || end != len(p) || f != Fine {
				t.Fatalf("%x: %d, %d, %v; want %d", b, got, end, f, v)
			}
		}
		for i := 3; i < len(p); i++ {
			if _, end, f := Uvarint(p[:i:i], 3); end != i+1 || f != Short {
				t.Fatalf("%x: %d, %v", p[:i], end, f)
			}
		}
		if n := Unzigzag(v); Zigzag(n) != v {
			t.Fatalf("zigzag of %d is %d, not %d", n, Zigzag(n), v)
		}
	}
	for bits := range 65 {
		for range 100 {
			check(r.Uint64() >> (64 - bits)) // 0 for a shift by 64
		}
	}
	for _, v := range []uint64{0, 1, 127, 128, math.MaxUint32, math.MaxInt64, 1 << 63, math.MaxUint64} {
		check(v)
	}
	// What does not fit is dropped; an eleventh byte is one too many.
	long := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0}
	for _, n := range []int{10, 11} {
		if v, end, f := Uvarint(long[:n:n], 0); v != math.MaxUint64 || end != 10 || f != Fine {
			t.Errorf("%d bytes: %x, %d, %v", n, v, end, f)
		}
	}
	long[9] = 0x80
	for _, n := range []int{10, 11} {
		if _, end, f := Uvarint(long[:n:n], 0); end != 0 || f != longNumber {
			t.Errorf("%d bytes: %d, %v", n, end, f)
		}
	}
}
