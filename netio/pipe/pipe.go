// Package pipe connects two ends in memory, for tests and simulations: each is a
// [netio.Conn], with hooks for faults. It is made of [netio.Core] and [netio.Kit] as
// any transport outside of netio is, and the first example of one.
package pipe

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/limosa-rpc/limosa/netio"
)

// defaultBuffer is what a pipe holds in each direction, in bytes: about
// what a loopback socket takes before it is full.
const defaultBuffer = 256 << 10

// ErrReset is the cause when the peer has aborted, or a fault has broken the pipe.
var ErrReset = errors.New("connection reset by peer")

// A Config says how a pipe behaves; the zero value is a perfect connection.
// It holds for both directions.
type Config struct {
	// Buffer is how many bytes are on their way, or arrived and not received,
	// before the sender has to wait. 0 stands for 256 KB.
	Buffer int
	// Delay is how long bytes, and the end, are on their way.
	Delay time.Duration
	// MaxSend is how much one send takes at most, and MaxReceive how much one
	// receive gives; 0: no limit. 1 makes a connection of single bytes.
	MaxSend, MaxReceive int
	// LoseAfter breaks the connection, on both sides and with ErrReset, when so
	// many bytes were sent in one direction; 0: never.
	LoseAfter int64
	// WriteStall is that of [netio.Config].
	WriteStall time.Duration
}

// New makes two connected ends. They block on channels only, and
// only timers and short OnLost calls run beside their callers, so they live in
// testing/synctest bubbles, in virtual time.
func New(cfg Config) (a, b *Conn) {
	if cfg.Buffer <= 0 {
		cfg.Buffer = defaultBuffer
	}
	ab, ba := newLane(cfg), newLane(cfg)
	a, b = newConn(cfg, ba, ab, "a", "b"), newConn(cfg, ab, ba, "b", "a")
	// The end is noticed on a goroutine of its own: whoever closes the other
	// side may hold locks that an OnLost function wants.
	ab.onEnd, ba.onEnd = func() { b.kit().NoteLost() }, func() { a.kit().NoteLost() }
	return a, b
}

// A Conn is one end of a pipe: a [netio.Conn], with hooks for faults.
type Conn struct {
	netio.Core

	// Set by New, then constant.
	cfg           Config
	rx, tx        *lane
	local, remote addr
	kicks         chan struct{} // holds a kick that no Receive has seen
	wakes         chan struct{} // holds a Wake that no Send has seen

	iov [maxPieces][]byte // owned by the flusher
}

const maxPieces = 16

// addr is the address of an end.
type addr string

func (addr) Network() string  { return "pipe" }
func (a addr) String() string { return string(a) }

// newConn makes an end that receives from rx and sends to tx.
func newConn(cfg Config, rx, tx *lane, local, remote addr) *Conn {
	c := &Conn{cfg: cfg, rx: rx, tx: tx, local: local, remote: remote, kicks: make(chan struct{}, 1), wakes: make(chan struct{}, 1)}
	c.kit().Init(c, nil, cfg.WriteStall)
	return c
}

// kit is the Core in the connection's own hands: what the kit can do is not for users of
// the Conn, see [netio.Kit].
func (c *Conn) kit() *netio.Kit { return (*netio.Kit)(&c.Core) }

// Local implements [netio.Conn].
func (c *Conn) Local() net.Addr { return c.local }

// Remote implements [netio.Conn].
func (c *Conn) Remote() net.Addr { return c.remote }

// Hold keeps what this end sends, the end of its side included, from arriving
// until Release: then all of it arrives as one event.
func (c *Conn) Hold() { c.tx.hold(true) }

// Release ends a Hold.
func (c *Conn) Release() { c.tx.hold(false) }

// Stall on makes the peer's side of the connection full: it takes nothing of
// what this end sends until Stall off.
func (c *Conn) Stall(on bool) { c.tx.stall(on) }

// Break breaks the connection on both sides, as a reset does.
func (c *Conn) Break() {
	c.tx.fail(ErrReset)
	c.rx.fail(ErrReset)
}

// Receive implements [netio.Conn].
func (c *Conn) Receive(owed bool, step netio.Step) (netio.Outcome, error) {
	done := c.kit().Enter(owed, step)
	defer c.kit().Leave()
	for !done {
		done = c.receive()
	}
	return c.kit().Result()
}

// receive receives once, or parks. done: Receive is to return.
func (c *Conn) receive() (done bool) {
	k := c.kit()
	space := k.In().Space()
	if m := c.cfg.MaxReceive; m > 0 && len(space) > m {
		space = space[:m]
	}
	n, wait, err := c.rx.receive(space)
	switch {
	case n > 0:
		k.In().Filled(n)
		return k.Offer()
	case err == io.EOF:
		return k.End(netio.Lost, io.EOF)
	case err != nil:
		return k.Lose(c.wrap("receive", err))
	case k.Settle():
		return true
	}
	k.In().Idle()
	return c.park(wait)
}

// park waits until something may have arrived, at most for wait if that is not
// 0. done: it was a kick.
func (c *Conn) park(wait time.Duration) (done bool) {
	var due <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-c.rx.readable:
	case <-due:
	case <-c.kicks:
		return c.kit().End(netio.Kicked, nil)
	}
	return false
}

// Send implements [netio.Sender].
func (c *Conn) Send(b *netio.Batch, wait time.Duration) (int, error) {
	var due <-chan time.Time
	for {
		iov := b.Pieces(c.iov[:0])
		if len(iov) == 0 {
			return 0, net.ErrClosed
		}
		n, err := c.tx.send(iov)
		clear(iov)
		b.Sent(n)
		if err != nil {
			if err == ErrReset {
				c.rx.reset() // LoseAfter breaks one lane only
			}
			return n, c.wrap("send", err)
		}
		if n > 0 || wait == 0 {
			return n, nil
		}
		if due == nil && wait < 1<<62 {
			t := time.NewTimer(wait)
			defer t.Stop()
			due = t.C
		}
		select {
		case <-c.tx.writable:
		case <-c.wakes:
			return 0, nil
		case <-due:
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// CloseSend implements [netio.Sender].
func (c *Conn) CloseSend() error {
	c.tx.finish(nil)
	return nil
}

// Wake implements [netio.Sender].
func (c *Conn) Wake() { signal(c.wakes) }

// Stalled implements [netio.Sender].
func (c *Conn) Stalled(cause error) {
	c.Output().Fail(c.wrap("send", cause))
	c.Abort()
}

// Kick implements [netio.Conn].
func (c *Conn) Kick() { signal(c.kicks) }

// Close implements [netio.Conn].
func (c *Conn) Close(ctx context.Context) error { return c.kit().Close(ctx, c.Abort, c.release) }

// wrap gives err the address of the peer.
func (c *Conn) wrap(op string, err error) error {
	return &netio.Error{Op: op, Net: c.remote.Network(), Addr: c.remote.String(), Err: err}
}

// release ends both lanes: what was sent still arrives.
func (c *Conn) release() {
	c.tx.finish(net.ErrClosed)
	c.rx.closeReceiver()
}

// Abort implements [netio.Conn].
func (c *Conn) Abort() {
	c.kit().Abort(func() {
		c.tx.fail(ErrReset)
		c.rx.closeReceiver()
	})
}

// NetConn implements [netio.Conn].
func (c *Conn) NetConn() net.Conn { return netio.View(c) }
