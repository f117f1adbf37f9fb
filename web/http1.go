package web

import (
	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/http1"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// HTTP1 is HTTP/1.1 with the Connect protocol, on a server: POST of a message in Protobuf or
// JSON, GET for methods that only read. It is a constant value, safe for concurrent use.
//
// A request is answered in its turn, however many come behind each other on a connection
// and in whatever order their handlers end; the connection stays, as HTTP has it. From its
// first byte a request has Limits.FrameRest to come whole.
type HTTP1 struct {
	// Find gives a server's method by the exact names of its service and itself; nil: there
	// is none. Without Find there are no methods.
	Find func(service, method string) *rpc.Method

	answers *connectAnswers[http1.Head] // nil: each connection makes its own
}

var (
	_ wire.Router  = HTTP1{}
	_ wire.Named   = HTTP1{}
	_ wire.Clocked = (*plain)(nil)
	_ wire.Closer  = (*plain)(nil)
	_ rpc.Coder    = (*plain)(nil)
)

// ALPN implements [wire.Named].
func (p HTTP1) ALPN() string { return "http/1.1" }

// Name implements [wire.Protocol].
func (p HTTP1) Name() string { return "http1" }

// Sniff implements [wire.Protocol]: a request begins with its method.
func (p HTTP1) Sniff(prefix []byte) wire.Match {
	switch need, ok := http1.Sniff(prefix); {
	case !ok:
		return wire.Match{Verdict: wire.No}
	case need > 0:
		return wire.Match{Verdict: wire.More, Need: len(prefix) + need}
	}
	return wire.Match{Verdict: wire.Yes}
}

// Serving implements [wire.Router].
func (p HTTP1) Serving(find func(service, method string) *rpc.Method) wire.Protocol {
	p.Find, p.answers = find, newConnectAnswers(http1.NewHead, connect.Kinds)
	return p
}

// Open implements [wire.Protocol]. Only servers speak it.
func (p HTTP1) Open(side wire.Side, lim *rpc.Limits) wire.Session {
	if side != wire.Server {
		panic("web: HTTP1 is a protocol of servers")
	}
	if p.answers == nil {
		p.answers = newConnectAnswers(http1.NewHead, connect.Kinds)
	}
	s := &plain{p: p, lim: lim}
	s.h = http1.New(http1.Server, http1.Config{
		MessageBytes: lim.MessageBytes, HeaderBytes: lim.HeaderBytes + lineRoom, HeaderEntries: 2 * lim.HeaderEntries,
		Pipeline: 2 * lim.CallsPerConn, // the engine refuses before
	})
	return s
}

// lineRoom is what a head may have besides metadata: its first line, and what is HTTP's own.
const lineRoom = 4 << 10
