package limosa_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// A toll stands between clients and a server, and may hold what clients send.
type toll struct {
	l    net.Listener
	gate sync.RWMutex // held for writing: nothing passes up
	work sync.WaitGroup

	target atomic.Pointer[net.Addr] // of new connections
}

func newToll(t *testing.T) *toll {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tl := &toll{l: l}
	t.Cleanup(func() { l.Close(); tl.work.Wait() })
	tl.work.Go(func() {
		for {
			a, err := l.Accept()
			if err != nil {
				return
			}
			tl.work.Go(func() { tl.pass(t, a) })
		}
	})
	return tl
}

func (tl *toll) pass(t *testing.T, a net.Conn) {
	to := *tl.target.Load()
	b, err := net.Dial(to.Network(), to.String())
	if err != nil {
		t.Errorf("dial: %v", err)
		a.Close()
		return
	}
	move := func(dst, src net.Conn, gate sync.Locker) {
		p := make([]byte, 64<<10)
		for {
			n, err := src.Read(p)
			if n > 0 {
				gate.Lock()
				_, werr := dst.Write(p[:n])
				gate.Unlock()
				if werr != nil {
					break
				}
			}
			if err != nil {
				break
			}
		}
		dst.(interface{ CloseWrite() error }).CloseWrite()
	}
	var up sync.WaitGroup
	up.Go(func() { move(b, a, tl.gate.RLocker()) })
	move(a, b, new(sync.Mutex))
	up.Wait()
	a.Close()
	b.Close()
}

// Calls that a server has not heard of when it ends a drained connection are
// answered by its successor, and none of them by both: over each transport.
func TestCallsThatCrossADrainOverSockets(t *testing.T) {
	cert, roots := certificate(t)
	for _, transport := range []string{"tcp", "unix", "tls", "loops"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			tl := newToll(t)
			c := &limosa.Client{Target: tl.l.Addr().String()}
			defer c.Close()
			cfg := &netio.Config{Net: new(netio.Net)}
			defer cfg.Net.Close()
			var begun [2]atomic.Int32
			serve := func(i int) (stop func()) {
				network, addr := "tcp", "127.0.0.1:0"
				s := &limosa.Server{Services: []rpc.Service{service(nil)}, Interceptors: []rpc.Interceptor{func(ctx context.Context, call *rpc.Call, next rpc.Next) error {
					begun[i].Add(1)
					return next(ctx, call)
				}}}
				switch transport {
				case "unix":
					network, addr = "unix", filepath.Join(t.TempDir(), "s")
				case "loops":
					cfg.Loops = 1
				case "tls":
					s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
					c.TLS = &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
				}
				l, err := netio.Listen(network, addr, cfg)
				if err != nil {
					t.Fatal(err)
				}
				at := l.Addr()
				tl.target.Store(&at)
				return serveOn(t, s, l)
			}
			stop := serve(0)
			// Of a method that others have called, calls may weigh so much that they go on
			// another connection as well, which the server would not have heard of.
			method := &rpc.Method{Service: "Test", Name: "echo", Codec: text{}, New: stub.New[string, string]}
			if _, err := call(t.Context(), c, method, "hello"); err != nil {
				t.Fatal(err)
			}
			tl.gate.Lock()
			const n = 8
			var calls sync.WaitGroup
			for i := range n {
				calls.Go(func() {
					want := fmt.Sprint(i)
					if got, err := call(t.Context(), c, method, want); err != nil || got != want {
						t.Errorf("%.10q, %v, %v", got, err, rpc.SentOf(err))
					}
				})
			}
			// Real time: sockets of the kernel.
			time.Sleep(100 * time.Millisecond)
			next := serve(1)
			defer next()
			drained := make(chan struct{})
			go func() { stop(); close(drained) }()
			<-drained
			tl.gate.Unlock()
			calls.Wait()
			c.Close() // its server need not wait for it
			if a, b := begun[0].Load(), begun[1].Load(); a != 1 || b != n {
				t.Errorf("%d calls were begun on the one server, %d on the other", a, b)
			}
		})
	}
}
