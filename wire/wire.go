// Package wire is what the call engine and a protocol say to each other: the
// Event, the Protocol that recognises itself in first bytes, and the Session
// that cuts and frames the bytes of one connection.
//
// A Session is pure: it knows no socket, clock or goroutine. That is why one
// implementation serves client, server and agent, is fuzzed and replayed from
// scripts, and gains from every speed-up of the engine.
package wire

import (
	"errors"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
)

// Flags say what an Event carries; they combine: a first request may bring an
// offer (Settings), an answer a goodbye (GoAway). A unary request on any protocol is one
// Event (Open | Message | End), and so is its answer.
type Flags uint32

const (
	// Open starts a call: Service, Method, Header, Timeout are set.
	Open Flags = 1 << iota
	// Message carries a message in Body.
	Message
	// End says that this side sends nothing more for the call. On an answer
	// Err or Trailer may come with it.
	End
	// Oneway marks a request that has no answer.
	Oneway
	// Reset ends a call at once, on both sides; Err says why. A server's End
	// follows all the same: then the call's id is free.
	Reset
	// Credit lets the peer send Credit more bytes of the stream ID, or without
	// the flag Stream of pieces. With Piece it has the piece take credit.
	Credit
	// Ping asks for, or is, a sign of life; Apply answers it.
	Ping
	// Settings carries what the peer offers or accepts; Apply takes it into
	// effect, after which Caps may differ.
	Settings
	// GoAway says that the peer takes no more calls on this connection.
	GoAway
	// HasLast, beside GoAway, says that calls with an ID above the event's which the
	// peer has not answered were not started, and will not be. With ID 0, which
	// is all that Begin is given, those are all calls: it is the peer's last word.
	HasLast
	// Unordered marks a request whose answer may overtake earlier ones; all
	// others are answered in the order of their arrival.
	Unordered
	// Piece marks a message that goes in several frames, where Caps has Pieces:
	// Total is the size of the whole body, Offset what of it went before. The
	// last piece has End. Only Begin sees pieces: Cut gathers them.
	Piece
	// Close asks the engine to close the connection after this event is
	// flushed: what the protocol demands after certain answers.
	Close
	// Stream marks every event of a call of several messages. Such a call
	// begins with an Open; each message is an event, the last of each side has
	// End. Err without End or Reset tells of a message that was not received.
	Stream
	// Packed, beside Message, says that Body is a whole message as the peer has
	// compressed it, or as Pack has, envelope included. Session.Unpack makes the event whole;
	// until then Service, Method and Oneway are not known, and of an answer
	// neither are Err and the ID, which is a guess.
	Packed
	// Early, beside Stream and Message, says that the peer had not heard of credit
	// yet when it sent the message, and so may have had none for it.
	Early
	// Note has the event given to Apply, whatever else it is: Cut found something that
	// the sending side has to know, or has to decide.
	Note
	// Refused, beside Open and Err, says that Service and Method are what the caller has asked for,
	// although the protocol refuses the request: interceptors see it, as a call of that method. Without
	// it not even the method is sure.
	Refused
)

// Applied are the flags of the events that Apply is to see.
const Applied = Settings | Credit | Ping | GoAway | Note

var flagNames = [...]string{"open", "message", "end", "oneway", "reset", "credit", "ping", "settings", "goaway", "last", "unordered", "piece", "close", "stream", "packed", "early", "note", "refused"}

// String gives the flags in words, joined by |.
func (f Flags) String() string {
	var names []string
	for i, n := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, "|")
}

// An Event is one thing that a peer said, or that is to be said to it.
//
// Of an Event that Cut returned, Body is owned by whoever takes the Event and
// must be released; everything else is memory of the GC. Of an Event given to
// Begin and End the Session keeps nothing.
type Event struct {
	Flags   Flags
	Took    int32  // what a message has used up of its stream's window, bytes, where Caps has Strict
	ID      uint64 // the call on this connection; chosen by the client's engine
	Service string // may be empty where the protocol does not say
	Method  string
	Header  rpc.Metadata
	Trailer rpc.Metadata
	Timeout time.Duration // the rest of the caller's deadline; 0: none
	Credit  int           // bytes, with the flag Credit
	Total   int           // bytes of the whole body, with the flag Piece
	Offset  int           // bytes of the body that went before, with the flag Piece
	Err     *rpc.Error    // code, text and details, as the peer said or is to be told
	Body    buf.View      // arguments or result only, without any envelope

	// Encoding is how Body is written. An answer's is its request's.
	Encoding rpc.Encoding

	// Tag is opaque to the engine: written by Cut of a request and given back
	// with all its answers (form, sequence ids and flags of the request).
	Tag [2]uint64
}

// A Match is what Sniff says of a prefix.
type Match struct {
	Verdict Verdict
	Need    int // with More: bytes of prefix that would tell
}

// A Verdict is yes, no, or not yet.
type Verdict uint8

const (
	No   Verdict = iota // this protocol cannot begin so
	Yes                 // it does
	More                // it may; Need bytes tell
)

// A Side is an end of a connection.
type Side uint8

const (
	Client Side = iota
	Server
)

// A Protocol makes Sessions. It is a constant value, safe for concurrent use.
type Protocol interface {
	// Name is the protocol's, for logs and allow lists.
	Name() string
	// Sniff judges the first bytes of a connection, which it borrows.
	Sniff(prefix []byte) Match
	// Open makes the session of a new connection. It writes nothing: what a
	// client says first goes out with its first Begin.
	Open(side Side, lim *rpc.Limits) Session
}

