package mux_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// A loopRig is a server whose connections are on one event loop.
type loopRig struct {
	cfg   netio.Config
	l     *netio.Listener
	watch mux.StallWatch
	serve mux.ServerConfig
	proto ttheader.Protocol
	lim   *rpc.Limits
	ends  chan error
}

// newLoopRig listens; the test's end checks that nothing is left behind.
func newLoopRig(t *testing.T, lim rpc.Limits, h handlers, where mux.Handlers) *loopRig {
	t.Helper()
	blocks, goroutines := buf.Live(), runtime.NumGoroutine()
	r := &loopRig{cfg: netio.Config{Net: new(netio.Net), Loops: 1}, lim: lim.WithDefaults(), ends: make(chan error, 100)}
	l, err := netio.Listen("tcp", "127.0.0.1:0", &r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.l = l
	r.serve = mux.ServerConfig{Config: mux.Config{Limits: r.lim, Logger: logTo(t)}, Route: h.route, Base: context.Background(), Handlers: where, Watch: &r.watch}
	t.Cleanup(func() {
		l.Close()
		r.watch.Close()
		if err := r.cfg.Net.Close(); err != nil {
			t.Error(err)
		}
		until := time.Now().Add(10 * time.Second)
		for buf.Live() > blocks || runtime.NumGoroutine() > goroutines {
			if time.Now().After(until) {
				t.Fatalf("left behind: %d blocks, %d goroutines", buf.Live()-blocks, runtime.NumGoroutine()-goroutines)
			}
			runtime.Gosched()
		}
	})
	return r
}

// dial connects; Run of the server's half returns before dial does.
func (r *loopRig) dial(t *testing.T) (netio.Conn, *mux.ServerConn) {
	t.Helper()
	nc, err := netio.Dial(t.Context(), "tcp", r.l.Addr().String(), &r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := r.l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := mux.NewServerConn(sc, r.proto.Open(wire.Server, r.lim), &r.serve)
	s.Run(func(err error) { r.ends <- err }) // returns: nothing is to be read yet
	return nc, s
}

func (r *loopRig) client(t *testing.T) (*mux.Conn, *mux.ServerConn) {
	t.Helper()
	nc, s := r.dial(t)
	c := mux.NewConn(nc, r.proto.Open(wire.Client, r.lim), mux.Config{Limits: r.lim})
	if _, err := ask(t, c, "echo", "first"); err != nil {
		t.Fatal(err)
	}
	<-c.Ready() // from now on several calls at a time
	return c, s
}

func (r *loopRig) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.ends:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the server's half does not end")
		return nil
	}
}

func ask(t *testing.T, c *mux.Conn, name, arg string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	x := stub.NewCall[string, string](method(name, rpc.Unary), "Test")
	x.Args = arg
	err := c.Do(ctx, &x.Call)
	return x.Result, err
}

var everyHandlers = map[string]mux.Handlers{"spare": mux.Spare, "inline": mux.Inline, "goroutines": mux.Goroutines}

// A handler that ends its goroutine, which Inline may be the event loop's, fails
// its call, and none of the other connections.
func TestLoopGoexit(t *testing.T) {
	for name, where := range everyHandlers {
		t.Run(name, func(t *testing.T) {
			r := newLoopRig(t, rpc.Limits{}, handlers{
				"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
				"exit": func(context.Context, string) (string, error) { runtime.Goexit(); return "", nil },
			}, where)
			var clients []*mux.Conn
			for range 10 {
				c, _ := r.client(t)
				clients = append(clients, c)
				defer c.Close()
			}
			for range 3 {
				var exits sync.WaitGroup
				for _, c := range clients[:5] {
					exits.Go(func() {
						if _, err := ask(t, c, "exit", ""); rpc.CodeOf(err) != rpc.Internal {
							t.Errorf("exit = %v", err)
						}
					})
				}
				for i, c := range clients {
					if got, err := ask(t, c, "echo", "on"); err != nil || got != "on" {
						t.Errorf("echo on connection %d = %q, %v", i, got, err)
					}
				}
				exits.Wait()
			}
		})
	}
}

// Calls of many callers on several connections, of every size, get their own
// answers, and an idle server has no goroutine but the loop's.
func TestLoopCalls(t *testing.T) {
	for name, where := range everyHandlers {
		t.Run(name, func(t *testing.T) {
			r := newLoopRig(t, rpc.Limits{}, echo, where)
			const conns, callers, calls = 4, 8, 50
			var clients [conns]*mux.Conn
			for i := range clients {
				clients[i], _ = r.client(t)
			}
			var work sync.WaitGroup
			for i := range conns * callers {
				work.Go(func() {
					for k := range calls {
						arg := fmt.Sprint(i, k) + strings.Repeat("x", k*k*20)
						if got, err := ask(t, clients[i%conns], "echo", arg); err != nil || got != arg {
							t.Errorf("%d bytes came back as %d: %v", len(arg), len(got), err)
							return
						}
					}
				})
			}
			work.Wait()
			for _, c := range clients {
				c.Close()
			}
			for range clients {
				if err := r.end(t); err == nil { // a closed client resets
					t.Error("ended without a reason")
				}
			}
		})
	}
}

