package netio_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/netio"
)

// Accepting goes on after errors that pass, with growing pauses, and ends with
// others.
func TestAcceptErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var pauses []time.Duration
		l := netio.NewListener(f, &netio.Config{OnAcceptError: func(err error, d time.Duration) {
			if !errors.Is(err, syscall.EMFILE) {
				t.Errorf("told of %v", err)
			}
			pauses = append(pauses, d)
		}})
		for range 3 {
			f.answers <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept", syscall.EMFILE)}
		}
		na, nb := net.Pipe()
		f.answers <- na
		start := time.Now()
		c, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 35*time.Millisecond || len(pauses) != 3 || pauses[2] != 20*time.Millisecond {
			t.Errorf("accepted after %v, pauses %v", d, pauses)
		}
		netio.CloseWithin(c, time.Second)
		nb.Close()
		f.answers <- io.ErrUnexpectedEOF
		for range 2 {
			if _, err := l.Accept(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("Accept: %v", err)
			}
		}
		l.Close()
	})
}

// Only what says that there is no listening socket any more is final.
func TestAcceptErrorsThatPass(t *testing.T) {
	for _, err := range []error{
		syscall.ENOBUFS, syscall.ENOMEM, syscall.EPROTO, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.EPERM,
		syscall.ECONNABORTED, syscall.EMFILE, syscall.ENFILE, syscall.ETIMEDOUT,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			l := netio.NewListener(f, nil)
			na, nb := net.Pipe()
			f.answers <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
			f.answers <- na
			c, e := l.Accept(t.Context())
			if e != nil {
				t.Fatalf("after %v: %v", err, e)
			}
			netio.CloseWithin(c, time.Second)
			nb.Close()
			l.Close()
		})
	}
	for _, err := range []error{net.ErrClosed, syscall.EBADF, syscall.EINVAL, syscall.ENOTSOCK} {
		f := newFake()
		l := netio.NewListener(f, nil)
		f.answers <- &net.OpError{Op: "accept", Err: err}
		if _, e := l.Accept(t.Context()); !errors.Is(e, err) {
			t.Errorf("Accept: %v, want %v", e, err)
		}
		l.Close()
	}
}

// OnAcceptError may close the Listener.
func TestCloseInOnAcceptError(t *testing.T) {
	f := newFake()
	var l *netio.Listener
	closed := make(chan struct{})
	l = netio.NewListener(f, &netio.Config{OnAcceptError: func(error, time.Duration) { l.Close(); close(closed) }})
	f.answers <- syscall.EMFILE
	if _, err := l.Accept(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits for its caller")
	}
}

// Accept ends by its context, and by Close; nothing that arrived is lost.
func TestAcceptEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		l := netio.NewListener(f, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Accept(ctx); err != context.DeadlineExceeded {
			t.Errorf("Accept: %v", err)
		}
		na, nb := net.Pipe()
		defer nb.Close()
		f.answers <- na
		c, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		netio.CloseWithin(c, time.Second)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := l.Accept(t.Context()); err != net.ErrClosed {
					t.Errorf("Accept: %v", err)
				}
			})
		}
		synctest.Wait()
		l.Close()
		l.Close()
		wg.Wait()
		unused := netio.NewListener(newFake(), nil)
		unused.Close()
		if _, err := unused.Accept(t.Context()); err != net.ErrClosed {
			t.Errorf("Accept after Close: %v", err)
		}
	})
}

// Limit holds over listeners, and Close of a connection gives its place back.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := netio.NewLimit(2)
		f := newFake()
		l := netio.NewListener(f, &netio.Config{Limit: limit})
		var peers []net.Conn
		for range 3 {
			na, nb := net.Pipe()
			f.answers <- na
			peers = append(peers, nb)
		}
		first, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		second, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Accept(ctx); err != context.DeadlineExceeded || limit.Open() != 2 {
			t.Errorf("Accept beyond the limit: %v, %d open", err, limit.Open())
		}
		netio.CloseWithin(first, time.Second)
		first.Abort()
		third, err := l.Accept(t.Context())
		if err != nil {
			t.Errorf("Accept below the limit: %v", err)
		}
		netio.CloseWithin(second, time.Second)
		netio.CloseWithin(third, time.Second)
		l.Close()
		if n := limit.Open(); n != 0 {
			t.Errorf("%d places are taken in the end", n)
		}
		for _, p := range peers {
			p.Close()
		}
	})
}

// A listener to which nobody connects takes no place from another one.
func TestLimitOfManyListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := &netio.Config{Limit: netio.NewLimit(1)}
		idle, busy := newFake(), newFake()
		waiting, l := netio.NewListener(idle, cfg), netio.NewListener(busy, cfg)
		go waiting.Accept(t.Context()) // until Close
		synctest.Wait()
		for range 2 {
			na, nb := net.Pipe()
			busy.answers <- na
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			c, err := l.Accept(ctx)
			cancel()
			if err != nil {
				t.Errorf("Accept with %d of 1 open: %v", cfg.Limit.Open(), err)
			} else {
				c.Abort()
			}
			nb.Close()
		}
		waiting.Close()
		l.Close()
		if n := cfg.Limit.Open(); n != 0 {
			t.Errorf("%d places are taken in the end", n)
		}
	})
}
