package mux

import (
	"context"
	"errors"
	"math"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// answerLocks queues the answer of r, and with it those that waited for their turn.
// While the peer does not read what it has, an answer waits as the handler has
// left it, not as bytes (answerLate). It returns with the lock held.
func (c *ServerConn) answerLocks(r *request, err error) {
	err = c.public(r, r.outcome(err))
	r.ev.Body.Release() // of one that was not started
	r.ev.Body = buf.View{}
	if err == nil && r.zip && r.ev.Flags&wire.Oneway == 0 {
		err = c.prepare(r) // its turn may come under the lock, where nothing is compressed
	}
	large := err == nil && c.isLarge(r)
	c.out.Lock()
	switch {
	case r.ordered:
		if err == nil && (large || r.private == nil && c.turns.first != r) {
			c.out.Unlock()
			err = c.prepare(r) // what waits for its turn is bytes, which are counted
			c.out.Lock()
		}
		c.finishLocked(r, err)
	case c.cfg.Handlers != Inline && !(large && c.unforeseenLocked(r)) && c.backedUpLocked():
		c.lateLocked(r, err)
	case large || !c.answerLocked(r, err):
		c.out.Unlock()
		err = c.prepare(r)
		c.out.Lock()
		c.answerLocked(r, err)
	}
	if c.out.ClaimLocked() {
		c.owed = true
	}
}

// isLarge reports whether the result of r is to be encoded outside the lock, and
// is not yet.
func (c *ServerConn) isLarge(r *request) bool {
	return r.private == nil && r.ev.Flags&wire.Oneway == 0 && rpc.HintsOf(r.call.Method).LargeResponse()
}

// unforeseenLocked reports whether nothing was set aside for the answer of r, as for those of
// a method that were begun before its first large answer. What such a one weighs is to be
// known before it waits: of handlers that wait there may be thousands.
func (c *ServerConn) unforeseenLocked(r *request) bool {
	return r.reserved < rpc.HintsOf(r.call.Method).ResponseBytes()
}

// answerLocked frames the answer of r, which waits for no other, and forgets r.
// False: nothing has happened, the answer is large and has to be prepared.
func (c *ServerConn) answerLocked(r *request, err error) (framed bool) {
	r.err = err
	if !c.appendLocked(r) {
		return false
	}
	r.enter(finished)
	c.exitLocked(r)
	return true
}

// backedUpLocked reports whether the peer has more to read, or makes this side
// hold more, than is good: no answer is encoded before it has less.
func (c *ServerConn) backedUpLocked() bool {
	return !c.overLocked() && (c.clogged() || c.account.fullLocked())
}

// lateLocked has r answered as soon as there is room.
func (c *ServerConn) lateLocked(r *request, err error) {
	r.err = err
	r.enter(finished)
	c.account.unstakeLocked(&r.stake)
	c.late.push(r)
	if !c.lateRuns {
		c.lateRuns = true
		c.spawnLocked(c.answerLate)
	}
}

// answerLate answers those that wait for room, one at a time.
func (c *ServerConn) answerLate() {
	exits := true // a codec has ended the goroutine: the others wait on
	defer func() {
		if exits {
			c.spawn(c.answerLate)
		}
	}()
	for {
		c.out.Lock()
		r := c.late.pop()
		if r == nil {
			c.lateRuns, exits = false, false
			c.unlock()
			return
		}
		c.unlock()
		c.awaitReader(context.Background())
		err := r.err
		if err == nil && c.isLarge(r) {
			err = c.prepare(r)
		}
		c.out.Lock()
		if !c.answerLocked(r, err) {
			c.out.Unlock()
			err = c.prepare(r)
			c.out.Lock()
			c.answerLocked(r, err)
		}
		c.unlock()
	}
}

// finishLocked ends r with err, nil for its result, and appends it, or the
// answers whose turn has come.
func (c *ServerConn) finishLocked(r *request, err error) {
	r.err = err
	r.ev.Body.Release()
	r.ev.Body = buf.View{}
	if !r.ordered {
		c.answerLocked(r, err) // an error: a result would have been prepared
		return
	}
	r.enter(finished)
	c.account.unstakeLocked(&r.stake)
	c.turns.bytes += r.reserved
	c.turnLocked()
}

// turnLocked appends the answers whose turn has come, as long as the peer reads
// what it has. Else a goroutine goes on once it does.
func (c *ServerConn) turnLocked() {
	for !c.turns.waiting {
		r := c.turns.first
		switch {
		case r == nil:
			return
		case !r.is(finished):
			if r.stream != nil {
				r.stream.comesUpLocked()
			}
			return
		case c.account.clogged(max(c.out.Queued(), c.out.Out().Len()), c.lim.QueuedBytes) && !c.overLocked() && c.cfg.Handlers != Inline:
			c.turns.waiting = true
			c.spawnLocked(func() {
				c.awaitReader(context.Background())
				c.out.Lock()
				c.turns.waiting = false
				c.turnLocked()
				c.unlock()
			})
			return
		}
		c.turns.pop()
		c.turns.bytes -= r.reserved
		if r.stream != nil {
			r.stream.sayEndLocked()
		} else {
			c.appendLocked(r)
		}
		c.exitLocked(r)
	}
}

// prepare encodes a result outside the lock, and compresses it there if that is
// due. Of a large one it sends all but the last piece.
func (c *ServerConn) prepare(r *request) (err error) {
	if r.private, err = c.encodePrivate(rpc.EngineOf(r.call).AppendResponse, func() { go c.codecExited(r) }); err != nil {
		return c.public(r, err)
	}
	// Now: this answer may wait for long, and others are about to begin.
	rpc.HintsOf(r.call.Method).NoteResponse(r.private.Len())
	if r.zip {
		err = c.compress(r)
	} else {
		err = c.hold(r, r.private.Len())
	}
	if err != nil {
		return c.public(r, err)
	}
	if r.private.Len() > pieceFrom && !r.zip {
		if c.sendPieces(r); r.failed != nil {
			return c.public(r, r.failed)
		}
	}
	return nil
}

// hold charges n bytes for a result that is encoded, in place of what was set aside for
// it, unless there is no room: then it is dropped. It is looked for room and charged
// under one lock, since many may end at once.
func (c *ServerConn) hold(r *request, n int) error {
	c.out.Lock()
	size := r.private.Len()
	if c.account.overflows(size) || c.account.excessLocked(size) {
		c.unlock()
		return c.overflow(r)
	}
	c.holdLocked(r, n)
	c.unlock()
	return nil
}

// holdLocked charges n more bytes, or fewer, for a result that is encoded.
func (c *ServerConn) holdLocked(r *request, n int) {
	if c.chargeLocked(r, n); r.ordered {
		c.reserveLocked(r, r.private.Len()) // what waits for its turn
	} else {
		c.reserveLocked(r, 0)
	}
	c.redeemLocked(r)
}

// compress compresses a result that is encoded. While it waits for its place the
// result is charged, twice, for it is there as its handler has left it, too: so
// others, for which there is no room, are not kept.
func (c *ServerConn) compress(r *request) error {
	n := 2 * r.private.Len()
	if err := c.hold(r, n); err != nil {
		return err
	}
	defer func() {
		c.out.Lock()
		c.holdLocked(r, r.private.Len()-n)
		c.unlock()
	}()
	leave, err := c.enterZlib(r)
	if err != nil {
		return err
	}
	defer leave()
	r.ev.Flags &^= wire.Packed
	return c.sess.Pack(&r.ev, r.private)
}

// appendLocked frames the answer of r. False: nothing has happened, the answer
// is large and has to be prepared.
func (c *ServerConn) appendLocked(r *request) bool {
	if r.private != nil {
		defer r.private.Reset() // of what was not moved
	}
	if r.ev.Flags&wire.Oneway != 0 {
		return true
	}
	out, reply := c.out.Out(), &r.ev
	reply.Flags, reply.Header, reply.Timeout, reply.Err = reply.Flags&wire.Packed|wire.Message|wire.End, nil, 0, nil
	if r.err == nil {
		reply.Trailer = r.call.Trailer
		if reply.Total > 0 { // the last piece
			c.spendLocked(r)
			describe(reply, r.private, r.private.Len())
		}
		before, most := out.Len(), math.MaxInt
		if r.private == nil && !r.ordered && c.cfg.Handlers != Inline && c.sess.Caps().Pieces {
			most = pieceFrom
		}
		overflows := r.private == nil && c.account.overflows(rpc.HintsOf(r.call.Method).ResponseBytes())
		if overflows {
			most = smallHolder
		}
		switch r.err = encodeUpTo(out, c.sess, reply, r.appendResult, most, func() { go c.codecExitedUnlocks(r) }); r.err {
		case nil:
			n := max(out.Len()-before+c.watchKeptLocked(), reply.Total)
			if n <= pieceFrom {
				c.mix.small()
			}
			rpc.HintsOf(r.call.Method).NoteResponse(n)
			c.noteLocked(r.call.Method, n)
			return true
		case errPieces:
			if !overflows {
				return false
			}
			r.err = c.overflow(r)
		}
		e, log := publicOf(r.call, r.err, c.cfg.Logger)
		if r.err = refused(r, e); log != nil {
			c.spawnLocked(log)
		}
	}
	reply.Flags, reply.Trailer, reply.Total = wire.End, nil, 0
	reply.Err, _ = errors.AsType[*rpc.Error](r.err)
	if r.call != nil {
		reply.Trailer = r.call.Trailer
		rpc.HintsOf(r.call.Method).NoteResponse(0)
	}
	err := encode(out, c.sess, reply, nil)
	for err != nil && lessen(reply) {
		err = encode(out, c.sess, reply, nil)
	}
	if err != nil {
		c.unanswerableLocked()
	}
	return true
}

// lessen takes from an error that could not be framed what may be too large for its
// protocol: the trailer, then all but the begin of its text, since handlers put into it
// what their callers have sent. False: nothing is left to be taken.
func lessen(ev *wire.Event) bool {
	e := ev.Err
	switch {
	case ev.Trailer != nil:
		ev.Trailer = nil
	case e != nil && (len(e.Msg) > maxTold || e.Details != nil):
		ev.Err = &rpc.Error{Code: e.Code, Msg: clipped(e.Msg, maxTold), Sent: e.Sent}
	default:
		return false
	}
	return true
}

// maxTold is how much of an error's text is told where all of it does not fit, bytes:
// little enough for a header of HTTP, where each may take three.
const maxTold = 2 << 10

// overflow drops the result of r, for which there is no room on the server.
func (c *ServerConn) overflow(r *request) error {
	if r.private != nil {
		r.private.Reset()
		r.private = nil
	}
	c.account.total.refuse()
	return rpc.Errorf(rpc.ResourceExhausted, "no room for the answer: this connection, or all of this server, hold what they may")
}

// appendResult appends the result: what was encoded before is moved, by reference where
// it is large; else the codec runs, under the output lock.
func (r *request) appendResult(out *buf.Out) error {
	if r.private != nil {
		out.MoveFrom(r.private)
		return nil
	}
	return rpc.EngineOf(r.call).AppendResponse(out)
}

// public is what the peer may know of err. Without a call object nothing was
// started.
func (c *ServerConn) public(r *request, err error) error {
	return refused(r, Public(r.call, err, c.cfg.Logger))
}

// refused is e, of Public for r, which says that r was not started if it was not.
func refused(r *request, e *rpc.Error) error {
	switch {
	case e == nil:
		return nil
	case r.call == nil:
		e.Sent = rpc.Refused
	}
	return e
}
