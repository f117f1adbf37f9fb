package netio_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/conntest"
	"github.com/limosa-rpc/limosa/netio/internal/nettest"
)

func TestLoopTCP(t *testing.T) {
	conntest.Run(t, func(t *testing.T) (a, b netio.Conn, stop func()) { return looped(t, "tcp") }, conntest.Caps{})
}

func TestLoopTLS(t *testing.T) {
	conntest.Run(t, func(t *testing.T) (a, b netio.Conn, stop func()) {
		a, b, stop = looped(t, "tcp")
		ta, tb := nettest.TLS(t, a, b, 0)
		return ta, tb, stop
	}, conntest.Caps{})
}

func TestLoopUnix(t *testing.T) {
	conntest.Run(t, func(t *testing.T) (a, b netio.Conn, stop func()) { return looped(t, "unix") }, conntest.Caps{})
}

// looped gives a pair of connections on the event loops of one Net.
func looped(t testing.TB, network string) (a, b netio.LoopConn, stop func()) {
	t.Helper()
	x, y, stop := dialedBy(t, network, &netio.Config{Net: new(netio.Net), Loops: 2, ReadBuffer: kernelBytes, WriteBuffer: kernelBytes})
	return x.(netio.LoopConn), y.(netio.LoopConn), stop
}

// An outcome is what done was called with.
type outcome struct {
	why netio.Outcome
	err error
}

// next begins a turn and gives how it ended, whether at once or later.
func next(t *testing.T, c netio.LoopConn, owed bool, step netio.Step) outcome {
	t.Helper()
	later := make(chan outcome, 2)
	why, err := c.OnReadable(owed, step, func(why netio.Outcome, err error) { later <- outcome{why, err} })
	if why != netio.Parked {
		return outcome{why, err}
	}
	return outcomeOf(t, later)
}

func outcomeOf(t *testing.T, later <-chan outcome) outcome {
	t.Helper()
	select {
	case o := <-later:
		return o
	case <-time.After(20 * time.Second):
		t.Fatal("done is never called")
		return outcome{}
	}
}

// park begins a turn for which there is nothing yet.
func park(t *testing.T, c netio.LoopConn, step netio.Step) <-chan outcome {
	t.Helper()
	later := make(chan outcome, 2)
	if why, err := c.OnReadable(false, step, func(why netio.Outcome, err error) { later <- outcome{why, err} }); why != netio.Parked {
		t.Fatalf("OnReadable: %v, %v; want Parked", why, err)
	}
	return later
}

// takes is a step that ends with the first bytes, and keeps them.
func takes(got *string) netio.Step {
	return func(in *buf.In) (bool, error) {
		*got += string(in.Next(in.Len()))
		return *got == "", nil
	}
}

func TestOnReadable(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			a, b, stop := looped(t, network)
			defer stop()
			var got string
			later := park(t, b, takes(&got))
			if err := write(a, "hello"); err != nil {
				t.Fatal(err)
			}
			if o := outcomeOf(t, later); o.why != netio.Enough || got != "hello" {
				t.Errorf("after data: %v, %q", o, got)
			}
			// A debt is paid before the turn is parked.
			b.Output().Lock()
			b.Output().Out().AppendString("owed")
			if !b.Output().Unlock() {
				t.Fatal("not the flusher")
			}
			got = ""
			why, err := b.OnReadable(true, takes(&got), func(why netio.Outcome, err error) {
				if why != netio.Kicked || err != nil {
					t.Errorf("after a kick: %v, %v", why, err)
				}
			})
			if why != netio.Parked || err != nil || b.Output().Queued() != 0 {
				t.Errorf("with a debt: %v, %v, %d bytes queued", why, err, b.Output().Queued())
			}
			b.Kick()
			if o := next(t, a, false, takes(&got)); o.why != netio.Enough || got != "owed" {
				t.Errorf("what was owed: %v, %q", o, got)
			}
			// What a step leaves is offered to the next turn, without a park.
			if err := write(a, "two"); err != nil {
				t.Fatal(err)
			}
			if o := next(t, b, false, func(*buf.In) (bool, error) { return false, nil }); o.why != netio.Enough {
				t.Errorf("a step that takes nothing: %v", o)
			}
			got = ""
			if why, err := b.OnReadable(false, takes(&got), nil); why != netio.Enough || got != "two" {
				t.Errorf("what was left: %v, %v, %q", why, err, got)
			}
			// A goroutine may take the next turn, and the loop the one after it.
			if err := write(a, "three"); err != nil {
				t.Fatal(err)
			}
			got = ""
			if why, err := b.Receive(false, takes(&got)); why != netio.Enough || got != "three" {
				t.Errorf("on a goroutine: %v, %v, %q", why, err, got)
			}
			later = park(t, b, func(in *buf.In) (bool, error) { in.Skip(in.Len()); return true, nil })
			if err := write(a, "last"); err != nil {
				t.Fatal(err)
			}
			netio.CloseWithin(a, time.Second)
			if o := outcomeOf(t, later); o.why != netio.Lost || o.err != io.EOF {
				t.Errorf("at the end: %v", o)
			}
			netio.CloseWithin(b, time.Second)
			if len(later) != 0 {
				t.Error("done was called twice")
			}
			if why, _ := b.OnReadable(false, nil, nil); why != netio.Lost {
				t.Errorf("after Close: %v", why)
			}
		})
	}
}

