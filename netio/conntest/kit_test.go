package conntest_test

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/conntest"
	"github.com/limosa-rpc/limosa/netio/pipe"
)

// A belt is one direction of a transport made of the kit: a bounded queue.
type belt struct {
	readable, writable chan struct{} // signals of one token each
	onEnd              func()

	mu struct {
		sync.Mutex
		data    []byte
		end     error // what the receiver gets after data
		refused error // what the sender gets
	}
}

const beltBytes = 64 << 10

func newBelt() *belt {
	return &belt{readable: make(chan struct{}, 1), writable: make(chan struct{}, 1)}
}

func ring(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (b *belt) put(pieces [][]byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.refused != nil {
		return 0, b.mu.refused
	}
	for _, p := range pieces {
		p = p[:min(len(p), beltBytes-len(b.mu.data))]
		b.mu.data = append(b.mu.data, p...)
		n += len(p)
	}
	ring(b.readable)
	return n, nil
}

func (b *belt) take(p []byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n = copy(p, b.mu.data); n > 0 {
		b.mu.data = append(b.mu.data[:0], b.mu.data[n:]...)
		ring(b.writable)
		return n, nil
	}
	return 0, b.mu.end
}

// finish ends the belt: end is the receiver's, refused the sender's; drop takes
// away what is on it.
func (b *belt) finish(end, refused error, drop bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.end == nil || drop {
		if b.mu.end == nil {
			time.AfterFunc(0, b.onEnd)
		}
		b.mu.end = end
	}
	if b.mu.refused == nil {
		b.mu.refused = refused
	}
	if drop {
		b.mu.data = nil
	}
	ring(b.readable)
	ring(b.writable)
}

// A beltConn is a Conn of another package: netio.Core and two belts.
type beltConn struct {
	netio.Core
	rx, tx       *belt
	kicks, wakes chan struct{}
	iov          [8][]byte
}

func (c *beltConn) kit() *netio.Kit { return (*netio.Kit)(&c.Core) }

type beltAddr struct{}

func (beltAddr) Network() string { return "belt" }
func (beltAddr) String() string  { return "belt" }

func belts() (a, b *beltConn) {
	x, y := newBelt(), newBelt()
	a = &beltConn{rx: x, tx: y, kicks: make(chan struct{}, 1), wakes: make(chan struct{}, 1)}
	b = &beltConn{rx: y, tx: x, kicks: make(chan struct{}, 1), wakes: make(chan struct{}, 1)}
	a.kit().Init(a, nil, 0)
	b.kit().Init(b, nil, 0)
	x.onEnd, y.onEnd = func() { a.kit().NoteLost() }, func() { b.kit().NoteLost() }
	return a, b
}

func (c *beltConn) Receive(owed bool, step netio.Step) (netio.Outcome, error) {
	done := c.kit().Enter(owed, step)
	defer c.kit().Leave()
	for !done {
		done = c.receive()
	}
	return c.kit().Result()
}

func (c *beltConn) receive() (done bool) {
	n, err := c.rx.take(c.kit().In().Space())
	switch {
	case n > 0:
		c.kit().In().Filled(n)
		return c.kit().Offer()
	case err == io.EOF:
		return c.kit().End(netio.Lost, io.EOF)
	case err != nil:
		return c.kit().Lose(err)
	}
	if c.kit().Settle() {
		return true
	}
	c.kit().In().Idle()
	select {
	case <-c.rx.readable:
		return false
	case <-c.kicks:
		return c.kit().End(netio.Kicked, nil)
	}
}

func (c *beltConn) Send(b *netio.Batch, wait time.Duration) (int, error) {
	var due <-chan time.Time
	for {
		iov := b.Pieces(c.iov[:0])
		if len(iov) == 0 {
			return 0, net.ErrClosed
		}
		n, err := c.tx.put(iov)
		if b.Sent(n); n > 0 || err != nil || wait == 0 {
			return n, err
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

func (c *beltConn) CloseSend() error                { c.tx.finish(io.EOF, net.ErrClosed, false); return nil }
func (c *beltConn) Wake()                           { ring(c.wakes) }
func (c *beltConn) Stalled(cause error)             { c.Output().Fail(cause); c.Abort() }
func (c *beltConn) Kick()                           { ring(c.kicks) }
func (c *beltConn) Close(ctx context.Context) error { return c.kit().Close(ctx, c.Abort, c.release) }
func (c *beltConn) Local() net.Addr                 { return beltAddr{} }
func (c *beltConn) Remote() net.Addr                { return beltAddr{} }
func (c *beltConn) NetConn() net.Conn               { return netio.View(c) }

func (c *beltConn) Abort() {
	c.kit().Abort(func() {
		c.tx.finish(pipe.ErrReset, net.ErrClosed, true)
		c.release()
	})
}

func (c *beltConn) release() {
	c.tx.finish(io.EOF, net.ErrClosed, false)
	c.rx.finish(net.ErrClosed, pipe.ErrReset, true)
}

// A connection of another package, made of the kit, passes the suite.
func TestKit(t *testing.T) {
	conntest.Run(t, func(t *testing.T) (a, b netio.Conn, stop func()) {
		a, b = belts()
		return a, b, func() {}
	}, conntest.Caps{Small: true})
}
