package mux

import (
	"sync/atomic"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A slot is the place of one call in flight. Its word holds the call's id and
// state, so that every way out of waiting is one compare-and-swap that cannot
// hit a later call in the same slot: answer, cancel, expiry and loss of the
// connection end a call exactly once.
//
//	free ──take──► waiting ──its answer──► filling ──decoded──► done ──own──► free
//	                 │  └──refused, or the connection lost──────►─┘
//	                 └──its caller leaves──► gone ──late answer──► done ──put──► free
//	                                           └──Caps.Final: at once─────────────►─┘
//
// A stream's slot is waiting as long as its call, filling never; the rest is in its
// stream. In state filling the slot is the reader's, in the others its caller's.
type slot struct {
	// Set when made, then constant.
	index uint32
	done  chan struct{} // capacity 1: one wake-up per call

	// Atomic: id<<8 | state.
	word atomic.Uint64

	// Owned by the caller from take to free; lent to whoever moves the word
	// from waiting to filling, until done is signalled.
	call   *rpc.Call
	stream *clientStream // nil: a call of one message
	err    error
	answer *wire.Event     // a large one, which the caller decodes itself
	next   chan<- struct{} // whom its caller wakes in turn; nil: nobody
	apart  bool            // its caller sends pieces, and may be late to wait
	back   *slot           // list of those given back

	// Guarded by the output lock.
	generation uint32
	held       int    // bytes of answer that the account was charged
	stake      stake  // in the block that it came in
	end        uint64 // position in the output just after the request
	size       uint64 // bytes of the request
}

type state uint64

const (
	free    state = iota
	waiting       // the caller waits
	filling       // the answer is being decoded into the call
	done          // the caller has been told, or is about to be
	gone          // the caller left; the slot waits for the late answer
)

// word packs both, so that one compare-and-swap sees a later call in the same slot.
func word(id uint64, s state) uint64 { return id<<8 | uint64(s) }

// An id is slot | generation<<16, 32 bits in all, since TTHeader carries no
// more. Generations start at 1, so an id is never 0.
const (
	indexBits  = 16
	indexMask  = 1<<indexBits - 1
	generation = 1<<16 - 1
)

// id names the call that the slot serves now.
func (s *slot) id() uint64 { return uint64(s.index) | uint64(s.generation)<<indexBits }

// sentAt tells whether the request was sent, if so many bytes were.
func (s *slot) sentAt(handed uint64) rpc.Sent {
	if s.end-s.size >= handed {
		return rpc.NotSent
	}
	return rpc.Maybe
}

// slots hands places out. Guarded by the output lock.
type slots struct {
	all  []*slot
	free []*slot
	back atomic.Pointer[slot] // list of those given back without the lock
}

// take gives a free slot for call, waiting under a new id; nil if as many are
// taken as an id can name.
func (t *slots) take(call *rpc.Call) *slot {
	var s *slot
	if len(t.free) == 0 {
		for s := t.back.Swap(nil); s != nil; s = s.back {
			t.free = append(t.free, s)
		}
	}
	if n := len(t.free); n > 0 {
		s = t.free[n-1]
		t.free = t.free[:n-1]
	} else if len(t.all) > indexMask {
		return nil
	} else {
		s = &slot{index: uint32(len(t.all)), done: make(chan struct{}, 1)}
		t.all = append(t.all, s)
	}
	s.generation = s.generation%generation + 1
	s.call, s.err = call, nil
	s.word.Store(word(s.id(), waiting))
	return s
}

// put gives a slot back that nobody waits for any more.
func (t *slots) put(s *slot) {
	s.word.Store(word(s.id(), free))
	s.call, s.stream, s.err, s.answer, s.apart = nil, nil, nil, nil, false
	t.free = append(t.free, s)
}

// giveBack is put without the lock.
func (t *slots) giveBack(s *slot) {
	s.word.Store(word(s.id(), free))
	s.call, s.err, s.answer, s.apart = nil, nil, nil, false
	for {
		s.back = t.back.Load()
		if t.back.CompareAndSwap(s.back, s) {
			return
		}
	}
}

// find gives the slot that id names, if there is one; its state tells whether
// id is still the one that it serves.
func (t *slots) find(id uint64) *slot {
	if i := id & indexMask; i < uint64(len(t.all)) {
		return t.all[i]
	}
	return nil
}

// A chain of callers whose answers came: each is woken by the one before it,
// as soon as that one runs. It does not survive its start.
type chain struct{ first, last *slot }

// add makes s the last link. Its caller may wake up at any time, but reads next only
// once it is signalled, which start begins.
func (k *chain) add(s *slot) {
	if k.last == nil {
		k.first = s
	} else {
		k.last.next = s.done
	}
	k.last = s
}

// start wakes the first; from then on the slots are their callers'.
func (k *chain) start() {
	if s := k.first; s != nil {
		k.first, k.last = nil, nil
		s.done <- struct{}{}
	}
}

// passOn wakes the next link of the chain that s, whose caller runs, is in.
func (s *slot) passOn() {
	if next := s.next; next != nil {
		s.next = nil
		next <- struct{}{}
	}
}
