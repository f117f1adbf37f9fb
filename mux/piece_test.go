package mux_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
)

// large tells a method that its messages are large, as a first large one would.
func (r *rig) large(ctx context.Context, name, arg string) (string, error) {
	m := method(name, rpc.Unary)
	rpc.HintsOf(m).NoteRequest(1 << 20)
	x := stub.NewCall[string, string](m, "Test")
	x.Args = arg
	err := r.client.Do(ctx, &x.Call)
	return x.Result, err
}

// largeEcho answers echo with a method that is known for large answers.
func largeEcho() handlers {
	return handlers{"echo": func(_ context.Context, arg string) (string, error) { return arg, nil }}
}

func TestLargeMessagesArrive(t *testing.T) {
	for _, h := range []mux.Handlers{mux.Spare, mux.Inline, mux.Goroutines} {
		t.Run(fmt.Sprint(h), func(t *testing.T) {
			r := newRigOf(t, ttheader.TTHeader, rpc.Limits{}, largeEcho(), h)
			if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for w := range 6 {
				wg.Go(func() {
					for i := range 8 {
						want := strings.Repeat(fmt.Sprintf("%d.%d ", w, i), (100+300*w)<<8)
						if got, err := r.large(t.Context(), "echo", want); err != nil || got != want {
							t.Errorf("caller %d: %d bytes for %d, %v", w, len(got), len(want), err)
							return
						}
					}
				})
				wg.Go(func() {
					for i := range 100 {
						want := fmt.Sprint(w, i)
						if got, _, err := r.call(t.Context(), "echo", want); err != nil || got != want {
							t.Errorf("small: %q for %q, %v", got, want, err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// Small calls overtake a large one whose bytes do not get through.
func TestSmallCallsOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, largeEcho())
		r.call(t.Context(), "echo", "hello")
		r.cend.Stall(true)
		done := make(chan error, 1)
		want := strings.Repeat("x", 8<<20)
		go func() {
			got, err := r.large(t.Context(), "echo", want)
			if got != want && err == nil {
				err = fmt.Errorf("%d bytes", len(got))
			}
			done <- err
		}()
		synctest.Wait()
		if q := r.cend.Output().Queued(); q > 300<<10 {
			t.Errorf("%d bytes of a large message are queued", q)
		}
		small := make(chan error, 1)
		go func() { _, _, err := r.call(t.Context(), "echo", "small"); small <- err }()
		synctest.Wait()
		r.cend.Stall(false)
		if err := <-small; err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestCancelInTheMiddleOfALargeMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, largeEcho())
		r.call(t.Context(), "echo", "hello")
		for range 20 {
			r.cend.Stall(true)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := r.large(ctx, "echo", strings.Repeat("x", 4<<20))
			cancel()
			if rpc.CodeOf(err) != rpc.DeadlineExceeded {
				t.Fatalf("echo = %v", err)
			}
			r.cend.Stall(false)
			if got, _, err := r.call(t.Context(), "echo", "small"); err != nil || got != "small" {
				t.Fatalf("afterwards: %q, %v", got, err)
			}
		}
	})
}

func TestLargeMessageBeyondTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{MessageBytes: 1 << 20}, handlers{
			"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			"grow": func(context.Context, string) (string, error) { return strings.Repeat("x", 2<<20), nil },
		})
		r.call(t.Context(), "echo", "hello")
		if _, err := r.large(t.Context(), "echo", strings.Repeat("x", 2<<20)); rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.NotSent {
			t.Errorf("a request of 2 MB: %v, %v", err, rpc.SentOf(err))
		}
		if _, err := r.large(t.Context(), "grow", ""); rpc.CodeOf(err) != rpc.ResourceExhausted {
			t.Errorf("an answer of 2 MB: %v", err)
		}
		if got, _, err := r.call(t.Context(), "echo", "small"); err != nil || got != "small" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	})
}

func TestLossInTheMiddleOfALargeMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, largeEcho())
		r.call(t.Context(), "echo", "hello")
		r.cend.Stall(true)
		done := make(chan error, 1)
		go func() { _, err := r.large(t.Context(), "echo", strings.Repeat("x", 4<<20)); done <- err }()
		synctest.Wait()
		r.cend.Break()
		if err := <-done; rpc.CodeOf(err) != rpc.Unavailable {
			t.Errorf("echo = %v", err)
		}
	})
}

// plainRoute serves h by methods of which nothing is known.
func plainRoute(h handlers) mux.Router {
	known := map[string]*rpc.Method{}
	return func(service, name string) (rpc.Handler, string, bool) {
		found, why, ok := h.route(service, name)
		if ok {
			if known[name] == nil {
				known[name] = method(name, rpc.Unary)
			}
			found.Method = known[name]
		}
		return found, why, ok
	}
}

