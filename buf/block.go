package buf

import (
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/invariant"
)

const (
	// MinBlock and MaxBlock are the smallest and the largest of the ordinary size
	// classes, in bytes, which are the powers of two between them.
	MinBlock = 4 << 10
	MaxBlock = 1 << 20
	// MaxPooled is the largest size class of all. Above MaxBlock there are eight
	// classes up to each power of two, so that no block is larger than asked for by
	// more than an eighth.
	MaxPooled = 8 << 20

	minShift, maxShift = 12, 20
	ordinary           = maxShift - minShift + 1 // 4 KB, 8 KB, … 1 MB
	classes            = ordinary + 3*8          // 1.125 MB, 1.25 MB, … 2 MB, 2.25 MB, … 8 MB
	shelved            = 4                       // the first class that has a shelf instead of a pool: 64 KB
)

// The word of a Block: generation in the upper half, then the kept bit, then
// the number of references. The generation is part of every View, so that a
// View that outlived its block is told apart even when the block serves
// somebody else by now.
const (
	refMask  = 1<<31 - 1
	keptBit  = 1 << 31
	genShift = 32
)

// A Block is counted memory: it returns to where it came from with its last
// reference. Blocks are held by In, Out and View; only a Source deals with them
// directly.
//
// References may be taken and given up from any goroutine. The bytes belong to
// whoever fills the block until they are published through Views; from then on
// they are read-only.
type Block struct {
	// Set when the block is made or taken from its pool, then constant.
	mem  []byte
	free func(*Block) // not nil: memory of a Source, which gets the block back

	// Atomic.
	word atomic.Uint64

	trace *trace // debugging builds only: who took and released it
}

// A Source is where an Out draws its blocks, for example a segment of shared
// memory. A nil Source stands for the pools.
type Source interface {
	// Block gives a block of at least n bytes with one reference, which the
	// caller owns. A Source that has run out of memory answers with Acquire(n).
	// Several Outs may ask at once.
	Block(n int) *Block
}

// pools has one pool for each class of small blocks, shelves one shelf for each class
// of large ones. Both hold no more than what was in use at once a moment ago.
var (
	pools   [shelved]sync.Pool
	shelves store
)

// Acquire gives a block of at least n bytes from the pools, with one reference
// that the caller owns. The memory is not cleared. Above MaxPooled the block has
// exactly n bytes and is left to the garbage collector in the end.
func Acquire(n int) *Block {
	if invariant.Enabled {
		return traceAcquire(roundUp(n))
	}
	var b *Block
	switch c := class(n); {
	case n > MaxPooled:
	case c < shelved:
		b, _ = pools[c].Get().(*Block)
	default:
		b = shelves.take(c)
	}
	if b == nil {
		b = fresh(roundUp(n))
	}
	b.word.Store((b.word.Load()>>genShift+1)<<genShift | 1)
	return b
}

// fresh makes a block of exactly n bytes.
//
//go:noinline
func fresh(n int) *Block {
	if n >= MinBlock<<shelved {
		return &Block{mem: uncleared(n)}
	}
	return &Block{mem: make([]byte, n)}
}

// uncleared gives n bytes that were not set to zero. A Builder grows so, which
// make cannot be asked for; at more than MaxBlock it is a tenth of a receive.
func uncleared(n int) []byte {
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0)
	// Safety: the builder's memory, which nobody else has, holds n bytes and more; the
	// builder is not used again, so that nothing takes it for a string.
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}

// Init makes b a block over memory that is not the garbage collector's: mem is
// given to b until free is called with it, which happens once, on the goroutine
// that gives up the last reference. b has one reference then, which the caller
// owns. Views of such a block cannot be kept. Init panics if b is still
// referred to; after free has been called it may be used again.
func (b *Block) Init(mem []byte, free func(*Block)) {
	w := b.word.Load()
	if w&refMask != 0 {
		panic(fmt.Sprintf("buf: Init of a block with %d references", w&refMask))
	}
	b.mem, b.free = mem[:len(mem):len(mem)], free
	b.word.Store((w>>genShift+1)<<genShift | 1)
}

// Mem borrows all of b's memory, for as long as the caller holds a reference.
func (b *Block) Mem() []byte { return b.mem }

