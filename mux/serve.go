package mux

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// cancel ends the context of the call that the peer gave up.
func (c *ServerConn) cancel(id uint64) {
	var call *rpc.Call
	c.out.Lock()
	for r := c.running; r != nil; r = r.next {
		if r.ev.ID == id {
			call, r.left = r.shown.Load(), true
			break
		}
	}
	c.unlock()
	if call != nil {
		call.End(context.Canceled)
	}
	signal(c.granted)
}

// flushAfter is the time that handlers of a batch may have taken, by estimate,
// before their answers are sent although the batch goes on.
const flushAfter = int64(200 * time.Microsecond)

// beginLocked takes the next request off the queue, into r.
func (c *ServerConn) beginLocked(r *request) {
	a := &c.queue[c.head]
	*r = request{ev: a.ev, routed: a.routed, arrived: c.arrived}
	*a = arrival{}
	c.head++
	if m := r.h.Method; m != nil && (m.Kind == rpc.Oneway) != (r.ev.Flags&wire.Oneway != 0) {
		r.ev.Flags ^= wire.Oneway // the IDL decides, whatever the frame says
	}
	r.ordered = r.ev.Flags&(wire.Unordered|wire.Oneway) == 0
	r.err = c.roomLocked()
	c.enterLocked(r)
	c.served++
	r.timed = c.served%timeEvery == 0 || r.h.Method != nil && r.h.Method.Cost() == 0
}

// serveLocked serves the next request, in r, with a spare worker behind it
// where that is due. The lock is held on entry and on return.
func (c *ServerConn) serveLocked(r *request) {
	c.beginLocked(r)
	lone := c.lone.next()
	if !lone && c.cfg.Handlers == Spare {
		c.spareLocked()
	}
	c.out.Unlock()
	c.serve(r)
	if lone {
		c.lone.done(c.arrived)
	}
	if r.h.Method != nil {
		c.unsent += int64(r.h.Method.Cost())
	}
	if c.unsent > flushAfter && c.claimLocked() {
		others := c.count > 0
		c.out.Unlock()
		flush(c.nc, others, c.spawn)
		c.out.Lock()
	}
}

// spareLocked starts a spare worker if there is anything that a handler, should
// it block, would hold up, and none is about to run already.
func (c *ServerConn) spareLocked() {
	if !c.spare && (c.head < len(c.queue) || !c.reading && !c.lost || c.owed) {
		c.startLocked()
	}
}

// apartLocked serves the next request on a goroutine of its own.
func (c *ServerConn) apartLocked() {
	r := new(request)
	c.beginLocked(r)
	c.workers++
	go func() {
		c.serve(r)
		for !c.leaveLocked() {
			continue // it has flushed
		}
	}()
}

// serve runs a request and queues its answer. It returns with the lock held.
func (c *ServerConn) serve(r *request) {
	err := r.err
	if err == nil {
		err = c.admit(r)
	}
	if err == nil {
		err = c.run(r)
	}
	c.answer(r, err)
}

// timeEvery: of so many requests one is timed.
const timeEvery = 16

// roomLocked says why this connection takes no further call, if it does not.
func (c *ServerConn) roomLocked() error {
	switch {
	case c.draining:
		return refusal(rpc.Unavailable, "the server is shutting down")
	case c.count >= c.cfg.Limits.CallsPerConn:
		return refusal(rpc.ResourceExhausted, "too many calls in flight on this connection")
	}
	return nil
}

// refusal is the error of a call that was not started; its caller may try elsewhere.
func refusal(code rpc.Code, msg string) *rpc.Error {
	return &rpc.Error{Code: code, Msg: msg, Sent: rpc.Refused}
}

// admit makes the call object of a request.
func (c *ServerConn) admit(r *request) error {
	ev, h := &r.ev, r.h
	switch {
	case ev.Err != nil: // the protocol could not make sense of it
		return ev.Err
	case h.Method == nil:
		return &rpc.Error{Code: rpc.Unimplemented, Msg: r.why}
	case (h.Method.Kind > rpc.Oneway) != (ev.Flags&wire.Stream != 0):
		return &rpc.Error{Code: rpc.Unimplemented, Msg: kindMismatch(h.Method)}
	}
	if c.cfg.Gate != nil && !c.cfg.Gate.Enter() {
		return refusal(rpc.ResourceExhausted, "too many calls in flight on this server")
	}
	call := h.Method.New()
	call.Method, call.Service, call.Peer, call.Header = h.Method, ev.Service, c.peer, ev.Header
	if call.Service == "" {
		call.Service = h.Method.Service
	}
	call.SetEncoding(ev.Encoding)
	if ev.Flags&wire.Stream == 0 {
		call.SetBody(ev.Body, c.cfg.Limits)
		ev.Body = buf.View{}
	}
	r.call = call
	r.shown.Store(call)
	return nil
}

