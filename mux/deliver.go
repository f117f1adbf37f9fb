package mux

import (
	"fmt"
	"runtime/debug"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// apartBytes is the size from which an answer is decoded by its caller, not by
// whoever reads the connection: others' answers may be right behind it.
const apartBytes = 32 << 10

// delivered is what deliver has come to.
type delivered struct {
	over bool // the holder is done: the leader answered, the reader without a role
	owed bool // a holder that goes on has a flush to pay
	shut bool // the connection is to be closed
	full bool // this side holds what it may: a leader has given the role to a reader, which waits before it reads on
}

// A delivery is a batch that is being given out.
type delivery struct {
	delivered
	leader   leader
	fx       effects
	answered int
	woken    chain
}

// deliver makes of the batch what is to be made of it, and sees to the read role,
// which the caller holds: l, or the reader goroutine.
//
// Those whose answers came are woken one by another, in a chain of which the
// reader is the last: by its turn they have made their next calls, which it
// sends at once. So they run one after the other on one processor, unless one
// of them keeps it; then the rest of the chain is taken over by an idle one.
func (c *Conn) deliver(l leader, after roleAfter) delivered {
	d := delivery{leader: l}
	c.lookUp(&d)
	for i := range c.batch.list {
		c.giveOut(&d, &c.batch.list[i], c.found[i])
	}
	c.batch.reset()
	c.settle(&d, after)
	return d.delivered
}

// giveOut gives an event to the call that it answers, whose slot s is. What is a
// stream's or the connection's, lookUp has given to it.
func (c *Conn) giveOut(d *delivery, ev *wire.Event, s *slot) {
	if ev.Flags&wire.HasLast != 0 {
		fx, over := c.refuseAbove(ev.ID, d.leader.slot)
		d.fx, d.over = d.fx.and(fx), d.over || over
	}
	switch {
	case s == nil:
	case s.word.CompareAndSwap(word(ev.ID, waiting), word(ev.ID, filling)):
		if ev.Body.Len() < apartBytes && ev.Flags&wire.Packed == 0 {
			s.err = c.fill(s.call, ev, func() { c.holderExits(d, ev, s) })
		} else {
			c.keep(s, ev)
		}
		s.word.Store(word(ev.ID, done))
		d.answered++
		switch {
		case s == d.leader.slot:
			d.over = true
		case s.apart: // its caller may wait for credit, not for the answer
			s.done <- struct{}{}
			c.granted.raise()
		default:
			d.woken.add(s)
		}
	default:
		c.late(s, ev.ID)
	}
	ev.Body.Release()
	d.shut = d.shut || ev.Flags&wire.Close != 0
}

// holderExits ends the connection of a holder of the read role whose goroutine a codec
// has ended in the middle of a batch, while it decoded the answer ev for the slot s.
func (c *Conn) holderExits(d *delivery, ev *wire.Event, s *slot) {
	s.err = &rpc.Error{Code: rpc.Internal, Op: "decode response", Peer: c.peer, Sent: rpc.Processed, Msg: "the codec has ended its goroutine"}
	s.word.Store(word(ev.ID, done))
	d.answered++
	if s != d.leader.slot {
		s.done <- struct{}{}
	}
	for i, left := 0, false; i < len(c.batch.list); i++ {
		if left = left || &c.batch.list[i] == ev; left { // those before it were seen to
			c.batch.list[i].Body.Release()
		}
	}
	c.batch.reset()
	last := *d // d is the goroutine's that ends
	c.work.Go(func() {
		c.settle(&last, closeRole)
		c.fail(errExits, nil)
	})
}

// settle counts the answers of a delivery out, decides in the same critical section
// who reads from now on, and wakes those whose answers came.
func (c *Conn) settle(d *delivery, after roleAfter) {
	c.out.Lock()
	c.life.inflight -= d.answered
	c.onTheWay = c.onTheWay && d.answered == 0
	c.peek.batches++
	d.fx.tell = d.answered > 0 && c.knownLocked() || d.fx.tell
	if w := d.leader.wait; w != nil {
		d.over = !w.on
	}
	h := readerHolds
	switch {
	case d.leader.none():
		if after == keepRole && d.woken.first != nil {
			wake(d.fx.wake)
			d.fx.wake = nil
			d.owed = c.gatherLocked(&d.woken) || d.owed
		}
	case d.over:
		h = leaderLeaves
	default:
		h = leaderWaits
	}
	if d.full = after == keepRole && c.fullLocked(); d.full && h != readerHolds {
		after = passRole
	}
	d.fx = d.fx.and(c.life.settle(h, after))
	c.pauseUnreadLocked()
	c.peekLocked()
	c.listenLocked()
	c.letInLocked()
	d.over = d.over || h == readerHolds && c.life.role != reader
	c.unlock()
	d.woken.start()                            // after the unlock: who is woken finds the lock free
	if d.over || d.shut || after != keepRole { // who reads from now on owes nothing
		d.owed = c.payFirst(d.owed)
	}
	if d.shut && !c.parting {
		c.nc.Abort()
	}
	c.carryOut(d.fx)
}

// pauseUnreadLocked is called by who held the read role, before the unlock: while nobody
// has it, it is not the peer's doing that what it began is not whole.
func (c *Conn) pauseUnreadLocked() {
	if c.life.role == nobody {
		c.frames.pause()
	}
}

// gatherLocked wakes those of a chain and has the reader wait for its turn
// behind them. It reports whether a flush was left to it.
func (c *Conn) gatherLocked(woken *chain) (owed bool) {
	c.gathers = true
	c.unlock()
	woken.last.next = c.turn
	woken.start()
	<-c.turn
	c.out.Lock()
	owed = c.owed
	c.gathers, c.owed = false, false
	return owed
}

// lookUp has what the batch says about the connection take effect, finds the slots
// of its answers, and gives streams what is theirs: all in one critical section, event
// by event. The waits that are over are effects of d.
//
// What the session answers to settings leaves at once, since the peer may wait for it.
// The rest, acknowledgements and credit, leaves with the calls that follow.
func (c *Conn) lookUp(d *delivery) {
	c.found = c.found[:0]
	if len(c.batch.list) == 0 {
		return
	}
	var woken *waiter
	settings := false
	c.out.Lock()
	c.account.turnLocked()
	for i := range c.batch.list {
		var s *slot
		ev := &c.batch.list[i]
		if ev.Flags&wire.Applied != 0 {
			settings = settings || ev.Flags&wire.Settings != 0
			woken = c.takeLocked(ev, d, woken)
		}
		if ev.Flags&wire.Stream != 0 {
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
	fx := c.life.met(woken)
	fx.kick = false // the caller is who leads
	d.fx = d.fx.and(fx)
	if d.owed = c.out.ClaimLocked(); d.owed && settings {
		c.out.Unlock()
		d.owed = c.payFirst(true)
		return
	}
	c.out.Unlock()
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

// takeLocked takes what the peer said about the connection into effect. It adds those
// whose waits are over to list.
func (c *Conn) takeLocked(ev *wire.Event, d *delivery, list *waiter) *waiter {
	flags := ev.Flags
	n, list := c.applyLocked(ev, list)
	flags |= ev.Flags & wire.Close // which the session may find out only now
	c.appended += uint64(n)
	if n > 0 && flags&wire.Close != 0 {
		c.parting = true
		d.fx = d.fx.and(c.life.close(leaving)) // what is queued behind the last word might leave as well
	}
	if flags&wire.Settings != 0 {
		if !c.knownLocked() {
			c.caps = c.sess.Caps()
		}
		d.fx.tell = true
	}
	if flags&wire.GoAway != 0 {
		d.fx = d.fx.and(c.life.close(leaving))
	}
	return list
}

// knownLocked ends the wait for the peer's hello: it has said it, or it has
// answered without one and will not. It reports whether that is news.
func (c *Conn) knownLocked() (news bool) {
	select {
	case <-c.ready:
		return false
	default:
	}
	c.caps = c.sess.Caps()
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
	if !c.final {
		c.life.abandoned--
	}
	c.slots.put(s)
	c.unlock()
}

// fill decodes an answer into its call. A codec that panics fails the call. If it ends
// the goroutine, exits is called on that.
func (c *Conn) fill(call *rpc.Call, ev *wire.Event, exits func()) (err error) {
	err = errExits // until something is returned
	defer func() {
		if p := recover(); p != nil {
			err = &rpc.Error{Code: rpc.Internal, Op: "decode response", Peer: c.peer, Sent: rpc.Processed,
				Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
		if err == errExits {
			exits()
		}
	}()
	call.Trailer = ev.Trailer
	if ev.Err != nil {
		e := *ev.Err
		e.Peer = c.peer
		return &e
	}
	if ev.Method != call.Method.Name && !c.unnamed {
		return &rpc.Error{Code: rpc.DataLoss, Op: "call", Peer: c.peer, Sent: rpc.Processed,
			Msg: fmt.Sprintf("%q was answered, %q was called", ev.Method, call.Method.Name)}
	}
	rpc.HintsOf(call.Method).NoteResponse(ev.Body.Len())
	rpc.EngineOf(call).SetEncoding(ev.Encoding)
	declared, err := rpc.EngineOf(call).DecodeResponse(ev.Body, c.lim)
	if err != nil {
		return &rpc.Error{Code: rpc.CodeOf(coded(err, rpc.Internal, "")), Op: "decode response", Peer: c.peer, Sent: rpc.Processed, Err: err}
	}
	return declared
}
