package http1

import (
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
)

// A message ends well in done, whatever its framing was. It ends badly in one of three
// ways: fatal, what has come is no HTTP, and nobody can say where the next message would
// begin; refuse, it is HTTP, and more than there is room for; EOF, the rest of it will never
// come. After each of them nothing more is cut, and nothing is held.

// done ends the message at hand, whose last event is ev.
func (s *Session) done(ev *Event) {
	r := &s.in
	r.state, r.seen, r.gather = atHead, 0, false
	r.body, r.head = nil, Event{}
	if r.last {
		r.over = true
		if s.side == Client {
			ev.Flags |= GoAway
		}
	}
}

// EOF takes in that the peer sends nothing more, once Cut has found nothing: an answer
// without a length ends so. The error of a message that has not ended is an [Error];
// nothing more is cut in any case. The caller holds the read role.
func (s *Session) EOF(in *buf.In, ev *Event) error {
	*ev = Event{}
	r := &s.in
	switch {
	case r.err != nil:
		return r.err
	case r.over, r.state == atHead && in.Len() == 0:
	case r.state == untilClose && r.gather:
		body := r.body
		s.whole(ev, buf.ViewOf(body))
	case r.state == untilClose:
		ev.Flags = End
		s.done(ev)
	default:
		r.err = s.told(bad(in.Len(), "the connection ended within a message"))
		s.drop()
		return r.err
	}
	r.over = true
	return nil
}

// told makes e an error of this side, at its place in all that was received.
func (s *Session) told(e *Error) *Error {
	e.Offset += s.in.offset
	if s.side == Client {
		e.Status = 502
	}
	return e
}

// fatal ends what is cut: nothing more is looked at. A server's user is told by a Reset if
// he knows the message that it was found in; of a gathered one he does not.
func (s *Session) fatal(in *buf.In, ev *Event, e *Error) {
	r := &s.in
	s.told(e)
	ev.Body.Release()
	*ev = Event{Flags: Close, Err: e}
	if s.side == Client {
		ev.Flags |= Reset
		r.err = e
	} else if r.state != atHead {
		ev.ID = r.seq
		if !r.gather {
			ev.Flags |= Reset
		}
	}
	s.take(in, in.Len())
	s.drop()
	r.over = true
}

// drop forgets the message at hand.
func (s *Session) drop() {
	r := &s.in
	r.whole.Release()
	r.whole = buf.View{}
	r.body, r.head = nil, Event{}
	r.state = atHead
}

// refuse makes ev tell that the message at hand cannot be received. What is left of
// it is thrown away, and the connection with it: that is cheaper than any end of it.
func (s *Session) refuse(ev *Event) {
	r := &s.in
	*ev = r.head
	ev.Flags = ev.Flags&(Open|Answer) | End
	ev.ask |= askLast
	ev.ask &^= askContinue
	ev.Err = s.told(&Error{Status: 413, Limit: true, Why: "body of more than there is room for; at most " + strconv.Itoa(min(s.cfg.MessageBytes, r.allowed)) + " bytes"})
	s.drop()
	r.last = true
	s.done(ev)
}

// whole makes ev the event of a gathered message with its body, which is given.
func (s *Session) whole(ev *Event, body buf.View) {
	trailer := ev.Trailer
	*ev = s.in.head
	ev.Trailer = trailer
	ev.Flags |= End
	if ev.Body = body; body.Len() > 0 {
		ev.Flags |= Data
	}
	s.done(ev)
}
