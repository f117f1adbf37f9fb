package mux

import (
	"context"
	"errors"
	"runtime"
	"time"

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

// openStreamLocked begins the call that ev opens, on a goroutine of its own: a
// stream's handler is expected to block.
func (c *ServerConn) openStreamLocked(ev *wire.Event) {
	s := &serverStream{c: c}
	r := &s.r
	r.ev, r.timed = *ev, false
	r.h, r.why, _ = c.cfg.Route(ev.Service, ev.Method)
	r.err = c.roomLocked()
	switch _, twice := c.open[ev.ID]; {
	case twice:
		return // the peer has lost count; what it sends goes to the first
	case r.err == nil && c.streams.open >= c.cfg.Limits.StreamsPerConn:
		r.err = refusal(rpc.ResourceExhausted, "too many streams on this connection")
	}
	s.host, s.out, s.sess, s.lim, s.peer, s.ctx = c, c.out, c.s, c.cfg.Limits, c.peer, c.cfg.Base
	s.ev = wire.Event{ID: ev.ID, Tag: ev.Tag, Method: ev.Method}
	s.opened = true
	s.init(&c.streams, c.s.Caps())
	c.streams.open++
	if c.open == nil {
		c.open = make(map[uint64]*serverStream)
	}
	c.open[ev.ID] = s
	c.enterLocked(r)
	c.workers++
	go func() {
		c.serveStream(s)
		for !c.leaveLocked() {
			continue // it has flushed
		}
	}()
}

// serveStream runs the handler of a stream and ends it. It returns with the
// lock held.
func (c *ServerConn) serveStream(s *serverStream) {
	r := &s.r
	err := r.err
	if err == nil {
		err = c.admit(r)
	}
	if err == nil {
		err = c.runStream(s)
	}
	var told *rpc.Error
	if err = c.public(r, err); err != nil {
		told, _ = errors.AsType[*rpc.Error](err)
	}
	c.out.Lock()
	s.ev.Err = told
	if r.call != nil {
		s.ev.Trailer = r.call.Trailer
	}
	// The peer awaits the end even of a call that it gave up: its id is free then.
	if _, err := s.appendLocked(wire.End, nil); err != nil {
		s.ev.Trailer, s.ev.Err = nil, &rpc.Error{Code: rpc.Internal, Msg: "the end of the stream could not be sent"}
		if _, err = s.appendLocked(wire.End, nil); err != nil {
			c.spawnLocked(c.nc.Abort) // its caller would wait for ever; Abort takes the lock
		}
	}
	s.dropLocked()
	delete(c.open, s.ev.ID)
	list := s.stirLocked(nil)
	c.exitLocked(r)
	c.unlock()
	wake(list)
	s.drain()
	c.out.Lock()
}

// runStream runs the handler.
func (c *ServerConn) runStream(s *serverStream) error {
	r := &s.r
	var deadline time.Time
	if r.ev.Timeout > 0 {
		deadline = time.Now().Add(r.ev.Timeout)
	}
	ctx := r.call.Begin(c.cfg.Base, deadline)
	c.out.Lock()
	s.stream.call, s.ctx = r.call, ctx
	gone := s.over
	c.unlock()
	stop := context.AfterFunc(ctx, s.cancel)
	if gone {
		r.call.End(context.Canceled)
	}
	r.call.SetStream(s)
	err := Handle(ctx, r.call, r.h.Serve, c.cfg.Logger)
	stop()
	r.call.End(context.Canceled)
	r.call.Release()
	if c.cfg.Gate != nil {
		c.cfg.Gate.Leave()
	}
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

// streamLocked takes an event of a stream. It returns those whose wait is over.
func (c *ServerConn) streamLocked(ev *wire.Event, list *waiter) *waiter {
	if ev.Flags&wire.Credit != 0 {
		c.s.Apply(c.out.Out(), ev)
	}
	if ev.Flags&wire.Open != 0 {
		c.openStreamLocked(ev)
	}
	s := c.open[ev.ID]
	if s == nil {
		ev.Body.Release()
		ev.Body = buf.View{}
		return list
	}
	if ev.Flags&wire.Open == 0 || ev.Flags&(wire.Message|wire.End) != 0 {
		s.arrivedLocked(ev)
	}
	if call := s.call; s.reset && call != nil && !s.gone {
		c.spawnLocked(func() { call.End(context.Canceled) }) // which takes the lock
	}
	return s.stirLocked(list)
}

// loseLocked ends all streams of a connection from which nothing more comes.
func (c *ServerConn) loseLocked(list *waiter) *waiter {
	for _, s := range c.open {
		s.endLocked(rpc.Errorf(rpc.Unavailable, "the connection was lost"))
		list = s.stirLocked(list)
	}
	return list
}

// wroteLocked is streamHost's method.
func (c *ServerConn) wroteLocked(*stream, int) {}

// releaseLocked is streamHost's method. More messages are to come: they share
// the send of a goroutine that does not run yet.
func (c *ServerConn) releaseLocked(later bool) {
	others := c.count > 1
	owes := c.out.ClaimLocked()
	if owes && later {
		owes = false
		c.spawnLocked(func() {
			runtime.Gosched()
			flush(c.nc, false, c.spawn)
		})
	}
	c.out.Unlock()
	if owes {
		flush(c.nc, others, c.spawn)
	}
}

// awaitLocked is streamHost's method; the connection's workers read.
func (c *ServerConn) awaitLocked(_ *stream, w *waiter) {
	w.on = true
	others := c.count > 1
	if c.out.Unlock() {
		flush(c.nc, others, c.spawn)
	}
	<-w.ch
}
