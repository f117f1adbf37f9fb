package mux

import (
	"cmp"
	"context"
	"errors"

	"github.com/limosa-rpc/limosa/netio"
)

// lead reads the connection until the caller's own answer has come, and gives
// the answers of others out on the way. The caller holds the read role.
func (c *Conn) lead(ctx context.Context, r registered) error {
	if ctx.Done() != nil {
		// A kick that comes late costs the next leader one turn of its loop.
		defer context.AfterFunc(ctx, c.nc.Kick)()
	}
	c.frames.resume()
	for owed := r.flusher; ; {
		var p progress
		switch p, owed = c.leadOn(leader{slot: r.slot}, owed); p {
		case ownCame:
			return c.own(r)
		case rolePassed:
			r.leads = false
			return c.follow(ctx, r)
		}
		if ctx.Err() != nil && r.slot.word.CompareAndSwap(word(r.id, waiting), word(r.id, gone)) {
			c.payFirst(owed)
			return c.abandon(ctx, r)
		}
	}
}

// leadStream reads the connection until w is off. The caller holds the read role.
func (c *Conn) leadStream(w *waiter, owed bool) {
	for c.frames.resume(); ; {
		var p progress
		switch p, owed = c.leadOn(leader{wait: w}, owed); p {
		case ownCame:
			return
		case rolePassed:
			<-w.ch
			return
		}
	}
}

// A leader is a caller that holds the read role: a call or a wait of a stream, of
// which only the one is set. Neither is for the reader goroutine.
type leader struct {
	slot *slot
	wait *waiter
}

// none reports whether nobody leads: the reader goroutine holds the role.
func (l leader) none() bool { return l.slot == nil && l.wait == nil }

// A progress is what a leader's turn has come to.
type progress uint8

const (
	roleKept   progress = iota // it leads on
	rolePassed                 // it has to wait for its own: somebody else reads, or the connection is lost
	ownCame                    // it is done
)

// leadOn receives once, as a leader, and delivers what has come. owes: there is a
// flush to pay; only a leader that leads on owes any.
//
// The flush that is owed is Receive's: it reads first and so finds an end of the
// connection or a goodbye before the request leaves, and after the send only sleep
// is left to do.
func (c *Conn) leadOn(l leader, owed bool) (p progress, owes bool) {
	why, err := c.receive(owed)
	after := keepRole
	switch why {
	case netio.Lost:
		after = closeRole
	case netio.Full:
		// Never park in a write while holding the read role: a peer that
		// writes much before it reads would wait for us for ever.
		after = passRole
	}
	d := c.deliver(l, after)
	switch why {
	case netio.Lost:
		c.fail(err, l.slot)
		d.over = d.over || l.slot != nil
	case netio.Full:
		c.flush(atOnce)
	}
	switch {
	case d.over:
		return ownCame, false
	case why == netio.Lost, why == netio.Full, d.full:
		return rolePassed, false
	}
	return roleKept, d.owed
}

// receive is Receive that takes no failure to send for the end: what the peer has said
// last is read before that, since it may say what became of the calls.
func (c *Conn) receive(owed bool) (why netio.Outcome, err error) {
	if c.parting {
		return netio.Lost, cmp.Or(c.cutErr, errParted)
	}
	why, err = c.nc.Receive(owed, c.step)
	if c.cutErr != nil && why != netio.Full { // who meets a full socket comes again
		return netio.Lost, c.cutErr
	}
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

// errParted is why a connection ends that the session has ended.
var errParted = errors.New("the protocol has ended the connection")

// own takes the answer of a call whose slot is done.
func (c *Conn) own(r registered) error {
	s := r.slot
	err := s.err
	if s.answer != nil {
		c.openUp(r.id, s)
		err = c.fill(s.call, s.answer, func() { c.disown(s) })
	}
	c.disown(s)
	return err
}

// disown gives back a slot, and what was kept in it.
func (c *Conn) disown(s *slot) {
	if s.answer != nil {
		s.answer.Body.Release()
		c.charge(s, -s.held)
	}
	c.slots.giveBack(s)
}

// readOn is the reader goroutine: it holds the read role until nobody waits.
func (c *Conn) readOn() {
	c.frames.resume()
	for d := (delivered{full: c.full()}); !d.over; {
		if d.full {
			d.owed = c.payFirst(d.owed)
			c.awaitRelease()
		}
		if c.streams.pace.pressed.Load() != nil {
			d.owed = c.payFirst(d.owed)
			c.frames.pause() // it is not the peer's doing
			c.awaitPace()
			c.frames.resume()
		}
		why, err := c.receive(d.owed)
		switch why {
		case netio.Lost:
			c.deliver(leader{}, closeRole)
			c.fail(err, nil)
			return
		case netio.Full:
			c.flush(atOnce)
		}
		d = c.deliver(leader{}, keepRole)
	}
}

// payFirst pays a flush that is owed before a wait. Nothing is owed then.
func (c *Conn) payFirst(owed bool) bool {
	if owed {
		c.flush(atOnce)
	}
	return false
}
