package mux

import "github.com/limosa-rpc/limosa/buf"

// A block is one that the connection has received into, as its account sees it.
// However few of its bytes are held, all of its memory is. So once something else
// is received into, what nobody has a stake in is charged as well, until the last
// stake is given up. Before that it is the memory in which the next bytes arrive.
//
// What a handler or a caller keeps of a message beyond its call is its own.
//
// Guarded by the output lock.
type block struct {
	turn   uint32 // buf.In's
	size   int    // of its memory, bytes
	stakes int
	staked int  // bytes, which are charged for what holds them
	left   bool // something else is received into
	waste  int  // what is charged besides
}

// settle fits waste to what has changed, and returns by how much it did.
func (b *block) settle() (d int) {
	before := b.waste
	if b.waste = 0; b.left && b.stakes > 0 {
		b.waste = max(0, b.size-b.staked)
	}
	return b.waste - before
}

// A stake is what one request, answer or stream holds of a block, in bytes. The
// zero stake is in none.
type stake struct {
	of    *block
	bytes int
}

// turnLocked is called with each batch, before anything of it is held. The caller
// holds the read role.
func (a *Account) turnLocked() {
	switch b := a.block; {
	case b == nil || b.turn == a.turn:
	case b.stakes == 0:
		a.block, a.spare = nil, b
	default:
		a.block, b.left = nil, true
		a.wasteLocked(b)
	}
}

// wasteLocked counts what of a block is held though nobody needs it; the lock is held.
func (a *Account) wasteLocked(b *block) {
	if d := b.settle(); d != 0 {
		a.wasted += d
		a.changeLocked(d)
	}
}

// stakeLocked gives a stake for v, which is of the batch at hand and is charged.
// There is none in memory that holds nothing else.
func (a *Account) stakeLocked(v buf.View) (s stake) {
	n, size := v.Len(), v.Footprint()
	if size == n {
		return s
	}
	b := a.block
	if b == nil {
		if b, a.spare = a.spare, nil; b == nil {
			b = new(block)
		}
		*b = block{turn: a.turn, size: size}
		a.block = b
	}
	b.stakes++
	b.staked += n
	return stake{b, n}
}

// addLocked is stakeLocked for one more of those whose stakes are in list.
func (a *Account) addLocked(list []stake, v buf.View) []stake {
	s, n := a.stakeLocked(v), len(list)
	switch {
	case s.of == nil:
	case n > 0 && list[n-1].of == s.of:
		s.of.stakes--
		list[n-1].bytes += s.bytes
	default:
		list = append(list, s)
	}
	return list
}

// unstakeLocked gives a stake up, if s is one.
func (a *Account) unstakeLocked(s *stake) {
	b := s.of
	if b == nil {
		return
	}
	b.stakes--
	b.staked -= s.bytes
	*s = stake{}
	if b.left {
		a.wasteLocked(b)
		if b.stakes == 0 {
			a.spare = b
		}
	}
}
