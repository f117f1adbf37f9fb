package http1

import (
	"strconv"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// Apply takes an event into effect on the sending side: what its answer depends on,
// what the peer waits for, what ends the connection. It appends what is to be
// answered, and clears the flags of what nobody needs to see. The caller holds the
// read role and the output lock.
func (s *Session) Apply(out *buf.Out, ev *Event) {
	o := &s.out
	o.cur.open = false
	switch {
	case o.dead, o.fault != nil:
		ev.Body.Release()
		*ev = Event{}
	case s.side == Client:
		s.applyAnswer(ev)
	case ev.Flags&Close != 0:
		o.second = s.in.second
		s.applyFault(out, ev)
	default:
		o.second = s.in.second
		s.applyRequest(out, ev)
	}
}

// applyRequest notes what has come of a request. The first event of each gives it its
// place in the order of answers; a gathered one has a first event before it is whole only if
// its peer waits to be invited.
func (s *Session) applyRequest(out *buf.Out, ev *Event) {
	o := &s.out
	a := o.asked.at(ev.ID)
	switch {
	case a == nil && o.asked.len() >= s.cfg.Pipeline:
		ev.Body.Release()
		*ev = Event{Flags: Close, ID: ev.ID, Err: &Error{Status: 503, Offset: -1, Limit: true, Why: "too many requests that are not answered"}}
		s.applyFault(out, ev)
		return
	case a == nil:
		a = o.asked.push(ev.ask)
	default: // it was announced, or goes on
		*a |= ev.ask
	}
	if ev.Flags&(Data|End) != 0 {
		*a &^= askContinue
	}
	if ev.Flags&End != 0 {
		*a |= askEnded
	}
	ev.Flags &^= announced
	s.invite(out)
}

// invite tells the peer to go on with the request that is to be answered next.
func (s *Session) invite(out *buf.Out) {
	o := &s.out
	if a := o.asked.at(o.asked.next); a != nil && *a&askContinue != 0 && !o.msg.open {
		*a &^= askContinue
		out.AppendString("HTTP/1.1 100 Continue\r\n\r\n")
	}
}

// applyFault ends the connection for what the peer has sent, behind the answers to
// what it had sent before: they are owed, and a fault that overtakes them would be taken
// for one of them. The request that it was found in is always the last; the fault is its
// answer, unless that has begun.
func (s *Session) applyFault(out *buf.Out, ev *Event) {
	o := &s.out
	if ev.ID != 0 && o.asked.at(ev.ID) != nil {
		if ev.ID == o.asked.next && o.msg.open {
			o.dead = true // its answer is cut off
			return
		}
		o.asked.drop()
	}
	o.fault = ev.Err
	if o.asked.len() > 0 {
		ev.Flags &^= Close
		return
	}
	s.putFault(out)
}

// putFault appends the answer to what could not be received. It says why in words of this
// side only: nothing that the peer has sent comes back.
func (s *Session) putFault(out *buf.Out) {
	o := &s.out
	o.dead = true
	b := appendStatus(out.Block(), o.fault.Status)
	b = s.appendDate(b)
	b = append(b, "content-type: text/plain\r\nconnection: close\r\ncontent-length: "...)
	b = strconv.AppendInt(b, int64(len(o.fault.Why)+1), 10)
	b = append(b, "\r\n\r\n"...)
	b = append(b, o.fault.Why...)
	out.Commit(append(b, '\n'))
}

// applyAnswer notes what has come of an answer, and names its call. One that ends before
// its request has ends the connection's use: what is left of the request would be
// read as the next one.
func (s *Session) applyAnswer(ev *Event) {
	o := &s.out
	ev.ID = o.call
	if ev.Flags&Close != 0 {
		if o.dead = true; !o.busy {
			ev.Flags &^= Reset
			ev.ID = 0
		}
		o.busy = false
		return
	}
	if ev.Flags&End != 0 {
		if o.busy = false; o.msg.open { // what is left of the request means nothing
			o.msg = framing{}
			ev.Flags |= GoAway
		}
	}
	if ev.Flags&GoAway != 0 {
		o.leaving = true
	}
}

// dateBytes is the length of a date's line.
const dateBytes = len("date: Mon, 02 Jan 2006 15:04:05 GMT\r\n")

// appendDate appends the date, if the time is known: RFC 9110, section 6.6.1.
func (s *Session) appendDate(b []byte) []byte {
	o := &s.out
	if o.second == 0 {
		return b
	}
	if o.dated != o.second {
		o.dated = o.second
		time.Unix(o.second, 0).UTC().AppendFormat(o.date[:0], "date: Mon, 02 Jan 2006 15:04:05 GMT\r\n")
	}
	return append(b, o.date[:]...)
}
