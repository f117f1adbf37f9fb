package mux_test

import (
	"context"
	"errors"
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

// connectTo makes a client and a server's connection to it that counts into total; route
// is the same for all, so that they share methods.
func connectTo(t *testing.T, route mux.Router, where mux.Handlers, total *mux.Total) *rig {
	lim := rpc.Limits{}.WithDefaults()
	r := &rig{finished: make(chan error, 1)}
	r.cend, r.send = pipe.New(pipe.Config{})
	r.server = mux.NewServerConn(r.send, ttheader.Protocol{}.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: route, Base: t.Context(), Handlers: where})
	r.server.CountUnder(total)
	go r.server.Run(func(err error) { r.finished <- err })
	r.client = mux.NewConn(r.cend, ttheader.Protocol{}.Open(wire.Client, lim), mux.Config{Limits: lim})
	if _, _, err := r.call(t.Context(), "page", ""); err != nil { // then it takes many at a time
		t.Error(err)
	}
	return r
}

// oneRoute has one method, which all connections share, whose answers weighed n bytes.
func oneRoute(h handlers, n int) (mux.Router, *rpc.Method) {
	page, _, _ := h.route("", "page")
	page.Method = method("page", rpc.Unary)
	rpc.HintsOf(page.Method).NoteResponse(n)
	return func(string, string) (rpc.Handler, string, bool) { return page, "", true }, page.Method
}

// Large answers are made for all connections of a server together, or of an address, only as
// many at a time as it may hold. Those that wait are given up as others are, and refused
// when their time is over.
func TestLargeAnswersHaveRoomOnTheServer(t *testing.T) {
	const size = 200 << 10 // 256 KB are set aside
	for _, where := range []mux.Handlers{mux.Spare, mux.Goroutines} {
		for _, share := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var runs, most atomic.Int32
				var slow atomic.Bool
				h := handlers{"page": func(ctx context.Context, _ string) (string, error) {
					if n := runs.Add(1); n > most.Load() {
						most.Store(n)
					}
					defer runs.Add(-1)
					if time.Sleep(50 * time.Millisecond); slow.Load() {
						<-ctx.Done()
						return "", ctx.Err()
					}
					return strings.Repeat("x", size), nil
				}}
				route, _ := oneRoute(h, size)
				all := mux.NewTotal(1<<20, nil, "")
				total := all
				if share {
					all = mux.NewTotal(64<<20, nil, "")
					total = all.Share(1 << 20)
				}
				var rigs []*rig
				for range 8 {
					rigs = append(rigs, connectTo(t, route, where, total))
				}
				calls := func(ctx context.Context, each func(error)) {
					var all sync.WaitGroup
					for i := range 32 {
						all.Go(func() { _, _, err := rigs[i%len(rigs)].call(ctx, "page", ""); each(err) })
					}
					all.Wait()
				}
				start := time.Now()
				calls(t.Context(), func(err error) {
					if err != nil {
						t.Error(err)
					}
				})
				if n, took := most.Load(), time.Since(start); n > 4 || n < 2 || took > 2*time.Second {
					t.Errorf("%d large answers were made at a time, all in %v", n, took)
				}
				slow.Store(true)
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				calls(ctx, func(err error) {
					if err == nil {
						t.Error("a call that was never answered succeeded")
					}
				})
				cancel()
				time.Sleep(time.Second) // virtual: who waits looks now and then
				synctest.Wait()
				if n := mux.Promised(total) + mux.Promised(all); n != 0 || runs.Load() != 0 {
					t.Errorf("%d bytes are promised in the end, %d run", n, runs.Load())
				}
				for _, r := range rigs {
					r.stop()
				}
			})
		}
	}
}

// A connection whose answers are small is not held up by those of another, with which
// it has the method in common.
func TestSmallAnswersDoNotPayForLargeOnes(t *testing.T) {
	for _, where := range []mux.Handlers{mux.Spare, mux.Goroutines} {
		synctest.Test(t, func(t *testing.T) {
			const slow = 50 * time.Millisecond
			route, m := oneRoute(handlers{"page": func(_ context.Context, arg string) (string, error) {
				time.Sleep(slow)
				return arg, nil
			}}, 16<<20) // of somebody else
			total := mux.NewTotal(256<<20, nil, "")
			r := connectTo(t, route, where, total.Share(64<<20))
			burst := func(n int) time.Duration {
				start := time.Now()
				var calls sync.WaitGroup
				for range n {
					calls.Go(func() {
						if _, _, err := r.call(t.Context(), "page", "little"); err != nil {
							t.Error(err)
						}
					})
				}
				calls.Wait()
				return time.Since(start)
			}
			if took := burst(32); took < 3*slow {
				t.Errorf("a connection of which nothing is known is believed: %v", took)
			}
			rpc.HintsOf(m).NoteResponse(16 << 20)
			if took := burst(32); took > slow {
				t.Errorf("32 calls with small answers took %v", took)
			}
			if took := burst(80); took <= slow || took > 4*slow {
				t.Errorf("80 calls, more than are believed, took %v", took)
			}
			r.stop()
		})
	}
}

// Who waits for room enters in the order of coming, unless it is given up.
func TestRoomIsGivenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		total := mux.NewTotal(100, nil, "")
		share := total.Share(60)
		var came []int // one enters at a time
		var all sync.WaitGroup
		var over atomic.Bool
		if !mux.Promise(share, 50, nil) {
			t.Fatal("there is no room in what is free")
		}
		for i := range 4 {
			all.Go(func() {
				if mux.Promise(share, 40, func() error {
					if i == 1 && over.Load() {
						return errors.New("over")
					}
					return nil
				}) {
					came = append(came, i)
				}
			})
			synctest.Wait()
		}
		over.Store(true)
		time.Sleep(time.Second) // virtual
		if len(came) != 0 {
			t.Errorf("%v entered without room", came)
		}
		mux.Redeem(share, 50)
		for range 3 {
			synctest.Wait()
			mux.Redeem(share, 40)
		}
		all.Wait()
		if !mux.Promise(share, 1000, nil) || mux.Promised(share) != 1000 || mux.Promised(total) != 1000 {
			t.Error("what is alone does not get what it needs")
		}
		mux.Redeem(share, 1000)
		mux.Count(share, 60)
		if mux.Promise(share, 10, func() error { return errors.New("over") }) {
			t.Error("a share that is full has room for one at a time")
		}
		mux.Count(share, -60)
		if want := []int{0, 2, 3}; !slices.Equal(came, want) || mux.Promised(share) != 0 || mux.Promised(total) != 0 {
			t.Errorf("%v entered, %v expected; %d and %d bytes are promised", came, want, mux.Promised(share), mux.Promised(total))
		}
	})
}
