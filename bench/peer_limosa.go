package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa"
	limosaecho "github.com/limosa-rpc/limosa/bench/echo/limosa/echo"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// limosaPeers lists Limosa and the ways to use it; every setting that a peer
// does not name is the default.
func limosaPeers() []*peer {
	return []*peer{
		limosaOver("limosa", tcpAddr, limosa.TTHeader, &limosa.Server{}),
		limosaOver("limosa-go", tcpAddr, limosa.TTHeader, &limosa.Server{Handlers: limosa.Goroutines}),
		limosaOver("limosa-whole", tcpAddr, limosa.TTHeader, &limosa.Server{Protocols: []wire.Protocol{ttheader.Protocol{NoPieces: true}}}),
		limosaOver("limosa-inline", tcpAddr, limosa.TTHeader, &limosa.Server{Handlers: limosa.Inline}),
		limosaOver("limosa-pool", tcpAddr, limosa.Framed, &limosa.Server{}),
		{Peer: trial.Peer{Name: "limosa-full"}, later: "belongs to the capability of governance"},
		{Peer: trial.Peer{Name: "limosa-tls", Serve: serveLimosaTLS, Dial: dialLimosaTLS}},
		{Peer: trial.Peer{Name: "limosa-grpc", Serve: serveLimosaGRPC, Dial: dialLimosaGRPC}},
		{Peer: trial.Peer{Name: "limosa-connect", Serve: serveLimosaGRPC, Dial: dialLimosaConnect}},
		{Peer: trial.Peer{Name: "limosa-grpc-client", Serve: serveGRPC, Dial: dialLimosaGRPC}},
		{Peer: trial.Peer{Name: "limosa-grpc-server", Serve: serveLimosaGRPC, Dial: dialGRPC}},
		limosaOver("limosa-unix", unixAddr, limosa.TTHeader, &limosa.Server{}),
		{Peer: trial.Peer{Name: "limosa-shm"}, later: "belongs to the capability of shared memory"},
		{Peer: trial.Peer{Name: "limosa-inproc", Dial: dialLimosaLocal}},
	}
}

// A limosaEcho answers with what it was sent; work is what a handler would do.
type limosaEcho struct{ work func() }

func (s limosaEcho) Echo(_ context.Context, m *limosaecho.Message) (*limosaecho.Message, error) {
	s.work()
	return m, nil
}

// tcpAddr has the kernel choose a port.
func tcpAddr() (string, error) { return "127.0.0.1:0", nil }

// unixAddr gives the path of a socket in a folder of its own, below the
// temporary folder that a run makes for its processes and removes.
func unixAddr() (string, error) {
	dir, err := os.MkdirTemp("", "limosa-bench-")
	return "unix://" + filepath.Join(dir, "s"), err
}

// limosaOver is Limosa on an address that addr gives, with a server set up as
// like.
func limosaOver(name string, addr func() (string, error), form limosa.Form, like *limosa.Server) *peer {
	return &peer{Peer: trial.Peer{
		Name: name,
		Serve: func(ctx context.Context, work func()) (string, error) {
			at, err := addr()
			if err != nil {
				return "", err
			}
			service := limosaecho.Service(limosaEcho{work})
			service.Methods = append(service.Methods, exchangeHandler())
			s := &limosa.Server{Services: []rpc.Service{service}, Handlers: like.Handlers, Protocols: like.Protocols}
			return serveLimosa(ctx, at, s)
		},
		Dial: func(_ context.Context, at string, n int, _ func()) (*trial.Target, error) {
			return limosaTarget(n, func() rpc.Caller { return &limosa.Client{Target: at, Thrift: form} }), nil
		},
	}}
}

// serveLimosa starts a server, and gives the address that it listens on.
func serveLimosa(ctx context.Context, addr string, s *limosa.Server) (string, error) {
	l, err := limosa.Listen(addr)
	if err != nil {
		return "", err
	}
	go s.Serve(ctx, l)
	if strings.HasPrefix(addr, "unix://") {
		return addr, nil
	}
	return l.Addr().String(), nil
}

// limosaTarget makes n clients (at least one), which the callers share.
func limosaTarget(n int, newCaller func() rpc.Caller) *trial.Target {
	var callers []rpc.Caller
	for range max(n, 1) {
		callers = append(callers, newCaller())
	}
	closeAll := func() {
		for _, c := range callers {
			c.Close()
		}
	}
	return &trial.Target{Close: closeAll, Caller: func(_ context.Context, worker int, text string) (trial.Call, error) {
		client := limosaecho.NewClient(callers[worker%len(callers)])
		req := &limosaecho.Message{Text: text, List: make([]int64, trial.ListLen)}
		return func(ctx context.Context, id int64) error {
			req.ID = id
			trial.Fill(req.List, id)
			m, err := client.Echo(ctx, req)
			if err != nil {
				return err
			}
			return trial.Verify(id, text, m.ID, m.Text, m.List)
		}, nil
	}}
}

// dialLimosaLocal is the path in process, for what is left of a call without a connection.
func dialLimosaLocal(_ context.Context, _ string, n int, work func()) (*trial.Target, error) {
	return limosaTarget(n, func() rpc.Caller { return limosa.Local(limosaecho.Service(limosaEcho{work})) }), nil
}

// serveLimosaTLS makes a certificate for itself; its address carries it to the client.
func serveLimosaTLS(ctx context.Context, work func()) (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", err
	}
	s := &limosa.Server{
		Services: []rpc.Service{limosaecho.Service(limosaEcho{work})},
		TLS:      &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
	}
	addr, err := serveLimosa(ctx, "127.0.0.1:0", s)
	return addr + " " + base64.StdEncoding.EncodeToString(der), err
}

// dialLimosaTLS makes a client whose n connections speak TLS.
func dialLimosaTLS(_ context.Context, addr string, n int, _ func()) (*trial.Target, error) {
	addr, text, _ := strings.Cut(addr, " ")
	der, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the server's certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("the server's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return limosaTarget(n, func() rpc.Caller { return &limosa.Client{Target: addr, TLS: &tls.Config{RootCAs: roots}} }), nil
}
