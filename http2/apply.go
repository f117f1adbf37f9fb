package http2

import (
	"github.com/limosa-rpc/limosa/buf"
)

// Apply takes an event of Cut into effect and appends what is to be answered. It is
// called once for each event, in order, before anything else is made of it, by a
// caller that holds the read role and the output lock. It gives ev its user's id, takes what
// nobody needs to see out of Flags, and may leave none.
func (s *Session) Apply(out *buf.Out, ev *Event) {
	s.undo()
	if s.out.dead { // what was cut behind the fault
		if ev.Flags&Close == 0 {
			clearEvent(ev)
		}
		return
	}
	s.greet(out)
	// Frames that Cut has kept for itself have used the connection's window too. They are counted
	// before ev is, or a peer could hide an overrun behind them.
	s.out.recv -= s.in.stray
	s.out.owed += s.in.stray
	s.in.stray = 0
	if ev.Flags&Close != 0 {
		s.sayDead(out, ev.Err)
		return
	}
	if s.received(out, ev) {
		if ev.ID == 0 {
			s.applyConn(out, ev)
		} else {
			s.applyStream(out, ev)
		}
	}
	// What Apply has closed, Cut may be gathering still. Apply holds both halves, so it may tell it here.
	for _, id := range s.out.ended {
		s.dropGather(id)
	}
	s.out.ended = s.out.ended[:0]
}

// clearEvent takes an event out of everybody's sight.
func clearEvent(ev *Event) {
	ev.Body.Release()
	*ev = Event{}
}

// kill ends the connection for what ev showed.
func (s *Session) kill(out *buf.Out, ev *Event, code Code, why string) {
	ev.Body.Release()
	e := &Error{Code: code, Offset: ev.at, Why: why}
	*ev = Event{Flags: Close, Err: e}
	s.in.err = e
	s.sayDead(out, e)
}

// sayDead appends the GOAWAY that names a fault of the connection.
func (s *Session) sayDead(out *buf.Out, e *Error) {
	s.out.dead = true
	s.putGoAway(out, s.out.last, e.Code, e.Why)
}

// applyConn takes an event about the connection into effect.
func (s *Session) applyConn(out *buf.Out, ev *Event) {
	o := &s.out
	switch {
	case ev.Flags&Settings != 0:
		s.applySettings(out, ev)
	case ev.Flags&Ping != 0:
		if !s.ping() {
			s.kill(out, ev, EnhanceYourCalm, "too many PINGs")
			return
		}
		s.putPing(out, flagAck, ev.Word)
	case ev.Flags&GoAway != 0:
		// The last stream may be lowered by a second GOAWAY and never raised: RFC 9113, section 6.8.
		if !o.goneAway || ev.Last < o.goneLast {
			o.goneAway, o.goneLast = true, ev.Last
		}
		ev.Last = o.goneLast
	case ev.Flags&Credit != 0:
		s.credited(out, nil, ev)
	}
}

// applySettings takes the peer's settings in, in order, and says so.
func (s *Session) applySettings(out *buf.Out, ev *Event) {
	o := &s.out
	was := o.initial
	eachSetting(ev.Body.Bytes(), func(id uint16, v uint32) {
		switch id {
		case settingTableSize:
			o.enc.setMost(v)
		case settingStreams:
			o.peerStreams = int(min(v, maxID))
		case settingWindow:
			if !o.dead {
				s.setInitial(out, ev, int(v))
			}
		case settingHeaderList:
			o.headerList = int(min(v, maxWindow))
		}
	})
	ev.Body.Release()
	ev.Body = buf.View{}
	if o.dead {
		return
	}
	// Acknowledged behind the loop, not within it: all settings of a frame hold at once.
	o.known = true
	putHead(out, frame{typ: typeSettings, flags: flagAck})
	if o.initial > was {
		ev.Flags |= Credit
		for _, st := range o.waiting { // once, however often the frame says it
			s.wake(st)
		}
		s.flush(out)
	}
}

// applyStream takes an event about a stream into effect.
func (s *Session) applyStream(out *buf.Out, ev *Event) {
	id := uint32(ev.ID)
	if s.side == Server && ev.ID > uint64(s.out.last) && id&1 == 1 && (ev.Flags&(Open|begins) != 0 || ev.Fields != nil) {
		if !s.opened(out, ev) {
			return
		}
	}
	st := s.out.streams.find(uint64(id))
	switch {
	case st == nil:
		s.unknown(out, ev)
	case !st.live:
		s.late(out, st, ev)
	case ev.Flags&faulty != 0 && st.remoteEnded && (ev.Fields != nil || ev.Took > 0): // whatever is wrong with it besides
		s.fail(out, st, ev, &Error{Code: StreamClosed, Why: "frame behind END_STREAM"})
	case ev.Flags&faulty != 0:
		s.fail(out, st, ev, ev.Err)
	case ev.Flags&Reset != 0:
		s.applyReset(out, st, ev)
	case ev.Flags&Credit != 0:
		if s.credited(out, st, ev); ev.Flags == Credit && (st.kept != nil || !st.shown || st.localEnded) {
			ev.Flags = 0 // nobody waits for it
		}
		s.named(st, ev)
	default:
		s.applyMessage(out, st, ev)
	}
}

