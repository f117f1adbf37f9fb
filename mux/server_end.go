package mux

import (
	"context"
	"time"

	"github.com/limosa-rpc/limosa/wire"
)

// Drain tells the peer to go elsewhere, refuses new calls, and waits until those
// that were accepted have run and their answers have left, until ctx ends; then
// the contexts of calls are cancelled, and they and their answers have a second
// more. A peer that was told is given the time to close the connection itself,
// so that no call of it is lost on the way, and so is one that is in the middle
// of a request. What comes later still meets this side's last word, see partLocked.
// What still runs after all is left to itself; Running names it.
func (c *ServerConn) Drain(ctx context.Context) {
	c.out.Lock()
	c.drainLocked()
	c.unlock()
	c.seeOff(ctx)
}

// DrainIdle is Drain of a connection that has no calls. False: it has some, and
// goes on.
func (c *ServerConn) DrainIdle(ctx context.Context) (drains bool) {
	c.out.Lock()
	if drains = c.requests.n == 0; drains {
		c.drainLocked()
	}
	c.unlock()
	if drains {
		c.seeOff(ctx)
	}
	return drains
}

// drainLocked takes no calls from now on, and says so.
func (c *ServerConn) drainLocked() {
	c.draining = true
	encode(c.out.Out(), c.s, &wire.Event{Flags: wire.GoAway}, nil) // a peer that cannot be told frames nothing
}

// seeOff waits for the end of a connection that drains, and makes it.
func (c *ServerConn) seeOff(ctx context.Context) {
	if !c.waitIdle(ctx.Done()) {
		c.giveUpAll(drained)
		grace, cancel := context.WithTimeout(context.Background(), cancelGrace)
		defer cancel()
		ctx = grace
		if !c.waitIdle(ctx.Done()) {
			c.Abort()
			return
		}
	}
	for again := true; again; again = c.out.Queued() > 0 && c.out.Err() == nil && ctx.Err() == nil {
		c.out.Wait(ctx, 1) //nolint:errcheck // seen by Close
		c.awaitPeer(ctx)
	}
	c.part(ctx)
	c.nc.Close(ctx) //nolint:errcheck // what the peer has not taken by now is dropped
}

// part says this side's last word to a peer that understands it, and gives it the
// time to leave and the peer that to close the connection: a close with bytes
// unread, or before the last have come, is a reset, which can overtake the word.
// Meanwhile the workers read on, and drop what they read.
func (c *ServerConn) part(ctx context.Context) {
	c.out.Lock()
	told := c.partLocked()
	c.unlock()
	if !told {
		return
	}
	c.out.Wait(ctx, 1) //nolint:errcheck // seen by Close
	timer := time.NewTimer(lingerTime)
	defer timer.Stop()
	select {
	case <-c.over:
	case <-timer.C:
	}
}

// partLocked ends this side with its last word, if that is true: all that was begun
// has been answered, in order and before it, and from here on nothing is begun,
// nor appended to the output. So the peer knows of each call without an answer that
// it was not started, however it crossed the end on its way. After a drain that was
// cut off, or an answer that could not be framed, nothing is said.
func (c *ServerConn) partLocked() (told bool) {
	if c.parted || c.lost || c.mute || c.requests.n > 0 || c.out.Err() != nil {
		return false
	}
	out := c.out.Out()
	before := out.Len()
	encode(out, c.s, &wire.Event{Flags: wire.GoAway | wire.HasLast}, nil) // a peer that cannot be told frames nothing
	if out.Len() == before {
		return false
	}
	c.parted = true
	c.out.EndLocked()
	return true
}

// unanswerableLocked aborts the connection for an answer that cannot be framed: its
// caller would wait for ever.
func (c *ServerConn) unanswerableLocked() {
	c.mute = true
	c.spawnLocked(c.nc.Abort) // which takes the lock
}

// awaitPeer gives a peer that was told to go, or from which nothing was heard
// yet, the time to close the connection itself; and one that is in the middle of
// a request as long as ctx, since that has to be refused in so many words.
func (c *ServerConn) awaitPeer(ctx context.Context) {
	c.out.Lock()
	waits := !c.heard || c.s.Caps().Mux
	c.unlock()
	grace := time.NewTimer(cancelGrace)
	defer grace.Stop()
	for waits || c.midFrame.Load() {
		select {
		case <-c.over:
			return
		case <-ctx.Done():
			return
		case <-grace.C:
			waits = false
			grace.Reset(frameLook)
		}
	}
}

// frameLook is how often a drain looks whether a frame has come to its end.
const frameLook = 20 * time.Millisecond

// Running names the methods of the calls that were begun and have not ended.
func (c *ServerConn) Running() (methods []string) {
	c.out.Lock()
	defer c.unlock()
	for r := c.requests.first; r != nil; r = r.next {
		if !r.is(queued) && r.h.Method != nil {
			methods = append(methods, r.h.Method.String())
		}
	}
	return methods
}

// Idle says when the peer of a connection without calls last sent anything; the
// zero time: it has calls, or has ended. A call that took long ended later.
func (c *ServerConn) Idle() (since time.Time) {
	c.out.Lock()
	defer c.unlock()
	if c.requests.n == 0 && !c.lost && c.out.Err() == nil {
		since = c.arrived
	}
	return since
}

// cancelGrace is what a handler has left once its context was cancelled, and
// what a peer has to close a drained connection.
const cancelGrace = time.Second

// Abort closes the connection at once; the contexts of its calls end.
func (c *ServerConn) Abort() {
	c.nc.Abort()
	c.out.Lock()
	c.streams.pace.endLocked()
	c.account.easeLocked()
	c.unlock()
}

// giveUpAll gives up whatever lives, by way of how.
func (c *ServerConn) giveUpAll(how phase) {
	var fx aftermath
	c.out.Lock()
	var next *request
	for r := c.requests.first; r != nil; r = next {
		next = r.next
		c.giveUpLocked(r, how, &fx)
	}
	c.unlock()
	c.apply(&fx)
}

// waitIdle waits until no request lives, or until stop is closed.
func (c *ServerConn) waitIdle(stop <-chan struct{}) (idle bool) {
	c.out.Lock()
	if c.requests.n == 0 {
		c.unlock()
		return true
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	wait := c.idle
	c.unlock()
	select {
	case <-wait:
		return true
	case <-stop:
		return false
	}
}
