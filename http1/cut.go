package http1

import "github.com/limosa-rpc/limosa/buf"

// interimMost is how many answers with status 1xx may come before the one that counts.
const interimMost = 16

// Cut takes the next event off in and puts it into ev. With no whole event there it
// returns the number of bytes that are missing, at least 1. An error says that the
// connection is over: only a client's has one, after an event with Close. What a
// server's Cut finds behind its last request it throws away. The caller holds the read role.
func (s *Session) Cut(in *buf.In, ev *Event) (need int, err error) {
	*ev = Event{}
	r := &s.in
	for r.err == nil {
		if r.over {
			s.take(in, in.Len())
			return 1, nil
		}
		need, e := s.step(in, ev)
		switch {
		case e != nil:
			s.fatal(in, ev, e)
			return 0, nil
		case ev.Flags != 0:
			r.pieces++
			return 0, nil
		case need > 0:
			if n := in.Len(); n != r.waits {
				r.waits = n
				r.pieces++
			}
			return need, nil
		}
	}
	return 0, r.err
}

// step goes one step on: to an event, to the need of more bytes, or to another state. A
// fault's offset is that in what waits; fatal makes one in all that was received of it.
func (s *Session) step(in *buf.In, ev *Event) (need int, e *Error) {
	switch r := &s.in; r.state {
	case atHead:
		return s.cutHead(in, ev)
	case inSized:
		return s.cutSized(in, ev), nil
	case inChunks:
		return s.cutChunkLine(in)
	case inChunk:
		return s.cutChunk(in, ev), nil
	case behindData:
		p := in.Peek(min(2, in.Len()))
		if n := len(p); string(p) != "\r\n"[:n] {
			return 0, bad(0, "chunk longer than it said")
		} else if n < 2 {
			return 2 - n, nil
		}
		s.take(in, 2)
		r.state = inChunks
		return 0, nil
	case inTrailers:
		return s.cutTrailers(in, ev)
	default: // untilClose
		return s.cutPart(in, in.Len(), ev), nil
	}
}

// cutHead takes a head, and what belongs to the same message and is whole. Of a head that
// came before, or began so, n bytes are known; the lines behind are this message's own.
// Faults come before the cache is told of anything: what is kept is right.
func (s *Session) cutHead(in *buf.In, ev *Event) (need int, e *Error) {
	r := &s.in
	p := in.Peek(in.Len())
	if len(p) == 0 {
		return 1, nil
	}
	var rest []Field
	c, n, length := r.heads.find(p)
	total := n
	if c == nil || !c.end {
		if total, e = s.endOfHead(p); total == 0 {
			return 1, e
		}
	}
	if total > s.cfg.HeaderBytes {
		return 0, &Error{Status: 431, Limit: true, Why: "head of too many bytes"}
	}
	if c == nil {
		n = r.heads.boundary(p[:total], s.side)
		if c, e = s.parseHead(p[:n]); e != nil {
			return 0, e
		}
		length = c.marks.length
	}
	m := c.marks
	m.length = length
	if !c.end && total-n > 2 {
		if rest, m, e = s.parseRest(c, m, p[n:total], n); e != nil {
			return 0, e
		}
	}
	if s.side == Server {
		e = m.requestFault(c.fields)
	} else {
		e = m.codingFault(c.fields)
	}
	if e != nil {
		return 0, e
	}
	r.heads.keep(c)
	ev.Fields, ev.Rest, ev.Length = c.fields, rest, m.length
	if s.side == Server {
		s.request(in, total, m, ev, !c.end)
		return 0, nil
	}
	return 0, s.answer(in, total, m, ev)
}

// request makes the event of a request, of which total bytes are the head.
func (s *Session) request(in *buf.In, total int, m marks, ev *Event, part bool) {
	r := &s.in
	s.take(in, total)
	r.seen = 0
	r.seq++
	f := ev.Fields
	ev.Flags, ev.ID = Open, r.seq
	r.last = m.closes(f.Minor)
	if f.Method == "HEAD" {
		ev.ask |= askHead
	}
	if f.Minor == 0 {
		ev.ask |= askOld
	}
	if r.last {
		ev.ask |= askLast
	}
	if m.bits&hasChunked == 0 && m.length <= 0 {
		ev.Flags |= End
		s.done(ev)
		return
	}
	// HTTP/1.0 knows no such word: RFC 9110, section 10.1.1.
	if m.bits&wantsContinue != 0 && f.Minor > 0 {
		ev.ask |= askContinue
	}
	switch {
	case s.cfg.Gather == nil:
		r.gather = true
	case f.routed && !part:
		r.gather = f.gather
	default:
		r.gather = s.cfg.Gather(ev)
		if !part {
			f.routed, f.gather = true, r.gather // before anybody else sees the list
		}
	}
	s.bodyOf(in, m, ev)
}

