//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package netio

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/sys"
)

// stream is what *net.TCPConn and *net.UnixConn have in common.
type stream interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

// A sock is a TCP or unix connection on a parked reader: Receive stays inside
// one RawConn.Read callback, and Go's poller parks it.
type sock struct {
	core

	// Set by newSock, then constant.
	nc    stream
	raw   syscall.RawConn
	cfg   Config
	inq   bool // recv tells what is left in the kernel, a FIN included
	limit *Limit
	onIn  func(fd uintptr) bool // c.readable, bound once
	onOut func(fd uintptr) bool // c.writable, bound once

	watch struct {
		sync.Mutex
		ticket ticket
		on     bool // the Net watches for the loss of the peer
		closed bool
	}

	woken   atomic.Bool // Wake was called and no Send has seen it
	closing atomic.Bool // Close was called
	fd      uintptr     // owned by the read role, inside readable

	// Owned by the flusher.
	sendOut  *buf.Out
	sendN    int
	sendErr  error
	sendWait time.Duration
	armed    bool // a write deadline is set, to until
	until    time.Time
	iov      [4][]byte // mostly enough; an idle connection should not hold 64
}

// vectors lends vectors for one call to who sends many pieces.
var vectors = sync.Pool{New: func() any { return new([sys.MaxPieces][]byte) }}

// newSock makes a sock of nc, which it owns from then on.
func newSock(nc stream, cfg Config) (*sock, error) {
	raw, err := nc.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &sock{nc: nc, raw: raw, cfg: cfg}
	c.local, c.remote = nc.LocalAddr(), nc.RemoteAddr()
	c.onIn, c.onOut = c.readable, c.writable
	c.out = NewOutput(c, nil, cfg.WriteStall)
	cfg.tune(nc)
	if _, ok := nc.(*net.TCPConn); ok {
		err = raw.Control(func(fd uintptr) { c.inq = sys.EnableInq(fd) == nil })
	}
	return c, err
}

// Receive is Conn's.
func (c *sock) Receive(owed bool, step Step) (Why, error) {
	c.enter(owed, step)
	defer c.leave()
	if c.leftover() {
		c.settle(c)
		return c.why, c.err
	}
	err := c.raw.Read(c.onIn)
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded):
		// Clear first: a kick from here on is for the next Receive. Whoever
		// kicked before has already written what the kick was for.
		c.nc.SetReadDeadline(time.Time{}) //nolint:errcheck // closed: the next Receive says so
		c.stop(Kicked, nil)
		c.settle(c)
	default:
		if !errors.Is(err, net.ErrClosed) {
			c.out.fail(wrapError("receive", c.remote, err))
		}
		c.stop(Lost, c.closedErr())
	}
	return c.why, c.err
}

// readable is RawConn.Read's callback. It receives until there is nothing, pays
// the owed flush and has the poller park it by returning false; true leaves.
//
// It always begins with a recv: entering RawConn.Read has reset the poller's
// edge, and what had arrived before is not announced again.
func (c *sock) readable(fd uintptr) (leave bool) {
	c.fd = fd
	for {
		space := c.in.Space()
		n, left, err := c.recv(fd, space)
		if n > 0 {
			c.in.Filled(n)
			if c.cut() {
				return c.settle((*direct)(c))
			}
			// With data and FIN in one event no second edge comes. So go on
			// until EAGAIN, unless the kernel said that nothing is left.
			if left != 0 {
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
			return false
		}
		c.out.fail(wrapError("receive", c.remote, err))
		c.stop(Lost, c.out.Err())
		return true
	}
}

// recv receives once. left is what the kernel holds after it, counting a FIN as
// one byte; -1: unknown. n 0 without an error is the peer's end.
func (c *sock) recv(fd uintptr, p []byte) (n, left int, err error) {
	if c.inq {
		return sys.RecvInq(fd, p)
	}
	n, err = sys.Recv(fd, p)
	return n, -1, err
}

// Send is Sender's.
func (c *sock) Send(out *buf.Out, wait time.Duration) (int, error) {
	c.sendOut, c.sendWait = out, wait
	for {
		c.sendN, c.sendErr = 0, nil
		err := c.raw.Write(c.onOut)
		timedOut := c.armed && !time.Now().Before(c.until)
		if c.armed {
			c.armed = false
			c.nc.SetWriteDeadline(time.Time{}) //nolint:errcheck // closed: the next Send says so
		}
		switch {
		case err == nil:
			return c.sendN, c.sendErr
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, c.sendError(err)
		case timedOut:
			return 0, os.ErrDeadlineExceeded
		}
		// Wake left a deadline in the past, now or for this Send to find.
		c.nc.SetWriteDeadline(time.Time{}) //nolint:errcheck
		if c.woken.Swap(false) && wait > 0 {
			return 0, nil
		}
	}
}

// sendError gives the error of a send its address.
func (c *sock) sendError(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return net.ErrClosed
	}
	return wrapError("send", c.remote, err)
}

