package codec

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestWindowCopiesWhatIsThere(t *testing.T) {
	msg := make([]byte, 20_000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range msg {
		msg[i] = byte(r.Uint32())
	}
	type piece struct {
		o int
		s string
	}
	var w Window
	var got []piece
	for o := 0; o < len(msg); {
		n := min(r.IntN(1<<r.IntN(12)), len(msg)-o)
		got = append(got, piece{o, w.String(msg, o, n)})
		if r.IntN(10) == 0 { // going back is allowed too
			back := r.IntN(o + 1)
			got = append(got, piece{back, w.String(msg, back, min(5, len(msg)-back))})
		}
		o += n + r.IntN(4)
	}
	want := bytes.Clone(msg)
	clear(msg) // the copies must not care
	for _, p := range got {
		if p.s != string(want[p.o:][:len(p.s)]) {
			t.Fatalf("%d bytes at %d differ", len(p.s), p.o)
		}
	}
}

func TestWindowIsShared(t *testing.T) {
	msg := bytes.Repeat([]byte("0123456789"), 500)
	if n := testing.AllocsPerRun(100, func() {
		var w Window
		for o := 0; o < WindowSize; o += 10 {
			w.String(msg, o, 8)
		}
	}); n != 1 {
		t.Errorf("%v allocations; want 1", n)
	}
	var w Window
	w.String(msg, 0, 5)
	for _, at := range []int{WindowSize - 100, 3000} { // across the window's end, and beyond it
		long := w.String(msg, at, Alone)
		// Safety: addresses are compared only.
		if d := uintptr(unsafe.Pointer(unsafe.StringData(long))) - uintptr(unsafe.Pointer(unsafe.StringData(w.text))); d < WindowSize {
			t.Errorf("a long string at %d shares the window", at)
		}
	}
}

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

func BenchmarkFrom64(b *testing.B) {
	src, dst := make([]byte, 8*4096), make([]uint64, 4096)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		From64(dst, src)
	}
}

func BenchmarkTo64(b *testing.B) {
	dst, src := make([]byte, 8*4096), make([]uint64, 4096)
	b.SetBytes(int64(len(dst)))
	for b.Loop() {
		To64(dst, src)
	}
}
