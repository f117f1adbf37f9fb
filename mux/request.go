package mux

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A phase is where in its life a request is, of one message or a stream alike:
//
//	        nextLocked         show             finishLocked
//	queued -----------> begun -------> shown ----------------> finished
//	   |                  |              |                        ^
//	   | giveUpLocked     |              | its context ends       |
//	   | expireLocked     v              v                        |
//	   |           givenUp, drained or cutOff --------------------+
//	   +----------------------------------------------------------+
//
// Queued, it can be given up without ever having been started. Begun, it has a
// worker; shown, also a call, whose context can be ended. One that is given up
// between the two is not started: the worker finds out when it shows the call.
// Finished, it has an answer, which may wait for its turn. All changes are made
// under the output lock but that from begun to shown, which its worker makes
// by one compare-and-swap.
type phase uint32

const (
	queued phase = iota
	begun
	shown
	givenUp  // by its caller, or lost with the connection
	drained  // by this side, which ends
	cutOff   // by this side, which ends the connection
	finished // answered, or its answer waits for its turn
)

// err is what a request that was given up is answered with.
func (p phase) err() *rpc.Error {
	switch p {
	case drained:
		return &rpc.Error{Code: rpc.Unavailable, Msg: "the server is shutting down"}
	case cutOff:
		return &rpc.Error{Code: rpc.Unavailable, Msg: "the server has ended the connection"}
	}
	return &rpc.Error{Code: rpc.Canceled, Msg: "the caller has given the call up"}
}

// refusal is the same for one that was not started.
func (p phase) refusal() *rpc.Error {
	e := p.err()
	e.Sent = rpc.Refused
	return e
}

// What a Router said of a request.
type routed struct {
	h   rpc.Handler
	why string // why there is no handler
}

// A request is one call on the server, from its cut to its answer.
type request struct {
	// Set when it is cut, then constant.
	routed
	id      uint64 // as the peer gave it; a packed request's event may say another once it is unpacked
	arrived time.Time
	ordered bool          // answered in the order of arrival
	stream  *serverStream // nil: a call of one message

	// Atomic: a phase.
	phase atomic.Uint32

	// Owned by its worker; once it is shown its call can be ended by others.
	call  *rpc.Call   // nil until admit has made it
	timed bool        // note what the handler takes
	zip   bool        // it came packed: so does its answer go
	lone  uint32      // it runs without a spare worker behind it, in this turn; 0: with one
	conn  *ServerConn // set with call

	// Guarded by the call's lock of its body.
	decodes func() // gives back the room that it is decoded in; nil: it has none

	// Guarded by the output lock until it has begun, then owned by its worker
	// until it is finished, then guarded again.
	ev      wire.Event // as it came; later its answer
	err     error      // what is to be answered instead of the result
	private *buf.Out   // a large result, encoded outside the lock
	beside  bool       // small answers are beside it
	failed  error      // why its pieces come to an end: there is an error to be sent instead

	// Guarded by the output lock.
	wary          bool   // it is looked at before it begins
	place         *place // where it waits once it has begun; nil: it does not
	oneway        bool   // nobody waits for an answer
	held          int    // what the account was charged for it
	stake         stake  // in the block of its body, until that is released
	reserved      int    // what was set aside besides, for what it may become: its answer, or its unpacked self
	promised      int    // what of the server was set aside for its answer
	wants         int    // what of the server it has to wait for before it is shown; owned by its worker
	parked        bool   // queued for room
	prev, next    *request
	ahead, behind *request // in the queue
	chained       *request // in the table, where it is found by its id
	tabled        bool
	ranks         bool     // among the ordered ones that were begun
	turn          *request // the next of those that are answered in order
}

// is looks at the phase. Only under the output lock does the answer last.
func (r *request) is(p phase) bool { return phase(r.phase.Load()) == p }

// enter changes the phase under the output lock.
func (r *request) enter(p phase) { r.phase.Store(uint32(p)) }

