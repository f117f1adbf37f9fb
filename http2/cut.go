package http2

import (
	"encoding/binary"

	"github.com/limosa-rpc/limosa/buf"
)

// Cut takes the next event off in and puts it into ev. With no whole frame there it
// returns the number of bytes that are missing, at least 1. An error says that the
// connection is over; what the peer must still be told comes as an event with Close
// before. The caller holds the read role.
func (s *Session) Cut(in *buf.In, ev *Event) (need int, err error) {
	*ev = Event{}
	if s.side == Server && !s.in.prefaced && s.in.err == nil {
		if need = s.preface(in, ev); need > 0 || ev.Flags != 0 {
			return need, nil
		}
	}
	// Frames that mean nothing are passed over here, so that a batch has no events of them. Their
	// number is bounded by skipIdle: the loop holds the read role.
	for s.in.err == nil {
		p := in.Peek(in.Len())
		if len(p) < frameHead {
			return frameHead - len(p), nil
		}
		f := parseFrame(p)
		e := s.mayCome(f)
		// A fault of the connection needs no payload: who announces 16 MB on a wrong frame is told at
		// once. One of a stream has to wait for it, since the frame behind it counts still.
		if e != nil && e.Stream == 0 {
			s.fatal(in, ev, e)
			return 0, nil
		}
		if n := frameHead + f.size - len(p); n > 0 {
			return n, nil
		}
		if e != nil {
			s.streamFault(in, f, ev, e)
			return 0, nil
		}
		at := s.in.offset
		if need, ok := s.cutFrame(in, f, p, ev); ok || need > 0 {
			ev.at = at
			return need, nil
		}
	}
	return 0, s.in.err
}

// preface takes the client's preface off.
func (s *Session) preface(in *buf.In, ev *Event) (need int) {
	n := min(in.Len(), len(Preface))
	if string(in.Peek(n)) != Preface[:n] {
		s.fatal(in, ev, &Error{Code: ProtocolError, Why: "no preface of HTTP/2"})
		return 0
	}
	if n < len(Preface) {
		return len(Preface) - n
	}
	s.take(in, n)
	s.in.prefaced = true
	return 0
}

// mayCome checks a frame by its head, and by what came before it.
func (s *Session) mayCome(f frame) *Error {
	if f.typ <= typeHeaders && f.id&1 != 0 && f.size <= frameMax && s.in.settled && s.in.block.id == 0 && (f.typ == typeHeaders || s.side == Client || f.id <= s.in.last) {
		return nil // most frames: what follows says the same
	}
	return s.mayComeSlow(f)
}

// mayComeSlow is the whole of what RFC 9113 says of a frame's head in a state of the connection,
// with a case for each rule. An error of the connection counts before one of a stream.
func (s *Session) mayComeSlow(f frame) *Error {
	e := f.fault()
	if e != nil && e.Stream == 0 {
		return e
	}
	switch {
	// RFC 9113, section 4.3: a header block is one unit. Both ends' tables depend on it, so this is
	// checked before what a frame says of itself.
	case s.in.block.id != 0 && (f.typ != typeContinuation || f.id != s.in.block.id):
		return &Error{Code: ProtocolError, Why: "a frame within a header block"}
	case !s.in.settled && (f.typ != typeSettings || f.flags&flagAck != 0):
		return &Error{Code: ProtocolError, Why: "first frame is not SETTINGS"}
	case f.typ == typePushPromise:
		return &Error{Code: ProtocolError, Why: "PUSH_PROMISE"}
	case f.typ == typeContinuation && s.in.block.id == 0:
		return &Error{Code: ProtocolError, Why: "CONTINUATION of nothing"}
	case f.id&1 == 0 && f.id != 0 && (f.typ == typeHeaders || f.typ == typeData || f.typ == typeReset || f.typ == typeWindowUpdate):
		return &Error{Code: ProtocolError, Why: "stream with an even number"}
	case s.side == Server && f.id > s.in.last && (f.typ == typeData || f.typ == typeReset || f.typ == typeWindowUpdate):
		return &Error{Code: ProtocolError, Why: "frame on an idle stream"}
	}
	return e
}

// cutFrame takes the whole frame at the beginning of p, which is all that in holds.
// ok: ev is an event; else the frame meant nothing, or need more bytes are wanted first.
func (s *Session) cutFrame(in *buf.In, f frame, p []byte, ev *Event) (need int, ok bool) {
	payload := p[frameHead : frameHead+f.size]
	ev.ID = uint64(f.id)
	switch f.typ {
	case typeData:
		return 0, s.cutData(in, f, payload, ev)
	case typeHeaders:
		return s.cutHeaders(in, f, p, ev)
	case typeContinuation:
		return 0, s.cutContinuation(in, f, payload, ev)
	case typeReset:
		ev.Flags, ev.Code = Reset, Code(binary.BigEndian.Uint32(payload))
		// What was gathered goes now, and not with the event: a peer that resets faster than we apply
		// would have us hold it.
		s.dropGather(f.id)
	case typeWindowUpdate:
		return 0, s.cutWindowUpdate(in, f, payload, ev)
	case typeSettings:
		return 0, s.cutSettings(in, f, ev)
	case typePing:
		if ev.Flags = Ping; f.flags&flagAck != 0 {
			ev.Flags = Pong
		}
		ev.Word = binary.BigEndian.Uint64(payload)
	case typeGoAway:
		ev.Flags = GoAway
		ev.Last, ev.Code = binary.BigEndian.Uint32(payload)&maxID, Code(binary.BigEndian.Uint32(payload[4:]))
		ev.Why = string(payload[8:min(len(payload), 8+clipped)])
	case typePriority:
		if binary.BigEndian.Uint32(payload)&maxID == f.id {
			s.streamFault(in, f, ev, &Error{Code: ProtocolError, Stream: f.id, Why: "stream that depends on itself"})
			return 0, true
		}
		return 0, s.skipIdle(in, f, ev)
	default:
		return 0, s.skipIdle(in, f, ev)
	}
	s.take(in, frameHead+f.size)
	return 0, true
}

