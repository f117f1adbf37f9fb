package mux_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// While all connections together hold what they may, a stream that is open already
// does not add to it without end either.
func TestStreamsOfAFullServer(t *testing.T) {
	for what, size := range map[string]int{"messages": 8 << 10, "large messages": 300 << 10} {
		synctest.Test(t, func(t *testing.T) {
			h := newHolder(t, ttheader.TTHeader)
			h.stream("chat", func(int) string { return "x" }, 1)
			id := h.next
			mux.Count(h.total, 17<<20)
			for range 50 {
				h.more(id, strings.Repeat("x", size))
			}
			if h.most > 32<<10+perBatch/8 {
				t.Errorf("%s: %d bytes are held", what, h.most)
			}
			mux.Count(h.total, -17<<20)
			h.end()
		})
	}
}

// While all connections together hold what they may, a peer that reads nothing has
// little waiting for it, whatever that is, and hardly anything once they hold a quarter
// more: thousands of them would hold much.
func TestUnreadOutputOfAFullServer(t *testing.T) {
	for what, fill := range map[string]func(h *holder){
		"answers":  func(h *holder) { h.call("echo", strings.Repeat("x", 1<<10)) },
		"refusals": func(h *holder) { h.call("nothing", "") },
		"in order": func(h *holder) {
			h.send(&wire.Event{Flags: wire.Open | wire.Message | wire.End, Method: "nothing"}, "")
		},
		"pongs":    func(h *holder) { h.send(&wire.Event{Flags: wire.Ping}, "") },
		"messages": func(h *holder) { h.stream("pour", func(int) string { return "x" }, 1) },
	} {
		for held, most := range map[int]int{17 << 20: 64 << 10, 21 << 20: 10 << 10} {
			t.Run(fmt.Sprint(what, " at ", held>>20), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := newHolder(t, ttheader.TTHeader)
					h.r.send.Stall(true)
					mux.Count(h.total, held)
					for range 3000 {
						fill(h)
					}
					if h.most > most {
						t.Errorf("%d bytes are held", h.most)
					}
					mux.Count(h.total, -held)
					h.end()
				})
			})
		}
	}
}

// While all connections together hold what they may, one that is answered in order, and
// whose first answer is not there yet, is not read on: what is refused would wait behind it.
func TestRefusalsInOrderOfAFullServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHolder(t, ttheader.Framed)
		h.call("wait", "")
		mux.Count(h.total, 17<<20)
		for range 3000 {
			h.call("echo", strings.Repeat("x", 100))
		}
		if h.most > 64<<10 {
			t.Errorf("%d bytes are held", h.most)
		}
		mux.Count(h.total, -17<<20)
		h.release()
		h.end()
	})
}

// A handler that sends to a connection whose output has failed is told so at once: it
// would go on sending, and thousands of them would keep the processors from whoever
// is to find out that their peers have gone.
func TestSendingToAFailedOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		var why error
		h := streamHandlers{chat: func(context.Context, iter.Seq2[*string, error]) iter.Seq2[*string, error] {
			return func(yield func(*string, error) bool) {
				for m := strings.Repeat("y", 32<<10); sent.Add(1) < 10_000 && yield(&m, nil); {
					continue
				}
			}
		}}
		r := &rig{finished: make(chan error, 1)}
		r.cend, r.send = pipe.New(pipe.Config{})
		lim := rpc.Limits{}.WithDefaults()
		server := mux.NewServerConn(r.send, ttheader.Protocol{}.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim}, Base: t.Context(),
			Route: func(service, name string) (rpc.Handler, string, bool) {
				h, text, ok := h.route(service, name)
				serve := h.Serve
				h.Serve = func(ctx context.Context, c *rpc.Call) error { why = serve(ctx, c); return why }
				return h, text, ok
			}})
		go server.Run(func(err error) { r.finished <- err })
		r.send.Stall(true)
		s := ttheader.Protocol{NoOffer: true}.Open(wire.Client, lim) // of a peer without credit
		var out buf.Out
		ev := &wire.Event{Flags: wire.Stream | wire.Open, ID: 1, Method: "chat"}
		m := s.Begin(&out, ev)
		if err := s.End(&out, m, ev); err != nil {
			t.Fatal(err)
		}
		put(r.cend, out.Bytes())
		out.Reset()
		synctest.Wait()
		before := sent.Load()
		if before < 10 || before > 1000 {
			t.Errorf("%d messages were sent to who does not read", before)
		}
		r.send.Output().Fail(errors.New("reset"))
		synctest.Wait()
		if n := sent.Load() - before; n > 2 || rpc.CodeOf(why) != rpc.Unavailable {
			t.Errorf("%d messages were sent after that; the handler has returned %v", n, why)
		}
		r.cend.Abort()
		r.cend.Receive(false, nil)
		<-r.finished
	})
}

