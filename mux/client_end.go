package mux

import (
	"cmp"
	"context"
	"io"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// abandon leaves a call whose ctx has ended. Where calls carry ids the peer is told and
// the slot stays taken until its late answer; elsewhere the answer could be mistaken for
// the next call's, so the connection goes: at once, which tells the peer, unless a
// oneway call that was accepted before may be lost with it.
//
//	ids                         Reset to the peer; the slot is gone until the answer
//	ids, and Caps.Final         Reset to the peer; the slot is free
//	no ids, a oneway call came  no new calls; the connection ends in order
//	no ids                      Abort
//
// The caller has moved the slot's word from waiting to gone, so that nobody touches the
// call any more, and what its context has made of it is its own.
func (c *Conn) abandon(ctx context.Context, r registered) error {
	c.out.Lock()
	if r.slot.word.Load() == word(r.id, gone) { // else the late answer came first, and the slot serves another call
		r.slot.call = nil
	}
	if !c.caps.Mux && c.onTheWay {
		fx := c.life.close(leaving).and(c.life.abandon(r.leads, c.lim.Abandoned))
		c.letInLocked()
		c.unlock()
		c.carryOut(fx) // ends it once nobody reads
		return c.interrupted(ctx, rpc.Maybe)
	}
	if !c.caps.Mux {
		fx := c.life.breakOff(r.leads, context.Cause(ctx))
		c.letInLocked()
		c.unlock()
		c.nc.Abort()
		c.carryOut(fx)
		return c.interrupted(ctx, rpc.Maybe)
	}
	if c.life.door != dead {
		c.appendLocked(&wire.Event{Flags: wire.Reset, ID: r.id}, nil) //nolint:errcheck // a peer that cannot be told frames nothing
	}
	var fx effects
	if !c.final {
		fx = c.life.abandon(r.leads, c.lim.Abandoned)
	} else if fx = c.life.leave(r.leads); r.slot.word.Load() == word(r.id, gone) {
		c.slots.put(r.slot)
	}
	if r.leads {
		c.pauseUnreadLocked()
	}
	if ctx.Err() == context.DeadlineExceeded {
		fx = fx.and(c.expiredLocked(r.beat))
	}
	c.peekLocked()
	c.listenLocked()
	c.letInLocked()
	c.unlockThen(among(c.life.inflight))
	c.carryOut(fx)
	return c.interrupted(ctx, rpc.Maybe)
}

// hangUp is told by netio that the peer went, or that the connection was
// closed on this side.
func (c *Conn) hangUp() {
	c.out.Lock()
	fx := c.life.hangUp()
	c.letInLocked()
	c.unlock()
	c.carryOut(fx)
}

// failIdle ends a connection that nobody reads.
func (c *Conn) failIdle() {
	c.out.Lock()
	fx := c.life.lose()
	c.unlock()
	c.carryOut(fx)
}

// end closes a connection that is idle and takes no calls; the role is closed.
// What was accepted leaves first, such as calls without an answer, unless the
// peer takes nothing any more, or Close aborts the connection.
func (c *Conn) end() {
	c.out.Lock()
	lingers := c.onTheWay && (c.life.abandoned > 0 || c.caps.Pending || c.caps.Mux)
	c.unlock()
	if lingers { // a late answer, a hello or a goodbye that met a closed socket would reset what is on the way
		c.out.Wait(context.Background(), 1) //nolint:errcheck // seen by Close
		c.linger()
	}
	c.nc.Close(context.Background()) //nolint:errcheck // nobody is left to tell
	c.fail(io.EOF, nil)
}

// fail ends the connection and every call on it but own, whose caller it is.
// It runs once, by whom the role closed was reached.
func (c *Conn) fail(cause error, own *slot) {
	c.frames.stop()
	if !c.parting {
		c.nc.Abort()
		c.nc.Receive(false, nil) // gives back the memory of what was lent
	}
	handed := c.out.HandedToKernel()
	c.out.Lock()
	if c.parting { // all that is queued leaves beside what the peer is told
		handed = c.appended
	}
	cause = cmp.Or(c.why, cause)
	fx := c.life.over(cmp.Or(cause, io.EOF))
	c.knownLocked()
	for _, a := range []*alarm{&c.peek.alarm, &c.supposing, &c.pulse.alarm, &c.hark.alarm, &c.keeping.alarm} {
		a.stop()
	}
	met, _ := c.endCallsLocked(func(uint64) bool { return true }, own, func(s *slot) error { return lost(c.peer, s.sentAt(handed), cause) })
	c.letInLocked()
	c.unlock()
	c.granted.raise()
	c.carryOut(fx.and(met))
	if !c.parting {
		close(c.ended) // after it, so that who has waited for Close is told nothing more
		return
	}
	c.work.Go(func() {
		c.linger()
		c.nc.Abort()
		c.nc.Receive(false, nil)
		close(c.ended)
	})
}

// endCallsLocked ends those that wait for the peer and of whose ids which is true, each
// with what why says. The caller holds the read role: over says that own, whose call
// leads, is among them, and a stream that leads finds out by itself.
func (c *Conn) endCallsLocked(which func(id uint64) bool, own *slot, why func(*slot) error) (fx effects, over bool) {
	var woken *waiter
	for _, s := range c.slots.all {
		w := s.word.Load()
		switch {
		case state(w&0xff) != waiting || !which(w>>8):
		case s.stream != nil:
			s.stream.endLocked(why(s))
			woken = s.stream.stirLocked(woken)
		case s.word.CompareAndSwap(w, w&^0xff|uint64(done)):
			c.life.inflight--
			s.err = why(s)
			if s == own {
				over = true
			} else {
				s.done <- struct{}{}
			}
		}
	}
	fx = c.life.met(woken)
	fx.kick = false
	return fx, over
}

// refuseAbove ends the calls of which the peer has said that it did not start them,
// and will not: those with ids above last that it has not answered, or of which the
// session knows it. They may be made elsewhere. The rest is endCallsLocked's.
func (c *Conn) refuseAbove(last uint64, own *slot) (fx effects, over bool) {
	c.out.Lock()
	handed := c.out.HandedToKernel()
	unstarted := func(id uint64) bool { return id > last }
	if c.orders != nil {
		unstarted = c.orders.Unstarted
	}
	fx, over = c.endCallsLocked(unstarted, own, func(s *slot) error {
		sent := s.sentAt(handed)
		if sent == rpc.Maybe {
			sent = rpc.Refused
		}
		return &rpc.Error{Code: rpc.Unavailable, Op: "call", Peer: c.peer, Msg: "the server has shut down before it started the call", Sent: sent, Remote: true}
	})
	c.letInLocked()
	c.unlock()
	c.granted.raise()
	return fx, over
}

// Shutdown takes no new calls, waits for those in flight until ctx ends, and
// closes the connection, for which what was accepted has to leave until then too;
// calls that are left then fail, and it returns the cause of ctx. It joins what runs.
func (c *Conn) Shutdown(ctx context.Context) error {
	c.out.Lock()
	fx := c.life.close(leaving).and(c.life.idle()).and(c.life.unread())
	c.letInLocked()
	c.unlock()
	c.carryOut(fx)
	select {
	case <-c.ended:
	case <-ctx.Done():
	}
	select {
	case <-c.ended:
		return c.Close()
	default: // something is left
		c.Close()
		return context.Cause(ctx)
	}
}

// Close ends the connection at once; calls in flight fail. It is idempotent
// and waits.
func (c *Conn) Close() error {
	c.nc.Abort()
	c.out.Lock()
	c.streams.pace.endLocked()
	c.account.easeLocked()
	c.unlock()
	c.failIdle()
	<-c.ended
	c.work.Wait()
	c.out.Lock()
	c.account.close()
	c.unlock()
	return nil
}
