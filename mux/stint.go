package mux

import (
	"time"

	"github.com/limosa-rpc/limosa/netio"
)

const (
	// stintMost is how much may be done for one connection before others go first:
	// so many events, or a fraction of as many handlers, which is some 200 us.
	stintMost = 256
	// stintCrowded is the same while others wait for their turn.
	stintCrowded = 32
	// beginCost is what it takes to begin a handler with a worker behind it, or a
	// stream, in events that are only looked at.
	beginCost = 8
	// endCost is the same of what ends a handler's context, whose goroutine is
	// about to run then.
	endCost = 8
)

// A stint is what was done for a connection since it has last let others go first:
// by waiting for its peer, or by yielding. A peer that always has something to be
// read would have its workers run without an end, and thousands of such connections
// would be far ahead of any other. So a connection whose stint is over yields,
// with one worker, while nobody else begins anything for it.
type stint struct {
	// Set by init, then constant.
	way netio.Yielder // nil: nobody yields, as on an event loop that runs the handlers

	// Guarded by the output lock.
	spent int
	began time.Time // by the last yield

	rests uint32 // owned by the read role: the Yielder's, at the last batch
}

func (s *stint) init(c *ServerConn) {
	if c.loop.nc == nil || c.cfg.Handlers != Inline {
		s.way, _ = c.nc.(netio.Yielder)
	}
}

// batchLocked notes a batch of n events. The caller holds the read role.
func (s *stint) batchLocked(n int) {
	if s.way == nil {
		return
	}
	if rests := s.way.Rests(); rests != s.rests {
		s.rests, s.spent = rests, 0
	}
	s.spent += n
}

// overLocked reports whether others go first now.
func (s *stint) overLocked() bool {
	return s.spent >= stintCrowded && s.way != nil && (s.spent >= stintMost || s.way.Crowded())
}

// yieldLocked lets others go first. Meanwhile the caller, a worker, counts as the
// spare one that is about to come to the loop; if there is one already, that is to
// yield, and the caller to leave: then it returns true, without the lock.
func (c *ServerConn) yieldLocked() (left bool) {
	if c.spare {
		return c.leaveLocked()
	}
	c.spare = true
	c.stint.spent = 0
	owes := c.claimLocked()
	c.out.Unlock()
	if owes {
		flush(c.nc, false, c.spawn)
	}
	c.stint.way.Yield()
	now := time.Now()
	c.out.Lock()
	c.stint.began = now
	c.spare = false
	return false
}