// writable is RawConn.Write's callback: it sends once, or parks.
func (c *sock) writable(fd uintptr) (leave bool) {
	c.sendN, c.sendErr = c.sendTo(fd, c.sendOut)
	if c.sendN > 0 || c.sendErr != nil || c.sendWait == 0 {
		return true
	}
	if !c.armed && c.sendWait < 1<<62 {
		c.armed, c.until = true, time.Now().Add(c.sendWait)
		c.nc.SetWriteDeadline(c.until) //nolint:errcheck
	}
	// Look after setting the deadline, which may have covered up Wake's.
	return c.woken.Swap(false)
}

// sendTo sends to fd once, without waiting; 0, nil: the socket is full.
func (c *sock) sendTo(fd uintptr, out *buf.Out) (int, error) {
	iov := out.Iov(c.iov[:0])
	var n int
	var err error
	if len(iov) < len(c.iov) {
		n, err = sys.Writev(fd, iov)
	} else {
		many := vectors.Get().(*[sys.MaxPieces][]byte)
		n, err = sys.Writev(fd, out.Iov(many[:0]))
		clear(many[:])
		vectors.Put(many)
	}
	clear(iov)
	switch err {
	case nil:
		return n, nil
	case sys.EAGAIN:
		return 0, nil
	}
	return 0, c.sendError(err)
}

// direct is a sock whose callback has the descriptor at hand: Send goes
// straight to it and never waits.
type direct sock

// Send is Sender's; wait is 0.
func (d *direct) Send(out *buf.Out, _ time.Duration) (int, error) {
	return (*sock)(d).sendTo(d.fd, out)
}

// CloseSend is Sender's.
func (c *sock) CloseSend() error {
	if err := c.nc.CloseWrite(); err != nil {
		return c.sendError(err)
	}
	return nil
}

// Wake is Sender's.
func (c *sock) Wake() {
	c.woken.Store(true)
	c.nc.SetWriteDeadline(longAgo) //nolint:errcheck // closed: no Send waits
}

// Stalled is Sender's.
func (c *sock) Stalled(cause error) {
	c.out.fail(wrapError("send", c.remote, cause))
	c.Abort()
}

// Kick is Conn's.
func (c *sock) Kick() { c.nc.SetReadDeadline(longAgo) } //nolint:errcheck // closed: Receive says so

// OnLost is Conn's.
func (c *sock) OnLost(f func()) {
	c.setLost(f)
	if f == nil {
		return
	}
	c.watch.Lock()
	defer c.watch.Unlock()
	if !c.watch.on && !c.watch.closed {
		c.watch.ticket, c.watch.on = c.cfg.Net.watch.add(c.raw, &c.core)
	}
}

// Close is Conn's.
func (c *sock) Close() error {
	if c.closing.CompareAndSwap(false, true) {
		c.out.drain(closeMoment)
	}
	c.shut(c.release)
	return nil
}

// Abort is Conn's.
func (c *sock) Abort() {
	if t, ok := c.nc.(*net.TCPConn); ok {
		t.SetLinger(0) //nolint:errcheck // closed already: nothing to reset
	}
	c.shut(c.release)
}

// release closes the socket, once. It waits for a callback that runs.
func (c *sock) release() {
	c.watch.Lock()
	c.watch.closed = true
	if c.watch.on {
		c.cfg.Net.watch.remove(c.watch.ticket)
	}
	c.watch.Unlock()
	c.nc.Close() //nolint:errcheck // there is nothing left to do about it
	c.limit.give()
}

// CloseWrite is Conn's.
func (c *sock) CloseWrite() error { return c.out.closeWrite() }

// NetConn is Conn's.
func (c *sock) NetConn() net.Conn { return newNetView(c, &c.core, c.nc) }
