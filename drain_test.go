package limosa_test

import (
	"context"
	"crypto/tls"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
)

// netServer serves at a host of a simulated network until stop.
func netServer(t *testing.T, n *simnet.Net, s *limosa.Server) (stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	l, err := n.Listen("server")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, netio.NewListener(l, nil)) }()
	return stop, done
}

// netClient makes its connections over a simulated network.
func netClient(n *simnet.Net, c *limosa.Client) *limosa.Client {
	c.Target = "server:1"
	c.DialOn(func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
		return n.Dial(ctx, "client", "server")
	})
	return c
}

// A request that is on its way when the drain of a young connection begins, or
// has arrived in part, is refused in so many words: it can be made elsewhere.
func TestDrainHearsYoungConnections(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for at := 10500 * time.Microsecond; at < 120*time.Millisecond; at += 3 * time.Millisecond {
			synctest.Test(t, func(t *testing.T) {
				n := simnet.New(func(int, string, string) netio.PipeConfig {
					return netio.PipeConfig{Delay: 10 * time.Millisecond, MaxSend: 1000, Buffer: 100}
				})
				s, c := &limosa.Server{Services: []rpc.Service{service(nil)}}, netClient(n, new(limosa.Client))
				if secure {
					s.TLS, c.TLS = simCertificate(), &tls.Config{InsecureSkipVerify: true}
				}
				stop, ended := netServer(t, n, s)
				time.AfterFunc(at, stop)
				if got, err := call(t.Context(), c, echoMethod, "hello"); err == nil && got != "hello" || err != nil && !rpc.SentOf(err).Retryable() {
					t.Errorf("a drain after %v, TLS %v: %q, %v, %v", at, secure, got, err, rpc.SentOf(err))
				}
				stop()
				if err := <-ended; err != nil {
					t.Errorf("Serve = %v", err)
				}
				c.Close()
			})
		}
	}
}

// Who connects and says nothing does not hold a drain up.
func TestDrainAndSilentConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		stop, ended := netServer(t, n, &limosa.Server{Services: []rpc.Service{service(nil)}})
		for range 10 {
			nc, err := n.Dial(t.Context(), "client", "server")
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Abort()
		}
		synctest.Wait()
		began := time.Now()
		stop()
		if err := <-ended; err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("Serve = %v after %v", err, time.Since(began))
		}
	})
}
