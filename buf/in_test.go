package buf

import (
	"bytes"
	"testing"

	"github.com/limosa-rpc/limosa/internal/invariant"
)

// receive fills in with p as a socket would that has all of p waiting, and
// returns how many receives that took.
func receive(in *In, p []byte) (n int) {
	for ; len(p) > 0; n++ {
		k := copy(in.Space(), p)
		in.Filled(k)
		p = p[k:]
	}
	return n
}

func TestInZeroValue(t *testing.T) {
	var in In
	in.Idle()
	in.Close()
	if in.Len() != 0 || in.Peek(1) != nil || in.Next(1) != nil || in.Skip(9) != 0 || in.View(0).Len() != 0 || in.Peek(0) != nil {
		t.Error("a zero In is not empty")
	}
	for name, f := range map[string]func(in *In){
		"View":                      func(in *In) { in.View(1) },
		"View of less than nothing": func(in *In) { in.View(-1) },
		"Filled without Space":      func(in *In) { in.Filled(1) },
		"Filled beyond":             func(in *In) { in.Filled(len(in.Space()) + 1) },
	} {
		var in In
		if panicOf(func() { f(&in) }) == "" {
			t.Errorf("%s did not panic", name)
		}
		in.Close()
	}
	if in.Skip(-1) != 0 || in.Next(-1) != nil {
		t.Error("negative lengths take something")
	}
	in.Close()
}

func TestInStartsSmallGrowsAndShrinks(t *testing.T) {
	var in In
	defer in.Close()
	if n := len(in.Space()); n != MinBlock {
		t.Fatalf("first Space has %d bytes; want %d", n, MinBlock)
	}
	for _, want := range []int{4 << 10, 16 << 10, 64 << 10, 64 << 10} {
		n := len(in.Space())
		if n != want {
			t.Fatalf("Space has %d bytes; want %d", n, want)
		}
		in.Filled(n)
		in.Skip(n)
	}
	for range 3 * shrinkEvery {
		in.Space()
		in.Filled(100)
		in.Skip(100)
		in.Idle()
		if in.b != nil {
			t.Fatal("an idle In holds a block")
		}
	}
	if n := len(in.Space()); n != MinBlock {
		t.Errorf("after small traffic Space has %d bytes; want %d", n, MinBlock)
	}
}

func TestInShrinksWithoutIdle(t *testing.T) {
	var in In
	defer in.Close()
	receive(&in, make([]byte, 200<<10))
	in.Skip(200 << 10)
	for range 3 * shrinkEvery {
		in.Space()
		in.Filled(100)
		in.Skip(100)
	}
	if n := len(in.Space()); n > 16<<10 {
		t.Errorf("a busy In with small frames holds %d bytes", n)
	}
}

// A frame a little above a class of blocks, such as a message of 1 MB with its
// header, is not received into a block that is too small by those bytes.
func TestLargeFramesAreMovedWhileSmall(t *testing.T) {
	var in In
	defer in.Close()
	frame := noise(newRand(3), MaxBlock+200)
	receive(&in, frame[:64<<10])
	in.Expect(len(frame) - 64<<10)
	if n := receive(&in, frame[64<<10:]); n != 1 {
		t.Errorf("the rest took %d receives; want 1", n)
	}
	// Little that was announced costs little.
	var idle In
	defer idle.Close()
	receive(&idle, frame[:12])
	idle.Expect(16 << 20)
	if n := len(idle.Space()); n > firstStep {
		t.Errorf("12 bytes of a frame took %d bytes of memory", n)
	}
}

func TestExpectReadsExactly(t *testing.T) {
	for _, c := range []struct{ frame, receives int }{
		{exactFrom, 1}, {100_000, 1}, {firstStep, 1}, {MaxBlock, 2}, {3 << 20, 2}, {16 << 20, 3},
	} {
		before := Live()
		var in In
		head := noise(newRand(1), 12)
		body := noise(newRand(2), c.frame-len(head))
		receive(&in, head)
		in.Expect(len(body))
		if n := receive(&in, body); n != c.receives {
			t.Errorf("frame of %d bytes took %d receives; want %d", c.frame, n, c.receives)
		}
		if got := in.Peek(c.frame); !bytes.Equal(got[:12], head) || !bytes.Equal(got[12:], body) {
			t.Fatalf("frame of %d bytes differs", c.frame)
		}
		v := in.View(c.frame)
		// The frame is alone in its block: what follows goes elsewhere.
		receive(&in, []byte("next"))
		if next := in.View(4); next.b == v.b {
			t.Errorf("frame of %d bytes shares its block", c.frame)
			next.Release()
		} else {
			next.Release()
		}
		v.Release()
		in.Close()
		if Live() != before {
			t.Errorf("%d blocks leaked", Live()-before)
		}
	}
}

