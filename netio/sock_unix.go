//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package netio

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/limosa-rpc/limosa/internal/sys"
)

// stream is what *net.TCPConn and *net.UnixConn have in common.
type stream interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

// A sockConn is a TCP or unix connection on a parked reader: Receive stays inside
// one RawConn.Read callback, and Go's poller parks it.
type sockConn struct {
	Core
	output Output

	// Set by newSockConn, then constant.
	nc   stream
	raw  syscall.RawConn
	net  *Net
	onIn func(fd uintptr) bool // c.readable, bound once

	rests   uint32      // owned by the read role: see Yielder
	fd      int32       // owned by the read role, inside readable
	more    bool        // owned by the read role: the last step asked for more
	inq     bool        // owned by the read role: recv tells what is left in the kernel, a FIN included
	onWatch bool        // owned by the read role: watch.on was seen
	kick    atomic.Bool // Kick was called and no Receive has returned Kicked since
	woken   atomic.Bool // Wake was called and no Send has seen it

	watch struct {
		sync.Mutex
		ticket ticket
		on     bool // the Net watches for the loss of the peer
		closed bool
	}
}

// newSockConn makes a sockConn of nc, which it owns from then on.
func newSockConn(nc stream, cfg Config) (*sockConn, error) {
	raw, err := nc.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &sockConn{nc: nc, raw: raw, net: cfg.Net}
	c.onIn, c.out = c.readable, &c.output
	c.output.init(c, nil, cfg.WriteStall)
	cfg.tune(nc)
	if _, ok := nc.(*net.TCPConn); ok {
		err = raw.Control(func(fd uintptr) { c.inq = sys.EnableInq(fd) == nil })
	}
	return c, err
}

// Receive implements [Conn].
func (c *sockConn) Receive(owed bool, step Step) (Outcome, error) {
	c.enter(owed, step)
	defer c.leave()
	if c.leftover() {
		c.settle(c)
		return c.outcome, c.err
	}
	err := c.raw.Read(c.onIn)
	for errors.Is(err, os.ErrDeadlineExceeded) {
		// Clear first: a kick from here on is for the next Receive. Whoever
		// kicked before has already written what the kick was for.
		c.nc.SetReadDeadline(time.Time{}) //nolint:errcheck // closed: the next Receive says so
		if c.kick.Swap(false) {
			c.stop(Kicked, nil)
			c.settle(c)
			return c.outcome, c.err
		}
		err = c.raw.Read(c.onIn) // the peer is gone, or an old kick was answered already
	}
	if err != nil {
		if !errors.Is(err, net.ErrClosed) {
			c.out.Fail(wrapError("receive", c.Remote(), err))
		}
		c.stop(Lost, c.closedErr())
	}
	return c.outcome, c.err
}

// readable is RawConn.Read's callback. It receives until there is nothing, pays
// the owed flush and has the poller park it by returning false; true leaves.
//
// It always begins with a recv: entering RawConn.Read has reset the poller's
// edge, and what had arrived before is not announced again.
func (c *sockConn) readable(fd uintptr) (leave bool) {
	c.fd = int32(fd)
	for {
		space := c.in.Space()
		// What is left interests only who would park then, and asking costs half
		// as much as a recv that finds nothing: most steps do the same again.
		n, left, err := c.recv(fd, space, c.more)
		if n > 0 {
			c.in.Filled(n)
			done := c.cut()
			if c.more = !done; done {
				return c.settle((*direct)(c))
			}
			// With data and the end in one event no second edge comes. So go on
			// until EAGAIN, unless the kernel said that nothing is left, and
			// somebody is there to tell of a reset, which it does not count.
			if left != 0 || !c.guarded() {
				if c.gate.closed() { // or a peer that never pauses would keep Close waiting
					c.stop(Lost, c.closedErr())
					return true
				}
				continue
			}
			err = sys.EAGAIN
		}
		switch {
		case err == nil:
			c.stop(Lost, io.EOF)
			return c.settle((*direct)(c))
		case err == sys.EAGAIN:
			if c.settle((*direct)(c)) {
				return true
			}
			c.in.Idle()
			c.rests++
			return false
		}
		c.out.Fail(wrapError("receive", c.Remote(), err))
		c.stop(Lost, c.out.Err())
		return true
	}
}

// recv receives once. left, if asked for, is what the kernel holds after it,
// counting a FIN as one byte; -1: unknown. n 0 without an error is the peer's end.
func (c *sockConn) recv(fd uintptr, p []byte, ask bool) (n, left int, err error) {
	if ask && c.inq {
		return sys.RecvInq(fd, p)
	}
	n, err = sys.Recv(fd, p)
	return n, -1, err
}

// Send implements [Sender].
func (c *sockConn) Send(b *Batch, wait time.Duration) (int, error) {
	s := sendings.Get().(*sending)
	s.c, s.batch, s.wait = c, b, wait
	n, err := s.send()
	s.c, s.batch = nil, nil
	sendings.Put(s)
	return n, err
}

// sendError gives the error of a send its address.
func (c *sockConn) sendError(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return net.ErrClosed
	}
	return wrapError("send", c.Remote(), err)
}

