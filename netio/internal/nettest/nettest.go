// Package nettest makes connected pairs for the tests of netio and of what stands
// beside it.
package nettest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/internal/invariant"
	"github.com/limosa-rpc/limosa/netio"
)

// Sockets gives two connected sockets of a network, "tcp" or "unix".
func Sockets(t testing.TB, network string) (a, b net.Conn) {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = t.TempDir() + "/s"
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial(network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// opaque is a net.Conn whose type netio does not know.
type opaque struct{ *net.TCPConn }

// Opaque hides from netio that nc is a TCP connection.
func Opaque(nc net.Conn) net.Conn { return opaque{nc.(*net.TCPConn)} }

// Certificates gives both sides' configurations, with a certificate that both know.
func Certificates() (client, server *tls.Config) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "limosa test"}, DNSNames: []string{"test"},
		// The year 2000 is today in a synctest bubble.
		NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	cert := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	server = &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "limosa"}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots}
	client = &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: roots, ServerName: "test", NextProtos: []string{"limosa"}}
	return client, server
}

// TLS stands TLS on a pair. version 0 is the newest.
func TLS(t testing.TB, a, b netio.Conn, version uint16) (ta, tb *netio.TLS) {
	t.Helper()
	client, server := Certificates()
	client.MaxVersion, server.MaxVersion = version, version
	var wg sync.WaitGroup
	var ea, eb error
	wg.Go(func() { ta, ea = netio.Client(t.Context(), a, client) })
	wg.Go(func() { tb, eb = netio.Server(t.Context(), b, server) })
	wg.Wait()
	if ea != nil || eb != nil {
		t.Fatal("handshake:", ea, eb)
	}
	return ta, tb
}

// Pooless reports a build whose pools do not give back what they were given.
func Pooless() bool {
	info, _ := debug.ReadBuildInfo()
	return invariant.Enabled || slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
