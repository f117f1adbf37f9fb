package web

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/grpc"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A Session is the calls of one connection of HTTP/2; [Protocol.Open] makes it.
//
// # Cut and Apply
//
// http2's events go through its own Apply, which needs both the read role and the output
// lock, as the engine's do through [Session.Apply]. So Cut keeps each as a step, reads out
// of it what can be read without knowing whose it is, and gives the engine an event with
// Note; Apply takes the steps in the same order, and completes the event or takes it away.
//
// A body may hold many messages: they are events of one step. The first comes with it,
// the others follow, and are for the same stream, or for nobody.
//
// A batch that the engine does not look at any more, since this side has said its last
// word, is never applied: the next Clock drops its steps, and their bodies.
//
// # Begin and End
//
// Both build one http2.Send, in place. What it refers to, heads above all, lives as long
// as the connection or the server; fields of one call go into two lists that are used
// again. A frame that has nobody to go to (the stream is over) is skipped: Begin appends
// nothing, and End says nothing, since that is no error of the call.
//
// # Whether a call is a stream
//
// A server knows by the method. A client's reader does not know whose an answer is: its
// messages are taken apart as if it were a stream's, and Apply, which learns the
// call, throws that away if the answer is gathered.
type Session struct {
	// Set by Open, then constant.
	p    Protocol
	side wire.Side
	lim  *rpc.Limits
	most int // bytes of messages of streams that have arrived in part
	h    *http2.Session

	in  receiving // owned by the read role
	out sending   // guarded by the output lock
}

// receiving is what belongs to the read role; Apply has it too.
type receiving struct {
	steps   []step // cut, and not applied from next on
	few     []step // empty: the connection's own memory for them; nil: none yet
	next    int
	body    body
	plain   bool                 // messages of the body that begins may not be compressed
	streams map[uint64]*arriving // whose bodies arrive as they come; nil: none
	held    int                  // bytes of memory of these
	allowed int
	heads   heads
	usual   usual
}

// sending is what the output lock guards.
type sending struct {
	send    http2.Send    // between Begin and End
	skip    bool          // nothing is to be sent
	framing framing       // of the message
	head    buf.Mark      // of its envelope, or of itself
	list    []http2.Field // of send
	last    []http2.Field
	timeout [10]byte

	streams map[uint64]*outgoing // that live, by the id of the call; nil: none
	recent  struct {             // the one of them that was asked for last: the next frame is likely to be for it too
		id     uint64
		stream *outgoing // nil: none
	}
	turned  map[uint64]refusal // of requests that have not come whole; nil: none yet
	over    []uint64           // http2's numbers of those that this side has ended, for the next Apply
	applied applied
	paths   paths
}

// framing is what is around a message that is sent.
type framing uint8

const (
	noMessage  framing = iota // there is none
	inEnvelope                // five bytes, in which its length is
	asBody                    // it is all of the body
)

// An outgoing stream is what is known of one on the side that sends.
type outgoing struct {
	headed bool // server: the answer has begun
}

// stream gives the stream of a call; nil: it does not live.
func (o *sending) stream(id uint64) *outgoing {
	r := &o.recent
	if r.stream == nil || r.id != id {
		r.id, r.stream = id, o.streams[id]
	}
	return r.stream
}

// remember begins the life of a call's stream; dropStream ends it.
func (o *sending) remember(id uint64) {
	if o.streams == nil {
		o.streams = map[uint64]*outgoing{}
	}
	st := new(outgoing)
	o.streams[id] = st
	o.recent.id, o.recent.stream = id, st
}

// applied is what became of the step that was applied last, for those that follow.
type applied struct {
	id     uint64 // the call's
	number uint64 // http2's
	stream bool
	gone   bool // nobody waits for it
}

// streamBit marks the ids of streams in what a client tells http2: so each event says what
// kind of call it is for.
const streamBit = 1 << 40

// A step is an event of http2 that was cut and not yet applied.
type step struct {
	ev     http2.Event
	status int   // not 0: the request is answered with this status of HTTP, and with nothing else
	shape  shape // what kind of call it answers, as its head says
	count  int   // messages that it completes, at most two
	grant  int   // bytes of the stream's window that are to be granted at once
}

const (
	fewSteps  = 4   // those that a connection keeps the memory for
	manySteps = 128 // those of a full batch, whose memory is borrowed
)

// batches is a pool of plain memory: what is in it refers to nothing.
var batches = sync.Pool{New: func() any { return new([manySteps]step) }}

// push adds a step, which h.Cut clears.
func (r *receiving) push() *step {
	n := len(r.steps)
	switch {
	case n < cap(r.steps):
	case n == 0:
		r.few = make([]step, 0, fewSteps)
		r.steps = r.few
	case n == fewSteps:
		r.steps = append(batches.Get().(*[manySteps]step)[:0], r.steps...)
		clear(r.few[:fewSteps])
	default:
		r.steps = slices.Grow(r.steps, 1)
	}
	r.steps = r.steps[:n+1] // of which the last is empty, see tidy and pop
	return &r.steps[n]
}