// A large message goes in pieces also if the method's last one was small, so
// that nobody expects it to be large.
func TestLargeMessageThatNobodyExpects(t *testing.T) {
	h := handlers{
		"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
		"grow": func(_ context.Context, arg string) (string, error) { return strings.Repeat(arg, 8<<20), nil },
		"size": func(_ context.Context, arg string) (string, error) { return fmt.Sprint(len(arg)), nil },
		"tiny": func(_ context.Context, arg string) (string, error) { return arg, nil },
	}
	for _, where := range []mux.Handlers{mux.Spare, mux.Goroutines} {
		for _, tt := range []struct{ name, method, arg string }{
			{"request", "size", strings.Repeat("x", 8<<20)},
			{"answer", "grow", "x"},
		} {
			t.Run(fmt.Sprint(tt.name, where), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					// In the order in which whole requests come, or answers are decoded, whoever
					// runs on first then.
					came, over := make(chan string, 4), make(chan bool, 2)
					request := func(string) {}
					route := plainRoute(h)
					r := newRigWith(t, ttheader.TTHeader, rpc.Limits{}, func(service, name string) (rpc.Handler, string, bool) {
						request(name)
						return route(service, name)
					}, where)
					r.call(t.Context(), "echo", "hello")
					end, answer := r.cend, func(string) {}
					if tt.name == "answer" {
						end, answer = r.send, func(name string) { came <- name }
					} else {
						request = func(name string) { came <- name }
					}
					end.Stall(true)
					go func() {
						got, err := callNoted(t, r, tt.method, tt.arg, func() { answer(tt.method) })
						if err != nil || got != "8388608" && len(got) != 8<<20 {
							t.Errorf("large: %d bytes, %v", len(got), err)
						}
						over <- true
					}()
					synctest.Wait()
					if q := end.Output().Queued(); q < 64<<10 || q > 300<<10 {
						t.Errorf("%d bytes of a large message are queued", q)
					}
					go func() {
						if got, err := callNoted(t, r, "tiny", "small", func() { answer("tiny") }); err != nil || got != "small" {
							t.Errorf("small: %q, %v", got, err)
						}
						over <- true
					}()
					synctest.Wait()
					end.Stall(false)
					<-over
					<-over
					if first := <-came; first != "tiny" {
						t.Errorf("%s came first", first)
					}
				})
			})
		}
	}
}

// callNoted makes a call; told is called when its answer is decoded.
func callNoted(t *testing.T, r *rig, name, arg string, told func()) (string, error) {
	m := method(name, rpc.Unary)
	m.Codec = noted{told: told}
	x := stub.NewCall[string, string](m, "Test")
	x.Args = arg
	err := r.client.Do(t.Context(), &x.Call)
	return x.Result, err
}

type noted struct {
	text
	told func()
}

func (n noted) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	n.told()
	return n.text.Decode(body, msg, lim)
}

// Sizes of one method that change from call to call, so that it is foreseen
// wrongly whether the next message is large.
func TestLargeAndSmallMessagesOfOneMethod(t *testing.T) {
	for _, where := range []mux.Handlers{mux.Spare, mux.Inline, mux.Goroutines} {
		t.Run(fmt.Sprint(where), func(t *testing.T) {
			r := newRigWith(t, ttheader.TTHeader, rpc.Limits{}, plainRoute(largeEcho()), where)
			if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
				t.Fatal(err)
			}
			m := method("echo", rpc.Unary)
			var wg sync.WaitGroup
			for w := range 6 {
				wg.Go(func() {
					for i := range 30 {
						x := stub.NewCall[string, string](m, "Test")
						x.Args = strings.Repeat(fmt.Sprintf("%d.%d ", w, i), 1)
						if (w+i)%3 == 0 {
							x.Args = strings.Repeat(x.Args, 100<<10)
						}
						if err := r.client.Do(t.Context(), &x.Call); err != nil || x.Result != x.Args {
							t.Errorf("%d bytes for %d, %v", len(x.Result), len(x.Args), err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// once is a codec that encodes a message once and no second time.
type once struct{ text }

func (once) Append(out *buf.Out, msg any) error {
	s := msg.(*string)
	err := text{}.Append(out, msg)
	*s = "unencodable"
	return err
}

// A message that was found to be large is encoded again, which may fail.
func TestLargeMessageThatIsNotEncodedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := method("grow", rpc.Unary)
		m.Codec = once{}
		r := newRigWith(t, ttheader.TTHeader, rpc.Limits{}, func(service, name string) (rpc.Handler, string, bool) {
			found, why, ok := largeEcho().route(service, "echo")
			found.Method = method(name, rpc.Unary)
			if name == "grow" {
				found.Method = m
				found.Serve = func(_ context.Context, c *rpc.Call) error {
					*stub.Result[string](c) = strings.Repeat("x", 1<<20)
					return nil
				}
			}
			return found, why, ok
		}, mux.Spare)
		if got, _, err := r.call(t.Context(), "echo", "hello"); err != nil || got != "hello" {
			t.Fatalf("echo = %q, %v", got, err)
		}
		x := stub.NewCall[string, string](m, "Test")
		x.Args = strings.Repeat("x", 1<<20)
		if err := r.client.Do(t.Context(), &x.Call); rpc.CodeOf(err) != rpc.Internal || rpc.SentOf(err) != rpc.NotSent {
			t.Errorf("request: %v, %v", err, rpc.SentOf(err))
		}
		if _, _, err := r.call(t.Context(), "grow", "x"); rpc.CodeOf(err) != rpc.Internal || rpc.SentOf(err) != rpc.Processed {
			t.Errorf("answer: %v, %v", err, rpc.SentOf(err))
		}
		if got, _, err := r.call(t.Context(), "echo", "hello"); err != nil || got != "hello" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	})
}
