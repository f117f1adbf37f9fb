package buf

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/limosa-rpc/limosa/internal/invariant"
)

// panicOf is what f panics with, as text; "" if it does not.
func panicOf(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

// viewOf makes a counted View whose only reference it is.
func viewOf(p string) View {
	b := Acquire(len(p))
	copy(b.Mem(), p)
	v := b.View(0, len(p))
	b.Release()
	return v
}

func TestClasses(t *testing.T) {
	for _, c := range []struct{ n, want int }{
		{0, 4 << 10}, {1, 4 << 10}, {4 << 10, 4 << 10}, {4<<10 + 1, 8 << 10}, {64 << 10, 64 << 10},
		{1<<20 - 1, 1 << 20}, {1 << 20, 1 << 20}, {1<<20 + 1, 9 << 17}, {9 << 17, 9 << 17}, {9<<17 + 1, 10 << 17},
		{2 << 20, 2 << 20}, {2<<20 + 1, 9 << 18}, {5 << 20, 5 << 20}, {5<<20 + 1, 11 << 19}, {8 << 20, 8 << 20}, {8<<20 + 1, 8<<20 + 1},
	} {
		b := Acquire(c.n)
		if len(b.Mem()) != c.want {
			t.Errorf("Acquire(%d) has %d bytes; want %d", c.n, len(b.Mem()), c.want)
		}
		b.Release()
	}
}

// TestEachClassIsOne holds class and roundUp against each other: what is rounded up
// stays in its class, the next byte is in the next one.
func TestEachClassIsOne(t *testing.T) {
	for c, n := 0, 1; n <= MaxPooled; c++ {
		size := roundUp(n)
		if class(n) != c || class(size) != c || size < n {
			t.Fatalf("%d bytes are of class %d, their %d bytes of %d; want %d", n, class(n), size, class(size), c)
		}
		if size > MaxBlock && size-n > size/8 {
			t.Errorf("%d bytes become %d", n, size)
		}
		if n = size + 1; n > MaxPooled && c != classes-1 {
			t.Errorf("the last class is %d of %d", c, classes)
		}
	}
}

// TestLargeBlocksServeAgain: what is larger than MaxBlock goes back to a pool too, but
// not if a string refers to it, nor above MaxPooled.
func TestLargeBlocksServeAgain(t *testing.T) {
	if raceEnabled || invariant.Enabled {
		t.Skip("blocks of these builds do not serve again at once")
	}
	for c := shelved; c < classes; c++ {
		for shelves.take(c) != nil {
			continue // what other tests have left there may leave no room
		}
	}
	for _, c := range []struct {
		n     int
		keep  bool
		again bool
	}{
		{MaxBlock + 1, false, true}, {MaxPooled, false, true}, {MaxBlock + 1, true, false}, {MaxPooled + 1, false, false},
	} {
		again := false
		for range 20 { // the goroutine may have moved in between, or the collector been there
			b := Acquire(c.n)
			mem := &b.Mem()[0]
			v := b.View(0, c.n)
			if c.keep {
				v.LeaveToGC()
			}
			b.Release()
			v.Release()
			b = Acquire(c.n)
			again = again || mem == &b.Mem()[0]
			b.Release()
		}
		if again != c.again {
			t.Errorf("a block of %d bytes, kept: %v, served again: %v", c.n, c.keep, again)
		}
	}
}

func TestMisusePanics(t *testing.T) {
	for name, c := range map[string]struct {
		misuse func(v View)
		want   string
	}{
		"release twice":        {func(v View) { v.Release() }, "released twice"},
		"retain after release": {func(v View) { v.Retain() }, "retained after its release"},
		"slice after release":  {func(v View) { v.Slice(0, 0).Release(); v.b.retain(v.gen) }, "retained after its release"},
		"keep after release":   {func(v View) { v.LeaveToGC() }, "kept after its release"},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf("hello")
			v.Release()
			check := func() {
				t.Helper()
				got := panicOf(func() { c.misuse(v) })
				if !strings.Contains(got, "buf: block of 4096 bytes "+c.want) {
					t.Errorf("panic is %q; want %q", got, c.want)
				}
				if invariant.Enabled && (!strings.Contains(got, "acquired at\n") || !strings.Contains(got, "buf.viewOf")) {
					t.Errorf("panic does not show the stacks:\n%s", got)
				}
			}
			check()
			// The same once the block serves others. They must not notice.
			var others []View
			for range 100 {
				others = append(others, viewOf("other"))
			}
			check()
			for _, o := range others {
				if string(o.Bytes()) != "other" {
					t.Fatal("misuse reached another user's block")
				}
				o.Release()
			}
		})
	}
}

