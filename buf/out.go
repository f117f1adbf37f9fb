package buf

import (
	"fmt"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/invariant"
)

const (
	// RefMin is the length, in bytes, from which strings are sent by reference.
	// Below it a piece of its own costs writev more than the copy.
	RefMin = 8 << 10

	// minBlockRoom is what Block offers at least.
	minBlockRoom = 512
	// copyMax is the length up to which moved bytes are copied instead, when
	// they fit: one piece less for the kernel to walk.
	copyMax = 512
	// maxPieces is how many pieces Iov gives at most.
	maxPieces = 64
	// maxReserve is the largest Reserve.
	maxReserve = 64
	// sparePieces is how many entries an empty Out holds on to.
	sparePieces = 64
)

// An Out holds what is to be sent, as a list of pieces: parts of its blocks,
// strings by reference, moved Views. The zero value is ready, draws from the
// pools and holds no memory; so does an Out whose bytes have all been Sent.
//
// An Out belongs to one goroutine at a time: to the holder of a connection's
// output lock, or to one encoder. What Block lends goes back by Commit, Next or
// Ref before any other method is called.
type Out struct {
	src Source // nil: the pools

	// The current block and how much of it was committed. Out holds one
	// reference to each of its blocks. While a block is current, that is the
	// reference; afterwards the last piece in the block carries it.
	cur *Block
	w   int

	pieces []View // pieces[head:] are held; those without a block are in cur, share the reference of a later piece, or are the collector's
	head   int
	n      int    // bytes in pieces[head:]
	base   uint64 // bytes that were ever Sent: the position of the first held byte

	lent bool // debugging builds only: between Block and Commit
}

// A Mark is a position in an Out: the number of bytes that were ever appended
// before it.
type Mark struct{ pos uint64 }

// NewOut makes an Out that draws its blocks from src; nil stands for the pools.
func NewOut(src Source) *Out { return &Out{src: src} }

// Len is the number of bytes held.
func (o *Out) Len() int { return o.n }

// Block lends the room of the current block: a slice of length 0 whose capacity
// is the room, at least 512 bytes. The caller appends to it and hands it back
// by Commit, Next or Ref.
func (o *Out) Block() []byte {
	if invariant.Enabled {
		o.check()
		o.lent = true
	}
	if o.cur == nil || len(o.cur.mem)-o.w < minBlockRoom {
		o.grow(minBlockRoom)
	}
	return o.cur.mem[o.w:o.w]
}

// Commit takes b back, which came from Block, Next or Ref. If append outgrew
// the block, b is memory of its own: it is given to o then and becomes a piece,
// which is slower but right.
func (o *Out) Commit(b []byte) {
	o.lent = false
	if len(b) == 0 {
		return
	}
	if o.cur == nil || o.w == len(o.cur.mem) || &b[0] != &o.cur.mem[o.w] {
		if invariant.Enabled {
			invariant.Check(o.cur == nil || !inside(o.cur.mem, &b[0]), "buf: Commit of bytes that were committed before")
		}
		o.push(ViewOf(b))
		return
	}
	if p := o.before(&b[0]); p != nil { // as extend does, without a call
		p.n += uint32(len(b))
		o.w += len(b)
		o.n += len(b)
		return
	}
	o.extend(len(b))
}

// Next commits b and lends the room of a fresh block, 4 KB first and growing
// with o: 16 KB, 64 KB.
func (o *Out) Next(b []byte) []byte {
	o.Commit(b)
	o.grow(MinBlock)
	if invariant.Enabled {
		o.lent = true
	}
	return o.cur.mem[:0]
}

// Ref commits b, appends s by reference, and lends a Block.
func (o *Out) Ref(b []byte, s string) []byte {
	o.Commit(b)
	o.RefString(s)
	return o.Block()
}

// RefString appends s without copying it. From RefMin on that is the cheaper
// way; shorter strings are better appended.
func (o *Out) RefString(s string) {
	if len(s) == 0 {
		return
	}
	// Safety: the bytes of a string are only ever read: pieces are handed to
	// writev or copied, and Patch writes only what Reserve appended.
	o.push(ViewOf(unsafe.Slice(unsafe.StringData(s), len(s))))
}

