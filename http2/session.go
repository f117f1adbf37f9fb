package http2

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
	MessageBytes  int `default:"16 MiB"` // of a gathered body, and of one frame begun and ended
	HeldBytes     int `default:"32 MiB"` // of all bodies that are being gathered; never less than MessageBytes
	HeaderBytes   int `default:"16 KiB"` // of a header list; four times as much on the wire ends the connection
	HeaderEntries int `default:"128"`
	Streams       int `default:"1024"` // server: streams that the peer may have open

	// StreamWindow is what the peer may send on a stream before it was granted more;
	// it grows up to StreamWindowMax where that holds the peer up. ConnWindow bounds all
	// streams together, and is granted as bytes arrive, whoever consumes them.
	StreamWindow    int `default:"65535"` // never less
	StreamWindowMax int `default:"1 MiB"`
	ConnWindow      int `default:"16 MiB"`

	// What a peer may send in a second, and at once, before it is taken for an attacker.
	Resets       int `default:"100"` // streams that it has ended, besides as many as were answered
	Pings        int `default:"10"`  // without anything having been sent to it
	SettingsRate int `default:"10"`
	Idle         int `default:"100"`  // frames that mean nothing: empty, unknown, priorities
	Updates      int `default:"1000"` // of windows, besides two for each DATA frame that it got

	// Gather says for the head of a request that its body is gathered and arrives as
	// one event; bodies of others arrive as they come. It is called by Cut, once for a
	// header block, and uses nothing that changes. nil: all are gathered.
	Gather func(*Fields) bool
}

// withDefaults is c with a value for each field that is zero.
func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field *int
		value int
	}{
		{&c.MessageBytes, 16 << 20}, {&c.HeldBytes, 32 << 20}, {&c.HeaderBytes, 16 << 10}, {&c.HeaderEntries, 128}, {&c.Streams, 1024},
		{&c.StreamWindow, defaultWindow}, {&c.StreamWindowMax, 1 << 20}, {&c.ConnWindow, 16 << 20},
		{&c.Resets, 100}, {&c.Pings, 10}, {&c.SettingsRate, 10}, {&c.Idle, 100}, {&c.Updates, 1000},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	c.HeldBytes = max(c.HeldBytes, c.MessageBytes)
	c.StreamWindow = min(max(c.StreamWindow, defaultWindow), maxWindow)
	c.StreamWindowMax = min(max(c.StreamWindowMax, c.StreamWindow), maxWindow)
	c.ConnWindow = min(max(c.ConnWindow, defaultWindow), maxWindow)
	c.Streams = min(c.Streams, maxID)
	return c
}

// A Session is one end of one connection. docs/how/http2.md has a picture of the
// states that its streams go through.
type Session struct {
	// Set by New, then constant.
	side Side
	cfg  Config

	in  receiving // owned by the read role
	out sending   // guarded by the output lock

	blocked atomic.Bool // a header block is on its way: in.block, for who has the lock only
}

// receiving is what belongs to the read role; Apply, which holds the output lock
// as well, tells it what the other half has decided.
type receiving struct {
	err      error // why nothing more can be cut
	prefaced bool  // server: the preface was seen
	settled  bool  // the peer's first SETTINGS were seen
	offset   int64 // bytes taken off
	dec      decoder
	last     uint32 // server: the highest stream that the peer has opened
	block    headerBlock
	gathers  map[uint32]*gather // nil while there are none
	gathered int                // bytes of memory that they take
	untold   int                // bytes of windows that they have used up and Apply has not heard of
	stray    int                // bytes of the connection's window that no event has told Apply of
	pieces   uint64             // that have come
	allowed  int                // bytes of a body, and of all that are gathered; see Allow
	now      time.Time
	idle     budget
	settings budget
}

