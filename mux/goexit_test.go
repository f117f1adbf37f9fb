package mux_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
)

// leaver is a codec that ends its goroutine in the middle of the message "leave", as
// one does that calls t.Fatal.
type leaver struct{ text }

func (c leaver) Append(out *buf.Out, msg any) error {
	if *msg.(*string) == "leave" {
		out.AppendString("half of it")
		runtime.Goexit()
	}
	return c.text.Append(out, msg)
}

// Decode ends its goroutine for messages that begin with "go".
func (c leaver) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	if strings.HasPrefix(string(body.Bytes()), "go") {
		runtime.Goexit()
	}
	return c.text.Decode(body, msg, lim)
}

func leaving(name string, kind rpc.Kind, expected int) *rpc.Method {
	m := method(name, kind)
	m.Codec = leaver{}
	if expected > 0 {
		rpc.HintsOf(m).NoteRequest(expected)
		rpc.HintsOf(m).NoteResponse(expected)
	}
	return m
}

// leavingRoute serves echo, whose answers have about as many bytes as expected.
func leavingRoute(expected int) mux.Router {
	m := leaving("echo", rpc.Unary, expected)
	return func(string, string) (rpc.Handler, string, bool) {
		return rpc.Handler{Method: m, Serve: func(_ context.Context, c *rpc.Call) error {
			arg, err := stub.Args[string](c)
			if err == nil {
				*stub.Result[string](c) = map[string]string{"": "leave"}[*arg] + *arg
			}
			return err
		}}, "", true
	}
}

// A codec that ends its goroutine while it encodes an answer fails its call, and
// nothing else: neither the lock nor the worker goes with it.
func TestGoexitWhileAnAnswerIsEncoded(t *testing.T) {
	for size, expected := range map[string]int{"small": 0, "large": 1 << 20} { // under the lock, and outside
		for form, f := range map[string]ttheader.Form{"unordered": ttheader.TTHeader, "ordered": ttheader.Framed} {
			for name, where := range everyMode {
				t.Run(size+"/"+form+"/"+name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := newRigWith(t, f, rpc.Limits{}, leavingRoute(expected), where)
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						defer cancel()
						for range 3 {
							if _, _, err := r.call(ctx, "echo", ""); rpc.CodeOf(err) != rpc.Internal || rpc.SentOf(err) != rpc.Processed {
								t.Fatalf("an answer that is not encoded: %v, %v", err, rpc.SentOf(err))
							}
							if got, _, err := r.call(ctx, "echo", "on"); err != nil || got != "on" {
								t.Fatalf("the next call: %q, %v", got, err)
							}
						}
						synctest.Wait() // one logs
						if n := mux.Workers(r.server); n > 2 {
							t.Errorf("%d workers are left", n)
						}
						r.server.Drain(ctx)
						if err := ctx.Err(); err != nil {
							t.Errorf("the drain: %v", err)
						}
					})
				})
			}
		}
	}
}

// Answers that wait for room leave although the encoding of one ends the goroutine.
func TestGoexitOfALateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigWith(t, ttheader.TTHeader, rpc.Limits{QueuedBytes: 1 << 10}, leavingRoute(0), mux.Spare)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, _, err := r.call(ctx, "echo", "first"); err != nil {
			t.Fatal(err)
		}
		r.send.Stall(true)
		args := []string{"", "on", "", "on", "on"}
		errs := make([]chan error, len(args))
		big := string(make([]byte, 4<<10))
		go r.call(ctx, "echo", big) //nolint:errcheck // its answer is in the others' way
		synctest.Wait()
		for i, arg := range args {
			errs[i] = make(chan error, 1)
			go func() { _, _, err := r.call(ctx, "echo", arg); errs[i] <- err }()
			synctest.Wait()
		}
		r.send.Stall(false)
		for i, arg := range args {
			want := rpc.OK
			if arg == "" {
				want = rpc.Internal
			}
			if err := <-errs[i]; rpc.CodeOf(err) != want {
				t.Errorf("%d: %v, want %v", i, err, want)
			}
		}
		synctest.Wait()
		r.server.Drain(ctx)
	})
}

// gone runs f on a goroutine that f ends, and waits for it.
func gone(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
		panic("it goes on")
	}()
	<-done
}

