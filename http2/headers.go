package http2

import (
	"encoding/binary"

	"github.com/limosa-rpc/limosa/buf"
)

const (
	// rawFactor times HeaderBytes is what a header block may take on the wire, and as many
	// times HeaderEntries how many fields it may have. Below, a list that is too long
	// fails its call; beyond, the connection.
	rawFactor = 4
	// continuations is how many frames a header block may come in: CONTINUATION
	// frames with a byte each are an attack.
	continuations = 256
)

// A headerBlock is one that comes in several frames.
type headerBlock struct {
	id     uint32 // 0: none is being assembled
	end    bool
	self   bool // it depends on itself
	frames int
	bytes  []byte
}

// cutHeaders takes HEADERS, and what belongs to the same message and is whole.
func (s *Session) cutHeaders(in *buf.In, f frame, p []byte, ev *Event) (need int, ok bool) {
	block, self, e := headersContent(f, p[frameHead:frameHead+f.size])
	switch {
	case e != nil:
		s.fatal(in, ev, e)
		return 0, true
	case !f.endHeaders():
		s.in.block = headerBlock{id: f.id, end: f.end(), self: self, bytes: append(s.in.block.bytes[:0], block...)}
		s.blocked.Store(true)
		s.in.pieces++
		s.take(in, frameHead+f.size)
		return 0, s.tooLong(in, ev)
	}
	if !f.end() && s.in.gathers[f.id] == nil {
		if need = s.peep(f.id, p[frameHead+f.size:]); need > 0 {
			return need, false
		}
	}
	return 0, s.message(in, f.id, f.end(), self, block, frameHead+f.size, ev)
}

// headersContent finds the header block in the payload of HEADERS.
func headersContent(f frame, payload []byte) (block []byte, self bool, e *Error) {
	block, why := unpad(f, payload)
	if why != "" {
		return nil, false, &Error{Code: ProtocolError, Why: why}
	}
	if f.flags&flagPriority != 0 {
		if len(block) < 5 {
			return nil, false, &Error{Code: FrameSizeError, Why: "HEADERS too short for a priority"}
		}
		self = binary.BigEndian.Uint32(block)&maxID == f.id
		block = block[5:]
	}
	return block, self, nil
}

// cutContinuation takes the next part of a header block.
func (s *Session) cutContinuation(in *buf.In, f frame, payload []byte, ev *Event) bool {
	b := &s.in.block
	b.bytes = append(b.bytes, payload...)
	b.frames++
	s.in.pieces++
	if s.tooLong(in, ev) {
		return true
	}
	if !f.endHeaders() {
		if f.size == 0 {
			return s.skipIdle(in, f, ev)
		}
		s.take(in, frameHead+f.size)
		return false
	}
	whole := *b
	s.blocked.Store(false)
	*b = headerBlock{} // its memory is not kept: few peers send such blocks
	return s.message(in, whole.id, whole.end, whole.self, whole.bytes, frameHead+f.size, ev)
}

// tooLong ends the connection if the header block at hand is none that an honest
// peer would send.
func (s *Session) tooLong(in *buf.In, ev *Event) bool {
	b := &s.in.block
	most := max(s.cfg.HeaderBytes, min(rawFactor*s.cfg.HeaderBytes, s.in.allowed))
	if len(b.bytes) <= most && b.frames <= continuations {
		return false
	}
	s.fatal(in, ev, &Error{Code: EnhanceYourCalm, Why: "header block without an end"})
	return true
}

// peep says how many bytes are missing of the frames behind HEADERS of a stream, if
// they have begun to arrive: waiting for them makes one event of the message. Behind
// an answer's DATA trailers may come.
func (s *Session) peep(id uint32, p []byte) (need int) {
	if len(p) < frameHead {
		return 0
	}
	data := parseFrame(p)
	if data.id != id || data.typ != typeData || data.size > frameMax {
		return 0
	}
	n := frameHead + data.size
	if len(p) < n {
		return n - len(p)
	}
	if p = p[n:]; s.side == Server || data.end() || len(p) < frameHead {
		return 0
	}
	if tail := parseFrame(p); tail.id == id && tail.typ == typeHeaders && tail.end() && tail.size <= frameMax {
		need = frameHead + tail.size - len(p)
	}
	return max(0, need)
}

// message decodes a whole header block and makes it an event, with the frames
// behind it that complete the message; n bytes are taken off first. ok is false for
// what means nothing.
func (s *Session) message(in *buf.In, id uint32, end, self bool, block []byte, n int, ev *Event) (ok bool) {
	if len(block) > rawFactor*s.cfg.HeaderBytes {
		s.fatal(in, ev, &Error{Code: EnhanceYourCalm, Why: "header block of too many bytes"})
		return true
	}
	list, rest, e := s.in.dec.decode(block)
	if e != nil {
		s.fatal(in, ev, e)
		return true
	}
	ev.ID = uint64(id)
	at := s.in.offset
	s.take(in, n)
	isNew := s.side == Server && id > s.in.last
	if isNew {
		s.in.last = id
	}
	g := s.in.gathers[id]
	switch {
	case self:
		s.faultOf(id, ev, at, list, ProtocolError, "stream that depends on itself")
	case g != nil:
		s.trailers(g, end, list, rest, at, ev)
	case isNew:
		s.request(in, end, list, rest, at, ev)
	case s.side == Client && list.pseudo != 0:
		return s.answer(in, end, list, rest, at, ev)
	default:
		ev.Flags, ev.Trailer, ev.Tail = End, list, rest
		if why := badTrailers(list, end); why != "" {
			s.faultOf(id, ev, at, list, ProtocolError, why)
		}
	}
	return true
}

