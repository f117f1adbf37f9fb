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
