package mux_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// Of a method whose answers nobody has known to be large as many run as were called: what
// they return is held within twice the account of the connection, and the rest is dropped.
// So it is where answers wait for their turn: there as many run as may.
func TestUnforeseenLargeAnswers(t *testing.T) {
	for _, form := range []ttheader.Form{ttheader.TTHeader, ttheader.Framed} {
		for _, where := range []mux.Handlers{mux.Spare, mux.Goroutines} {
			synctest.Test(t, func(t *testing.T) { unforeseen(t, ttheader.Protocol{Form: form}, where) })
		}
	}
}

func unforeseen(t *testing.T, p ttheader.Protocol, where mux.Handlers) {
	const calls, size = 64, 32 << 10
	full := rpc.Limits{MessageBytes: 64 << 10, HeldPerConn: 256 << 10}.WithDefaults()
	first, others := make(chan struct{}), make(chan struct{})
	h := handlers{"page": func(_ context.Context, arg string) (string, error) {
		if arg == "first" {
			<-first
		} else {
			<-others
		}
		return strings.Repeat("x", size), nil
	}}
	page, _, _ := h.route("", "page")
	page.Method = method("page", rpc.Unary) // nothing is known of it
	route := func(string, string) (rpc.Handler, string, bool) { return page, "", true }
	peer, nc := pipe.New(pipe.Config{Buffer: 1 << 10})
	s := p.Open(wire.Client, full)
	ended := make(chan error, 1)
	server := mux.NewServerConn(nc, p.Open(wire.Server, full), &mux.ServerConfig{Config: mux.Config{Limits: full}, Route: route, Base: t.Context(), Handlers: where})
	go server.Run(func(err error) { ended <- err })
	o := peer.Output()
	o.Lock()
	for i := range uint64(calls) {
		ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: i + 1, Method: "page"}
		m := s.Begin(o.Out(), &ev)
		if i == 0 {
			o.Out().AppendString("first")
		}
		s.End(o.Out(), m, &ev) //nolint:errcheck // it is short
	}
	if o.Unlock() {
		o.Flush() //nolint:errcheck // the server's end shows
	}
	time.Sleep(2 * time.Second) // virtual: in order they wait for the first answer, but not for long
	close(others)
	synctest.Wait()
	close(first)
	synctest.Wait() // nothing was read yet
	answers, refused := 0, 0
	peer.Receive(false, func(in *buf.In) (bool, error) { //nolint:errcheck // the counts show
		for answers+refused < calls {
			ev, need, err := s.Cut(in)
			if err != nil || need > 0 {
				return err == nil, err
			}
			switch {
			case ev.Flags&wire.End == 0:
			case ev.Err != nil && strings.Contains(ev.Err.Msg, "no room for the answer"):
				refused++
			default:
				answers++
			}
			ev.Body.Release()
		}
		return false, nil
	})
	if answers+refused != calls || answers == 0 || answers*size > 2*full.HeldPerConn+2*size {
		t.Errorf("%v, %v: %d answers of %d bytes were kept for a peer that reads nothing, %d were dropped", p.Name(), where, answers, size, refused)
	}
	peer.Abort()
	<-ended
}

// Of ordered requests of a method that was never answered one runs, until it is known
// what it weighs, or for a while; then as many as have room.
func TestFirstAnswerOfAMethodIsWeighed(t *testing.T) {
	for _, long := range []time.Duration{50 * time.Millisecond, 5 * time.Second} {
		for _, where := range []mux.Handlers{mux.Spare, mux.Goroutines} {
			synctest.Test(t, func(t *testing.T) {
				var runs, most atomic.Int32
				h := handlers{"page": func(context.Context, string) (string, error) {
					if n := runs.Add(1); n > most.Load() {
						most.Store(n)
					}
					defer runs.Add(-1)
					time.Sleep(long)
					return strings.Repeat("x", 240<<10), nil
				}}
				page, _, _ := h.route("", "page")
				page.Method = method("page", rpc.Unary)
				f := newFramedPeerOf(t, func(string, string) (rpc.Handler, string, bool) { return page, "", true }, where, nil, heldLimits)
				go f.call(40, "page")
				time.Sleep(40 * time.Millisecond)
				if n := runs.Load(); n != 1 {
					t.Errorf("%d run although nothing is known of their answers", n)
				}
				answers := 0
				f.nc.Receive(false, func(in *buf.In) (bool, error) { //nolint:errcheck // answers are counted
					for {
						ev, need, err := f.s.Cut(in)
						if ev.Flags == 0 || err != nil {
							in.Expect(need)
							return answers < 5, err
						}
						if answers++; ev.Err != nil && long < time.Second {
							t.Error(ev.Err)
						}
						ev.Body.Release()
					}
				})
				if n := most.Load(); long < time.Second && n > 4 || n < 2 {
					t.Errorf("%d ran at a time that take %v", n, long)
				}
				f.nc.Abort()
				<-f.ended
			})
		}
	}
}
