package buf

import (
	"testing"
)

func TestIdleKeepsUnreadBytes(t *testing.T) {
	var in In
	defer in.Close()
	receive(&in, []byte("abc"))
	in.Idle()
	if string(in.Next(3)) != "abc" {
		t.Error("Idle dropped bytes")
	}
}

func TestIdleTrims(t *testing.T) {
	before := Live()
	var in In
	in.Expect(64 << 10)
	receive(&in, make([]byte, 64<<10))
	in.Skip(64<<10 - 3)
	in.Expect(1000)
	in.Idle()
	if len(in.b.mem) != MinBlock || in.Len() != 3 {
		t.Errorf("a sleeping connection holds %d bytes for %d", len(in.b.mem), in.Len())
	}
	b := in.b
	in.Idle()
	receive(&in, make([]byte, 1000))
	if in.b != b || in.Len() != 1003 {
		t.Error("moved again")
	}
	in.Close()
	if Live() != before {
		t.Errorf("%d blocks leaked", Live()-before)
	}
}

func TestInHeld(t *testing.T) {
	var in In
	held := func(when string, least, most int) {
		t.Helper()
		if n := in.Held(); n < least || n > most {
			t.Errorf("%s: %d bytes are held, want %d to %d", when, n, least, most)
		}
	}
	held("at first", 0, 0)
	receive(&in, make([]byte, 10))
	held("after 10 bytes", 10, MinBlock)
	in.Skip(10)
	in.Idle()
	held("asleep", 0, 0)
	// A frame of which little has come holds little while it waits for more.
	const announced = 2 << 20
	in.Expect(announced)
	receive(&in, make([]byte, 10))
	in.Idle()
	held("at the beginning of a frame", 10, MinBlock)
	// Later it holds what is there for it, which counts before it is received into.
	for sent := 10; sent < announced; sent *= 2 {
		ahead := in.Held()
		in.Space()
		if sent >= 8<<10 && ahead != len(in.b.mem) {
			t.Fatalf("a block of %d bytes for a frame of which %d have come; Held said %d", len(in.b.mem), sent, ahead)
		}
		in.Idle()
		held("within a frame", sent, max(MinBlock, stepFactor*sent))
		for left := sent; left > 0; {
			n := min(left, len(in.Space()))
			in.Filled(n)
			left -= n
		}
	}
	in.Idle()
	v := in.View(10)
	in.Close()
	held("closed", 0, 0)
	v.Release()
}

// A connection that sleeps on a few KB of a frame has no large block for them,
// whatever is expected: thousands of them could, and so little is not accounted for.
func TestInSleepsOnLittle(t *testing.T) {
	for have := 1; have < MinBlock; have += 300 {
		for _, frame := range []int{5 << 10, 20 << 10, 60 << 10, 1 << 20} {
			var in In
			for range 8 { // it has seen much traffic
				receive(&in, make([]byte, 64<<10))
				in.Skip(in.Len())
			}
			receive(&in, make([]byte, have))
			in.Expect(frame - have)
			in.Space() // as a receive that found nothing
			in.Idle()
			if n := in.Held(); n > 2*MinBlock || in.Len() != have {
				t.Errorf("%d bytes of a frame of %d sleep on %d", have, frame, n)
			}
			in.Close()
		}
	}
}

// Views of one turn lie in one block, and those of a later turn in another.
func TestInTurn(t *testing.T) {
	var in In
	seen := map[uint32]*Block{}
	for i := range 200 {
		switch i % 7 {
		case 2:
			in.Expect(3 * MinBlock << (i % 5))
		case 3:
			in.Idle()
		case 5:
			in.Give(ViewOf(make([]byte, 100)))
		}
		receive(&in, make([]byte, 1000+i))
		v := in.View(in.Len() / 2)
		if b := seen[in.Turn()]; b != nil && b != v.b {
			t.Fatalf("turn %d has two blocks", in.Turn())
		}
		seen[in.Turn()] = v.b
		defer v.Release()
	}
	blocks := map[*Block]bool{}
	for _, b := range seen {
		blocks[b] = true
	}
	if len(blocks) != len(seen) {
		t.Errorf("%d turns have %d blocks", len(seen), len(blocks))
	}
	in.Close()
}

// Behind a large frame little room is lent, since another one may come: what is
// received of it before its size is known is moved.
func TestInBeginsAnewBehindALargeFrame(t *testing.T) {
	for name, between := range map[string]func(*In){"at once": func(*In) {}, "after a pause": (*In).Idle} {
		var in In
		for range 4 * maxSize / MinBlock { // full of small ones
			receive(&in, make([]byte, len(in.Space())))
			in.Skip(in.Len())
		}
		if n := len(in.Space()); n != maxSize {
			t.Errorf("%s: %d bytes are lent among small frames", name, n)
		}
		receive(&in, make([]byte, 100))
		in.Expect(2 * exactFrom)
		receive(&in, make([]byte, 2*exactFrom))
		in.Skip(in.Len())
		between(&in)
		if n := len(in.Space()); n != MinBlock {
			t.Errorf("%s: %d bytes are lent behind a large frame", name, n)
		}
		in.Close()
	}
}