// kindMismatch tells a caller that its IDL is another.
func kindMismatch(m *rpc.Method) string {
	if m.Kind > rpc.Oneway {
		return m.String() + " is a stream, and was called as a method of one message"
	}
	return m.String() + " has one message, and was called as a stream"
}

func (c *ServerConn) enterLocked(r *request) {
	r.next = c.running
	if r.next != nil {
		r.next.prev = r
	}
	c.running = r
	c.count++
	if r.ordered {
		r.listed = true
		c.inOrder = append(c.inOrder, r)
	}
}

func (c *ServerConn) exitLocked(r *request) {
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		c.running = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	}
	if c.count--; c.count == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// run runs the handler.
func (c *ServerConn) run(r *request) error {
	var deadline, start time.Time
	if r.ev.Timeout > 0 {
		deadline = r.arrived.Add(r.ev.Timeout)
	}
	if r.timed {
		start = time.Now()
	}
	ctx := r.call.Begin(c.cfg.Base, deadline)
	err := Handle(ctx, r.call, r.h.Serve, c.cfg.Logger)
	r.call.End(context.Canceled)
	r.call.Release()
	if c.cfg.Gate != nil {
		c.cfg.Gate.Leave()
	}
	if r.timed {
		r.call.Method.NoteCost(time.Since(start))
	}
	return err
}

// answer queues the answer of r, and with it those that waited for their turn.
// It returns with the lock held.
func (c *ServerConn) answer(r *request, err error) {
	err = c.public(r, err)
	r.ev.Body.Release()
	r.ev.Body = buf.View{}
	if err == nil && r.ev.Flags&wire.Oneway == 0 && r.call.Method.LargeResponse() {
		err = c.prepare(r)
	}
	c.out.Lock()
	r.finished, r.err = true, err
	if !r.ordered && !c.appendLocked(r) {
		c.out.Unlock()
		err = c.prepare(r)
		c.out.Lock()
		r.err = err
		c.appendLocked(r)
	}
	for len(c.inOrder) > 0 && c.inOrder[0].finished {
		c.appendLocked(c.inOrder[0])
		c.inOrder[0].listed = false
		c.inOrder[0] = nil
		c.inOrder = c.inOrder[1:]
	}
	c.exitLocked(r)
	if c.out.ClaimLocked() {
		c.owed = true
	}
}

// prepare encodes a large result outside the lock, and sends all but its last
// piece.
func (c *ServerConn) prepare(r *request) (err error) {
	if r.private, err = encodePrivate(r.call.AppendResponse); err != nil {
		return c.public(r, err)
	}
	if r.private.Len() > chunkFrom {
		if c.sendPieces(r); r.failed != nil {
			return c.public(r, r.failed)
		}
	}
	return nil
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
	reply.Flags, reply.Header, reply.Timeout, reply.Err = wire.Message|wire.End, nil, 0, nil
	if r.err == nil {
		reply.Trailer = r.call.Trailer
		if reply.Total > 0 { // the last piece
			c.spendLocked(r)
			piece(reply, r.private)
		} else {
			c.mix.small++
		}
		before, most := out.Len(), math.MaxInt
		if r.private == nil && !r.ordered && c.cfg.Handlers != Inline && c.s.Caps().Chunks {
			most = chunkFrom
		}
		switch r.err = encodeUpTo(out, c.s, reply, r.appendResult, most); r.err {
		case nil:
			r.call.Method.NoteResponse(max(out.Len()-before, reply.Total))
			return true
		case errPieces:
			return false
		}
		r.err = c.public(r, r.err)
	}
	reply.Flags, reply.Trailer, reply.Total = wire.End, nil, 0
	reply.Err, _ = errors.AsType[*rpc.Error](r.err)
	if err := encode(out, c.s, reply, nil); err != nil {
		c.spawnLocked(c.nc.Abort) // its caller would wait for ever; Abort takes the lock
	}
	return true
}

func (r *request) appendResult(out *buf.Out) error {
	if r.private != nil {
		out.MoveFrom(r.private)
		return nil
	}
	return r.call.AppendResponse(out)
}

// public is what the peer may know of err.
func (c *ServerConn) public(r *request, err error) error {
	if e := Public(r.call, err, c.cfg.Logger); e != nil {
		return e
	}
	return nil
}