// named gives ev the id that the user knows its stream by.
func (s *Session) named(st *stream, ev *Event) {
	if s.side == Client && ev.Flags&Close == 0 {
		ev.ID = st.call
	}
}

// opened takes a new stream of a client in; false: there is nothing to it.
func (s *Session) opened(out *buf.Out, ev *Event) bool {
	o := &s.out
	id := uint32(ev.ID)
	o.last = id
	// What is behind the GOAWAY was not looked at, so that its caller may try it elsewhere. Nothing is
	// said: the header block had to be read all the same, for the table's sake.
	if o.leaving && id > o.stop { // the peer knows, or will: RFC 9113, section 6.8
		s.dropGather(id)
		clearEvent(ev)
		return false
	}
	st := s.open(id, 0)
	switch {
	case ev.Flags&faulty != 0:
		s.fail(out, st, ev, ev.Err)
		return false
	// It is counted in first: fail closes it, and its place says that it was there.
	case o.streams.live > s.cfg.Streams:
		s.fail(out, st, ev, &Error{Code: RefusedStream, Stream: id, Limit: true, Why: "more streams than were announced"})
		return false
	}
	st.gathered = ev.Flags&begins != 0
	st.length = ev.Fields.Length
	if st.gathered {
		s.awaits(st, true)
		clearEvent(ev)
		return false
	}
	return true
}

// unknown sees to an event of a stream of which nothing is remembered.
func (s *Session) unknown(out *buf.Out, ev *Event) {
	id := uint32(ev.ID)
	switch {
	case ev.Flags&faulty != 0 && ev.Err.Code == FrameSizeError: // PRIORITY, in any state
		s.stale(out, ev)
	case s.idle(id):
		s.kill(out, ev, ProtocolError, "frame on an idle stream")
	case s.side == Server && s.reopens(ev):
		s.kill(out, ev, ProtocolError, "stream with a lower number than those before")
	default: // we may have ended it, long ago
		s.stale(out, ev)
	}
}

// stale sees to an event that means nothing any more: it is counted.
func (s *Session) stale(out *buf.Out, ev *Event) {
	switch {
	case ev.Flags&Credit != 0 && !s.update():
		s.kill(out, ev, EnhanceYourCalm, "too many updates of windows")
	case ev.Flags&(Reset|faulty) != 0 && !s.reset():
		s.kill(out, ev, EnhanceYourCalm, "too many streams were reset")
	default:
		clearEvent(ev)
	}
}

// reopens reports HEADERS of a request.
func (s *Session) reopens(ev *Event) bool {
	return ev.Fields != nil && ev.Fields.pseudo != 0 || ev.Trailer != nil && ev.Trailer.pseudo != 0
}

// late sees to an event of a stream that is closed: RFC 9113, section 5.1.
func (s *Session) late(out *buf.Out, st *stream, ev *Event) {
	says := ev.Flags&(Data|End|Answer|Open) != 0 || ev.Fields != nil || ev.Took > 0
	code := StreamClosed
	switch {
	case ev.Flags&Credit != 0 || st.weReset && ev.Flags&Reset == 0: // it was on its way
		s.stale(out, ev)
		return
	case says && st.remoteEnded:
		s.kill(out, ev, StreamClosed, "frame behind END_STREAM")
		return
	case !says && ev.Flags&faulty != 0: // PRIORITY, or an update of a window
		code = ev.Err.Code
	}
	if !s.reset() {
		s.kill(out, ev, EnhanceYourCalm, "too many streams were reset")
		return
	}
	if ev.Flags&Reset == 0 {
		s.putReset(out, st.id, code)
		st.weReset = true
	}
	clearEvent(ev)
}

// fail ends a stream for what the peer did. The user is told if it knows the stream.
func (s *Session) fail(out *buf.Out, st *stream, ev *Event, e *Error) {
	if e != ev.Err { // found here, not by Cut
		e.Stream, e.Offset = st.id, ev.at
	}
	// A user that does not know the stream has nothing to give up.
	shown := st.shown
	ev.Body.Release()
	*ev = Event{ID: ev.ID, at: ev.at}
	if shown {
		ev.Flags, ev.Code, ev.Err = Reset, e.Code, e
	}
	s.named(st, ev)
	s.putReset(out, st.id, e.Code)
	st.weReset = true
	s.close(st)
	s.dropGather(st.id)
	// What our own limits refuse is nobody's fault, but for streams beyond those that were announced:
	// who goes on with that costs a frame each, as with rapid resets (CVE-2023-44487).
	if !e.Limit || e.Code == RefusedStream {
		if !s.reset() {
			s.kill(out, ev, EnhanceYourCalm, "too many streams were reset")
		}
	}
}

