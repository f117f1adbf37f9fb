package mux

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A clientStream is the client's side of a stream.
type clientStream struct {
	stream
	c    *Conn
	slot *slot
	id   uint64
}

// doStream makes a call of several messages: it opens the stream, lets the
// call drive it, and ends it.
func (c *Conn) doStream(ctx context.Context, call *rpc.Call) error {
	s, err := c.openStream(ctx, call)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, s.cancel)
	over := false
	defer func() {
		if !over { // the caller's own code panicked
			stop()
			s.finish(nil) //nolint:errcheck // there is a panic to tell of
		}
	}()
	err = rpc.EngineOf(call).Drive(ctx, s)
	over = true
	stop()
	return s.finish(err)
}

// openStream takes a slot. What the peer is told of it goes with the first message.
func (c *Conn) openStream(ctx context.Context, call *rpc.Call) (*clientStream, error) {
	timeout, err := c.remaining(ctx)
	if err != nil {
		return nil, err
	}
	s := &clientStream{c: c}
	s.h, s.call, s.ctx, s.first = &c.half, call, ctx, wire.Open
	rpc.EngineOf(call).SetEncoding(c.enc)
	s.lone = call.Method.Kind == rpc.ServerStream
	c.out.Lock()
	defer c.unlock()
	if err = c.refuseStreamLocked(); err == nil && c.caps.Calls > 0 {
		err = c.awaitPlaceLocked(ctx, c.refuseStreamLocked, &timeout)
	}
	if err != nil {
		return nil, err
	}
	s.init(c.caps) // those of the offer while the peer is silent: its hello may come yet
	if s.slot = c.slots.take(call); s.slot == nil {
		c.letInLocked()
		return nil, c.exhausted(errIDs)
	}
	s.id = s.slot.id()
	s.slot.stream = s
	s.slot.end, s.slot.size = c.appended, 0
	s.ev = wire.Event{ID: s.id, Timeout: timeout, Service: call.Service, Method: call.Method.Name, Header: call.Header}
	c.streams.open++
	c.streamed = true
	c.peekLocked() // it may send for long before it receives
	return s, nil
}

// refuseStreamLocked says why no stream can be opened now.
func (c *Conn) refuseStreamLocked() error {
	switch {
	case c.life.door != open:
		return c.refuseLocked()
	case c.caps.Exclusive && (c.life.inflight > 0 || c.streams.open > 0):
		return c.refuseLocked()
	case c.streams.open >= c.lim.StreamsPerConn:
		return c.exhausted("too many streams on one connection")
	case c.account.crowdedLocked():
		return c.refuseLocked()
	case !c.sess.Caps().Streams:
		return &rpc.Error{Code: rpc.Unimplemented, Op: "call", Peer: c.peer, Sent: rpc.NotSent, Msg: "this connection carries no streams"}
	}
	return nil
}

// cancel ends the stream's waits because its context has ended.
func (s *clientStream) cancel() {
	c := s.c
	c.out.Lock()
	s.gone = true
	fx := c.life.met(s.stirLocked(nil)).and(c.life.unread())
	c.unlock()
	c.carryOut(fx)
}

// finish ends the stream after its caller has driven it; err is what that
// returned.
func (s *clientStream) finish(err error) error {
	c := s.c
	c.out.Lock()
	var fx effects
	switch {
	case c.life.door == dead || !s.opened:
		c.slots.put(s.slot)
	case s.ended && !s.reset:
		if !s.sendDone {
			s.appendLocked(wire.End, nil) //nolint:errcheck // the peer has ended the call already
		}
		c.slots.put(s.slot)
	default:
		if !s.reset {
			s.resetLocked(&rpc.Error{Code: rpc.CodeOf(cmp.Or[error](s.ctx.Err(), rpc.Canceled))})
		}
		if c.caps.Exclusive { // what follows on the connection could be for this call
			fx = c.life.close(leaving)
			defer c.nc.Abort()
		}
		if c.final {
			c.slots.put(s.slot)
			break
		}
		s.slot.word.Store(word(s.id, gone))
		s.slot.call, s.slot.stream = nil, nil
		fx = fx.and(c.life.overdue(c.lim.Abandoned))
	}
	if err == nil && s.ended {
		err = s.err
	}
	if s.opened && (s.err == nil || !errors.Is(err, s.err)) {
		err = Begun(c.peer, err)
	}
	s.call.Trailer = s.trailer
	s.dropLocked()
	fx = fx.and(c.life.met(s.stirLocked(nil))).and(c.life.unread()).and(c.life.idle())
	c.letInLocked()
	c.unlockSent()
	c.carryOut(fx) // first: who is woken may hold what drain takes
	s.drain()
	if errors.Is(err, rpc.ErrStopped) {
		return nil
	}
	return err
}

