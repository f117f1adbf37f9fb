package mux

import (
	"context"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A barrier says why a server's connection does not go on, to begin a request
// that it has or to read another. It goes on once the peer reads its answers,
// or something that it makes this side hold goes away.
//
// Only a full account is escaped from: a peer whose cancels nobody reads could
// never release anything. After a second in which nothing was released and the
// peer has read nothing the connection is read on, and what would add to the account is refused, until it
// is three quarters full. Output that nobody reads ends by Limits.WriteStall.
type barrier uint8

const (
	passable   barrier = iota
	unread             // the peer does not read its answers
	full               // the account is, or what the next request may become does not fit
	unanswered         // answers in order wait for an earlier one
	unweighed          // the first answer of a method is awaited, so that it is known what the next may weigh
	pressed            // a stream whose peer knows no credit has much to be received
)

// orderedMost is how many requests of those that are answered in order run, or
// wait for their turn, at a time.
const orderedMost = 64

// overLocked reports whether the connection has ended, so that nothing waits. One
// whose peer may still read answers has not.
func (c *ServerConn) overLocked() bool { return c.input == inputLost || c.out.Err() != nil }

// needs is what r may come to hold once it has begun, as far as is known.
func (c *ServerConn) needs(r *request) (n int) {
	if r.ev.Flags&wire.Packed != 0 {
		n = c.lim.InflateBudget(r.ev.Body.Len())
	}
	if m := r.h.Method; m != nil && m.Kind <= rpc.Oneway {
		n += min(rpc.HintsOf(m).DecodedBytes(), c.lim.DecodeBudget(r.ev.Body.Len()))
		n += c.answerBytes(r)
	}
	return n
}

// reserveLocked has n bytes set aside for what r may become, instead of what was
// before. They are not held yet, and count for nobody but those that want to
// set aside as much: see fitsLocked.
func (c *ServerConn) reserveLocked(r *request, n int) {
	c.reserved += n - r.reserved
	r.reserved = n
}

// chargeLocked charges n more bytes for r.
func (c *ServerConn) chargeLocked(r *request, n int) {
	r.held += n
	c.account.changeLocked(n)
}

// fitsLocked reports whether there is room for what a request may become. If
// nothing else is set aside there is, whatever it needs: it is alone.
func (c *ServerConn) fitsLocked(needs int) bool {
	return needs == 0 || c.reserved == 0 || c.account.sumLocked()+c.reserved+needs <= c.account.limit
}

// awaitReader waits until the peer has read enough of its output, or ctx has ended.
// A connection that has failed takes all.
func (c *ServerConn) awaitReader(ctx context.Context) {
	c.out.Wait(ctx, c.unclogged()) //nolint:errcheck // seen by who reads
}

// beginBarLocked says why r must not begin.
func (c *ServerConn) beginBarLocked(r *request) barrier {
	switch {
	case c.overLocked():
	case c.clogged():
		return unread
	case r.ordered && (c.turns.begun >= orderedMost || c.turns.bytes > c.lim.QueuedBytes):
		return unanswered
	case r.ordered && c.turns.begun > 0 && c.unweighed(r):
		return unweighed
	}
	return passable
}

// unweighedFor is the part of its patience for which an ordered request waits for the
// first answer of its method; unweighedLook is how often it is looked whether another
// connection has it.
const (
	unweighedFor  = 8
	unweighedLook = 20 * time.Millisecond
)

// unweighed reports whether nothing is known of what the answer of r may weigh, so that
// it waits for the one before it. It is answered behind that one anyway; begun
// beside it, as many large answers as may be begun would be there at once, and nothing
// of them foreseen. But a first one that takes long holds up nobody for long.
func (c *ServerConn) unweighed(r *request) bool {
	m := r.h.Method
	return m != nil && m.Kind == rpc.Unary && !rpc.HintsOf(m).Answered() && time.Since(r.arrived) < c.patience(r)/unweighedFor
}

// readBarLocked says why the connection is not to be read.
func (c *ServerConn) readBarLocked() barrier {
	switch {
	case c.overLocked():
	case c.clogged():
		return unread
	case c.streams.pace.pressed.Load() != nil:
		return pressed
	case c.requests.n >= 2*c.lim.CallsPerConn:
		return unanswered // refusals, which wait for their turn as well
	case c.account.fullLocked():
		return full
	case c.turns.first != nil && c.account.crowdedLocked():
		return full // what is refused waits for its turn: that would be held as well
	}
	return passable
}

// stepLocked is what a worker is to do next: serve r; or with r nil, wait at bar
// or, if that is clear, read.
func (c *ServerConn) stepLocked() (r *request, bar barrier) {
	if c.backlogLocked() {
		if !c.spare {
			c.startLocked() // who goes on with the queue
		}
		return nil, passable
	}
	r, bar = c.nextLocked()
	if r == nil && c.queue.n == 0 && c.unreadLocked() {
		bar = c.readBarLocked()
	}
	if bar == full && c.account.refusingLocked() {
		bar = passable
	}
	if r == nil && bar == passable && c.parked.n > 0 && !c.halted {
		if !c.unreadLocked() {
			return nil, full // as the one who waits for room
		}
		c.startLocked() // who waits for it while this one reads
	}
	return r, bar
}

const (
	// readEvery is how long requests wait in the queue before more are read
	// although it is not empty, so that what was given up meanwhile is known,
	// and since when the others wait; backlogMost is how many it may have then.
	readEvery   = 2 * time.Millisecond
	backlogMost = 1024
)

// backlogLocked reports whether the connection is to be read although requests
// wait: handlers take long, and what their callers say about them is unread.
func (c *ServerConn) backlogLocked() bool {
	return c.queue.n > 0 && c.queue.n < backlogMost && c.unreadLocked() && c.cfg.Handlers == Spare && c.lone.left == 0 &&
		c.readBarLocked() == passable && time.Since(c.arrived) > readEvery && (c.stint.began.IsZero() || time.Since(c.stint.began) > readEvery)
}

// haltLocked waits until bar may be clear. The lock is held on entry and on
// return.
func (c *ServerConn) haltLocked(bar barrier) {
	flusher := c.claimLocked()
	more := 0
	if bar == full && c.parked.n > 0 && !c.account.fullLocked() {
		more = c.reserved + c.needs(c.parked.head)
	}
	p := c.account.pauseLocked(more)
	c.halted = true
	if bar == full {
		c.granted.raise() // who waits for credit waits for what is not read now
	}
	c.out.Unlock()
	switch {
	case flusher && bar == unread:
		c.out.Flush() //nolint:errcheck // that it may park is the point here
	case flusher:
		c.flush(atOnce)
	case bar == unread:
		c.awaitReader(context.Background())
	case bar == pressed:
		c.awaitPace()
	case bar == unweighed:
		p.wait(c.out, unweighedLook)
	default:
		p.wait(c.out, heldStall)
	}
	c.out.Lock()
	c.halted = false
	if bar == full && !flusher && c.account.vainLocked(p) {
		c.account.refusing = true
	}
}

// nudgeLocked has a worker look at the queue again: something was released by
// who is none.
func (c *ServerConn) nudgeLocked() {
	if c.waitingLocked() && !c.spare && !c.halted {
		c.startLocked()
	}
}

// waitingLocked reports whether requests wait that somebody has to begin: those
// that wait for room have somebody who waits with them, or need one.
func (c *ServerConn) waitingLocked() bool {
	return c.queue.n > 0 || len(c.opened) > 0 || c.parked.n > 0 && !c.halted
}
