package netio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/internal/nettest"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/netio/relay"
)

// An earlyWake is a net.Conn whose first deadline for writes is overtaken by
// one in the past: a Wake that comes while a Send is about to wait.
type earlyWake struct {
	net.Conn
	first sync.Once
	wake  func()
	woken chan struct{}
}

func (c *earlyWake) SetWriteDeadline(t time.Time) error {
	if t.After(time.Now()) {
		c.first.Do(func() {
			c.wake()
			<-c.woken
		})
		return c.Conn.SetWriteDeadline(t)
	}
	err := c.Conn.SetWriteDeadline(t)
	close(c.woken)
	return err
}

// A Wake is not lost to a plain connection that is about to wait.
func TestPlainWakeBeforeTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe() // nobody reads
		defer y.Close()
		ctx, cancel := context.WithCancel(t.Context())
		dst := netio.Wrap(&earlyWake{Conn: x, wake: cancel, woken: make(chan struct{})}, nil)
		client, src := pipe.New(pipe.Config{})
		if err := write(client, "nobody takes it"); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err := relay.Run(ctx, src, dst, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("Relay: %v", err)
		}
		if d := time.Since(begun); d > time.Second {
			t.Errorf("Relay took %v after its context had ended", d)
		}
		for _, c := range []netio.Conn{client, src, dst} {
			c.Abort()
			c.Receive(false, nil) //nolint:errcheck // Lost: it gives back what is unread
		}
	})
}

// A lateWriter is a connection to which somebody writes while it is being
// aborted, because its Close was cut off.
type lateWriter struct {
	*pipe.Conn
	write func()
}

func (c *lateWriter) Close(ctx context.Context) error {
	return (*netio.Kit)(&c.Core).Close(ctx, c.Abort, func() {})
}

func (c *lateWriter) Abort() {
	c.write()
	c.Conn.Abort()
}

// A Close that is cut off in the middle of what was queued drops the rest. What
// others write then must not follow: the peer would take it for the rest.
func TestNothingFollowsACutClose(t *testing.T) {
	a, b := pipe.New(pipe.Config{})
	defer b.Abort()
	o := a.Output()
	aborted := 0
	lower := &lateWriter{a, func() {
		aborted++
		o.Lock()
		o.Out().AppendString("later")
		if o.Unlock() {
			t.Error("who writes after the cut is told to flush")
		}
	}}
	c, _ := nettest.TLS(t, lower, b, 0)
	a.Stall(true)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := c.Close(ctx); !errors.Is(err, context.Canceled) || aborted == 0 {
		t.Errorf("Close: %v, %d aborts", err, aborted)
	}
}

// owing makes a plain connection over x with n bytes of 'q' on their way, which
// a goroutine of its own sends, and gives its net.Conn.
func owing(t *testing.T, x net.Conn, n int) net.Conn {
	t.Helper()
	c := netio.Wrap(x, nil)
	o := c.Output()
	o.Lock()
	o.Out().Append(bytes.Repeat([]byte("q"), n))
	if !o.Unlock() {
		t.Fatal("not the flusher")
	}
	c.Kick()
	if why, err := c.Receive(true, nil); why != netio.Kicked || err != nil {
		t.Fatalf("Receive: %v, %v", why, err)
	}
	return c.NetConn()
}

// What was queued goes before what is written to the net.Conn, also if it is on
// its way already.
func TestNetConnAfterQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		const n = 200 << 10
		v := owing(t, x, n)
		v.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := v.Write([]byte("w")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write until its deadline: %v", err)
		}
		v.SetWriteDeadline(time.Now().Add(time.Hour))
		changed := make(chan error, 1)
		go func() { _, err := v.Write([]byte("w")); changed <- err }()
		synctest.Wait()
		v.SetWriteDeadline(time.Now())
		if err := <-changed; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write while its deadline is set: %v", err)
		}
		v.SetWriteDeadline(time.Time{})
		written := make(chan error, 1)
		go func() { _, err := v.Write([]byte("w")); written <- err; v.Close() }()
		synctest.Wait()
		got, err := io.ReadAll(y)
		if i := bytes.IndexByte(got, 'w'); err != nil || i != n || len(got) != n+1 {
			t.Errorf("the peer got %d bytes, %v, with what was written at %d", len(got), err, i)
		}
		if err := <-written; err != nil {
			t.Error("Write:", err)
		}
	})
}