// cutSettings takes SETTINGS, whose payload Apply reads.
func (s *Session) cutSettings(in *buf.In, f frame, ev *Event) bool {
	if f.flags&flagAck != 0 {
		return s.skipIdle(in, f, ev)
	}
	if !s.in.settings.take(s.in.now, s.cfg.SettingsRate) {
		s.fatal(in, ev, &Error{Code: EnhanceYourCalm, Why: "too many SETTINGS"})
		return true
	}
	if e := settingsFault(in.Peek(frameHead + f.size)[frameHead:], s.side == Client); e != nil {
		s.fatal(in, ev, e)
		return true
	}
	s.take(in, frameHead)
	ev.Flags, ev.Body = Settings, in.View(f.size)
	s.in.offset += int64(f.size)
	s.in.settled = true
	return true
}

// cutWindowUpdate makes an event of a WINDOW_UPDATE. An increment of 0 is an error of the stream, or with id 0
// of the connection: RFC 9113 6.9.
func (s *Session) cutWindowUpdate(in *buf.In, f frame, payload []byte, ev *Event) bool {
	ev.Flags, ev.Credit = Credit, int(binary.BigEndian.Uint32(payload)&maxID)
	switch {
	case ev.Credit > 0:
		s.take(in, frameHead+f.size)
	case f.id == 0:
		s.fatal(in, ev, &Error{Code: ProtocolError, Why: "WINDOW_UPDATE of nothing"})
	default:
		s.streamFault(in, f, ev, &Error{Code: ProtocolError, Stream: f.id, Why: "WINDOW_UPDATE of nothing"})
	}
	return true
}

// skipIdle takes a frame that means nothing, and counts it. ok: there were too many.
func (s *Session) skipIdle(in *buf.In, f frame, ev *Event) (ok bool) {
	if !s.in.idle.take(s.in.now, s.cfg.Idle) {
		s.fatal(in, ev, &Error{Code: EnhanceYourCalm, Why: "too many frames that mean nothing"})
		return true
	}
	s.take(in, frameHead+f.size)
	return false
}

// cutData takes DATA: to what is being gathered, or as an event.
func (s *Session) cutData(in *buf.In, f frame, payload []byte, ev *Event) bool {
	content, why := unpad(f, payload)
	if why != "" {
		s.fatal(in, ev, &Error{Code: ProtocolError, Why: why})
		return true
	}
	if len(content) == 0 && !f.end() {
		if !s.in.idle.take(s.in.now, s.cfg.Idle) {
			s.fatal(in, ev, &Error{Code: EnhanceYourCalm, Why: "too much DATA of nothing"})
			return true
		}
		// A frame of nothing but padding is an event all the same: it took of the windows.
		if f.size == 0 {
			s.take(in, frameHead)
			return false
		}
	}
	if g := s.in.gathers[f.id]; g != nil {
		return s.gatherData(in, g, f, len(content), ev)
	}
	s.content(in, f, len(content), ev)
	return true
}

// content takes a whole DATA frame off as that of ev: n bytes of content.
func (s *Session) content(in *buf.In, f frame, n int, ev *Event) {
	before := 0
	if f.padded() {
		before = 1
	}
	s.take(in, frameHead+before)
	if n > 0 {
		ev.Flags |= Data
		ev.Body = in.View(n)
	}
	in.Skip(f.size - before - n)
	s.in.offset += int64(f.size - before)
	ev.Took += f.size
	if f.end() {
		ev.Flags |= End
	}
}

// streamFault takes a frame whose fault ends its stream.
func (s *Session) streamFault(in *buf.In, f frame, ev *Event, e *Error) {
	e.Offset = s.in.offset
	s.take(in, frameHead+f.size)
	s.dropGather(f.id)
	*ev = Event{Flags: faulty, ID: uint64(f.id), Err: e}
}

// fatal ends the connection: nothing more is cut.
func (s *Session) fatal(in *buf.In, ev *Event, e *Error) {
	e.Offset += s.in.offset
	s.in.err = e
	in.Skip(in.Len())
	ev.Body.Release()
	*ev = Event{Flags: Close, Err: e}
	// What was held for messages that will not come is given up: the connection may live on for as
	// long as its last output takes to leave.
	s.in.block = headerBlock{}
	s.blocked.Store(false)
	s.in.gathers, s.in.gathered, s.in.untold = nil, 0, 0
}

// take takes n bytes off in, and counts them: errors name an offset since the connection began.
func (s *Session) take(in *buf.In, n int) {
	in.Skip(n)
	s.in.offset += int64(n)
}
