package endpoint_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// deafMethod returns when the test says so, whatever becomes of its context.
var deafMethod = &rpc.Method{Service: "Test", Name: "deaf", Codec: rig.Text{}, New: stub.New[string, string]}

func deafService(until <-chan struct{}) (s rpc.Service, begun *atomic.Int32) {
	s, begun = rig.Service(nil), new(atomic.Int32)
	s.Methods = append(s.Methods, rpc.Handler{Method: deafMethod, Serve: func(context.Context, *rpc.Call) error {
		begun.Add(1)
		<-until
		return nil
	}})
	return s, begun
}

// TestAbandonedCallsDoNotStopNewOnes: many calls of a healthy server expired,
// and an old one still lives on their connection, which takes no new ones. The
// new ones go elsewhere, all of them.
func TestAbandonedCallsDoNotStopNewOnes(t *testing.T) {
	until := make(chan struct{})
	deaf, _ := deafService(until)
	target, _ := rig.Start(t, &limosa.Server{Services: []rpc.Service{deaf}}, "127.0.0.1:0")
	c := &limosa.Client{Target: target, Limits: rpc.Limits{Abandoned: 4}}
	defer c.Shutdown(rig.Canceled())
	if _, err := rig.Call(t.Context(), c, rig.Echo, "hello"); err != nil {
		t.Fatal(err)
	}
	old, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { rig.Call(old, c, rig.Wait, "") })
	defer func() {
		close(until)
		cancel()
		wg.Wait()
	}()
	for range 3 {
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
			if _, err := rig.Call(ctx, c, deafMethod, ""); rpc.CodeOf(err) != rpc.DeadlineExceeded {
				t.Errorf("deaf = %v", err)
			}
			cancel()
		}
		for i := range 20 {
			if got, err := rig.Call(t.Context(), c, rig.Echo, fmt.Sprint(i)); err != nil || got != fmt.Sprint(i) {
				t.Fatalf("call %d: %q, %v", i, got, err)
			}
		}
	}
}

// TestDialsAreQueued: a thousand calls at once to a peer that carries one call
// a connection do not dial a thousand times at once; those whose context ends
// meanwhile go, and all others are made.
func TestDialsAreQueued(t *testing.T) {
	const most = 16
	until := make(chan struct{})
	cert, pool := rig.Certificate(t)
	deaf, begun := deafService(until)
	back, _ := rig.Start(t, &limosa.Server{Services: []rpc.Service{deaf}, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}}, "127.0.0.1:0")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var dials atomic.Int32
	open := make(chan struct{})
	var proxy sync.WaitGroup
	proxy.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			n := dials.Add(1)
			proxy.Go(func() {
				defer in.Close()
				if n > 1 {
					<-open // its TLS handshake, and so the dial, waits
				}
				out, err := net.Dial("tcp", back)
				if err != nil {
					return
				}
				defer out.Close()
				go io.Copy(out, in)
				io.Copy(in, out)
			})
		}
	})
	defer proxy.Wait()
	defer l.Close()
	c := &limosa.Client{Target: l.Addr().String(), Thrift: limosa.Framed, TLS: &tls.Config{RootCAs: pool}}
	defer c.Close()
	if _, err := rig.Call(t.Context(), c, rig.Echo, "first"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var served atomic.Int32
	short, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 50)
	wg.Go(func() { rig.Call(t.Context(), c, deafMethod, "") }) // has the one connection that there is
	rig.WaitFor(t, "calls", func() (int, bool) { return 1, begun.Load() == 1 })
	for i := range 300 {
		wg.Go(func() {
			if i%6 == 0 {
				_, err := rig.Call(short, c, rig.Echo, "x")
				gone <- err
				return
			}
			if got, err := rig.Call(t.Context(), c, rig.Echo, fmt.Sprint(i)); err != nil || got != fmt.Sprint(i) {
				t.Errorf("call %d: %q, %v", i, got, err)
				return
			}
			served.Add(1)
		})
	}
	rig.WaitFor(t, "dials", func() (int, bool) { return int(1 + most - dials.Load()), dials.Load() >= 1+most })
	// Real time: sockets of the kernel.
	time.Sleep(50 * time.Millisecond) // whoever else would dial has
	if n := dials.Load(); n > 1+most {
		t.Errorf("%d dials at once", n-1)
	}
	cancel()
	for range 50 {
		if err := <-gone; rpc.CodeOf(err) != rpc.Canceled {
			t.Errorf("a call that was given up: %v", err)
		}
	}
	close(open)
	close(until)
	wg.Wait()
	if n := served.Load(); n != 250 {
		t.Errorf("%d of 250 calls were served", n)
	}
	if n := dials.Load(); n > 150 {
		t.Errorf("%d connections for quick calls", n)
	}
}

// TestRefusalsSpendRetries: a server that refuses everything gets each call
// three times at first, and a tenth more than it is called in the long run.
func TestRefusalsSpendRetries(t *testing.T) {
	var tries atomic.Int32
	refusing := rpc.Service{Name: "Test", Methods: []rpc.Handler{{Method: rig.Echo, Serve: func(context.Context, *rpc.Call) error {
		tries.Add(1)
		return &rpc.Error{Code: rpc.Unavailable, Msg: "not here", Sent: rpc.Refused}
	}}}}
	target, _ := rig.Start(t, &limosa.Server{Services: []rpc.Service{refusing}}, "127.0.0.1:0")
	c := &limosa.Client{Target: target}
	defer c.Close()
	begun := time.Now()
	if _, err := rig.Call(t.Context(), c, rig.Echo, ""); rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.Refused {
		t.Fatal(err)
	}
	if n := tries.Load(); n != 3 || time.Since(begun) < 10*time.Millisecond {
		t.Errorf("%d tries in %v", n, time.Since(begun))
	}
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			for range 50 {
				rig.Call(t.Context(), c, rig.Echo, "")
			}
		})
	}
	wg.Wait() // what there was at first is spent
	tries.Store(0)
	for range 100 {
		rig.Call(t.Context(), c, rig.Echo, "")
	}
	if n := tries.Load(); n > 115 {
		t.Errorf("%d tries of 100 calls", n)
	}
}
