package netio

import (
	"context"
	"net"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// A Core is what a Conn of another package is made of, shared memory for
// example: it knows who may touch the In, pays debts, keeps what a full
// connection delays, closes once, and tells of losses, as this package's own
// connections do. A connection embeds it, implements [Transport] and [Sender],
// and adds addresses, Kick, NetConn and
//
//	func (c *Conn) Receive(owed bool, step netio.Step) (netio.Outcome, error) {
//		done := c.Enter(owed, step)
//		defer c.Leave()
//		for !done {
//			done = c.receive()
//		}
//		return c.Result()
//	}
//
// where receive receives once, or parks:
//
//	n, err := …                    // into c.In().Space()
//	switch {
//	case n > 0:
//		c.In().Filled(n)
//		return c.Offer()
//	case err == io.EOF:
//		return c.End(netio.Lost, io.EOF)
//	case err != nil:
//		return c.Lose(err)         // closed meanwhile, or broken
//	}
//	if c.Settle() {                // nothing has arrived: pay before parking
//		return true
//	}
//	c.In().Idle()
//	if … {                         // park; true: it was a kick
//		return c.End(netio.Kicked, nil)
//	}
//	return false
//
// Methods from Enter to Result belong to the Receive that runs.
type Core struct {
	core   core
	output Output
}

// A Transport is a connection as [Core.CloseBy] and [Core.AbortBy] need it.
type Transport interface {
	// Abort is Conn's.
	Abort()
	// Release closes what lies below, and wakes who waits there. It runs once.
	Release()
}

// Init makes the Core ready. Blocks of the Output are drawn from src (nil: the
// pools); see [NewOutput].
func (k *Core) Init(s Sender, src buf.Source, stall time.Duration) {
	k.output.init(s, src, stall)
	k.core.out = &k.output
}

// Enter begins a Receive and does what can be done without receiving. done: it
// is over. Leave is to be deferred right after it.
func (k *Core) Enter(owed bool, step Step) (done bool) {
	k.core.enter(owed, step)
	if !k.core.leftover() {
		return false
	}
	k.Settle()
	return true
}

// Leave ends a Receive, whatever way it ended.
func (k *Core) Leave() { k.core.leave() }

// In is where what arrives goes.
func (k *Core) In() *buf.In { return &k.core.in }

// Offer offers the In to step. done: Receive is over.
func (k *Core) Offer() (done bool) { return k.core.cut() && k.Settle() }

// End ends a Receive with why and err, after paying its debt.
func (k *Core) End(why Outcome, err error) (done bool) {
	k.core.stop(why, err)
	return k.Settle()
}

// Lose ends a Receive because the connection is closed or, with err, broken.
func (k *Core) Lose(err error) (done bool) {
	k.output.Fail(err)
	k.core.stop(Lost, k.core.closedErr())
	return true
}

// Settle pays the debt without waiting. It is to be called before Receive parks.
// done: Receive is over, perhaps with Full.
func (k *Core) Settle() (done bool) { return k.core.settle(k.output.sender) }

// Result is what Receive returns.
func (k *Core) Result() (Outcome, error) { return k.core.why, k.core.err }

// Output implements [Conn].
func (k *Core) Output() *Output { return &k.output }

// OnLost implements [Conn], where NoteLost is called.
func (k *Core) OnLost(f func()) { k.core.setLost(f) }

// NoteLost is called when the peer's end was noticed outside of Receive. alone
// false: a Receive runs, and is to find the end by itself.
func (k *Core) NoteLost() (alone bool) { return k.core.noteLost() }

// CloseWrite implements [Conn].
func (k *Core) CloseWrite() error { return k.output.closeWrite() }

// CloseBy is Close of t.
func (k *Core) CloseBy(ctx context.Context, t Transport) error {
	return k.core.conclude(ctx, kitEnder{t}, nil)
}

// AbortBy is Abort of t, after whatever tells the peer that it is no orderly end.
func (k *Core) AbortBy(t Transport) { k.core.shut(t.Release, nil) }

// Closed reports whether Close or Abort has run.
func (k *Core) Closed() bool { return k.core.gate.closed() }

// NetConnOver makes a net.Conn of c: nc, after what was received and not taken
// and what is queued. c is the Conn that embeds the Core and stands on nc.
func (k *Core) NetConnOver(c Conn, nc net.Conn) net.Conn { return newNetView(c, &k.core, nc) }

// kitEnder is a Transport as conclude has it.
type kitEnder struct{ Transport }

func (e kitEnder) release() { e.Release() }
func (e kitEnder) ended()   {}
