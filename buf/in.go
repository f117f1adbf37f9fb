package buf

import (
	"fmt"

	"github.com/limosa-rpc/limosa/internal/invariant"
)

const (
	// minRoom is the least room worth a system call of its own.
	minRoom = 1 << 10
	// exactFrom is the frame size, in bytes, from which a frame gets a block of
	// its own: what follows it is received elsewhere, so that who keeps a view of
	// it pins nothing else. Below, one more receive costs more: at 16 KB a sixth of a call.
	exactFrom = 64 << 10
	// firstStep is the memory that an announced frame gets at once; later it gets
	// up to stepFactor times what has arrived of it. So a frame of a megabyte,
	// whose first receive fills a block of maxSize, is moved once, with little in
	// it: moving whole ones was a sixth of what they cost.
	firstStep  = 256 << 10
	stepFactor = 32
	// maxSize bounds how far blocks grow with the traffic.
	maxSize = 64 << 10
	// shrinkEvery is the number of receives after which an In looks whether
	// smaller blocks would have done.
	shrinkEvery = 32
)

// An In holds what has arrived and was not taken yet. The zero value is ready
// and holds no memory.
//
// An In belongs to one goroutine at a time; only Views cross. What it lends
// (Peek, Next) is valid until the next Space, Idle or Close.
type In struct {
	b    *Block // nil while nothing was received
	r, w int    // unread bytes are b.mem[r:w]; room is b.mem[w:end]
	end  int    // len(b.mem), or less if exact
	want int    // bytes that the frame at hand still needs, as Expect told

	size  int32  // of the next ordinary block; 0 stands for MinBlock
	peak  int32  // largest receive of this period
	turn  uint32 // see Turn
	reads uint8  // receives of this period
	exact bool   // b is for one frame only, or for a step of it, up to end
}

// Turn is another number once the In has left its block: Views of one turn lie in
// one block, and those of a later turn in another. It wraps around.
func (in *In) Turn() uint32 { return in.turn }

// Len is the number of bytes that wait to be taken.
func (in *In) Len() int { return in.w - in.r }

// Held is how much memory the In keeps while its connection sleeps, in bytes:
// its whole block, however little of it waits to be taken, or the larger one that
// it goes on in for the frame at hand. Views count for themselves: a block that
// views refer to counts here as well until the In goes on in another one.
func (in *In) Held() int {
	if in.b == nil {
		return 0
	}
	n := len(in.b.mem)
	if in.want == 0 || in.roomy() {
		return n
	}
	if total, _ := in.next(); !in.little(total) {
		n = max(n, roundUp(total))
	}
	return n
}

// Peek borrows the next n bytes, contiguous, without taking them. It is nil if
// fewer have arrived.
func (in *In) Peek(n int) []byte {
	if n > in.w-in.r || n <= 0 {
		return nil
	}
	return in.b.mem[in.r : in.r+n : in.r+n]
}

// Next takes n bytes and borrows them to the caller until the next Space. It is
// nil, and takes nothing, if fewer have arrived.
func (in *In) Next(n int) []byte {
	p := in.Peek(n)
	in.r += len(p)
	return p
}

// Skip takes up to n bytes unseen and returns how many there were.
func (in *In) Skip(n int) int {
	n = max(0, min(n, in.w-in.r))
	in.r += n
	return n
}

// View takes n bytes and gives them as an owned View that outlives the In. It
// panics if fewer have arrived.
func (in *In) View(n int) View {
	if n < 0 || n > in.w-in.r {
		panic(fmt.Sprintf("buf: View of %d bytes, %d have arrived", n, in.w-in.r))
	}
	if n == 0 {
		return View{}
	}
	b := in.b
	v := View{p: &b.mem[in.r], n: uint32(n), gen: b.share(), b: b}
	in.r += n
	return v
}

// Expect tells that the frame at hand needs n more bytes than have arrived, so
// that the next Space makes room for all of it in one block. It is a hint, kept
// until n bytes have been received; a smaller n replaces it.
//
// A frame gets its memory in steps, as its bytes arrive: a peer that announces
// much and sends little costs little.
func (in *In) Expect(n int) { in.want = max(0, n) }

// Space borrows room to receive into; what of it was filled is told to Filled.
// It never moves or overwrites bytes that a View refers to.
func (in *In) Space() []byte {
	if b := in.b; b != nil {
		if in.exact && in.r == in.w {
			in.size = 0
		}
		if in.r == in.w && b.alone() {
			if !in.suits(len(b.mem)) {
				return in.spaceSlow()
			}
			in.r, in.w, in.end, in.exact = 0, 0, len(b.mem), false
		}
		if in.roomy() && !b.kept() {
			return b.mem[in.w:in.end:in.end]
		}
	}
	return in.spaceSlow()
}

// roomy reports whether the block at hand has the room that is wanted, or is for
// the frame at hand alone and not full.
func (in *In) roomy() bool {
	room := in.end - in.w
	return room >= max(in.want, minRoom) || in.exact && room > 0
}

