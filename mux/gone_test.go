package mux_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// A framedPeer speaks the form without ids to a server by hand.
type framedPeer struct {
	nc     *pipe.Conn
	s      wire.Session
	server *mux.ServerConn
	ended  chan error // what Run ended with
}

func newFramedPeer(t *testing.T, h handlers, where mux.Handlers) *framedPeer {
	return newFramedPeerUnder(t, h, where, nil)
}

// newFramedPeerUnder has total count what the server holds for the peer.
func newFramedPeerUnder(t *testing.T, h handlers, where mux.Handlers, total *mux.Total) *framedPeer {
	return newFramedPeerOf(t, h.route, where, total, rpc.Limits{})
}

func newFramedPeerOf(t *testing.T, route mux.Router, where mux.Handlers, total *mux.Total, lim rpc.Limits) *framedPeer {
	full := lim.WithDefaults()
	a, b := pipe.New(pipe.Config{})
	p := ttheader.Protocol{Form: ttheader.Framed}
	f := &framedPeer{nc: a, s: p.Open(wire.Client, full), ended: make(chan error, 1)}
	f.server = mux.NewServerConn(b, p.Open(wire.Server, full), &mux.ServerConfig{Config: mux.Config{Limits: full}, Route: route, Base: t.Context(), Handlers: where})
	f.server.CountUnder(total)
	go f.server.Run(func(err error) { f.ended <- err })
	return f
}

// call sends n calls of method.
func (f *framedPeer) call(n int, method string) {
	o := f.nc.Output()
	o.Lock()
	for i := range n {
		ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: uint64(i + 1), Method: method}
		m := f.s.Begin(o.Out(), &ev)
		o.Out().AppendString("payload")
		f.s.End(o.Out(), m, &ev)
	}
	if o.Unlock() {
		o.Flush() //nolint:errcheck // the server's end shows
	}
}

// A reset of the connection reaches handlers although nobody reads: one runs
// Inline, or those that were begun are as many as may be and the others wait.
func TestResetWhileNobodyReads(t *testing.T) {
	for name, where := range everyMode {
		for _, n := range []int{1, 70, 300} {
			synctest.Test(t, func(t *testing.T) {
				var begun, told atomic.Int32
				f := newFramedPeer(t, handlers{"wait": func(ctx context.Context, _ string) (string, error) {
					begun.Add(1)
					select {
					case <-ctx.Done():
						told.Add(1)
					case <-time.After(time.Hour):
					}
					return "", ctx.Err()
				}}, where)
				f.call(n, "wait")
				synctest.Wait()
				running, start := begun.Load(), time.Now()
				f.nc.Abort()
				err := <-f.ended
				if took := time.Since(start); took > time.Second || err == nil || errors.Is(err, io.EOF) {
					t.Errorf("%s, %d calls: the connection ended %v after the reset: %v", name, n, took, err)
				}
				if b := begun.Load(); b != told.Load() || b != running || b == 0 {
					t.Errorf("%s, %d calls: %d handlers ran, %d more were begun, %d were told", name, n, running, b-running, told.Load())
				}
			})
		}
	}
}

// A peer that has only ended its sending side is answered although nobody read
// that end at once, and Inline handlers still run one at a time; those that wait
// for longer than such a peer is believed are given up.
func TestHalfCloseWhileNobodyReads(t *testing.T) {
	for name, where := range everyMode {
		synctest.Test(t, func(t *testing.T) {
			var running, most atomic.Int32
			f := newFramedPeer(t, handlers{
				"take": func(ctx context.Context, arg string) (string, error) {
					most.Store(max(most.Load(), running.Add(1)))
					defer running.Add(-1)
					time.Sleep(time.Second)
					return arg, ctx.Err()
				},
				"wait": func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() },
			}, where)
			f.call(5, "take")
			synctest.Wait()
			f.call(70, "wait")
			f.nc.CloseWrite() //nolint:errcheck // the server's end shows
			start, answers := time.Now(), 0
			why, err := f.nc.Receive(false, func(in *buf.In) (bool, error) {
				for {
					ev, _, err := f.s.Cut(in)
					if ev.Flags == 0 || err != nil {
						return err == nil, err
					}
					if string(ev.Body.Bytes()) == "payload" {
						answers++
					}
					ev.Body.Release()
				}
			})
			if answers != 5 || why != netio.Lost || !errors.Is(err, io.EOF) {
				t.Errorf("%s: %d answers, then %v, %v", name, answers, why, err)
			}
			if took := time.Since(start); took < 20*time.Second || took > 40*time.Second {
				t.Errorf("%s: the connection ended after %v", name, took)
			}
			if where == mux.Inline && most.Load() != 1 {
				t.Errorf("%d Inline handlers ran at a time", most.Load())
			}
			if err := <-f.ended; !errors.Is(err, io.EOF) {
				t.Errorf("%s: Run = %v", name, err)
			}
			netio.CloseWithin(f.nc, time.Second)
		})
	}
}