// sending is what the output lock guards.
type sending struct {
	greeted bool // preface and settings were sent
	dead    bool // a GOAWAY with an error was sent
	enc     encoder
	cur     begun

	streams table  // by id
	calls   table  // client: by the id of the call
	next    uint32 // client: the id of the next stream
	last    uint32 // server: the highest stream that Apply has seen
	ended   []uint32
	awaited int // streams of which a body is being gathered

	leaving  bool // server: streams beyond stop are not looked at any more
	stop     uint32
	goneAway bool // the peer takes no streams beyond goneLast
	goneLast uint32

	// What the peer announced.
	known       bool
	peerStreams int
	headerList  int
	initial     int // window of a stream

	window  int // bytes that may be sent, on all streams
	most    int // the largest send window relative to initial since there was no stream
	waiting []*stream
	ready   []*stream
	kept    int    // bytes that wait for windows
	moved   uint64 // frames that have left from among them

	recv int // bytes that the peer may send, on all streams
	owed int // bytes received and not yet granted anew

	sent    bool // DATA or HEADERS since the last forgiven ping
	earned  int  // resets that are not counted
	credits int  // updates of windows that are not counted
	pings   budget
	resets  budget
	updates budget
}

// New makes the session of a new connection. It writes nothing: what a side says
// first goes out with its first Begin or Apply.
func New(side Side, cfg Config) *Session {
	s := &Session{side: side, cfg: cfg.withDefaults()}
	s.in.dec.init(s.cfg.HeaderBytes, s.cfg.HeaderEntries)
	s.in.allowed = s.cfg.HeldBytes
	o := &s.out
	o.enc.init()
	o.streams.init(false)
	o.calls.init(true)
	o.next, o.earned = 1, earnedMost
	o.peerStreams, o.headerList = maxID, maxWindow
	o.initial, o.window = defaultWindow, defaultWindow
	o.recv = s.cfg.ConnWindow
	return s
}

// Clock tells the time, before each batch of Cuts: budgets count by it. The caller
// holds the read role.
func (s *Session) Clock(now time.Time) { s.in.now = now }

// Allow tells how large a gathered body, and all of them together, may be from now
// on, besides the limits of Config. A header block of several frames is held to it, too,
// but never to less than HeaderBytes. The caller holds the read role.
func (s *Session) Allow(bytes int) { s.in.allowed = bytes }

// Held is the memory, in bytes, that is held for what has not been cut whole: bodies,
// header blocks, the cache of lists. The caller holds the read role.
func (s *Session) Held() int {
	return s.in.gathered + gatherCost*len(s.in.gathers) + cap(s.in.block.bytes) + s.in.dec.held()
}

// Unfinished is 0 if neither a gathered body nor a header block is on its way,
// else a number that changes with each piece of one. The caller holds the read role.
func (s *Session) Unfinished() uint64 {
	if len(s.in.gathers) == 0 && s.in.block.id == 0 {
		return 0
	}
	return s.in.pieces
}

// Awaited reports whether anything of what Unfinished tells is still waited for: the rest may
// be for streams that this side has ended, of which nothing more comes. The output lock is held.
func (s *Session) Awaited() bool { return s.out.awaited > 0 || s.blocked.Load() }

// Flags say what an Event or a Send carries; they combine.
type Flags uint16

const (
	// Open begins a request: Fields are set. With Err it cannot be received, and
	// nothing more of it arrives: it wants an answer that says so.
	Open Flags = 1 << iota
	// Answer begins one: Fields are set.
	Answer
	// Data: Body is a part of the body, or all of a gathered one.
	Data
	// End: the sender sends nothing more on the stream; Trailer may come with it.
	End
	// Reset: the stream is over, on both sides; Code says why, and Err, if this
	// side has ended it for what the peer did.
	Reset
	// Credit: more may be sent on the stream; with ID 0 on all of them.
	Credit
	// Ping was answered by Apply; Pong answers one of ours. Word is their payload.
	Ping
	Pong
	// Settings: what the peer announces was taken in by Apply; Caps may differ.
	Settings
	// GoAway: the peer takes no streams beyond Last.
	GoAway
	// HasLast, to be sent beside GoAway: streams beyond those that were seen so far
	// are not started. Without it the peer is only asked to open no more.
	HasLast
	// Close: the connection ends once the output has left; Err says why.
	Close
	// Gathered, to be sent by a client beside Open: the answer is to arrive as one event.
	Gathered

	begins // a request that is being gathered: for Apply only
	faulty // Err ends the stream: for Apply only
)

