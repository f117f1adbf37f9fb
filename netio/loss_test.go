package netio_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/netio"
)

// The loss of an idle connection is noticed at once, also by connections that
// take the places of others.
func TestLossSoon(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("noticed at Close only")
	}
	var worst, sum time.Duration
	const rounds = 100
	for range rounds {
		a, b, stop := dialed(t, "tcp")
		lost := make(chan time.Time, 1)
		b.OnLost(func() { lost <- time.Now() })
		start := time.Now()
		netio.CloseWithin(a, time.Second)
		select {
		case at := <-lost:
			worst, sum = max(worst, at.Sub(start)), sum+at.Sub(start)
		case <-time.After(10 * time.Second):
			t.Fatal("nobody told of the loss")
		}
		netio.CloseWithin(b, time.Second)
		stop()
	}
	t.Logf("noticed after %v, at worst %v", sum/rounds, worst)
	if sum/rounds > 10*time.Millisecond {
		t.Errorf("noticed after %v on average", sum/rounds)
	}
}

// Many connections of one Net come and go: each is told of its own loss, once.
func TestLossMany(t *testing.T) {
	n := new(netio.Net)
	defer n.Close()
	cfg := &netio.Config{Net: n}
	l, err := netio.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 20 {
		const conns = 20
		var told [conns]atomic.Int32
		var lost sync.WaitGroup
		var as, bs []netio.Conn
		for i := range conns {
			a, err := netio.Dial(t.Context(), "tcp", l.Addr().String(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			b, err := l.Accept(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			as, bs = append(as, a), append(bs, b)
			// A FIN that arrived before OnLost is no less a loss.
			if i%3 == 0 {
				netio.CloseWithin(a, time.Second)
			}
			lost.Add(1)
			b.OnLost(func() { told[i].Add(1); lost.Done() })
		}
		for i := range conns {
			if i%2 == 0 {
				netio.CloseWithin(as[i], time.Second)
			} else {
				bs[i].Abort() // leaves its place to others
			}
		}
		done := make(chan struct{})
		go func() { lost.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("a loss was not noticed")
		}
		for i := range conns {
			netio.CloseWithin(as[i], time.Second)
			netio.CloseWithin(bs[i], time.Second)
			if k := told[i].Load(); k != 1 {
				t.Errorf("connection %d was told %d times", i, k)
			}
		}
	}
}

// A closed Net does no harm: its connections notice losses when they are used.
func TestNetClose(t *testing.T) {
	n := new(netio.Net)
	cfg := &netio.Config{Net: n}
	l, err := netio.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := netio.Dial(t.Context(), "tcp", l.Addr().String(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	b.OnLost(func() { told++ })
	for range 2 {
		if err := n.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	a.OnLost(func() { told++ })
	if err := write(a, "still works"); err != nil {
		t.Error(err)
	}
	netio.CloseWithin(a, time.Second)
	netio.CloseWithin(b, time.Second)
	if told != 2 {
		t.Errorf("OnLost ran %d times, want 2: at Close", told)
	}
}

// A socket whose peer takes nothing is aborted after WriteStall.
func TestStallSocket(t *testing.T) {
	l, err := netio.Listen("tcp", "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := &netio.Config{WriteStall: 50 * time.Millisecond, WriteBuffer: 64 << 10, KeepAlive: -1}
	a, err := netio.Dial(t.Context(), "tcp", l.Addr().String(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer netio.CloseWithin(b, time.Second)
	start := time.Now()
	err = write(a, string(make([]byte, 64<<20)))
	if e, ok := errors.AsType[*netio.Error](err); !ok || e.Op != "send" || !errors.Is(err, netio.ErrStalled) {
		t.Errorf("Flush: %v", err)
	}
	if d := time.Since(start); d < 50*time.Millisecond {
		t.Errorf("aborted after %v", d)
	}
	if why, err := a.Receive(false, nil); why != netio.Lost || !errors.Is(err, netio.ErrStalled) {
		t.Errorf("Receive: %v, %v", why, err)
	}
}
