package mux

import (
	"time"

	"github.com/limosa-rpc/limosa/netio"
)

// Work is counted in events that are only looked at, which is a microsecond or less.
const (
	// stintMost is how much may be done for one connection before others go first.
	stintMost = 512
	// stintCrowded is the same while others wait for their turn, or much was done.
	stintCrowded = 64
	// beginCost is what it takes to make a goroutine for a handler, or for the worker
	// behind it, and endCost to end a handler's context, whose goroutine runs then.
	beginCost, endCost = 16, 16
	// openCost is what it takes to open a stream.
	openCost = 4
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
	told  int       // of this, what the Yielder knows
	began time.Time // by the last yield

	rests uint32 // owned by the read role: the Yielder's, at the last batch
}

// init finds who is to be yielded to. Handlers that run Inline on an event loop yield by
// returning to it.
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
		s.rests, s.spent, s.told = rests, 0, 0
	}
	s.spent += n
}

// overLocked reports whether others go first now. The Yielder is told of stints that
// are not small: those of lone calls stay off what all connections share.
func (s *stint) overLocked() bool {
	if s.spent < stintCrowded || s.way == nil {
		return false
	}
	work := s.spent - s.told
	s.told = s.spent
	return s.way.Crowded(work) || s.spent >= stintMost
}

// beginLocked begins the next one.
func (s *stint) beginLocked() { s.spent, s.told = 0, 0 }

// yieldsLocked reports whether others go first now: before a batch that was read
// just now, or among its requests. A lone batch is short, and answered with one send;
// and before a read it is not known yet whether there is anything to be done.
func (c *ServerConn) yieldsLocked() bool {
	return (c.fresh || c.lone.left == 0 && c.waitingLocked()) && c.stint.overLocked()
}

// yield lets others go first. Meanwhile the caller, a worker, counts as the
// spare one that is about to come to the loop; if there is one already, that is to
// yield, and the caller to leave: then it returns true, without the lock.
func (c *ServerConn) yield() (left bool) {
	if c.spare {
		return c.leave()
	}
	c.spare = true
	c.stint.beginLocked()
	flusher := c.claimLocked()
	c.out.Unlock()
	if flusher {
		c.flush(atOnce)
	}
	c.stint.way.Yield()
	now := time.Now()
	c.out.Lock()
	c.stint.began = now
	c.spare = false
	return false
}
