package wire

import (
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

// What a Session may have besides. The engine looks once, when the connection begins. One
// that is an [rpc.Coder] brings codecs for encodings that those of methods do not have.

// A Clocked session is told the time before each batch of Cuts, by the holder of the
// read role: floods make no events, so the session counts them, and needs the time for it.
type Clocked interface {
	// Clock says what time it is.
	Clock(now time.Time)
}

// A Keeper keeps messages that were framed until the peer has room for them; Apply
// appends what has got some.
type Keeper interface {
	// Kept is how many bytes wait, and a number that changes whenever some have left;
	// the output lock is held.
	Kept() (bytes int, moved uint64)
}

// An Awaiter gathers messages for calls that this side may give up meanwhile.
type Awaiter interface {
	// Awaited reports whether anything that Unfinished tells of is still waited for;
	// the output lock is held. Where a session has no such method, all of it is.
	Awaited() bool
}

// An Orderer gives calls ids of its own on the wire, in the order in which they are begun.
type Orderer interface {
	// Unstarted says of a call, behind an event with HasLast, whether the peer has
	// not started it, and will not; the output lock is held. Where a session has no
	// such method, the IDs of events are those that the peer has named.
	Unstarted(id uint64) bool
}

// A Closer ends its connection with an answer: in HTTP/1 the last one is followed by the
// end. The engine asks whenever a call has ended, and after each batch. A peer that ends the
// connection, or its side of it, has given up its calls.
type Closer interface {
	// Closes says that nothing more is said on the connection, which ends once the output
	// has left; the output lock is held.
	Closes() bool
}

// What a Protocol may have besides. A server looks when it begins to serve.

// A Router is a Protocol that has to know a server's methods to take apart what arrives:
// where the wire does not say whether a request is one message or opens a stream.
type Router interface {
	Protocol
	// Serving gives the Protocol for a server whose method of these names, exactly, find
	// knows; nil: there is none.
	Serving(find func(service, method string) *rpc.Method) Protocol
}

// A Named Protocol is one that clients ask for in a TLS handshake (RFC 7301).
type Named interface {
	Protocol
	// ALPN is its name there.
	ALPN() string
}

// An Addressed Protocol is one whose requests say whom they are for. A client looks when
// it begins.
type Addressed interface {
	Protocol
	// Calling gives the Protocol for a client of the server at host, as requests name it,
	// with its port; secure: over TLS.
	Calling(host string, secure bool) Protocol
	// Refuses says why calls of m cannot be made in this protocol; "": they can.
	Refuses(m *rpc.Method) string
}