// suits reports whether an empty block of n bytes is worth holding on to.
func (in *In) suits(n int) bool {
	return n >= int(in.size) && n <= 4*max(int(in.size), MinBlock)
}

// spaceSlow compacts, or goes on in a fresh block.
func (in *In) spaceSlow() []byte {
	left := in.w - in.r
	total, exact := in.next()
	if in.b != nil && in.b.alone() && total <= len(in.b.mem) && (exact || in.suits(len(in.b.mem))) {
		copy(in.b.mem, in.b.mem[in.r:in.w])
		in.r, in.w, in.end = 0, left, len(in.b.mem)
	} else {
		in.move(max(total, int(in.size)))
	}
	if in.exact = exact; exact {
		in.end = total
	}
	return in.b.mem[in.w:in.end:in.end]
}

// next is how large a block has to be that takes what waits, and what is
// expected or a step of it. exact: nothing else is to be received into it.
func (in *In) next() (total int, exact bool) {
	left := in.w - in.r
	exact = in.want > 0 && left+in.want >= exactFrom
	if exact {
		total = left + in.want
	} else {
		total = left + max(in.want, minRoom)
	}
	if left < total/stepFactor {
		total = min(total, max(firstStep, stepFactor*left))
	}
	return total, exact
}

// little reports whether too little has arrived to sleep on a block of n bytes: what
// fits into the smallest block is moved there, since nobody accounts for less.
func (in *In) little(n int) bool { return in.Len() < max(n/stepFactor, MinBlock) }

// Filled tells that the first n bytes of Space were received.
func (in *In) Filled(n int) {
	if n == 0 {
		return
	}
	if n < 0 || in.b == nil || n > in.end-in.w {
		panic(fmt.Sprintf("buf: Filled(%d) of %d bytes", n, in.end-in.w))
	}
	in.w += n
	in.want = max(0, in.want-n)
	in.adapt(n)
}

// adapt fits the size of the next blocks to the traffic.
func (in *In) adapt(n int) {
	if in.w == len(in.b.mem) && n >= len(in.b.mem)/2 && len(in.b.mem) >= int(in.size) && in.size < maxSize {
		// One receive filled the block: more was waiting, most likely.
		in.size = min(maxSize, max(MinBlock, in.size)*4)
		in.peak, in.reads = 0, 0
		return
	}
	in.peak = max(in.peak, int32(min(n, maxSize)))
	if in.reads++; in.reads == shrinkEvery {
		if in.peak <= in.size/8 {
			in.size /= 4
		}
		in.peak, in.reads = 0, 0
	}
}

// Give appends v's bytes, and takes v over: without copying if nothing waits to
// be taken, so that a transport whose messages arrive as blocks (shared memory,
// a pipe) lends them to the protocol where they are.
func (in *In) Give(v View) {
	if in.r == in.w && v.b != nil {
		if in.b != nil {
			in.drop()
		}
		in.b = v.b // with v's reference
		in.r = offset(v.b.mem, v.p)
		in.w = in.r + int(v.n)
		in.end, in.exact = in.w, true // what lies behind may be somebody else's
		in.want = max(0, in.want-int(v.n))
		return
	}
	for p := v.Bytes(); len(p) > 0; {
		n := copy(in.Space(), p)
		in.Filled(n)
		p = p[n:]
	}
	v.Release()
}

// Idle returns memory because the connection is about to sleep: the block, if
// nothing waits to be taken; most of it, if a large one holds little, though more
// be expected. What Next and Peek lent is no longer valid.
func (in *In) Idle() {
	if in.b == nil {
		return
	}
	if in.r == in.w {
		in.drop()
		return
	}
	keep := in.Len()
	if !in.little(len(in.b.mem)) {
		keep += in.want // in vain it would be moved twice
	}
	if roundUp(keep) <= len(in.b.mem)/4 {
		in.move(keep)
	}
}

// move goes on in a fresh block of at least n bytes, and takes along what waits.
func (in *In) move(n int) {
	nb := Acquire(n)
	left := 0
	if in.b != nil {
		left = copy(nb.mem, in.b.mem[in.r:in.w])
		in.b.Release()
	}
	in.b, in.r, in.w, in.end, in.exact = nb, 0, left, len(nb.mem), false
	in.turn++
}

// Close releases everything, unread bytes too. The In may be used again.
func (in *In) Close() {
	if in.b != nil {
		in.drop()
	}
	in.want = 0
}

// drop gives the block at hand up; Views keep it as long as they need it.
func (in *In) drop() {
	if in.exact {
		in.size = 0
	}
	in.b.Release()
	in.b, in.r, in.w, in.end, in.exact = nil, 0, 0, 0, false
	in.turn++
	if invariant.Enabled {
		invariant.Check(in.size <= maxSize, "buf: In grew to %d", in.size)
	}
}
