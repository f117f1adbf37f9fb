package limosa_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// bothPaths runs f with a caller over a connection, and with one in process.
func bothPaths(t *testing.T, s rpc.Service, f func(t *testing.T, c rpc.Caller)) {
	t.Helper()
	t.Run("connection", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n := simnet.New(nil)
			stop, ended := netServer(t, n, &limosa.Server{Services: []rpc.Service{s}})
			c := netClient(n, new(limosa.Client))
			f(t, c)
			stop()
			<-ended
			c.Close()
		})
	})
	t.Run("local", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, limosa.Local(s)) })
	})
}

// errOf gives the error of a sequence, and the number of its messages.
func errOf[T any](seq iter.Seq2[T, error]) (n int, last error) {
	for _, err := range seq {
		if last = err; err == nil {
			n++
		}
	}
	return n, last
}

// A stream's handler that ends its goroutine fails its call, and nothing else.
func TestStreamHandlerThatExits(t *testing.T) {
	s, m := one("exits", func(context.Context, *rpc.Call) error { runtime.Goexit(); return nil })
	m.Kind = rpc.ServerStream
	bothPaths(t, s, func(t *testing.T, c rpc.Caller) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := errOf(stub.Incoming[string](ctx, c, &stub.NewCall[string, string](m, "One").Call)); rpc.CodeOf(err) != rpc.Internal {
			t.Errorf("exits = %v", err)
		}
	})
}

// What the messages of an exchange do to the goroutine that they run on, its
// caller is told: a panic goes on there, an exit is an error.
func TestMessagesThatPanicOrExit(t *testing.T) {
	bothPaths(t, streams(nil), func(t *testing.T, c rpc.Caller) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := errOf(talk(ctx, c, func(yield func(*string, error) bool) { yield(new("x"), nil); runtime.Goexit() }))
		if rpc.CodeOf(err) != rpc.Internal || !strings.Contains(err.Error(), "goroutine") {
			t.Errorf("messages that exit: %v", err)
		}
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("messages that panic: %v", p)
			}
		}()
		_, err = errOf(talk(ctx, c, func(yield func(*string, error) bool) { yield(new("x"), nil); panic("mine") }))
		t.Errorf("messages that panic: %v", err)
	})
}

// picky is a codec that does not encode "bad".
type picky struct{ text }

func (c picky) Append(out *buf.Out, msg any) error {
	if *msg.(*string) == "bad" {
		return errors.New("no")
	}
	return c.text.Append(out, msg)
}

// Whatever a stream ends with after its first message, it is not safe to repeat:
// its handler runs. Nor is a call whose answer cannot be encoded.
func TestWhatWasBegunIsNotSafeToRepeat(t *testing.T) {
	began := make(chan struct{}, 1)
	s, m := one("join", func(_ context.Context, c *rpc.Call) error {
		began <- struct{}{}
		_, err := errOf(stub.Arriving[string](c))
		return err
	})
	m.Kind, m.Codec = rpc.ClientStream, picky{}
	u, answer := one("answer", func(_ context.Context, c *rpc.Call) error { *stub.Result[string](c) = "bad"; return nil })
	answer.Codec = picky{}
	s.Methods = append(s.Methods, u.Methods...)
	another := &rpc.Error{Code: rpc.Unavailable, Op: "dial", Sent: rpc.NotSent}
	bothPaths(t, s, func(t *testing.T, c rpc.Caller) {
		for name, end := range map[string]error{"a message that cannot be encoded": nil, "what another call has failed with": another} {
			_, err := stub.Gather[string, string](t.Context(), c, &stub.NewCall[string, string](m, "One").Call, func(yield func(*string, error) bool) {
				if yield(new("good"), nil) {
					<-began
					yield(new("bad"), end)
				}
			})
			if err == nil || rpc.SentOf(err) != rpc.Maybe || end != nil && !errors.Is(err, end) {
				t.Errorf("%s: %v, %v", name, rpc.SentOf(err), err)
			}
		}
		if _, err := call(t.Context(), c, answer, ""); rpc.CodeOf(err) != rpc.Internal || rpc.SentOf(err) != rpc.Processed {
			t.Errorf("an answer that cannot be encoded: %v, %v", rpc.SentOf(err), err)
		}
	})
}

// An interceptor that retries cannot send a stream's messages twice: they are
// used up, and its caller would be given those of the answer twice.
func TestStreamsAreDrivenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		stop, ended := netServer(t, n, &limosa.Server{Services: []rpc.Service{streams(nil)}})
		c := netClient(n, &limosa.Client{Interceptors: []rpc.Interceptor{func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
			next(ctx, c) //nolint:errcheck // it is the second attempt that counts
			return next(ctx, c)
		}}})
		if n, err := errOf(tally(t.Context(), c, 3)); n != 3 || rpc.CodeOf(err) != rpc.FailedPrecondition {
			t.Errorf("%d messages, %v", n, err)
		}
		stop()
		<-ended
		c.Close()
	})
}

// A loop over a stream that panics leaves nothing behind: its connection is
// found idle like any other.
func TestLoopThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		stop, ended := netServer(t, n, &limosa.Server{Services: []rpc.Service{streams(nil)}})
		c := netClient(n, &limosa.Client{Limits: rpc.Limits{Idle: time.Second}})
		for range 3 {
			func() {
				defer func() { recover() }() //nolint:errcheck // its own
				for range tally(t.Context(), c, 5) {
					panic("mine")
				}
			}()
		}
		time.Sleep(time.Minute)
		if left := n.Links("", ""); len(left) > 0 {
			t.Errorf("%d connections are left", len(left))
		}
		stop()
		<-ended
		c.Close()
	})
}