func TestExpectDoesNotTrustThePeer(t *testing.T) {
	var in In
	defer in.Close()
	receive(&in, []byte("head"))
	in.Expect(1 << 30)
	in.Space()
	if n := len(in.b.mem); n > MaxBlock {
		t.Errorf("4 bytes received, %d bytes of memory taken", n)
	}
}

func TestExpectSmallFrameStaysInItsBlock(t *testing.T) {
	var in In
	defer in.Close()
	receive(&in, make([]byte, 100))
	b := in.b
	in.Expect(900)
	receive(&in, make([]byte, 900))
	if in.b != b {
		t.Error("a frame that fits was moved to another block")
	}
}

func TestSpaceCompactsOnlyWhatNobodyHolds(t *testing.T) {
	before := Live()
	var in In
	p := noise(newRand(3), MinBlock)
	receive(&in, p)
	v := in.View(1000)
	in.Skip(MinBlock - 1000 - 5)
	b := in.b
	in.Space()
	if in.b == b {
		t.Fatal("compacted a block that a View refers to")
	}
	if !bytes.Equal(in.Peek(5), p[MinBlock-5:]) || !bytes.Equal(v.Bytes(), p[:1000]) {
		t.Fatal("bytes differ after moving on")
	}
	v.Release()
	// Nobody holds this one: it is compacted in place.
	receive(&in, make([]byte, len(in.Space())))
	in.Skip(in.Len() - 7)
	b = in.b
	in.size = 0 // the receive above filled the block; the size is not the point here
	in.Space()
	if in.b != b || in.r != 0 || in.Len() != 7 {
		t.Error("took a fresh block though nobody held the old one")
	}
	in.Close()
	if Live() != before {
		t.Errorf("%d blocks leaked", Live()-before)
	}
}

func TestGiveLendsWithoutCopying(t *testing.T) {
	before := Live()
	// As large as a block of In's own would be, which Space would reuse.
	mem := append([]byte("..one frame, read-only to us.."), make([]byte, MinBlock)...)
	freed := 0
	var b Block
	b.Init(mem, func(*Block) { freed++ })
	var in In
	receive(&in, []byte("x"))
	in.Next(1)
	in.Give(b.View(2, 28))
	b.Release()
	if p := in.Next(9); string(p) != "one frame" || &p[0] != &mem[2] {
		t.Errorf("Next gives %q, a copy or not the bytes", p)
	}
	v := in.View(2)
	if in.Skip(100) != 15 {
		t.Error("more or less than was given")
	}
	space := in.Space()
	if inside(mem, &space[0]) {
		t.Fatal("Space lends memory that was given")
	}
	copy(space, "own")
	in.Filled(3)
	in.Give(ViewOf([]byte(" and given")))
	if got := string(in.Next(in.Len())); got != "own and given" {
		t.Errorf("In holds %q", got)
	}
	if freed != 0 || string(v.Bytes()) != ", " {
		t.Error("freed while a View is held")
	}
	v.Release()
	if freed != 1 || string(mem[:30]) != "..one frame, read-only to us.." {
		t.Errorf("freed %d times, memory is %q", freed, mem)
	}
	// Nor is it written when nobody else refers to it any more.
	b.Init(mem, func(*Block) { freed++ })
	in.Next(in.Len())
	in.Give(b.View(0, MinBlock/2))
	b.Release()
	in.Skip(in.Len())
	if space := in.Space(); inside(mem, &space[0]) || freed != 2 {
		t.Errorf("Space lends memory that was given; freed %d times", freed)
	}
	in.Close()
	if Live() != before {
		t.Errorf("%d blocks leaked", Live()-before)
	}
}

func TestKeptBlockIsLeftAlone(t *testing.T) {
	var in In
	defer in.Close()
	receive(&in, []byte("hello"))
	v := in.View(5)
	v.LeaveToGC()
	alias := v.Bytes()
	v.Release()
	receive(&in, bytes.Repeat([]byte("x"), 100))
	if got := in.View(100); got.b == v.b {
		t.Error("went on in a kept block: strings would pin later frames")
	} else {
		got.Release()
	}
	if string(alias) != "hello" {
		t.Errorf("kept bytes became %q", alias)
	}
}

func TestInDoesNotAllocate(t *testing.T) {
	if raceEnabled || invariant.Enabled {
		t.Skip("this build allocates blocks")
	}
	for name, step := range map[string]func(in *In){
		"next": func(in *In) { in.Next(1 << 10) },
		"view": func(in *In) { in.View(1 << 10).Release() },
		"idle": func(in *In) { in.Skip(1 << 10); in.Idle() },
	} {
		var in In
		if n := testing.AllocsPerRun(1000, func() {
			in.Space()
			in.Filled(1 << 10)
			step(&in)
		}); n != 0 {
			t.Errorf("%s: %v allocations a frame", name, n)
		}
		in.Close()
	}
}
