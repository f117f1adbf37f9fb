package rpc

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// Hints are what engines have learned of a method while they ran it: how large its
// messages are, what its handler costs, how often it fails. They only choose between
// ways that are all right, such as whether a message is encoded under a lock. A Hints is
// a pointer and costs nothing; all methods may be called concurrently.
//
// Like [Engine] it is no part of what a user sees of a [Method].
type Hints struct{ m *Method }

// HintsOf gives the engine's view of m.
func HintsOf(m *Method) Hints { return Hints{m} }

// hints is what a Method holds of them.
type hints struct {
	requests, responses sizes
	decoded             sizes        // of requests
	cost                atomic.Int64 // ns
	failures            failures
	failsAs             *Method // in whose stead failures are counted; nil: its own
}

// largeBytes is the size from which a message is better encoded outside of
// the connection's lock, where it holds no other call up.
const largeBytes = 4 << 10

// smallInRow is how many small messages of a method must follow a large one
// until the next is expected to be small: of small and large ones in turn each
// large one would be met unprepared.
const smallInRow = 16

// LargeRequest reports whether requests were large lately.
func (h Hints) LargeRequest() bool { return h.m.hints.requests.large.Load() > 0 }

// LargeResponse reports whether responses were large lately.
func (h Hints) LargeResponse() bool { return h.m.hints.responses.large.Load() > 0 }

// RequestBytes is about what the largest request of the last seconds weighed, at the
// most; 0 if they were small. Where few are made it is remembered for longer.
func (h Hints) RequestBytes() int { return h.m.hints.requests.expected() }

// ResponseBytes is RequestBytes of the responses.
func (h Hints) ResponseBytes() int { return h.m.hints.responses.expected() }

// Answered reports whether the size of any response is known.
func (h Hints) Answered() bool { return h.m.hints.responses.most.Load() != unseen }

// DecodedBytes is RequestBytes of what requests take once they are decoded,
// besides their text and binary.
func (h Hints) DecodedBytes() int { return h.m.hints.decoded.expected() }

// NoteDecoded notes what a request takes once it is decoded. large: that is more
// than what any call costs.
func (h Hints) NoteDecoded(n int) (large bool) {
	h.m.hints.decoded.note(n)
	return n >= largeBytes
}

// NoteRequest notes the size of a request.
func (h Hints) NoteRequest(n int) { h.m.hints.requests.note(n) }

// NoteResponse notes the size of a response, 0 for an error.
func (h Hints) NoteResponse(n int) { h.m.hints.responses.note(n) }

// Cost is what the handler took lately, a moving average; 0 until it is known.
func (h Hints) Cost() time.Duration { return time.Duration(h.m.hints.cost.Load()) }

// NoteCost notes what one run of the handler took. Of two at the same time one
// may be lost.
func (h Hints) NoteCost(d time.Duration) {
	have := h.m.hints.cost.Load()
	if have == 0 {
		have = int64(d)
	}
	h.m.hints.cost.Store(max(1, have+(int64(d)-have)/8))
}

// LogFailure counts a failure of the method that is to be logged, which a caller may
// bring about as often as it likes: at most ten a second are. left is how many were
// not since the last that was.
func (h Hints) LogFailure(now time.Time) (log bool, left int) {
	m := h.m
	if m.hints.failsAs != nil {
		m = m.hints.failsAs
	}
	return m.hints.failures.next(now)
}

// FailsAs has failures of the method be logged as sparsely as if they were those of other. It is
// for methods that are made for one call: of such there are as many as callers like.
func (h Hints) FailsAs(other *Method) { h.m.hints.failsAs = other }

// failuresLogged is how many failures of a method are logged a second.
const failuresLogged = 10

// failures bounds what is logged of them.
type failures struct {
	mu struct {
		sync.Mutex
		began  time.Time // of the second at hand
		logged int       // in it
		left   int       // not logged since the last that was
	}
}

// next counts a failure at now, and tells whether it is to be logged and how many were not since the last.
func (f *failures) next(now time.Time) (log bool, left int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.mu.began) >= time.Second {
		f.mu.began, f.mu.logged = now, 0
	}
	if f.mu.logged == failuresLogged {
		f.mu.left++
		return false, 0
	}
	f.mu.logged++
	left, f.mu.left = f.mu.left, 0
	return true, left
}

// sizes are hints of what a method's messages of one direction weigh. All is
// atomic; nothing is written where all are small, or all of about one size, so that
// the line stays shared between cores.
type sizes struct {
	large atomic.Int32 // how many small ones more make the next one expected to be small
	most  atomic.Int32 // the largest lately: the next power of two; see unseen and small
	left  atomic.Int32 // how many smaller ones more until the time is looked at
	next  atomic.Int32 // the largest of the smaller ones since there was one like most
	calm  atomic.Int64 // when it was first seen that there were only smaller ones, ns; 0: it was not
}

// What most says besides a size.
const (
	unseen = 0 // there was no message yet
	small  = 1 // those lately were small
)

// largestFor is how long a large message is reckoned with: a caller who is answered
// with small ones in between is not to have what was learned forgotten.
const largestFor = 5 * time.Second

// note takes in the size of one message. In the calm case, small after small, it only reads.
func (s *sizes) note(n int) {
	size := int32(small)
	if n >= largeBytes {
		size = 1 << bits.Len(uint(min(n, 1<<30)-1))
		if s.large.Load() != smallInRow {
			s.large.Store(smallInRow)
		}
	} else if have := s.large.Load(); have > 0 {
		s.large.CompareAndSwap(have, have-1)
	}
	switch most := s.most.Load(); {
	case size < most:
		s.smaller(size, most)
	case size > most:
		s.most.Store(size)
		s.begin()
	case size > small && s.left.Load() != smallInRow:
		s.begin()
	}
}

// begin begins to count those that are smaller than most.
func (s *sizes) begin() {
	s.left.Store(smallInRow)
	s.next.Store(small)
	s.calm.Store(0)
}

// smaller notes one that is smaller than most. After many such, for long enough, the
// largest of them takes its place. The time is looked at now and then only.
func (s *sizes) smaller(size, most int32) {
	if s.next.Load() < size {
		s.next.Store(size)
	}
	if s.left.Add(-1) > 0 {
		return
	}
	s.left.Store(smallInRow - 1) // not as begin does: there were smaller ones
	now := time.Now().UnixNano()
	switch calm := s.calm.Load(); {
	case calm == 0:
		s.calm.Store(now)
	case now-calm >= int64(largestFor) && s.most.CompareAndSwap(most, s.next.Load()):
		s.begin()
	}
}

// expected is the size of the next message if it may be large, else 0.
func (s *sizes) expected() int {
	if most := s.most.Load(); most > small {
		return int(most)
	}
	return 0
}
