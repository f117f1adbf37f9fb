package http1

import (
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// A Side is an end of a connection.
type Side uint8

const (
	Client Side = iota
	Server
)

// Config is what a Session is made with. Zero fields stand for the defaults.
type Config struct {
	MessageBytes  int `default:"16 MiB"` // of a gathered body, and of what is appended between a Begin and its End
	HeaderBytes   int `default:"16 KiB"` // of a head, its first line and all line ends included
	HeaderEntries int `default:"128"`    // of a head, or of trailers
	TrailerBytes  int `default:"4 KiB"`
	ChunkBytes    int `default:"4 KiB"` // of a chunked body: what its framing takes beyond 16 bytes a chunk and two for each of its bytes
	Pipeline      int `default:"1024"`  // server: requests that have come and are not answered

	// Gather says for a request by its head that the body is gathered and arrives as
	// one event; bodies of others arrive as they come. It is called by Cut, uses nothing
	// that changes, and keeps nothing of the event. nil: all are gathered.
	Gather func(*Event) bool
}

// withDefaults fills in what is 0. A value below zero counts as 0: no bound is switched off.
func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field *int
		value int
	}{
		{&c.MessageBytes, 16 << 20}, {&c.HeaderBytes, 16 << 10}, {&c.HeaderEntries, 128},
		{&c.TrailerBytes, 4 << 10}, {&c.ChunkBytes, 4 << 10}, {&c.Pipeline, 1024},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	c.MessageBytes = min(c.MessageBytes, lengthMost)
	return c
}

// A Session is one end of one connection. docs/how/http1.md has a picture of the
// states that a message goes through.
type Session struct {
	// Set by New, then constant.
	side Side
	cfg  Config

	in  receiving // owned by the read role
	out sending   // guarded by the output lock

	// Atomic. Written by End of a client's request, read by Cut: the number of
	// the request in flight, and what its answer is framed by. Bytes of an answer
	// follow those of a request, so Cut finds the word that is meant.
	sent atomic.Uint32
}

// The bits of Session.sent below the number.
const (
	sentHead     = 1 << iota // HEAD: the answer has no body
	sentGathered             // the answer is to arrive as one event
	sentShift    = iota
)

// receiving is what belongs to the read role. Between two messages only the first section
// says anything.
type receiving struct {
	err     error  // client: why nothing more can be cut
	over    bool   // what follows means nothing any more
	offset  int64  // bytes taken off
	seen    int    // of those that wait, bytes that held no end of a head
	seq     uint64 // server: the last request; client: the request whose answer was cut
	pieces  uint64 // grows with each part of a message
	waits   int    // bytes that waited at the last look
	interim int    // answers with status 1xx since the last other one
	second  int64  // since 1970, as Clock told; 0: never
	allowed int    // bytes of a gathered body; see Allow
	heads   headCache

	// The message at hand, from the end of its head on.
	state  state
	left   int64 // bytes that are missing of the body, or of the chunk
	excess int64 // what chunks took beyond what they need
	gather bool  // the body is gathered
	last   bool  // nothing follows the message
	head   Event // of a gathered message: what becomes an event once the body is whole
	body   []byte
	whole  buf.View // the only chunk of the body, while its trailers are on their way
}

// A state is what is to come next:
//
//	atHead     a head; without a body the message has ended with it
//	inSized    the rest of a body with a length, then atHead
//	inChunks   the line of a chunk; of the last one: inTrailers
//	inChunk    the rest of a chunk, then behindData, then inChunks
//	inTrailers lines up to an empty one, then atHead
//	untilClose all that comes; EOF ends it
//
// Behind the last message of a connection there is no state, but over.
type state uint8

const (
	atHead     state = iota
	inSized          // left bytes of a body with a length
	inChunks         // the line of a chunk
	inChunk          // left bytes of a chunk
	behindData       // the line end behind a chunk
	inTrailers       // lines up to an empty one
	untilClose       // all that comes
)

// sending is what the output lock guards. Begin touches cur only; the rest changes in End
// once nothing can fail any more, and in Apply.
type sending struct {
	dead    bool // nothing more is sent
	leaving bool // server: the last of the requests that were seen is; client: the answer at hand is
	cur     begun
	msg     framing // of the message that is being sent
	second  int64   // since 1970
	dated   int64   // the second that date tells
	date    [dateBytes]byte

	// Of a server. Answers leave in the order of asked; the fault is the last of them.
	asked asks
	fault *Error // to be told behind the answers to all requests before

	// Of a client. One request is in flight: busy from its End to its answer's.
	call   uint64 // the request in flight, or the last
	number uint32 // of it on this connection
	busy   bool   // its answer has not come
}

// New makes the session of a new connection. It writes nothing.
func New(side Side, cfg Config) *Session {
	s := &Session{side: side, cfg: cfg.withDefaults()}
	s.in.allowed = s.cfg.MessageBytes
	s.in.pieces = 1
	s.out.asked.next = 1
	return s
}

// Clock tells the time, before each batch of Cuts: answers have it as their date.
// Without it they have none. The caller holds the read role.
func (s *Session) Clock(now time.Time) { s.in.second = now.Unix() }

// Allow tells how large a gathered body may be from now on, besides the limit of
// Config; also one that has begun to arrive. The caller holds the read role.
func (s *Session) Allow(bytes int) { s.in.allowed = bytes }

