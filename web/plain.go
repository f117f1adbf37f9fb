package web

import (
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/grpc"
	"github.com/limosa-rpc/limosa/http1"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A plain session is the calls of one connection of HTTP/1.1, on a server; [HTTP1.Open]
// makes it.
//
// Cut keeps each event of http1 as a step, reads its head, and gives the engine an event
// with Note; Apply takes the steps in the same order. The numbers of http1 are the ids of calls:
// the engine answers calls that are not Unordered in the order in which they have come,
// which is the order that HTTP/1 asks for. So also what is refused, for whatever it lacks,
// is a call to the engine, with an error: its answer waits for its turn.
type plain struct {
	// Set by Open, then constant.
	p   HTTP1
	lim *rpc.Limits
	h   *http1.Session

	in  plainIn  // owned by the read role
	out plainOut // guarded by the output lock
}

// plainIn is what belongs to the read role; Apply has it too.
type plainIn struct {
	steps []http1.Event // cut, and not applied from next on
	next  int
	cuts  uint64 // events
	last  struct {
		list  *http1.Fields // of the head that came last: http1 gives the same one for the same bytes
		r     connect.Request
		bytes int
	}
}

// plainOut is what the output lock guards.
type plainOut struct {
	send   http1.Send // between Begin and End
	fields []http1.Field
	skip   bool // nothing is to be sent
}

// Cut implements [wire.Session].
func (s *plain) Cut(in *buf.In) (ev wire.Event, need int, err error) {
	r := &s.in
	r.steps = append(r.steps, http1.Event{})
	st := &r.steps[len(r.steps)-1]
	if need, err = s.h.Cut(in, st); need > 0 || err != nil {
		r.steps = r.steps[:len(r.steps)-1]
		return ev, need, err
	}
	r.cuts++
	ev.Flags = wire.Note
	switch {
	case st.Flags&http1.Close != 0:
		ev.Flags |= wire.Close
	case st.Flags&http1.Open != 0:
		s.cutRequest(st, &ev)
	}
	return ev, 0, nil
}

// cutRequest makes the event of a request, which is whole.
func (s *plain) cutRequest(st *http1.Event, ev *wire.Event) {
	r := s.head(st)
	if st.Err != nil {
		r.Status, r.Err = 0, &rpc.Error{Code: rpc.ResourceExhausted, Msg: st.Err.Why, Sent: rpc.Refused}
	}
	takeHead(ev, &r)
	ev.Flags |= wire.Message | wire.End
	ev.Body, st.Body = st.Body, buf.View{}
	takeOne(ev, &r)
	sayRefused(ev)
}

// rememberMost is how many bytes of a head are remembered.
const rememberMost = 2 << 10

// head reads the head of a request. What http1 shares between heads is read once.
func (s *plain) head(st *http1.Event) connect.Request {
	c := &s.in.last
	list := st.Fields
	r := c.r
	if c.list != list {
		r = connect.Read(list.Method, list.Path, s.p.Find, s.lim)
		size := len(list.Path)
		for _, f := range list.List {
			r.Take(f.Name, f.Value)
			size += len(f.Name) + len(f.Value) + 64
		}
		if size <= rememberMost {
			c.list, c.r, c.bytes = list, r, size
		}
	}
	r.Header = r.Header.Clone()
	for _, f := range st.Rest {
		r.Take(f.Name, f.Value)
	}
	r.Done()
	r.NoStreams()
	return r
}

// Apply implements [wire.Session].
func (s *plain) Apply(out *buf.Out, ev *wire.Event) {
	r := &s.in
	st := &r.steps[r.next]
	r.next++
	s.h.Apply(out, st)
	switch {
	case st.Flags&http1.Open == 0: // Closes tells of the end
		clearEvent(ev)
	default:
		ev.Flags &^= wire.Note
		ev.ID = st.ID
	}
	st.Body.Release()
	r.tidy()
}

// tidy forgets steps that were applied. A connection that sleeps keeps few.
func (r *plainIn) tidy() {
	if r.next < len(r.steps) {
		return
	}
	clear(r.steps)
	r.steps, r.next = r.steps[:0], 0
	if cap(r.steps) > fewSteps {
		r.steps = nil
	}
}

// Clock implements [wire.Clocked]. What was cut before and not applied is not looked at
// any more.
func (s *plain) Clock(now time.Time) {
	for r := &s.in; r.next < len(r.steps); r.next++ {
		r.steps[r.next].Body.Release()
	}
	s.in.tidy()
	s.h.Clock(now)
}

// Held implements [wire.Session].
func (s *plain) Held() int { return s.h.Held() + s.in.last.bytes }

// Allow implements [wire.Session].
func (s *plain) Allow(bytes int) { s.h.Allow(bytes) }

// Unfinished implements [wire.Session]. It does not change while a request comes: all of it
// has the time of a frame, or a peer could have a connection for a byte now and then.
func (s *plain) Unfinished() uint64 {
	if s.h.Unfinished() == 0 {
		return 0
	}
	return s.in.cuts + 1
}

// Caps implements [wire.Session].
func (s *plain) Caps() wire.Caps { return wire.Caps{Deadlines: true, Unnamed: true} }

// Credit implements [wire.Session]: there are no windows.
func (s *plain) Credit(uint64) int { return s.lim.MessageBytes }

// Closes implements [wire.Closer].
func (s *plain) Closes() bool { return s.h.Closes() }

// CodecIn implements [rpc.Coder].
func (s *plain) CodecIn(m *rpc.Method, e rpc.Encoding) rpc.Codec { return connect.CodecOf(m, e) }

// Unpack implements [wire.Session].
func (s *plain) Unpack(ev *wire.Event, most int) *rpc.Error { return unpackConnect(ev, most, s.lim) }

// Pack implements [wire.Session].
func (s *plain) Pack(ev *wire.Event, body *buf.Out) error {
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
