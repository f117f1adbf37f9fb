package mux

import (
	"cmp"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

// A queue is the requests that were cut and not begun, in the order of arrival.
type queue struct {
	head, tail *request
	n          int
}

// push puts r behind all others.
func (q *queue) push(r *request) {
	q.n++
	if r.ahead = q.tail; r.ahead != nil {
		r.ahead.behind = r
	} else {
		q.head = r
	}
	q.tail = r
}

// remove takes r out, wherever it is.
func (q *queue) remove(r *request) {
	q.n--
	if r.ahead != nil {
		r.ahead.behind = r.behind
	} else {
		q.head = r.behind
	}
	if r.behind != nil {
		r.behind.ahead = r.ahead
	} else {
		q.tail = r.ahead
	}
	r.ahead, r.behind = nil, nil
}

// turns are requests that are answered one after the other: the ordered ones of
// a connection, or those that wait for room.
type turns struct {
	first, last *request
	waiting     bool // for room, on a goroutine
	begun       int  // ordered requests that were begun and not answered
	bytes       int  // what the answers that wait for their turn are thought to weigh
}

// push puts r behind all others.
func (t *turns) push(r *request) {
	if t.last != nil {
		t.last.turn = r
	} else {
		t.first = r
	}
	t.last = r
}

// pop takes the first out; nil: there is none.
func (t *turns) pop() *request {
	r := t.first
	if r == nil {
		return nil
	}
	if t.first = r.turn; t.first == nil {
		t.last = nil
	}
	r.turn = nil
	return r
}

// nextLocked begins the next request; nil: there is none that may begin, for
// the reason that bar gives.
//
// The oldest is the next, until it has waited for half of what it may: then
// the newest is, whose caller still waits when it is answered. The oldest are
// served once there is time, or refused when theirs is over.
//
// A request for which there is no room lets others pass (parked), but such that
// need room themselves only until it has waited for half of what it may: then there
// soon is room for it too. It begins once there is, or is refused like those of
// the queue.
func (c *ServerConn) nextLocked() (r *request, bar barrier) {
	c.answersLostLocked()
	if r = c.unparkLocked(); r != nil {
		return r, passable
	}
	for c.queue.n > 0 {
		r = c.queue.head
		if now := c.nowLocked(r); !now.IsZero() {
			late, newest := c.waitedLocked(r, now)
			if late {
				continue
			}
			if newest {
				r = c.queue.tail
				if late, _ = c.waitedLocked(r, now); late { // it said a shorter time than the oldest
					continue
				}
			}
			if c.account.crowdedLocked() { // since it came: its worker would be one too many
				c.account.total.refuse()
				c.unqueueLocked(r)
				c.finishLocked(r, errCrowded())
				continue
			}
		}
		if bar = c.beginBarLocked(r); bar != passable {
			return nil, bar
		}
		needs := c.needs(r)
		if c.unqueueLocked(r); !c.fitsLocked(needs) || needs > 0 && c.starvingLocked() {
			r.parked = true
			c.parked.push(r)
			continue
		}
		c.beginLocked(r, needs)
		return r, passable
	}
	return nil, passable
}

// beginLocked has r begin, with room for what it needs.
func (c *ServerConn) beginLocked(r *request, needs int) {
	r.enter(begun)
	c.queueUpLocked(r)
	c.reserveLocked(r, needs)
	if needs > smallHolder && !r.packed() {
		c.promiseLocked(r)
	}
	if r.ordered {
		r.ranks = true
		c.turns.begun++
	}
	c.served++
	r.timed = c.served%timeEvery == 0 || r.h.Method != nil && rpc.HintsOf(r.h.Method).Cost() == 0
}

// unparkLocked begins the oldest of those that wait for room, if there is any,
// and ends those that have waited too long.
func (c *ServerConn) unparkLocked() *request {
	for c.parked.n > 0 {
		r := c.parked.head
		if late, _ := c.waitedLocked(r, time.Now()); late {
			continue
		}
		needs := c.needs(r)
		if c.beginBarLocked(r) != passable || !c.fitsLocked(needs) {
			return nil
		}
		c.unqueueLocked(r)
		c.beginLocked(r, needs)
		return r
	}
	return nil
}

// starvingLocked reports whether one that waits for room has let enough others pass.
func (c *ServerConn) starvingLocked() bool {
	r := c.parked.head
	return r != nil && time.Since(r.arrived) > c.patience(r)/2
}

// waitedLocked ends r if its time in the queue is over (late). newest: half of
// it is, so that the newest is to go first.
func (c *ServerConn) waitedLocked(r *request, now time.Time) (late, newest bool) {
	waited, most := now.Sub(r.arrived), c.patience(r)
	if waited >= most {
		c.expireLocked(r)
	}
	return waited >= most, waited > most/2
}

// unqueueLocked takes r out of the queue that it is in.
func (c *ServerConn) unqueueLocked(r *request) {
	if r.parked {
		c.parked.remove(r)
		r.parked = false
	} else {
		c.queue.remove(r)
	}
}

// nowLocked is the time, if it matters to r: none has passed for the first of a
// batch, and next to none for a lone one, unless somebody counts it.
func (c *ServerConn) nowLocked(r *request) (now time.Time) {
	if c.fresh && r.arrived.Equal(c.arrived) || c.lone.left > 0 && r.ev.Timeout == 0 {
		c.fresh = false
		return now
	}
	c.fresh = false
	return time.Now()
}

// patience is how long r may wait to be started.
func (c *ServerConn) patience(r *request) time.Duration {
	return cmp.Or(r.ev.Timeout, c.lim.QueueTime)
}

// expired is what the caller of a request is told that waited for too long and was
// never started.
func (r *request) expired() *rpc.Error {
	if r.ev.Timeout == 0 {
		return refusal(rpc.ResourceExhausted, "the call waited too long to be started")
	}
	return refusal(rpc.DeadlineExceeded, "the call's time was over before it could be started")
}

// expireLocked ends a request that waited for too long and was never started.
func (c *ServerConn) expireLocked(r *request) {
	c.unqueueLocked(r)
	c.finishLocked(r, r.expired())
}
