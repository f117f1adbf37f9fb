package endpoint_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/endpoint"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
)

// empty is a codec of messages that say nothing.
type empty struct{}

func (empty) Append(out *buf.Out, _ any) error        { out.Append([]byte{0}); return nil }
func (empty) Decode(buf.View, any, *rpc.Limits) error { return nil }

// A call earns toward retries once, however often it looks for a connection.
func TestCallsEarnOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(func(int, string, string) netio.PipeConfig { return netio.PipeConfig{Delay: time.Millisecond} })
		l, err := n.Listen("server")
		if err != nil {
			t.Fatal(err)
		}
		echo := &rpc.Method{Service: "Test", Name: "echo", Codec: empty{}, New: stub.New[string, string]}
		s := &limosa.Server{Services: []rpc.Service{{Name: "Test", Methods: []rpc.Handler{{Method: echo, Serve: func(context.Context, *rpc.Call) error { return nil }}}}}}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, netio.NewListener(l, nil)) }()
		proto := ttheader.Protocol{Form: ttheader.Framed}
		c := endpoint.New(endpoint.Config{
			Network: "tcp", Addr: "server:1", Protocol: proto, Plain: proto, Limits: rpc.Limits{}.WithDefaults(),
			Dial: func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
				return n.Dial(ctx, "client", "server")
			},
		})
		earned := c.Earned(0)
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() { c.Do(t.Context(), &stub.NewCall[string, string](echo, "Test").Call) })
		}
		calls.Wait()
		if got := earned(); got != 100 {
			t.Errorf("100 calls have earned %d", got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		c.Close()
	})
}
