package limosa_test

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
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// Calls with less time than a dial takes get connections all the same, also when
// those that a peer of one call at a time had are lost.
func TestDialsOutliveTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		stop, ended := netServer(t, n, &limosa.Server{Services: []rpc.Service{service(nil)}})
		c := netClient(n, &limosa.Client{Thrift: limosa.Framed, Timeout: 10 * time.Millisecond})
		var dials atomic.Int32
		c.DialOn(func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
			dials.Add(1)
			time.Sleep(15 * time.Millisecond)
			return n.Dial(ctx, "client", "server")
		})
		for round := range 3 {
			failed := 0
			for range 20 {
				if _, err := call(t.Context(), c, echoMethod, ""); err != nil {
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
		s, m := one("slow", func(context.Context, *rpc.Call) error {
			begun.Add(1)
			time.Sleep(10 * time.Second)
			return nil
		})
		stop, ended := netServer(t, n, &limosa.Server{Services: []rpc.Service{service(nil)}, Protocols: []wire.Protocol{shy{}}})
		c := netClient(n, new(limosa.Client))
		c.DialOn(func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
			time.Sleep(20 * time.Millisecond) // more than the hello takes
			return n.Dial(ctx, "client", "server")
		})
		if _, err := call(t.Context(), c, echoMethod, ""); err != nil {
			t.Fatal(err)
		}
		stop()
		<-ended
		stop, ended = netServer(t, n, &limosa.Server{Services: []rpc.Service{s}})
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() {
				if _, err := call(t.Context(), c, m, ""); err != nil {
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
		c := netClient(simnet.New(nil), new(limosa.Client))
		c.DialOn(func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		time.AfterFunc(time.Millisecond, func() { c.Close() })
		if _, err := call(t.Context(), c, echoMethod, ""); rpc.SentOf(err) != rpc.NotSent || !strings.Contains(err.Error(), "the client is closed") {
			t.Errorf("%v, %v", err, rpc.SentOf(err))
		}
	})
}

// Options go into the call that they are for, whatever memory its header has.
func TestOptionsKeepOutOfOtherCalls(t *testing.T) {
	shared := make(rpc.Metadata, 0, 8)
	shared.Add("a", "b")
	x := stub.NewCall[string, string](echoMethod, "Test")
	x.Header = shared
	if err := limosa.Local(service(nil)).Do(limosa.With(t.Context(), limosa.Header("secret", "mine")), &x.Call); err != nil {
		t.Fatal(err)
	}
	if p := shared[:2][1]; p.Key != "" {
		t.Errorf("the memory of others has %v", p)
	}
}
