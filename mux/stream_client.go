package mux

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/limosa-rpc/limosa/netio"
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
	err = call.Drive(ctx, s)
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
	s.host, s.out, s.sess, s.lim, s.peer, s.call, s.ctx, s.first = c, c.out, c.s, c.lim, c.peer, call, ctx, wire.Open
	s.lone = call.Method.Kind == rpc.ServerStream
	c.out.Lock()
	defer c.unlock(false)
	if err := c.refuseStreamLocked(); err != nil {
		return nil, err
	}
	s.init(&c.streams, c.s.Caps())
	s.slot = c.slots.take(call)
	s.id = s.slot.id()
	s.slot.stream = s
	s.slot.end, s.slot.size = c.appended, 0
	s.ev = wire.Event{ID: s.id, Timeout: timeout, Service: call.Service, Method: call.Method.Name, Header: call.Header}
	c.streams.open++
	c.streamed = true
	if c.role == nobody {
		c.restLocked() // it may send for long before it receives
	}
	return s, nil
}

// refuseStreamLocked says why no stream can be opened now.
func (c *Conn) refuseStreamLocked() error {
	switch {
	case c.err != nil || c.leaving || c.hungUp:
		return c.refuseLocked()
	case c.streams.open >= c.lim.StreamsPerConn || c.inflight+c.streams.open+c.abandoned > indexMask:
		return &rpc.Error{Code: rpc.ResourceExhausted, Op: "call", Peer: c.peer, Sent: rpc.NotSent, Msg: "too many streams on one connection"}
	case !c.s.Caps().Streams:
		return &rpc.Error{Code: rpc.Unimplemented, Op: "call", Peer: c.peer, Sent: rpc.NotSent, Msg: "this connection carries no streams"}
	}
	return nil
}

// cancel ends the stream's waits because its context has ended.
func (s *clientStream) cancel() {
	c := s.c
	c.out.Lock()
	s.gone = true
	list, kick := c.metLocked(s.stirLocked(nil))
	kick = kick || c.inflight == 0 && c.role == reader // it has nobody to read for
	c.unlock(false)
	wake(list)
	if kick {
		c.nc.Kick()
	}
}

// metLocked counts those in list out, who wait no longer. Who of them reads the
// connection finds out by itself, once it is kicked.
func (c *Conn) metLocked(list *waiter) (rest *waiter, leads bool) {
	for list != nil {
		w := list
		list, w.next = w.next, nil
		c.inflight--
		if w == c.leading {
			leads = true
			continue
		}
		w.next, rest = rest, w
	}
	return rest, leads
}

// finish ends the stream after its caller has driven it; err is what that
// returned.
func (s *clientStream) finish(err error) error {
	c := s.c
	c.out.Lock()
	lost := c.err != nil
	switch {
	case lost || !s.opened:
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
		s.slot.word.Store(word(s.id, gone))
		s.slot.call, s.slot.stream = nil, nil
		c.abandoned++
		c.leaving = c.leaving || c.abandoned > c.lim.Abandoned
	}
	if err == nil && s.ended {
		err = s.err
	}
	s.call.Trailer = s.trailer
	s.dropLocked()
	list, kick := c.metLocked(s.stirLocked(nil))
	kick = kick || c.inflight == 0 && c.role == reader // it has nobody to read for
	ends := c.streams.open == 0 && c.inflight == 0 && c.role == nobody && (c.leaving || c.hungUp)
	c.releaseLocked(false)
	wake(list)
	if kick {
		c.nc.Kick()
	}
	s.drain()
	if ends {
		c.end()
	}
	if errors.Is(err, rpc.ErrStopped) {
		return nil
	}
	return err
}

// wroteLocked is streamHost's method.
func (c *Conn) wroteLocked(s *stream, before int) {
	n := uint64(c.out.Out().Len() - before)
	c.appended += n
	if sl := c.slots.find(s.ev.ID); !s.opened && sl != nil {
		sl.size, sl.end = n, c.appended
	}
}

// releaseLocked is streamHost's method. More messages are to come: they share
// the send of a goroutine that does not run yet.
func (c *Conn) releaseLocked(later bool) {
	others := c.inflight+c.streams.open > 1
	owes := c.out.ClaimLocked()
	if owes && later && c.err == nil {
		owes = false
		c.work.Go(func() {
			runtime.Gosched()
			flush(c.nc, false, c.spawn)
		})
	}
	c.out.Unlock()
	if owes {
		flush(c.nc, others, c.spawn)
	}
}

