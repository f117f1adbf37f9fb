package endpoint_test

import (
	"crypto/tls"
	"slices"
	"testing"

	"github.com/limosa-rpc/limosa/endpoint"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
)

// named is a protocol that has a name in TLS handshakes.
type named struct{ ttheader.Protocol }

func (named) ALPN() string { return "book/1" }

// A client asks for its protocol by name: servers of gRPC end connections that do not.
func TestClientAsksForItsProtocol(t *testing.T) {
	cert, pool := rig.Certificate(t)
	asked := make(chan []string, 1)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{cert}, NextProtos: []string{"book/1"},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			select {
			case asked <- hello.SupportedProtos:
			default: // once more
			}
			return nil, nil
		},
	})
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
			nc.Read(make([]byte, 1)) //nolint:errcheck // its handshake
			nc.Close()
		}
	}()
	e := endpoint.New(endpoint.Config{Network: "tcp", Addr: l.Addr().String(), Protocol: named{}, WithoutOffer: named{}, TLS: &tls.Config{RootCAs: pool}, Limits: rpc.Limits{}.WithDefaults()})
	defer e.Close()
	_, m := rig.One("lookup", nil)
	if _, err := rig.Call(t.Context(), e, m, ""); err == nil {
		t.Error("the call has succeeded")
	}
	if got := <-asked; !slices.Equal(got, []string{"book/1"}) {
		t.Errorf("it has asked for %q", got)
	}
}
