package mux

import (
	"context"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// Drain tells the peer to go elsewhere, refuses new calls, and waits for
// those that run until ctx ends; then their contexts are cancelled and they
// have a second more. A peer that was told is given the time to close the
// connection itself, so that no call of it is lost on the way.
func (c *ServerConn) Drain(ctx context.Context) {
	c.out.Lock()
	c.draining = true
	told := c.s.Caps().Mux
	encode(c.out.Out(), c.s, &wire.Event{Flags: wire.GoAway}, nil) // a peer that cannot be told frames nothing
	c.unlock()
	if !c.waitIdle(ctx.Done()) {
		c.cancelAll(context.Canceled)
		grace, cancel := context.WithTimeout(context.Background(), cancelGrace)
		defer cancel()
		if !c.waitIdle(grace.Done()) {
			c.Abort()
			return
		}
	}
	if told {
		grace, cancel := context.WithTimeout(ctx, cancelGrace)
		defer cancel()
		select {
		case <-c.over:
		case <-grace.Done():
		}
	}
	c.nc.Close()
}

// cancelGrace is what a handler has left once its context was cancelled, and
// what a peer has to close a drained connection.
const cancelGrace = time.Second

// Abort closes the connection at once; the contexts of its calls end.
func (c *ServerConn) Abort() {
	c.nc.Abort()
	c.out.Lock()
	c.streams.pace.endLocked()
	c.unlock()
}

func (c *ServerConn) cancelAll(err error) {
	var calls []*rpc.Call
	c.out.Lock()
	for r := c.running; r != nil; r = r.next {
		if call := r.shown.Load(); call != nil {
			calls = append(calls, call)
		}
	}
	c.unlock()
	for _, call := range calls {
		call.End(err)
	}
}

// waitIdle waits until no call runs, or until stop is closed.
func (c *ServerConn) waitIdle(stop <-chan struct{}) (idle bool) {
	c.out.Lock()
	if c.count == 0 {
		c.unlock()
		return true
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	wait := c.idle
	c.unlock()
	select {
	case <-wait:
		return true
	case <-stop:
		return false
	}
}
