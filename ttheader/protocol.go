// Package ttheader frames Thrift calls: TTHeader as Kitex speaks it, THeader as
// Apache and fbthrift do, framed and buffered (bare) messages, in the strict
// Binary or the Compact protocol. On TTHeader it also negotiates with peers of
// its own kind, so that many calls share a connection.
//
// It is pure: a Session cuts borrowed input into wire.Events and appends
// frames to an Out. Sockets, clocks and goroutines are the engine's. The bytes
// are described in docs/wire.
package ttheader

import (
	"encoding/binary"
	"math"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A Form is how a client wraps its messages.
type Form uint8

const (
	// TTHeader puts a header with metadata before each message.
	TTHeader Form = iota
	// Framed puts a length of four bytes before each message.
	Framed
	// Buffered sends bare messages.
	Buffered
	// THeader puts the header of Apache's THeaderTransport before each message.
	THeader
)

var formNames = [...]string{TTHeader: "ttheader", Framed: "framed", Buffered: "buffered", THeader: "theader"}

// String gives the form's name, as settings of a target have it.
func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return "unknown form"
}

// A Protocol makes Sessions. The zero value speaks TTHeader and offers
// multiplexing to the peer. It is a constant value, safe for concurrent use.
//
// As a client it speaks its Form; as a server it understands all of them and
// answers in the form of the request, so that Form, Compact and NoOffer do not
// matter.
type Protocol struct {
	Form        Form
	Compact     bool // messages are in the Compact protocol; Kitex does not know it, on TTHeader least of all
	Multiplexed bool // method names are "Service:method", as Apache's TMultiplexedProtocol writes them; a server takes them always
	NonStrict   bool // old messages without a version are taken too, and answered alike
	NoOffer     bool // a client does not ask whether the peer is one of its kind
	NoPieces    bool // a server takes, and sends, large messages in one piece

	// Host names this machine. A client's offer carries it; a server tells the
	// two doors below only to clients of the same, non-empty host.
	Host string
	Unix string // server: path of its unix socket; empty: none
	Shm  string // server: path of its shared-memory door; empty: none
}

var _ wire.Protocol = Protocol{}

// Name is the form's: what a server detects goes by many names.
func (p Protocol) Name() string { return p.Form.String() }

// Open makes the session of a new connection.
func (p Protocol) Open(side wire.Side, lim *rpc.Limits) wire.Session {
	s := &Session{p: p, side: side, lim: lim, maxHeader: lim.HeaderBytes + pairOverhead*lim.HeaderEntries + ownHeader}
	s.offers = side == wire.Client && p.Form == TTHeader && !p.NoOffer
	s.in.first, s.in.allowed = true, math.MaxInt
	return s
}

// What precedes a message; all numbers are big endian.
const (
	magic        = 0x1000 // bytes 4 and 5 of a TTHeader
	theaderMagic = 0x0fff // the same of a THeader
	meshMagic    = 0xffaf // bytes 0 and 1 of Kitex's mesh header
	strict       = 0x8001 // bytes 0 and 1 of a strict message
	compactID    = 0x82   // byte 0 of a compact message; version and type are in the next one
	sniffLen     = 6      // enough to tell all forms apart
)

// A lead is what the first bytes of a frame are.
type lead uint8

const (
	leadShort   lead = iota // not enough bytes to tell
	leadUnknown             // nothing of ours
	leadTTHeader
	leadMesh
	leadBare
	leadFramed
	leadOldBare // messages without a version
	leadOldFramed
	leadTHeader
	leadCompact // bare
	leadCompactFramed
)

// compact reports whether p begins like a compact message: the protocol, then
// version 1 below the type, which is 1 to 4.
func compact(p []byte) bool {
	return p[0] == compactID && p[1]&31 == 1 && p[1]>>5 >= 1 && p[1]>>5 <= 4
}

// detect tells what p begins with, in the order of docs/rules/sniffing.md: what has no
// length before it is known by its first two bytes, the rest by those behind four bytes
// of length.
func detect(p []byte, nonStrict bool) lead {
	if len(p) >= 2 {
		switch binary.BigEndian.Uint16(p) {
		case strict:
			return leadBare
		case meshMagic:
			return leadMesh
		}
		if compact(p) {
			return leadCompact
		}
	}
	switch {
	case len(p) == 0:
		return leadShort
	case p[0] >= 0x80 && (len(p) > 1 || p[0] != strict>>8 && p[0] != meshMagic>>8 && p[0] != compactID):
		return leadUnknown // as a length it is above 2 GB
	case len(p) < sniffLen:
		return leadShort
	}
	return detectSized(p, nonStrict)
}

// detectSized is detect for what begins with four bytes of length: that of the frame,
// or of the name in a message without a version. p has sniffLen bytes at the least.
func detectSized(p []byte, nonStrict bool) lead {
	switch binary.BigEndian.Uint16(p[4:]) {
	case magic:
		return leadTTHeader
	case theaderMagic:
		return leadTHeader
	case strict:
		return leadFramed
	case 0:
		if nonStrict {
			return leadOldFramed // the name's length, which is below 64 KB
		}
	}
	if compact(p[4:]) {
		return leadCompactFramed
	}
	// The name's length, then its first letter: what stands there in framed
	// messages of other protocols is no letter.
	if nonStrict && p[0] == 0 && p[1] == 0 && p[4] > ' ' && p[4] < 0x7f {
		return leadOldBare
	}
	return leadUnknown
}

// Sniff judges the first bytes of a connection, which it borrows.
func (p Protocol) Sniff(prefix []byte) wire.Match {
	switch detect(prefix, p.NonStrict) {
	case leadShort:
		return wire.Match{Verdict: wire.More, Need: sniffLen}
	case leadUnknown:
		return wire.Match{Verdict: wire.No}
	}
	return wire.Match{Verdict: wire.Yes}
}
