package netio

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// whyPanic is what core.why holds while a Receive runs: a Receive that ends
// with it has panicked.
const whyPanic Outcome = 255

// A gate knows who may touch a connection's In, and whether the connection is
// closed or has lost its peer. Atomic.
type gate struct{ word atomic.Uint32 }

const (
	gateInside uint32 = 1 << iota // a Receive runs
	gateClosed                    // Close or Abort has run
	gateLent                      // the last Receive has lent bytes of the In
	gateFreed                     // the In's memory is given back; only after gateClosed
	gateLost                      // the peer's end was noticed outside of Receive
	gateViewed                    // a net.Conn has it: nobody is kicked any more
)

// enter begins a Receive. closed: it must not touch the In.
func (g *gate) enter() (closed bool) {
	w := g.word.Or(gateInside)
	if w&gateInside != 0 {
		panic("netio: two Receives of one connection at a time")
	}
	return w&gateClosed != 0
}

// leave ends a Receive that has lent bytes, or not. free: nothing is lent, the
// connection was closed, and the caller is to give the In's memory back, alone.
// lost: the peer's end was noticed meanwhile.
func (g *gate) leave(lent bool) (free, lost bool) {
	for {
		w := g.word.Load()
		n := w &^ (gateInside | gateLent)
		switch {
		case lent:
			n |= gateLent
		case w&gateClosed != 0:
			n |= gateFreed
		}
		if g.word.CompareAndSwap(w, n) {
			return !lent && w&gateClosed != 0 && w&gateFreed == 0, w&gateLost != 0
		}
	}
}

// close ends the connection. free: the caller is to give the In's memory back,
// alone. Otherwise a Receive runs or has lent some of it, and the memory is the
// next leave's to give back, or the collector's.
func (g *gate) close() (first, free bool) {
	for {
		w := g.word.Load()
		if w&gateClosed != 0 {
			return false, false
		}
		n := w | gateClosed
		if free = w&(gateInside|gateLent) == 0; free {
			n |= gateFreed
		}
		if g.word.CompareAndSwap(w, n) {
			return true, free
		}
	}
}

func (g *gate) viewed() bool { return g.word.Load()&gateViewed != 0 }

func (g *gate) closed() bool { return g.word.Load()&gateClosed != 0 }

// lose notes that the peer is gone. alone: no Receive runs that would report it.
func (g *gate) lose() (alone bool) {
	return g.word.Or(gateLost)&gateInside == 0
}

// core is what all connections share: the In and its life, the Output, and who
// is told of a loss. A connection embeds it and adds how bytes are moved.
type core struct {
	// Set by the constructor, then constant.
	out *Output

	lost    atomic.Pointer[func()]  // what OnLost was given and has not run
	closing atomic.Pointer[closing] // the first Close; nil before it
	gate    gate

	// Owned by the read role, while inside Receive. Four bytes come first, which
	// fit behind the gate's.
	why     Outcome
	owed    bool
	cutOff  bool // step ended this Receive: what it has borrowed stays lent
	kicked  bool // a kick met a full socket: the next Receive's to report
	in      buf.In
	step    Step
	err     error
	pending error // found together with a full socket: the same
}

// Output is Conn's.
func (c *core) Output() *Output { return c.out }

// ends are the addresses of a connection that keeps them. They are constant.
type ends struct{ local, remote net.Addr }

// Local and Remote are Conn's.
func (e *ends) Local() net.Addr  { return e.local }
func (e *ends) Remote() net.Addr { return e.remote }

// enter begins a Receive; leave is to be deferred right after it.
func (c *core) enter(owed bool, step Step) {
	closed := c.gate.enter()
	c.owed, c.step, c.why, c.err, c.cutOff = owed, step, whyPanic, nil, false
	if closed {
		c.stop(Lost, c.closedErr())
	}
}

// leftover does what a Receive can do without receiving. done: it is over.
func (c *core) leftover() (done bool) {
	switch {
	case c.why == Lost: // closed
	case c.pending != nil:
		c.stop(Lost, c.pending)
	case c.kicked:
		c.kicked = false
		c.stop(Kicked, nil)
	case c.in.Len() > 0:
		return c.cut()
	default:
		return false
	}
	return true
}

