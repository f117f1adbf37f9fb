package relay_test

import (
	"context"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/internal/nettest"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/netio/relay"
)

// A line is two connections whose inner ends are for a Relay: client - in,
// out - server.
type line struct {
	client, in, out, server netio.Conn
	net                     *netio.Net // of sockets
	pipes                   *relay.Pipes
	views                   []net.Conn
}

// peers are the outer ends as net.Conns.
func (l *line) peers() (client, server net.Conn) {
	client, server = l.client.NetConn(), l.server.NetConn()
	l.views = append(l.views, client, server)
	return client, server
}

// leakless checks, after everything else, that the test left nothing behind.
func leakless(t testing.TB) {
	goroutines, blocks := runtime.NumGoroutine(), buf.Live()
	t.Cleanup(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for range 2000 {
			if t.Failed() || runtime.NumGoroutine() <= goroutines && buf.Live() <= blocks {
				return
			}
			<-tick.C
		}
		t.Errorf("goroutines were %d, are %d; blocks were %d, are %d", goroutines, runtime.NumGoroutine(), blocks, buf.Live())
	})
}

// joined makes a line of two pairs, and closes it when the test ends.
func joined(t testing.TB, left, right pairing) *line {
	t.Helper()
	l := &line{net: new(netio.Net), pipes: new(relay.Pipes)}
	cfg := &netio.Config{Net: l.net}
	l.client, l.in = left(t, cfg)
	l.out, l.server = right(t, cfg)
	t.Cleanup(func() {
		for _, c := range []netio.Conn{l.client, l.in, l.out, l.server} {
			c.Abort()
			if !t.Failed() { // or somebody may hang in it
				c.Receive(false, nil)
			}
		}
		for _, v := range l.views {
			v.Close() // what a Write has left unsent is the view's
		}
		l.net.Close()
		l.pipes.Close()
		if n := l.pipes.Open(); n != 0 && !t.Failed() {
			t.Errorf("%d pipes are still in use", n)
		}
	})
	return l
}

type pairing = func(t testing.TB, cfg *netio.Config) (a, b netio.Conn)

// pairings are the kinds of connections that a relay meets.
func pairings() map[string]pairing {
	kinds := map[string]pairing{}
	for _, network := range []string{"tcp", "unix"} {
		kinds[network] = func(t testing.TB, cfg *netio.Config) (a, b netio.Conn) {
			na, nb := nettest.Sockets(t, network)
			return netio.Wrap(na, cfg), netio.Wrap(nb, cfg)
		}
	}
	kinds["plain"] = func(t testing.TB, cfg *netio.Config) (a, b netio.Conn) {
		na, nb := nettest.Sockets(t, "tcp")
		return netio.Wrap(nettest.Opaque(na), cfg), netio.Wrap(nettest.Opaque(nb), cfg)
	}
	kinds["tls"] = func(t testing.TB, cfg *netio.Config) (a, b netio.Conn) {
		a, b = kinds["tcp"](t, cfg)
		ta, tb := nettest.TLS(t, a, b, 0)
		return ta, tb
	}
	kinds["pipe"] = func(testing.TB, *netio.Config) (a, b netio.Conn) {
		return pipe.New(pipe.Config{MaxSend: 20000, MaxReceive: 30000})
	}
	return kinds
}

// A result is what Relay returned.
type result struct {
	relay.Moved
	err error
}

// relay starts the relay of l.
func (l *line) relay(ctx context.Context) <-chan result {
	done := make(chan result, 1)
	go func() {
		moved, err := relay.Run(ctx, l.in, l.out, l.pipes)
		done <- result{moved, err}
	}()
	return done
}

// await fails with all stacks if nothing comes.
func await[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		stacks := make([]byte, 1<<20)
		t.Fatalf("%s hangs\n%s", what, stacks[:runtime.Stack(stacks, true)])
		panic("not reached")
	}
}

func noise(seed byte, n int) []byte {
	p := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(p)
	return p
}

// sendPieces writes p in pieces of very different sizes and ends.
func sendPieces(nc net.Conn, p []byte, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 1))
	for len(p) > 0 {
		n := min(len(p), 1+r.IntN(1<<r.IntN(18)))
		if _, err := nc.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nc.(interface{ CloseWrite() error }).CloseWrite()
}
