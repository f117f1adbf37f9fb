package netio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
)

// A line is two connections whose inner ends are for a Relay: client - in,
// out - server.
type line struct {
	client, in, out, server netio.Conn
	net                     *netio.Net // of sockets
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
	l := &line{net: new(netio.Net)}
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
		if n := l.net.Pipes().Open(); n != 0 && !t.Failed() {
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
			na, nb := socketPair(t, network)
			return netio.Wrap(na, cfg), netio.Wrap(nb, cfg)
		}
	}
	kinds["plain"] = func(t testing.TB, cfg *netio.Config) (a, b netio.Conn) {
		na, nb := socketPair(t, "tcp")
		return netio.Wrap(opaque{na.(*net.TCPConn)}, cfg), netio.Wrap(opaque{nb.(*net.TCPConn)}, cfg)
	}
	kinds["tls"] = func(t testing.TB, cfg *netio.Config) (a, b netio.Conn) {
		a, b = kinds["tcp"](t, cfg)
		ta, tb := secured(t, a, b, 0)
		return ta, tb
	}
	kinds["pipe"] = func(testing.TB, *netio.Config) (a, b netio.Conn) {
		return pipe.New(pipe.Config{MaxSend: 20000, MaxReceive: 30000})
	}
	return kinds
}

func socketPair(t testing.TB, network string) (a, b net.Conn) {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = t.TempDir() + "/s"
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial(network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// A result is what Relay returned.
type result struct {
	netio.Relayed
	err error
}

// relay starts the relay of l.
func (l *line) relay(ctx context.Context) <-chan result {
	done := make(chan result, 1)
	go func() {
		moved, err := netio.Relay(ctx, l.in, l.out)
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

// Both directions carry large, mixed traffic at the same time, whole and in
// order, and end one after the other.
func TestRelay(t *testing.T) {
	size := 3 << 20
	if pooless() {
		size = 1 << 20
	}
	kinds := pairings()
	for _, tt := range []struct{ left, right string }{
		{"tcp", "tcp"}, {"unix", "tcp"}, {"unix", "unix"}, {"tls", "tcp"}, {"tcp", "tls"}, {"plain", "tcp"}, {"pipe", "pipe"}, {"unix", "pipe"}, {"tls", "plain"},
	} {
		t.Run(tt.left+"-"+tt.right, func(t *testing.T) {
			leakless(t)
			l := joined(t, kinds[tt.left], kinds[tt.right])
			done := l.relay(t.Context())
			up, down := noise(1, size), noise(2, size/3)
			var wg sync.WaitGroup
			move := func(nc net.Conn, out, want []byte, seed uint64) {
				wg.Go(func() {
					if err := sendPieces(nc, out, seed); err != nil {
						t.Error("send:", err)
					}
				})
				wg.Go(func() {
					got, err := io.ReadAll(nc)
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("received %d bytes, want %d; %v", len(got), len(want), err)
					}
				})
			}
			client, server := l.peers()
			move(client, up, down, 1)
			move(server, down, up, 2)
			wg.Wait()
			r := await(t, "Relay", done)
			if want := (netio.Relayed{AToB: int64(len(up)), BToA: int64(len(down))}); r.Relayed != want || r.err != nil {
				t.Errorf("Relay = %+v, %v; want %+v", r.Relayed, r.err, want)
			}
		})
	}
}

// The end of one side goes on after its data; the other direction works on.
func TestRelayHalfClose(t *testing.T) {
	for name, kind := range pairings() {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				leakless(t)
				l := joined(t, kind, kind)
				done := l.relay(t.Context())
				client, server := l.peers()
				client.Write([]byte("question"))
				client.(interface{ CloseWrite() error }).CloseWrite()
				if got, err := io.ReadAll(server); string(got) != "question" || err != nil {
					t.Fatalf("the server got %q, %v", got, err)
				}
				answer := noise(3, 100_000)
				go func() {
					server.Write(answer)
					server.(interface{ CloseWrite() error }).CloseWrite()
				}()
				if got, err := io.ReadAll(client); !bytes.Equal(got, answer) || err != nil {
					t.Fatalf("the client got %d bytes, %v", len(got), err)
				}
				if r := await(t, "Relay", done); r.err != nil || r.Relayed != (netio.Relayed{AToB: 8, BToA: 100_000}) {
					t.Fatalf("Relay = %+v", r)
				}
			}
		})
	}
}

