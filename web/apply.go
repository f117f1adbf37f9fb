package web

import (
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// Apply implements [wire.Session].
func (s *Session) Apply(out *buf.Out, ev *wire.Event) {
	if ev.Flags&wire.Open == 0 && ev.Tag[1] == follows {
		s.applyFollowing(out, ev)
		return
	}
	st := s.in.shift()
	id, said := st.ev.ID, st.ev.Flags&(http2.Open|http2.Answer|http2.Data|http2.End)
	s.h.Apply(out, &st.ev)
	for _, over := range s.out.over {
		s.in.forget(over)
	}
	s.out.over = s.out.over[:0]
	s.out.applied = applied{gone: true}
	switch f := st.ev.Flags; {
	case f&http2.Close != 0:
		clearEvent(ev)
		ev.Flags = wire.Close
	case f == 0 || f&(http2.Ping|http2.Pong) != 0:
		if said != 0 {
			s.in.forget(id) // it is gathered, or nobody waits for it
			delete(s.out.turned, id)
		}
		clearEvent(ev)
	case id == 0:
		ev.Flags &^= wire.Note
	case s.side == wire.Client:
		if f&^said&http2.Answer != 0 {
			s.cutAgain(st, ev, id)
		}
		s.applyAnswer(out, st, ev, id)
	default:
		s.applyRequest(out, st, ev)
	}
	st.ev.Body.Release()
	s.in.tidy()
}

// cutAgain makes the event of an answer of which Apply has found out that it is gathered,
// with parts of it cut already.
func (s *Session) cutAgain(st *step, ev *wire.Event, id uint64) {
	clearEvent(ev)
	s.in.forget(id)
	ev.Flags = wire.Note
	call := st.ev.ID
	st.ev.ID = id
	s.cutAnswer(st, ev)
	st.ev.ID = call
	if s.in.body.split != nil { // more than one message
		s.in.drop(ev)
	}
}

// clearEvent takes an event out of everybody's sight.
func clearEvent(ev *wire.Event) {
	ev.Body.Release()
	*ev = wire.Event{}
}

// applyFollowing completes an event of the step that was applied last.
func (s *Session) applyFollowing(out *buf.Out, ev *wire.Event) {
	a := &s.out.applied
	if a.gone || !a.stream {
		clearEvent(ev)
		return
	}
	s.grant(out, a.number, int(ev.Tag[0]))
	ev.ID, ev.Tag = a.id, [2]uint64{}
	s.ofStream(ev)
}

// ofStream marks an event as a stream's.
func (s *Session) ofStream(ev *wire.Event) {
	ev.Flags = ev.Flags&^wire.Note | wire.Stream
	if s.side == wire.Client && ev.Flags&(wire.End|wire.Reset) != 0 {
		s.dropStream(ev.ID)
	}
}

func (s *Session) dropStream(id uint64) {
	o := &s.out
	if delete(o.streams, id); len(o.streams) == 0 {
		o.streams = nil
	}
	o.recent.id, o.recent.stream = 0, nil
}

// grant lets the peer send n bytes more on a stream.
func (s *Session) grant(out *buf.Out, number uint64, n int) {
	if n == 0 {
		return
	}
	sd := http2.Send{Flags: http2.Credit, ID: number, Credit: n}
	m := s.h.Begin(out, &sd)
	if s.h.End(out, m, &sd) != nil {
		out.Truncate(m)
	}
}

// applyAnswer completes an event of an answer on the stream with a number.
func (s *Session) applyAnswer(out *buf.Out, st *step, ev *wire.Event, number uint64) {
	hev := &st.ev
	s.out.applied = applied{id: hev.ID &^ streamBit, number: hev.ID, stream: hev.ID&streamBit != 0}
	ev.ID = hev.ID &^ streamBit
	if hev.Flags&http2.Reset != 0 {
		clearEvent(ev)
		*ev = wire.Event{Flags: wire.Reset | wire.End, ID: hev.ID &^ streamBit, Err: resetError(hev)}
		s.in.forget(number)
	} else {
		s.grant(out, hev.ID, st.grant)
	}
	if st.shape != anyShape && ev.Err == nil && (st.shape == ofMany) != (hev.ID&streamBit != 0) {
		ev.Body.Release()
		ev.Body, ev.Flags = buf.View{}, ev.Flags&^(wire.Message|wire.Packed)
		ev.Err = &rpc.Error{Code: rpc.Internal, Op: "receive", Sent: rpc.Processed, Msg: "the answer is that to a call of another kind"}
	}
	switch {
	case hev.ID&streamBit != 0:
		s.ofStream(ev)
	case hev.Flags&(http2.Reset|http2.End) == 0: // a window of an answer that is gathered
		clearEvent(ev)
	default:
		s.applyOnly(st, ev)
	}
}

// applyOnly completes the answer to a call of one message, which has come whole.
func (s *Session) applyOnly(st *step, ev *wire.Event) {
	if ev.Err == nil && st.count != 1 {
		ev.Err = &rpc.Error{Code: rpc.Unimplemented, Op: "receive", Sent: rpc.Processed, Msg: "the answer has no message, or more than one"}
	}
	if ev.Err != nil {
		ev.Body.Release()
		ev.Body = buf.View{}
		ev.Flags &^= wire.Message | wire.Packed
	}
	ev.Flags = ev.Flags&^wire.Note | wire.End
}

// applyRequest completes an event of a request.
func (s *Session) applyRequest(out *buf.Out, st *step, ev *wire.Event) {
	hev := &st.ev
	ev.ID = hev.ID
	known := s.out.stream(hev.ID) != nil
	switch {
	case st.status != 0:
		clearEvent(ev)
		s.turnAway(out, hev, refusal{status: st.status})
	case hev.Flags&http2.Reset != 0:
		clearEvent(ev)
		delete(s.out.turned, hev.ID)
		*ev = wire.Event{Flags: wire.Reset, ID: hev.ID, Err: &rpc.Error{Code: rpc.Canceled, Msg: "the caller has given the call up"}}
		s.in.forget(hev.ID)
		if known {
			ev.Flags |= wire.Stream
		}
	case ev.Flags&wire.Open != 0 && ev.Flags&wire.Stream == 0:
		ev.Flags &^= wire.Note
	case ev.Flags&wire.Open != 0:
		s.out.remember(hev.ID)
		fallthrough
	case known:
		s.out.applied = applied{id: hev.ID, number: hev.ID, stream: true}
		s.grant(out, hev.ID, st.grant)
		s.ofStream(ev)
	default: // more of a request that is refused
		clearEvent(ev)
		if r, ok := s.out.turned[hev.ID]; ok {
			s.turnAway(out, hev, r)
		}
	}
}

// A refusal is that of a request that is none of gRPC and has not come whole.
type refusal struct {
	status int // of HTTP
	came   int // bytes of its body, which nobody keeps
}

// patient is how much of a body is waited for before the request is refused all the same.
const patient = 32 << 10

// turnAway refuses a request once it has come whole: a client that is still sending may
// never read what it is answered.
func (s *Session) turnAway(out *buf.Out, hev *http2.Event, r refusal) {
	if r.came += hev.Body.Len(); hev.Flags&http2.End == 0 && r.came <= patient {
		if s.out.turned == nil {
			s.out.turned = map[uint64]refusal{}
		}
		s.out.turned[hev.ID] = r
		return
	}
	delete(s.out.turned, hev.ID)
	head, text := s.p.answers.other(r.status)
	sd := http2.Send{Flags: http2.Answer | http2.Data | http2.End, ID: hev.ID, Head: head}
	m := s.h.Begin(out, &sd)
	out.AppendString(text)
	if s.h.End(out, m, &sd) != nil {
		out.Truncate(m)
	}
}