// An Event is one thing that the peer said. Body is owned by whoever takes the
// Event and must be released; everything else is the collector's.
type Event struct {
	Flags   Flags
	ID      uint64  // server: the stream; client: the call, as Begin was told; 0: the connection
	Fields  *Fields // shared; of Open and Answer
	Rest    []Field // fields behind those, this message's own
	Trailer *Fields // shared; with End, or nil
	Tail    []Field // fields behind those
	Body    buf.View
	Took    int // bytes of the windows that it used up, padding too
	Credit  int
	Code    Code
	Last    uint32
	Word    uint64
	Why     string // of GoAway: what the peer says, for a human
	Err     *Error

	at int64 // where its last frame begins, for errors of Apply
}

// A Send is a frame, or the frames of a message, to be sent. A Session keeps
// nothing of it but trailers that wait behind a window.
type Send struct {
	Flags  Flags
	ID     uint64  // as an Event's; a client chooses it with Open, not 0
	Head   *Head   // of Open and Answer
	Fields []Field // behind it
	Brief  Brief   // behind those
	Tail   *Head   // trailers; only with End
	Last   []Field // behind those
	// Body, if not nil, is moved behind what is appended between Begin and End: of a
	// body that was encoded elsewhere nothing is copied.
	Body *buf.Out

	Credit int // bytes that were consumed of a body that is not gathered
	Code   Code
	Word   uint64
	Why    string // of GoAway: for a human
}

// A Brief is a field with a short value that is another one each time, such as a
// timeout: it costs no allocation. The zero Brief is none.
type Brief struct {
	name  string
	value [20]byte
	n     uint8
}

// BriefOf makes a Brief of a copy of value, 20 bytes at most.
func BriefOf(name string, value []byte) (b Brief) {
	b.name = name
	b.n = uint8(copy(b.value[:], value))
	return b
}

// Caps is what the peer is known to take.
type Caps struct {
	Pending bool // it has not announced anything yet
	Streams int  // at once
	Leaving bool // it takes no more
	Spent   bool // the ids are used up
}

// Caps says what may be begun. The output lock is held.
func (s *Session) Caps() Caps {
	o := &s.out
	return Caps{Pending: !o.known, Streams: o.peerStreams, Leaving: o.goneAway || o.dead, Spent: o.next > maxID}
}

// Unstarted reports whether the peer has said that it did not start the call and
// will not. The output lock is held.
func (s *Session) Unstarted(call uint64) bool {
	st := s.out.calls.find(call)
	return s.out.goneAway && st != nil && st.id > s.out.goneLast
}

// Kept is how many bytes wait for windows, and a number that grows with each frame
// that leaves from among them. The output lock is held.
func (s *Session) Kept() (bytes int, moved uint64) { return s.out.kept, s.out.moved }

// Credit is how many bytes may be sent now on a stream, or with id 0 on all
// together, without having to wait. The output lock is held.
func (s *Session) Credit(id uint64) int {
	o := &s.out
	if id == 0 {
		return max(0, o.window)
	}
	st := s.stream(id)
	if st == nil || !st.live || st.kept != nil {
		return 0
	}
	return max(0, min(o.window, o.initial+st.send))
}

// Number is that of the stream of a call which lives, 0 if there is none. The output
// lock is held.
func (s *Session) Number(id uint64) uint64 {
	if st := s.stream(id); st != nil && st.live {
		return uint64(st.id)
	}
	return 0
}

// stream finds a stream by the id that the user knows; nil if there is none.
func (s *Session) stream(id uint64) *stream {
	if s.side == Client {
		return s.out.calls.find(id)
	}
	if id > maxID {
		return nil
	}
	return s.out.streams.find(id)
}