// leave ends a Receive, deferred, whatever way it ended.
func (c *core) leave() {
	if c.why == whyPanic {
		c.out.Fail(ErrStep)
	}
	c.step = nil
	why := c.why
	if c.owed && why != Full {
		c.out.giveUp() // unpaid: the connection has failed, and nobody flushes after us
	}
	free, lost := c.gate.leave(c.cutOff)
	if free {
		c.in.Close()
	}
	if lost && why != Lost && why != whyPanic {
		c.runLost()
	}
}

// cut offers the In to step. True: Receive is to return.
func (c *core) cut() (done bool) {
	more, err := c.step(&c.in)
	switch {
	case err != nil:
		c.stop(Lost, err)
	case !more:
		c.stop(Enough, nil)
	default:
		return false
	}
	c.cutOff = true
	return true
}

func (c *core) stop(why Outcome, err error) { c.why, c.err = why, err }

// settle pays the owed flush through s, without waiting. True: Receive is to
// return. It is called when Receive stops, and before it parks (c.why is
// whyPanic then).
func (c *core) settle(s sends) (done bool) {
	parking := c.why == whyPanic
	if !c.owed {
		return !parking
	}
	full, err := c.out.flush(s, 0, time.Time{})
	switch {
	case full:
		c.full()
		return true
	case err != nil && parking:
		c.owed = false
		c.stop(Lost, err)
		return true
	}
	// An error of the flush does not take away what was received: it is sticky,
	// and the next Receive finds the end itself.
	c.owed = false
	return !parking
}

// full ends a Receive whose debt met a full socket. What it was to report, the
// next one reports; what step cut is valid all the same.
func (c *core) full() {
	switch c.why {
	case Lost:
		c.pending = c.err
	case Kicked:
		c.kicked = true
	}
	c.stop(Full, nil)
}

// closedErr is what Receive reports of a connection that is closed.
func (c *core) closedErr() error {
	if err := c.out.Err(); err != nil {
		return err
	}
	return net.ErrClosed
}

// setLost is OnLost.
func (c *core) setLost(f func()) {
	if f == nil {
		c.lost.Store(nil)
		return
	}
	c.lost.Store(&f)
	// Look after the store: a loss or a close before it found nothing to run.
	w := c.gate.word.Load()
	if w&gateClosed != 0 || w&gateLost != 0 && w&gateInside == 0 {
		c.runLost()
	}
}

// runLost runs what OnLost was given, once.
func (c *core) runLost() {
	if f := c.lost.Swap(nil); f != nil {
		(*f)()
	}
}

// noteLost is called when the peer's end was noticed outside of Receive. False:
// a Receive runs, which is to find the end itself.
func (c *core) noteLost() (alone bool) {
	if alone = c.gate.lose(); alone {
		c.runLost()
	}
	return alone
}

// wakeReader fails the Read of nc that waits, or else the next, unless there is
// a net.Conn view, whose deadlines are its user's.
func wakeReader(nc net.Conn, g *gate) {
	if g.viewed() {
		return
	}
	nc.SetReadDeadline(longAgo) //nolint:errcheck // closed: Receive says so
	if g.viewed() {             // since then
		nc.SetReadDeadline(time.Time{}) //nolint:errcheck // closed: Read says so
	}
}

// shut is what Close and Abort have in common; release closes the transport,
// and ended, if not nil, tells who waits for that besides OnLost.
func (c *core) shut(release, ended func()) {
	first, free := c.gate.close()
	if !first {
		return
	}
	c.out.Fail(net.ErrClosed)
	release()
	if free {
		c.in.Close()
	}
	// Before anybody is told: who is may call Close, which waits for this.
	if cl := c.closing.Load(); cl != nil && cl.drained.Load() {
		cl.finish()
	}
	if ended != nil {
		ended()
	}
	c.runLost()
}

// ended is an ender's: nobody is told but by OnLost.
func (c *core) ended() {}
