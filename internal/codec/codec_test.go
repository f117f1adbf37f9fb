package codec

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
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

// TestTextsCopyWhatIsThere reads strings of all lengths, by Take where it fits.
func TestTextsCopyWhatIsThere(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		msg := make([]byte, r.IntN(20_000))
		for i := range msg {
			msg[i] = byte(r.Uint32())
		}
		type piece struct {
			o int
			s string
		}
		var x Texts
		var got []piece
		take := func(o, n int) {
			if x.Fits(n, len(msg)-o) {
				got = append(got, piece{o, x.Take(HeadOf(msg[o:]), n)})
			} else {
				got = append(got, piece{o, x.Copy(msg, o, n)})
			}
			if len(got[len(got)-1].s) != n {
				t.Fatalf("seed %d: a string of %d bytes has %d", seed, n, len(got[len(got)-1].s))
			}
		}
		for o := 0; o < len(msg); {
			n := min(r.IntN(1<<r.IntN(12)), len(msg)-o)
			take(o, n)
			if r.IntN(10) == 0 { // going back is allowed too
				back := r.IntN(o + 1)
				take(back, min(r.IntN(50), len(msg)-back))
			}
			o += n + r.IntN(4)
		}
		want := bytes.Clone(msg)
		clear(msg) // the copies must not care
		for _, p := range got {
			if p.s != string(want[p.o:][:len(p.s)]) {
				t.Fatalf("seed %d: %d bytes at %d differ", seed, len(p.s), p.o)
			}
		}
	}
}

// TestTextsFit says for which strings Take may be asked.
func TestTextsFit(t *testing.T) {
	msg := make([]byte, 10_000)
	var x Texts
	if x.Fits(0, 100) || x.Fits(5, 100) {
		t.Error("a string fits where there is no chunk")
	}
	x.Copy(msg, 0, 5)
	for _, c := range []struct {
		n, left int
		fits    bool
	}{
		{0, 100, true}, {Short, Short, true}, {Short + 1, 100, false}, {5, Short - 1, false}, {-1, 100, false}, {math.MaxInt, 100, false},
	} {
		if got := x.Fits(c.n, c.left); got != c.fits {
			t.Errorf("Fits(%d, %d) is %v", c.n, c.left, got)
		}
	}
	for x.at+Short <= len(x.chunk) {
		x.Copy(msg, 0, 1)
	}
	if x.Fits(1, 100) {
		t.Errorf("Take may move %d bytes where %d are left", Short, len(x.chunk)-x.at)
	}
}

// TestTextsTakeLittleMemory holds the strings of a message against what they are
// allowed to take: one allocation for a chunk, and no more bytes than a third beyond what
// they have, whatever their lengths.
func TestTextsTakeLittleMemory(t *testing.T) {
	msg := bytes.Repeat([]byte("0123456789"), 500)
	if n := testing.AllocsPerRun(100, func() {
		var x Texts
		for o := range ChunkSize / 8 {
			x.Copy(msg, o, 8)
		}
	}); n != 1 {
		t.Errorf("%v allocations; want 1", n)
	}
	for n := 1; n < Long; n += 5 {
		var x Texts
		chunks, copied := 0, 0
		for copied < 100*ChunkSize {
			before := unsafe.SliceData(x.chunk)
			x.Copy(msg, 0, n)
			if unsafe.SliceData(x.chunk) != before {
				chunks++
			}
			copied += n
		}
		if took := (chunks - 1) * ChunkSize; took > copied*4/3+ChunkSize {
			t.Errorf("strings of %d bytes, %d in all, take %d", n, copied, took)
		}
	}
	var x Texts
	x.Copy(msg, 0, 5)
	for _, n := range []int{Long, Alone, len(msg)} {
		before := x.at
		if x.Copy(msg, 0, n); x.at != before {
			t.Errorf("a string of %d bytes shares a chunk", n)
		}
	}
	if s := x.Copy(msg, 5, 0); s != "" || unsafe.StringData(s) != nil && len(x.chunk) != 0 && unsafe.StringData(s) == unsafe.SliceData(x.chunk[x.at:]) {
		t.Error("an empty string refers to the chunk")
	}
}

// TestLongStringsReferToLargeFrames says which strings refer to their frame: none where
// the block is worth more to its next user than the copy.
func TestLongStringsReferToLargeFrames(t *testing.T) {
	for _, c := range []struct {
		frame, n int
		refers   bool
	}{
		{buf.MaxBlock, buf.MaxBlock, false},
		{buf.MaxBlock + 1, buf.MaxBlock, false},
		{buf.MaxPooled, buf.MaxPooled, false},
		{buf.MaxPooled + 8, buf.MaxPooled/8 + 1, true},
		{buf.MaxPooled + 8, buf.MaxPooled / 8, false},
		{buf.MaxPooled + 8, 100, false},
	} {
		b := buf.Acquire(c.frame)
		v := b.View(0, c.frame)
		b.Release()
		msg := v.Bytes()
		for name, text := range map[string]func() string{
			"Texts":  func() string { return (&Texts{Frame: NewFrame(v)}).Copy(msg, 0, c.n) },
			"Window": func() string { return (&Window{Frame: NewFrame(v)}).String(msg, 0, c.n) },
		} {
			if s := text(); len(s) != c.n || unsafe.StringData(s) == &msg[0] != c.refers {
				t.Errorf("%s: a string of %d bytes in a frame of %d: %d bytes, refers to it: %v", name, c.n, c.frame, len(s), !c.refers)
			}
		}
		v.Release()
	}
}
