package mux_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
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

// A curious handler of logs looks at a connection for each line.
type curious struct {
	slog.Handler
	look  func()
	lines *atomic.Int32
}

func (h curious) Enabled(context.Context, slog.Level) bool { return true }

func (h curious) Handle(context.Context, slog.Record) error {
	h.look()
	h.lines.Add(1)
	return nil
}

// No logger runs under the lock of a connection: it may ask that connection.
func TestLoggersHoldNoLock(t *testing.T) {
	for name, where := range everyMode {
		for _, form := range []ttheader.Form{ttheader.TTHeader, ttheader.Framed} { // the latter is answered in order
			synctest.Test(t, func(t *testing.T) {
				// A small answer, which is encoded under the lock.
				m := method("half", rpc.Unary)
				route := func(_, _ string) (rpc.Handler, string, bool) {
					return rpc.Handler{Method: m, Serve: func(_ context.Context, c *rpc.Call) error {
						*stub.Result[string](c) = "unencodable"
						return nil
					}}, "", true
				}
				var lines atomic.Int32
				lim := rpc.Limits{}.WithDefaults()
				p := ttheader.Protocol{Form: form}
				r := &rig{finished: make(chan error, 1)}
				r.cend, r.send = pipe.New(pipe.Config{})
				logger := slog.New(curious{slog.DiscardHandler, func() { r.server.Idle() }, &lines})
				r.server = mux.NewServerConn(r.send, p.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim, Logger: logger}, Route: route, Base: t.Context(), Handlers: where})
				r.client = mux.NewConn(r.cend, p.Open(wire.Client, lim), mux.Config{Limits: lim})
				go r.server.Run(func(err error) { r.finished <- err })
				if _, _, err := r.call(t.Context(), "half", ""); rpc.CodeOf(err) != rpc.Internal {
					t.Errorf("%s, %v: half = %v", name, form, err)
				}
				r.stop()
				if lines.Load() != 1 {
					t.Errorf("%s, %v: %d lines", name, form, lines.Load())
				}
			})
		}
	}
}

// errorsThatPanic have methods that cannot do without what they point to, as many
// have; to return a nil pointer for no error is an easy mistake.
var errorsThatPanic = map[string]error{"rpc": (*rpc.Error)(nil), "net": (*net.OpError)(nil)}

// A panic in the methods of a handler's error fails its call, and nothing else.
func TestErrorsThatPanic(t *testing.T) {
	for name, where := range everyMode {
		for kind, bad := range errorsThatPanic {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRigOf(t, ttheader.TTHeader, rpc.Limits{}, handlers{
						"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
						"bad":  func(context.Context, string) (string, error) { return "", bad },
					}, where)
					if _, _, err := r.call(t.Context(), "bad", ""); rpc.CodeOf(err) != rpc.Internal || rpc.SentOf(err) != rpc.Processed {
						t.Errorf("bad = %v, %v", err, rpc.SentOf(err))
					}
					if got, _, err := r.call(t.Context(), "echo", "on"); err != nil || got != "on" {
						t.Errorf("echo = %q, %v", got, err)
					}
				})
			})
		}
	}
}

func TestErrorsThatPanicInStreams(t *testing.T) {
	for kind, bad := range errorsThatPanic {
		synctest.Test(t, func(t *testing.T) {
			r := newRigWith(t, ttheader.TTHeader, rpc.Limits{}, streamHandlers{
				count: func(context.Context, string) iter.Seq2[*string, error] { return stub.Failed[string](bad) },
			}.route, mux.Spare)
			told := false
			for _, err := range r.count(t.Context(), "") {
				told = rpc.CodeOf(err) == rpc.Internal
			}
			if !told {
				t.Errorf("%s: the caller of a stream was told nothing", kind)
			}
		})
	}
}

// A caller that makes a handler fail again and again does not fill the log.
func TestFailuresAreLoggedSparsely(t *testing.T) {
	for what, h := range map[string]func(context.Context, string) (string, error){
		"errors": func(context.Context, string) (string, error) { return "", errors.New("secret") },
		"panics": func(context.Context, string) (string, error) { panic("secret") },
		"exits":  func(context.Context, string) (string, error) { runtime.Goexit(); return "", nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			var lines atomic.Int32
			logger := slog.New(curious{slog.DiscardHandler, func() {}, &lines})
			lim := rpc.Limits{}.WithDefaults()
			r := &rig{finished: make(chan error, 1)}
			r.cend, r.send = pipe.New(pipe.Config{})
			r.server = mux.NewServerConn(r.send, ttheader.Protocol{}.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim, Logger: logger}, Route: plainRoute(handlers{"fail": h}), Base: t.Context()})
			r.client = mux.NewConn(r.cend, ttheader.Protocol{}.Open(wire.Client, lim), mux.Config{Limits: lim})
			go r.server.Run(func(err error) { r.finished <- err })
			defer r.stop()
			for range 100 {
				if _, _, err := r.call(t.Context(), "fail", ""); rpc.CodeOf(err) != rpc.Internal {
					t.Errorf("%s: %v", what, err)
				}
			}
			if n := lines.Load(); n == 0 || n > 20 {
				t.Errorf("%s: %d lines for 100 failures", what, n)
			}
			before := lines.Load()
			time.Sleep(2 * time.Second)
			r.call(t.Context(), "fail", "")
			if lines.Load() != before+1 {
				t.Errorf("%s: a failure after a while was not logged", what)
			}
		})
	}
}

// A sink of log lines counts their bytes.
type sink struct{ n atomic.Int64 }

func (s *sink) Write(p []byte) (int, error) {
	s.n.Add(int64(len(p)))
	return len(p), nil
}

// What a handler says of a failure is often what its caller has sent: a line of the log
// is short all the same.
func TestFailuresAreLoggedShortly(t *testing.T) {
	long := strings.Repeat("\x00", 1<<20)
	for what, fail := range map[string]rpc.Next{
		"errors": func(context.Context, *rpc.Call) error { return errors.New(long) },
		"panics": func(context.Context, *rpc.Call) error { panic(errors.New(long)) },
		"texts":  func(context.Context, *rpc.Call) error { panic(long) },
	} {
		lines, call := new(sink), stub.New[string, string]()
		call.Method = method("fail", rpc.Unary)
		if err := mux.Handle(t.Context(), call, fail, slog.New(slog.NewTextHandler(lines, nil))); err == nil || err.Code != rpc.Internal {
			t.Errorf("%s: %v", what, err)
		}
		if n := lines.n.Load(); n == 0 || n > 20<<10 {
			t.Errorf("%s: %d bytes are logged of a text of %d", what, n, len(long))
		}
	}
}

// A call that is refused before it has a result has no place for an exception: the code
// of its method, which puts one there, is not asked.
func TestPublicErrorOfARefusedCall(t *testing.T) {
	m := &rpc.Method{Service: "S", Name: "m", Except: func(result any, _ error) bool { return *result.(*string) != "" }}
	e := mux.Public(stub.Make(m, "S", nil, nil), rpc.Errorf(rpc.Unimplemented, "as a stream"), nil)
	if e == nil || e.Code != rpc.Unimplemented {
		t.Errorf("told %v", e)
	}
}
