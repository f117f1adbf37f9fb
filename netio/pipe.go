package netio

import (
	"context"
	"io"
	"net"
	"os"
	"time"
)

// defaultPipeBuffer is what a Pipe holds in each direction, in bytes: about
// what a loopback socket takes before it is full.
const defaultPipeBuffer = 256 << 10

// A PipeConfig says how a Pipe behaves; the zero value is a perfect connection.
// It holds for both directions.
type PipeConfig struct {
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
	// WriteStall is Config.WriteStall.
	WriteStall time.Duration
}

// Pipe makes two connected Conns in memory. They block on channels only, and
// only timers and short OnLost calls run beside their callers, so they live in
// testing/synctest bubbles, in virtual time.
func Pipe(cfg PipeConfig) (a, b *PipeConn) {
	if cfg.Buffer <= 0 {
		cfg.Buffer = defaultPipeBuffer
	}
	ab, ba := newLane(cfg), newLane(cfg)
	a, b = newPipeConn(cfg, ba, ab, "a"), newPipeConn(cfg, ab, ba, "b")
	// The end is noticed on a goroutine of its own: whoever closes the other
	// side may hold locks that an OnLost function wants.
	ab.onEnd, ba.onEnd = func() { b.noteLost() }, func() { a.noteLost() }
	return a, b
}

// A PipeConn is one end of a Pipe: a Conn, with hooks for faults.
type PipeConn struct {
	Core
	ends

	// Set by Pipe, then constant.
	cfg    PipeConfig
	rx, tx *lane
	kicks  chan struct{} // holds a kick that no Receive has seen
	wakes  chan struct{} // holds a Wake that no Send has seen

	iov [maxPipeIov][]byte // owned by the flusher
}

const maxPipeIov = 16

// pipeAddr is the address of an end of a Pipe.
type pipeAddr string

func (pipeAddr) Network() string  { return "pipe" }
func (a pipeAddr) String() string { return string(a) }

func newPipeConn(cfg PipeConfig, rx, tx *lane, name string) *PipeConn {
	c := &PipeConn{cfg: cfg, rx: rx, tx: tx, kicks: make(chan struct{}, 1), wakes: make(chan struct{}, 1)}
	c.local = pipeAddr(name)
	c.remote = pipeAddr(map[string]string{"a": "b", "b": "a"}[name])
	c.out = newOutput(c, nil, cfg.WriteStall)
	return c
}

// Hold keeps what this end sends, the end of its side included, from arriving
// until Release: then all of it arrives as one event.
func (c *PipeConn) Hold() { c.tx.hold(true) }

// Release ends a Hold.
func (c *PipeConn) Release() { c.tx.hold(false) }

// Stall on makes the peer's side of the connection full: it takes nothing of
// what this end sends until Stall off.
func (c *PipeConn) Stall(on bool) { c.tx.stall(on) }

// Break breaks the connection on both sides, as a reset does.
func (c *PipeConn) Break() {
	c.tx.fail(ErrReset)
	c.rx.fail(ErrReset)
}

// Receive implements [Conn].
func (c *PipeConn) Receive(owed bool, step Step) (Outcome, error) {
	c.enter(owed, step)
	defer c.leave()
	if c.leftover() {
		c.settle(c)
		return c.outcome, c.err
	}
	for !c.receive() {
	}
	return c.outcome, c.err
}

// receive receives once, or parks. True: Receive is to return.
func (c *PipeConn) receive() (done bool) {
	space := c.in.Space()
	if m := c.cfg.MaxReceive; m > 0 && len(space) > m {
		space = space[:m]
	}
	n, wait, err := c.rx.receive(space)
	switch {
	case n > 0:
		c.in.Filled(n)
		return c.cut() && c.settle(c)
	case err == io.EOF:
		c.stop(Lost, io.EOF)
		return c.settle(c)
	case err != nil:
		c.out.Fail(wrapError("receive", c.remote, err))
		c.stop(Lost, c.closedErr())
		return true
	}
	if c.settle(c) {
		return true
	}
	c.in.Idle()
	return c.park(wait)
}

// park waits until something may have arrived, at most for wait if that is not
// 0. True: it was a kick.
func (c *PipeConn) park(wait time.Duration) (kicked bool) {
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
		c.stop(Kicked, nil)
		return c.settle(c)
	}
	return false
}

// Send implements [Sender].
func (c *PipeConn) Send(b *Batch, wait time.Duration) (int, error) {
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
			return n, wrapError("send", c.remote, err)
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

// CloseSend implements [Sender].
func (c *PipeConn) CloseSend() error {
	c.tx.finish(nil)
	return nil
}

// Wake implements [Sender].
func (c *PipeConn) Wake() { poke(c.wakes) }

// Stalled implements [Sender].
func (c *PipeConn) Stalled(cause error) {
	c.out.Fail(wrapError("send", c.remote, cause))
	c.Abort()
}

// Kick implements [Conn].
func (c *PipeConn) Kick() { poke(c.kicks) }

// Close implements [Conn].
func (c *PipeConn) Close(ctx context.Context) error { return c.conclude(ctx, c, nil) }

// release ends both lanes: what was sent still arrives.
func (c *PipeConn) release() {
	c.tx.finish(net.ErrClosed)
	c.rx.closeReceiver()
}

// Abort implements [Conn].
func (c *PipeConn) Abort() {
	c.shut(func() {
		c.tx.fail(ErrReset)
		c.rx.closeReceiver()
	}, nil)
}

// NetConn implements [Conn].
func (c *PipeConn) NetConn() net.Conn { return View(c) }

// poke leaves a signal in ch, unless there is one.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
