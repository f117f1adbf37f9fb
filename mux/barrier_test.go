package mux_test

import (
	"context"
	"iter"
	"strings"
	"sync"
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

// A connection that holds all that it may refuses new calls after a second in
// which nothing was released, hears cancels meanwhile, and takes calls again
// once something was.
func TestFullConnectionRefusesAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, heldLimits, handlers{
			"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			"wait": func(ctx context.Context, arg string) (string, error) { <-ctx.Done(); return "", ctx.Err() },
		})
		if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range 40 {
			calls.Go(func() { r.call(ctx, "wait", strings.Repeat("x", 64<<10)) })
		}
		synctest.Wait()
		time.Sleep(3 * time.Second)
		if _, _, err := r.call(t.Context(), "echo", ""); rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.Refused {
			t.Errorf("a call to a full connection: %v, %v", err, rpc.SentOf(err))
		}
		cancel()
		calls.Wait()
		synctest.Wait()
		if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// A server whose connections hold all that they may refuses calls of those that
// hold much, and serves the others.
func TestFullServerServesSmallConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{}.WithDefaults()
		total := mux.NewTotal(1<<20, nil, "")
		h := handlers{
			"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			"wait": func(ctx context.Context, arg string) (string, error) { <-ctx.Done(); return "", ctx.Err() },
		}
		connect := func() *rig {
			r := &rig{finished: make(chan error, 1)}
			r.cend, r.send = pipe.New(pipe.Config{})
			r.server = mux.NewServerConn(r.send, ttheader.Protocol{}.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim, Total: total}, Route: h.route, Base: t.Context()})
			go r.server.Run(func(err error) { r.finished <- err })
			r.client = mux.NewConn(r.cend, ttheader.Protocol{}.Open(wire.Client, lim), mux.Config{Limits: lim})
			if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
				t.Error(err)
			}
			return r
		}
		large, small := connect(), connect()
		var calls sync.WaitGroup
		wait := func() { large.call(t.Context(), "wait", strings.Repeat("x", 8<<10)) } // of a size that a full server takes
		for range 300 {
			calls.Go(wait)
		}
		synctest.Wait()
		for n := 0; n < 100 && !total.Full(); n++ { // what was refused may have been what made it full
			calls.Go(wait)
			synctest.Wait()
		}
		if !total.Full() || total.Held() < 1<<20 {
			t.Errorf("%d bytes are counted", total.Held())
		}
		if _, _, err := large.call(t.Context(), "echo", ""); rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.Refused {
			t.Errorf("a call beside large ones: %v, %v", err, rpc.SentOf(err))
		}
		if _, _, err := small.call(t.Context(), "echo", ""); err != nil {
			t.Errorf("a call on a small connection: %v", err)
		}
		if _, _, err := small.call(t.Context(), "echo", strings.Repeat("x", 64<<10)); rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.Refused {
			t.Errorf("a large call on it: %v, %v", err, rpc.SentOf(err))
		}
		if total.Refused() == 0 {
			t.Error("no refusal was counted")
		}
		large.stop()
		calls.Wait()
		if total.Full() || total.Held() > 4<<10 {
			t.Errorf("%d bytes are counted after the connection has ended", total.Held())
		}
		small.stop()
		if total.Held() != 0 {
			t.Errorf("%d bytes are counted after all", total.Held())
		}
	})
}

// A frame whose rest this side does not read is not its peer's fault.
func TestFrameRestOfAServerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		lim := rpc.Limits{FrameRest: 5 * time.Second}
		r := newRigOf(t, ttheader.TTHeader, lim, handlers{
			"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			"wait": func(context.Context, string) (string, error) { <-open; return "", nil },
		}, mux.Inline)
		if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
			t.Fatal(err)
		}
		r.cend.Stall(true)
		var calls sync.WaitGroup
		errs := make(chan error, 2)
		calls.Go(func() { _, _, err := r.call(t.Context(), "wait", ""); errs <- err })
		synctest.Wait()
		calls.Go(func() { _, _, err := r.call(t.Context(), "echo", strings.Repeat("x", 200<<10)); errs <- err })
		synctest.Wait()
		r.cend.Stall(false) // the call, and as much of the next as one receive takes
		time.Sleep(20 * time.Second)
		close(open)
		calls.Wait()
		for range 2 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