// Many idle connections of a server hold no goroutine.
func TestLoopIdleConns(t *testing.T) {
	r := newLoopRig(t, rpc.Limits{}, echo, mux.Spare)
	before := runtime.NumGoroutine()
	var clients []*mux.Conn
	for range 200 {
		c, _ := r.client(t)
		if _, err := ask(t, c, "echo", "x"); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	for until := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before+5; runtime.Gosched() {
		if time.Now().After(until) {
			t.Fatalf("%d goroutines for %d connections", runtime.NumGoroutine()-before, len(clients))
		}
	}
	for _, c := range clients {
		c.Close()
	}
	for range clients {
		r.end(t)
	}
}

// A handler that blocks holds up neither its connection nor its loop.
func TestLoopBlocked(t *testing.T) {
	for _, where := range []mux.Handlers{mux.Spare, mux.Goroutines} {
		release := make(chan struct{})
		h := handlers{"echo": echo["echo"], "block": func(_ context.Context, arg string) (string, error) { <-release; return arg, nil }}
		r := newLoopRig(t, rpc.Limits{}, h, where)
		c, _ := r.client(t)
		d, _ := r.client(t)
		var work sync.WaitGroup
		work.Go(func() {
			if got, err := ask(t, c, "block", "late"); err != nil || got != "late" {
				t.Error(got, err)
			}
		})
		for range 50 {
			for _, c := range []*mux.Conn{c, d} {
				if got, err := ask(t, c, "echo", "soon"); err != nil || got != "soon" {
					t.Error(got, err)
				}
			}
		}
		close(release)
		work.Wait()
		c.Close()
		d.Close()
		r.end(t)
		r.end(t)
	}
}

// A peer that sends and closes its side in one go still gets its answers.
func TestLoopHalfClose(t *testing.T) {
	for name, where := range everyHandlers {
		t.Run(name, func(t *testing.T) {
			r := newLoopRig(t, rpc.Limits{}, echo, where)
			for range 20 {
				nc, _ := r.dial(t)
				s := ttheader.Protocol{Form: ttheader.Framed}.Open(wire.Client, r.lim) // a peer of our kind that ends one side has gone
				o := nc.Output()
				o.Lock()
				ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 1, Method: "echo"}
				m := s.Begin(o.Out(), &ev)
				o.Out().AppendString("payload")
				s.End(o.Out(), m, &ev)
				if o.Unlock() {
					o.Flush()
				}
				nc.CloseWrite()
				answer := ""
				why, err := nc.Receive(false, func(in *buf.In) (bool, error) {
					for {
						ev, need, err := s.Cut(in)
						if ev.Flags == 0 || err != nil {
							in.Expect(need)
							return true, err
						}
						answer += string(ev.Body.Bytes())
						ev.Body.Release()
					}
				})
				if answer != "payload" || why != netio.Lost || !errors.Is(err, io.EOF) {
					t.Errorf("answer %q, then %v, %v", answer, why, err)
				}
				netio.CloseWithin(nc, time.Second)
				nc.Receive(false, nil)
				r.end(t)
			}
		})
	}
}

// Drain, Abort and the Net's end find connections that no goroutine looks after.
func TestLoopDrain(t *testing.T) {
	for name, stop := range map[string]func(*loopRig, *mux.ServerConn){
		"drain": func(_ *loopRig, s *mux.ServerConn) { s.Drain(context.Background()) },
		"abort": func(_ *loopRig, s *mux.ServerConn) { s.Abort() },
		"net":   func(r *loopRig, _ *mux.ServerConn) { r.cfg.Net.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newLoopRig(t, rpc.Limits{}, echo, mux.Spare)
			c, s := r.client(t)
			if _, err := ask(t, c, "echo", "x"); err != nil {
				t.Fatal(err)
			}
			stop(r, s)
			r.end(t)
			if _, err := ask(t, c, "echo", "x"); err == nil {
				t.Error("a call on a connection that has ended")
			}
			c.Close()
		})
	}
}

// A peer that never reads its answers does not stop the loop.
func TestLoopNeverReads(t *testing.T) {
	for name, where := range everyHandlers {
		t.Run(name, func(t *testing.T) {
			r := newLoopRig(t, rpc.Limits{QueuedBytes: 64 << 10}, echo, where)
			nc, _ := r.dial(t)
			c, _ := r.client(t)
			s := r.proto.Open(wire.Client, r.lim)
			body := strings.Repeat("x", 100<<10)
			var work sync.WaitGroup
			work.Go(func() { // until the sockets of both directions are full
				for id := uint64(1); ; id++ {
					o := nc.Output()
					o.Lock()
					ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: id, Method: "echo"}
					m := s.Begin(o.Out(), &ev)
					o.Out().AppendString(body)
					s.End(o.Out(), m, &ev)
					if o.Unlock() {
						o.Flush() //nolint:errcheck // Err tells, also if it is another's to flush
					}
					if o.Err() != nil {
						return
					}
				}
			})
			for range 300 {
				if got, err := ask(t, c, "echo", "x"); err != nil || got != "x" {
					t.Error(got, err)
				}
				runtime.Gosched()
			}
			nc.Abort()
			work.Wait()
			c.Close()
			nc.Receive(false, nil)
			r.end(t)
			r.end(t)
		})
	}
}