// A Session frames the calls of one connection. Each of its fields belongs to
// the read role or to the output lock; facts cross from the one to the other
// only as Events that the engine gives to Apply.
type Session interface {
	// Cut takes the next event off in; the caller holds the read role. With
	// no whole event there it returns an event without flags and the number
	// of bytes that are missing (at least 1). With an event need may be below zero: there
	// is another one already, whatever is in in, and Cut is called again before anything
	// is made of this one. An error ends the connection;
	// what must still be said to the peer comes as an event with Close first.
	Cut(in *buf.In) (ev Event, need int, err error)

	// Unpack makes an event with Packed whole: it inflates Body, once, to at most
	// most bytes and within the limits, gives the packed one back, and fills in
	// what the envelope says, an answer's ID too. A fault is what it returns, and
	// ev's Err, and Body is empty then; the connection is in order. Who consumes
	// the event calls it, on any goroutine, with neither the read role nor the
	// output lock: it uses nothing of the session that changes.
	Unpack(ev *Event, most int) *rpc.Error

	// Pack compresses the body of an answer to a request that came with Packed, and
	// sets the flag; without it the answer goes as it is. An error is that of a
	// body that is too large. It is called before Begin, like Unpack by any
	// goroutine, with no lock, and keeps nothing of ev and body.
	Pack(ev *Event, body *buf.Out) error

	// Held is the number of bytes of memory that the session holds between two
	// Cuts, besides its own constant size: messages of which pieces have arrived,
	// caches. The caller holds the read role.
	Held() int

	// Allow tells a server's session how large a request or a message of a stream,
	// and how much of unfinished ones together, may be from now on, besides its limits: what is larger is
	// refused and read past, also if it has begun to arrive. The caller holds the
	// read role.
	Allow(bytes int)

	// Unfinished is 0 if there is no message of which some pieces have arrived and
	// others not, else a number that changes with each piece. The caller holds the
	// read role.
	Unfinished() uint64

	// Apply takes an event with a flag of Applied into effect on the sending side, and
	// appends what is to be answered. It is called once for each such event, in the
	// order in which they were cut and before anything else is made of them, by a
	// caller that holds both the read role and the output lock: it is the only place
	// where facts cross between what the two own. It may give ev another ID, set Stream,
	// replace Body or take it away, and clear Flags, of which none may be left. What it
	// appends to an event with Settings is sent at once, the rest with what follows.
	//
	// To a session with Caps.Pending, and to no other, an engine that has waited
	// long enough also gives an Event with nothing but Settings, without the read role:
	// the peer is to count as one that was asked and says nothing.
	Apply(out *buf.Out, ev *Event)

	// Begin appends the head of a frame for ev; the caller, which holds the
	// output lock, lets the codec append the body and calls End. It returns
	// the mark that End needs and that takes a failed encode back. Nothing that Begin
	// has done counts until End has returned nil: where the body cannot be encoded the
	// engine truncates out and does not call End, and the next Begin or Apply undoes
	// what this one did.
	Begin(out *buf.Out, ev *Event) buf.Mark

	// End finishes the frame begun at m: lengths are patched, trailers added.
	// It fails when the frame has become too large for the protocol or the
	// limits; the caller truncates out to m then. What the peer cannot be told, or
	// needs not be told any more, such as the answer to a call that it has reset, is
	// no error: nothing is appended. ErrSpent says that this connection can carry no
	// further call; those that were begun go on.
	End(out *buf.Out, m buf.Mark, ev *Event) error

	// Credit is the number of bytes of messages that may be framed for a stream
	// now; the output lock is held. With any room at all a whole message may
	// be: what it takes beyond has to be granted again before the next. With id
	// 0 it is the room for pieces that take credit; unary calls ask for nothing
	// else.
	Credit(id uint64) int

	// Caps says what the peer is known to understand; the output lock is held.
	Caps() Caps
}

// ErrSpent is the error of [Session.End] for a request that its connection has no id
// left for, and will have none.
var ErrSpent = errors.New("wire: the ids of the connection are used up")

// Caps is what a connection can carry, as negotiated so far. The engine asks again
// after each event with Settings.
type Caps struct {
	Mux       bool // calls carry ids: many may be in flight, answers in any order
	Streams   bool // calls of several messages, many at once
	Pieces    bool // large messages go in pieces, small calls in between
	Deadlines bool // the caller's deadline reaches the server
	Pending   bool // the peer was asked and has not said yet what it can do

	// Calls is how many calls and streams the peer takes at once, those of which it was
	// told that they were given up not among them; the others wait. 0: any number.
	Calls int
	// Settling says that the peer has not said yet how many it takes, and will: until an
	// event with Settings Calls is what any peer takes. Begin of an event with nothing but
	// Settings appends what the peer waits for before it says so, unless that was sent.
	Settling bool

	// What follows is the protocol's, and constant.

	Encoding  rpc.Encoding // of the bodies of requests
	Unnamed   bool         // answers do not say the method
	Final     bool         // a Reset ends a call at once, here as well: its answer does not come any more, and its ID not again
	Exclusive bool         // one call or stream at a time, the next behind its end; a Reset ends the connection
	Strict    bool         // the session sees to it that the peer sends no more than it was granted; events say in Took what that was
	Listens   bool         // what the peer says while nothing is called wants an answer soon
	Leads     bool         // the first message of a stream's answer has in Trailer the call's metadata, of which the pairs that are rpc.Leading go before it
	Probes    bool         // either side may send a Ping, whose answer is an event, but seldom: many are taken for an attack

	// Window is what either side of a stream may send before the other has
	// granted more by Credit, bytes; 0: the peer knows no credit. Each message
	// counts MessageCost bytes besides its own.
	Window, MessageCost int
}
