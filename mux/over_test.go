package mux_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// A crowd is many connections of one server, whose Total is 1 MiB.
type crowd struct {
	total *mux.Total
	conns []*rig
	calls sync.WaitGroup
}

func newCrowd(t *testing.T, n int, route mux.Router) *crowd {
	lim := rpc.Limits{}.WithDefaults()
	c := &crowd{total: mux.NewTotal(1<<20, nil, "")}
	share := c.total.Share(1 << 20)
	for range n {
		r := &rig{finished: make(chan error, 1)}
		r.cend, r.send = pipe.New(pipe.Config{})
		r.server = mux.NewServerConn(r.send, ttheader.Protocol{}.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim, Total: c.total}, Route: route, Base: t.Context()})
		r.server.CountUnder(share)
		go r.server.Run(func(err error) { r.finished <- err })
		r.client = mux.NewConn(r.cend, ttheader.Protocol{}.Open(wire.Client, lim), mux.Config{Limits: lim})
		if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
			t.Error(err)
		}
		c.conns = append(c.conns, r)
	}
	return c
}

// end ends all, and shows that nothing is counted any more.
func (c *crowd) end(t *testing.T) {
	for _, r := range c.conns {
		r.stop()
	}
	c.calls.Wait()
	if n := c.total.Held(); n != 0 {
		t.Errorf("%d bytes are counted after all", n)
	}
}

// ownMethods serves h with methods of its own, which learn, and of which nothing is known at
// first: there is no wait for room before their answers are made.
func ownMethods(h handlers) mux.Router {
	served := map[string]rpc.Handler{}
	for name := range h {
		x, _, _ := h.route("", name)
		x.Method = method(name, rpc.Unary)
		served[name] = x
	}
	return func(_, name string) (rpc.Handler, string, bool) { return served[name], "", true }
}

// Many small connections that read no answer do not make a server hold a large one
// for each: it drops what it has no room for, and says so.
func TestAnswersOfManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const conns, size = 100, 512 << 10
		open := make(chan struct{})
		c := newCrowd(t, conns, ownMethods(handlers{
			"echo":  func(_ context.Context, arg string) (string, error) { return arg, nil },
			"large": func(context.Context, string) (string, error) { <-open; return strings.Repeat("x", size), nil },
		}))
		codes := make(chan rpc.Code, conns)
		for _, r := range c.conns {
			c.calls.Go(func() { _, _, err := r.call(t.Context(), "large", ""); codes <- rpc.CodeOf(err) })
		}
		synctest.Wait()
		for _, r := range c.conns {
			r.send.Stall(true)
		}
		close(open)
		synctest.Wait()
		if n := c.total.Held(); n > 3<<20 {
			t.Errorf("%d KB of answers are held by %d connections together", n>>10, conns)
		}
		for _, r := range c.conns {
			r.send.Stall(false)
		}
		synctest.Wait()
		got := map[rpc.Code]int{}
		for range conns {
			got[<-codes]++
		}
		if got[rpc.OK] == 0 || got[rpc.ResourceExhausted] == 0 || len(got) != 2 {
			t.Errorf("callers were told %v", got)
		}
		c.end(t)
	})
}

// Calls whose handlers wait cost what their goroutines do, and thousands of small
// connections do not hold more together than a server may.
func TestGoroutinesOfManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const conns, each = 200, 25
		var mu sync.Mutex
		waits := 0
		c := newCrowd(t, conns, handlers{
			"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			"wait": func(ctx context.Context, _ string) (string, error) {
				mu.Lock()
				waits++
				mu.Unlock()
				<-ctx.Done()
				return "", ctx.Err()
			},
		}.route)
		for _, r := range c.conns {
			for range each {
				c.calls.Go(func() { r.call(t.Context(), "wait", "") })
			}
			synctest.Wait()
		}
		// 1 MiB is 250 goroutines of 4 KB; beyond it each connection has three or four.
		if waits > 250+25*5+conns*4 {
			t.Errorf("%d handlers wait on %d connections of a server that may hold 1 MiB", waits, conns)
		}
		if n := c.total.Held(); n < 1<<20 {
			t.Errorf("%d bytes are counted", n)
		}
		c.end(t)
	})
}
