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
	output Output

	// Set by newSock, then constant.
	nc    stream
	raw   syscall.RawConn
	net   *Net
	limit *Limit
	onIn  func(fd uintptr) bool // c.readable, bound once

	fd      int32       // owned by the read role, inside readable
	more    bool        // owned by the read role: the last step asked for more
	inq     bool        // constant: recv tells what is left in the kernel, a FIN included
	woken   atomic.Bool // Wake was called and no Send has seen it
	closing atomic.Bool // Close was called

	watch struct {
		sync.Mutex
		ticket ticket
		on     bool // the Net watches for the loss of the peer
		closed bool
	}
}

// newSock makes a sock of nc, which it owns from then on.
func newSock(nc stream, cfg Config) (*sock, error) {
	raw, err := nc.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &sock{nc: nc, raw: raw, net: cfg.Net}
	c.onIn, c.out = c.readable, &c.output
	c.output.init(c, nil, cfg.WriteStall)
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
			c.out.fail(wrapError("receive", c.Remote(), err))
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
		c.out.fail(wrapError("receive", c.Remote(), err))
		c.stop(Lost, c.out.Err())
		return true
	}
}

// recv receives once. left, if asked for, is what the kernel holds after it,
// counting a FIN as one byte; -1: unknown. n 0 without an error is the peer's end.
func (c *sock) recv(fd uintptr, p []byte, ask bool) (n, left int, err error) {
	if ask && c.inq {
		return sys.RecvInq(fd, p)
	}
	n, err = sys.Recv(fd, p)
	return n, -1, err
}

// Send is Sender's.
func (c *sock) Send(out *buf.Out, wait time.Duration) (int, error) {
	s := sendings.Get().(*sending)
	s.c, s.out, s.wait = c, out, wait
	n, err := s.send()
	s.c, s.out = nil, nil
	sendings.Put(s)
	return n, err
}

// sendError gives the error of a send its address.
func (c *sock) sendError(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return net.ErrClosed
	}
	return wrapError("send", c.Remote(), err)
}

// sendTo sends to fd once, without waiting; 0, nil: the socket is full.
func (c *sock) sendTo(fd uintptr, out *buf.Out) (int, error) {
	var few [2][]byte // one is usual, and the stack of a parked reader is small
	var n int
	var err error
	if iov := out.Iov(few[:0]); len(iov) < len(few) {
		n, err = sys.Writev(fd, iov)
	} else {
		many := vectors.Get().(*[sys.MaxPieces][]byte)
		n, err = sys.Writev(fd, out.Iov(many[:0]))
		clear(many[:])
		vectors.Put(many)
	}
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
	return (*sock)(d).sendTo(uintptr(d.fd), out)
}

// Local and Remote are Conn's.
func (c *sock) Local() net.Addr  { return c.nc.LocalAddr() }
func (c *sock) Remote() net.Addr { return c.nc.RemoteAddr() }

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
	c.out.fail(wrapError("send", c.Remote(), cause))
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
		c.watch.ticket, c.watch.on = c.net.watch.add(c.raw, &c.core)
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
		c.net.watch.remove(c.watch.ticket)
	}
	c.watch.Unlock()
	c.nc.Close() //nolint:errcheck // there is nothing left to do about it
	c.limit.give()
}

// CloseWrite is Conn's.
func (c *sock) CloseWrite() error { return c.out.closeWrite() }

// NetConn is Conn's.
func (c *sock) NetConn() net.Conn { return newNetView(c, &c.core, c.nc) }
