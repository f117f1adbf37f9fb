package buf

import (
	"fmt"
	"math"
	"unsafe"
)

// A View is an owned, read-only reference to contiguous bytes. It is a value of
// 24 bytes; copying it does not add a reference: of all copies exactly one is to
// be released. The zero View is empty.
//
// A View may cross goroutines. Its bytes never change while it is held.
type View struct {
	p   *byte
	n   uint32
	gen uint32
	b   *Block // nil: uncounted, the garbage collector's
}

// collectors is gen of an uncounted View. An Out has pieces without a block of
// their own too, which are not: they stand on another piece's reference.
const collectors = 1

// ViewOf makes an uncounted View of p, which the caller gives: nobody writes p
// any more. Release does nothing, LeaveToGC is true. It panics above 4 GB.
func ViewOf(p []byte) View {
	if len(p) == 0 {
		return View{}
	}
	if uint64(len(p)) > math.MaxUint32 {
		panic(fmt.Sprintf("buf: a View of %d bytes", len(p)))
	}
	return View{p: &p[0], n: uint32(len(p)), gen: collectors}
}

// Bytes borrows the bytes until Release. Do not append to them or write them.
func (v View) Bytes() []byte {
	// Safety: p points to n bytes that b, or the collector through p, keeps
	// alive; the capacity is cut, so that append copies.
	return unsafe.Slice(v.p, int(v.n))
}

// Len is the number of bytes.
func (v View) Len() int { return int(v.n) }

// Slice gives an owned View of the bytes i to j, with a reference of its own.
func (v View) Slice(i, j int) View {
	s := v.Bytes()[i:j]
	if len(s) == 0 {
		return View{}
	}
	v.p, v.n = &s[0], uint32(len(s))
	return v.Retain()
}

// Retain gives a second, owned View of the same bytes.
func (v View) Retain() View {
	if v.b != nil {
		v.b.retain(v.gen)
	}
	return v
}

// Release gives the reference up. v and what Bytes returned must not be used
// afterwards; a second Release of the last reference panics.
func (v View) Release() {
	if v.b != nil {
		v.b.release(v.gen)
	}
}

// LeaveToGC leaves the block behind v to the garbage collector, so that strings may
// alias v's bytes beyond its Release (which is due all the same). It returns
// false for memory that is not the collector's, shared memory for example: then
// the bytes have to be copied.
//
// Such a block lives as long as any string points into it, so leave a View only
// if it is a good part of its block: Footprint tells.
func (v View) LeaveToGC() bool { return v.b == nil || v.b.keep(v.gen) }

// Footprint is how many bytes of memory stay in use while v is held: all of its
// block, or its own if it has none.
func (v View) Footprint() int {
	if v.b == nil {
		return int(v.n)
	}
	return len(v.b.mem)
}