// A caller that sends is told likewise: its stream is over, and Receive says why.
func TestCallingOverAFailedOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{}.WithDefaults()
		a, b := pipe.New(pipe.Config{})
		a.Stall(true)
		c := mux.NewConn(a, ttheader.Protocol{NoOffer: true}.Open(wire.Client, lim), mux.Config{Limits: lim}) // toward a peer without credit
		var sent atomic.Int32
		why, ended := make(chan error, 1), make(chan error, 1)
		go func() {
			call := stub.NewCall[string, string](chatMethod, "Test")
			ended <- stub.Converse(t.Context(), c, &call.Call, func(_ context.Context, st rpc.Stream) error {
				for m := strings.Repeat("y", 32<<10); sent.Add(1) < 10_000; {
					if err := st.Send(&m); err != nil {
						why <- err
						break
					}
				}
				return st.Receive(new(string))
			})
		}()
		synctest.Wait()
		before := sent.Load()
		if before < 10 || before > 1000 {
			t.Errorf("%d messages were sent to who does not read", before)
		}
		a.Output().Fail(errors.New("reset"))
		synctest.Wait()
		select {
		case err := <-why:
			if n := sent.Load() - before; n > 2 || err != io.EOF {
				t.Errorf("%d messages were sent after that; Send said %v", n, err)
			}
		default:
			t.Errorf("%d messages were sent after that", sent.Load()-before)
		}
		a.Abort()
		if err := <-ended; rpc.CodeOf(err) != rpc.Unavailable {
			t.Errorf("the call has ended with %v", err)
		}
		c.Close()
		b.Abort()
		b.Receive(false, nil)
	})
}

// What a connection has cut of one packet is no memory that it keeps.
func TestBatchesAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHolder(t, ttheader.TTHeader)
		var p []byte
		for range 100 {
			p = append(p, streamFrame(9999, "3", "k", "v")...) // of no stream
		}
		h.raw(p)
		if n := mux.BatchRoom(h.r.server); n < 1 || n > 8 {
			t.Errorf("a connection at rest has room for %d events", n)
		}
		h.end()
	})
}

// A flusher that finds the socket full gives back what it has taken also if the
// connection ends before anybody can wait for room: else that would count as held on
// all connections for ever.
func TestFullAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{}.WithDefaults()
		a, b := pipe.New(pipe.Config{})
		total := mux.NewTotal(1<<20, nil, "")
		c := mux.NewConn(a, ttheader.Protocol{}.Open(wire.Client, lim), mux.Config{Limits: lim, Total: total})
		a.Stall(true)
		out := a.Output()
		out.Lock()
		out.Out().AppendString(strings.Repeat("x", 100<<10))
		if !out.Unlock() {
			t.Fatal("nobody is the flusher")
		}
		mux.FlushAround(c, func() { c.Close() })
		synctest.Wait()
		if n, held := out.Queued(), total.Held(); n != 0 || held != 0 {
			t.Errorf("%d bytes are queued, %d held", n, held)
		}
		b.Abort()
	})
}
