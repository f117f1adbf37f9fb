package limosa_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/stats"
)

// amount is how much a test does: what the variable name says, else few.
func amount(t *testing.T, name string, few int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s is no amount", name, text)
	}
	return n
}

// A waiter's handlers wait for the end of their contexts.
type waiters struct{ begun, told atomic.Int64 }

func (w *waiters) service() rpc.Service {
	return rpc.Service{Name: "Test", Methods: []rpc.Handler{{Method: waitMethod, Serve: func(ctx context.Context, _ *rpc.Call) error {
		w.begun.Add(1)
		<-ctx.Done()
		w.told.Add(1)
		return ctx.Err()
	}}}}
}

// A caller may leave at any moment: while its call is on its way, in the queue,
// about to start, or running. No handler that has begun is left without word.
// LIMOSA_CANCELS sets how many leave in each mode.
func TestEveryHandlerIsToldThatItsCallerLeft(t *testing.T) {
	n := amount(t, "LIMOSA_CANCELS", 2000)
	for name, mode := range map[string]limosa.Handlers{"spare": limosa.Spare, "goroutines": limosa.Goroutines} {
		for _, loops := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, %d loops", name, loops), func(t *testing.T) {
				l, err := netio.Listen("tcp", "127.0.0.1:0", &netio.Config{Loops: loops})
				if err != nil {
					t.Skip(err) // loops are Linux's
				}
				var w waiters
				stop := serveOn(t, &limosa.Server{Services: []rpc.Service{w.service()}, Handlers: mode}, l)
				// Where the machine is slow all may leave before theirs has begun.
				for patience := 150 * time.Microsecond; w.begun.Load() == 0 && patience < time.Second; patience *= 4 {
					leave(t, l.Addr().String(), n, patience)
				}
				for by := time.Now().Add(10 * time.Second); w.told.Load() < w.begun.Load() && time.Now().Before(by); {
					// Real time: sockets of the kernel; a poll with a bound.
					time.Sleep(time.Millisecond)
				}
				if b, told := w.begun.Load(), w.told.Load(); told != b || b == 0 {
					t.Errorf("%d handlers have begun, %d were told that their callers left", b, told)
				}
				stop()
			})
		}
	}
}

// leave has n calls of wait given up at random moments, after mean on average.
func leave(t *testing.T, target string, n int, mean time.Duration) {
	t.Helper()
	c, err := limosa.Dial(target)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var left atomic.Int64
	left.Store(int64(n))
	var callers sync.WaitGroup
	for worker := range 32 {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 7))
			for left.Add(-1) >= 0 {
				// Most leave at once: the moments before the start are short.
				patience := time.Duration(r.ExpFloat64() * float64(mean))
				ctx, cancel := context.WithCancel(t.Context())
				timer := time.AfterFunc(patience, cancel)
				if _, err := call(ctx, c, waitMethod, "x"); rpc.CodeOf(err) != rpc.Canceled && rpc.CodeOf(err) != rpc.ResourceExhausted {
					t.Errorf("a call that was given up = %v", err)
				}
				timer.Stop()
				cancel()
			}
		})
	}
	callers.Wait()
}

// A throttle stands between clients and a server, and lets what the server
// sends pass slowly.
type throttle struct {
	l    net.Listener
	work sync.WaitGroup
}

func newThrottle(t *testing.T, network, target string, bytesPerMilli int) *throttle {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	th := &throttle{l: l}
	th.work.Go(func() {
		for {
			a, err := l.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial(network, target)
			if err != nil {
				a.Close()
				continue
			}
			if c, ok := b.(*net.TCPConn); ok {
				c.SetReadBuffer(16 << 10)
			}
			th.work.Go(func() {
				io.Copy(b, a)
				b.(interface{ CloseWrite() error }).CloseWrite()
			})
			th.work.Go(func() {
				defer a.Close()
				defer b.Close()
				p := make([]byte, 4*bytesPerMilli)
				for {
					n, err := b.Read(p)
					if n > 0 {
						if _, err := a.Write(p[:n]); err != nil {
							return
						}
						// Real time: a slow reader of a real socket.
						time.Sleep(time.Duration(n/bytesPerMilli) * time.Millisecond)
					}
					if err != nil {
						return
					}
				}
			})
		}
	})
	return th
}

func (th *throttle) close() { th.l.Close(); th.work.Wait() }

// What a handler has finished reaches its caller, whatever the server is doing:
// small answers and such of several hundred kilobytes, with a peer that reads
// slowly, while the server drains. LIMOSA_DRAINS sets how many drains there are
// over each transport.
func TestDrainLosesNoFinishedAnswer(t *testing.T) {
	runs := amount(t, "LIMOSA_DRAINS", 3)
	cert, roots := certificate(t)
	for _, transport := range []string{"tcp", "unix", "tls"} {
		t.Run(transport, func(t *testing.T) {
			for run := range runs {
				s, tc := &limosa.Server{Drain: 20 * time.Second}, (*tls.Config)(nil)
				addr := "127.0.0.1:0"
				switch transport {
				case "unix":
					addr = "unix://" + filepath.Join(t.TempDir(), "s")
				case "tls":
					s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
					tc = &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
				}
				drainOnce(t, s, tc, addr, uint64(run))
				if t.Failed() {
					t.Fatalf("in run %d", run)
				}
			}
		})
	}
}

