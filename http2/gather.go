package http2

import (
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
)

const (
	// gatherGrowth is how many times the bytes that have arrived a body may take: a
	// peer that sends little costs little. Where there is little room it is a quarter
	// more than has arrived, and never less: a body that grew by each frame would be
	// copied with each.
	gatherGrowth = 4
	gatherCost   = 320 // about what a gather takes besides its body and its own fields
	// reportFrom is how many bytes of a body are gathered before Apply hears of them, and
	// reportShare of the connection's window is how many of all bodies: it is granted anew
	// by halves, and many small bodies would use up the rest.
	reportFrom  = 16 << 10
	reportShare = 8
)

// A gather is a message whose body is being gathered: of a request from its HEADERS
// on, of an answer from when Apply has seen whose it is.
type gather struct {
	id   uint32
	ev   Event // the head of the message: what becomes an event once the body is whole
	body []byte
	head int  // bytes of memory that its fields take
	took int  // not yet told to Apply
	lost bool // there was no room: the rest is read past
}

// beginGather keeps a request's head until its body is whole. Apply is to know the stream.
func (s *Session) beginGather(ev *Event) {
	s.startGather(*ev)
	*ev = Event{Flags: begins, ID: ev.ID, Fields: ev.Fields}
}

// startGather keeps the event of a message's beginning. Body is taken over.
func (s *Session) startGather(ev Event) *gather {
	g := &gather{id: uint32(ev.ID), ev: ev}
	if s.in.gathers == nil {
		s.in.gathers = map[uint32]*gather{}
	}
	s.in.gathers[g.id] = g
	g.head = ev.Fields.size // it may be shared, and outlive the cache all the same
	for _, f := range ev.Rest {
		g.head += f.size()
	}
	s.in.gathered += g.head
	s.in.pieces++
	g.ev.Body = buf.View{}
	s.grow(g, ev.Body.Bytes())
	ev.Body.Release()
	return g
}

// grow appends p to the body, if there is room for it.
func (s *Session) grow(g *gather, p []byte) {
	n := len(g.body) + len(p)
	if g.lost || len(p) == 0 {
		return
	}
	if n > cap(g.body) {
		free := min(s.cfg.HeldBytes, s.in.allowed) - s.in.gathered
		size := min(gatherGrowth*n, s.cfg.MessageBytes)
		if size-cap(g.body) > free {
			size = min(n+n/4, s.cfg.MessageBytes)
		}
		if s.tooMuch(n) || size-cap(g.body) > free {
			s.lose(g)
			return
		}
		body := append(make([]byte, 0, size), g.body...)
		s.in.gathered += cap(body) - cap(g.body)
		g.body = body
	}
	g.body = append(g.body, p...)
}

// lose gives the body up.
func (s *Session) lose(g *gather) {
	s.in.gathered -= cap(g.body)
	g.body, g.lost = nil, true
}

// tooMuch reports whether a body of n bytes is not taken.
func (s *Session) tooMuch(n int) bool { return n > s.cfg.MessageBytes || n > s.in.allowed }

// gatherData takes a DATA frame with n bytes of content. ok: there is an event.
func (s *Session) gatherData(in *buf.In, g *gather, f frame, n int, ev *Event) (ok bool) {
	whole := f.end() && len(g.body) == 0 && !g.lost && !s.tooMuch(n)
	s.in.pieces++
	at := s.in.offset
	s.content(in, f, n, ev)
	s.used(g, ev.Took)
	if whole {
		s.finish(g, ev)
		return true
	}
	was := g.lost
	s.grow(g, ev.Body.Bytes())
	ev.Body.Release()
	ev.Body = buf.View{}
	if g.lost && !was {
		s.refuse(g, ev, at)
		return true
	}
	if f.end() {
		s.finish(g, ev)
		return true
	}
	if g.took < reportFrom && s.in.untold < s.cfg.ConnWindow/reportShare {
		*ev = Event{}
		return false
	}
	*ev = Event{ID: uint64(g.id), Took: s.tell(g)}
	return true
}

// used notes that a body has used up n bytes of the windows.
func (s *Session) used(g *gather, n int) {
	g.took += n
	s.in.untold += n
}

// tell gives what Apply is to hear of.
func (s *Session) tell(g *gather) (took int) {
	took, g.took = g.took, 0
	s.in.untold -= took
	return took
}

// refuse makes ev tell that the message cannot be received.
func (s *Session) refuse(g *gather, ev *Event, at int64) {
	end := ev.Flags & End
	*ev = g.ev
	ev.Flags = ev.Flags&(Open|Answer) | end
	ev.Took = s.tell(g)
	ev.Err = &Error{Code: Cancel, Stream: g.id, Offset: at, Limit: true, Why: "body of more than there is room for; at most " + strconv.Itoa(s.cfg.MessageBytes) + " bytes"}
	if end != 0 {
		s.dropGather(g.id)
	}
}

// finish makes ev the event of the whole message. What ev has already is its last part.
func (s *Session) finish(g *gather, ev *Event) {
	last, took := *ev, s.tell(g)
	*ev = g.ev
	ev.Flags = ev.Flags&(Open|Answer) | End
	ev.Took, ev.Body = took, last.Body
	ev.Trailer, ev.Tail = last.Trailer, last.Tail
	if len(g.body) > 0 {
		ev.Body = buf.ViewOf(g.body)
	}
	if ev.Body.Len() > 0 {
		ev.Flags |= Data
	}
	if g.lost { // it was told
		*ev = Event{Flags: End, ID: uint64(g.id), Took: took}
	}
	s.dropGather(g.id)
}

// trailers ends a gathered message.
func (s *Session) trailers(g *gather, end bool, list *Fields, rest []Field, at int64, ev *Event) {
	if why := badTrailers(list, end); why != "" {
		s.faultOf(g.id, ev, at, list, ProtocolError, why)
		return
	}
	ev.Trailer, ev.Tail = list, rest
	s.finish(g, ev)
}

// dropGather forgets a gather.
func (s *Session) dropGather(id uint32) {
	g := s.in.gathers[id]
	if g == nil {
		return
	}
	s.in.stray += s.tell(g)
	s.in.gathered -= cap(g.body) + g.head
	if delete(s.in.gathers, id); len(s.in.gathers) == 0 {
		s.in.gathers = nil
	}
}