// faultOf makes ev one that ends the stream.
func (s *Session) faultOf(id uint32, ev *Event, at int64, list *Fields, code Code, why string) {
	s.dropGather(id)
	ev.Body.Release()
	*ev = Event{Flags: faulty, ID: uint64(id), Fields: list, Took: ev.Took, Err: &Error{Code: code, Stream: id, Offset: at, Why: why}}
}

// badTrailers says why a list may not end a stream: trailers have no pseudo fields and come with the end.
func badTrailers(list *Fields, end bool) string {
	switch {
	case list.over:
		return "trailers beyond the limits"
	case !end:
		return "trailers without END_STREAM"
	}
	return list.trailerFault()
}

// request makes the event of a request's head.
func (s *Session) request(in *buf.In, end bool, list *Fields, rest []Field, at int64, ev *Event) {
	id := uint32(ev.ID)
	ev.Fields, ev.Rest = list, rest
	if end {
		ev.Flags = End
	}
	if list.over {
		ev.Flags |= Open
		ev.Err = &Error{Code: EnhanceYourCalm, Stream: id, Offset: at, Limit: true, Why: "header list beyond the limits"}
		return
	}
	if why := list.requestFault(); why != "" {
		s.faultOf(id, ev, at, list, ProtocolError, why)
		return
	}
	ev.Flags |= Open
	if end || s.merge(in, ev) && ev.Flags&End != 0 {
		return
	}
	if !list.routed {
		list.routed = true // before anybody else sees the list
		list.gather = s.cfg.Gather == nil || s.cfg.Gather(list)
	}
	if list.gather {
		s.beginGather(ev)
	}
}

// answer makes the event of an answer's head; false: it is an informational one.
func (s *Session) answer(in *buf.In, end bool, list *Fields, rest []Field, at int64, ev *Event) bool {
	id := uint32(ev.ID)
	why := list.answerFault()
	switch {
	case list.over:
		s.faultOf(id, ev, at, list, Cancel, "header list beyond the limits")
		ev.Err.Limit = true
	case why == "" && list.Status < 200 && end:
		s.faultOf(id, ev, at, list, ProtocolError, "informational answer with END_STREAM")
	case why != "":
		s.faultOf(id, ev, at, list, ProtocolError, why)
	case list.Status < 200:
		if s.in.idle.take(s.in.now, s.cfg.Idle) {
			return false
		}
		s.fatal(in, ev, &Error{Code: EnhanceYourCalm, Why: "too many informational answers"})
	default:
		ev.Flags, ev.Fields, ev.Rest = Answer, list, rest
		if end {
			ev.Flags |= End
		} else if s.merge(in, ev) && ev.Flags&End == 0 {
			s.mergeTrailers(in, ev)
		}
	}
	return true
}

// merge makes the DATA frame behind the head at hand part of its event, if it is
// whole and not too large. A request's has to be the last.
func (s *Session) merge(in *buf.In, ev *Event) bool {
	p := in.Peek(in.Len())
	if len(p) < frameHead {
		return false
	}
	f := parseFrame(p)
	if f.typ != typeData || uint64(f.id) != ev.ID || f.size > frameMax || len(p) < frameHead+f.size || f.size == 0 && !f.end() {
		return false
	}
	content, why := unpad(f, p[frameHead:frameHead+f.size])
	if why != "" || s.side == Server && !f.end() || s.tooMuch(len(content)) {
		return false // the next turn sees to it
	}
	s.content(in, f, len(content), ev)
	return true
}

// mergeTrailers makes the trailers behind an answer's only DATA part of its event.
func (s *Session) mergeTrailers(in *buf.In, ev *Event) {
	p := in.Peek(in.Len())
	if len(p) < frameHead {
		return
	}
	f := parseFrame(p)
	if f.typ != typeHeaders || uint64(f.id) != ev.ID || !f.end() || !f.endHeaders() || f.size > frameMax || len(p) < frameHead+f.size || f.flags&flagPriority != 0 {
		return
	}
	block, _, e := headersContent(f, p[frameHead:frameHead+f.size])
	if e != nil || len(block) > rawFactor*s.cfg.HeaderBytes {
		return
	}
	list, rest, e := s.in.dec.decode(block)
	if e != nil {
		s.fatal(in, ev, e)
		return
	}
	at := s.in.offset
	s.take(in, frameHead+f.size)
	if why := badTrailers(list, true); why != "" {
		s.faultOf(f.id, ev, at, list, ProtocolError, why)
		return
	}
	ev.Flags |= End
	ev.Trailer, ev.Tail = list, rest
}
