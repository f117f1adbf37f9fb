package mux

import (
	"context"
	"errors"
	"slices"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A serverStream is the server's side of a stream.
type serverStream struct {
	stream
	c *ServerConn
	r request
}

// openStreamLocked takes in the call that ev opens. One that is refused is
// answered here; the others begin behind their batch, for what is opened and reset
// in one needs no goroutine.
func (c *ServerConn) openStreamLocked(ev *wire.Event) {
	if c.requests.find(ev.ID) != nil {
		return // the peer has lost count; what it sends goes to the first
	}
	s := &serverStream{c: c}
	r := &s.r
	r.stream, r.id, r.ev, r.routed, r.arrived = s, ev.ID, *ev, c.routeLocked(ev), c.arrived
	r.ev.Body = buf.View{} // the stream takes it
	s.h, s.ctx = &c.half, c.cfg.Base
	s.ev = wire.Event{ID: ev.ID, Tag: ev.Tag, Method: ev.Method, Encoding: ev.Encoding}
	s.opened, s.leads = true, c.sess.Caps().Leads
	r.ordered = ev.Flags&wire.Unordered == 0
	err := c.refuseLocked(r)
	if err == nil && c.streams.open >= c.lim.StreamsPerConn {
		err = refusal(rpc.ResourceExhausted, "too many streams on this connection")
	}
	if err == nil && c.unseen(ev) { // else interceptors see it first
		err = c.servable(r)
	}
	s.init(c.sess.Caps())
	c.streams.open++
	c.stint.spent += openCost
	c.listLocked(r)
	s.queues = r.ordered && c.turns.first != r
	if err != nil {
		s.finishLocked(refused(r, Public(nil, err, nil)), nil) // no user's code runs under the lock, a logger's neither
		return
	}
	c.opened = append(c.opened, s)
}

// beginStreamsLocked begins streams that were opened, as many as the stint has
// room for, each on a goroutine of its own: a stream's handler is expected to block.
func (c *ServerConn) beginStreamsLocked() {
	n := 0
	for ; n < len(c.opened) && (n == 0 || !c.stint.overLocked()); n++ {
		switch s := c.opened[n]; {
		case !s.r.is(queued): // it was given up since
		case c.account.crowdedLocked():
			c.account.total.refuse()
			s.finishLocked(errCrowded(), nil)
		default:
			s.r.enter(begun)
			c.stint.spent += beginCost
			c.staffLocked(1)
			go c.serveStream(s)
		}
	}
	c.opened = slices.Delete(c.opened, 0, n)
}

// serveStream runs the handler of a stream and ends it. It is a worker.
func (c *ServerConn) serveStream(s *serverStream) {
	err := c.admit(&s.r)
	if err == nil {
		err = c.runStream(s)
	}
	c.endStream(s, err)
}

// endStream ends a stream whose handler has, and its worker.
func (c *ServerConn) endStream(s *serverStream, err error) {
	r := &s.r
	err = c.public(r, r.outcome(err))
	c.out.Lock()
	list := s.finishLocked(err, nil)
	c.unlock()
	wake(list)
	s.drain()
	c.out.Lock()
	for !c.leave() {
		continue // it has flushed
	}
}

// finishLocked ends the stream with err, of which the peer is told in its turn. It adds
// those whose wait is over to list.
func (s *serverStream) finishLocked(err error, list *waiter) *waiter {
	c, r := s.c, &s.r
	s.ev.Err, _ = errors.AsType[*rpc.Error](err)
	if r.call != nil {
		s.ev.Trailer = r.call.Trailer
	}
	if !r.ordered {
		s.sayEndLocked()
	}
	s.dropLocked()
	r.enter(finished)
	if r.ordered {
		c.turnLocked()
	} else {
		c.exitLocked(r)
	}
	return s.stirLocked(list)
}

// sayEndLocked frames the end of a stream, whose turn it is if it has one.
func (s *serverStream) sayEndLocked() {
	c := s.c
	// The peer awaits the end even of a call that it gave up: its id is free then.
	_, err := s.appendLocked(wire.End, nil)
	if err != nil && s.ev.Err == nil {
		s.ev.Trailer, s.ev.Err = nil, &rpc.Error{Code: rpc.Internal, Msg: "the end of the stream could not be sent"}
		_, err = s.appendLocked(wire.End, nil)
	}
	for err != nil && lessen(&s.ev) {
		_, err = s.appendLocked(wire.End, nil)
	}
	if err != nil {
		c.unanswerableLocked()
	}
}

// comesUpLocked lets a stream send what the answers before it have held up.
func (s *serverStream) comesUpLocked() {
	if !s.queues {
		return
	}
	s.queues = false
	if list := s.stirLocked(nil); list != nil {
		s.c.spawnLocked(func() { wake(list) })
	}
}

// runStream runs the handler.
func (c *ServerConn) runStream(s *serverStream) (err error) {
	r := &s.r
	ctx := rpc.EngineOf(r.call).Begin(c.cfg.Base, r.deadline())
	c.out.Lock()
	s.stream.call, s.ctx = r.call, ctx
	gone := s.over
	c.unlock()
	stop := context.AfterFunc(ctx, s.cancel)
	if gone {
		rpc.EngineOf(r.call).End(context.Canceled)
	}
	rpc.EngineOf(r.call).SetStream(s)
	exits := true
	defer func() {
		stop()
		c.ran(r)
		if exits {
			go c.endStream(s, Exited(r.call, c.cfg.Logger)) // as the worker whose goroutine the handler has ended
		}
	}()
	if public := Handle(ctx, r.call, r.h.Serve, c.cfg.Logger); public != nil {
		err = public
	}
	exits = false
	return err
}

// cancel ends the stream's waits because its context has ended.
func (s *serverStream) cancel() {
	s.c.out.Lock()
	s.gone = true
	list := s.stirLocked(nil)
	s.c.unlock()
	wake(list)
}

// streamLocked takes an event of a stream. Of a peer that is known to be gone none is
// begun any more, and those that run are about to be lost.
func (c *ServerConn) streamLocked(ev *wire.Event, fx *aftermath) {
	if c.broken {
		return
	}
	if ev.Flags&wire.Open != 0 {
		c.openStreamLocked(ev)
	}
	r := c.requests.find(ev.ID)
	if r == nil || r.stream == nil {
		return
	}
	s := r.stream
	if ev.Flags&wire.Open == 0 || ev.Flags&(wire.Message|wire.End) != 0 {
		if err := s.arrivedLocked(ev); err != nil {
			if r.is(queued) || r.move(begun, givenUp) {
				err.Sent = rpc.Refused // it is not started any more
			}
			s.refuseLocked(err)
		}
	}
	if s.reset || ev.Flags&wire.Reset != 0 {
		c.giveUpLocked(r, givenUp, fx)
	}
	fx.woken = s.stirLocked(fx.woken)
}

// wroteLocked implements [side].
func (c *ServerConn) wroteLocked(*stream, int) {}

// enterUnpack implements [side]. It is enterZlib for a message of a stream.
func (c *ServerConn) enterUnpack(s *stream) (leave func(), err error) {
	places := c.cfg.Zlib
	if places == nil || c.cfg.Handlers == Inline {
		return func() {}, nil
	}
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-s.ctx.Done():
		return nil, s.interrupted()
	}
}

// stirredLocked implements [side].
func (c *ServerConn) stirredLocked() haste {
	c.nudgeLocked()
	wake(c.streams.passLocked(nil)) // none of these sends blocks
	return among(c.runningLocked() - 1)
}

// waitUnlocks implements [side]; the connection's workers read.
func (c *ServerConn) waitUnlocks(s *stream, w *waiter) {
	s.onLocked(w)
	c.unlockSent()
	<-w.ch
}
