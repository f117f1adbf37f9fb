package buf

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/internal/invariant"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func want(t *testing.T, o *Out, s string) {
	t.Helper()
	if got := string(o.Bytes()); got != s || o.Len() != len(s) {
		t.Fatalf("Out holds %d bytes %.60q; want %d bytes %.60q", o.Len(), got, len(s), s)
	}
}

func TestOutZeroValue(t *testing.T) {
	var o Out
	o.Sent(0)
	o.Reset()
	o.Commit(nil)
	o.RefString("")
	o.Append(nil)
	o.Move(View{})
	o.MoveFrom(new(Out))
	o.Truncate(o.Mark())
	o.Patch(o.Reserve(0), nil)
	if o.Len() != 0 || len(o.Iov(nil)) != 0 || o.Take(o.Mark()).Len() != 0 || o.cur != nil {
		t.Error("a zero Out is not empty")
	}
}

func TestOutPanicsOnMisuse(t *testing.T) {
	for name, f := range map[string]func(o *Out){
		"sent too much":       func(o *Out) { o.Sent(5) },
		"sent less than none": func(o *Out) { o.Sent(-1) },
		"reserve too much":    func(o *Out) { o.Reserve(65) },
		"patch beyond":        func(o *Out) { o.Patch(o.Reserve(2), []byte("abc")) },
		"patch what was sent": func(o *Out) { m := o.Reserve(2); o.Sent(6); o.Patch(m, []byte("a")) },
		"mark of sent bytes":  func(o *Out) { m := o.Reserve(2); o.Sent(6); o.Append([]byte("x")); o.Since(m) },
		"truncate too far":    func(o *Out) { m := o.Mark(); o.Truncate(Mark{}); o.Truncate(m) },
	} {
		var o Out
		o.AppendString("head")
		if panicOf(func() { f(&o) }) == "" {
			t.Errorf("%s: no panic", name)
		}
		o.Reset()
	}
}

func TestLentBlockIsGuarded(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("checked under the tag")
	}
	for name, f := range map[string]func(o *Out){
		"append":          func(o *Out) { o.Append([]byte("x")) },
		"block again":     func(o *Out) { o.Block() },
		"sent":            func(o *Out) { o.Sent(1) },
		"mark":            func(o *Out) { o.Mark() },
		"commit it twice": func(o *Out) { b := append(o.cur.mem[o.w:o.w], 'x'); o.Commit(b); o.Commit(b) },
	} {
		var o Out
		o.AppendString("head")
		o.Block()
		if panicOf(func() { f(&o) }) == "" {
			t.Errorf("%s while lent: no panic", name)
		}
		o.Reset()
	}
}

func TestBlockGrowsWithTheOut(t *testing.T) {
	var o Out
	defer o.Reset()
	b := o.Block()
	for _, room := range []int{4 << 10, 16 << 10, 64 << 10, 64 << 10} {
		if cap(b) != room {
			t.Fatalf("room is %d at %d bytes; want %d", cap(b), o.Len(), room)
		}
		b = o.Next(append(b, make([]byte, room)...))
	}
	o.Commit(b)
	if o.Len() != 148<<10 || len(o.Iov(nil)) != 4 {
		t.Errorf("%d bytes in %d pieces", o.Len(), len(o.Iov(nil)))
	}
	o.Sent(o.Len() - 1)
	o.Append(make([]byte, 64<<10-100))
	b = o.Block()
	if len(b) != 0 || cap(b) < minBlockRoom {
		t.Errorf("Block lends %d bytes, room for %d", len(b), cap(b))
	}
	o.Commit(b)
}

func TestOutgrownBlockIsRight(t *testing.T) {
	var o Out
	big := string(noise(newRand(4), 10<<10))
	o.AppendString("a")
	o.Commit(append(append(o.Block(), "b"...), big...))
	o.AppendString("c")
	want(t, &o, "ab"+big+"c")
	o.Reset()
}

func TestRefStringIsNotCopied(t *testing.T) {
	var o Out
	s := strings.Repeat("s", RefMin)
	o.Commit(append(o.Ref(append(o.Block(), "head"...), s), "tail"...))
	iov := o.Iov(nil)
	if len(iov) != 3 || len(iov[1]) != RefMin || string(iov[0]) != "head" || string(iov[2]) != "tail" {
		t.Fatalf("%d pieces", len(iov))
	}
	o.Patch(o.Mark(), nil)
	o.Reset()
}

func TestTruncateFreesRoomAndBlocks(t *testing.T) {
	before := Live()
	var o Out
	o.AppendString("keep")
	m := o.Mark()
	for range 5 { // head | ref | tail in the same block, then more blocks
		o.RefString(strings.Repeat("r", 9000))
		o.AppendString("between")
	}
	o.Append(make([]byte, 100<<10))
	b := append(o.Block(), "lost: the encoder failed here"...)
	_ = b
	o.Truncate(m)
	want(t, &o, "keep")
	o.AppendString(" on")
	want(t, &o, "keep on")
	if invariant.Enabled && Live()-before != 2 {
		// The first block, left long ago, and the one after it.
		t.Errorf("%d blocks live; want 2", Live()-before)
	}
	o.Truncate(Mark{})
	if o.cur != nil || Live() != before {
		t.Errorf("an emptied Out holds blocks: %d", Live()-before)
	}
}

func TestTruncateInTheSameBlockReusesIt(t *testing.T) {
	var o Out
	o.AppendString("keep")
	m := o.Mark()
	for range 10_000 {
		o.AppendString(strings.Repeat("x", 1000))
		o.Truncate(m)
	}
	if o.w != 4 || len(o.cur.mem) != MinBlock {
		t.Errorf("w is %d in a block of %d bytes", o.w, len(o.cur.mem))
	}
	o.Reset()
}

