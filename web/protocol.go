package web

import (
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A Protocol is gRPC over HTTP/2, and Connect: servers speak both. It is a constant value,
// safe for concurrent use.
type Protocol struct {
	// Find gives a server's method by the exact names of its service and itself; nil: there
	// is none. It says whether a request is one message or opens a stream, which its head
	// does not. Without Find there are no methods.
	Find func(service, method string) *rpc.Method

	// Authority is the host and port that a client calls; Secure says that it does so over TLS.
	Authority string
	Secure    bool

	// Connect says that a client speaks Connect; servers know by what they are asked.
	Connect bool

	answers *answers // of a server; nil: each connection makes its own
}

var (
	_ wire.Router = Protocol{}
	_ wire.Named  = Protocol{}

	_ wire.Addressed = Protocol{}

	_ wire.Clocked = (*Session)(nil)
	_ wire.Keeper  = (*Session)(nil)
	_ wire.Awaiter = (*Session)(nil)
	_ wire.Orderer = (*Session)(nil)
)

// ALPN implements [wire.Named]: it is the name of HTTP/2, where clients of gRPC insist on it.
func (p Protocol) ALPN() string { return "h2" }

// Name implements [wire.Protocol]: "grpc", or "connect".
func (p Protocol) Name() string {
	if p.Connect {
		return "connect"
	}
	return "grpc"
}

// Sniff implements [wire.Protocol]: a client of HTTP/2 that knows what it talks to begins with
// a preface of its own.
func (p Protocol) Sniff(prefix []byte) wire.Match {
	n := min(len(prefix), len(http2.Preface))
	switch {
	case string(prefix[:n]) != http2.Preface[:n]:
		return wire.Match{Verdict: wire.No}
	case n < len(http2.Preface):
		return wire.Match{Verdict: wire.More, Need: len(http2.Preface)}
	}
	return wire.Match{Verdict: wire.Yes}
}

// Serving implements [wire.Router].
func (p Protocol) Serving(find func(service, method string) *rpc.Method) wire.Protocol {
	p.Find, p.answers = find, newAnswers()
	return p
}

// Calling implements [wire.Addressed].
func (p Protocol) Calling(host string, secure bool) wire.Protocol {
	p.Authority, p.Secure = host, secure
	return p
}

// Refuses implements [wire.Addressed]: messages of Thrift are none of gRPC's, and those of Connect
// are in Protobuf here.
func (p Protocol) Refuses(m *rpc.Method) string {
	if m.Kind == rpc.Oneway || thrift(m) {
		name := "gRPC"
		if p.Connect {
			name = "a client of Connect"
		}
		return m.String() + " is a method of Thrift, which " + name + " does not carry"
	}
	return ""
}

// Open implements [wire.Protocol].
func (p Protocol) Open(side wire.Side, lim *rpc.Limits) wire.Session {
	s := &Session{p: p, side: side, lim: lim, most: max(lim.HeldPerConn/heldShare, lim.MessageBytes+envelopeRoom)}
	cfg := http2.Config{
		MessageBytes: lim.MessageBytes + envelopeRoom, HeaderBytes: lim.HeaderBytes, HeaderEntries: 2 * lim.HeaderEntries,
		HeldBytes: s.most, Streams: lim.CallsPerConn,
		Gather: s.gathers,
	}
	end := http2.Client
	if side == wire.Server {
		end = http2.Server
		if s.p.answers == nil {
			s.p.answers = newAnswers()
		}
	}
	s.h = http2.New(end, cfg)
	s.in.allowed = s.most
	return s
}

// heldShare of Limits.HeldPerConn is what bodies of requests that are not whole may take
// together, and messages of streams that are not.
const heldShare = 2

// envelopeRoom is what a message of the limit's size may have around it.
const envelopeRoom = 1 << 10
