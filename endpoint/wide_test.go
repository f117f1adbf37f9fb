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
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// Large messages under way at once spread over several connections, also where
// only the answers are large; small ones share two.
func TestLargeCallsSpread(t *testing.T) {
	for name, c := range map[string]struct {
		request, answer int
		least, most     int
	}{
		"small":         {100, 100, 1, 2},
		"large":         {128 << 10, 100, 5, 8},
		"large answers": {100, 128 << 10, 5, 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var conns atomic.Int32
				method := func() *rpc.Method { // one for each side, as between processes: it remembers sizes
					return &rpc.Method{Service: "Test", Name: "sized", Codec: rig.Text{}, New: stub.New[string, string]}
				}
				m := method()
				srv := &limosa.Server{Services: []rpc.Service{{Name: "Test", Methods: []rpc.Handler{{Method: method(), Serve: func(_ context.Context, call *rpc.Call) error {
					time.Sleep(time.Millisecond)
					if _, err := stub.Args[string](call); err != nil {
						return err
					}
					*stub.Result[string](call) = strings.Repeat("a", c.answer)
					return nil
				}}}}}}
				n := simnet.New(func(int, string, string) pipe.Config { return pipe.Config{} })
				l, err := n.Listen("server")
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() { served <- srv.Serve(ctx, netio.NewListener(l, nil)) }()
				client := &limosa.Client{Target: "server:1"}
				rig.DialOn(client, func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
					conns.Add(1)
					return n.Dial(ctx, "client", "server")
				})
				if _, err := rig.Call(t.Context(), client, m, ""); err != nil { // from here on it is known that connections are shared
					t.Fatal(err)
				}
				var callers sync.WaitGroup
				for range 40 {
					callers.Go(func() {
						for range 5 {
							if got, err := rig.Call(t.Context(), client, m, strings.Repeat("q", c.request)); err != nil || len(got) != c.answer {
								t.Errorf("%d bytes, %v", len(got), err)
							}
						}
					})
				}
				callers.Wait()
				if n := int(conns.Load()); n < c.least || n > c.most {
					t.Errorf("%d connections, want %d to %d", n, c.least, c.most)
				}
				client.Close()
				cancel()
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
