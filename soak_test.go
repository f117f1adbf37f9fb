package limosa_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// A saboteur stands between clients and a server and breaks connections: by
// reset, by an orderly end, or by the end of one direction.
type saboteur struct {
	l      net.Listener
	target string
	work   sync.WaitGroup

	mu struct {
		sync.Mutex
		pairs map[[2]*net.TCPConn]struct{}
	}
}

func newSaboteur(t *testing.T, target string) *saboteur {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &saboteur{l: l, target: target}
	s.mu.pairs = map[[2]*net.TCPConn]struct{}{}
	s.work.Go(s.accept)
	return s
}

func (s *saboteur) accept() {
	for {
		a, err := s.l.Accept()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", s.target)
		if err != nil {
			a.Close()
			continue
		}
		pair := [2]*net.TCPConn{a.(*net.TCPConn), b.(*net.TCPConn)}
		s.mu.Lock()
		s.mu.pairs[pair] = struct{}{}
		s.mu.Unlock()
		s.work.Go(func() { s.relay(pair) })
	}
}

func (s *saboteur) relay(pair [2]*net.TCPConn) {
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			io.Copy(pair[1-i], pair[i])
			pair[1-i].CloseWrite()
		})
	}
	both.Wait()
	pair[0].Close()
	pair[1].Close()
	s.mu.Lock()
	delete(s.mu.pairs, pair)
	s.mu.Unlock()
}

// strike breaks one connection, whichever.
func (s *saboteur) strike() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pair := range s.mu.pairs {
		end := pair[rand.IntN(2)]
		switch rand.IntN(3) {
		case 0:
			end.SetLinger(0)
			end.Close()
		case 1:
			end.Close()
		case 2:
			end.CloseWrite()
		}
		return
	}
}

func (s *saboteur) close() {
	s.l.Close()
	s.mu.Lock()
	for pair := range s.mu.pairs {
		pair[0].Close()
		pair[1].Close()
	}
	s.mu.Unlock()
	s.work.Wait()
}

// TestSoak: while connections are broken and calls cancelled at random, every
// call ends once, with the right answer or with a right error, and nothing is
// left in the end. LIMOSA_SOAK=5m makes it longer.
func TestSoak(t *testing.T) {
	length := time.Second
	if testing.Short() {
		length = 200 * time.Millisecond
	}
	if d, err := time.ParseDuration(os.Getenv("LIMOSA_SOAK")); err == nil {
		length = d
	}
	before, blocks := runtime.NumGoroutine(), buf.Live()
	all := service(nil)
	all.Methods = append(all.Methods, streams(nil).Methods[:3]...)
	target, stop := start(t, &limosa.Server{Services: []rpc.Service{all}, Drain: time.Second}, "127.0.0.1:0")
	s := newSaboteur(t, target)
	var calls, answered, cancelled, lost atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var work sync.WaitGroup
	for _, form := range []limosa.Form{limosa.TTHeader, limosa.Framed, limosa.Buffered} {
		c := &limosa.Client{Target: s.l.Addr().String(), Thrift: form}
		defer c.Close()
		if form == limosa.TTHeader {
			for range 8 {
				work.Go(func() {
					for ctx.Err() == nil {
						calls.Add(1)
						switch code, err := soakStream(context.WithoutCancel(ctx), c); {
						case err == nil:
							answered.Add(1)
						case code == rpc.DeadlineExceeded, code == rpc.Canceled:
							cancelled.Add(1)
						case code == rpc.Unavailable:
							lost.Add(1)
						default:
							t.Errorf("stream: %v", err)
						}
					}
				})
			}
		}
		for w := range 8 {
			work.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					want := strings.Repeat(fmt.Sprint(form, w, i, " "), 1+rand.IntN(50))
					if rand.IntN(200) == 0 {
						want = strings.Repeat(want, 1000)
					}
					call1, end := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
					if rand.IntN(10) == 0 {
						call1, end = context.WithTimeout(context.WithoutCancel(ctx), time.Duration(rand.IntN(2000))*time.Microsecond)
					}
					m := echoMethod
					if rand.IntN(20) == 0 {
						m = waitMethod
						call1, end = context.WithTimeout(call1, 5*time.Millisecond)
					}
					got, err := call(call1, c, m, want)
					calls.Add(1)
					switch code := rpc.CodeOf(err); {
					case err == nil && m == echoMethod && got == want:
						answered.Add(1)
					case code == rpc.DeadlineExceeded, code == rpc.Canceled:
						cancelled.Add(1)
					case code == rpc.Unavailable:
						lost.Add(1)
					default:
						t.Errorf("%v: %.30q, %v", m, got, err)
					}
					end()
				}
			})
		}
	}
	work.Go(func() {
		for tick := time.NewTicker(3 * time.Millisecond); ; {
			select {
			case <-tick.C:
				s.strike()
			case <-ctx.Done():
				tick.Stop()
				return
			}
		}
	})
	work.Wait()
	t.Logf("%d calls: %d answered, %d cancelled or expired, %d lost", calls.Load(), answered.Load(), cancelled.Load(), lost.Load())
	if answered.Load() == 0 { // how many are lost depends on how fast calls fail while nothing is connected
		t.Error("no call was answered")
	}
	t.Cleanup(func() { // after the clients are closed
		s.close()
		stop()
		waitFor(t, "goroutines", func() (int, bool) { n := runtime.NumGoroutine(); return n - before, n <= before+3 })
		waitFor(t, "blocks", func() (int, bool) { n := buf.Live(); return int(n - blocks), n <= blocks })
	})
}