// silence is how long a sender waits for the hello of a peer that says nothing
// at all: some say nothing before the handler does, which may wait for more.
const silence = time.Second

// supposeLocked has the peer count as one of another kind if it stays silent. A
// hello that comes after all is heeded.
func (c *Conn) supposeLocked() {
	if c.supposed {
		return
	}
	c.supposed = true
	c.supposing = time.AfterFunc(silence, func() {
		c.out.Lock()
		var woken *waiter
		if c.err == nil && c.s.Caps().Pending {
			c.s.Apply(c.out.Out(), &wire.Event{Flags: wire.Settings})
			for _, s := range c.slots.all {
				if s.stream != nil {
					woken = s.stream.stirLocked(woken)
				}
			}
		}
		woken, kick := c.metLocked(woken)
		c.unlock(false)
		wake(woken)
		if kick {
			c.nc.Kick()
		}
	})
}

// awaitLocked is streamHost's method: who waits for the peer leads, if nobody
// reads.
func (c *Conn) awaitLocked(s *stream, w *waiter) {
	if c.err != nil {
		c.unlock(false)
		return // the stream has ended by then, or is about to
	}
	if w == &s.room && c.s.Caps().Pending {
		c.supposeLocked()
	}
	w.on = true
	c.inflight++
	leads := c.role == nobody
	if leads {
		c.role, c.leading = caller, w
	}
	others := c.inflight > 1
	owes := c.out.Unlock()
	if leads {
		c.leadStream(w, owes)
		return
	}
	if owes {
		flush(c.nc, others, c.spawn)
	}
	<-w.ch
}

// leadStream reads the connection until w is off. The caller holds the read role.
func (c *Conn) leadStream(w *waiter, owed bool) {
	for {
		why, err := c.nc.Receive(owed, c.step)
		owed = false
		switch {
		case why == netio.Lost:
			over, _ := c.deliver(nil, w, shut)
			c.fail(err, nil)
			if !over {
				<-w.ch
			}
			return
		case why == netio.Full:
			over, _ := c.deliver(nil, w, pass)
			flush(c.nc, false, c.spawn)
			if !over {
				<-w.ch
			}
			return
		}
		if over, _ := c.deliver(nil, w, keep); over {
			return
		}
	}
}

// streamLocked takes an event of a stream. It returns those whose wait is over.
func (c *Conn) streamLocked(ev *wire.Event, list *waiter) *waiter {
	if ev.Flags&wire.Credit != 0 {
		c.s.Apply(c.out.Out(), ev)
	}
	sl := c.slots.find(ev.ID)
	if sl == nil {
		return list
	}
	switch sl.word.Load() {
	case word(ev.ID, waiting):
		if s := sl.stream; s != nil {
			s.arrivedLocked(ev)
			return s.stirLocked(list)
		}
	case word(ev.ID, gone):
		if ev.Flags&(wire.End|wire.Reset) != 0 {
			c.abandoned--
			c.slots.put(sl)
		}
	}
	return list
}

// lookAgain is how long the messages of open streams may wait in the socket
// while nobody reads: the peer may have ended a stream that is sent to.
const lookAgain = 10 * time.Millisecond

// restLocked notes that nobody reads any more. While streams are open, a reader
// looks now and then.
func (c *Conn) restLocked() {
	if c.streams.open == 0 || c.looking {
		return
	}
	c.looking = true
	c.looked = c.reads
	if c.look == nil {
		c.look = time.AfterFunc(lookAgain, c.lookNow)
	} else {
		c.look.Reset(lookAgain)
	}
}

// lookNow starts a reader if nobody has read lately.
func (c *Conn) lookNow() {
	c.out.Lock()
	defer c.unlock(false)
	switch {
	case c.role != nobody || c.streams.open == 0 || c.err != nil:
		c.looking = false
	case c.looked != c.reads:
		c.looked = c.reads
		c.look.Reset(lookAgain)
	default:
		c.looking = false
		c.role = reader
		c.work.Go(c.readOn)
	}
}
