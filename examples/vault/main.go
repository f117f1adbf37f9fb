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

// A store has secrets by their names.
type store map[string]string

// Secret does not ask who calls: mayCall has done that for all methods.
func (s store) Secret(ctx context.Context, name string) (string, error) {
	secret, ok := s[name]
	if !ok {
		return "", rpc.Errorf(rpc.NotFound, "no secret %q", name)
	}
	return secret, nil
}

// mayCall lets in whose certificate has one of the names.
func mayCall(names ...string) rpc.Interceptor {
	return func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
		who := c.PeerInfo().Identity() // verified; nil without a certificate
		if who == nil || !slices.Contains(names, who.Subject.CommonName) {
			return rpc.Errorf(rpc.PermissionDenied, "who are you?")
		}
		return next(ctx, c)
	}
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves a vault, and asks it for a secret as two clients, of which one may have it.
func run(out io.Writer) error {
	ca, err := newAuthority() // authority.go makes certificates; yours come as files, for tls.LoadX509KeyPair
	if err != nil {
		return err
	}
	server := limosa.Server{
		Services:     []rpc.Service{vault.Service(store{"db": "hunter2"})},
		Interceptors: []rpc.Interceptor{mayCall("billing")},
		// The handshake lets in whoever has a certificate of the authority; who that is, is looked at for each call.
		TLS: &tls.Config{
			Certificates: ca.issue("vault"),
			ClientCAs:    ca.pool,
			ClientAuth:   tls.RequireAndVerifyClientCert,
		},
	}
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	for _, name := range []string{"billing", "crawler"} {
		c := &limosa.Client{
			Target: l.Addr().String(),
			TLS:    &tls.Config{RootCAs: ca.pool, Certificates: ca.issue(name)},
		}
		secret, err := vault.NewClient(c).Secret(context.Background(), "db")
		fmt.Fprintf(out, "%s: %q %v\n", name, secret, rpc.CodeOf(err))
		c.Close()
	}
	stop()
	return <-served
}
