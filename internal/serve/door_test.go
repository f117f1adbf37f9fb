package serve_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/stats"
)

// guest connects to target and makes one call; the connection is then idle.
func guest(t *testing.T, target string) *limosa.Client {
	t.Helper()
	c := &limosa.Client{Target: target}
	if got, err := rig.Call(t.Context(), c, rig.Echo, "x"); err != nil || got != "x" {
		t.Fatalf("echo = %q, %v", got, err)
	}
	return c
}

// A connection without calls is drained after Limits.ServerIdle; its client's
// next call makes another.
func TestServerIdle(t *testing.T) {
	set := stats.NewSet()
	open := set.Gauge("rpc_server_conns", "Connections that are open.")
	target, _ := rig.Start(t, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, Stats: set, Limits: rpc.Limits{ServerIdle: time.Second}}, "127.0.0.1:0")
	c := guest(t, target)
	defer c.Close()
	rig.Eventually(t, "the connection goes", func() bool { return open.Value() == 0 })
	rig.Eventually(t, "another call works", func() bool { // one that met the end on its way is not repeated
		_, err := rig.Call(t.Context(), c, rig.Echo, "")
		return err == nil
	})
}

// When all places are taken, the connections go that have been idle for longest.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	target, _ := rig.Start(t, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, Limits: rpc.Limits{Conns: 40, ConnsPerAddress: 40}}, "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	busy := guest(t, target)
	var work sync.WaitGroup
	ended := make(chan error, 1)
	work.Go(func() { _, err := rig.Call(ctx, busy, rig.Wait, ""); ended <- err })
	for range 100 { // attackers: one valid call each, and then nothing
		defer guest(t, target).Close()
	}
	cancel()
	work.Wait()
	if err := <-ended; rpc.CodeOf(err) != rpc.Canceled {
		t.Errorf("the connection with a call: %v", err)
	}
	busy.Close()
}

// One address has its share of the places, and no more.
func TestShareOfAnAddress(t *testing.T) {
	set := stats.NewSet()
	target, _ := rig.Start(t, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, Stats: set, Limits: rpc.Limits{Conns: 100, ConnsPerAddress: 5}}, "127.0.0.1:0")
	for range 5 {
		defer guest(t, target).Close()
	}
	nc, err := net.Dial("tcp", target)
	if err == nil {
		nc.SetReadDeadline(time.Now().Add(5 * time.Second))
		_, err = nc.Read(make([]byte, 1))
		nc.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) { // which Dial may find already
		t.Errorf("a sixth connection: %v", err)
	}
	other := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}
	nc, err = other.Dial("tcp", target)
	if err != nil {
		t.Skip("skipped: no second address:", err)
	}
	defer nc.Close()
	nc.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if _, err := nc.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) || !err.(net.Error).Timeout() {
		t.Errorf("a connection from another address: %v", err)
	}
	if n := set.Counter("rpc_server_conns_refused", "Connections that were refused since their address has its share.").Value(); n != 1 {
		t.Errorf("%d refusals counted", n)
	}
}

