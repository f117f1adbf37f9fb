package pipe_test

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/conntest"
	"github.com/limosa-rpc/limosa/netio/pipe"
)

// write queues p and flushes.
func write(c netio.Conn, p string) error {
	o := c.Output()
	o.Lock()
	o.Out().AppendString(p)
	if o.Unlock() {
		return o.Flush()
	}
	return o.Err()
}

// collect gives a step that takes everything into b until n bytes are there.
func collect(b *bytes.Buffer, n int) netio.Step {
	return func(in *buf.In) (bool, error) {
		b.Write(in.Next(in.Len()))
		return b.Len() < n, nil
	}
}

// Every kind of pipe behaves as any connection.
func TestConn(t *testing.T) {
	for name, cfg := range map[string]pipe.Config{
		"perfect": {},
		"delayed": {Delay: 50 * time.Microsecond},
		"partial": {MaxSend: 1000, MaxReceive: 777, Buffer: 32 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Run(t, func(t *testing.T) (a, b netio.Conn, stop func()) {
				a, b = pipe.New(cfg)
				return a, b, func() {}
			}, conntest.Caps{Small: name != "perfect"})
		})
	}
}

// Delay is virtual time, and keeps the order.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe.New(pipe.Config{Delay: time.Minute})
		start := time.Now()
		write(a, "one")
		time.Sleep(time.Second)
		write(a, "two")
		netio.CloseWithin(a, time.Second)
		var got bytes.Buffer
		b.Receive(false, collect(&got, 3))
		if d := time.Since(start); d != time.Minute || got.String() != "one" {
			t.Errorf("%q after %v", got.String(), d)
		}
		b.Receive(false, collect(&got, 6))
		if d := time.Since(start); d != time.Minute+time.Second || got.String() != "onetwo" {
			t.Errorf("%q after %v", got.String(), d)
		}
		why, err := b.Receive(false, collect(&got, 9))
		if d := time.Since(start); d != time.Minute+time.Second || why != netio.Lost || err != io.EOF {
			t.Errorf("%v, %v after %v", why, err, d)
		}
		netio.CloseWithin(b, time.Second)
	})
}

// What was held arrives as one event, the end included.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe.New(pipe.Config{})
		lost := make(chan struct{})
		b.OnLost(func() { close(lost) })
		a.Hold()
		write(a, "data")
		a.CloseWrite()
		var got bytes.Buffer
		done := make(chan error)
		go func() {
			_, err := b.Receive(false, collect(&got, 100))
			done <- err
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("Receive returned before Release")
		default:
		}
		if got.Len() != 0 {
			t.Fatalf("%q arrived before Release", got.String())
		}
		a.Release()
		if err := <-done; err != io.EOF || got.String() != "data" {
			t.Errorf("%q, %v", got.String(), err)
		}
		netio.CloseWithin(b, time.Second)
		<-lost
		netio.CloseWithin(a, time.Second)
	})
}

// A peer that takes nothing: the flush waits, for WriteStall at most.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe.New(pipe.Config{WriteStall: 10 * time.Second})
		a.Stall(true)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := write(a, "waits"); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(9 * time.Second)
		a.Stall(false)
		wg.Wait()
		a.Stall(true)
		start := time.Now()
		err := write(a, "waits in vain")
		e, ok := errors.AsType[*netio.Error](err)
		if !ok || e.Op != "send" || !errors.Is(err, netio.ErrStalled) || time.Since(start) != 10*time.Second {
			t.Errorf("Flush: %v after %v", err, time.Since(start))
		}
		if why, err := a.Receive(false, nil); why != netio.Lost || !errors.Is(err, netio.ErrStalled) {
			t.Errorf("Receive: %v, %v", why, err)
		}
		if n := a.Output().Queued(); n != 0 {
			t.Errorf("%d bytes are queued", n)
		}
		if why, err := b.Receive(false, nil); why != netio.Lost || !errors.Is(err, pipe.ErrReset) {
			t.Errorf("the peer's Receive: %v, %v", why, err)
		}
		netio.CloseWithin(b, time.Second)
	})
}

// Progress, however slow, is no stall.
func TestSlowIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe.New(pipe.Config{WriteStall: 10 * time.Second, Buffer: 1})
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := write(a, "slow"); err != nil {
				t.Error(err)
			}
		})
		var got bytes.Buffer
		for i := range 4 {
			time.Sleep(9 * time.Second)
			b.Receive(false, collect(&got, i+1))
		}
		wg.Wait()
		if got.String() != "slow" {
			t.Errorf("got %q", got.String())
		}
		netio.CloseWithin(a, time.Second)
		netio.CloseWithin(b, time.Second)
	})
}

// The connection breaks after so many bytes, for both sides; they arrive.
func TestLoseAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe.New(pipe.Config{LoseAfter: 5})
		write(a, "123")
		if err := write(a, "45678"); !errors.Is(err, pipe.ErrReset) {
			t.Errorf("Flush: %v", err)
		}
		var got bytes.Buffer
		why, err := b.Receive(false, collect(&got, 100))
		if got.String() != "12345" || why != netio.Lost || !errors.Is(err, pipe.ErrReset) {
			t.Errorf("%q, %v, %v", got.String(), why, err)
		}
		if why, err := a.Receive(false, nil); why != netio.Lost || !errors.Is(err, pipe.ErrReset) {
			t.Errorf("%v, %v", why, err)
		}
		netio.CloseWithin(a, time.Second)
		netio.CloseWithin(b, time.Second)
	})
}

// Break is seen by both, by whoever waits.
func TestBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe.New(pipe.Config{})
		var wg sync.WaitGroup
		for _, c := range []*pipe.Conn{a, b} {
			wg.Go(func() {
				if why, err := c.Receive(false, nil); why != netio.Lost || !errors.Is(err, pipe.ErrReset) {
					t.Errorf("%v, %v", why, err)
				}
			})
		}
		synctest.Wait()
		a.Break()
		wg.Wait()
		netio.CloseWithin(a, time.Second)
		netio.CloseWithin(b, time.Second)
	})
}
