package limosa_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
)

// TestMistrust: a server that did not understand a request may close the
// connection behind its answer, as Kitex does, so that the next call is not to
// go there; unless the peer is a Limosa, which does not.
func TestMistrust(t *testing.T) {
	var peer atomic.Value // of the last call that was served; calls come one after another
	peer.Store("")
	target, _ := start(t, &limosa.Server{
		Services: []rpc.Service{service(nil)},
		Interceptors: []rpc.Interceptor{func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
			peer.Store(c.Peer)
			if c.Method.Name == "wait" {
				return rpc.Errorf(rpc.NotFound, "nothing there")
			}
			return next(ctx, c)
		}},
	}, "127.0.0.1:0")
	unknown := &rpc.Method{Service: "Test", Name: "unheard-of", Codec: text{}, New: rpc.New[string, string]}
	for form, stays := range map[limosa.Form]bool{limosa.Framed: false, limosa.Buffered: false, limosa.TTHeader: true} {
		c := &limosa.Client{Target: target, Thrift: form}
		for _, step := range []struct {
			m     *rpc.Method
			code  rpc.Code
			stays bool // on the connection of the call before
		}{
			{echoMethod, rpc.OK, false},
			{echoMethod, rpc.OK, true},
			{waitMethod, rpc.NotFound, true},
			{echoMethod, rpc.OK, true},
			{unknown, rpc.Unimplemented, true},
			{echoMethod, rpc.OK, stays},
		} {
			before := peer.Load()
			if _, err := call(t.Context(), c, step.m, "x"); (err == nil) != (step.code == rpc.OK) || form == limosa.TTHeader && rpc.CodeOf(err) != step.code {
				t.Errorf("%v: %v = %v, want %v", form, step.m, err, step.code)
			}
			if stayed := peer.Load() == before; stayed != step.stays {
				t.Errorf("%v: %v on the connection of the call before: %v, want %v", form, step.m, stayed, step.stays)
			}
		}
		c.Close()
	}
}
