package endpoint_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/endpoint"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// few speaks TTHeader with a peer that takes few calls at once.
type few struct{ ttheader.Protocol }

func (p few) Open(side wire.Side, lim *rpc.Limits) wire.Session {
	return fewSession{p.Protocol.Open(side, lim)}
}

type fewSession struct{ wire.Session }

func (s fewSession) Caps() wire.Caps {
	c := s.Session.Caps()
	if !c.Pending {
		c.Calls = 5
	}
	return c
}

// Where a connection carries as many calls as its peer takes, more are dialled than for
// small calls otherwise; no call is refused meanwhile.
func TestFullConnectionsGetAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		s, m := rig.One("slow", func(context.Context, *rpc.Call) error {
			time.Sleep(time.Second)
			return nil
		})
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{s}})
		var dials atomic.Int32
		e := endpoint.New(endpoint.Config{
			Network: "tcp", Addr: "server:1", Protocol: few{}, WithoutOffer: few{}, Limits: rpc.Limits{}.WithDefaults(),
			Dial: func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
				dials.Add(1)
				return n.Dial(ctx, "client", "server")
			},
		})
		if _, err := rig.Call(t.Context(), e, m, ""); err != nil {
			t.Fatal(err)
		}
		const rounds = 6
		var calls sync.WaitGroup
		for range 40 {
			calls.Go(func() {
				for range rounds {
					if _, err := rig.Call(t.Context(), e, m, ""); err != nil {
						t.Error(err)
					}
				}
			})
		}
		calls.Wait()
		if got := dials.Load(); got < 5 || got > 12 {
			t.Errorf("%d connections for 40 callers, of which 5 share one; 8 would do", got)
		}
		e.Close()
		stop()
		<-ended
	})
}

// A call that finds all connections full does not wait for their calls, which may never
// end: it takes the connection that is dialled for it.
func TestCallDoesNotWaitBehindAFullConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}})
		var dials atomic.Int32
		e := endpoint.New(endpoint.Config{
			Network: "tcp", Addr: "server:1", Protocol: few{}, WithoutOffer: few{}, Limits: rpc.Limits{}.WithDefaults(),
			Dial: func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
				dials.Add(1)
				return n.Dial(ctx, "client", "server")
			},
		})
		if _, err := rig.Call(t.Context(), e, rig.Echo, ""); err != nil {
			t.Fatal(err)
		}
		long, leave := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range 5 { // as many as a connection takes
			calls.Go(func() { rig.Call(long, e, rig.Wait, "") }) //nolint:errcheck // until leave
		}
		synctest.Wait()
		for i := range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, err := rig.Call(ctx, e, rig.Echo, ""); err != nil {
				t.Errorf("call %d: %v", i, err)
			}
			cancel()
		}
		leave()
		calls.Wait()
		if got := dials.Load(); got != 2 {
			t.Errorf("%d connections, of which the second has room for all", got)
		}
		e.Close()
		stop()
		<-ended
	})
}
