package mux_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// A handler that was quick so far runs without a spare worker. When it then
// waits for another call of its own connection, the StallWatch has to step in.
func TestLoneBatchThatBlocksIsRescued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{}.WithDefaults()
		gate := make(chan struct{}, 1)
		methods := map[string]rpc.Handler{}
		for name, f := range map[string]func(arg string){
			"wait": func(arg string) {
				if arg == "wait" {
					<-gate
				}
			},
			"open": func(string) { gate <- struct{}{} },
		} {
			m := method(name, rpc.Unary)
			rpc.HintsOf(m).NoteCost(time.Microsecond) // known, and quick
			methods[name] = rpc.Handler{Method: m, Serve: func(_ context.Context, c *rpc.Call) error {
				arg, err := stub.Args[string](c)
				if err == nil {
					f(*arg)
				}
				return err
			}}
		}
		var watch mux.StallWatch
		defer watch.Close()
		a, b := pipe.New(pipe.Config{})
		p := ttheader.Protocol{}
		r := &rig{finished: make(chan error, 1)}
		r.server = mux.NewServerConn(b, p.Open(wire.Server, lim), &mux.ServerConfig{
			Config: mux.Config{Limits: lim}, Base: t.Context(), Watch: &watch,
			Route: func(_, name string) (rpc.Handler, string, bool) { return methods[name], "", true },
		})
		go r.server.Run(func(err error) { r.finished <- err })
		r.client = mux.NewConn(a, p.Open(wire.Client, lim), mux.Config{Limits: lim})
		defer r.stop()
		for range 5 {
			if _, _, err := r.call(t.Context(), "wait", "go on"); err != nil {
				t.Fatal(err)
			}
		}
		blocked := make(chan error, 1)
		start := time.Now()
		go func() { _, _, err := r.call(t.Context(), "wait", "wait"); blocked <- err }()
		synctest.Wait()
		if _, _, err := r.call(t.Context(), "open", ""); err != nil {
			t.Fatal(err)
		}
		if err := <-blocked; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 18*time.Millisecond { // a look each 16 ms, and one a millisecond later
			t.Errorf("the rescue took %v", took)
		}
	})
}

// While one rescued handler is stuck, another that blocks in a later lone batch is
// rescued as well.
func TestSecondLoneBatchThatBlocksIsRescued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{}.WithDefaults()
		gate := make(chan struct{})
		methods := map[string]rpc.Handler{}
		for _, name := range []string{"first", "second", "quick"} {
			m := method(name, rpc.Unary)
			rpc.HintsOf(m).NoteCost(time.Microsecond) // known, and quick
			methods[name] = rpc.Handler{Method: m, Serve: func(_ context.Context, c *rpc.Call) error {
				arg, err := stub.Args[string](c)
				if err == nil && *arg == "wait" {
					<-gate
				}
				return err
			}}
		}
		var watch mux.StallWatch
		defer watch.Close()
		a, b := pipe.New(pipe.Config{})
		p := ttheader.Protocol{}
		r := &rig{finished: make(chan error, 1)}
		r.server = mux.NewServerConn(b, p.Open(wire.Server, lim), &mux.ServerConfig{
			Config: mux.Config{Limits: lim}, Base: t.Context(), Watch: &watch,
			Route: func(_, name string) (rpc.Handler, string, bool) { return methods[name], "", true },
		})
		go r.server.Run(func(err error) { r.finished <- err })
		r.client = mux.NewConn(a, p.Open(wire.Client, lim), mux.Config{Limits: lim})
		defer r.stop()
		call := func(name, arg string) <-chan error {
			done := make(chan error, 1)
			go func() { _, _, err := r.call(t.Context(), name, arg); done <- err }()
			return done
		}
		if err := <-call("quick", ""); err != nil {
			t.Fatal(err)
		}
		blocked := []<-chan error{call("first", "wait")}
		time.Sleep(time.Second) // virtual: it is rescued
		blocked = append(blocked, call("second", "wait"))
		time.Sleep(time.Second)
		start := time.Now()
		quick := call("quick", "")
		time.AfterFunc(time.Minute, func() { close(gate) })
		if err := <-quick; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 18*time.Millisecond {
			t.Errorf("behind the second that blocks, a call took %v", took)
		}
		for _, c := range blocked {
			if err := <-c; err != nil {
				t.Error(err)
			}
		}
	})
}

// Interceptors see calls of unknown methods too, and may block: such a call is not one
// that takes no time.
func TestUnknownMethodsAreNotLoneBesideInterceptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{}.WithDefaults()
		gate := make(chan struct{})
		var watch mux.StallWatch
		defer watch.Close()
		a, b := pipe.New(pipe.Config{})
		p := ttheader.Protocol{}
		r := &rig{finished: make(chan error, 1)}
		r.server = mux.NewServerConn(b, p.Open(wire.Server, lim), &mux.ServerConfig{
			Config: mux.Config{Limits: lim}, Base: t.Context(), Watch: &watch,
			Route: func(string, string) (rpc.Handler, string, bool) { return rpc.Handler{}, "not here", false },
			Chain: func(final rpc.Next) rpc.Next {
				return func(ctx context.Context, c *rpc.Call) error {
					switch c.Method.Name {
					case "wait":
						<-gate
					case "open":
						close(gate)
					}
					return final(ctx, c)
				}
			},
		})
		go r.server.Run(func(err error) { r.finished <- err })
		r.client = mux.NewConn(a, p.Open(wire.Client, lim), mux.Config{Limits: lim})
		defer r.stop()
		for range 5 {
			r.call(t.Context(), "warm", "")
		}
		start := time.Now()
		blocked := make(chan error, 1)
		go func() { _, _, err := r.call(t.Context(), "wait", ""); blocked <- err }()
		synctest.Wait()
		if _, _, err := r.call(t.Context(), "open", ""); rpc.CodeOf(err) != rpc.Unimplemented {
			t.Errorf("open: %v", err)
		}
		if err := <-blocked; rpc.CodeOf(err) != rpc.Unimplemented {
			t.Errorf("wait: %v", err)
		}
		if took := time.Since(start); took > time.Millisecond {
			t.Errorf("a call that an interceptor held has held up the next for %v", took)
		}
	})
}

// A drain that ends a call just before the caller's deadline says so: the caller's time
// is not over.
func TestDrainEndsACallNearItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := make(chan error, 1)
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{"wait": func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			why <- ctx.Err()
			return "", ctx.Err()
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() {
			time.Sleep(time.Second - time.Millisecond) // virtual
			over, stop := context.WithCancel(context.Background())
			stop()
			r.server.Drain(over)
		}()
		_, _, err := r.call(ctx, "wait", "")
		if rpc.CodeOf(err) != rpc.Unavailable || ctx.Err() != nil {
			t.Errorf("the caller is told %v", err)
		}
		if err := <-why; err != context.Canceled { //nolint:errorlint // as package context defines it
			t.Errorf("the handler sees %v", err)
		}
	})
}
