package netio_test

import (
	"context"
	"math/rand/v2"
	"net"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/internal/nettest"
	"github.com/limosa-rpc/limosa/netio/pipe"
)

// TestHuntNotSent breaks connections at every byte and at random moments, from
// either side, while calls are being sent, and compares what HandedToKernel says at that
// moment with what the peer has received: a call that arrived, though HandedToKernel says
// that it was not sent, would be retried and done twice. LIMOSA_HUNT=100000 sets
// the number of attempts for each kind of connection.
func TestHuntNotSent(t *testing.T) {
	client, server := nettest.Certificates()
	pipe := func(t *testing.T) pairs {
		return pairs{func() (netio.Conn, netio.Conn) { return pipe.New(pipe.Config{}) }, func() {}}
	}
	secure := func(lower func(t *testing.T) pairs) func(t *testing.T) pairs {
		return func(t *testing.T) pairs {
			p := lower(t)
			return pairs{func() (netio.Conn, netio.Conn) {
				a, b := p.next()
				var ta netio.Conn
				var side sync.WaitGroup
				side.Go(func() {
					if c, err := netio.Client(t.Context(), a, client); err == nil {
						ta = c
					}
				})
				tb, err := netio.Server(t.Context(), b, server)
				side.Wait()
				if err != nil || ta == nil {
					t.Fatal(err)
				}
				return ta, tb
			}, p.stop}
		}
	}
	for name, kind := range map[string]struct {
		pairs func(t *testing.T) pairs
		few   int
	}{
		"tcp":        {func(t *testing.T) pairs { return listening(t, "tcp", 0) }, 400},
		"unix":       {func(t *testing.T) pairs { return listening(t, "unix", 0) }, 400},
		"tcp loops":  {func(t *testing.T) pairs { return listening(t, "tcp", 2) }, 400},
		"unix loops": {func(t *testing.T) pairs { return listening(t, "unix", 2) }, 400},
		"pipe":       {pipe, 400},
		"plain": {func(t *testing.T) pairs {
			p := listening(t, "tcp", 0)
			return pairs{func() (netio.Conn, netio.Conn) {
				a, b := p.next()
				return netio.Wrap(struct{ net.Conn }{a.NetConn()}, nil), b
			}, p.stop}
		}, 400},
		"tls":       {secure(func(t *testing.T) pairs { return listening(t, "tcp", 0) }), 100},
		"tls, pipe": {secure(pipe), 100},
	} {
		t.Run(name, func(t *testing.T) {
			p := kind.pairs(t)
			defer p.stop()
			n, bad := hunts(t, kind.few), 0
			r := rand.New(rand.NewPCG(1, uint64(n)))
			for i := range n {
				a, b := p.next()
				if handed, got := breakOff(a, b, i, r); handed < got {
					if bad++; bad < 5 {
						t.Errorf("attempt %d: the peer got %d bytes, HandedToKernel says %d", i, got, handed)
					}
				}
			}
			t.Logf("%d attempts, %d false", n, bad)
		})
	}
}

// pairs makes connected pairs, over one listener.
type pairs struct {
	next func() (a, b netio.Conn)
	stop func()
}

func listening(t *testing.T, network string, loops int) pairs {
	t.Helper()
	cfg := &netio.Config{Net: new(netio.Net), Loops: loops}
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(t.TempDir(), "s")
	}
	l, err := netio.Listen(network, addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	next := func() (a, b netio.Conn) {
		a, err := netio.Dial(t.Context(), network, l.Addr().String(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if b, err = l.Accept(t.Context()); err != nil {
			t.Fatal(err)
		}
		return a, b
	}
	return pairs{next, func() { l.Close(); cfg.Net.Close() }}
}

// breakOff sends calls from a to b and breaks the connection: in one attempt of
// four a itself does, at some moment. It gives what HandedToKernel said right after, and
// how much arrived.
func breakOff(a, b netio.Conn, i int, r *rand.Rand) (handed, got uint64) {
	cut := uint64(1 + i%600)
	size, writers, self, spins := 1+r.IntN(200), 1+r.IntN(2), i%4 == 3, r.IntN(200)
	if i%50 == 49 {
		size = 100 << 10 // more than one system call takes
	}
	var all sync.WaitGroup
	var received atomic.Uint64
	all.Go(func() {
		take := func(in *buf.In) (bool, error) {
			n := received.Add(uint64(in.Skip(in.Len())))
			return self || n < cut, nil
		}
		for {
			if why, _ := b.Receive(false, take); why == netio.Enough || why == netio.Lost {
				break
			}
		}
		b.Abort()
		b.Receive(false, nil)
	})
	for range writers {
		all.Go(func() {
			for p := make([]byte, size); ; {
				o := a.Output()
				o.Lock()
				o.Out().Append(p)
				if o.Unlock() && o.Flush() != nil || o.Wait(context.Background(), 4<<10) != nil {
					return
				}
			}
		})
	}
	if self {
		for range spins {
			runtime.Gosched()
		}
	} else {
		a.Receive(false, func(in *buf.In) (bool, error) { return true, nil })
	}
	a.Abort()
	handed = a.Output().HandedToKernel()
	all.Wait()
	a.Receive(false, nil)
	return handed, received.Load()
}