// What was received before, and what was queued before, goes first.
func TestRelayWhatWasThere(t *testing.T) {
	kinds := pairings()
	for _, name := range []string{"tcp", "unix", "tls", "pipe", "plain"} {
		t.Run(name, func(t *testing.T) {
			leakless(t)
			l := joined(t, kinds[name], kinds[name])
			client, server := l.peers()
			client.Write([]byte("helloworld"))
			for {
				var got []byte
				why, err := l.in.Receive(false, func(in *buf.In) (bool, error) {
					if in.Len() < 10 {
						return true, nil
					}
					got = in.Next(5)
					return false, nil
				})
				if why == netio.Enough && string(got) == "hello" {
					break
				}
				t.Fatal(why, err)
			}
			o := l.out.Output()
			o.Lock()
			o.Out().AppendString("hallo")
			if !o.Unlock() {
				t.Fatal("not the flusher")
			}
			if err := o.Flush(); err != nil {
				t.Fatal(err)
			}
			done := l.relay(t.Context())
			client.Write([]byte("!"))
			client.(interface{ CloseWrite() error }).CloseWrite()
			if got, err := io.ReadAll(server); string(got) != "halloworld!" || err != nil {
				t.Fatalf("the server got %q, %v", got, err)
			}
			server.(interface{ CloseWrite() error }).CloseWrite()
			if r := await(t, "Relay", done); r.err != nil || r.AToB != 6 {
				t.Fatalf("Relay = %+v", r)
			}
		})
	}
}

// Small messages are copied, bulk is spliced, and where there are no pipes
// everything is copied.
func TestRelayPipes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("pipes are for Linux")
	}
	kinds := pairings()
	for name, most := range map[string]int{"default": 0, "one": 1, "none": -1} {
		t.Run(name, func(t *testing.T) {
			leakless(t)
			l := joined(t, kinds["tcp"], kinds["unix"])
			l.net.Pipes().Max = most
			done := l.relay(t.Context())
			client, server := l.peers()
			small := noise(4, 1000)
			got := make([]byte, len(small))
			for range 10 {
				client.Write(small)
				if _, err := io.ReadFull(server, got); err != nil || !bytes.Equal(got, small) {
					t.Fatal(err)
				}
			}
			if n := l.net.Pipes().Open(); n != 0 {
				t.Errorf("%d pipes for small messages", n)
			}
			large := noise(5, 4<<20)
			go func() {
				client.Write(large)
				client.(interface{ CloseWrite() error }).CloseWrite()
			}()
			if got, err := io.ReadAll(server); err != nil || !bytes.Equal(got, large) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if n := l.net.Pipes().Open(); (n > 0) != (most >= 0) {
				t.Errorf("%d pipes for bulk, at most %d", n, most)
			}
			server.(interface{ CloseWrite() error }).CloseWrite()
			if r := await(t, "Relay", done); r.err != nil {
				t.Error(r.err)
			}
		})
	}
}

// full writes to c until its relay takes nothing any more, and a moment longer.
func full(t *testing.T, nc net.Conn) {
	t.Helper()
	p := make([]byte, 64<<10)
	for {
		nc.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err := nc.Write(p); err != nil {
			if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() {
				t.Fatal(err)
			}
			return
		}
	}
}

