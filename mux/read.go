package mux

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// lead reads the connection until the caller's own answer has come, and gives
// the answers of others out on the way. The caller holds the read role.
func (c *Conn) lead(ctx context.Context, r registered) error {
	if ctx.Done() != nil {
		// A kick that comes late costs the next leader one turn of its loop.
		defer context.AfterFunc(ctx, c.nc.Kick)()
	}
	owed := r.owes
	c.rest.resume()
	for {
		// The flush is Receive's: it reads first and so finds an end of the
		// connection or a goodbye before the request leaves, and after the
		// send only sleep is left to do.
		why, err := c.receive(owed)
		owed = false
		switch {
		case why == netio.Lost:
			c.deliver(r.slot, nil, shut)
			c.fail(err, r.slot)
			return c.own(r)
		case why == netio.Full:
			// Never park in a write while holding the read role: a peer that
			// writes much before it reads would wait for us for ever.
			over, _, _ := c.deliver(r.slot, nil, pass)
			flush(c.nc, false, c.spawn)
			if over {
				return c.own(r)
			}
			return c.follow(ctx, r)
		}
		switch over, _, full := c.deliver(r.slot, nil, keep); {
		case over:
			return c.own(r)
		case full:
			return c.follow(ctx, r)
		}
		if ctx.Err() != nil && r.slot.word.CompareAndSwap(word(r.id, waiting), word(r.id, gone)) {
			return c.abandon(ctx, r, true)
		}
	}
}

// receive is Receive that takes no failure to send for the end: what the peer has said
// last is read before that, since it may say what became of the calls.
func (c *Conn) receive(owed bool) (why netio.Outcome, err error) {
	why, err = c.nc.Receive(owed, c.step)
	if why != netio.Lost || c.unsends {
		return why, err
	}
	if e, ok := errors.AsType[*netio.Error](err); ok && e.Op == "send" {
		c.unsends = true
		abortSoon(c.nc)
		return netio.Kicked, nil
	}
	return why, err
}

// own takes the answer of a call whose slot is done.
func (c *Conn) own(r registered) error {
	s := r.slot
	err := s.err
	if s.answer != nil {
		c.openUp(r.id, s)
		err = c.fill(s.call, s.answer)
		s.answer.Body.Release()
		c.charge(s, -s.held)
	}
	c.slots.giveBack(s)
	return err
}

// readOn is the reader goroutine: it holds the read role until nobody waits.
func (c *Conn) readOn() {
	c.rest.resume()
	for over, owed, full := false, false, c.full(); !over; {
		if full {
			if owed {
				flush(c.nc, false, c.spawn)
				owed = false
			}
			c.awaitRelease()
		}
		if p := &c.streams.pace; p.pressed.Load() != nil {
			if owed {
				flush(c.nc, false, c.spawn)
				owed = false
			}
			c.rest.pause() // it is not the peer's doing
			p.wait(c.out, func() { c.unlock(false) })
			c.rest.resume()
		}
		why, err := c.receive(owed)
		switch why {
		case netio.Lost:
			c.deliver(nil, nil, shut)
			c.fail(err, nil)
			return
		case netio.Full:
			flush(c.nc, false, c.spawn)
		}
		over, owed, full = c.deliver(nil, nil, keep)
	}
}

// apartBytes is the size from which an answer is decoded by its caller, not by
// whoever reads the connection: others' answers may be right behind it.
const apartBytes = 32 << 10

// A fate is what becomes of the read role after a batch.
type fate uint8

const (
	keep fate = iota // kept until the leader is answered, or nobody waits
	pass             // passed on in any case
	shut             // the connection is lost: nobody reads any more
)