// View gives an owned View of b's bytes i to j, with a reference of its own.
// The caller holds a reference, and nobody writes these bytes any more.
func (b *Block) View(i, j int) View {
	p := b.mem[i:j]
	if len(p) == 0 {
		return View{}
	}
	return View{p: &p[0], n: uint32(len(p)), gen: b.share(), b: b}
}

// Release gives up the reference that Acquire, Init or Source.Block gave.
func (b *Block) Release() { b.release(b.gen()) }

// gen is the generation: which of the block's lives this is.
func (b *Block) gen() uint32 { return uint32(b.word.Load() >> genShift) }

// alone reports that the caller's reference is the only one, that no string
// aliases the block, and that it is not a Source's (a peer may have it mapped
// read-only): its memory may be written anew.
func (b *Block) alone() bool { return b.word.Load()&(refMask|keptBit) == 1 && b.free == nil }

// kept reports whether strings alias the block, which is then left to the collector.
func (b *Block) kept() bool { return b.word.Load()&keptBit != 0 }

// share adds a reference for who holds one, and returns the generation.
func (b *Block) share() (gen uint32) {
	for {
		w := b.word.Load()
		if w&refMask == 0 {
			b.misuse("retained after its release")
		}
		if b.word.CompareAndSwap(w, w+1) {
			return uint32(w >> genShift)
		}
	}
}

// retain adds a reference to generation gen, and returns gen.
func (b *Block) retain(gen uint32) uint32 {
	for {
		w := b.word.Load()
		if uint32(w>>genShift) != gen || w&refMask == 0 {
			b.misuse("retained after its release")
		}
		if b.word.CompareAndSwap(w, w+1) {
			return gen
		}
	}
}

// release gives up one reference to generation gen. A blind decrement would be
// a little cheaper but would have robbed the next user of the block by the time
// that a double release is found.
func (b *Block) release(gen uint32) {
	for {
		w := b.word.Load()
		if uint32(w>>genShift) != gen || w&refMask == 0 {
			b.misuse("released twice")
		}
		if b.word.CompareAndSwap(w, w-1) {
			if w&refMask == 1 {
				b.recycle(w&keptBit != 0)
			}
			return
		}
	}
}

// recycle runs once, after the last reference: the block goes back to where it came from.
func (b *Block) recycle(kept bool) {
	switch {
	case b.free != nil:
		b.free(b)
	case invariant.Enabled:
		traceRelease(b, kept)
	case kept || len(b.mem) > MaxPooled:
		// The garbage collector's.
	default:
		if c := class(len(b.mem)); c < shelved {
			pools[c].Put(b)
		} else {
			shelves.put(c, b)
		}
	}
}

// keep leaves the block to the garbage collector, if it is the collector's.
func (b *Block) keep(gen uint32) bool {
	if b.free != nil {
		return false
	}
	for {
		w := b.word.Load()
		if uint32(w>>genShift) != gen || w&refMask == 0 {
			b.misuse("kept after its release")
		}
		if w&keptBit != 0 || b.word.CompareAndSwap(w, w|keptBit) {
			return true
		}
	}
}

// misuse panics; it stands apart so that its callers stay small.
//
//go:noinline
func (b *Block) misuse(what string) {
	panic(fmt.Sprintf("buf: block of %d bytes %s%s", len(b.mem), what, b.trace))
}

// class is the index of the smallest class of at least n bytes, n <= MaxPooled.
func class(n int) int {
	if n <= MinBlock {
		return 0
	}
	above := bits.Len(uint(n - 1)) // n is at most 1<<above, and more than half of that
	if above <= maxShift {
		return above - minShift
	}
	eighth := uint(n-1)>>(above-4) - 8
	return ordinary + (above-1-maxShift)*8 + int(eighth)
}

// roundUp is the size of the block that Acquire(n) gives.
func roundUp(n int) int {
	switch {
	case n > MaxPooled:
		return n
	case n > MaxBlock:
		step := 1 << (bits.Len(uint(n-1)) - 4)
		return (n + step - 1) &^ (step - 1)
	}
	return MinBlock << class(n)
}
