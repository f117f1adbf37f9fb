package netio_test

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
)

// Close and Abort end a parked turn; so does the Net, which joins its loops.
func TestLoopEnds(t *testing.T) {
	quiet := func(in *buf.In) (bool, error) { return true, nil }
	before := runtime.NumGoroutine()
	for name, end := range map[string]func(c netio.Conn, stop func()){
		"Close": func(c netio.Conn, _ func()) { netio.CloseWithin(c, time.Second) },
		"Abort": func(c netio.Conn, _ func()) { c.Abort() },
		"Net":   func(_ netio.Conn, stop func()) { stop() },
	} {
		a, b, stop := looped(t, "tcp")
		later := park(t, b, quiet)
		end(b, stop)
		if o := outcomeOf(t, later); o.why != netio.Lost || !errors.Is(o.err, net.ErrClosed) {
			t.Errorf("%s: %v", name, o)
		}
		if err := write(b, "too late"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: a write: %v", name, err)
		}
		netio.CloseWithin(a, time.Second)
		netio.CloseWithin(b, time.Second)
		stop()
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, were %d", runtime.NumGoroutine(), before)
		}
	}
}

// A Net that is closed has no loops: its connections have parked readers.
func TestLoopClosedNet(t *testing.T) {
	cfg := &netio.Config{Net: new(netio.Net), Loops: 1}
	if err := cfg.Net.Close(); err != nil {
		t.Fatal(err)
	}
	a, b, _ := dialedBy(t, "tcp", cfg)
	defer netio.CloseWithin(a, time.Second)
	defer netio.CloseWithin(b, time.Second)
	if _, ok := a.(netio.LoopConn); ok {
		t.Error("a connection on a loop that has ended")
	}
	if err := write(a, "works"); err != nil {
		t.Error(err)
	}
	var got string
	if why, err := b.Receive(false, takes(&got)); why != netio.Enough || got != "works" {
		t.Errorf("Receive: %v, %v, %q", why, err, got)
	}
}

// A peer that never stops sending does not keep the loop from others.
func TestLoopFair(t *testing.T) {
	cfg := &netio.Config{Net: new(netio.Net), Loops: 1}
	defer cfg.Net.Close()
	flood, sink, _ := dialedBy(t, "unix", cfg)
	a, b, _ := dialedBy(t, "unix", cfg)
	var seen atomic.Int64
	ended := park(t, sink.(netio.LoopConn), func(in *buf.In) (bool, error) {
		seen.Add(int64(in.Skip(in.Len())))
		return true, nil
	})
	var work sync.WaitGroup
	work.Go(func() {
		for write(flood, string(make([]byte, 1<<20))) == nil {
			continue
		}
	})
	for range 200 {
		var got string
		later := park(t, b.(netio.LoopConn), takes(&got))
		if err := write(a, "x"); err != nil {
			t.Fatal(err)
		}
		if o := outcomeOf(t, later); o.why != netio.Enough {
			t.Fatal(o)
		}
	}
	for deadline := time.Now().Add(20 * time.Second); seen.Load() < 16<<20; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("the flood stands still after %d bytes", seen.Load())
		}
	}
	netio.CloseWithin(sink, time.Second) // between two turns, or in one
	if o := outcomeOf(t, ended); o.why != netio.Lost {
		t.Error(o)
	}
	for _, c := range []netio.Conn{flood, a, b} {
		c.Abort()
	}
	work.Wait()
}

// Close on a loop's goroutine does not wait for room that only this goroutine
// could announce; elsewhere it waits.
func TestLoopCloseInDone(t *testing.T) {
	a, b, stop := looped(t, "unix")
	defer stop()
	defer b.Abort()
	closed := make(chan error, 1)
	o := a.Output()
	_, err := a.OnReadable(false, func(in *buf.In) (bool, error) { return in.Skip(1) == 0, nil }, func(netio.Outcome, error) {
		o.Lock()
		o.Out().Append(make([]byte, 25<<20))
		if !o.Unlock() {
			t.Error("not the flusher")
		}
		if full, err := o.TryFlush(); !full || err != nil {
			t.Errorf("TryFlush: %v, %v", full, err)
		}
		closed <- a.Close(t.Context())
		o.Flush() // who has the role gives it up
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := write(b, "x"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-closed:
		if err == nil {
			t.Error("Close says that everything was sent")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits on the loop")
	}
	a.Receive(false, nil)
}

// A connection that finds something each time OnReadable is called, and calls it
// from done, lets the loop's others have their turns.
func TestLoopFairToOthers(t *testing.T) {
	cfg := &netio.Config{Net: new(netio.Net), Loops: 1}
	x, busyPeer, stop := dialedBy(t, "unix", cfg)
	defer stop()
	y, quietPeer, _ := dialedBy(t, "unix", cfg)
	busy, quiet := x.(netio.LoopConn), y.(netio.LoopConn)
	defer func() {
		for _, c := range []netio.Conn{busyPeer, quietPeer, x, y} {
			c.Abort()
		}
	}()

	var stopped atomic.Bool
	feeding := make(chan struct{})
	go func() {
		defer close(feeding)
		for p := string(make([]byte, 64<<10)); !stopped.Load(); {
			if write(busyPeer, p) != nil {
				return
			}
		}
	}()
	took := 0
	one := func(in *buf.In) (bool, error) { return in.Skip(1) == 0, nil }
	ended := make(chan struct{})
	begun := make(chan struct{}, 1)
	var done func(netio.Outcome, error)
	done = func(why netio.Outcome, _ error) {
		for why == netio.Enough && !stopped.Load() {
			if took++; took == 1000 {
				begun <- struct{}{}
			}
			why, _ = busy.OnReadable(false, one, done)
		}
		if why != netio.Parked {
			close(ended)
		}
	}
	if why, err := busy.OnReadable(false, one, done); why != netio.Parked {
		done(why, err)
	}
	<-begun
	for range 20 {
		var got string
		answered := park(t, quiet, takes(&got))
		start := time.Now()
		if err := write(quietPeer, "x"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-answered:
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("the quiet connection had its turn after %v", d)
			}
		case <-time.After(10 * time.Second):
			stopped.Store(true)
			t.Fatal("the quiet connection has no turn")
		}
	}
	stopped.Store(true)
	busyPeer.Abort()
	<-feeding
	busy.Abort()
	<-ended
}