// A relay ends by its context, by Close and by Abort: parked for bytes on both
// sides, and parked with bytes for a peer that takes none.
func TestRelayEnds(t *testing.T) {
	cause := errors.New("enough of it")
	ends := map[string]struct {
		end  func(l *line, cancel context.CancelCauseFunc)
		want []error
	}{
		"context":  {func(_ *line, cancel context.CancelCauseFunc) { cancel(cause) }, []error{cause}},
		"close":    {func(l *line, _ context.CancelCauseFunc) { netio.CloseWithin(l.in, time.Second) }, []error{net.ErrClosed}},
		"closeOut": {func(l *line, _ context.CancelCauseFunc) { netio.CloseWithin(l.out, time.Second) }, []error{net.ErrClosed, pipe.ErrReset}},
		"abort":    {func(l *line, _ context.CancelCauseFunc) { l.out.Abort() }, []error{net.ErrClosed}},
		"reset":    {func(l *line, _ context.CancelCauseFunc) { l.server.Abort() }, []error{syscall.ECONNRESET, syscall.EPIPE, pipe.ErrReset, io.ErrUnexpectedEOF}},
	}
	for kind, pair := range pairings() {
		for state, prepare := range map[string]func(*testing.T, net.Conn){
			"idle": func(*testing.T, net.Conn) {},
			"full": full,
		} {
			for name, tt := range ends {
				t.Run(kind+"/"+state+"/"+name, func(t *testing.T) {
					if kind == "unix" && name == "reset" && state == "idle" {
						t.Skip("an aborted unix socket without unread bytes ends orderly")
					}
					if name == "close" && state == "full" {
						t.Skip("nobody looks at the source while the destination takes nothing")
					}
					leakless(t)
					l := joined(t, pair, pair)
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					done := l.relay(ctx)
					// One exchange: the relay runs.
					client, server := l.peers()
					client.Write([]byte("x"))
					io.ReadFull(server, make([]byte, 1))
					prepare(t, client)
					tt.end(l, cancel)
					r := await(t, "Relay", done)
					for _, want := range tt.want { // crypto/tls has an error of its own for a local end
						if errors.Is(r.err, want) || r.err != nil && kind == "tls" && name == "closeOut" {
							return
						}
					}
					t.Errorf("Relay = %v; want one of %v", r.err, tt.want)
				})
			}
		}
	}
}

// A context that has ended already moves nothing for long.
func TestRelayEndedContext(t *testing.T) {
	kinds := pairings()
	for _, name := range []string{"tcp", "pipe"} {
		leakless(t)
		l := joined(t, kinds[name], kinds[name])
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if r := await(t, "Relay", l.relay(ctx)); !errors.Is(r.err, context.Canceled) {
			t.Errorf("%s: %v", name, r.err)
		}
	}
}

// A peer that takes nothing for WriteStall is given up.
func TestRelayStall(t *testing.T) {
	kinds := pairings()
	for _, name := range []string{"tcp", "unix", "tls"} {
		t.Run(name, func(t *testing.T) {
			leakless(t)
			l := joined(t, kinds[name], func(t testing.TB, cfg *netio.Config) (a, b netio.Conn) {
				c := *cfg
				c.WriteStall = 30 * time.Millisecond
				return kinds[name](t, &c)
			})
			done := l.relay(t.Context())
			client, _ := l.peers()
			written := make(chan struct{})
			go func() {
				defer close(written)
				p := make([]byte, 64<<10)
				for {
					if _, err := client.Write(p); err != nil {
						return
					}
				}
			}()
			r := await(t, "Relay", done)
			if !errors.Is(r.err, netio.ErrStalled) {
				t.Errorf("Relay = %v", r.err)
			}
			client.Close()
			<-written
		})
	}
}

// Stale kicks and wakes, from before the relay and during it, disturb nothing.
func TestRelayKicked(t *testing.T) {
	for name, kind := range pairings() {
		t.Run(name, func(t *testing.T) {
			leakless(t)
			l := joined(t, kind, kind)
			l.in.Kick()
			l.out.Kick()
			done := l.relay(t.Context())
			client, server := l.peers()
			got := make([]byte, 5)
			for range 50 {
				l.in.Kick()
				client.Write([]byte("hello"))
				l.out.Kick()
				if _, err := io.ReadFull(server, got); err != nil || string(got) != "hello" {
					t.Fatal(string(got), err)
				}
			}
			client.(interface{ CloseWrite() error }).CloseWrite()
			server.(interface{ CloseWrite() error }).CloseWrite()
			if r := await(t, "Relay", done); r.err != nil || r.AToB != 250 {
				t.Errorf("Relay = %+v", r)
			}
		})
	}
}

// The whole of it in virtual time, over a connection that takes a second.
func TestRelayInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, in := pipe.New(pipe.Config{Delay: time.Second})
		out, server := pipe.New(pipe.Config{Delay: time.Second})
		l := &line{in: in, out: out}
		done := l.relay(t.Context())
		start := time.Now()
		write(client, "over")
		client.CloseWrite()
		var got bytes.Buffer
		for {
			if why, _ := server.Receive(false, collect(&got, 4)); why == netio.Lost {
				t.Fatal("lost")
			}
			if got.Len() == 4 {
				break
			}
		}
		if d := time.Since(start); d != 2*time.Second || got.String() != "over" {
			t.Errorf("got %q after %v", got.String(), d)
		}
		server.CloseWrite()
		if r := <-done; r.err != nil || r.AToB != 4 {
			t.Errorf("Relay = %+v", r)
		}
		for _, c := range []netio.Conn{client, in, out, server} {
			netio.CloseWithin(c, time.Second)
		}
		synctest.Wait()
	})
}

