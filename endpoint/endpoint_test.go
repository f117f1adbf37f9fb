package endpoint_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// TestConnectionsThatFailedAreDropped: a server that did not understand a request may close the
// connection behind its answer, as Kitex does, so that the next call is not to
// go there; unless the peer is a Limosa, which does not.
func TestConnectionsThatFailedAreDropped(t *testing.T) {
	var peer atomic.Value // of the last call that was served; calls come one after another
	peer.Store("")
	target, _ := rig.Start(t, &limosa.Server{
		Services: []rpc.Service{rig.Service(nil)},
		Interceptors: []rpc.Interceptor{func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
			peer.Store(c.Peer)
			if c.Method.Name == "wait" {
				return rpc.Errorf(rpc.NotFound, "nothing there")
			}
			return next(ctx, c)
		}},
	}, "127.0.0.1:0")
	unknown := &rpc.Method{Service: "Test", Name: "unheard-of", Codec: rig.Text{}, New: stub.New[string, string]}
	for form, stays := range map[limosa.Form]bool{limosa.Framed: false, limosa.Buffered: false, limosa.TTHeader: true} {
		c := &limosa.Client{Target: target, Thrift: form}
		for _, step := range []struct {
			m     *rpc.Method
			code  rpc.Code
			stays bool // on the connection of the call before
		}{
			{rig.Echo, rpc.OK, false},
			{rig.Echo, rpc.OK, true},
			{rig.Wait, rpc.NotFound, true},
			{rig.Echo, rpc.OK, true},
			{unknown, rpc.Unimplemented, true},
			{rig.Echo, rpc.OK, stays},
		} {
			before := peer.Load()
			if _, err := rig.Call(t.Context(), c, step.m, "x"); (err == nil) != (step.code == rpc.OK) || form == limosa.TTHeader && rpc.CodeOf(err) != step.code {
				t.Errorf("%v: %v = %v, want %v", form, step.m, err, step.code)
			}
			if stayed := peer.Load() == before; stayed != step.stays {
				t.Errorf("%v: %v on the connection of the call before: %v, want %v", form, step.m, stayed, step.stays)
			}
		}
		c.Close()
	}
}

// A peer that is far has not said what it can when the next call comes: one
// that the connection cannot carry until then goes elsewhere.
func TestStreamsAndCallsBeforeTheHello(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, c rpc.Caller){
		"a stream after a oneway call": func(t *testing.T, c rpc.Caller) {
			m := &rpc.Method{Service: "Test", Name: "echo", Kind: rpc.Oneway, Codec: rig.Text{}, New: stub.New[string, string]}
			if _, err := rig.Call(t.Context(), c, m, "x"); err != nil {
				t.Error(err)
			}
			for _, err := range rig.Tally(t.Context(), c, 3) {
				if err != nil {
					t.Error(err)
				}
			}
		},
		"a call after a stream": func(t *testing.T, c rpc.Caller) {
			ctx, cancel := context.WithTimeout(t.Context(), 21*time.Millisecond) // dialled, and no more
			defer cancel()
			for _, err := range rig.Tally(ctx, c, 3) {
				if rpc.CodeOf(err) != rpc.DeadlineExceeded {
					t.Error(err)
				}
			}
			if got, err := rig.Call(t.Context(), c, rig.Echo, "x"); err != nil || got != "x" {
				t.Errorf("%q, %v", got, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := simnet.New(func(int, string, string) pipe.Config { return pipe.Config{Delay: 20 * time.Millisecond} })
				l, err := n.Listen("server")
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() {
					served <- (&limosa.Server{Services: []rpc.Service{rig.Streams(nil)}}).Serve(ctx, netio.NewListener(l, nil))
				}()
				c := &limosa.Client{Target: "server:1"}
				rig.DialOn(c, func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
					return n.Dial(ctx, "client", "server")
				})
				run(t, c)
				c.Close()
				cancel()
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