// answer makes the event of an answer, of which total bytes are the head: RFC 9112,
// section 6.3. One with status 1xx makes none. Nothing is asked for that would need one, and a
// switch of protocols least of all; one that ends the connection contradicts itself.
//
// An answer to no request is a fault: it may be the second half of one that was split,
// and whoever asks next would get it.
func (s *Session) answer(in *buf.In, total int, m marks, ev *Event) *Error {
	r := &s.in
	f, word := ev.Fields, s.sent.Load()
	if uint64(word>>sentShift) == r.seq {
		return bad(0, "answer that nobody has asked for")
	}
	if f.Status < 200 {
		if r.interim++; r.interim > interimMost || f.Status == 101 || m.closes(f.Minor) {
			return bad(0, "informational answers that nobody has asked for")
		}
		s.take(in, total)
		r.seen = 0
		*ev = Event{}
		return nil
	}
	s.take(in, total)
	r.seen = 0
	r.interim, r.seq = 0, uint64(word>>sentShift)
	r.gather = word&sentGathered != 0
	r.last = m.closes(f.Minor)
	ev.Flags = Answer
	switch {
	case word&sentHead != 0, f.Status == 204, f.Status == 304, m.length == 0:
		ev.Flags |= End
		s.done(ev)
	case m.bits&hasChunked == 0 && m.length < 0:
		r.last = true
		s.bodyOf(in, m, ev)
		r.state = untilClose
	default:
		s.bodyOf(in, m, ev)
	}
	return nil
}

// bodyOf goes on behind a head whose message has a body. If it is to be gathered and
// is not there, the event waits for it in head; a body that is there already makes one
// event with it, gathered or not.
func (s *Session) bodyOf(in *buf.In, m marks, ev *Event) {
	r := &s.in
	r.state, r.left, r.excess = inChunks, 0, 0
	if m.length >= 0 {
		r.state, r.left = inSized, m.length
		if r.gather && s.tooMuch(m.length) {
			r.head, *ev = *ev, Event{}
			s.refuse(ev)
			return
		}
		if int64(in.Len()) >= m.length && !s.tooMuch(m.length) {
			n := int(m.length)
			ev.Flags |= Data | End
			ev.Body = in.View(n)
			r.offset += m.length
			s.done(ev)
			return
		}
	}
	if in.Len() > 0 {
		ev.ask &^= askContinue // it has not waited
	}
	if !r.gather {
		return
	}
	r.head, *ev = *ev, Event{}
	if r.head.ask&askContinue != 0 {
		*ev = Event{Flags: announced, ID: r.seq, ask: r.head.ask}
	}
}

// tooMuch reports whether a gathered body of n bytes is not taken.
func (s *Session) tooMuch(n int64) bool {
	return n > int64(s.cfg.MessageBytes) || n > int64(s.in.allowed)
}

// cutSized takes the body of a message that said its length: of a gathered one all at
// once, where it lies.
func (s *Session) cutSized(in *buf.In, ev *Event) (need int) {
	r := &s.in
	if !r.gather {
		n := int(min(r.left, int64(in.Len())))
		if r.left -= int64(n); r.left == 0 {
			ev.Flags |= End
		}
		return s.cutPart(in, n, ev)
	}
	if s.tooMuch(r.left) {
		s.refuse(ev)
		return 0
	}
	if n := int(r.left) - in.Len(); n > 0 {
		return n
	}
	view := in.View(int(r.left))
	r.offset += r.left
	s.whole(ev, view)
	return 0
}

// cutPart takes the next n bytes of a body: as an event with a view of them, or to those
// that are gathered.
// With End in ev they are the last of a body that is not gathered.
func (s *Session) cutPart(in *buf.In, n int, ev *Event) (need int) {
	r := &s.in
	if n == 0 {
		return 1
	}
	if r.gather {
		if !s.grow(in.Peek(n)) {
			s.refuse(ev)
			return 0
		}
		s.take(in, n)
		return 0
	}
	ev.Flags |= Data
	ev.Body = in.View(n)
	r.offset += int64(n)
	ev.ID = s.id()
	if ev.Flags&End != 0 {
		s.done(ev)
	}
	return 0
}

// id is the message's at hand: a client's Apply knows it.
func (s *Session) id() uint64 {
	if s.side == Client {
		return 0
	}
	return s.in.seq
}

func (s *Session) take(in *buf.In, n int) { s.in.offset += int64(in.Skip(n)) }
