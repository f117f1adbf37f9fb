package limosa_test

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
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/stats"
)

// one is a service with one method.
func one(name string, f func(ctx context.Context, c *rpc.Call) error) (rpc.Service, *rpc.Method) {
	m := &rpc.Method{Service: "One", Name: name, Codec: text{}, New: stub.New[string, string]}
	return rpc.Service{Name: "One", Methods: []rpc.Handler{{Method: m, Serve: f}}}, m
}

// guest connects to target and makes one call; the connection is then idle.
func guest(t *testing.T, target string) *limosa.Client {
	t.Helper()
	c := &limosa.Client{Target: target}
	if got, err := call(t.Context(), c, echoMethod, "x"); err != nil || got != "x" {
		t.Fatalf("echo = %q, %v", got, err)
	}
	return c
}

// eventually waits until f holds.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

// A connection without calls is drained after Limits.ServerIdle; its client's
// next call makes another.
func TestServerIdle(t *testing.T) {
	set := stats.NewSet()
	open := set.Gauge("rpc_server_conns", "Connections that are open.")
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}, Stats: set, Limits: rpc.Limits{ServerIdle: time.Second}}, "127.0.0.1:0")
	c := guest(t, target)
	defer c.Close()
	eventually(t, "the connection goes", func() bool { return open.Value() == 0 })
	eventually(t, "another call works", func() bool { // one that met the end on its way is not repeated
		_, err := call(t.Context(), c, echoMethod, "")
		return err == nil
	})
}

// When all places are taken, the connections go that have been idle for longest.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}, Limits: rpc.Limits{Conns: 40, ConnsPerAddress: 40}}, "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	busy := guest(t, target)
	var work sync.WaitGroup
	ended := make(chan error, 1)
	work.Go(func() { _, err := call(ctx, busy, waitMethod, ""); ended <- err })
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
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}, Stats: set, Limits: rpc.Limits{Conns: 100, ConnsPerAddress: 5}}, "127.0.0.1:0")
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
	cert, pool := certificate(t)
	begun := make(chan struct{})
	svc, m := one("slow", func(_ context.Context, c *rpc.Call) error {
		close(begun)
		time.Sleep(300 * time.Millisecond)
		*stub.Result[string](c) = "done"
		return nil
	})
	set := stats.NewSet()
	target, stop := start(t, &limosa.Server{Services: []rpc.Service{svc}, Stats: set, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}}, "127.0.0.1:0")
	c := &limosa.Client{Target: target, TLS: &tls.Config{RootCAs: pool}}
	defer c.Close()
	answer := make(chan error, 1)
	go func() { _, err := call(t.Context(), c, m, ""); answer <- err }()
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
	svc, m := one("deaf", func(context.Context, *rpc.Call) error { close(begun); <-open; return nil })
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
	go call(t.Context(), c, m, "")
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
	svc, m := one("poll", func(ctx context.Context, c *rpc.Call) error {
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
	target, stop := start(t, &limosa.Server{Services: []rpc.Service{svc}}, "127.0.0.1:0")
	c := &limosa.Client{Target: target}
	defer c.Close()
	answer := make(chan string, 1)
	go func() { got, err := call(t.Context(), c, m, ""); answer <- got; _ = err }()
	<-begun
	stop()
	if got := <-answer; got != "bye" {
		t.Errorf("poll = %q", got)
	}
}

// A handler that the drain ends can tell.
func TestCauseOfADrain(t *testing.T) {
	begun, cause := make(chan struct{}), make(chan error, 1)
	svc, m := one("wait", func(ctx context.Context, c *rpc.Call) error {
		close(begun)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return ctx.Err()
	})
	target, stop := start(t, &limosa.Server{Services: []rpc.Service{svc}, Drain: time.Millisecond}, "127.0.0.1:0")
	c := &limosa.Client{Target: target}
	defer c.Close()
	answer := make(chan error, 1)
	go func() { _, err := call(t.Context(), c, m, ""); answer <- err }()
	<-begun
	stop()
	if err := <-cause; !errors.Is(err, rpc.ErrDraining) {
		t.Errorf("cause %v", err)
	}
	if err := <-answer; rpc.CodeOf(err) != rpc.Unavailable {
		t.Errorf("wait = %v", err)
	}
}

// Whoever decides by Call.Service decides by the name that was registered.
func TestServiceIsTheRegisteredOne(t *testing.T) {
	names := make(chan [2]string, 2)
	svc, _ := one("say", func(_ context.Context, c *rpc.Call) error { names <- [2]string{c.Service, c.Asked}; return nil })
	svc.Name = "Registered"
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{svc}}, "127.0.0.1:0")
	c := &limosa.Client{Target: target}
	defer c.Close()
	for _, asked := range []string{"Registered", "Public"} {
		x := stub.NewCall[string, string](svc.Methods[0].Method, asked)
		if err := c.Do(t.Context(), &x.Call); err != nil {
			t.Fatal(err)
		}
		if got := <-names; got != [2]string{"Registered", asked} {
			t.Errorf("Service, Asked = %q", got)
		}
	}
}

// A server may hold callers to the services that they name.
func TestExactServices(t *testing.T) {
	ran := make(chan string, 10)
	var services []rpc.Service
	for _, name := range []string{"Users", "Items"} {
		svc, _ := one("delete", func(_ context.Context, c *rpc.Call) error { ran <- c.Service; return nil })
		svc.Name = name
		services = append(services, svc)
	}
	for _, exact := range []bool{false, true} {
		s := &limosa.Server{Services: services, ExactServices: exact}
		target, _ := start(t, s, "127.0.0.1:0")
		c := &limosa.Client{Target: target}
		defer c.Close()
		for how, caller := range map[string]rpc.Caller{"tcp": c, "local": s.Caller()} {
			for asked, want := range map[string]string{"Items": "Items", "Orders": "Users", "": "Users"} {
				if exact && asked == "Orders" {
					want = ""
				}
				x := stub.NewCall[string, string](services[0].Methods[0].Method, asked)
				err := caller.Do(t.Context(), &x.Call)
				if want == "" && (rpc.CodeOf(err) != rpc.Unimplemented || rpc.SentOf(err) != rpc.Refused || !strings.Contains(err.Error(), "Orders")) || want != "" && err != nil {
					t.Errorf("%s, exact %v: a call to %q: %v", how, exact, asked, err)
				}
				if err == nil {
					if got := <-ran; got != want {
						t.Errorf("%s, exact %v: a call to %q was served by %s", how, exact, asked, got)
					}
				}
			}
		}
	}
}