// Held is the memory, in bytes, that is held for what has not been cut whole, and
// for heads that may come again. A body with a length waits in the In. The caller
// holds the read role.
func (s *Session) Held() int {
	r := &s.in
	n := cap(r.body) + r.heads.bytes
	if r.whole.Len() > 0 {
		n += r.whole.Footprint()
	}
	for _, f := range r.head.Rest {
		n += f.size()
	}
	return n
}

// Unfinished is 0 if no message has begun to arrive of which the head was taken off,
// else a number that changes whenever Cut has found more of it. The caller holds the
// read role.
func (s *Session) Unfinished() uint64 {
	if s.in.state == atHead || s.in.over {
		return 0
	}
	return s.in.pieces
}

// Flags say what an Event or a Send carries; they combine: a whole request that has come
// is Open|Data|End, an answer Answer|Data|End, without Data if its body is empty. Of a
// message in parts the first event has Open or Answer, the last End.
type Flags uint16

const (
	// Open begins a request: Fields are set. With Err it cannot be received, and
	// nothing more of it arrives: it wants an answer that says so.
	Open Flags = 1 << iota
	// Answer begins one: Fields are set. With Err the rest cannot be received.
	Answer
	// Data: Body is a part of the body, or all of a gathered one.
	Data
	// End: the sender sends nothing more of the message; Trailer may come with it.
	End
	// Reset: the rest of the message does not come, Err says why; to be sent, it
	// gives the message up, and with it the connection.
	Reset
	// GoAway: the peer takes no more requests on this connection. To be sent by a
	// server: the answer to the last request that was seen will be the last.
	GoAway
	// Close: the connection ends once the output has left; Err says why. To be sent
	// beside Open or Answer, the peer is told that the message is the last; End leaves it
	// if the connection is to end now.
	Close
	// Gathered, to be sent by a client beside Open: the answer is to arrive as one event.
	Gathered
	// Sized, to be sent beside Open or Answer: the body has Length bytes, in all that
	// is sent up to End; an answer to HEAD has none of them.
	Sized

	announced // a request that is being gathered, and waits for a word of ours: for Apply only
)

// An Event is one thing that the peer said. Those that Apply leaves without flags
// were for the Session alone. Body is owned by whoever takes the
// Event and must be released; everything else is the collector's.
//
// # What a server does with it
//
//	case ev.Err != nil && ev.Flags&Open != 0:
//		answer ev.Err.Status: the request cannot be received, and is the last
//	case ev.Flags&Open != 0:
//		call ev.Fields.Path with ev.Body; without End, Data and End events follow
//	case ev.Flags&Reset != 0:
//		give the request up: the rest of it does not come, nor can it be answered
//
// What is wrong with a request otherwise is answered here: by Apply, or by the End of the
// last answer that is owed before. The event that tells of it has Err for a log.
//
// # What a client does with it
//
//	case ev.Flags&Answer != 0:
//		the call's answer; Gathered has asked for all of it in one event
//	case ev.Flags&Reset != 0:
//		the call has failed: what came is no answer
//	if ev.Flags&GoAway != 0 { take another connection for the next request }
//
// When the connection ends, EOF says whether that was the end of an answer:
//
//	if err := s.EOF(in, &ev); err == nil && ev.Flags != 0 { Apply it, as any other }
type Event struct {
	Flags   Flags
	ID      uint64  // server: the number of the request, from 1 on; client: the call, as Begin was told
	Fields  *Fields // shared; of Open and Answer
	Rest    []Field // fields behind those, this message's own
	Length  int64   // of the body, as the head says; -1: it does not. With Open and Answer
	Trailer []Field // with End, or nil
	Body    buf.View
	Err     *Error // also of an event that Apply has taken the flags of, for logs

	ask ask // of a request, for Apply
}

// Lookup finds a field of the head by its name in lower case; of several it is the
// first. It costs no allocation.
func (ev *Event) Lookup(name string) (value string, ok bool) {
	if ev.Fields != nil {
		for i := range ev.Fields.List {
			if f := &ev.Fields.List[i]; f.Name == name {
				return f.Value, true
			}
		}
	}
	for i := range ev.Rest {
		if f := &ev.Rest[i]; f.Name == name {
			return f.Value, true
		}
	}
	return "", false
}

// A Send is a message, or a part of one, to be sent. A Session keeps nothing of it.
//
//	Open|Data|End, Answer|Data|End   a whole message; its length is patched into the head
//	Open, Answer                     the head; the body follows in chunks, or has Length bytes
//	Data                             a part of the body
//	End                              the end of it, alone or beside the last part
//	Reset, GoAway                    no message: what End then says of Close counts
type Send struct {
	Flags  Flags
	ID     uint64  // as an Event's; a client chooses it with Open, not 0
	Head   *Head   // of Open and Answer
	Fields []Field // behind it; without a Head its pseudo-header fields come first
	Brief  Brief   // behind those
	Tail   *Head   // trailers; only with End. A peer of HTTP/1.0 does not get them
	Last   []Field // behind those
	Length int64   // with Sized
	// Body, if not nil, is moved behind what is appended between Begin and End: of a
	// body that was encoded elsewhere nothing is copied.
	Body *buf.Out
}

// Caps is what may be begun.
type Caps struct {
	Busy    bool // client: a request is in flight
	Leaving bool // no request follows those that were begun
}

// Caps says what may be begun. The output lock is held.
func (s *Session) Caps() Caps {
	o := &s.out
	return Caps{Busy: o.busy || o.msg.open, Leaving: o.leaving || o.dead}
}

// Closes reports whether nothing more is sent: the connection ends once the output has
// left. It says for good what Close says of one event, or of one Send. The output lock is held.
func (s *Session) Closes() bool { return s.out.dead }