// soakStream makes one stream, which may be left or expire in the middle, and
// checks what comes on it.
func soakStream(ctx context.Context, c rpc.Caller) (rpc.Code, error) {
	limit := 10 * time.Second
	if rand.IntN(5) == 0 {
		limit = time.Duration(rand.IntN(3000)) * time.Microsecond
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	n, leave, i := rand.IntN(300), rand.IntN(600), 0
	var last error
	next := func(s *string, err error, want string) bool {
		if last = err; err == nil && *s != want {
			last = fmt.Errorf("message %d is %.30q", i, *s)
		}
		i++
		return last == nil && i != leave
	}
	switch rand.IntN(3) {
	case 0:
		for s, err := range tally(ctx, c, n) {
			if !next(s, err, fmt.Sprint("m", i)) {
				break
			}
		}
	case 1:
		for s, err := range talk(ctx, c, words(n)) {
			if !next(s, err, fmt.Sprint("w", i, "!")) {
				break
			}
		}
	default:
		want := 0
		for s := range words(n) {
			want += len(*s)
		}
		var got *string
		if got, last = stub.Gather[string, string](ctx, c, &stub.NewCall[string, string](joinMethod, "Test").Call, words(n)); last == nil && *got != fmt.Sprint(want) {
			last = fmt.Errorf("join %d is %s", n, *got)
		}
		i = n
	}
	if last == nil && i != n && i != leave {
		last = fmt.Errorf("%d messages of %d", i, n)
	}
	return rpc.CodeOf(last), last
}

// TestManyConnections opens and closes connections, 2,000 of them, or as many
// as LIMOSA_CONNS says, and leaves nothing behind.
func TestManyConnections(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 200
	}
	fmt.Sscan(os.Getenv("LIMOSA_CONNS"), &n)
	before, blocks, fds := runtime.NumGoroutine(), buf.Live(), openFiles(t)
	target, stop := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}}, "unix://"+t.TempDir()+"/s")
	var work sync.WaitGroup
	for w := range 8 {
		work.Go(func() {
			for i := range n / 8 {
				c := &limosa.Client{Target: target, Thrift: limosa.Form(i % 3)}
				want := fmt.Sprint(w, i)
				if got, err := call(t.Context(), c, echoMethod, want); err != nil || got != want {
					t.Errorf("echo = %q, %v", got, err)
				}
				c.Close()
			}
		})
	}
	work.Wait()
	stop()
	waitFor(t, "goroutines", func() (int, bool) { n := runtime.NumGoroutine(); return n - before, n <= before+3 })
	waitFor(t, "blocks", func() (int, bool) { n := buf.Live(); return int(n - blocks), n <= blocks })
	if now := openFiles(t); now > fds+4 {
		t.Errorf("%d files are open, %d were", now, fds)
	}
}

// openFiles counts descriptors where the system tells; elsewhere it is 0.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
