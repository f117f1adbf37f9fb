package netio_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/conntest"
	"github.com/limosa-rpc/limosa/netio/internal/nettest"
	"github.com/limosa-rpc/limosa/netio/pipe"
)

func TestTLS(t *testing.T) {
	for name, tt := range map[string]struct {
		pair    func(t *testing.T) (a, b netio.Conn, stop func())
		version uint16
		caps    conntest.Caps
	}{
		"tcp":     {pair: func(t *testing.T) (a, b netio.Conn, stop func()) { return dialed(t, "tcp") }, version: tls.VersionTLS13},
		"tcp 1.2": {pair: func(t *testing.T) (a, b netio.Conn, stop func()) { return dialed(t, "tcp") }, version: tls.VersionTLS12},
		"unix":    {pair: func(t *testing.T) (a, b netio.Conn, stop func()) { return dialed(t, "unix") }, version: tls.VersionTLS13},
		"plain": {pair: func(t *testing.T) (a, b netio.Conn, stop func()) {
			na, nb := nettest.Sockets(t, "tcp")
			cfg := &netio.Config{ReadBuffer: kernelBytes, WriteBuffer: kernelBytes}
			return netio.Wrap(nettest.Opaque(na), cfg), netio.Wrap(nettest.Opaque(nb), cfg), func() {}
		}, version: tls.VersionTLS13, caps: conntest.Caps{NoFull: true, LateLoss: true}},
		"pipe": {pair: func(t *testing.T) (a, b netio.Conn, stop func()) {
			a, b = pipe.New(pipe.Config{MaxReceive: 1000})
			return a, b, func() {}
		}, version: tls.VersionTLS13, caps: conntest.Caps{Small: true}},
		"small pipe": {pair: func(t *testing.T) (a, b netio.Conn, stop func()) {
			a, b = pipe.New(pipe.Config{Buffer: 64 << 10})
			return a, b, func() {}
		}, version: tls.VersionTLS13, caps: conntest.Caps{Small: true}},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Run(t, func(t *testing.T) (a, b netio.Conn, stop func()) {
				a, b, stop = tt.pair(t)
				ta, tb := nettest.TLS(t, a, b, tt.version)
				return ta, tb, stop
			}, tt.caps)
		})
	}
}

// Protocol and certificates are those of the handshake.
func TestTLSState(t *testing.T) {
	a, b := pipe.New(pipe.Config{})
	ta, tb := nettest.TLS(t, a, b, 0)
	for _, c := range []*netio.TLS{ta, tb} {
		s := c.ConnectionState()
		if s.NegotiatedProtocol != "limosa" || len(s.PeerCertificates) != 1 || s.Version != tls.VersionTLS13 {
			t.Errorf("protocol %q, %d certificates, version %x", s.NegotiatedProtocol, len(s.PeerCertificates), s.Version)
		}
		c.Abort()
	}
}

// A peer that ends without close_notify may be a cut: no clean end.
func TestTLSTruncated(t *testing.T) {
	a, b := pipe.New(pipe.Config{})
	_, tb := nettest.TLS(t, a, b, 0)
	defer netio.CloseWithin(tb, time.Second)
	a.CloseSend()
	why, err := tb.Receive(false, func(*buf.In) (bool, error) { return true, nil })
	if why != netio.Lost || err != io.ErrUnexpectedEOF {
		t.Errorf("Receive: %v, %v; want io.ErrUnexpectedEOF", why, err)
	}
	a.Abort()
}

// A forged record fails the connection with an alert.
func TestTLSForged(t *testing.T) {
	a, b := pipe.New(pipe.Config{})
	_, tb := nettest.TLS(t, a, b, 0)
	defer netio.CloseWithin(tb, time.Second)
	sendRaw(t, a, "\x17\x03\x03\x00\x20 this is no ciphertext at all... ")
	why, err := tb.Receive(false, func(*buf.In) (bool, error) { return true, nil })
	if e, ok := errors.AsType[*netio.Error](err); why != netio.Lost || !ok || e.Op != "receive" {
		t.Errorf("Receive: %v, %v", why, err)
	}
	if tb.Output().Err() == nil {
		t.Error("the output still works")
	}
	a.Abort()
}