// Requests that wait for room begin as soon as there is, as many as have it,
// whatever those before them do.
func TestRequestsThatWaitForRoomBegin(t *testing.T) {
	for name, where := range everyMode {
		if where == mux.Inline {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// Each is taken to be answered with 1 MB, until the first is.
				f := newFramedPeer(t, handlers{"slow": func(_ context.Context, arg string) (string, error) {
					time.Sleep(50 * time.Millisecond)
					return arg, nil
				}}, where)
				start := time.Now()
				f.call(1000, "slow")
				all, answers := 0, 0
				f.nc.Receive(false, func(in *buf.In) (bool, error) { //nolint:errcheck // answers are counted
					for {
						ev, need, err := f.s.Cut(in)
						if ev.Flags == 0 || err != nil {
							in.Expect(need)
							return all < 1000, err
						}
						if all++; ev.Err == nil {
							answers++
						}
						ev.Body.Release()
					}
				})
				if took := time.Since(start); answers < 1000 || took > 2*time.Second {
					t.Errorf("%d answers after %v", answers, took)
				}
				f.nc.Abort()
				<-f.ended
			})
		})
	}
}

// A stream goes on once a connection that was full is not any more, although no
// call was made meanwhile.
func TestStreamsOfAConnectionThatWasFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlers{"wait": func(ctx context.Context, arg string) (string, error) { <-ctx.Done(); return "", ctx.Err() }}
		r := newRigWith(t, ttheader.TTHeader, heldLimits, func(service, name string) (rpc.Handler, string, bool) {
			if name == "wait" {
				return h.route(service, name)
			}
			return simple.route(service, name)
		}, mux.Spare)
		more := make(chan string)
		answers, stop := iter.Pull2(r.chat(t.Context(), func(yield func(*string, error) bool) {
			for s := range more {
				if !yield(&s, nil) {
					return
				}
			}
		}))
		defer stop()
		defer close(more)
		say := func() {
			go func() { more <- "hi" }()
			if s, err, ok := answers(); !ok || err != nil || *s != "hi!" {
				t.Errorf("chat = %v, %v", err, ok)
			}
		}
		say()
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range 40 {
			calls.Go(func() { r.call(ctx, "wait", strings.Repeat("x", 64<<10)) })
		}
		time.Sleep(3 * time.Second)
		cancel()
		calls.Wait()
		synctest.Wait()
		say()
	})
}

// A full connection is read on as soon as the peer has read what made it full.
func TestFullByOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := heldLimits
		r := newRigBetween(t, ttheader.Protocol{}, rpc.Limits{}.WithDefaults(), lim.WithDefaults(), plainRoute(handlers{
			"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			"wait": func(ctx context.Context, arg string) (string, error) { <-ctx.Done(); return "", ctx.Err() },
		}), mux.Spare)
		if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range 14 {
			calls.Go(func() { r.call(ctx, "wait", strings.Repeat("x", 60<<10)) }) // each in a block of its own
		}
		synctest.Wait()
		r.send.Stall(true)
		for range 27 {
			calls.Go(func() { r.call(ctx, "echo", strings.Repeat("x", 9<<10)) })
			synctest.Wait()
		}
		if n := mux.Charged(r.server); n <= 1<<20 {
			t.Fatalf("%d bytes are held: not full", n)
		}
		time.Sleep(100 * time.Millisecond)
		r.send.Stall(false)
		synctest.Wait()
		start := time.Now()
		if _, _, err := r.call(ctx, "echo", ""); err != nil || time.Since(start) > 100*time.Millisecond {
			t.Errorf("a call after the peer has read: %v after %v", err, time.Since(start))
		}
		cancel()
		calls.Wait()
	})
}

// A request that needs much room gets it although others, which need less, come all
// the while.
func TestMuchRoomIsNotStarved(t *testing.T) {
	for name, where := range everyMode {
		if where == mux.Inline {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim := heldLimits
				r := newRigBetween(t, ttheader.Protocol{}, rpc.Limits{}.WithDefaults(), lim.WithDefaults(), plainRoute(handlers{
					"mid": func(context.Context, string) (string, error) {
						time.Sleep(50 * time.Millisecond)
						return strings.Repeat("x", 100<<10), nil
					},
					"big": func(context.Context, string) (string, error) { return strings.Repeat("x", 500<<10), nil },
				}), where)
				for _, m := range []string{"big", "mid"} { // now it is known what they answer
					if _, _, err := r.call(t.Context(), m, ""); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				var calls sync.WaitGroup
				for i := range 20 {
					calls.Go(func() {
						for time.Sleep(time.Duration(i) * 7 * time.Millisecond); ctx.Err() == nil; {
							r.call(ctx, "mid", "")
						}
					})
				}
				time.Sleep(time.Second)
				start := time.Now()
				if _, _, err := r.call(t.Context(), "big", ""); err != nil || time.Since(start) > 6*time.Second {
					t.Errorf("big: %v after %v", err, time.Since(start))
				}
				cancel()
				calls.Wait()
			})
		})
	}
}
