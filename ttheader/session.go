package ttheader

import (
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A Session frames the calls of one connection; Protocol.Open makes it.
//
// Events carry what package wire says, and besides: a request's Tag holds the
// form that its answers take, and an answer needs the request's Method. An
// event may combine Settings with Open (a client's offer) or with End (the
// first answer of a peer that said no hello), and GoAway with End. The Header
// of a client's Settings event holds the doors of the server under KeyUnix and
// KeyShm. A server that has given a stream up by Reset still ends it by End.
type Session struct {
	// Set by Open, then constant.
	p         Protocol
	side      wire.Side
	lim       *rpc.Limits
	maxHeader int  // bytes of a TTHeader
	offers    bool // the first frame carries an offer

	// Owned by the read role.
	in struct {
		err        error // why nothing more can be cut
		skip       int   // bytes of a frame that is too large
		first      bool  // no frame was cut yet
		settled    bool  // client: the peer said hello, or answered without
		agreed     abilities
		gathered   int // bytes of pieces that arrived and were not granted anew
		unfinished unfinished
		allowed    int // bytes of a request, and of all that is unfinished; see Allow
		calls      uint64
		names      names
		head       header
		theader    bool // the first frame had a THeader: compressed messages are taken
		skipper    raw.Skipper
		skipping   bool // skipper holds the state of the bare message at hand
		dull       int  // frames that gave no event, see Session.says
	}

	// Guarded by the output lock.
	out struct {
		offered bool // client: the offer was sent
		known   bool // client: what the peer can do is known
		agreed  abilities
		room    int  // bytes of pieces that the peer has granted and that were not sent
		called  bool // client: a call of one message was sent
		leaving bool // server: clients are told to go elsewhere
		streams map[uint32]*sending
		most    int // that were in streams at once

		// Of what is at hand, from Begin to End.
		shape   shape
		offer   bool     // it carries the offer
		data    bool     // it has a stream's message
		inner   buf.Mark // length of the framed message in a TTHeader, or of the DATA frame
		body    buf.Mark // the stream's message, or the piece
		sending *sending // its stream; nil: the first frame is due
		err     error    // what Begin found, for End
	}
}

// KeyUnix and KeyShm are the keys under which a client's Settings event names
// the doors of a server on the same machine.
const (
	KeyUnix = "limosa-unix"
	KeyShm  = "limosa-shm"
)

// A shape is how one message is wrapped; it is kept in a request's Tag.
type shape uint8

const (
	shapeTTHeader shape = iota // the bare message after a TTHeader
	shapeTTFramed              // the framed message after a TTHeader
	shapeFramed
	shapeBuffered
	shapeStream  // a frame of a stream
	shapePiece   // a later piece of a message: bytes without an envelope
	shapeTHeader // the message after a THeader
)

// Tag[0] is shape | flags<<8 | message's sequence id<<32, Tag[1] the header's,
// and of a THeader its flags<<32.
const (
	tagOld     = 1 << 8  // without a version
	tagKitex   = 1 << 9  // Kitex's keys are welcome in the answer
	tagDoors   = 1 << 12 // Settings: the peer runs on this machine
	tagCompact = 1 << 14 // in the Compact protocol
	tagZlib    = 1 << 16 // it came compressed
	tagGive    = 1 << 18 // Credit: it is to be given, for pieces that arrived
	// What is left are those of Settings: abilities.
)

// seqOf is the sequence id of a request's message, which its answer repeats.
func seqOf(tag [2]uint64) int32 { return int32(tag[0] >> 32) }

// Apply takes an offer, a hello or credit into effect; a server answers the
// first with the second.
func (s *Session) Apply(out *buf.Out, ev *wire.Event) {
	switch {
	case ev.Flags&wire.Credit == 0:
	case ev.Tag[0]&tagGive != 0:
		s.appendSignal(out, 0, keyCredit, strconv.Itoa(ev.Credit))
	default:
		s.granted(ev)
	}
	if ev.Flags&wire.Ping != 0 && s.side == wire.Server {
		s.appendSignal(out, 0, keyPing, "1")
	}
	if ev.Flags&wire.Settings == 0 {
		return
	}
	if s.out.agreed = agreedIn(ev.Tag); s.out.agreed.has(pieceCredit) {
		s.out.room = PieceWindow
	}
	if s.side == wire.Client {
		s.out.known = true
		return
	}
	s.appendSignal(out, 0, keyHello, s.helloText(ev.Tag))
	if s.out.leaving { // it was too early to say so before
		s.beginGoAway(out, false)
	}
}

// Caps says what the peer can do, as far as it is known.
func (s *Session) Caps() wire.Caps {
	c := wire.Caps{Mux: s.out.agreed.has(multiplexed), Pieces: s.out.agreed.has(inPieces), Deadlines: s.p.Form == TTHeader || s.p.Form == THeader}
	if s.p.Compact {
		c.Encoding = rpc.Compact
	}
	// Kitex has connections for streams, and others for calls.
	c.Streams = s.out.agreed.has(withStreams) || s.side == wire.Server || s.p.Form == TTHeader && !s.out.agreed.has(ours) && !s.out.called
	if c.Pending = s.offers && !s.out.known; c.Pending || s.out.agreed.has(withStreams) {
		c.Window, c.MessageCost = StreamWindow, StreamMessage
	}
	return c
}

// names holds the names of services and methods, so that those that come
// again cost no allocation. It is bounded: a peer may make names up.
type names struct {
	last  [2]string
	all   *[maxNames]string // each in the one place that its hash names; nil until a second name came
	bytes int               // of the names in all
}

const (
	maxNames     = 64
	maxNameBytes = 64 // of one that is kept
	namesBytes   = maxNames * 16
)

// intern gives b as a string; place is 0 for services and 1 for methods.
func (n *names) intern(place int, b []byte) string {
	if string(b) == n.last[place] {
		return n.last[place]
	}
	switch {
	case len(b) == 0:
		return ""
	case len(b) > maxNameBytes:
		return string(b)
	case n.last[place] == "":
		n.last[place] = string(b)
		return n.last[place]
	case n.all == nil:
		n.all = new([maxNames]string)
	}
	h := uint32(2166136261) // FNV-1a
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	kept := &n.all[(h^h>>16)%maxNames]
	if *kept != string(b) {
		n.bytes += len(b) - len(*kept)
		*kept = string(b)
	}
	n.last[place] = *kept
	return *kept
}

// held is what the names take: the engine counts it as held for the peer, which has
// chosen them.
func (n *names) held() int {
	if n.all == nil {
		return 0
	}
	return n.bytes + namesBytes
}

// codeOf reads the code that a peer of our kind sent; ok is false for OK and
// for what is no code.
func codeOf(v []byte) (c rpc.Code, ok bool) {
	n, err := strconv.ParseUint(string(v), 10, 32)
	if err != nil || n == 0 || n >= uint64(rpc.Codes) {
		return rpc.Unknown, false
	}
	return rpc.Code(n), true
}