// A codec that ends its goroutine while it encodes a request, which is its caller's
// own, leaves the connection to the others.
func TestGoexitWhileARequestIsEncoded(t *testing.T) {
	for size, expected := range map[string]int{"small": 0, "large": 1 << 20} {
		for _, kind := range []rpc.Kind{rpc.Unary, rpc.Oneway} {
			t.Run(size, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRigWith(t, ttheader.TTHeader, rpc.Limits{}, leavingRoute(0), mux.Spare)
					for range 3 {
						gone(func() {
							x := stub.NewCall[string, string](leaving("echo", kind, expected), "Test")
							x.Args = "leave"
							r.client.Do(t.Context(), &x.Call) //nolint:errcheck // it does not return
						})
						if got, _, err := r.call(t.Context(), "echo", "on"); err != nil || got != "on" {
							t.Fatalf("the next call: %q, %v", got, err)
						}
					}
					if why := mux.Inconsistent(r.client); why != "" {
						t.Error(why)
					}
					if err := r.client.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// The same of a message of a stream, of either side.
func TestGoexitWhileAMessageIsEncoded(t *testing.T) {
	chat := leaving("chat", rpc.Bidi, 0)
	leave := func(yield func(*string, error) bool) { yield(new("leave"), nil) }
	synctest.Test(t, func(t *testing.T) {
		r := newRigWith(t, ttheader.TTHeader, rpc.Limits{}, func(service, name string) (rpc.Handler, string, bool) {
			if name != "chat" {
				return leavingRoute(0)(service, name)
			}
			return rpc.Handler{Method: chat, Serve: func(ctx context.Context, c *rpc.Call) error {
				return stub.SendAll(c, leave)
			}}, "", true
		}, mux.Spare)
		talk := func(in iter.Seq2[*string, error]) (err error) {
			for _, err = range stub.Exchange[string, string](t.Context(), r.client, &stub.NewCall[string, string](chat, "Test").Call, in) {
			}
			return err
		}
		for range 3 {
			if err := talk(strs(1, "m")); rpc.CodeOf(err) != rpc.Internal {
				t.Errorf("the server leaves: %v", err)
			}
			talk(leave) //nolint:errcheck // either side leaves first
			if got, _, err := r.call(t.Context(), "echo", "on"); err != nil || got != "on" {
				t.Fatalf("the next call: %q, %v", got, err)
			}
		}
		synctest.Wait()
		r.quiet(t)
		r.server.Drain(t.Context())
	})
}

// decodes makes calls at once, of which the first leads, on a connection whose codec
// ends its goroutine over answers that begin with "go", which come one after the other.
// It returns what became of them; a call whose own goroutine has ended has errEnded.
func decodes(t *testing.T, args ...string) (r *rig, errs []error) {
	var served atomic.Int32
	r = newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{"echo": func(_ context.Context, arg string) (string, error) {
		time.Sleep(time.Duration(served.Add(1)) * time.Second / 4)
		return arg, nil
	}})
	errs = make([]error, len(args))
	var calls sync.WaitGroup
	start := time.Now()
	for i, arg := range args {
		calls.Go(func() {
			m := method("echo", rpc.Unary)
			m.Codec = leaver{}
			x := stub.NewCall[string, string](m, "Test")
			x.Args = arg
			errs[i] = errEnded
			errs[i] = r.client.Do(t.Context(), &x.Call)
		})
		synctest.Wait()
	}
	calls.Wait()
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	return r, errs
}

var errEnded = errors.New("the goroutine has ended")

// A codec that ends its goroutine while it decodes an answer takes the connection with
// it where that goroutine reads for others: they are told at once.
func TestGoexitOfWhoReads(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want func(i int, err error) bool
	}{
		"leader": {[]string{"go", "on", "on"}, func(i int, err error) bool {
			return (err == errEnded) == (i == 0)
		}},
		"reader": {[]string{"on", "go", "on"}, func(i int, err error) bool {
			return i == 0 && err == nil || i == 1 && rpc.CodeOf(err) == rpc.Internal || i == 2
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, errs := decodes(t, tt.args...)
				for i, err := range errs {
					if !tt.want(i, err) || err != nil && err != errEnded && rpc.CodeOf(err) != rpc.Unavailable && i != 1 {
						t.Errorf("call %d: %v", i, err)
					}
				}
				synctest.Wait()
				if _, usable := r.client.Status(); usable {
					t.Error("the connection takes calls")
				}
				r.stop()
				if why := mux.Inconsistent(r.client); why != "" {
					t.Error(why)
				}
			})
		})
	}
}

// A large answer is decoded by its caller: others do not notice, and nothing of it is
// kept.
func TestGoexitOverALargeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, errs := decodes(t, "on", "go"+string(make([]byte, 64<<10)), "on")
		if errs[0] != nil || errs[1] != errEnded || errs[2] != nil {
			t.Errorf("%v", errs)
		}
		synctest.Wait()
		if n := mux.ChargedClient(r.client); n != 0 {
			t.Errorf("%d bytes are held", n)
		}
		if got, _, err := r.call(t.Context(), "echo", "on"); err != nil || got != "on" {
			t.Errorf("the next call: %q, %v", got, err)
		}
		if why := mux.Inconsistent(r.client); why != "" {
			t.Error(why)
		}
	})
}