// A call over TLS ends in peace, and its connection is forgotten.
func TestDrainOverTLS(t *testing.T) {
	cert, pool := rig.Certificate(t)
	begun := make(chan struct{})
	svc, m := rig.One("slow", func(_ context.Context, c *rpc.Call) error {
		close(begun)
		// Real time: sockets of the kernel.
		time.Sleep(300 * time.Millisecond)
		*stub.Result[string](c) = "done"
		return nil
	})
	set := stats.NewSet()
	target, stop := rig.Start(t, &limosa.Server{Services: []rpc.Service{svc}, Stats: set, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}}, "127.0.0.1:0")
	c := &limosa.Client{Target: target, TLS: &tls.Config{RootCAs: pool}}
	defer c.Close()
	answer := make(chan error, 1)
	go func() { _, err := rig.Call(t.Context(), c, m, ""); answer <- err }()
	<-begun
	stop()
	if err := <-answer; err != nil {
		t.Errorf("slow = %v", err)
	}
	if n := set.Gauge("rpc_server_conns", "Connections that are open.").Value(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

// Serve returns soon after Drain, whatever handlers do, and names them.
func TestServeReturnsAlthoughAHandlerDoesNot(t *testing.T) {
	begun, open := make(chan struct{}), make(chan struct{})
	svc, m := rig.One("deaf", func(context.Context, *rpc.Call) error { close(begun); <-open; return nil })
	defer close(open)
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &limosa.Server{Services: []rpc.Service{svc}, Drain: 50 * time.Millisecond}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	c := &limosa.Client{Target: l.Addr().String()}
	defer c.Close()
	go rig.Call(t.Context(), c, m, "")
	<-begun
	start := time.Now()
	cancel()
	if err := <-done; rpc.CodeOf(err) != rpc.DeadlineExceeded || !strings.Contains(err.Error(), "One/deaf (1)") {
		t.Errorf("Serve = %v", err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Handlers can learn that the drain begins, and come to an end by themselves.
func TestHandlersLearnOfTheDrain(t *testing.T) {
	begun := make(chan struct{})
	svc, m := rig.One("poll", func(ctx context.Context, c *rpc.Call) error {
		close(begun)
		select {
		case <-rpc.Draining(ctx):
			if ctx.Err() != nil {
				t.Errorf("the context has ended: %v", context.Cause(ctx))
			}
			*stub.Result[string](c) = "bye"
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	target, stop := rig.Start(t, &limosa.Server{Services: []rpc.Service{svc}}, "127.0.0.1:0")
	c := &limosa.Client{Target: target}
	defer c.Close()
	answer := make(chan string, 1)
	go func() { got, err := rig.Call(t.Context(), c, m, ""); answer <- got; _ = err }()
	<-begun
	stop()
	if got := <-answer; got != "bye" {
		t.Errorf("poll = %q", got)
	}
}

// A handler that the drain ends can tell.
func TestCauseOfADrain(t *testing.T) {
	begun, cause := make(chan struct{}), make(chan error, 1)
	svc, m := rig.One("wait", func(ctx context.Context, c *rpc.Call) error {
		close(begun)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return ctx.Err()
	})
	target, stop := rig.Start(t, &limosa.Server{Services: []rpc.Service{svc}, Drain: time.Millisecond}, "127.0.0.1:0")
	c := &limosa.Client{Target: target}
	defer c.Close()
	answer := make(chan error, 1)
	go func() { _, err := rig.Call(t.Context(), c, m, ""); answer <- err }()
	<-begun
	stop()
	if err := <-cause; !errors.Is(err, rpc.ErrDraining) {
		t.Errorf("cause %v", err)
	}
	if err := <-answer; rpc.CodeOf(err) != rpc.Unavailable {
		t.Errorf("wait = %v", err)
	}
}

// What an interceptor sees of a call that the drain ends is what its caller is told.
func TestInterceptorsSeeTheEndOfADrain(t *testing.T) {
	begun, seen := make(chan struct{}), make(chan error, 1)
	svc, m := rig.One("wait", func(ctx context.Context, c *rpc.Call) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	})
	target, stop := rig.Start(t, &limosa.Server{
		Services: []rpc.Service{svc}, Drain: time.Millisecond,
		Interceptors: []rpc.Interceptor{func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
			err := next(ctx, c)
			seen <- err
			return err
		}},
	}, "127.0.0.1:0")
	c := &limosa.Client{Target: target}
	defer c.Close()
	answer := make(chan error, 1)
	go func() { _, err := rig.Call(t.Context(), c, m, ""); answer <- err }()
	<-begun
	stop()
	saw, _ := errors.AsType[*rpc.Error](<-seen)
	told, _ := errors.AsType[*rpc.Error](<-answer)
	if saw == nil || told == nil || saw.Code != told.Code || saw.Msg != told.Msg || told.Code != rpc.Unavailable {
		t.Errorf("the interceptor saw %v, the caller was told %v", saw, told)
	}
}