// deliver makes of the batch what is to be made of it, and sees to the read
// role, which the caller holds. own is the slot of a leader, mine what a
// stream's leader waits for; both are nil for the reader goroutine. It reports
// whether the caller is done: the leader answered, the reader without a role;
// owed: a reader that goes on has a flush to pay. full: what this side may hold
// is held; a leader has given the role to a reader, which waits before it reads on.
//
// Those whose answers came are woken one by another, in a chain of which the
// reader is the last: by its turn they have made their next calls, which it
// sends at once. So they run one after the other on one processor, unless one
// of them keeps it; then the rest of the chain is taken over by an idle one.
func (c *Conn) deliver(own *slot, mine *waiter, f fate) (over, owed, full bool) {
	fx := c.lookUp()
	answered := 0
	var woken chain
	for i := range c.batch.list {
		ev, s := &c.batch.list[i], c.found[i]
		if ev.Flags&(wire.Settings|wire.Ping|wire.GoAway) != 0 || ev.Flags&(wire.Credit|wire.Stream) == wire.Credit {
			fx = fx.and(c.apply(ev))
		}
		if ev.Flags&wire.HasLast != 0 {
			refused, mine := c.refuseAbove(ev.ID, own)
			fx, over = fx.and(refused), over || mine
		}
		switch {
		case s == nil:
		case s.word.CompareAndSwap(word(ev.ID, waiting), word(ev.ID, filling)):
			if ev.Body.Len() < apartBytes && ev.Flags&wire.Packed == 0 {
				s.err = c.fill(s.call, ev)
			} else {
				c.keep(s, ev)
			}
			s.word.Store(word(ev.ID, done))
			answered++
			switch {
			case s == own:
				over = true
			case s.apart: // its caller may wait for room, not for the answer
				s.done <- struct{}{}
				signal(c.granted)
			default:
				woken.add(s)
			}
		default:
			c.late(s, ev.ID)
		}
		ev.Body.Release()
		if ev.Flags&wire.Close != 0 {
			c.nc.Abort()
		}
	}
	c.batch.reset()

	c.out.Lock()
	c.life.inflight -= answered
	c.onTheWay = c.onTheWay && answered == 0
	c.reads++
	if mine != nil {
		over = !mine.on
	}
	leads := own != nil || mine != nil
	fx.tell = answered > 0 && c.knownLocked() || fx.tell
	if !leads && f == keep && woken.first != nil {
		wake(fx.wake)
		fx.wake, owed = nil, c.gatherLocked(&woken)
	}
	if full = f == keep && c.fullLocked(); full && leads {
		f = pass
	}
	fx = fx.and(c.life.settle(!leads || over, over, f))
	c.unreadLocked()
	c.restLocked()
	over = over || !leads && c.life.role != reader
	c.unlock(false)
	woken.start()     // after the unlock: who is woken finds the lock free
	if over && owed { // by a call that was given up since
		flush(c.nc, false, c.spawn)
		owed = false
	}
	c.carryOut(fx)
	return over, owed, full
}

// unreadLocked is called by who held the read role, before the unlock: while nobody
// has it, it is not the peer's doing that what it began is not whole.
func (c *Conn) unreadLocked() {
	if c.life.role == nobody {
		c.rest.pause()
	}
}

// gatherLocked wakes those of a chain and has the reader wait for its turn
// behind them. It reports whether a flush was left to it.
func (c *Conn) gatherLocked(woken *chain) (owed bool) {
	c.gathers = true
	c.unlock(false)
	woken.last.next = c.turn
	woken.start()
	<-c.turn
	c.out.Lock()
	owed = c.owed
	c.gathers, c.owed = false, false
	return owed
}

// lookUp finds the slots of the answers in the batch, in one critical section,
// and gives streams what is theirs: the waits that are over are its effects.
func (c *Conn) lookUp() (fx effects) {
	c.found = c.found[:0]
	if len(c.batch.list) == 0 {
		return fx
	}
	var woken *waiter
	c.out.Lock()
	c.account.turnLocked()
	for i := range c.batch.list {
		var s *slot
		if ev := &c.batch.list[i]; ev.Flags&wire.Stream != 0 {
			woken = c.streamLocked(ev, woken)
		} else if ev.Flags&wire.End != 0 {
			if s = c.slots.find(ev.ID); !c.caps.Mux && (s == nil || s.word.Load() != word(ev.ID, waiting) || ev.Flags&wire.Packed != 0) {
				s = c.onlyLocked(ev)
			}
			if s != nil && s.stream != nil {
				woken, s = c.misplacedLocked(ev, woken), nil
			}
		}
		c.found = append(c.found, s)
	}
	fx = c.life.met(woken)
	fx.kick = false // the caller is who leads
	c.unlock(false)
	return fx
}

