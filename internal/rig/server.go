package rig

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"math/big"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/hook"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
)

// Start serves s on addr until the test ends, or until stop, which drains, waits, and may
// be called again; it returns the address to dial. An error of Serve fails the test:
// tests whose server is to end badly call Serve themselves.
func Start(t *testing.T, s *limosa.Server, addr string) (target string, stop func()) {
	t.Helper()
	l, err := limosa.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	stop = ServeOn(t, s, l)
	if l.Addr().Network() == "unix" {
		return "unix://" + l.Addr().String(), stop
	}
	return l.Addr().String(), stop
}

// ServeOn is Start on a listener that the test has made: one over event loops, or one
// whose connections do something else.
func ServeOn(t *testing.T, s *limosa.Server, l *netio.Listener) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// NetServer serves at the host "server" of a simulated network until stop; ended gives
// what Serve has returned. The test joins it by that, within its bubble: synctest would
// report the server's goroutines as a deadlock else.
func NetServer(t *testing.T, n *simnet.Net, s *limosa.Server) (stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	l, err := n.Listen("server")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, netio.NewListener(l, nil)) }()
	return stop, done
}

// NetClient makes c's connections from the host "client" to "server" of a simulated
// network, where links can be delayed, stopped and broken by those names.
func NetClient(n *simnet.Net, c *limosa.Client) *limosa.Client {
	c.Target = "server:1"
	DialOn(c, func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
		return n.Dial(ctx, "client", "server")
	})
	return c
}

// DialOn has c make its connections with dial, before its first call. It is an
// interceptor, since a dial takes its dialer from the context of the call that needs it
// (package hook): Client has no field for it that a user could see.
func DialOn(c *limosa.Client, dial hook.Dialer) {
	c.Interceptors = append(c.Interceptors, func(ctx context.Context, call *rpc.Call, next rpc.Next) error {
		return next(hook.WithDialer(ctx, dial), call)
	})
}

// Certificate makes one for 127.0.0.1 and the pool that trusts it.
func Certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// ServerTLS is what servers that speak TLS show: always the same, and of the
// same size.
func ServerTLS() *tls.Config {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<34, 0)}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, SessionTicketsDisabled: true}
}

// Eventually waits until f holds, in real time: for what the kernel, or a goroutine that
// nobody joins, does in its own time. In a bubble synctest.Wait does that better.
func Eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

// WaitFor polls what ends by itself within a moment.
func WaitFor(t *testing.T, what string, ok func() (left int, done bool)) {
	t.Helper()
	deadline := time.Now().Add(time.Minute) // generous: machines are busy
	for {
		left, done := ok()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%d %s are left; %s", left, what, buf.Unreleased())
			return
		}
		runtime.Gosched()
	}
}

// FramedEcho is a call of echo, framed.
func FramedEcho(arg string) []byte {
	msg := raw.AppendMessageBegin(nil, "echo", raw.Call, 1)
	msg = binary.BigEndian.AppendUint32(append(msg, 11, 0, 1), uint32(len(arg)))
	msg = append(append(msg, arg...), 0)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...)
}

// Canceled is for a Shutdown that waits for nothing.
func Canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
