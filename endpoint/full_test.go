package endpoint_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// few speaks TTHeader with a peer that takes few calls at once: five, or as many as most says.
type few struct {
	ttheader.Protocol
	most int
}

func (p few) Open(side wire.Side, lim *rpc.Limits) wire.Session {
	return fewSession{p.Protocol.Open(side, lim), cmp.Or(p.most, 5)}
}

type fewSession struct {
	wire.Session
	most int
}

func (s fewSession) Caps() wire.Caps {
	c := s.Session.Caps()
	if !c.Pending {
		c.Calls = s.most
	}
	return c
}

// dialling is an endpoint of a simulated network's server that counts its dials.
func dialling(n *simnet.Net, speaks wire.Protocol) (e *endpoint.Endpoint, dials *atomic.Int32) {
	dials = new(atomic.Int32)
	return dialled(speaks, func(ctx context.Context) (netio.Conn, error) {
		dials.Add(1)
		return n.Dial(ctx, "client", "server")
	}), dials
}

// dialled is an endpoint whose connections dial makes.
func dialled(speaks wire.Protocol, dial func(context.Context) (netio.Conn, error)) *endpoint.Endpoint {
	return endpoint.New(endpoint.Config{
		Network: "tcp", Addr: "server:1", Protocol: speaks, WithoutOffer: speaks, Limits: rpc.Limits{}.WithDefaults(),
		Dial: func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) { return dial(ctx) },
	})
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
		e, dials := dialling(n, few{})
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
		e, dials := dialling(n, few{})
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

// Calls that find all connections full, and no further one allowed, take whichever has
// a place first, in the order in which they have come: the calls of any one may never end.
func TestCallsTakeThePlaceThatIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		var order []string // in which the server has begun them: one at a time, on the one connection that has a place
		next, m := rig.One("next", func(_ context.Context, c *rpc.Call) error {
			arg, err := stub.Args[string](c)
			order = append(order, *arg)
			return err
		})
		all := rig.Service(nil)
		all.Methods = append(all.Methods, next.Methods...)
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{all}})
		e, dials := dialling(n, few{most: 1})
		const most = 32 // connections
		var long [most]context.CancelFunc
		var calls sync.WaitGroup
		for i := range long {
			var ctx context.Context
			ctx, long[i] = context.WithCancel(t.Context())
			calls.Go(func() { rig.Call(ctx, e, rig.Wait, "") }) //nolint:errcheck // until it is left
			synctest.Wait()
		}
		want := []string{"a", "b", "c", "d", "e"}
		for _, arg := range want {
			calls.Go(func() {
				if _, err := rig.Call(t.Context(), e, m, arg); err != nil {
					t.Errorf("call %s: %v", arg, err)
				}
			})
			synctest.Wait()
		}
		long[most-1]()
		time.Sleep(time.Second) // the server's Watch may be needed
		if synctest.Wait(); !slices.Equal(order, want) {
			t.Errorf("a connection has a place, and of the calls in the line these were made: %q", order)
		}
		for _, leave := range long {
			leave()
		}
		calls.Wait()
		if got := dials.Load(); got != most {
			t.Errorf("%d connections, want %d", got, most)
		}
		e.Close()
		stop()
		<-ended
	})
}

// Calls that have come before the peer has said how many it takes at once do not wait
// behind the first of them either, once it has: these may never end.
func TestCallsBeforeSettingsDoNotWaitBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(func(int, string, string) pipe.Config { return pipe.Config{Delay: time.Second} })
		stop, ended := rig.NetServer(t, n, &limosa.Server{
			Services: []rpc.Service{rig.Service(nil)}, Protocols: []wire.Protocol{web.Protocol{}}, Limits: rpc.Limits{CallsPerConn: 2},
		})
		e, dials := dialling(n, web.Protocol{Authority: "server:1"})
		long, leave := context.WithCancel(t.Context())
		var calls, short sync.WaitGroup
		for i := range 4 { // as many as two connections take
			calls.Go(func() { rig.Call(long, e, rig.Wait, "") }) //nolint:errcheck // until leave
			if i == 0 {
				time.Sleep(1100 * time.Millisecond) // it is connected
			}
			synctest.Wait()
		}
		for i := range 4 {
			short.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := rig.Call(ctx, e, rig.Echo, ""); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		short.Wait()
		leave()
		calls.Wait()
		if got := dials.Load(); got < 3 || got > 5 {
			t.Errorf("%d connections, where 3 would do", got)
		}
		e.Close()
		stop()
		<-ended
	})
}

// A dial that fails is tried again for those in the line, though nobody calls meanwhile.
// Who leaves the line takes nothing along, and Shutdown tells who is in it at once.
func TestLineOutlivesAFailedDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}})
		var down atomic.Bool
		e := dialled(few{most: 1}, func(ctx context.Context) (netio.Conn, error) {
			if down.Load() {
				return nil, errors.New("no route")
			}
			return n.Dial(ctx, "client", "server")
		})
		long, leave := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		hold := func() {
			calls.Go(func() { rig.Call(long, e, rig.Wait, "") }) //nolint:errcheck // until leave
			synctest.Wait()
		}
		hold()
		down.Store(true)
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := rig.Call(ctx, e, rig.Echo, ""); rpc.CodeOf(err) != rpc.DeadlineExceeded || !strings.Contains(err.Error(), "no route") {
				t.Errorf("who has left the line: %v", err)
			}
		})
		synctest.Wait()
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := rig.Call(ctx, e, rig.Echo, ""); err != nil {
				t.Errorf("who has stayed: %v", err)
			}
		})
		time.Sleep(10 * time.Second)
		down.Store(false)
		time.Sleep(10 * time.Second)

		hold() // on the second connection
		down.Store(true)
		begun := time.Now()
		calls.Go(func() {
			_, err := rig.Call(t.Context(), e, rig.Echo, "")
			if rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.NotSent || time.Since(begun) > time.Second {
				t.Errorf("behind the end of the endpoint: %v, after %v", err, time.Since(begun))
			}
		})
		synctest.Wait()
		e.Close()
		leave()
		calls.Wait()
		stop()
		<-ended
	})
}