// The end of the peer's sending side lifts no limit: as many handlers run at a
// time as before, and answers that it does not read wait as handlers left them.
func TestHalfCloseKeepsTheLimits(t *testing.T) {
	for name, where := range everyMode {
		if where == mux.Inline {
			continue
		}
		for _, size := range []int{256 << 10, 10} {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					answer := strings.Repeat("x", size)
					var running, most atomic.Int32
					f := newFramedPeer(t, handlers{"take": func(context.Context, string) (string, error) {
						n := running.Add(1)
						for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
						}
						time.Sleep(50 * time.Millisecond)
						running.Add(-1)
						return answer, nil
					}}, where)
					f.call(1000, "take")
					synctest.Wait()
					f.nc.CloseWrite() //nolint:errcheck // the server's end shows
					held := 0
					for range 100 {
						time.Sleep(50 * time.Millisecond)
						held = max(held, mux.Charged(f.server))
					}
					if n := most.Load(); n > 64 {
						t.Errorf("%d handlers ran at a time", n)
					}
					if held > 64*size+6<<20 {
						t.Errorf("%d KB were held", held>>10)
					}
					answers := 0
					why, err := f.nc.Receive(false, func(in *buf.In) (bool, error) {
						for {
							ev, need, err := f.s.Cut(in)
							if ev.Flags == 0 || err != nil {
								in.Expect(need)
								return err == nil, err
							}
							if ev.Body.Len() == size {
								answers++
							}
							ev.Body.Release()
						}
					})
					if answers != 1000 || why != netio.Lost || !errors.Is(err, io.EOF) {
						t.Errorf("%d answers, then %v, %v", answers, why, err)
					}
					if err := <-f.ended; !errors.Is(err, io.EOF) {
						t.Errorf("Run = %v", err)
					}
					netio.CloseWithin(f.nc, time.Second)
				})
			})
		}
	}
}

// What runs for peers that have ended their side is given up soon where the server
// is full, else as long as they may be thought to read.
func TestHalfClosedPeersOfAFullServer(t *testing.T) {
	for name, c := range map[string]struct{ limit, least, most int }{"full": {1 << 10, 0, 3}, "with room": {64 << 20, 20, 40}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFramedPeerUnder(t, handlers{"wait": func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }}, mux.Spare, mux.NewTotal(c.limit, nil, ""))
				f.call(70, "wait")
				synctest.Wait()
				f.nc.CloseWrite() //nolint:errcheck // the server's end shows
				start := time.Now()
				if err := <-f.ended; !errors.Is(err, io.EOF) {
					t.Errorf("Run = %v", err)
				}
				if took := int(time.Since(start) / time.Second); took < c.least || took > c.most {
					t.Errorf("the connection ended after %d s, want %d to %d", took, c.least, c.most)
				}
				netio.CloseWithin(f.nc, time.Second)
			})
		})
	}
}

// A caller that gives up by closing its socket in order looks like one that still reads,
// until the kernel answers the first answer with a reset: from then on nothing more is
// begun for it.
func TestResetBehindAHalfClose(t *testing.T) {
	for name, where := range everyMode {
		synctest.Test(t, func(t *testing.T) {
			var begun atomic.Int32
			const calls = 400
			f := newFramedPeer(t, handlers{"take": func(context.Context, string) (string, error) {
				begun.Add(1)
				time.Sleep(10 * time.Millisecond)
				return "", nil
			}}, where)
			f.call(calls, "take")
			f.nc.CloseWrite() //nolint:errcheck // the server's end shows
			time.Sleep(15 * time.Millisecond)
			before := begun.Load()
			f.nc.Abort()
			if err := <-f.ended; err == nil {
				t.Errorf("%s: Run = nil", name)
			}
			if after := begun.Load(); after > before+orderedBeside {
				t.Errorf("%s: %d handlers had begun before the reset, %d of %d in the end", name, before, after, calls)
			}
		})
	}
}

// orderedBeside is how many may begin between a reset and the first answer that meets
// it: as many as ran.
const orderedBeside = 128

// Streams that were opened right before their connection was reset are given up without
// having been begun: to begin each costs a goroutine and a call.
func TestStreamsOfAGonePeerAreNotBegun(t *testing.T) {
	for name, where := range everyMode {
		synctest.Test(t, func(t *testing.T) {
			var made atomic.Int32
			held := streamMethod("held", rpc.Bidi)
			fresh := held.New
			held.New = func() *rpc.Call { made.Add(1); return fresh() }
			route := func(_, _ string) (rpc.Handler, string, bool) {
				return rpc.Handler{Method: held, Serve: func(ctx context.Context, _ *rpc.Call) error { <-ctx.Done(); return ctx.Err() }}, "", true
			}
			full := rpc.Limits{}.WithDefaults()
			peer, nc := pipe.New(pipe.Config{Buffer: 1 << 20})
			s := ttheader.Protocol{}.Open(wire.Client, full)
			ended := make(chan error, 1)
			server := mux.NewServerConn(nc, ttheader.Protocol{}.Open(wire.Server, full), &mux.ServerConfig{Config: mux.Config{Limits: full}, Route: route, Base: t.Context(), Handlers: where})
			o := peer.Output()
			o.Lock()
			for i := range uint64(500) {
				ev := wire.Event{Flags: wire.Open | wire.Stream, ID: i + 1, Method: "held"}
				if m := s.Begin(o.Out(), &ev); s.End(o.Out(), m, &ev) != nil {
					t.Error("a stream cannot be opened")
				}
			}
			if o.Unlock() {
				o.Flush() //nolint:errcheck // the server's end shows
			}
			peer.CloseWrite() //nolint:errcheck // what was sent arrives
			synctest.Wait()
			server.Run(func(err error) { ended <- err })
			if err := <-ended; err == nil {
				t.Errorf("%s: the connection has ended without an error", name)
			}
			if n := made.Load(); n != 0 {
				t.Errorf("%s: %d streams of a peer that has gone were begun", name, n)
			}
		})
	}
}
