package mux

import (
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A server makes a client hold what its callers have not taken yet: messages of
// streams, large and compressed answers, frames that are not whole, answers to
// what it says about the connection. All of it is in the connection's account.
//
// Only a reader goroutine waits while the account is full; a caller that leads
// hands the role over first, so that it can still leave when its context ends.
// Who consumes does so without the role, and then there is room. If nothing is
// released for a second the reader reads on, since what it would find may be
// what everybody waits for, and what would add to the account is refused.

// fullLocked reports whether the connection is not to be read on for now.
func (c *Conn) fullLocked() bool {
	return c.account.fullLocked() && c.out.Err() == nil && !c.account.refusingLocked()
}

// full is fullLocked for a caller without the lock.
func (c *Conn) full() bool {
	c.out.Lock()
	defer c.unlock()
	return c.fullLocked()
}

// awaitRelease waits until the connection may be read on. The caller is the
// reader goroutine, and has no flush to pay.
func (c *Conn) awaitRelease() {
	a := &c.account
	c.frames.pause() // it is not the peer's doing
	defer c.frames.resume()
	c.out.Lock()
	for c.fullLocked() {
		p := a.pauseLocked(0)
		c.unlock()
		p.wait(c.out, heldStall)
		c.out.Lock()
		a.refusing = a.vainLocked(p)
	}
	c.unlock()
}

// keep leaves an answer to its caller, and charges it. On a connection that
// holds all that it may the call ends instead.
func (c *Conn) keep(s *slot, ev *wire.Event) {
	kept := *ev
	c.out.Lock()
	if c.account.refusingLocked() {
		kept.Flags, kept.Body = kept.Flags&^wire.Packed, buf.View{} // the caller releases it
		kept.Err = &rpc.Error{Code: rpc.ResourceExhausted, Op: "receive", Sent: rpc.Processed, Msg: "this connection holds all that it may"}
	} else {
		ev.Body = buf.View{}
		s.held = kept.Body.Len()
		c.account.changeLocked(s.held)
		s.stake = c.account.stakeLocked(kept.Body)
	}
	c.unlock()
	s.answer = &kept
}

// openUp unpacks the answer of the call id, on its caller's goroutine.
func (c *Conn) openUp(id uint64, s *slot) {
	ev := s.answer
	if ev.Flags&wire.Packed == 0 {
		return
	}
	if c.sess.Unpack(ev, c.lim.MessageBytes) == nil && ev.Err == nil && ev.ID != id {
		ev.Err = errStrange()
		c.nc.Abort()
	}
	c.charge(s, ev.Body.Footprint()-s.held) // it has a block of its own
}

// charge charges n bytes more, or less, for what s holds. The answer as it came has
// been released.
func (c *Conn) charge(s *slot, n int) {
	if n == 0 && s.stake.of == nil {
		return
	}
	c.out.Lock()
	s.held += n
	c.account.unstakeLocked(&s.stake)
	c.account.changeLocked(n)
	c.unlock()
}
