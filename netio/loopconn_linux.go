package netio

import (
	"context"
	"io"
	"net"
	"sync/atomic"

	"github.com/limosa-rpc/limosa/internal/sys"
)

const (
	// turnReceives is how often a loop receives from one connection before the
	// others have their turn.
	turnReceives = 16
	// turnsInRow is how often OnReadable goes on at once, called from
	// done, before the others have theirs.
	turnsInRow = 32
)

// What a loopConn's word says. Atomic.
const (
	wordEdge   uint32 = 1 << iota // the loop has seen something new, and nobody has looked since
	wordKicked                    // Kick was called, and no Receive has returned Kicked since
	wordClosed                    // Close or Abort has run
	wordParked                    // a Receive waits, with a goroutine or without: who clears it wakes it
)

// A loopConn is a TCP or unix connection on an event loop. It owns a descriptor of
// its own, which Go's poller does not know.
type loopConn struct {
	Core
	ends
	output Output

	// Set by loops.wrap, then constant.
	handle handle
	loop   *loop
	ticket ticket
	yields *yielder
	tcp    bool

	word     atomic.Uint32
	woken    atomic.Bool                   // Wake was called and no Send has seen it
	writable atomic.Pointer[chan struct{}] // made by the first Send that waits

	// Owned by the read role, until it parks; then by whoever clears wordParked.
	done  func(Outcome, error) // nil: a goroutine waits for wake
	wake  chan struct{}        // one token for each park; made by the first Receive
	rests uint32               // see Yielder
	turns int32                // of OnReadable since it had to wait last
	fresh bool                 // the Receive was postponed before it began
}

// wrap puts nc on a loop, if there are any: then nc itself is closed, and the
// connection lives on in another descriptor.
func (ls *loops) wrap(nc stream, cfg *Config, limit *Limit) (Conn, bool) {
	if cfg.Loops <= 0 {
		return nil, false
	}
	l := ls.pick(cfg.Loops)
	raw, err := nc.SyscallConn()
	if l == nil || err != nil {
		return nil, false
	}
	cfg.tune(nc)
	c := &loopConn{loop: l, yields: &cfg.Net.yields}
	c.limit = limit
	c.local, c.remote, c.out = nc.LocalAddr(), nc.RemoteAddr(), &c.output
	_, c.tcp = nc.(*net.TCPConn)
	c.output.init(c, nil, cfg.WriteStall)
	if e := raw.Control(func(fd uintptr) { c.handle.fd, err = sys.Dup(fd) }); e != nil || err != nil {
		return nil, false
	}
	if l.add(c) != nil {
		sys.Close(c.handle.fd) //nolint:errcheck // a duplicate
		return nil, false
	}
	nc.Close() //nolint:errcheck // the connection stays open in our descriptor
	return c, true
}

// Receive implements [Conn].
func (c *loopConn) Receive(owed bool, step Step) (Outcome, error) {
	c.enter(owed, step)
	defer c.leave()
	c.done = nil
	if c.leftover() {
		c.settle(c)
		return c.outcome, c.err
	}
	if c.wake == nil {
		c.wake = make(chan struct{}, 1)
	}
	for c.pull(nil) != pullOver {
		<-c.wake
	}
	return c.outcome, c.err
}

// Rests implements [Yielder].
func (c *loopConn) Rests() uint32 { return c.rests }

// Yield implements [Yielder].
func (c *loopConn) Yield() { c.yields.wait() }

// Crowded implements [Yielder].
func (c *loopConn) Crowded(work int) bool { return c.yields.crowded(work) }

// OnReadable implements [LoopConn].
func (c *loopConn) OnReadable(owed bool, step Step, done func(Outcome, error)) (Outcome, error) {
	c.enter(owed, step)
	c.done = done
	// One that finds something each time would never let go of the loop. It may
	// be called elsewhere as well: then the loop has the rest of it.
	if c.turns++; c.turns > turnsInRow {
		c.turns, c.fresh = 0, true
		if c.loop.postpone(c) {
			return Parked, nil
		}
		c.fresh = false
	}
	return c.turn(nil, true)
}

// turn is a part of a Receive without a goroutine: the first one in OnReadable,
// the others on the loop, or in who kicks or closes. Parked: there will be
// another, which somebody else may have begun already.
func (c *loopConn) turn(l *loop, first bool) (why Outcome, err error) {
	over := true
	defer func() {
		if over {
			c.leave()
		}
	}()
	if first && c.leftover() {
		c.settle(c)
		return c.outcome, c.err
	}
	switch c.pull(l) {
	case pullDry:
		over = false
		return Parked, nil
	case pullMore:
		over = false
		l.again = append(l.again, c)
		return Parked, nil
	}
	return c.outcome, c.err
}