func drainOnce(t *testing.T, s *limosa.Server, tc *tls.Config, addr string, seed uint64) {
	t.Helper()
	var finished sync.Map // id -> true: its handler has returned
	s.Services = []rpc.Service{{Name: "Test", Methods: []rpc.Handler{{Method: echoMethod, Serve: func(_ context.Context, c *rpc.Call) error {
		arg, err := stub.Args[string](c)
		if err != nil {
			return err
		}
		id, size, _ := strings.Cut(*arg, " ")
		n, _ := strconv.Atoi(size)
		*stub.Result[string](c) = id + strings.Repeat("x", n)
		finished.Store(id, true)
		return nil
	}}}}}
	l, err := limosa.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	stop := serveOn(t, s, l)
	slow := newThrottle(t, l.Addr().Network(), l.Addr().String(), 8<<10)
	defer slow.close()
	targets := []string{slow.l.Addr().String()}
	if l.Addr().Network() == "tcp" {
		targets = append(targets, l.Addr().String())
	} else {
		targets = append(targets, "unix://"+l.Addr().String())
	}
	var answered sync.Map
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for i := range 12 {
		callers.Go(func() {
			c := &limosa.Client{Target: targets[i%2], TLS: tc}
			defer c.Close()
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for k := 0; ctx.Err() == nil; k++ {
				id, size := fmt.Sprintf("%d-%d", i, k), r.IntN(100)
				if r.IntN(4) == 0 {
					size = r.IntN(600 << 10)
				}
				got, err := call(t.Context(), c, echoMethod, fmt.Sprintf("%s %d", id, size))
				switch {
				case err == nil && got == id+strings.Repeat("x", size):
					answered.Store(id, true)
				case err == nil:
					t.Errorf("%s was answered with %d bytes of another call", id, len(got))
				case rpc.CodeOf(err) == rpc.Unavailable:
					if _, done := finished.Load(id); done {
						t.Errorf("the finished answer of %s, %d bytes, was lost: %v", id, size, err)
					}
					return
				default:
					t.Errorf("%s = %v", id, err)
					return
				}
			}
		})
	}
	// Real time: load before the drain begins.
	time.Sleep(time.Duration(10+seed%30) * time.Millisecond)
	stop()
	cancel()
	callers.Wait()
	finished.Range(func(id, _ any) bool {
		if _, ok := answered.Load(id); !ok {
			t.Errorf("%v was finished and not answered", id)
		}
		return true
	})
}

// What one address makes a server hold is bounded by its share; callers at
// another address do not notice.
func TestAnAddressHasAShareOfWhatIsHeld(t *testing.T) {
	lim := rpc.Limits{MessageBytes: 256 << 10, HeldPerConn: 512 << 10, HeldPerServer: 64 << 20, HeldPerAddress: 1 << 20}
	set := stats.NewSet()
	l, err := limosa.Listen("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, &limosa.Server{Services: []rpc.Service{service(nil)}, Limits: lim, Stats: set, Drain: time.Millisecond}, l)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	ctx, cancel := context.WithCancel(t.Context())
	var greedy sync.WaitGroup
	var refused, failed atomic.Int64
	for range 20 { // each client comes from 127.0.0.1
		greedy.Go(func() {
			c := &limosa.Client{Target: "127.0.0.1:" + port, Limits: lim}
			defer c.Close()
			var calls sync.WaitGroup
			for range 4 {
				calls.Go(func() {
					switch _, err := call(ctx, c, waitMethod, strings.Repeat("x", 100<<10)); rpc.CodeOf(err) {
					case rpc.ResourceExhausted:
						refused.Add(1)
					case rpc.Canceled:
					default:
						failed.Add(1)
						t.Errorf("a call of a greedy address = %v", err)
					}
				})
			}
			calls.Wait()
		})
	}
	for by := time.Now().Add(10 * time.Second); refused.Load() == 0 && time.Now().Before(by); {
		// Real time: sockets of the kernel; a poll with a bound.
		time.Sleep(time.Millisecond)
	}
	if refused.Load() == 0 {
		t.Error("none of 8 MB of requests was refused")
	}
	if held := set.Gauge("rpc_server_held_bytes", "").Value(); held > 4<<20 {
		t.Errorf("the server holds %d bytes of a share of 1 MiB", held)
	}
	for range 10 { // large and small
		echoFrom(t, "127.0.0.2", "127.0.0.1:"+port, "small")
		echoFrom(t, "127.0.0.2", "127.0.0.1:"+port, strings.Repeat("x", 100<<10))
	}
	cancel()
	greedy.Wait()
}

// echoFrom makes a call of echo, framed, from an address of this machine.
func echoFrom(t *testing.T, from, target, arg string) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	nc, err := d.Dial("tcp", target)
	if err != nil {
		t.Skipf("%s is no address of this machine: %v", from, err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(10 * time.Second))
	msg := framedEcho(arg)
	if _, err := nc.Write(msg); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len(msg))
	if _, err := io.ReadFull(nc, answer); err != nil {
		t.Fatal(err)
	}
	if _, typ, _, _, err := raw.ParseMessageBegin(answer[4:], false); err != nil || typ != raw.Reply {
		t.Errorf("a caller at another address was answered with %v, %v", typ, err)
	}
}