// Close of the net.Conn does not wait for a Write that waits for the peer.
func TestNetConnCloseWhileQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe() // nobody reads
		defer y.Close()
		v := owing(t, x, 1000)
		written := make(chan error, 1)
		go func() { _, err := v.Write([]byte("w")); written <- err }()
		synctest.Wait()
		begun := time.Now()
		v.Close()
		if err := <-written; err == nil {
			t.Error("a Write after bytes that nobody took succeeds")
		}
		if d := time.Since(begun); d > time.Second {
			t.Errorf("Close took %v", d)
		}
	})
}

// What a Write of a net.Conn has queued when its deadline came is sent by Close,
// where there is room by then.
func TestViewCloseSendsWhatIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe.New(pipe.Config{})
		v := a.NetConn()
		v.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := v.Write(make([]byte, 1<<20))
		if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 {
			t.Errorf("Write: %d, %v", n, err)
		}
		got := make(chan int64)
		go func() {
			n, err := io.Copy(io.Discard, b.NetConn())
			if err != nil {
				t.Error("the peer:", err)
			}
			got <- n
		}()
		if err := v.Close(); err != nil {
			t.Error("Close:", err)
		}
		if m := <-got; m != int64(n) {
			t.Errorf("%d bytes count as written, the peer got %d", n, m)
		}
	})
}

// Close waits on while something leaves, also if others queue more than that.
func TestCloseWaitsWhileOthersQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tick = 100 * time.Millisecond
		a, b := pipe.New(pipe.Config{Buffer: 1000, MaxReceive: 1000, WriteStall: 10 * tick})
		var queued atomic.Int64
		queue := func(n int) {
			queued.Add(int64(n))
			if err := write(a, string(make([]byte, n))); err != nil {
				t.Error("write:", err)
			}
		}
		go queue(20000) // and flushes
		synctest.Wait()
		var others sync.WaitGroup
		others.Go(func() {
			for range 30 {
				<-time.After(tick)
				queue(1500)
			}
		})
		got := make(chan int64, 1)
		go func() {
			var n int64
			for {
				<-time.After(tick)
				why, _ := b.Receive(false, func(in *buf.In) (bool, error) { n += int64(in.Skip(in.Len())); return false, nil })
				if why == netio.Lost {
					break
				}
			}
			got <- n
		}()
		if err := a.Close(t.Context()); err != nil {
			t.Error("Close:", err)
		}
		others.Wait()
		if n := <-got; n != queued.Load() {
			t.Errorf("the peer got %d bytes of %d", n, queued.Load())
		}
	})
}

// Whoever is told of the end by Close may close the connection as well.
func TestCloseWithinClose(t *testing.T) {
	for name, pair := range map[string]func(t *testing.T) (a, b netio.Conn, stop func()){
		"tcp": func(t *testing.T) (a, b netio.Conn, stop func()) { return dialed(t, "tcp") },
		"pipe": func(t *testing.T) (a, b netio.Conn, stop func()) {
			a, b = pipe.New(pipe.Config{})
			return a, b, func() {}
		},
	} {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for _, ctx := range []context.Context{t.Context(), over} { // in order, and cut off
			a, b, stop := pair(t)
			closed := make(chan error, 2)
			a.OnLost(func() { closed <- a.Close(context.WithoutCancel(ctx)) })
			if ctx == over {
				go write(a, string(make([]byte, 32<<20))) //nolint:errcheck // Close ends it
				for a.Output().Queued() < 16<<20 {
					runtime.Gosched()
				}
			}
			go func() { closed <- a.Close(ctx) }()
			for range 2 {
				select {
				case err := <-closed:
					if (err == nil) != (ctx != over) {
						t.Errorf("%s: Close: %v", name, err)
					}
				case <-time.After(10 * time.Second):
					t.Fatalf("%s: Close hangs", name)
				}
			}
			b.Abort()
			stop()
		}
	}
}

// So may whoever is told because a Close met a peer that takes nothing.
func TestCloseWithinAStalledClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe.New(pipe.Config{WriteStall: time.Second})
		c, _ := nettest.TLS(t, a, b, 0)
		a.Stall(true)
		within := make(chan error, 1)
		c.OnLost(func() { within <- c.Close(context.Background()) })
		if err := c.Close(context.Background()); !errors.Is(err, netio.ErrStalled) {
			t.Error("Close:", err)
		}
		if err := <-within; !errors.Is(err, netio.ErrStalled) {
			t.Error("Close within Close:", err)
		}
		b.Abort()
	})
}
