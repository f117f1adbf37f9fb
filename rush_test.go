package limosa_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
)

// Callers without deadlines on the wire leave before their requests are read,
// which lie before the ends of their connections: none is begun once one caller
// was seen to leave. Peers that have ended their sending side only, and those
// that just wait, are answered.
func TestRequestsWhoseCallersHaveLeftAreNotStarted(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for _, loops := range []int{0, 1} {
			for name, mode := range map[string]limosa.Handlers{"spare": limosa.Spare, "goroutines": limosa.Goroutines} {
				t.Run(fmt.Sprintf("%s, %d loops, %s", network, loops, name), func(t *testing.T) {
					addr := map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")}[network]
					l, err := netio.Listen(network, addr, &netio.Config{Loops: loops})
					if err != nil {
						t.Fatal(err)
					}
					var waits, echoed atomic.Int64
					s := &limosa.Server{Services: []rpc.Service{service(nil)}, Handlers: mode, Limits: rpc.Limits{Conns: 1},
						Interceptors: []rpc.Interceptor{func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
							if c.Method == echoMethod {
								echoed.Add(1)
							} else {
								waits.Add(1)
							}
							return next(ctx, c)
						}}}
					defer serveOn(t, s, l)()
					first := sends(t, l.Addr(), framedCall("wait", "x"))
					eventually(t, "the first call runs", func() bool { return waits.Load() == 1 })
					for range 50 {
						leaves(sends(t, l.Addr(), framedCall("echo", "x")))
					}
					stays := sends(t, l.Addr(), framedCall("echo", "x"))
					if w, ok := stays.(interface{ CloseWrite() error }); !ok || w.CloseWrite() != nil {
						t.Fatal("no end of one side")
					}
					leaves(first)
					stays.SetDeadline(time.Now().Add(20 * time.Second))
					if answer, err := io.ReadAll(stays); len(answer) == 0 || err != nil {
						t.Errorf("the one that stays is answered %q, %v", answer, err)
					}
					if n := echoed.Load(); n != 1 {
						t.Errorf("%d calls were begun, 1 caller has waited", n)
					}
				})
			}
		}
	}
}

// sends makes a connection to a server and sends it a message.
func sends(t *testing.T, to net.Addr, message []byte) net.Conn {
	t.Helper()
	nc, err := net.Dial(to.Network(), to.String())
	if err == nil {
		_, err = nc.Write(message)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return nc
}

// leaves gives up what was sent on nc.
func leaves(nc net.Conn) {
	if c, ok := nc.(*net.TCPConn); ok {
		c.SetLinger(0)
	}
	nc.Close()
}
