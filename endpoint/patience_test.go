package endpoint_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// Calls with less time than a dial takes get connections all the same, also when
// those that a peer of one call at a time had are lost.
func TestDialsOutliveTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}})
		c := rig.NetClient(n, &limosa.Client{Thrift: limosa.Framed, Timeout: 10 * time.Millisecond})
		var dials atomic.Int32
		rig.DialOn(c, func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
			dials.Add(1)
			time.Sleep(15 * time.Millisecond)
			return n.Dial(ctx, "client", "server")
		})
		for round := range 3 {
			failed := 0
			for range 20 {
				if _, err := rig.Call(t.Context(), c, rig.Echo, ""); err != nil {
					failed++
				}
			}
			if failed > 2 || int(dials.Load()) > 2*(round+1) {
				t.Errorf("round %d: %d of 20 calls failed, %d dials", round, failed, dials.Load())
			}
			for _, l := range n.Links("", "") {
				l.Break()
			}
		}
		stop()
		<-ended
		c.Close()
	})
}

// shy speaks TTHeader without heeding offers, as Kitex does.
type shy struct{ ttheader.Protocol }

func (p shy) Open(side wire.Side, lim *rpc.Limits) wire.Session {
	return shySession{p.Protocol.Open(side, lim)}
}

type shySession struct{ wire.Session }

func (s shySession) Cut(in *buf.In) (wire.Event, int, error) {
	ev, need, err := s.Session.Cut(in)
	ev.Flags &^= wire.Settings
	return ev, need, err
}

// When a peer of one call at a time is replaced by one that carries many, all
// calls that wait for a connection of their own go on.
func TestQueueEndsWithTheHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		var begun atomic.Int32
		s, m := rig.One("slow", func(context.Context, *rpc.Call) error {
			begun.Add(1)
			time.Sleep(10 * time.Second)
			return nil
		})
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, Protocols: []wire.Protocol{shy{}}})
		c := rig.NetClient(n, new(limosa.Client))
		rig.DialOn(c, func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
			time.Sleep(20 * time.Millisecond) // more than the hello takes
			return n.Dial(ctx, "client", "server")
		})
		if _, err := rig.Call(t.Context(), c, rig.Echo, ""); err != nil {
			t.Fatal(err)
		}
		stop()
		<-ended
		stop, ended = rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{s}})
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() {
				if _, err := rig.Call(t.Context(), c, m, ""); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Second)
		if got := begun.Load(); got != 100 {
			t.Errorf("%d of 100 calls have begun after a second", got)
		}
		calls.Wait()
		stop()
		<-ended
		c.Close()
	})
}

// A call that dials while the client is closed is told of that, not of a dial.
func TestCloseDuringADial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := rig.NetClient(simnet.New(nil), new(limosa.Client))
		rig.DialOn(c, func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		time.AfterFunc(time.Millisecond, func() { c.Close() })
		if _, err := rig.Call(t.Context(), c, rig.Echo, ""); rpc.SentOf(err) != rpc.NotSent || !strings.Contains(err.Error(), "the client is closed") {
			t.Errorf("%v, %v", err, rpc.SentOf(err))
		}
	})
}