// Many relays at once, with random ends: each is right or fails, and nothing
// stays behind.
func TestRelayMany(t *testing.T) {
	kinds := pairings()
	names := []string{"tcp", "unix", "tls", "pipe"}
	leakless(t)
	n := 24
	lines := make([]*line, n)
	for i := range lines {
		lines[i] = joined(t, kinds[names[i%len(names)]], kinds[names[i/2%len(names)]])
	}
	var wg sync.WaitGroup
	for i, l := range lines {
		ctx, cancel := context.WithCancel(t.Context())
		done := l.relay(ctx)
		up := noise(byte(i), 300_000)
		client, server := l.peers()
		wg.Go(func() { sendPieces(client, up, uint64(i)) })
		wg.Go(func() {
			defer cancel()
			k := len(up)
			if i%3 == 0 {
				k /= 2 // and cancel in the middle
			}
			got := make([]byte, k)
			if _, err := io.ReadFull(server, got); err != nil || !bytes.Equal(got, up[:k]) {
				t.Errorf("line %d: %v", i, err)
			}
			if i%3 == 0 {
				cancel()
				client.SetDeadline(time.Unix(1, 0))
			} else {
				server.(interface{ CloseWrite() error }).CloseWrite()
			}
			if err := (<-done).err; (err != nil) != (i%3 == 0) {
				t.Errorf("line %d: Relay: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// A relay that is cut short ends no stream: behind it Close is as Abort, so that
// no peer takes what has come for all there was. A direction that has ended in
// order stays so.
func TestRelayCutShort(t *testing.T) {
	for kind, pair := range pairings() {
		if kind == "unix" {
			continue // knows no reset
		}
		for _, state := range []string{"idle", "full", "half"} {
			t.Run(kind+"/"+state, func(t *testing.T) {
				leakless(t)
				l := joined(t, pair, pair)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := l.relay(ctx)
				client, server := l.peers()
				client.Write([]byte("x"))
				io.ReadFull(server, make([]byte, 1))
				switch state {
				case "full":
					full(t, client)
				case "half":
					client.Write([]byte("last"))
					client.(interface{ CloseWrite() error }).CloseWrite()
					if got, err := io.ReadAll(server); string(got) != "last" || err != nil {
						t.Errorf("the server has received %q, %v", got, err)
					}
				}
				cancel()
				await(t, "Relay", done)
				netio.CloseWithin(l.in, 10*time.Second)
				netio.CloseWithin(l.out, 10*time.Second)
				server.SetReadDeadline(time.Now().Add(10 * time.Second))
				if n, err := io.Copy(io.Discard, server); (err == nil) != (state == "half") || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the server has received %d bytes, then %v", n, err)
				}
				client.SetReadDeadline(time.Now().Add(10 * time.Second))
				if n, err := io.Copy(io.Discard, client); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the client has received %d bytes, then %v", n, err)
				}
			})
		}
	}
}

// Close of a relay's connection ends it although its peer never pauses.
func TestRelayCloseBesideAFlood(t *testing.T) {
	for _, kind := range []string{"tcp", "unix", "pipe"} {
		for _, side := range []string{"in", "out"} {
			t.Run(kind+"/"+side, func(t *testing.T) {
				leakless(t)
				l := joined(t, pairings()[kind], pairings()[kind])
				done := l.relay(t.Context())
				client, server := l.peers()
				var flood sync.WaitGroup
				flood.Go(func() {
					p := make([]byte, 200)
					for {
						if _, err := client.Write(p); err != nil {
							return
						}
					}
				})
				flood.Go(func() {
					p := make([]byte, 1<<20)
					for {
						if _, err := server.Read(p); err != nil {
							return
						}
						time.Sleep(time.Millisecond)
					}
				})
				time.Sleep(50 * time.Millisecond)
				closed := make(chan error, 1)
				go func() {
					c := l.in
					if side == "out" {
						c = l.out
					}
					closed <- netio.CloseWithin(c, time.Second)
				}()
				await(t, "Close", closed)
				await(t, "Relay", done)
				l.in.Abort()
				l.out.Abort()
				server.Close()
				flood.Wait()
			})
		}
	}
}
