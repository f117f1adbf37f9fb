package limosa_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
)

// A server whose listeners put connections on event loops serves as any other,
// with each kind of handlers, and drains.
func TestLoops(t *testing.T) {
	for name, where := range map[string]limosa.Handlers{"spare": limosa.Spare, "inline": limosa.Inline, "goroutines": limosa.Goroutines} {
		t.Run(name, func(t *testing.T) {
			loops := &netio.Config{Net: new(netio.Net), Loops: 2}
			tcp, err := netio.Listen("tcp", "127.0.0.1:0", loops)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "s")
			unix, err := netio.Listen("unix", path, loops)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			s := limosa.Server{Services: []rpc.Service{streams(nil)}, Handlers: where}
			go func() { ended <- s.Serve(ctx, tcp, unix) }()
			var work sync.WaitGroup
			for i := range 20 {
				work.Go(func() {
					target := tcp.Addr().String()
					if i%2 == 0 {
						target = "unix://" + path
					}
					c, err := limosa.Dial(target)
					if err != nil {
						t.Error(err)
						return
					}
					defer c.Close()
					if i < 4 {
						streamHistory(t, c)
					}
					for k := range 50 {
						arg := fmt.Sprint(i, k)
						if got, err := call(t.Context(), c, echoMethod, arg); err != nil || got != arg {
							t.Errorf("%q came back as %q: %v", arg, got, err)
						}
					}
				})
			}
			work.Wait()
			cancel()
			if err := <-ended; err != nil {
				t.Error("Serve:", err)
			}
			if err := loops.Net.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
