package netio

import (
	"net"
	"os"
	"time"

	"github.com/limosa-rpc/limosa/internal/sys"
)

// Send implements [Sender].
func (c *loopConn) Send(b *Batch, wait time.Duration) (int, error) {
	n, err := c.sendOnce(b)
	if n > 0 || err != nil || wait == 0 {
		return n, err
	}
	return c.sendSlow(b, wait)
}

// sendSlow waits for room.
func (c *loopConn) sendSlow(b *Batch, wait time.Duration) (int, error) {
	writable := c.writable.Load()
	if writable == nil {
		writable = new(make(chan struct{}, 1))
		c.writable.Store(writable)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	if err := c.await(idleFlags | sys.Writable); err != nil {
		return 0, err
	}
	defer c.await(idleFlags) //nolint:errcheck // closed: nothing is waited for
	for {
		// Look after asking for the event: what came before makes none.
		if n, err := c.sendOnce(b); n > 0 || err != nil {
			return n, err
		}
		if c.woken.Swap(false) {
			return 0, nil
		}
		select {
		case <-*writable:
		case <-timer.C:
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// await says what events are wanted; what is ready is reported anew.
func (c *loopConn) await(flags uint32) error {
	if !c.handle.use() {
		return net.ErrClosed
	}
	defer c.handle.done()
	c.loop.mu.Lock()
	defer c.loop.mu.Unlock()
	if c.loop.mu.closed { // the number of its epoll may be somebody else's
		return net.ErrClosed
	}
	if err := c.loop.poll.Modify(c.handle.fd, flags, c.ticket); err != nil {
		return wrapError("send", c.remote, err)
	}
	return nil
}

// sendOnce sends without waiting; 0, nil: the socket is full.
func (c *loopConn) sendOnce(b *Batch) (int, error) {
	if !c.handle.use() {
		return 0, net.ErrClosed
	}
	defer c.handle.done()
	n, err := sendOn(c.handle.fd, b)
	if err != nil {
		err = wrapError("send", c.remote, err)
	}
	return n, err
}

// wakeSender has a Send that waits look again.
func (c *loopConn) wakeSender() {
	if writable := c.writable.Load(); writable != nil {
		poke(*writable)
	}
}

// CloseSend implements [Sender].
func (c *loopConn) CloseSend() error {
	if !c.handle.use() {
		return net.ErrClosed
	}
	defer c.handle.done()
	if err := sys.CloseSend(c.handle.fd); err != nil {
		return wrapError("send", c.remote, err)
	}
	return nil
}

// Wake implements [Sender].
func (c *loopConn) Wake() {
	c.woken.Store(true)
	c.wakeSender()
}

// Stalled implements [Sender].
func (c *loopConn) Stalled(cause error) {
	c.out.Fail(wrapError("send", c.remote, cause))
	c.Abort()
}

// poke leaves a signal in ch, unless there is one.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
