package mux

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A line is the calls and streams that wait because the peer takes no more at once
// (Caps.Calls), first come first served. Guarded by the output lock.
type line struct {
	waiting []chan struct{} // each is closed when its call is let in
	let     int             // that were let in and have not begun yet
}

// awaitPlaceLocked returns once a call or stream may begin, which it does in the same
// critical section; the lock is given back meanwhile, and what is left of its time is
// looked up anew. An error says why it may not: refuse's, after a wait, among others.
func (c *Conn) awaitPlaceLocked(ctx context.Context, refuse func() error, timeout *time.Duration) (err error) {
	n := len(c.line.waiting)
	if n == 0 && c.begunLocked() < c.caps.Calls {
		return nil
	}
	if n >= c.lim.CallsPerConn {
		return c.exhausted(fmt.Sprintf("%d calls wait for the peer, which takes %d at once", n, c.caps.Calls))
	}
	come := make(chan struct{})
	c.line.waiting = append(c.line.waiting, come)
	fx := c.settleLocked()
	c.unlock()
	c.carryOut(fx)
	select {
	case <-come:
	case <-ctx.Done():
	}
	c.out.Lock()
	if i := slices.Index(c.line.waiting, come); i >= 0 {
		c.line.waiting = slices.Delete(c.line.waiting, i, i+1)
		return c.interrupted(ctx, rpc.NotSent)
	}
	c.line.let--
	if err = refuse(); err == nil {
		*timeout, err = c.remaining(ctx)
	}
	if err != nil {
		c.letInLocked()
	}
	return err
}

// Settle has a peer that has not said yet how many calls it takes at once (Caps.Settling)
// be asked, though no call says anything. It does not wait; Config.Notify tells.
func (c *Conn) Settle() {
	c.out.Lock()
	fx := c.settleLocked()
	c.unlock()
	c.carryOut(fx)
}

// settleLocked has the peer say how many calls it takes, and somebody read that: of the
// stream that was let in first it may be that nothing was sent, and nobody receives.
func (c *Conn) settleLocked() (fx effects) {
	if !c.caps.Settling {
		return fx
	}
	c.appendLocked(&wire.Event{Flags: wire.Settings}, nil) //nolint:errcheck // there is no peer then that could say
	return c.life.read()
}

// begunLocked is how many calls and streams the peer is taken to have.
func (c *Conn) begunLocked() int {
	return c.life.inflight - c.life.waits + c.streams.open + c.line.let
}

// letInLocked lets those in that may begin, or are to find out that they may not. It is
// called wherever a call or stream ends, also one that was let in and has not come to
// last, or what the peer takes has changed.
func (c *Conn) letInLocked() {
	for len(c.line.waiting) > 0 && (c.life.door != open || c.caps.Calls == 0 || c.begunLocked() < c.caps.Calls) {
		close(c.line.waiting[0])
		c.line.waiting[0] = nil
		c.line.waiting = c.line.waiting[1:]
		c.line.let++
	}
}
