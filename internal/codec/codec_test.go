package codec

import (
	"bytes"
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