// sendRaw sends s as it is, beside the Output that a TLS may have.
func sendRaw(t *testing.T, c *pipe.Conn, s string) {
	t.Helper()
	o := netio.NewOutput(c, nil, 0)
	o.Lock()
	o.Out().AppendString(s)
	if !o.Unlock() || o.Flush() != nil {
		t.Errorf("%q was not sent", s)
	}
}

// Handshakes end: by their deadline, by their context, by the peer's closing or
// nonsense. The error is one line that says what failed.
func TestTLSHandshakeFails(t *testing.T) {
	client, _ := nettest.Certificates()
	for name, end := range map[string]func(cancel context.CancelFunc, b *pipe.Conn){
		"deadline": func(_ context.CancelFunc, _ *pipe.Conn) {},
		"cancel":   func(cancel context.CancelFunc, _ *pipe.Conn) { cancel() },
		"close":    func(_ context.CancelFunc, b *pipe.Conn) { netio.CloseWithin(b, time.Second) },
		"nonsense": func(_ context.CancelFunc, b *pipe.Conn) { sendRaw(t, b, "HTTP/1.1 400 Bad Request\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := pipe.New(pipe.Config{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error)
				start := time.Now()
				go func() {
					_, err := netio.Client(ctx, a, client)
					done <- err
				}()
				synctest.Wait()
				end(cancel, b)
				err := <-done
				if e, ok := errors.AsType[*netio.Error](err); !ok || e.Op != "handshake" {
					t.Errorf("handshake: %v", err)
				}
				if d := time.Since(start); name == "deadline" && d != 5*time.Second || name != "deadline" && d > time.Second {
					t.Errorf("it took %v", d)
				}
				b.Abort()
			})
		})
	}
}

// Without a configuration a handshake fails, and nothing panics.
func TestTLSWithoutConfig(t *testing.T) {
	a, b := pipe.New(pipe.Config{})
	b.Abort()
	if _, err := netio.Server(t.Context(), a, nil); err == nil {
		t.Error("a handshake without certificates")
	}
}

// A client that is not asked for a certificate has little to say, and begins no hello
// of 64 KB: thousands of them would have this side keep what has come. One that is
// asked may have much.
func TestTLSLongHandshake(t *testing.T) {
	_, asks := nettest.Certificates()
	anybody := asks.Clone()
	anybody.ClientAuth = tls.NoClientCert
	record := append([]byte{22, 3, 1, 0x20, 0}, make([]byte, 0x2000)...) // 8 KB of a message
	copy(record[5:], []byte{1, 0, 0xf0, 0})                              // ClientHello, 60 KB
	for name, tt := range map[string]struct {
		config  *tls.Config
		records int
		ends    bool
	}{
		"usual":  {anybody, 1, false},
		"long":   {anybody, 3, true},
		"asked":  {asks, 3, false},
		"unsure": {&tls.Config{Certificates: asks.Certificates, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, nil }}, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := pipe.New(pipe.Config{})
				// Before anybody reads: a server that has had enough takes no more.
				for i := range tt.records {
					p := record
					if i > 0 {
						p = append(slices.Clone(record[:5]), make([]byte, 0x2000)...)
					}
					sendRaw(t, b, string(p))
				}
				start := time.Now()
				done := make(chan error)
				go func() {
					_, err := netio.Server(t.Context(), a, tt.config)
					done <- err
				}()
				err := <-done
				if d := time.Since(start); err == nil || tt.ends != (d == 0) {
					t.Errorf("after %v: %v", d, err)
				}
				b.Abort()
				b.Receive(false, nil)
			})
		})
	}
}

