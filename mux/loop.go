package mux

import (
	"slices"

	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/wire"
)

// A loopRole is what a connection on an event loop has besides: while nothing
// arrives, the loop stands in for the worker that reads. That worker has not
// left: it counts among the workers, and goes on, on another goroutine, with
// what the loop has cut. To all others it is as if it were in Receive.
type loopRole struct {
	// Set by init, then constant.
	nc   netio.LoopConn // nil: not on a loop
	done func(netio.Outcome, error)
}

// init notes whether the connection lives on an event loop. done is bound once, so that
// parking allocates nothing.
func (l *loopRole) init(c *ServerConn) {
	if nc, ok := c.nc.(netio.LoopConn); ok {
		l.nc = nc
		l.done = c.resume
	}
}

// receive is Receive, or its counterpart that parks without a goroutine.
func (c *ServerConn) receive(owed bool) (netio.Outcome, error) {
	if c.loop.nc == nil {
		return c.nc.Receive(owed, c.step)
	}
	return c.loop.nc.OnReadable(owed, c.step, c.loop.done)
}

// resume goes on with the worker that parked. It runs on the loop, or in
// whoever closes the connection, and must not block.
func (c *ServerConn) resume(why netio.Outcome, err error) {
	if c.cfg.Handlers != Inline || why != netio.Enough || c.cutErr != nil || slices.ContainsFunc(c.batch.list, closes) {
		go func() { // counted as a worker all along; the last worker to leave ends the connection
			c.tookLocks(why, err)
			c.workUnlocks()
		}()
		return
	}
	c.tookLocks(why, err)
	c.workOnLoopUnlocks()
}

// closes reports an event upon which CloseWrite is called, which may park.
func closes(ev wire.Event) bool { return ev.Flags&wire.Close != 0 }

// workOnLoopUnlocks is workUnlocks for handlers that never block, to completion on the loop's
// goroutine. What could park there goes to a goroutine: waiting for a peer that
// does not read its answers, and the end.
func (c *ServerConn) workOnLoopUnlocks() {
	for {
		for len(c.opened) > 0 {
			c.beginStreamsLocked()
		}
		r, bar := c.stepLocked()
		switch {
		case r != nil:
			c.serveLocked(r)
		case !c.unreadLocked() || bar != passable:
			if c.out.ClaimLocked() { // a request was refused
				c.owed = true
			}
			go func() { // the same worker
				c.out.Lock()
				c.workUnlocks()
			}()
			c.out.Unlock()
			return
		case c.readOnce():
			return
		}
	}
}
