package netio

import (
	"context"
	"net"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// A Kit is what a [Conn] of another package works with, shared memory for example:
// it keeps the rules that all connections follow, so that none of them can forget
// one. It knows who may touch the In, pays debts, keeps what a full connection
// delays for the next Receive, closes once, and tells of losses.
//
// The connection embeds a [Core], which gives it Output, OnLost and CloseWrite.
// The Kit is that Core in the hands of its connection:
//
//	type Conn struct {
//		netio.Core
//		…
//	}
//
//	func (c *Conn) kit() *netio.Kit { return (*netio.Kit)(&c.Core) }
//
// The constructor calls Init. The connection implements [Sender], adds
// Local, Remote, Kick, Close, Abort and NetConn, calls NoteLost when it notices the
// end of its peer outside of Receive, and receives like this:
//
//	func (c *Conn) Receive(owed bool, step netio.Step) (netio.Outcome, error) {
//		done := c.kit().Enter(owed, step)
//		defer c.kit().Leave()
//		for !done {
//			done = c.receive()
//		}
//		return c.kit().Result()
//	}
//
// where receive receives once, or parks:
//
//	k := c.kit()
//	n, err := …                    // into k.In().Space()
//	switch {
//	case n > 0:
//		k.In().Filled(n)
//		return k.Offer()
//	case err == io.EOF:
//		return k.End(netio.Lost, io.EOF)
//	case err != nil:
//		return k.Lose(err)         // closed meanwhile, or broken
//	}
//	if k.Settle() {                // nothing has arrived: pay before parking
//		return true
//	}
//	k.In().Idle()
//	if … {                         // park; true: it was a kick
//		return k.End(netio.Kicked, nil)
//	}
//	return false
//
// Package netio/pipe is a connection made so. netio/conntest tells whether one
// behaves. The methods from Enter to Result belong to the Receive that runs.
type Kit Core

// Init makes the Core ready: it gets an Output that sends through s. Blocks are
// drawn from src (nil: the pools). If the peer takes nothing for stall (0: for
// 30 s; negative: for ever) while output is queued, s.Stalled is called.
func (k *Kit) Init(s Sender, src buf.Source, stall time.Duration) {
	k.out = newOutput(s, src, stall)
}

// Enter begins a Receive and does what can be done without receiving. done: it
// is over. Leave is to be deferred right after it.
func (k *Kit) Enter(owed bool, step Step) (done bool) {
	c := (*Core)(k)
	c.enter(owed, step)
	if !c.leftover() {
		return false
	}
	k.Settle()
	return true
}

// Leave ends a Receive, whatever way it ended.
func (k *Kit) Leave() { (*Core)(k).leave() }

// In is where what arrives goes.
func (k *Kit) In() *buf.In { return &k.in }

// Offer offers the In to step. done: Receive is over.
func (k *Kit) Offer() (done bool) { return (*Core)(k).cut() && k.Settle() }

// End ends a Receive with o and err, after paying its debt.
func (k *Kit) End(o Outcome, err error) (done bool) {
	(*Core)(k).stop(o, err)
	return k.Settle()
}

// Lose ends a Receive because the connection is closed or, with err, broken.
func (k *Kit) Lose(err error) (done bool) {
	k.out.Fail(err)
	(*Core)(k).stop(Lost, (*Core)(k).closedErr())
	return true
}

// Settle pays the debt without waiting. It is to be called before Receive parks.
// done: Receive is over, perhaps with Full.
func (k *Kit) Settle() (done bool) { return (*Core)(k).settle(k.out.sender) }

// Result is what Receive returns.
func (k *Kit) Result() (Outcome, error) { return k.outcome, k.err }

// NoteLost is called when the peer's end was noticed outside of Receive. alone
// false: a Receive runs, and is to find the end by itself.
func (k *Kit) NoteLost() (alone bool) { return (*Core)(k).noteLost() }

// Close is the connection's Close. abort is its Abort; release closes what lies
// below, and wakes who waits there. Of all releases, also those of Abort, one runs.
func (k *Kit) Close(ctx context.Context, abort, release func()) error {
	return (*Core)(k).conclude(ctx, kitEnder{abort, release}, nil)
}

// Abort is the connection's Abort. release is as for Close, but tells the peer
// first that this is no orderly end.
func (k *Kit) Abort(release func()) { (*Core)(k).shut(release, nil) }

// Closed reports whether Close or Abort has run.
func (k *Kit) Closed() bool { return k.gate.closed() }

// NetConn makes a net.Conn of c: nc, after what was received and not taken and
// what is queued. c is the Conn that embeds the Core and stands on nc. Who stands
// on none calls [View].
func (k *Kit) NetConn(c Conn, nc net.Conn) net.Conn { return newNetView(c, (*Core)(k), nc) }

// kitEnder is a connection of another package as conclude has it.
type kitEnder struct{ abort, done func() }

// Abort implements ender.
func (e kitEnder) Abort() { e.abort() }

func (e kitEnder) release() { e.done() }
func (e kitEnder) ended()   {}