// sendTo sends to fd once, without waiting; 0, nil: the socket is full.
func (c *sockConn) sendTo(fd uintptr, b *Batch) (int, error) {
	n, err := sendOn(fd, b)
	if err != nil {
		err = c.sendError(err)
	}
	return n, err
}

// sendOn sends to a socket once, without waiting; 0, nil: it is full.
func sendOn(fd uintptr, b *Batch) (n int, err error) {
	var few [2][]byte // one is usual, and the stack of a parked reader is small
	if iov := b.Pieces(few[:0]); len(iov) == 0 {
		return 0, net.ErrClosed
	} else if len(iov) < len(few) {
		n, err = sys.Writev(fd, iov)
	} else {
		many := vectors.Get().(*[sys.MaxPieces][]byte)
		n, err = sys.Writev(fd, b.Pieces(many[:0]))
		clear(many[:])
		vectors.Put(many)
	}
	if b.Sent(n); err == sys.EAGAIN {
		err = nil
	}
	return n, err
}

// direct is a sockConn whose callback has the descriptor at hand: Send goes
// straight to it and never waits.
type direct sockConn

// Send implements [Sender]; wait is 0.
func (d *direct) Send(b *Batch, _ time.Duration) (int, error) {
	return (*sockConn)(d).sendTo(uintptr(d.fd), b)
}

// Local implements [Conn].
func (c *sockConn) Local() net.Addr { return c.nc.LocalAddr() }

// Remote implements [Conn].
func (c *sockConn) Remote() net.Addr { return c.nc.RemoteAddr() }

// CloseSend implements [Sender].
func (c *sockConn) CloseSend() error {
	if err := c.nc.CloseWrite(); err != nil {
		return c.sendError(err)
	}
	return nil
}

// Wake implements [Sender].
func (c *sockConn) Wake() {
	c.woken.Store(true)
	c.nc.SetWriteDeadline(longAgo) //nolint:errcheck // closed: no Send waits
}

// Stalled implements [Sender].
func (c *sockConn) Stalled(cause error) {
	c.out.Fail(wrapError("send", c.Remote(), cause))
	c.Abort()
}

// Rests implements [Yielder].
func (c *sockConn) Rests() uint32 { return c.rests }

// Yield implements [Yielder].
func (c *sockConn) Yield() { c.net.yields.wait() }

// Crowded implements [Yielder].
func (c *sockConn) Crowded(work int) bool { return c.net.yields.crowded(work) }

// Kick implements [Conn].
func (c *sockConn) Kick() {
	c.kick.Store(true)
	c.wakeReader()
}

// wakeReader has a parked reader, or else the next one, look again.
func (c *sockConn) wakeReader() { wakeReader(c.nc, &c.gate) }

// peerGone is called by the watcher. broken: both directions have ended, by a
// reset for example. A parked reader has not been told of that if it came
// together with data.
func (c *sockConn) peerGone(broken bool) {
	if alone := c.noteLost(); !alone && broken {
		c.wakeReader()
	}
}

// guarded reports whether the Net tells of the peer's loss from here on.
func (c *sockConn) guarded() bool {
	if c.gate.word.Load()&gateLost != 0 {
		return false // it has told already
	}
	if !c.onWatch {
		c.onWatch = c.watchPeer()
		c.inq = c.onWatch // else nothing is gained by asking
	}
	return c.onWatch && !c.net.watch.down.Load()
}

// watchPeer has the Net watch for the loss of the peer.
func (c *sockConn) watchPeer() bool {
	c.watch.Lock()
	defer c.watch.Unlock()
	if !c.watch.on && !c.watch.closed {
		c.watch.ticket, c.watch.on = c.net.watch.add(c.raw, c)
	}
	return c.watch.on
}

// OnLost implements [Conn].
func (c *sockConn) OnLost(f func()) {
	c.Core.OnLost(f)
	if f != nil {
		c.watchPeer()
	}
}

// isBroken is what Broken asks.
func (c *sockConn) isBroken() (broken bool) {
	c.raw.Control(func(fd uintptr) { broken = sys.Broken(fd) }) //nolint:errcheck // closed: nobody is there to ask about
	return broken
}

// Close implements [Conn].
func (c *sockConn) Close(ctx context.Context) error { return c.conclude(ctx, c, nil) }

// Abort implements [Conn].
func (c *sockConn) Abort() {
	if t, ok := c.nc.(*net.TCPConn); ok {
		t.SetLinger(0) //nolint:errcheck // closed already: nothing to reset
	}
	c.shut(c.release, nil)
}

// release closes the socket, once. It waits for a callback that runs.
func (c *sockConn) release() {
	c.watch.Lock()
	c.watch.closed = true
	if c.watch.on {
		c.net.watch.remove(c.watch.ticket)
	}
	c.watch.Unlock()
	c.nc.Close() //nolint:errcheck // there is nothing left to do about it
}

// NetConn implements [Conn].
func (c *sockConn) NetConn() net.Conn { return newNetView(c, &c.Core, c.nc) }