// move changes the phase from one to another, unless it is not that one.
func (r *request) move(from, to phase) bool {
	return r.phase.CompareAndSwap(uint32(from), uint32(to))
}

// deadline is when its caller stops waiting; zero: it did not say.
func (r *request) deadline() (t time.Time) {
	if r.ev.Timeout > 0 {
		t = r.arrived.Add(r.ev.Timeout)
	}
	return t
}

// decide has the IDL decide whether there is an answer, whatever the frame says.
func (r *request) decide() {
	if m := r.h.Method; m != nil && r.ev.Flags&wire.Refused == 0 && (m.Kind == rpc.Oneway) != (r.ev.Flags&wire.Oneway != 0) {
		r.ev.Flags ^= wire.Oneway
	}
	r.oneway = r.ev.Flags&wire.Oneway != 0
}

// cost is what its handler takes, by estimate. sure: that is known, or there
// is no handler, nor an interceptor that sees it all the same.
func (r *request) cost(seen bool) (d time.Duration, sure bool) {
	switch {
	case r.ev.Flags&wire.Packed != 0: // not even its method is known
		return 0, false
	case r.h.Method == nil:
		return 0, !seen
	}
	d = rpc.HintsOf(r.h.Method).Cost()
	return d, d > 0
}

// requests is a pool of plain memory: what is in it refers to nothing.
var requests = sync.Pool{New: func() any { return new(request) }}

// recycle gives back a request of which nothing remains to be done.
func (r *request) recycle() {
	if r.stream != nil {
		return // it is part of its stream, which a handler may still refer to
	}
	*r = request{}
	requests.Put(r)
}

// An aftermath is what transitions under the lock leave to be done after the
// unlock. apply does it, in one place, so that none is forgotten.
type aftermath struct {
	woken *waiter         // waits of streams that are over
	ended []abandonedCall // contexts to be ended
	shut  bool            // our side is to be closed
	later int             // bytes that were appended and may wait for the answers
}

// An abandonedCall runs, and nobody waits for it any more. Its deadline is noted under
// the lock: its context is set up without. It has none where this side ends the call.
type abandonedCall struct {
	call     *rpc.Call
	deadline time.Time
}

// any reports whether there is anything to be done.
func (fx *aftermath) any() bool { return fx.woken != nil || fx.ended != nil || fx.shut }

// apply does what fx says. No lock is held.
func (c *ServerConn) apply(fx *aftermath) {
	wake(fx.woken)
	var s stint
	s.way = c.stint.way
	for _, g := range fx.ended {
		if s.overLocked() {
			s.way.Yield()
			s.beginLocked()
		}
		s.spent += endCost
		rpc.EngineOf(g.call).GiveUp(g.deadline)
	}
	if fx.shut {
		c.nc.CloseWrite() // after what is queued
	}
}

// openLocked takes a request in: to the queue, or if it is refused to its answer.
func (c *ServerConn) openLocked(ev *wire.Event) *request {
	r := requests.Get().(*request)
	r.ev, r.id, r.arrived = *ev, ev.ID, c.arrived
	ev.Body = buf.View{}
	r.ev.Timeout = c.cfg.deadlined(ev.Timeout)
	if r.ev.Flags&wire.Packed == 0 {
		r.routed = c.routeLocked(ev)
		r.decide()
	}
	r.ordered = r.ev.Flags&(wire.Unordered|wire.Oneway) == 0
	refused := c.refuseLocked(r)
	if e := r.ev.Err; refused == nil && e != nil && e.Code == rpc.ResourceExhausted && c.account.total.Full() {
		c.account.total.refuse() // the session had no room for it, see allowance
	}
	if refused != nil { // nothing of it is held while it waits for its turn
		r.ev.Body.Release()
		r.ev.Body, r.ev.Header, r.ev.Service = buf.View{}, nil, ""
	}
	c.listLocked(r)
	if refused != nil {
		c.finishLocked(r, refused)
		return nil
	}
	c.queue.push(r)
	return r
}

