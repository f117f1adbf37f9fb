package serve_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
)

// A connection is idle from the end of its last call, not from its beginning.
func TestIdleAfterALongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		s, m := rig.One("long", func(context.Context, *rpc.Call) error { time.Sleep(time.Minute); return nil })
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{s}, Limits: rpc.Limits{ServerIdle: 10 * time.Second}})
		c := rig.NetClient(n, &limosa.Client{Thrift: limosa.Framed})
		if _, err := rig.Call(t.Context(), c, m, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8 * time.Second)
		if len(n.Links("", "")) != 1 {
			t.Error("the connection has gone less than ServerIdle after its last call")
		}
		time.Sleep(5 * time.Second)
		if len(n.Links("", "")) != 0 {
			t.Error("the connection is there still")
		}
		stop()
		<-ended
		c.Close()
	})
}

// The first bytes of a TLS connection come after its handshake, and have their
// own time.
func TestSlowHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(func(int, string, string) pipe.Config { return pipe.Config{Delay: 2 * time.Second} })
		stop, ended := rig.NetServer(t, n, &limosa.Server{
			Services: []rpc.Service{rig.Service(nil)}, TLS: rig.ServerTLS(),
			Limits: rpc.Limits{Handshake: 20 * time.Second, FirstBytes: 5 * time.Second},
		})
		nc, err := n.Dial(t.Context(), "client", "server")
		if err != nil {
			t.Fatal(err)
		}
		conn := tls.Client(nc.NetConn(), &tls.Config{InsecureSkipVerify: true})
		if err := conn.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if _, err := conn.Write(rig.FramedEcho("hello")); err != nil {
			t.Fatal(err)
		}
		conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if n, err := conn.Read(make([]byte, 100)); err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		conn.Close()
		stop()
		<-ended
	})
}

// A panic of a user's TLS code, which a stranger may reach, costs his connection
// and not the process; nor does the end of its goroutine cost more.
func TestTLSCodeThatPanics(t *testing.T) {
	cert, pool := rig.Certificate(t)
	cfg := &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		switch h.ServerName {
		case "panic":
			panic("mine")
		case "exit":
			runtime.Goexit()
		}
		return nil, nil
	}, Certificates: []tls.Certificate{cert}}
	set := stats.NewSet()
	open := set.Gauge("rpc_server_conns", "Connections that are open.")
	target, _ := rig.Start(t, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, TLS: cfg, Stats: set}, "127.0.0.1:0")
	for _, name := range []string{"panic", "exit"} {
		if nc, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", target, &tls.Config{ServerName: name, RootCAs: pool}); err == nil {
			nc.Close()
			t.Error("the handshake has ended well")
		} else if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		rig.Eventually(t, name+": the connection goes", func() bool { return open.Value() == 0 })
	}
	c := &limosa.Client{Target: target, TLS: &tls.Config{RootCAs: pool}}
	defer c.Close()
	if _, err := rig.Call(t.Context(), c, rig.Echo, ""); err != nil {
		t.Error(err)
	}
}

// A listener to which nobody connects takes no place, and nobody goes while no
// one waits for his.
func TestPlacesAreOfConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		var ls []*netio.Listener
		for _, name := range []string{"quiet", "server"} {
			l, err := n.Listen(name)
			if err != nil {
				t.Fatal(err)
			}
			ls = append(ls, netio.NewListener(l, nil))
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- (&limosa.Server{Services: []rpc.Service{rig.Service(nil)}, Limits: rpc.Limits{Conns: 2}}).Serve(ctx, ls...)
		}()
		a, b := rig.NetClient(n, new(limosa.Client)), rig.NetClient(n, new(limosa.Client))
		for range 3 {
			for _, c := range []*limosa.Client{a, b} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if _, err := rig.Call(ctx, c, rig.Echo, ""); err != nil {
					t.Error(err)
				}
				cancel()
			}
			time.Sleep(time.Second)
			if got := len(n.Links("", "")); got != 2 {
				t.Errorf("%d of 2 connections are open", got)
			}
		}
		a.Close()
		b.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Who speaks nothing that is spoken here is closed in order, whatever more it has sent: a
// reset would overtake what was said to it. It has a moment for that, and no longer.
func TestAStrangerIsClosedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}})
		nc, err := n.Dial(t.Context(), "client", "server")
		if err != nil {
			t.Fatal(err)
		}
		conn := nc.NetConn()
		if _, err := conn.Write([]byte("INVALID CONNECTION PREFACE\r\n\r\n")); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if _, err := conn.Write([]byte("and more")); err != nil {
			t.Errorf("more could not be sent: %v", err)
		}
		if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%d bytes and %v were read, want the end", n, err)
		}
		time.Sleep(time.Second)
		if len(n.Links("", "")) != 0 {
			t.Error("the connection is there still")
		}
		stop()
		<-ended
	})
}
