package netio

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// panicked is what Core.outcome holds while a Receive runs: a Receive that ends
// with it has panicked.
const panicked Outcome = 255

// A Core is what every [Conn] embeds, those of other packages as well: the In and
// its life, the Output, and who is told of a loss. The connection adds how bytes
// are moved; [Kit] says how it is built, and is what it works with.
type Core struct {
	// Set by the constructor, then constant.
	out   *Output
	limit *Limit // of the Listener that accepted it

	lost    atomic.Pointer[func()]  // what OnLost was given and has not run
	closing atomic.Pointer[closing] // the first Close; nil before it
	gate    gate

	// Owned by the read role, while inside Receive. Four bytes come first, which
	// fit behind the gate's.
	outcome Outcome
	owed    bool
	cutOff  bool // step ended this Receive: what it has borrowed stays lent
	kicked  bool // a kick met a full socket: the next Receive's to report
	in      buf.In
	step    Step
	err     error
	pending error // found together with a full socket: the same
}

// Output implements [Conn].
func (c *Core) Output() *Output { return c.out }

// ends are the addresses of a connection that keeps them. They are constant.
type ends struct{ local, remote net.Addr }

// Local implements [Conn].
func (e *ends) Local() net.Addr { return e.local }

// Remote implements [Conn].
func (e *ends) Remote() net.Addr { return e.remote }

// enter begins a Receive; leave is to be deferred right after it.
func (c *Core) enter(owed bool, step Step) {
	closed := c.gate.enter()
	c.owed, c.step, c.outcome, c.err, c.cutOff = owed, step, panicked, nil, false
	if closed {
		c.stop(Lost, c.closedErr())
	}
}

// leftover does what a Receive can do without receiving. done: it is over.
func (c *Core) leftover() (done bool) {
	switch {
	case c.outcome == Lost: // closed
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
func (c *Core) leave() {
	if c.outcome == panicked {
		c.out.Fail(ErrStep)
	}
	c.step = nil
	why := c.outcome
	if c.owed && why != Full {
		c.out.giveUp() // unpaid: the connection has failed, and nobody flushes after us
	}
	free, lost := c.gate.leave(c.cutOff)
	if free {
		c.in.Close()
	}
	if lost && why != Lost && why != panicked {
		c.runLost()
	}
}

// cut offers the In to step. True: Receive is to return.
func (c *Core) cut() (done bool) {
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

// stop notes how a Receive ends; it belongs to the read role.
func (c *Core) stop(why Outcome, err error) { c.outcome, c.err = why, err }

// settle pays the owed flush through s, without waiting. True: Receive is to
// return. It is called when Receive stops, and before it parks (c.outcome is
// panicked then).
func (c *Core) settle(s sends) (done bool) {
	parking := c.outcome == panicked
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
func (c *Core) full() {
	switch c.outcome {
	case Lost:
		c.pending = c.err
	case Kicked:
		c.kicked = true
	}
	c.stop(Full, nil)
}

// closedErr is what Receive reports of a connection that is closed.
func (c *Core) closedErr() error {
	if err := c.out.Err(); err != nil {
		return err
	}
	return net.ErrClosed
}

// CloseWrite implements [Conn].
func (c *Core) CloseWrite() error { return c.out.closeWrite() }

// accepted has a place of l given back when the connection is closed.
func (c *Core) accepted(l *Limit) { c.limit = l }

// OnLost implements [Conn], for a connection that calls NoteLost.
func (c *Core) OnLost(f func()) {
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
func (c *Core) runLost() {
	if f := c.lost.Swap(nil); f != nil {
		(*f)()
	}
}

// noteLost is called when the peer's end was noticed outside of Receive. False:
// a Receive runs, which is to find the end itself.
func (c *Core) noteLost() (alone bool) {
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
func (c *Core) shut(release, ended func()) {
	first, free := c.gate.close()
	if !first {
		return
	}
	c.out.Fail(net.ErrClosed)
	release()
	c.limit.give()
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
func (c *Core) ended() {}
