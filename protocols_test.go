package limosa_test

import (
	"crypto/tls"
	"sync/atomic"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// routed is TTHeader as a protocol that has to know the methods, and has a name.
type routed struct {
	ttheader.Protocol
	found *atomic.Pointer[rpc.Method]
}

func (r routed) Serving(find func(service, method string) *rpc.Method) wire.Protocol {
	r.found.Store(find("Book", "lookup"))
	if find("Book", "burn") != nil || find("", "lookup") != nil {
		r.found.Store(nil)
	}
	return r.Protocol
}

func (routed) ALPN() string { return "book/1" }

// A protocol that has to know the methods is told them, and one with a name is given to
// who asks for that in a TLS handshake; who does not is served as before.
func TestProtocolsThatAskAndAreAsked(t *testing.T) {
	cert, pool := certificate(t)
	var found atomic.Pointer[rpc.Method]
	target, _ := start(t, &limosa.Server{
		Services: []rpc.Service{book()}, TLS: &tls.Config{Certificates: []tls.Certificate{cert}},
		Protocols: []wire.Protocol{routed{ttheader.Protocol{}, &found}},
	}, "127.0.0.1:0")
	for _, names := range [][]string{nil, {"book/1"}, {"other", "book/1"}} {
		nc, err := tls.Dial("tcp", target, &tls.Config{RootCAs: pool, NextProtos: names, ServerName: "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if names != nil {
			want = "book/1"
		}
		if got := nc.ConnectionState().NegotiatedProtocol; got != want {
			t.Errorf("asked for %q: %q", names, got)
		}
		nc.Close()
	}
	if m := found.Load(); m == nil || m.Name != lookup.Name {
		t.Error("the protocol does not find the method")
	}
}