// resume goes on with a Receive that was parked.
func (c *loopConn) resume(l *loop) {
	done := c.done
	if done == nil {
		c.wake <- struct{}{} // never full: one token for each park
		return
	}
	first := c.fresh
	c.fresh = false
	if why, err := c.turn(l, first); why != Parked {
		done(why, err)
	}
}

// pulled says how pull ended.
type pulled uint8

const (
	pullOver pulled = iota // the Receive is over
	pullDry                // it is parked, and its state another's from now on
	pullMore               // there is more, but others of the loop come first
)

// pull receives until there is nothing, pays the owed flush, and parks. On a
// loop it ends after some receives.
func (c *loopConn) pull(l *loop) pulled {
	for {
		// What comes from here on sets the bit again, and parking fails.
		w := c.word.And(^wordEdge)
		switch {
		case w&wordClosed != 0:
			c.stop(Lost, c.closedErr())
			return pullOver
		case w&wordKicked != 0:
			c.word.And(^wordKicked)
			c.stop(Kicked, nil)
			c.settle(c)
			return pullOver
		}
		switch p := c.drain(l); {
		case p != pullDry:
			return p
		case c.settle(c):
			return pullOver
		}
		c.in.Idle()
		c.rests++
		c.turns = 0
		if c.park() {
			return pullDry
		}
	}
}

// drain receives until there is nothing.
func (c *loopConn) drain(l *loop) pulled {
	for n := 0; ; n++ {
		if n == turnReceives && l != nil {
			return pullMore
		}
		space := c.in.Space()
		k, err := c.recv(space)
		switch {
		case k > 0:
			c.in.Filled(k)
			if c.cut() {
				c.settle(c)
				return pullOver
			}
			// A short read has taken all there was, and whatever comes later
			// makes an event of its own; so does the end, if it has not come
			// yet. A unix socket may also read short before a message with
			// descriptors.
			if c.tcp && k < len(space) && c.gate.word.Load()&gateLost == 0 {
				return pullDry
			}
		case err == nil:
			c.stop(Lost, io.EOF)
			c.settle(c)
			return pullOver
		case err == sys.EAGAIN:
			return pullDry
		default:
			if err != net.ErrClosed {
				c.out.Fail(wrapError("receive", c.remote, err))
			}
			c.stop(Lost, c.closedErr())
			return pullOver
		}
	}
}

// recv reads what has arrived into p and never waits. The handle keeps the descriptor ours meanwhile.
func (c *loopConn) recv(p []byte) (int, error) {
	if !c.handle.use() {
		return 0, net.ErrClosed
	}
	defer c.handle.done()
	return sys.Recv(c.handle.fd, p)
}

// park has the loop wake the Receive. False: there is something to look at.
// After true the state of the Receive is another's.
func (c *loopConn) park() bool {
	for {
		w := c.word.Load()
		if w&(wordEdge|wordKicked|wordClosed) != 0 {
			return false
		}
		if c.word.CompareAndSwap(w, w|wordParked) {
			return true
		}
	}
}

// signal sets bit, and wakes a parked Receive. l is the loop whose goroutine
// calls, nil for others.
func (c *loopConn) signal(bit uint32, l *loop) {
	for {
		w := c.word.Load()
		if c.word.CompareAndSwap(w, (w|bit)&^wordParked) {
			if w&wordParked != 0 {
				c.resume(l)
			}
			return
		}
	}
}

// event is called by the loop.
func (c *loopConn) event(flags uint32) {
	if flags&(sys.PeerGone|sys.Hangup|sys.Failed) != 0 {
		c.noteLost() // first: who receives next must not trust a short read
	}
	if flags&(sys.Writable|sys.Hangup|sys.Failed) != 0 {
		c.wakeSender()
	}
	if flags&(sys.Readable|sys.PeerGone|sys.Hangup|sys.Failed) != 0 {
		c.signal(wordEdge, c.loop)
	}
}

// Kick implements [Conn].
func (c *loopConn) Kick() { c.signal(wordKicked, nil) }

// isBroken is what Broken asks.
func (c *loopConn) isBroken() bool {
	if !c.handle.use() {
		return false
	}
	defer c.handle.done()
	return sys.Broken(c.handle.fd)
}

// Close implements [Conn].
func (c *loopConn) Close(ctx context.Context) error { return c.conclude(ctx, c, offLoop) }

// Abort implements [Conn].
func (c *loopConn) Abort() {
	if c.tcp && c.handle.use() {
		sys.SetAbortOnClose(c.handle.fd) //nolint:errcheck // broken already: nothing to reset
		c.handle.done()
	}
	c.shut(c.release, c.ended)
}

// release closes the socket, once, and wakes who waits to send.
func (c *loopConn) release() {
	c.loop.remove(c.ticket)
	c.handle.close()
	c.wakeSender()
}

// ended ends a Receive that is parked.
func (c *loopConn) ended() { c.signal(wordClosed, nil) }

// NetConn implements [Conn].
func (c *loopConn) NetConn() net.Conn { return View(c) }
