package mux_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

var everyMode = map[string]mux.Handlers{"spare": mux.Spare, "inline": mux.Inline, "goroutines": mux.Goroutines}

// A call and its cancel that arrive together: the call is never started.
func TestCancelInTheBatchOfItsCall(t *testing.T) {
	for name, where := range everyMode {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var started atomic.Int32
				r := newRigOf(t, ttheader.TTHeader, rpc.Limits{}, handlers{
					"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
					"wait": func(ctx context.Context, _ string) (string, error) {
						started.Add(1)
						<-ctx.Done()
						return "", ctx.Err()
					},
				}, where)
				if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
					t.Fatal(err)
				}
				r.cend.Hold() // not Stall: a flush may take the calls first, and send the cancels in a second step
				ctx, cancel := context.WithCancel(t.Context())
				var calls sync.WaitGroup
				for range 10 {
					calls.Go(func() { r.call(ctx, "wait", "") })
				}
				synctest.Wait()
				cancel()
				calls.Wait()
				synctest.Wait() // all is sent
				r.cend.Release()
				synctest.Wait()
				if n := started.Load(); n != 0 {
					t.Errorf("%d calls were started although nobody waited for them", n)
				}
				r.call(t.Context(), "echo", "") // somebody has to read
				if n := mux.Abandoned(r.client); n != 0 {
					t.Errorf("the ids of %d calls are not free", n)
				}
			})
		})
	}
}

// Calls that are given up at any moment: each handler that was started is told.
func TestCancelAtAnyMoment(t *testing.T) {
	for name, where := range map[string]mux.Handlers{"spare": mux.Spare, "goroutines": mux.Goroutines} {
		t.Run(name, func(t *testing.T) {
			var started, told atomic.Int32
			r := newRigOf(t, ttheader.TTHeader, rpc.Limits{}, handlers{
				"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
				"wait": func(ctx context.Context, _ string) (string, error) {
					started.Add(1)
					<-ctx.Done()
					told.Add(1)
					return "", ctx.Err()
				},
			}, where)
			if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
				t.Fatal(err)
			}
			n := 2000
			if testing.Short() {
				n = 500
			}
			var calls sync.WaitGroup
			for range 8 {
				calls.Go(func() {
					for range n / 8 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(100))*time.Microsecond)
						r.call(context.WithoutCancel(ctx), "echo", "")
						live, end := context.WithCancel(t.Context())
						stop := context.AfterFunc(ctx, end)
						r.call(live, "wait", "")
						stop()
						end()
						cancel()
					}
				})
			}
			calls.Wait()
			r.server.Drain(t.Context()) // waits for what runs; a handler that was not told would hold it for ever
			if s, g := started.Load(), told.Load(); s != g {
				t.Errorf("%d handlers were started, %d were told", s, g)
			}
		})
	}
}

// The loss of a connection reaches what runs, and what waits is not started.
func TestLossReachesEveryHandler(t *testing.T) {
	for name, where := range everyMode {
		t.Run(name, func(t *testing.T) {
			for round := range 20 {
				synctest.Test(t, func(t *testing.T) {
					var started, told atomic.Int32
					r := newRigOf(t, ttheader.TTHeader, rpc.Limits{}, handlers{
						"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
						"wait": func(ctx context.Context, _ string) (string, error) {
							started.Add(1)
							if where == mux.Inline {
								return "", nil
							}
							<-ctx.Done()
							told.Add(1)
							return "", ctx.Err()
						},
					}, where)
					if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
						t.Fatal(err)
					}
					var calls sync.WaitGroup
					for range 50 {
						calls.Go(func() { r.call(t.Context(), "wait", "") })
					}
					if round%2 == 0 {
						synctest.Wait()
					}
					r.cend.Abort()
					calls.Wait()
					r.stop() // when the last handler has returned
					if s, g := started.Load(), told.Load(); s != g && where != mux.Inline {
						t.Errorf("%d handlers were started, %d were told", s, g)
					}
				})
			}
		})
	}
}

// Oneway calls that were accepted run although their caller closes right behind.
func TestOnewayCallsOutliveTheConnection(t *testing.T) {
	for name, where := range everyMode {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran atomic.Int32
				r := newRigOf(t, ttheader.TTHeader, rpc.Limits{}, handlers{
					"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
					"oneway": func(ctx context.Context, _ string) (string, error) {
						time.Sleep(time.Millisecond)
						if ctx.Err() == nil {
							ran.Add(1)
						}
						return "", nil
					},
				}, where)
				if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
					t.Fatal(err)
				}
				for range 100 {
					if _, _, err := r.call(t.Context(), "oneway", ""); err != nil {
						t.Fatal(err)
					}
				}
				r.client.Shutdown(t.Context())
				r.stop()
				if n := ran.Load(); n != 100 {
					t.Errorf("%d of 100 calls ran", n)
				}
			})
		})
	}
}

// A oneway call that was accepted runs although the next call of its connection,
// which carries one at a time so far, is given up before the peer has read either.
func TestOnewayCallsOutliveAnAbandonedCall(t *testing.T) {
	for _, form := range []ttheader.Form{ttheader.TTHeader, ttheader.Framed} {
		for name, where := range everyMode {
			t.Run(fmt.Sprint(form, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { onewayThenAbandoned(t, form, where) })
			})
		}
	}
}