// echoOnLoop serves c on its loop, without a goroutine, until the end.
func echoOnLoop(c netio.LoopConn, ended func()) {
	var done func(netio.Outcome, error)
	step := func(in *buf.In) (bool, error) {
		o := c.Output()
		o.Lock()
		o.Out().Append(in.Next(in.Len()))
		if o.Unlock() {
			o.TryFlush() // the little there is fits
		}
		return true, nil
	}
	done = func(why netio.Outcome, _ error) {
		for why != netio.Parked && why != netio.Lost {
			why, _ = c.OnReadable(false, step, done)
		}
		if why == netio.Lost {
			netio.CloseWithin(c, time.Second)
			c.Receive(false, nil)
			ended()
		}
	}
	done(netio.Enough, nil)
}

// A thousand connections come and go, and take each other's slots and
// descriptors; what each sends comes back to it, and nothing is left behind.
func TestLoopStorm(t *testing.T) {
	cfg := &netio.Config{Net: new(netio.Net), Loops: 2}
	defer cfg.Net.Close()
	l, err := netio.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	blocks := buf.Live()
	var served, callers sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept(t.Context())
			if err != nil {
				return
			}
			served.Add(1)
			echoOnLoop(c.(netio.LoopConn), served.Done)
		}
	})
	const workers, rounds = 20, 50
	for w := range workers {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			for i := range rounds {
				c, err := netio.Dial(t.Context(), "tcp", l.Addr().String(), cfg)
				if err != nil {
					t.Error(err)
					return
				}
				for k := range r.IntN(4) {
					want, got := fmt.Sprintf("%d/%d/%d", w, i, k), ""
					if err := write(c, want); err != nil {
						t.Error(err)
					}
					step := func(in *buf.In) (bool, error) {
						got += string(in.Next(in.Len()))
						return len(got) < len(want), nil
					}
					if why, err := c.Receive(false, step); why != netio.Enough || got != want {
						t.Errorf("%q came back as %q: %v, %v", want, got, why, err)
					}
				}
				switch r.IntN(3) {
				case 0:
					netio.CloseWithin(c, time.Second)
				case 1:
					c.Abort()
				default: // with bytes on their way
					write(c, "and gone")
					c.Abort()
				}
				c.Receive(false, nil) // gives back what was lent
			}
		})
	}
	callers.Wait()
	l.Close()
	served.Wait()
	if n := buf.Live(); n != blocks {
		t.Errorf("%d blocks are left behind", n-blocks)
	}
}

// An idle connection on a loop costs no goroutine, and less than 1 KB.
func TestLoopIdle(t *testing.T) {
	if nettest.Pooless() {
		t.Skip("the race detector adds to every object")
	}
	cfg := &netio.Config{Net: new(netio.Net), Loops: 1}
	defer cfg.Net.Close()
	l, err := netio.Listen("unix", filepath.Join(t.TempDir(), "s"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const pairs = 400
	var ended sync.WaitGroup
	var conns []netio.Conn
	add := func() {
		a, err := netio.Dial(t.Context(), "unix", l.Addr().String(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ended.Add(1)
		echoOnLoop(b.(netio.LoopConn), ended.Done)
		var got string
		if err := write(a, "x"); err != nil {
			t.Fatal(err)
		}
		if o := next(t, a.(netio.LoopConn), false, takes(&got)); o.why != netio.Enough {
			t.Fatal(o)
		}
		park(t, a.(netio.LoopConn), func(*buf.In) (bool, error) { return true, nil })
		conns = append(conns, a)
	}
	add()
	before, goroutines := inUse(), runtime.NumGoroutine()
	for range pairs {
		add()
	}
	if n := runtime.NumGoroutine() - goroutines; n > 2 { // a runtime's own may start
		t.Errorf("%d more goroutines for %d connections", n, 2*pairs)
	}
	each := (inUse() - before) / (2 * pairs)
	t.Logf("%d bytes a connection", each)
	if each > 1024 {
		t.Errorf("%d bytes a connection, want at most 1024", each)
	}
	for _, c := range conns {
		c.Abort()
	}
	ended.Wait()
}

// inUse is the memory of objects and stacks.
func inUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// An exchange on a loop allocates nothing.
func TestLoopAllocates(t *testing.T) {
	if nettest.Pooless() {
		t.Skip("the race detector allocates")
	}
	a, b, stop := looped(t, "unix")
	defer stop()
	var ended sync.WaitGroup
	ended.Add(1)
	echoOnLoop(b, ended.Done)
	later := make(chan netio.Outcome, 1)
	done := func(why netio.Outcome, _ error) { later <- why }
	step := func(in *buf.In) (bool, error) { return in.Skip(in.Len()) == 0, nil }
	n := testing.AllocsPerRun(500, func() {
		if write(a, "x") != nil {
			t.Error("write")
		}
		if why, _ := a.OnReadable(false, step, done); why == netio.Parked {
			<-later
		}
	})
	if n > 0.1 {
		t.Errorf("%v allocations an exchange", n)
	}
	a.Abort()
	ended.Wait()
}