// pop takes back the step that was pushed last, of which nothing but ev was set.
func (r *receiving) pop() { r.steps = r.steps[:len(r.steps)-1] }

// shift takes the oldest step. It is valid until the next push.
func (r *receiving) shift() *step {
	st := &r.steps[r.next]
	r.next++
	return st
}

// tidy forgets steps that were applied. A connection that sleeps keeps few.
func (r *receiving) tidy() {
	if r.next < len(r.steps) {
		return
	}
	clear(r.steps)
	if cap(r.steps) == manySteps { // else it has grown beyond what is borrowed, or is the connection's own
		batches.Put((*[manySteps]step)(r.steps[:manySteps]))
	}
	r.steps, r.next = r.few, 0
}

// Clock implements [wire.Clocked]. What was cut before and not applied is not looked at
// any more.
func (s *Session) Clock(now time.Time) {
	for s.in.next < len(s.in.steps) {
		s.in.shift().ev.Body.Release()
	}
	s.in.tidy()
	s.h.Clock(now)
}

// Held implements [wire.Session].
func (s *Session) Held() int { return s.h.Held() + s.in.held + s.in.heads.held() }

// Allow implements [wire.Session].
func (s *Session) Allow(bytes int) {
	s.in.allowed = min(bytes, s.most)
	s.h.Allow(min(bytes, math.MaxInt-envelopeRoom) + envelopeRoom)
}

// Unfinished implements [wire.Session]. Messages of streams do not count: it may be this side
// that does not let them go on.
func (s *Session) Unfinished() uint64 { return s.h.Unfinished() }

// Awaited implements [wire.Awaiter].
func (s *Session) Awaited() bool { return s.h.Awaited() }

// Kept implements [wire.Keeper].
func (s *Session) Kept() (bytes int, moved uint64) { return s.h.Kept() }

// Unstarted implements [wire.Orderer].
func (s *Session) Unstarted(id uint64) bool {
	return s.h.Unstarted(id) || s.h.Unstarted(id|streamBit)
}

// Caps implements [wire.Session].
func (s *Session) Caps() wire.Caps {
	c := wire.Caps{
		Mux: true, Streams: true, Deadlines: true,
		Unnamed: true, Final: true, Strict: true, Listens: true, Leads: true, Probes: true,
		Window: consumed,
	}
	switch has := s.h.Caps(); {
	case s.side == wire.Server:
	case has.Pending:
		c.Calls, c.Settling = 1, true
	case has.Streams < maxStreams:
		c.Calls = max(1, has.Streams)
	}
	return c
}

const (
	// Half of consumed is what http2 is told of at once: it has windows of its own.
	consumed   = 32 << 10
	maxStreams = 1<<31 - 1 // what a peer has that sets no limit
)

// Credit implements [wire.Session].
func (s *Session) Credit(id uint64) int {
	switch {
	case id == 0:
		return s.h.Credit(0)
	case s.out.stream(id) == nil: // not begun yet, or over: what is sent goes nowhere
		return s.h.Credit(0)
	}
	return s.h.Credit(s.number(id))
}

// number is the id of a stream as http2 knows it.
func (s *Session) number(id uint64) uint64 {
	if s.side == wire.Client {
		return id | streamBit
	}
	return id
}

// Unpack implements [wire.Session].
func (s *Session) Unpack(ev *wire.Event, most int) *rpc.Error {
	if ev.Tag[0]&tagConnect != 0 {
		return unpackConnect(ev, most, s.lim)
	}
	v, e := grpc.Inflate(ev.Body.Bytes(), min(most, s.lim.InflateBudget(ev.Body.Len())))
	ev.Body.Release()
	ev.Body = v
	if ev.Flags &^= wire.Packed; e == nil {
		return nil
	}
	if s.side == wire.Server {
		e.Sent = rpc.Maybe // as of an error that a handler has made: its caller may read it
	}
	ev.Err = e
	return e
}

// CodecIn implements [rpc.Coder].
func (s *Session) CodecIn(m *rpc.Method, e rpc.Encoding) rpc.Codec { return connect.CodecOf(m, e) }

// Pack implements [wire.Session].
func (s *Session) Pack(ev *wire.Event, body *buf.Out) error {
	if ev.Tag[0]&tagGzip == 0 || ev.Err != nil {
		return nil
	}
	if n := body.Len(); n > s.lim.MessageBytes {
		return tooLarge(n, s.lim.MessageBytes)
	}
	if err := grpc.Deflate(body); err != nil {
		return err
	}
	ev.Flags |= wire.Packed
	return nil
}
