package mux_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// A message that is above the server's limit is answered with what is wrong with
// it, also where the connection has to end for it, since nobody knows where the
// next one begins.
func TestMessageAboveTheLimitThatCannotBeSkipped(t *testing.T) {
	for name, form := range map[string]ttheader.Form{"framed": ttheader.Framed, "buffered": ttheader.Buffered} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim, small := rpc.Limits{}.WithDefaults(), rpc.Limits{MessageBytes: 64 << 10}.WithDefaults()
				a, b := pipe.New(pipe.Config{})
				p := ttheader.Protocol{Form: form}
				r := &rig{finished: make(chan error, 1)}
				r.server = mux.NewServerConn(b, p.Open(wire.Server, small), &mux.ServerConfig{Config: mux.Config{Limits: small}, Route: echo.route, Base: context.Background()})
				go r.server.Run(func(err error) { r.finished <- err })
				r.client = mux.NewConn(a, p.Open(wire.Client, lim), mux.Config{Limits: lim})
				body := "\x0b\x00\x01\x00\x03\x00\x00" + strings.Repeat("x", 3<<16) + "\x00" // a struct with one string
				_, _, err := r.call(t.Context(), "echo", body)
				if err == nil || !strings.Contains(err.Error(), "bytes, Limits.MessageBytes is 65536") {
					t.Errorf("echo = %v", err)
				}
				r.stop()
			})
		})
	}
}
