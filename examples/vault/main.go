// Command vault shows mutual TLS: the server knows each client by its
// certificate, and gives a secret to those that may have it.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/vault/gen/vault"
	"github.com/limosa-rpc/limosa/rpc"
)

//go:generate go run github.com/limosa-rpc/limosa/gen/limosa-gen -out gen vault.thrift

type store map[string]string

func (s store) Secret(ctx context.Context, name string) (string, error) {
	secret, ok := s[name]
	if !ok {
		return "", rpc.Errorf(rpc.NotFound, "no secret %q", name)
	}
	return secret, nil
}

// mayCall lets in whose certificate has one of the names.
func mayCall(names ...string) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		if who := s.PeerCertificates[0].Subject.CommonName; !slices.Contains(names, who) {
			return fmt.Errorf("%s may not call", who)
		}
		return nil
	}
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	ca, err := newAuthority() // authority.go makes certificates; yours come as files, for tls.LoadX509KeyPair
	if err != nil {
		return err
	}
	server := limosa.Server{Services: []rpc.Service{vault.Service(store{"db": "hunter2"})}, TLS: &tls.Config{
		Certificates:     ca.issue("vault"),
		ClientCAs:        ca.pool,
		ClientAuth:       tls.RequireAndVerifyClientCert,
		VerifyConnection: mayCall("billing"),
	}}
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	for _, name := range []string{"billing", "crawler"} {
		c := &limosa.Client{Target: l.Addr().String(), TLS: &tls.Config{
			RootCAs:      ca.pool,
			Certificates: ca.issue(name),
		}}
		secret, err := vault.NewClient(c).Secret(context.Background(), "db")
		fmt.Fprintf(out, "%s: %q %v\n", name, secret, rpc.CodeOf(err))
		c.Close()
	}
	stop()
	return <-served
}
