package limosa_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
)

// A connection is idle from the end of its last call, not from its beginning.
func TestIdleAfterALongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		s, m := one("long", func(context.Context, *rpc.Call) error { time.Sleep(time.Minute); return nil })
		stop, ended := netServer(t, n, &limosa.Server{Services: []rpc.Service{s}, Limits: rpc.Limits{ServerIdle: 10 * time.Second}})
		c := netClient(n, &limosa.Client{Thrift: limosa.Framed})
		if _, err := call(t.Context(), c, m, ""); err != nil {
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
		n := simnet.New(func(int, string, string) netio.PipeConfig { return netio.PipeConfig{Delay: 2 * time.Second} })
		stop, ended := netServer(t, n, &limosa.Server{
			Services: []rpc.Service{service(nil)}, TLS: simCertificate(),
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
		if _, err := conn.Write(framedEcho("hello")); err != nil {
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
	cert, pool := certificate(t)
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
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}, TLS: cfg, Stats: set}, "127.0.0.1:0")
	for _, name := range []string{"panic", "exit"} {
		if nc, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", target, &tls.Config{ServerName: name, RootCAs: pool}); err == nil {
			nc.Close()
			t.Error("the handshake has ended well")
		} else if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		eventually(t, name+": the connection goes", func() bool { return open.Value() == 0 })
	}
	c := &limosa.Client{Target: target, TLS: &tls.Config{RootCAs: pool}}
	defer c.Close()
	if _, err := call(t.Context(), c, echoMethod, ""); err != nil {
		t.Error(err)
	}
}

// A listener has no settings: what a connection speaks is found out.
func TestListenTakesNoSettings(t *testing.T) {
	l, err := limosa.Listen("127.0.0.1:0?thrift=framed")
	if rpc.CodeOf(err) != rpc.InvalidArgument {
		t.Errorf("Listen = %v", err)
	}
	if err == nil {
		l.Close()
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
			ended <- (&limosa.Server{Services: []rpc.Service{service(nil)}, Limits: rpc.Limits{Conns: 2}}).Serve(ctx, ls...)
		}()
		a, b := netClient(n, new(limosa.Client)), netClient(n, new(limosa.Client))
		for range 3 {
			for _, c := range []*limosa.Client{a, b} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if _, err := call(ctx, c, echoMethod, ""); err != nil {
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

// What came instead of a protocol is quoted, to be recognised.
func TestWhatCameInstead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			nc.Read(make([]byte, 1000))
			nc.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			nc.(*net.TCPConn).CloseWrite()
			defer nc.Close()
		}
	}()
	for _, form := range []limosa.Form{limosa.TTHeader, limosa.Framed} {
		c := &limosa.Client{Target: l.Addr().String(), Thrift: form}
		if _, err := call(t.Context(), c, echoMethod, ""); err == nil || !strings.Contains(err.Error(), `"HTTP/1.1 400 Bad Request`) {
			t.Errorf("%v: %v", form, err)
		}
		c.Close()
	}

	var log bytes.Buffer
	target, stop := start(t, &limosa.Server{
		Services: []rpc.Service{service(nil)},
		Logger:   slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, "127.0.0.1:0")
	nc, err := net.Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	nc.Write([]byte("GET /shop/orders HTTP/1.1\r\n"))
	io.Copy(io.Discard, nc)
	nc.Close()
	stop()
	if got := log.String(); !strings.Contains(got, "GET /shop/orders HTTP/1.1") {
		t.Error(got)
	}
}
