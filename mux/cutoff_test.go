package mux_test

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
)

// Whoever calls on a connection that the server ends, because it can make
// nothing of what comes, has not given its call up: it is told Unavailable, and
// Refused if nothing was started.
func TestCallersOfAConnectionThatTheServerEnds(t *testing.T) {
	for name, where := range everyMode {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
				began := make(chan string, 10)
				calls := handlers{
					"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
					"wait": func(ctx context.Context, arg string) (string, error) {
						began <- arg
						return "", wait(ctx)
					},
				}
				streams := streamHandlers{count: func(ctx context.Context, _ string) iter.Seq2[*string, error] {
					return func(yield func(*string, error) bool) { yield(nil, wait(ctx)) }
				}}
				r := newRigWith(t, ttheader.TTHeader, rpc.Limits{}, func(service, name string) (rpc.Handler, string, bool) {
					if h, why, ok := calls.route(service, name); ok {
						return h, why, ok
					}
					return streams.route(service, name)
				}, where)
				if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
					t.Fatal(err)
				}
				var all sync.WaitGroup
				expect := func(what string, sent rpc.Sent, err error) {
					if rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != sent {
						t.Errorf("%s: %v, %v", what, err, rpc.SentOf(err))
					}
				}
				all.Go(func() {
					for _, err := range r.count(t.Context(), "") {
						expect("a stream that runs", rpc.Processed, err)
					}
				})
				if where != mux.Inline { // nothing is read while a handler runs
					all.Go(func() {
						_, _, err := r.call(t.Context(), "wait", "first")
						expect("a call that runs", rpc.Processed, err)
					})
				}
				synctest.Wait()
				r.cend.Hold()
				all.Go(func() {
					_, _, err := r.call(t.Context(), "wait", "last")
					expect("a call that waits", rpc.Refused, err)
				})
				synctest.Wait()
				out := r.cend.Output()
				out.Lock()
				out.Out().Append([]byte("what is this? nothing that a peer says"))
				if out.Unlock() {
					out.Flush()
				}
				r.cend.Release()
				all.Wait()
				close(began)
				for arg := range began {
					if arg == "last" {
						t.Error("what came with the end was started")
					}
				}
				r.stop()
			})
		})
	}
}

// What is answered before its handler began is Refused, whatever it was
// refused for.
func TestRefusedBeforeTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := rpc.Limits{MessageBytes: 64 << 10}
		r := newRigBetween(t, ttheader.Protocol{}, rpc.Limits{}.WithDefaults(), servers.WithDefaults(), simple.route, mux.Spare)
		send := func(name string, size int) error {
			_, _, err := r.call(t.Context(), name, strings.Repeat("x", size))
			return err
		}
		stream := func(name string) (err error) {
			x := stub.NewCall[string, string](streamMethod(name, rpc.ServerStream), "Test")
			for _, err = range stub.Incoming[string](t.Context(), r.client, &x.Call) {
				continue
			}
			return err
		}
		for range 2 { // before the hello and after it
			for what, err := range map[string]error{
				"an unknown method":         send("nowhere", 0),
				"100 KB":                    send("echo", 100<<10),
				"1 MB":                      send("echo", 1<<20),
				"5 MB":                      send("echo", 5<<20),
				"a stream called as none":   send("count", 0),
				"an unknown stream":         stream("nowhere"),
				"a call called as a stream": stream("echo"),
			} {
				if err == nil || rpc.SentOf(err) != rpc.Refused {
					t.Errorf("%s: %v, %v", what, err, rpc.SentOf(err))
				}
			}
			if err := send("echo", 1<<10); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		}
	})
}
