package mux_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
)

// crossings are calls of each kind: what they end with, however they cross the end
// of their connection.
var crossings = map[string]func(ctx context.Context, r *rig) error{
	"echo": func(ctx context.Context, r *rig) error { _, _, err := r.call(ctx, "echo", "x"); return err },
	"large": func(ctx context.Context, r *rig) error {
		_, err := r.large(ctx, "echo", strings.Repeat("x", 3<<20))
		return err
	},
	"count": func(ctx context.Context, r *rig) error { return last(r.count(ctx, "3")) },
	"sum": func(ctx context.Context, r *rig) error {
		_, err := r.sum(ctx, strs(3, "x"))
		return err
	},
	"chat": func(ctx context.Context, r *rig) error { return last(r.chat(ctx, strs(3, "x"))) },
}

// last gives the error of a stream.
func last(in iter.Seq2[*string, error]) (err error) {
	for _, err = range in {
	}
	return err
}

// began is a route that counts what begins.
func began(n *atomic.Int32, route mux.Router) mux.Router {
	return func(service, name string) (rpc.Handler, string, bool) {
		h, why, ok := route(service, name)
		serve := h.Serve
		h.Serve = func(ctx context.Context, c *rpc.Call) error {
			n.Add(1)
			return serve(ctx, c)
		}
		return h, why, ok
	}
}

// A call on its way when a drained connection ends was certainly not started, and
// is told so by the server's last word: whatever kind of call, alone or beside
// others, and wherever the server's handlers run.
func TestCallsThatCrossTheEndAreRefused(t *testing.T) {
	for _, where := range []mux.Handlers{mux.Spare, mux.Inline, mux.Goroutines} {
		for kind, cross := range crossings {
			for _, n := range []int{1, 5} {
				t.Run(fmt.Sprint(where, kind, n), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var begun atomic.Int32
						r := newRigWith(t, ttheader.TTHeader, rpc.Limits{}, began(&begun, simple.route), where)
						if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
							t.Fatal(err)
						}
						r.cend.Hold()
						ends := make(chan error, n)
						for range n {
							go func() { ends <- cross(t.Context(), r) }()
						}
						synctest.Wait()
						r.drain(t.Context())
						for range n {
							if err := <-ends; rpc.CodeOf(err) != rpc.Unavailable || !rpc.SentOf(err).Retryable() {
								t.Errorf("%v, %v", err, rpc.SentOf(err))
							}
						}
						r.cend.Release()
						r.stop()
						if got := begun.Load(); got != 1 {
							t.Errorf("%d calls were begun besides the first", got-1)
						}
					})
				})
			}
		}
	}
}

// What was begun is answered before the last word, so that this says nothing of it.
func TestTheLastWordComesAfterTheAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
			"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			"slow": func(_ context.Context, arg string) (string, error) {
				time.Sleep(5 * time.Second)
				return strings.Repeat("x", 100<<10), nil
			},
		})
		if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
			t.Fatal(err)
		}
		slow := make(chan error, 8)
		for range cap(slow) {
			go func() { _, _, err := r.call(t.Context(), "slow", ""); slow <- err }()
		}
		time.Sleep(time.Second)
		r.cend.Hold()
		crossed := make(chan error, 1)
		go func() { _, _, err := r.call(t.Context(), "echo", ""); crossed <- err }()
		synctest.Wait()
		r.send.Stall(true)
		time.AfterFunc(9*time.Second, func() { r.send.Stall(false) })
		r.drain(t.Context())
		for range cap(slow) {
			if err := <-slow; err != nil {
				t.Errorf("slow = %v, %v", err, rpc.SentOf(err))
			}
		}
		if err := <-crossed; rpc.SentOf(err) != rpc.Refused {
			t.Errorf("echo = %v, %v", err, rpc.SentOf(err))
		}
		r.cend.Release()
	})
}

// An end without the last word says nothing: neither the end of a server that was
// killed in the middle of a drain, nor that of a drain that was cut off.
func TestAnEndWithoutTheLastWordIsMaybe(t *testing.T) {
	for name, end := range map[string]func(r *rig){
		"killed":  func(r *rig) { r.send.Break() },
		"closed":  func(r *rig) { netio.CloseWithin(r.send, time.Second) }, //nolint:errcheck // the client shows
		"cut off": nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				open := make(chan struct{})
				defer close(open)
				r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
					"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
					"deaf": func(context.Context, string) (string, error) { <-open; return "", nil },
				})
				if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
					t.Fatal(err)
				}
				calls := make(chan error, 2)
				if name == "cut off" {
					go func() { _, _, err := r.call(t.Context(), "deaf", ""); calls <- err }()
					synctest.Wait()
				} else {
					time.AfterFunc(500*time.Millisecond, func() { end(r) })
					calls <- &rpc.Error{Code: rpc.Unavailable, Sent: rpc.Maybe}
				}
				r.cend.Hold()
				go func() { _, _, err := r.call(t.Context(), "echo", ""); calls <- err }()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				go r.server.Drain(ctx)
				for range cap(calls) {
					if err := <-calls; rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.Maybe {
						t.Errorf("%v, %v", err, rpc.SentOf(err))
					}
				}
				r.cend.Release()
			})
		})
	}
}

// A client that finds that it cannot send any more still reads what the server has
// said last: the last word may be there, or on its way.
func TestTheLastWordIsReadAfterSendingHasFailed(t *testing.T) {
	for name, cross := range map[string]func(ctx context.Context, r *rig) error{
		"whole": func(ctx context.Context, r *rig) error {
			_, err := r.large(ctx, "echo", strings.Repeat("x", 1<<20))
			return err
		},
		"pieces": func(ctx context.Context, r *rig) error {
			_, err := r.large(ctx, "echo", strings.Repeat("x", 3<<20))
			return err
		},
		"stream": func(ctx context.Context, r *rig) error {
			return last(r.chat(ctx, strs(3, strings.Repeat("x", 300<<10))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRigOn(t, pipe.Config{Delay: 400 * time.Millisecond, Buffer: 64 << 10}, simple.route)
				if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
					t.Fatal(err)
				}
				r.drain(t.Context())
				// The last word is said after a second, and comes after 1.4 s.
				time.AfterFunc(1200*time.Millisecond, func() {
					netio.CloseWithin(r.send, time.Second) //nolint:errcheck // the client shows
				})
				time.Sleep(1100 * time.Millisecond)
				began := time.Now()
				if err := cross(t.Context(), r); rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.Refused {
					t.Errorf("%v, %v", err, rpc.SentOf(err))
				}
				if took := time.Since(began); took != 300*time.Millisecond {
					t.Errorf("after %v", took)
				}
				synctest.Wait() // who feeds the stream is told now
			})
		})
	}
}

// Peers without the offer are told nothing new, and closed as before: at once.
func TestNoLastWordWithoutAnOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.Framed, rpc.Limits{}, echo)
		if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
			t.Fatal(err)
		}
		sent := r.send.Output().HandedToKernel()
		began := time.Now()
		r.server.Drain(t.Context())
		if n := r.send.Output().HandedToKernel() - sent; n != 0 || time.Since(began) != 0 {
			t.Errorf("%d bytes were sent, in %v", n, time.Since(began))
		}
		if _, _, err := r.call(t.Context(), "echo", ""); !errors.As(err, new(*rpc.Error)) || rpc.SentOf(err) != rpc.NotSent {
			t.Errorf("%v, %v", err, rpc.SentOf(err))
		}
	})
}