// applyReset takes the peer's RST_STREAM in.
func (s *Session) applyReset(out *buf.Out, st *stream, ev *Event) {
	// Counted even if the stream was answered: opening and resetting is cheap for a peer alone.
	if !s.reset() {
		s.kill(out, ev, EnhanceYourCalm, "too many streams were reset")
		return
	}
	if !st.shown {
		ev.Flags = 0
	}
	s.named(st, ev)
	st.peerReset = true
	s.close(st)
}

// applyMessage takes a part of a message in, or what of its windows it used up.
func (s *Session) applyMessage(out *buf.Out, st *stream, ev *Event) {
	says := ev.Flags & (Open | Answer | Data | End)
	if st.remoteEnded {
		s.fail(out, st, ev, &Error{Code: StreamClosed, Why: "frame behind END_STREAM"})
		return
	}
	if st.recv -= ev.Took; st.recv < 0 {
		s.fail(out, st, ev, &Error{Code: FlowControlError, Why: "more than the stream's window"})
		return
	}
	if s.side == Client && says != 0 {
		if !s.answered(out, st, ev) {
			return
		}
	}
	// Padding, and what is gathered, is granted as it comes: nobody will consume it.
	grant := ev.Took
	if !st.gathered {
		grant -= ev.Body.Len() // that is granted when it is consumed
	}
	st.got += int64(ev.Body.Len())
	if ev.Err == nil && s.wrongLength(st, ev) {
		s.fail(out, st, ev, &Error{Code: ProtocolError, Why: "content-length is not that of the body"})
		return
	}
	s.named(st, ev)
	// Behind the length check: a body that ends early must not look whole.
	if ev.Flags&End != 0 {
		st.remoteEnded = true
		s.awaits(st, false)
	}
	switch {
	case st.refused:
		clearEvent(ev)
	case ev.Flags != 0:
		st.shown = true
		st.refused = ev.Err != nil
	}
	switch {
	case st.remoteEnded && st.localEnded:
		s.close(st)
	case st.remoteEnded && st.gathered && s.side == Client:
		// The answer came before all of the request had left.
		s.putReset(out, st.id, NoError)
		st.weReset = true
		s.close(st)
	case !st.refused && grant > 0:
		s.consumed(out, st, grant)
	}
}

// wrongLength compares a body with what its head said: RFC 9113, section 8.1.1. An
// answer without a body may be one to HEAD.
func (s *Session) wrongLength(st *stream, ev *Event) bool {
	if st.length < 0 || st.refused || s.side == Client && st.got == 0 {
		return false
	}
	return st.got > st.length || ev.Flags&End != 0 && st.got != st.length
}

// answered puts a part of an answer where it belongs: with the rest of it, if it is
// to arrive whole. false: the stream has failed.
func (s *Session) answered(out *buf.Out, st *stream, ev *Event) bool {
	bad := func(code Code, limit bool, why string) bool {
		s.fail(out, st, ev, &Error{Code: code, Limit: limit, Why: why})
		return false
	}
	switch {
	case ev.Err != nil: // Cut has given its body up
		s.fail(out, st, ev, ev.Err)
		return false
	case ev.Flags&Answer == 0 && !st.headed:
		return bad(ProtocolError, false, "answer without its head")
	case ev.Flags&Answer != 0 && st.headed && s.in.gathers[st.id] != nil:
		return bad(ProtocolError, false, "second head of an answer")
	case ev.Flags&Answer != 0 && st.headed && !st.gathered:
		return bad(ProtocolError, false, "second head of an answer")
	}
	if ev.Flags&Answer != 0 {
		if !st.headed {
			st.length = ev.Fields.Length
		}
		st.headed = true
	}
	if !st.gathered || ev.Flags&(Answer|End) == Answer|End {
		return true
	}
	g := s.in.gathers[st.id]
	switch {
	case g == nil: // its head alone
		took := ev.Took
		s.startGather(*ev)
		s.awaits(st, true)
		*ev = Event{ID: ev.ID, Took: took, at: ev.at}
		return !s.lost(st) || bad(Cancel, true, "body of more than there is room for")
	case ev.Flags&End != 0:
		s.grow(g, ev.Body.Bytes())
		ev.Body.Release()
		ev.Body = buf.View{}
		if g.lost {
			return bad(Cancel, true, "body of more than there is room for")
		}
		s.used(g, ev.Took)
		s.finish(g, ev)
	default: // cut before it was known that the answer is gathered
		s.grow(g, ev.Body.Bytes())
		ev.Body.Release()
		*ev = Event{ID: ev.ID, Took: ev.Took, at: ev.at}
		return !g.lost || bad(Cancel, true, "body of more than there is room for")
	}
	return true
}

// lost reports whether what is gathered of a stream was given up.
func (s *Session) lost(st *stream) bool {
	g := s.in.gathers[st.id]
	return g != nil && g.lost
}
