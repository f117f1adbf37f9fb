package mux

import (
	"sync/atomic"
	"time"
)

const (
	// paceFraction of Limits.QueuedBytes may wait to be received in a stream of
	// a peer that knows no credit before its connection is not read for a while.
	paceFraction = 4
	// paceStall is how long the connection is not read while nothing is
	// received on that stream. Other streams, and the news that this one was
	// given up, wait as long.
	paceStall = time.Second
)

// A pace holds up who reads a connection whose peer knows no credit while a
// stream has much that waits to be received, so that TCP holds up the peer.
// Without it a peer that sends quickly would see its streams ended although
// their messages are being received.
type pace struct {
	pressed atomic.Pointer[stream] // changed under the output lock: the one with the most; nil: read on
	eased   signal                 // something was received on it. Set by the first stream
	over    bool                   // guarded by the output lock: the connection is closed, nobody is held up
}

// pressLocked notes that s may have more than is good. One that was waited for
// in vain is not waited for again until it is below.
func (s *stream) pressLocked() {
	p := &s.h.streams.pace
	if s.held <= s.h.lim.QueuedBytes/paceFraction || s.stalled || s.bounded() || p.over {
		return
	}
	if most := p.pressed.Load(); most == nil || most.held < s.held {
		p.pressed.Store(s)
	}
}

// easeLocked notes that something was received on s, or that it has ended.
func (s *stream) easeLocked() {
	p := &s.h.streams.pace
	pressed := p.pressed.Load() == s
	if s.held <= s.h.lim.QueuedBytes/paceFraction {
		s.stalled = false
		if pressed {
			p.pressed.Store(nil)
		}
	}
	if pressed {
		p.eased.raise()
	}
}

// endLocked lets the reader go on for good: its connection is closed from here.
func (p *pace) endLocked() {
	p.over = true
	p.pressed.Store(nil)
	p.eased.raise()
}

// awaitPace returns when the connection may be read again. The caller holds the read
// role, not the lock, and has no flush to pay.
func (h *half) awaitPace() {
	p := &h.streams.pace
	timer := time.NewTimer(paceStall)
	defer timer.Stop()
	for p.pressed.Load() != nil {
		select {
		case <-p.eased:
			timer.Reset(paceStall)
		case <-timer.C:
			h.out.Lock()
			if s := p.pressed.Load(); s != nil {
				s.stalled = true
				p.pressed.Store(nil)
			}
			h.unlock()
		}
	}
}