func TestTakeWithoutCopying(t *testing.T) {
	before := Live()
	var o Out
	o.AppendString("head")
	m := o.Mark()
	o.AppendString("taken")
	at := &o.cur.mem[4]
	v := o.Take(m)
	if v.p != at || string(v.Bytes()) != "taken" {
		t.Errorf("Take copied contiguous bytes, or lost them: %q", v.Bytes())
	}
	o.AppendString(" more")
	want(t, &o, "head more")
	if string(v.Bytes()) != "taken" {
		t.Error("appending overwrote what was taken")
	}
	// Back in, then out again, after its block was left.
	o.Move(v)
	o.Commit(o.Next(o.Block()))
	w := o.Take(Mark{4})
	if string(w.Bytes()) != " moretaken" {
		t.Errorf("took %q", w.Bytes())
	}
	w.Release()
	o.Reset()
	if Live() != before {
		t.Errorf("%d blocks leaked", Live()-before)
	}
}

func TestMoveForwardsWithoutCopying(t *testing.T) {
	before := Live()
	var in In
	receive(&in, bytes.Repeat([]byte("f"), 3000))
	v := in.View(3000)
	at := v.p
	var o, dst Out
	o.AppendString("head")
	o.Move(v)
	dst.AppendString("before")
	dst.MoveFrom(&o)
	in.Close()
	iov := dst.Iov(nil)
	if len(iov) != 3 || &iov[2][0] != at {
		t.Errorf("%d pieces; want the third to be the received block", len(iov))
	}
	want(t, &dst, "beforehead"+strings.Repeat("f", 3000))
	o.AppendString("src works on")
	want(t, &o, "src works on")
	o.Reset()
	dst.Sent(dst.Len())
	if Live() != before {
		t.Errorf("%d blocks leaked", Live()-before)
	}
}

func TestSentWhileAppending(t *testing.T) {
	// The flusher sends what Iov gave while others append.
	var o Out
	o.AppendString("first")
	iov := o.Iov(nil)
	o.AppendString("second")
	if string(iov[0]) != "first" {
		t.Errorf("piece became %q", iov[0])
	}
	m := o.Mark()
	o.Sent(3)
	o.AppendString("!")
	if o.Since(m) != 1 {
		t.Errorf("Since = %d after Sent", o.Since(m))
	}
	want(t, &o, "stsecond!")
	o.Reset()
}

func TestPiecesStayBounded(t *testing.T) {
	// An Out that is never empty must not keep entries of what was sent.
	var o Out
	s := strings.Repeat("s", RefMin)
	for range 10_000 {
		o.RefString(s)
		o.RefString(s)
		o.Sent(min(o.Len()-1, 2*RefMin))
	}
	if cap(o.pieces) > 64 {
		t.Errorf("%d entries for %d bytes", cap(o.pieces), o.Len())
	}
	for i, p := range o.pieces[len(o.pieces):cap(o.pieces)] {
		if p != (View{}) {
			t.Fatalf("entry %d behind the last pins what was sent", i)
		}
	}
	o.Reset()
}

// segment is a Source with one block of memory that is not the collector's.
type segment struct {
	t    *testing.T
	b    Block
	free bool
	gave int
}

func (s *segment) Block(n int) *Block {
	if !s.free || n > 2*MinBlock {
		return Acquire(n)
	}
	s.free, s.gave = false, s.gave+1
	s.b.Init(make([]byte, 2*MinBlock), func(*Block) { s.free = true })
	return &s.b
}

func TestOutDrawsFromItsSource(t *testing.T) {
	s := &segment{t: t, free: true}
	o := NewOut(s)
	for range 3 {
		o.AppendString("in the segment")
		if !inside(s.b.mem, o.pieces[0].p) {
			t.Fatal("not in the segment")
		}
		v := o.Take(Mark{o.base})
		if v.LeaveToGC() {
			t.Error("kept memory of a segment")
		}
		if s.free {
			t.Error("freed while a View is held")
		}
		o.AppendString("the segment is taken") // from the pools
		v.Release()
		o.Reset()
		if !s.free {
			t.Fatal("the block did not come back")
		}
	}
	if s.gave != 3 {
		t.Errorf("the source gave %d blocks; want 3", s.gave)
	}
}

func TestOutDoesNotAllocate(t *testing.T) {
	if raceEnabled || invariant.Enabled {
		t.Skip("this build allocates blocks")
	}
	frame := make([]byte, 1<<10)
	large := strings.Repeat("l", RefMin)
	var src Out
	for name, write := range map[string]func(o *Out){
		"append":  func(o *Out) { o.Append(frame) },
		"commit":  func(o *Out) { o.Commit(append(o.Block(), frame...)) },
		"ref":     func(o *Out) { o.Commit(o.Ref(append(o.Block(), frame...), large)) },
		"reserve": func(o *Out) { m := o.Reserve(4); o.Append(frame); o.Patch(m, frame[:4]) },
		"move":    func(o *Out) { src.Append(frame); o.MoveFrom(&src) },
		"take":    func(o *Out) { m := o.Mark(); o.Append(frame); o.Move(o.Take(m)) },
	} {
		var o Out
		iov := make([][]byte, 0, 64)
		if n := testing.AllocsPerRun(1000, func() {
			write(&o)
			iov = o.Iov(iov[:0])
			o.Sent(o.Len())
		}); n != 0 {
			t.Errorf("%s: %v allocations a frame", name, n)
		}
		o.Reset()
	}
}
