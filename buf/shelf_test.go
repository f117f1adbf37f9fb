package buf

import (
	"runtime"
	"testing"
	"time"
)

// What was in use at once lately stays, whatever the collector does; what was not goes.
func TestShelfKeepsWhatWasNeeded(t *testing.T) {
	var s store
	put := func(n int) {
		for range n {
			s.put(shelved, &Block{mem: make([]byte, MinBlock<<shelved)})
		}
	}
	trim := func() int {
		n := s.shelves[0].trim()
		s.bytes.Add(-int64(n))
		return n / (MinBlock << shelved)
	}
	put(5)
	if n := trim(); n != 0 {
		t.Errorf("%d of blocks that had just come went", n)
	}
	for range 3 { // at most two at once
		a, b := s.take(shelved), s.take(shelved)
		if a == nil || b == nil || a == b {
			t.Fatalf("took %p and %p", a, b)
		}
		runtime.GC()
		s.put(shelved, a)
		s.put(shelved, b)
		if again := s.take(shelved); again != b {
			t.Error("not the block used last, which is the warmest")
		} else {
			s.put(shelved, again)
		}
	}
	if n := trim(); n != 3 {
		t.Errorf("%d went, 2 of 5 were needed", n)
	}
	if n := trim(); n != 2 {
		t.Errorf("%d went, of 2 that nobody needed", n)
	}
	if s.take(shelved) != nil || s.bytes.Load() != 0 {
		t.Errorf("something was left, %d bytes are counted", s.bytes.Load())
	}
}

// However many classes are used in turn, the shelves hold shelfBytes at most.
func TestShelvesAreBounded(t *testing.T) {
	var s store
	for c := shelved; c < classes; c++ {
		for range 4 {
			s.put(c, &Block{mem: make([]byte, 4<<20)})
		}
	}
	held := 0
	for c := shelved; c < classes; c++ {
		for b := s.take(c); b != nil; b = s.take(c) {
			held += len(b.mem)
		}
	}
	if held != shelfBytes || s.bytes.Load() != 0 {
		t.Errorf("%d bytes were held, want %d; %d are counted behind it", held, shelfBytes, s.bytes.Load())
	}
}

// The collector's runs trim the shelves of a process that does nothing else.
func TestCollectionsTrimShelves(t *testing.T) {
	var s store
	s.watch.Do(func() {}) // the test's own watch is below
	s.put(shelved, &Block{mem: make([]byte, MinBlock<<shelved)})
	for end := time.Now().Add(20 * time.Second); s.bytes.Load() > 0; runtime.GC() {
		s.trimLater(time.Now().Add(-shelfTime))
		if time.Now().After(end) {
			t.Fatal("the block is still there")
		}
		runtime.Gosched()
	}
}