func TestMisuseOfOthersReferenceIsFound(t *testing.T) {
	v := viewOf("hello")
	second := v.Retain()
	v.Release()
	second.Release()
	if got := panicOf(v.Release); !strings.Contains(got, "released twice") {
		t.Errorf("third release of two: %q", got)
	}
}

func TestViewSharesAndSlices(t *testing.T) {
	before := Live()
	v := viewOf("hello, world")
	s := v.Slice(7, 12)
	empty := v.Slice(3, 3)
	r := v.Retain()
	v.Release()
	r.Release()
	if string(s.Bytes()) != "world" || s.Len() != 5 || cap(s.Bytes()) != 5 {
		t.Errorf("slice is %q, cap %d", s.Bytes(), cap(s.Bytes()))
	}
	s.Release()
	empty.Release()
	empty.Release() // the empty View has nothing to release
	if Live() != before {
		t.Errorf("%d blocks live", Live()-before)
	}
	if got := panicOf(func() { ViewOf([]byte("abc")).Slice(1, 4) }); got == "" {
		t.Error("Slice beyond the View did not panic")
	}
}

func TestUncountedViews(t *testing.T) {
	var zero View
	if zero.Len() != 0 || len(zero.Bytes()) != 0 || !zero.LeaveToGC() {
		t.Error("the zero View is not empty")
	}
	zero.Retain().Release()
	v := ViewOf([]byte("abc"))
	v.Release()
	v.Release()
	if string(v.Bytes()) != "abc" || !v.LeaveToGC() || v.Footprint() != 3 {
		t.Errorf("uncounted View: %q", v.Bytes())
	}
}

func TestKeptBlocksNeverServeAgain(t *testing.T) {
	before := Live()
	v := viewOf("kept")
	if first, again := v.LeaveToGC(), v.LeaveToGC(); !first || !again {
		t.Fatal("a block of the pools cannot be kept")
	}
	if v.Footprint() != MinBlock {
		t.Errorf("Footprint = %d", v.Footprint())
	}
	alias := v.Bytes()
	v.Release()
	if Live() != before {
		t.Errorf("a kept and released block counts as live")
	}
	// Enough traffic to reuse whatever is in the pools, or in quarantine.
	for range 2 * 300 {
		b := Acquire(MinBlock)
		if &b.Mem()[0] == &alias[0] {
			t.Fatal("a kept block was given out again")
		}
		clear(b.Mem())
		b.Release()
	}
	if string(alias) != "kept" {
		t.Errorf("kept bytes became %q", alias)
	}
	if got := panicOf(v.Release); !strings.Contains(got, "released twice") {
		t.Errorf("double release of a kept block: %q", got)
	}
}

func TestForeignBlocks(t *testing.T) {
	mem := make([]byte, 100)
	var back []*Block
	var b Block
	for round := range 3 {
		b.Init(mem, func(b *Block) { back = append(back, b) })
		if got := panicOf(func() { b.Init(mem, nil) }); !strings.Contains(got, "1 references") {
			t.Errorf("Init of a block in use: %q", got)
		}
		v := b.View(10, 20)
		if v.LeaveToGC() {
			t.Error("foreign memory was kept")
		}
		b.Release()
		if len(back) != round {
			t.Fatal("freed while a View was held")
		}
		v.Release()
		if len(back) != round+1 || back[round] != &b {
			t.Fatal("not given back with the last reference")
		}
		if got := panicOf(v.Release); !strings.Contains(got, "released twice") {
			t.Errorf("double release: %q", got)
		}
	}
}

// TestViewsCross releases Views on other goroutines while their In goes on.
func TestViewsCross(t *testing.T) {
	before := Live()
	const consumers, frames, size = 4, 2000, 700
	ch := make(chan View, 16)
	var wg sync.WaitGroup
	for range consumers {
		wg.Go(func() {
			for v := range ch {
				want := bytes.Repeat(v.Bytes()[:1], size)
				half := v.Slice(size/2, size)
				if !bytes.Equal(v.Bytes(), want) {
					t.Errorf("frame is mixed up")
				}
				v.Release()
				if !bytes.Equal(half.Bytes(), want[size/2:]) {
					t.Errorf("half a frame is mixed up")
				}
				half.Release()
			}
		})
	}
	var in In
	for i := range frames {
		for in.Len() < size {
			in.Expect(size - in.Len())
			space := in.Space()
			n := min(size-in.Len(), len(space))
			for j := range n {
				space[j] = byte(i)
			}
			in.Filled(n)
		}
		ch <- in.View(size)
	}
	close(ch)
	wg.Wait()
	in.Close()
	if n := Live() - before; n != 0 {
		t.Errorf("%d blocks leaked", n)
	}
}
