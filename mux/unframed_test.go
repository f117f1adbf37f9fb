package mux_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
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

// mute is a session that can frame nothing.
type mute struct{ wire.Session }

func (mute) End(*buf.Out, buf.Mark, *wire.Event) error { return errors.New("no") }

// When not even an error can be framed its caller is told by the loss of the
// connection; the server does not hang.
func TestAnswerThatCannotBeFramed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{}.WithDefaults()
		a, b := pipe.New(pipe.Config{})
		p := ttheader.Protocol{Form: ttheader.Framed}
		r := &rig{finished: make(chan error, 1)}
		r.server = mux.NewServerConn(b, mute{p.Open(wire.Server, lim)}, &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: echo.route, Base: context.Background()})
		go r.server.Run(func(err error) { r.finished <- err })
		r.client = mux.NewConn(a, p.Open(wire.Client, lim), mux.Config{Limits: lim})
		if _, _, err := r.call(t.Context(), "echo", "x"); rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.Maybe {
			t.Errorf("echo = %v", err)
		}
		r.stop()
	})
}

// An error whose text is longer than a message may be costs its call the rest of the text,
// and others nothing: handlers say what their callers have sent.
func TestErrorThatIsTooLong(t *testing.T) {
	long := rpc.Errorf(rpc.InvalidArgument, "no user %s", strings.Repeat("7", 2<<20))
	for _, form := range []ttheader.Form{ttheader.TTHeader, ttheader.THeader, ttheader.Framed} {
		synctest.Test(t, func(t *testing.T) {
			h := simple
			h.sum = func(context.Context, iter.Seq2[*string, error]) (*string, error) { return nil, long }
			r := newRigWith(t, form, rpc.Limits{MessageBytes: 1 << 20}, func(service, name string) (rpc.Handler, string, bool) {
				if name == sumMethod.Name {
					return h.route(service, name)
				}
				return handlers{"echo": echo["echo"], "find": func(context.Context, string) (string, error) { return "", long }}.route(service, name)
			}, mux.Spare)
			check := func(err error) {
				t.Helper()
				if e, _ := errors.AsType[*rpc.Error](err); e == nil || e.Code != rpc.InvalidArgument || !strings.HasPrefix(e.Msg, "no user 77") || len(e.Msg) < 1000 || len(e.Msg) > 1<<20 {
					t.Errorf("%v: %.100v", form, err)
				}
			}
			_, _, err := r.call(t.Context(), "find", "7")
			check(err)
			if form == ttheader.TTHeader {
				_, err = r.sum(t.Context(), strs(1, "7"))
				check(err)
			}
			if got, _, err := r.call(t.Context(), "echo", "still there"); err != nil || got != "still there" {
				t.Errorf("%v: afterwards: %q, %v", form, got, err)
			}
		})
	}
}

// A later message of a stream that is larger than its limit, whether it was expected
// to be large or not, ends a call whose handler runs: it is not safe to repeat.
func TestLaterMessageThatCannotBeFramed(t *testing.T) {
	for _, expected := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var started atomic.Bool
			h := simple
			h.sum = func(_ context.Context, in iter.Seq2[*string, error]) (*string, error) {
				started.Store(true)
				for range in {
					continue
				}
				return new("x"), nil
			}
			r := newRigBetween(t, ttheader.Protocol{}, rpc.Limits{MessageBytes: 1 << 20}.WithDefaults(), rpc.Limits{}.WithDefaults(), h.route, mux.Spare)
			if expected {
				rpc.HintsOf(sumMethod).NoteRequest(1 << 20)
				defer rpc.HintsOf(sumMethod).NoteRequest(1)
			}
			_, err := r.sum(t.Context(), func(yield func(*string, error) bool) {
				if yield(new("small"), nil) {
					time.Sleep(time.Second)
					yield(new(strings.Repeat("x", 1<<20+1)), nil)
				}
			})
			if !started.Load() || rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.Maybe {
				t.Errorf("%v, %v, started %v", rpc.SentOf(err), err, started.Load())
			}
			r.quiet(t)
		})
	}
}

// A stream whose first message the server does not take is refused, since its
// handler is not started any more.
func TestFirstMessageThatIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var started atomic.Bool
		h := simple
		h.sum = func(context.Context, iter.Seq2[*string, error]) (*string, error) {
			started.Store(true)
			return new("x"), nil
		}
		r := newRigBetween(t, ttheader.Protocol{}, rpc.Limits{}.WithDefaults(), rpc.Limits{MessageBytes: 4096}.WithDefaults(), h.route, mux.Spare)
		_, err := r.sum(t.Context(), strs(1, strings.Repeat("x", 5000)))
		if synctest.Wait(); started.Load() || rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.Refused {
			t.Errorf("%v, %v, started %v", rpc.SentOf(err), err, started.Load())
		}
		r.quiet(t)
	})
}