// Append copies p, which is borrowed for the call.
func (o *Out) Append(p []byte) {
	if invariant.Enabled {
		o.check()
	}
	for len(p) > 0 {
		if o.cur == nil || o.w == len(o.cur.mem) {
			o.grow(min(len(p), maxSize))
		}
		n := copy(o.cur.mem[o.w:], p)
		o.extend(n)
		p = p[n:]
	}
}

// AppendString copies s.
func (o *Out) AppendString(s string) {
	// Safety: Append only reads what it is lent.
	o.Append(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// Move takes v over and forwards its bytes without copying (or with, where that
// is cheaper). v must not be used afterwards.
func (o *Out) Move(v View) {
	if v.n <= copyMax && o.cur != nil && len(o.cur.mem)-o.w >= int(v.n) {
		o.Append(v.Bytes())
		v.Release()
		return
	}
	o.push(v)
}

// MoveFrom takes all bytes of src over without copying them (or with, where
// that is cheaper). src is empty afterwards, its Marks are void.
func (o *Out) MoveFrom(src *Out) {
	if invariant.Enabled {
		o.check()
		src.check()
	}
	if src.n <= copyMax && o.cur != nil && len(o.cur.mem)-o.w >= src.n {
		for _, p := range src.pieces[src.head:] {
			o.Append(p.Bytes())
		}
		src.Reset()
		return
	}
	src.leave()
	o.makeRoom(len(src.pieces) - src.head)
	o.pieces = append(o.pieces, src.pieces[src.head:]...)
	o.n += src.n
	clear(src.pieces[src.head:])
	src.base += uint64(src.n)
	src.n = 0
	src.emptied()
}

// MovePart takes the first n bytes of src over, without copying what has a
// reference of its own or is the collector's. It panics if src holds fewer.
func (o *Out) MovePart(src *Out, n int) {
	if invariant.Enabled {
		o.check()
		src.check()
	}
	src.leave()
	for n > 0 && src.n > 0 {
		p := &src.pieces[src.head]
		k := min(int(p.n), n)
		switch {
		case k <= copyMax, p.b == nil && p.gen != collectors:
			o.Append(p.Bytes()[:k])
		case p.b == nil:
			o.push(View{p: p.p, n: uint32(k), gen: collectors})
		default:
			o.push(p.Slice(0, k))
		}
		src.Sent(k)
		n -= k
	}
	if n > 0 {
		panic(fmt.Sprintf("buf: MovePart of %d bytes more than there are", n))
	}
}

// Iov appends the pieces to iov, in order: as many as iov has capacity for, and
// at most 64; into an iov without capacity, 64. They stay o's, valid until
// they are Sent or taken back; appending to o meanwhile is allowed.
func (o *Out) Iov(iov [][]byte) [][]byte {
	room := maxPieces
	if c := cap(iov) - len(iov); c > 0 {
		room = min(room, c)
	}
	for _, p := range o.pieces[o.head:min(o.head+room, len(o.pieces))] {
		iov = append(iov, p.Bytes())
	}
	return iov
}

// Sent drops the first n bytes and releases the blocks that they leave empty.
// It panics if fewer are held.
func (o *Out) Sent(n int) {
	if n < 0 || n > o.n {
		panic(fmt.Sprintf("buf: Sent(%d) of %d bytes", n, o.n))
	}
	if invariant.Enabled {
		o.check()
	}
	o.n -= n
	o.base += uint64(n)
	for n > 0 {
		p := &o.pieces[o.head]
		if n < int(p.n) {
			*p = p.from(n)
			return
		}
		n -= int(p.n)
		p.Release()
		*p = View{}
		o.head++
	}
	if o.n == 0 {
		o.emptied()
	}
}

// Reset drops everything held and releases the blocks. o may be used again; its
// Marks are void.
func (o *Out) Reset() {
	o.lent = false
	o.Sent(o.n)
}

// Bytes is a copy of all held bytes, for tests and tools.
func (o *Out) Bytes() []byte {
	all := make([]byte, 0, o.n)
	for _, p := range o.pieces[o.head:] {
		all = append(all, p.Bytes()...)
	}
	return all
}

// extend takes the next n bytes of the current block in: into the last piece if
// that ends there.
func (o *Out) extend(n int) {
	at := &o.cur.mem[o.w]
	if p := o.before(at); p != nil {
		p.n += uint32(n)
		o.w += n
		o.n += n
		return
	}
	o.w += n
	o.push(View{p: at, n: uint32(n)})
}

// before is the last piece if it ends at p, where the room of the current block begins, and goes with that block; else nil.
func (o *Out) before(p *byte) *View {
	if i := len(o.pieces) - 1; i >= o.head && o.w > 0 {
		// Safety: addresses are compared only. The byte before p is the block's, so what ends at p lies in the block.
		if v := &o.pieces[i]; v.b == nil && uintptr(unsafe.Pointer(v.p))+uintptr(v.n) == uintptr(unsafe.Pointer(p)) {
			return v
		}
	}
	return nil
}

// push appends a piece, which is given.
func (o *Out) push(v View) {
	if invariant.Enabled {
		o.check()
	}
	if v.n == 0 {
		return
	}
	o.makeRoom(1)
	o.pieces = append(o.pieces, v)
	o.n += int(v.n)
}

// makeRoom moves the held entries down if n more would not fit and at least
// half of the list is gone: a list that is never empty must not grow for ever.
func (o *Out) makeRoom(n int) {
	if len(o.pieces)+n <= cap(o.pieces) || o.head == 0 || o.head < len(o.pieces)/2 {
		return
	}
	k := copy(o.pieces, o.pieces[o.head:])
	clear(o.pieces[k:])
	o.pieces, o.head = o.pieces[:k], 0
}

// grow leaves the current block for a fresh one of at least n bytes.
func (o *Out) grow(n int) {
	o.leave()
	switch {
	case o.n >= 4*MinBlock:
		n = max(n, maxSize)
	case o.n >= MinBlock:
		n = max(n, 4*MinBlock)
	}
	if o.src != nil {
		o.cur = o.src.Block(n)
	} else {
		o.cur = Acquire(n)
	}
	o.w = 0
}

// leave gives the reference to the current block to the last piece in it, or
// up if there is none.
func (o *Out) leave() {
	b := o.cur
	if b == nil {
		return
	}
	o.cur, o.w = nil, 0
	o.handDown(View{p: &b.mem[0], gen: b.gen(), b: b}, len(o.pieces))
}

// handDown gives v's reference to the last piece before index end that lies in
// v's block and has no reference of its own, or up if there is none.
func (o *Out) handDown(v View, end int) {
	for i := end - 1; i >= o.head; i-- {
		p := &o.pieces[i]
		if p.b == nil && inside(v.b.mem, p.p) {
			p.b, p.gen = v.b, v.gen
			return
		}
	}
	v.Release()
}

// emptied tidies up when nothing is held: an idle connection holds no block.
func (o *Out) emptied() {
	if o.cur != nil {
		o.cur.Release()
		o.cur, o.w = nil, 0
	}
	o.head = 0
	if cap(o.pieces) > sparePieces {
		o.pieces = nil
	} else {
		o.pieces = o.pieces[:0]
	}
}

// check finds uses of an Out whose block is in an encoder's hands, in builds with invariants.
func (o *Out) check() {
	invariant.Check(!o.lent, "buf: Out used while its Block is lent")
}

// from is v without its first n bytes, n < v.n; the reference goes along.
func (v View) from(n int) View {
	s := v.Bytes()[n:]
	v.p, v.n = &s[0], uint32(len(s))
	return v
}

// inside reports whether p points into mem.
func inside(mem []byte, p *byte) bool { return uint(offset(mem, p)) < uint(len(mem)) }

// offset is p's distance from mem's first byte; it means something only if p
// points into mem.
func offset(mem []byte, p *byte) int {
	// Safety: addresses are compared only, never turned back into pointers.
	return int(uintptr(unsafe.Pointer(p)) - uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
}
