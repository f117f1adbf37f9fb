package mux_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
)

// A connection that takes no more calls says so, whatever was the reason: a pool
// keeps what it is not told of, and gives it every new call.
func TestLeavingAlwaysTells(t *testing.T) {
	const most = 3
	// Virtual time: handlers run in the bubbles below.
	deaf := func(context.Context, string) (string, error) { time.Sleep(time.Hour); return "", nil }
	h := handlers{"echo": echo["echo"], "deaf": deaf}
	streams := streamHandlers{count: func(context.Context, string) iter.Seq2[*string, error] {
		time.Sleep(time.Hour) // Virtual time: as above.
		return strs(0, "")
	}}
	route := func(service, name string) (rpc.Handler, string, bool) {
		if name == "count" {
			return streams.route(service, name)
		}
		return h.route(service, name)
	}
	for name, tt := range map[string]struct {
		form  ttheader.Form
		leave func(t *testing.T, r *rig)
	}{
		"too many late answers": {ttheader.TTHeader, func(t *testing.T, r *rig) {
			go r.call(t.Context(), "deaf", "") // without it the connection would end, and tell of that
			for range most + 1 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				r.call(ctx, "deaf", "")
				cancel()
			}
		}},
		"too many late ends of streams": {ttheader.TTHeader, func(t *testing.T, r *rig) {
			go r.call(t.Context(), "deaf", "")
			for range most + 1 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				for range r.count(ctx, "") {
				}
				cancel()
			}
		}},
		"a late answer without ids": {ttheader.Framed, func(t *testing.T, r *rig) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			r.call(ctx, "deaf", "")
		}},
		"the server drains": {ttheader.TTHeader, func(t *testing.T, r *rig) {
			go r.call(t.Context(), "deaf", "")
			synctest.Wait()
			r.drain(t.Context())
		}},
		"the peer goes while nobody reads": {ttheader.TTHeader, func(_ *testing.T, r *rig) { r.server.Abort() }},
		"the peer goes beside a stream that rests": {ttheader.TTHeader, func(t *testing.T, r *rig) {
			x := stub.NewCall[string, string](countMethod, "Test")
			go stub.Converse(t.Context(), r.client, &x.Call, func(ctx context.Context, s rpc.Stream) error {
				s.Send(new(string))
				<-ctx.Done()
				return nil
			})
			synctest.Wait()
			r.server.Abort()
		}},
		"Shutdown with a call in flight": {ttheader.TTHeader, func(t *testing.T, r *rig) {
			go r.call(t.Context(), "deaf", "")
			synctest.Wait()
			go r.client.Shutdown(t.Context())
		}},
		"Close": {ttheader.TTHeader, func(_ *testing.T, r *rig) { r.client.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRigWith(t, tt.form, rpc.Limits{Abandoned: most}, route, mux.Spare)
				if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
					t.Fatal(err)
				}
				if _, usable := r.client.Status(); !usable || r.told.Load() {
					t.Fatal("not usable at first")
				}
				tt.leave(t, r)
				synctest.Wait()
				if _, usable := r.client.Status(); usable || !r.told.Load() {
					t.Errorf("usable %v, told %v", usable, r.told.Load())
				}
			})
		})
	}
}

// What was accepted leaves before a connection is closed in order, however long
// its peer takes, until the context of Shutdown ends.
func TestShutdownSendsWhatWasAccepted(t *testing.T) {
	for name, tt := range map[string]struct {
		stalled time.Duration
		want    int32
	}{"slow peer": {3 * time.Second, 100}, "peer that never reads": {time.Hour, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n atomic.Int32
				r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
					"echo":   echo["echo"],
					"oneway": func(context.Context, string) (string, error) { n.Add(1); return "", nil },
				})
				if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
					t.Fatal(err)
				}
				r.cend.Stall(true)
				for range 100 {
					if _, _, err := r.call(t.Context(), "oneway", "x"); err != nil {
						t.Fatal(err)
					}
				}
				time.AfterFunc(tt.stalled, func() { r.cend.Stall(false) })
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				begun := time.Now()
				r.client.Shutdown(ctx)
				if d := time.Since(begun); d > 10*time.Second {
					t.Errorf("Shutdown took %v", d)
				}
				synctest.Wait()
				if n.Load() != tt.want {
					t.Errorf("%d of 100 calls without an answer arrived", n.Load())
				}
			})
		})
	}
}