// crypto/tls stands on the net.Conn of any connection.
func TestTLSOverView(t *testing.T) {
	client, server := nettest.Certificates()
	a, b, stop := dialed(t, "tcp")
	defer stop()
	pa, pb := pipe.New(pipe.Config{MaxReceive: 100})
	for name, pair := range map[string][2]net.Conn{
		"tcp":  {a.NetConn(), b.NetConn()},
		"pipe": {pa.NetConn(), pb.NetConn()},
	} {
		ca, cb := tls.Client(pair[0], client), tls.Server(pair[1], server)
		var wg sync.WaitGroup
		wg.Go(func() { io.Copy(cb, cb); cb.Close() })
		want := make([]byte, 300<<10)
		rand.Read(want)
		wg.Go(func() { ca.Write(want); ca.CloseWrite() })
		got, err := io.ReadAll(ca)
		wg.Wait()
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		ca.Close()
	}
}

// The last flight of a handshake is the client's. A server that takes nothing
// of it holds the client up until its context ends, and no longer.
func TestTLSHandshakeHeedsItsContextToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe.New(pipe.Config{})
		client, server := nettest.Certificates()
		server = server.Clone()
		server.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			a.Stall(true) // after its hello
			return nil, nil
		}
		ended := make(chan error, 1)
		go func() {
			_, err := netio.Server(t.Context(), b, server)
			ended <- err
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := netio.Client(ctx, a, client); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Client = %v", err)
		}
		if took := time.Since(began); took > 1100*time.Millisecond {
			t.Errorf("it took %v although the context had ended after 1 s", took)
		}
		if err := <-ended; err == nil {
			t.Error("the server's side has succeeded")
		}
	})
}

// A peer is told why a handshake failed, whatever the connection below.
func TestTLSHandshakeTellsWhy(t *testing.T) {
	client, server := nettest.Certificates()
	client, server = client.Clone(), server.Clone()
	client.MaxVersion, server.MinVersion = tls.VersionTLS12, tls.VersionTLS13
	for name, pair := range map[string]func() (a, b netio.Conn){
		"tcp": func() (a, b netio.Conn) {
			na, nb := nettest.Sockets(t, "tcp")
			return netio.Wrap(na, nil), netio.Wrap(nb, nil)
		},
		"plain": func() (a, b netio.Conn) {
			na, nb := nettest.Sockets(t, "tcp")
			return netio.Wrap(nettest.Opaque(na), nil), netio.Wrap(nettest.Opaque(nb), nil)
		},
		"pipe": func() (a, b netio.Conn) { return pipe.New(pipe.Config{}) },
	} {
		a, b := pair()
		refused := make(chan error, 1)
		go func() { _, err := netio.Server(t.Context(), b, server); refused <- err }()
		_, err := netio.Client(t.Context(), a, client)
		var alert tls.AlertError
		if !strings.Contains(fmt.Sprint(err), "protocol version") && !errors.As(err, &alert) {
			t.Errorf("%s: the client is told %v", name, err)
		}
		if err := <-refused; err == nil {
			t.Errorf("%s: the server takes an old version", name)
		}
	}
}

// A client of TLS 1.3 is done with its handshake before the server has seen its
// certificate: the first request is on its way, unread, when the server refuses. The
// client is told all the same.
func TestTLSHandshakeTellsWhyBehindARequest(t *testing.T) {
	client, server := nettest.Certificates()
	server = server.Clone()
	for range 20 {
		asked, sent := make(chan struct{}), make(chan struct{})
		server.VerifyConnection = func(tls.ConnectionState) error {
			close(asked)
			<-sent
			return errors.New("not you")
		}
		na, nb := nettest.Sockets(t, "tcp")
		refused := make(chan error, 1)
		go func() { _, err := netio.Server(t.Context(), netio.Wrap(nb, nil), server); refused <- err }()
		tc := tls.Client(na, client)
		if err := tc.Handshake(); err != nil {
			t.Fatal(err)
		}
		<-asked
		tc.Write([]byte("a request"))
		close(sent)
		_, err := tc.Read(make([]byte, 1))
		if !strings.Contains(fmt.Sprint(err), "bad certificate") {
			t.Fatalf("the client is told %v", err)
		}
		if _, err := na.Read(make([]byte, 1)); err != io.EOF {
			t.Fatalf("the connection ends with %v", err)
		}
		na.Close()
		if err := <-refused; err == nil {
			t.Fatal("the server takes a client that it refuses")
		}
	}
}
