package mux

import "context"

// hangUp is told by netio that the peer went, or that the connection was closed
// on this side, while nobody was in Receive. It must not block.
func (c *ServerConn) hangUp() {
	c.out.Lock()
	c.gone = true
	c.lookLocked()
	c.unlock()
}

// lookLocked has a goroutine of its own find out how a connection that has gone
// has ended, unless whoever reads does. The workers may all be kept from it: by
// handlers, by a barrier that only an answer lifts, or by both.
func (c *ServerConn) lookLocked() {
	if c.gone && !c.reading && !c.lost && !c.looking {
		c.looking = true
		c.staffLocked(1)
		go c.look()
	}
}

// look reads to the end of a connection that has gone, past the barriers that
// wait for answers: what is left to be read is what the peer's last packets
// have brought. It begins no request, since handlers that run Inline have
// nothing beside them, unless it is the last worker.
func (c *ServerConn) look() {
	c.out.Lock()
	for !c.reading && !c.lost {
		for len(c.opened) > 0 {
			c.beginStreamsLocked()
		}
		if c.crampedLocked() {
			c.standLocked()
		} else if c.readLocked() {
			c.out.Lock() // the event loop goes on as the worker that this was
			c.looking = false
			c.lookLocked() // unless it has done so already
			c.unlock()
			return
		}
	}
	c.looking, c.fresh = false, false // others may have run for long since
	for c.cfg.Handlers == Inline && c.workers > 1 {
		if c.leaveLocked() {
			return
		}
	}
	c.work()
}

// crampedLocked reports whether reading on would make this side hold more than
// it may: a peer that has ended one side only may still be owed its answers.
func (c *ServerConn) crampedLocked() bool {
	return !c.overLocked() && (c.clogged() || c.account.fullLocked() && !c.account.refusingLocked())
}

// standLocked gives what is held the time to go away that haltLocked gives it,
// and like it has the account refuse if nothing did.
func (c *ServerConn) standLocked() {
	owes, p := c.claimLocked(), c.account.pauseLocked(0)
	c.out.Unlock()
	if owes {
		flush(c.nc, false, c.spawn)
	}
	if c.clogged() {
		ctx, cancel := context.WithTimeout(context.Background(), heldStall)
		c.awaitReader(ctx)
		cancel()
	} else {
		p.wait(c.out)
	}
	c.out.Lock()
	if c.account.vainLocked(p) {
		c.account.refusing = true
	}
}
