package mux_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// Messages of streams that were compressed are unpacked as few at a time as requests
// are: what they become is many times what the peer has sent. One that waits for its
// place waits no longer than its call lasts.
func TestPackedMessagesHaveTheirPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var unpacked, received atomic.Int32
		gate, canceled := make(chan struct{}), make(chan error, 4)
		m := method("take", rpc.ClientStream)
		m.Codec = noted{told: func() { unpacked.Add(1); <-gate }}
		take := rpc.Handler{Method: m, Serve: func(_ context.Context, c *rpc.Call) error {
			var msg string
			err := rpc.EngineOf(c).Stream().Receive(&msg)
			if err == nil && msg == "hello" {
				received.Add(1)
			} else {
				canceled <- err
			}
			return err
		}}
		r := &halfRig{rig: &rig{finished: make(chan error, 1)}}
		r.peer, r.send = pipe.New(pipe.Config{})
		lim := rpc.Limits{}.WithDefaults()
		r.server = mux.NewServerConn(r.send, (&two{caps: twoCaps}).Open(wire.Server, lim), &mux.ServerConfig{
			Config: mux.Config{Limits: lim}, Base: t.Context(), Zlib: make(chan struct{}, 1),
			Route: func(string, string) (rpc.Handler, string, bool) { return take, "", true },
		})
		go r.server.Run(func(err error) { r.finished <- err })
		for i := range uint32(4) {
			r.say(twoFrame('O', 2*i+1, "take"), twoFrame('M', 2*i+1, twoMessage(twoText|twoPack, 0, "", "", "HELLO")))
		}
		synctest.Wait()
		if n := unpacked.Load(); n != 1 {
			t.Errorf("%d messages are unpacked at a time", n)
		}
		for i := range uint32(4) { // the three that wait, and the one that does not
			r.say(twoFrame('R', 2*i+1, string(rune(rpc.Canceled))))
		}
		synctest.Wait()
		if n := len(canceled); n != 3 {
			t.Errorf("%d streams that wait have ended with their calls", n)
		}
		close(gate)
		synctest.Wait()
		if n := received.Load(); n != 1 {
			t.Errorf("%d messages were received", n)
		}
		hangUp(r.peer)
		<-r.finished
	})
}