// misplacedLocked ends a stream that was answered as if it were a call of one
// message: nobody waits for such an answer to it.
func (c *Conn) misplacedLocked(ev *wire.Event, list *waiter) *waiter {
	if ev.Err == nil {
		ev.Err = &rpc.Error{Code: rpc.DataLoss, Op: "call", Msg: "the peer has answered a stream with a message of no stream", Sent: rpc.Processed}
	}
	ev.Body.Release()
	ev.Body = buf.View{}
	ev.Flags = ev.Flags&^(wire.Message|wire.End) | wire.Stream | wire.Reset
	return c.streamLocked(ev, list)
}

// onlyLocked gives an answer with a strange id, on a connection that carries
// one call at a time, to that call: there is no other that it could be for. An
// error is believed, since some servers number theirs at will; of anything
// else it is not known what it answers. Of a packed one openUp judges.
func (c *Conn) onlyLocked(ev *wire.Event) *slot {
	for _, s := range c.slots.all {
		if w := s.word.Load(); state(w&0xff) == waiting {
			if ev.Err == nil && ev.Flags&wire.Packed == 0 {
				ev.Err = errStrange()
				ev.Flags |= wire.Close
			}
			ev.ID = w >> 8
			return s
		}
	}
	return nil
}

// errStrange is the error of a call that a strange answer came for.
func errStrange() *rpc.Error {
	return &rpc.Error{Code: rpc.DataLoss, Op: "call", Msg: "the answer has another call's id", Sent: rpc.Processed}
}

// apply takes what the peer said about the connection into effect.
func (c *Conn) apply(ev *wire.Event) (fx effects) {
	c.out.Lock()
	out := c.out.Out()
	before := out.Len()
	c.s.Apply(out, ev)
	c.appended += uint64(out.Len() - before)
	if ev.Flags&wire.Settings != 0 {
		c.knownLocked()
		fx.tell = true
	}
	if ev.Flags&wire.GoAway != 0 {
		fx = fx.and(c.life.close(leaving))
	}
	c.unlock(false)
	if ev.Flags&wire.Credit != 0 {
		signal(c.granted)
	}
	return fx
}

// knownLocked ends the wait for the peer's hello: it has said it, or it has
// answered without one and will not. It reports whether that is news.
func (c *Conn) knownLocked() (news bool) {
	select {
	case <-c.ready:
		return false
	default:
	}
	c.caps = c.s.Caps()
	c.caps.Pending = false
	close(c.ready)
	return true
}

// late frees the slot of an abandoned call whose answer has come after all.
// Anything else is an answer to nothing and is ignored.
func (c *Conn) late(s *slot, id uint64) {
	if !s.word.CompareAndSwap(word(id, gone), word(id, done)) {
		return
	}
	c.out.Lock()
	c.life.abandoned--
	c.slots.put(s)
	c.unlock(false)
}

// fill decodes an answer into its call. A codec that panics fails the call.
func (c *Conn) fill(call *rpc.Call, ev *wire.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &rpc.Error{Code: rpc.Internal, Op: "decode response", Peer: c.peer, Sent: rpc.Processed,
				Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	call.Trailer = ev.Trailer
	if ev.Err != nil {
		e := *ev.Err
		e.Peer = c.peer
		return &e
	}
	if ev.Method != call.Method.Name {
		return &rpc.Error{Code: rpc.DataLoss, Op: "call", Peer: c.peer, Sent: rpc.Processed,
			Msg: fmt.Sprintf("%q was answered, %q was called", ev.Method, call.Method.Name)}
	}
	call.Method.NoteResponse(ev.Body.Len())
	rpc.EngineOf(call).SetEncoding(ev.Encoding)
	declared, err := rpc.EngineOf(call).DecodeResponse(ev.Body, c.lim)
	if err != nil {
		return &rpc.Error{Code: rpc.CodeOf(coded(err, rpc.Internal, "")), Op: "decode response", Peer: c.peer, Sent: rpc.Processed, Err: err}
	}
	return declared
}