// wroteLocked implements [side].
func (c *Conn) wroteLocked(s *stream, before int) {
	n := uint64(c.out.Out().Len() - before)
	c.appended += n
	if sl := c.slots.find(s.ev.ID); !s.opened && sl != nil {
		sl.size, sl.end = n, c.appended
	}
}

// enterUnpack implements [side]: who receives is this side's own.
func (c *Conn) enterUnpack(*stream) (leave func(), err error) { return func() {}, nil }

// stirredLocked implements [side]: nobody but another stream waits for what one releases.
func (c *Conn) stirredLocked() haste {
	if list := c.streams.passLocked(nil); list != nil {
		fx := c.life.met(list)
		c.spawnLocked(func() { c.carryOut(fx) })
	}
	return among(c.life.inflight + c.streams.open - 1)
}

// silence is how long a sender waits for the hello of a peer that says nothing
// at all: some say nothing before the handler does, which may wait for more.
const silence = time.Second

// supposeLocked has the peer count as one of another kind if it stays silent. A
// hello that comes after all is heeded.
func (c *Conn) supposeLocked() {
	if c.supposing.armed {
		return
	}
	c.supposing.start(silence, func() {
		c.out.Lock()
		var woken *waiter
		if c.life.door != dead && c.sess.Caps().Pending {
			var n int
			n, woken = c.applyLocked(&wire.Event{Flags: wire.Settings}, nil)
			c.appended += uint64(n)
		}
		fx := c.life.met(woken)
		c.unlock()
		c.carryOut(fx)
	})
}

// waitUnlocks implements [side]: who waits for the peer leads, if nobody reads.
func (c *Conn) waitUnlocks(s *stream, w *waiter) {
	if c.life.door == dead {
		c.unlock()
		return // the stream has ended by then, or is about to
	}
	if w == &s.send && c.sess.Caps().Pending {
		c.supposeLocked()
	}
	s.onLocked(w)
	leads, fx := c.life.await(w, !c.fullLocked())
	c.watchLocked()
	others := among(c.life.inflight - 1)
	flusher := c.out.Unlock()
	c.carryOut(fx)
	if leads {
		c.leadStream(w, flusher)
		return
	}
	if flusher {
		c.flush(others)
	}
	<-w.ch
}

// streamLocked takes an event of a stream. It returns those whose wait is over.
func (c *Conn) streamLocked(ev *wire.Event, list *waiter) *waiter {
	sl := c.slots.find(ev.ID)
	if sl == nil {
		return list
	}
	switch sl.word.Load() {
	case word(ev.ID, waiting):
		if s := sl.stream; s != nil {
			if err := s.arrivedLocked(ev); err != nil {
				s.refuseLocked(err)
			}
			return s.stirLocked(list)
		}
	case word(ev.ID, gone):
		if ev.Flags&(wire.End|wire.Reset) != 0 {
			c.life.abandoned--
			c.slots.put(sl)
		}
	}
	return list
}

// peekEvery is how long the messages of open streams may wait in the socket
// while nobody reads: the peer may have ended a stream that is sent to.
const peekEvery = 10 * time.Millisecond

// A peek is a reader that looks what has come on a connection that nobody reads.
type peek struct {
	alarm
	batches uint32 // that were read
	seen    uint32 // batches when the alarm was set
}

// peekLocked has a reader look now and then if nobody reads and streams are open.
func (c *Conn) peekLocked() {
	if p := &c.peek; c.streams.open > 0 && !p.armed && c.life.role == nobody {
		p.seen = p.batches
		if !p.again(peekEvery) {
			p.start(peekEvery, c.peekNow)
		}
	}
}

// peekNow starts a reader if nobody has read lately.
func (c *Conn) peekNow() {
	p := &c.peek
	c.out.Lock()
	var fx effects
	switch {
	case c.life.role != nobody || c.streams.open == 0:
		p.armed = false
	case p.seen != p.batches:
		p.seen = p.batches
		p.again(peekEvery)
	default:
		p.armed = false
		fx = c.life.read()
	}
	c.unlock()
	c.carryOut(fx)
}