func onewayThenAbandoned(t *testing.T, form ttheader.Form, where mux.Handlers) {
	var ran atomic.Int32
	h := handlers{
		"oneway": func(context.Context, string) (string, error) {
			time.Sleep(10 * time.Millisecond)
			ran.Add(1)
			return "", nil
		},
		"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
	}
	lim := (&rpc.Limits{}).WithDefaults()
	p := ttheader.Protocol{Form: form}
	// The server receives little at a time: its handlers run while more is on the way.
	near, far := pipe.New(pipe.Config{Delay: 5 * time.Millisecond, MaxReceive: 100})
	server := mux.NewServerConn(far, p.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: h.route, Base: t.Context(), Handlers: where})
	finished := make(chan error, 1)
	go server.Run(func(err error) { finished <- err })
	r := &rig{client: mux.NewConn(near, p.Open(wire.Client, lim), mux.Config{Limits: lim})}
	for range 3 {
		if _, _, err := r.call(t.Context(), "oneway", strings.Repeat("x", 50)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	before := time.Now()
	_, _, err := r.call(ctx, "echo", "")
	if rpc.CodeOf(err) != rpc.DeadlineExceeded || time.Since(before) > 2*time.Millisecond {
		t.Errorf("the call that is given up ends with %v after %v", err, time.Since(before))
	}
	if _, usable := r.client.Status(); usable {
		t.Error("the connection takes calls, one of which would get the late answer")
	}
	r.client.Shutdown(t.Context())
	<-finished
	if n := ran.Load(); n != 3 {
		t.Errorf("%d of 3 calls ran", n)
	}
}

// queueRig is a server that runs one call at a time, and what it started.
func queueRig(t *testing.T, took map[string]time.Duration) (r *rig, started func() []string) {
	var mu sync.Mutex
	var names []string
	r = newRigOf(t, ttheader.TTHeader, rpc.Limits{}, handlers{
		"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
		"work": func(_ context.Context, arg string) (string, error) {
			mu.Lock()
			names = append(names, arg)
			mu.Unlock()
			time.Sleep(took[arg])
			return arg, nil
		},
	}, mux.Inline)
	if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
		t.Fatal(err)
	}
	return r, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(names)
	}
}

// together makes calls of work whose requests arrive at once, in order, with
// the context that ctx gives for each.
func together(t *testing.T, r *rig, ctx func(arg string) context.Context, args ...string) (wait func() map[string]error) {
	r.cend.Hold()
	var calls sync.WaitGroup
	var mu sync.Mutex
	errs := map[string]error{}
	for _, arg := range args {
		calls.Go(func() {
			_, _, err := r.call(ctx(arg), "work", arg)
			mu.Lock()
			errs[arg] = err
			mu.Unlock()
		})
		synctest.Wait()
	}
	r.cend.Release()
	return func() map[string]error { calls.Wait(); return errs }
}

// What nobody waits for any more is not started.
func TestExpiredInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, started := queueRig(t, map[string]time.Duration{"slow": 74 * time.Millisecond})
		wait := together(t, r, func(arg string) context.Context {
			if arg == "slow" {
				return t.Context()
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			t.Cleanup(cancel)
			return ctx
		}, "slow", "late")
		if err := wait()["late"]; rpc.CodeOf(err) != rpc.DeadlineExceeded {
			t.Errorf("late: %v", err)
		}
		synctest.Wait()
		if got := fmt.Sprint(started()); got != "[slow]" {
			t.Errorf("started %v", got)
		}
		r.call(t.Context(), "echo", "") // somebody has to read
		if n := mux.Abandoned(r.client); n != 0 {
			t.Errorf("the ids of %d calls are not free", n)
		}
	})
}

// Nor when it is the newest, and goes before one that has waited for long but
// whose caller does wait.
func TestExpiredAtTheEndOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, started := queueRig(t, map[string]time.Duration{"slow": 74 * time.Millisecond})
		limits := map[string]time.Duration{"slow": time.Minute, "old": 100 * time.Millisecond, "late": time.Millisecond}
		wait := together(t, r, func(arg string) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), limits[arg])
			t.Cleanup(cancel)
			return ctx
		}, "slow", "old", "late")
		if errs := wait(); errs["slow"] != nil || errs["old"] != nil || rpc.CodeOf(errs["late"]) != rpc.DeadlineExceeded {
			t.Errorf("%v", errs)
		}
		if got := fmt.Sprint(started()); got != "[slow old]" {
			t.Errorf("started %v", got)
		}
	})
}

// A request that is refused while others wait leaves with the next answer.
func TestRefusalsLeaveBeforeAnotherIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := queueRig(t, map[string]time.Duration{"slow": 74 * time.Millisecond, "last": time.Millisecond})
		wait := together(t, r, func(arg string) context.Context {
			limit := time.Minute
			if arg == "late" {
				limit = time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			t.Cleanup(cancel)
			return ctx
		}, "slow", "late", "last")
		if err := wait()["last"]; err != nil {
			t.Errorf("last: %v", err)
		}
	})
}

// A call without a deadline waits for Limits.QueueTime; once the oldest has
// waited for half of that, the newest goes first.
func TestQueueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, started := queueRig(t, map[string]time.Duration{"0": 6 * time.Second, "3": 5 * time.Second})
		wait := together(t, r, func(string) context.Context { return t.Context() }, "0", "1", "2", "3")
		errs := wait()
		if got := fmt.Sprint(started()); got != "[0 3]" {
			t.Errorf("started %v", got)
		}
		for _, arg := range []string{"1", "2"} {
			if err := errs[arg]; rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.Refused {
				t.Errorf("%s: %v, %v", arg, err, rpc.SentOf(err))
			}
		}
		if errs["0"] != nil || errs["3"] != nil {
			t.Errorf("%v", errs)
		}
	})
}

// A stream that the drain ends is told so.
func TestDrainEndsAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
			"wait": func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", context.Cause(ctx) }})
		answer := make(chan error, 1)
		go func() { _, _, err := r.call(t.Context(), "wait", ""); answer <- err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r.server.Drain(ctx)
		if err := <-answer; rpc.CodeOf(err) != rpc.Unavailable {
			t.Errorf("wait = %v", err)
		}
	})
}