// weight is what a request that has come costs to hold.
func (r *request) weight() int {
	ev := &r.ev
	n := perRequest + ev.Body.Len() + weight(ev.Header) + len(ev.Service) + len(ev.Method)
	if r.stream != nil {
		n += perStream
	}
	return n
}

// listLocked makes r one of the requests that live.
func (c *ServerConn) listLocked(r *request) {
	r.held = r.weight()
	c.account.changeLocked(r.held)
	r.stake = c.account.stakeLocked(r.ev.Body)
	c.requests.add(r)
	c.probeLocked()
	if r.ordered {
		c.turns.push(r)
	}
}

// refuseLocked says why this connection does not take r, if it does not.
func (c *ServerConn) refuseLocked(r *request) error {
	switch {
	case c.draining:
		return refusal(rpc.Unavailable, "the server is shutting down")
	case c.requests.n >= c.lim.CallsPerConn:
		return refusal(rpc.ResourceExhausted, "too many calls in flight on this connection")
	case c.account.refusingLocked():
		c.account.total.refuse()
		return refusal(rpc.ResourceExhausted, "this connection holds all that it may")
	case c.account.crowdedLocked(), c.account.grows(c.needs(r)):
		c.account.total.refuse()
		return errCrowded()
	}
	return nil
}

// errCrowded refuses what there is no room for on the whole server.
func errCrowded() *rpc.Error {
	return refusal(rpc.ResourceExhausted, "the connections of this server hold all that they may")
}

// refusal is the error of a call that was not started; its caller may try elsewhere.
func refusal(code rpc.Code, msg string) *rpc.Error {
	return &rpc.Error{Code: code, Msg: msg, Sent: rpc.Refused}
}

// giveUpLocked ends what can be ended of r, by way of how, which is givenUp,
// drained or cutOff: one that is queued never starts, of another the context ends.
func (c *ServerConn) giveUpLocked(r *request, how phase, fx *aftermath) {
	switch {
	case r.is(queued) && r.stream != nil:
		fx.woken = r.stream.finishLocked(how.refusal(), fx.woken)
	case r.is(queued):
		c.unqueueLocked(r)
		if how == cutOff && r.ev.Err != nil { // the connection ends for it
			c.finishLocked(r, refused(r, Public(nil, r.ev.Err, nil)))
		} else {
			c.finishLocked(r, how.refusal())
		}
	case r.move(begun, how):
		if r.place != nil {
			c.cfg.Rush.leave(r.place)
		}
	case r.move(shown, how):
		ended := abandonedCall{call: r.call}
		if how == givenUp { // why this side ends a call is not that the caller's time is over
			ended.deadline = r.deadline()
		}
		fx.ended = append(fx.ended, ended)
	case how == givenUp:
		r.move(drained, how)
	}
}

// cancelLocked gives up the call that the peer has given up.
func (c *ServerConn) cancelLocked(id uint64, fx *aftermath) {
	if r := c.requests.find(id); r != nil {
		c.giveUpLocked(r, givenUp, fx)
	}
	c.granted.raise()
}

// show makes the call of r one that can be cancelled. An error: r was given up
// before, and is not to be started.
func (r *request) show() error {
	if r.move(begun, shown) {
		return nil
	}
	return phase(r.phase.Load()).refusal()
}

// outcome is what a handler's end is to the caller: one that this side has
// cancelled is told why.
func (r *request) outcome(err error) error {
	if p := phase(r.phase.Load()); err != nil && (p == drained || p == cutOff) && rpc.CodeOf(err) == rpc.Canceled {
		return p.err()
	}
	return err
}

// exitLocked forgets r, which was answered.
func (c *ServerConn) exitLocked(r *request) {
	c.requests.remove(r)
	c.reserved -= r.reserved
	c.redeemLocked(r)
	c.account.unstakeLocked(&r.stake)
	c.account.changeLocked(-r.held)
	if r.ranks {
		c.turns.begun--
	}
	if c.requests.n == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
	c.closeLocked()
	r.recycle()
}
