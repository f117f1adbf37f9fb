package mux_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
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
						*rpc.Result[string](c) = "unencodable"
						return nil
					}}, "", true
				}
				var lines atomic.Int32
				lim := rpc.Limits{}.WithDefaults()
				p := ttheader.Protocol{Form: form}
				r := &rig{finished: make(chan error, 1)}
				r.cend, r.send = netio.Pipe(netio.PipeConfig{})
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
