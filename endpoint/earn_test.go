package endpoint_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/endpoint"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
)

// A call earns toward retries once, however often it looks for a connection.
func TestCallsEarnOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(func(int, string, string) pipe.Config { return pipe.Config{Delay: time.Millisecond} })
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}})
		proto := ttheader.Protocol{Form: ttheader.Framed}
		c := endpoint.New(endpoint.Config{
			Network: "tcp", Addr: "server:1", Protocol: proto, WithoutOffer: proto, Limits: rpc.Limits{}.WithDefaults(),
			Dial: func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
				return n.Dial(ctx, "client", "server")
			},
		})
		earned := c.Earned(0)
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() { rig.Call(t.Context(), c, rig.Echo, "") })
		}
		calls.Wait()
		if got := earned(); got != 100 {
			t.Errorf("100 calls have earned %d", got)
		}
		stop()
		<-ended
		c.Close()
	})
}
