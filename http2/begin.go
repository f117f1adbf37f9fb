package http2

import (
	"encoding/binary"
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
)

// begun is what is at hand between Begin and a good End.
type begun struct {
	open    bool // Begin without a good End
	greeted bool // before Begin
	enc     encoderState
	st      *stream // nil: a client's, not yet open
	err     *Error
	mark    buf.Mark // what Begin returned
	head    buf.Mark // of the DATA frame
	body    buf.Mark
}

// undo takes back what was begun and not ended: its bytes were truncated.
func (s *Session) undo() {
	o := &s.out
	if o.cur.open {
		o.greeted = o.cur.greeted
		o.enc.undo(o.cur.enc)
		o.cur.open = false
	}
}

// Begin appends the heads of the frames that sd names. The caller, which holds the
// output lock, lets the body be appended and calls End. The mark it returns is what
// End needs, and what out is truncated to if End fails, or is never reached. What
// is wrong with sd is kept for End.
func (s *Session) Begin(out *buf.Out, sd *Send) buf.Mark {
	s.undo()
	o := &s.out
	// The state before is small enough to be copied each time. So a message that fails while it is
	// encoded costs its own bytes only, and no error of the codec can leave the HPACK tables of both
	// ends apart.
	o.cur = begun{open: true, greeted: o.greeted, enc: o.enc.encoderState}
	m := out.Mark()
	o.cur.mark = m
	s.greet(out)
	if sd.Flags&(Open|Answer|Data|End) == 0 || sd.Flags&Reset != 0 {
		return m // End does it all
	}
	if o.cur.err = s.mayBegin(sd); o.cur.err != nil {
		return m
	}
	// A client's number is not used up before End: the next message would leave a gap, which is legal
	// and closes a stream that was never opened.
	id := o.next
	if sd.Flags&Open == 0 {
		id = o.cur.st.id
	}
	if sd.Flags&(Open|Answer) != 0 {
		f := frame{typ: typeHeaders, id: id}
		if sd.Flags&(Data|End) == End && !sd.hasTail() {
			f.flags = flagEnd
		}
		s.putBlock(out, f, sd.Head, sd.Fields, &sd.Brief)
	}
	if sd.Flags&Data != 0 {
		// The length is not known yet: End patches it, so that a body is encoded in place and once.
		o.cur.head = out.Reserve(frameHead)
		o.cur.body = out.Mark()
	}
	return m
}

func (sd *Send) hasTail() bool { return sd.Tail != nil || len(sd.Last) > 0 }

// mayBegin finds the stream of a message, and checks what can be checked before
// anything is appended.
func (s *Session) mayBegin(sd *Send) *Error {
	o := &s.out
	if sd.Flags&Open != 0 {
		switch {
		case s.side == Server:
			return sendErr(InternalError, "a server opens no streams")
		case o.next > maxID:
			return sendErr(RefusedStream, "the connection's stream ids are used up")
		case o.goneAway || o.dead:
			return sendErr(RefusedStream, "the peer takes no more streams")
		case o.streams.live >= o.peerStreams:
			return sendErr(RefusedStream, "the peer takes "+strconv.Itoa(o.peerStreams)+" streams at once")
		}
	} else {
		o.cur.st = s.stream(sd.ID)
		if st := o.cur.st; st == nil || !st.live || st.localEnded || st.kept != nil && st.kept.end {
			return sendErr(StreamClosed, "the stream is over")
		}
	}
	if e := s.sendable(sd.Head, sd.Fields, &sd.Brief); e != nil {
		return e
	}
	return s.sendable(sd.Tail, sd.Last, nil)
}

// sendable checks a header list.
func (s *Session) sendable(h *Head, fields []Field, brief *Brief) *Error {
	size := 0
	if h != nil {
		if h.fault != "" {
			return sendErr(InternalError, h.fault)
		}
		size = h.size
	}
	for _, f := range fields {
		if why := sendFault(f); why != "" {
			return sendErr(InternalError, why)
		}
		size += f.size()
	}
	if brief != nil && brief.name != "" {
		size += len(brief.name) + int(brief.n) + fieldCost
	}
	if size > s.out.headerList {
		e := sendErr(EnhanceYourCalm, "header list of "+strconv.Itoa(size)+" bytes, the peer takes "+strconv.Itoa(s.out.headerList))
		e.Limit = true
		return e
	}
	return nil
}

// End finishes the frames begun at m, whose body was appended since, and with them
// what Begin did counts. What does not fit into the windows is kept. After an
// error the caller truncates out to m; the stream is as it was.
func (s *Session) End(out *buf.Out, m buf.Mark, sd *Send) error {
	o := &s.out
	if !o.cur.open || o.cur.mark != m {
		panic("http2: End without its Begin")
	}
	if o.cur.err != nil {
		return o.cur.err
	}
	if sd.Flags&(Open|Answer|Data|End) == 0 || sd.Flags&Reset != 0 {
		s.control(out, sd)
		o.cur.open = false
		return nil
	}
	n := 0
	if sd.Flags&Data != 0 {
		n = out.Since(o.cur.body)
	}
	more := 0
	if sd.Body != nil {
		more = sd.Body.Len()
	}
	// Before anything is counted: after an error the stream is as it was.
	if e := s.fits(n + more); e != nil {
		return e
	}
	st := o.cur.st
	if st == nil {
		st = s.open(o.next, sd.ID)
		o.next += 2
		st.gathered = sd.Flags&Gathered != 0
		st.shown = true
	}
	o.cur.open = false
	o.sent = true
	// A body of one frame for which there is window stays where it was encoded; that is most of them.
	if sd.Flags&Data != 0 {
		if more > 0 || n > frameMax || n > s.room(st) && n > 0 || st.kept != nil {
			return s.endLarge(out, st, sd)
		}
		s.endData(out, st, n, sd.Flags&End != 0 && !sd.hasTail())
	}
	if sd.Flags&End != 0 {
		if st.kept != nil { // an End alone, behind what waits
			st.kept.end, st.kept.tail, st.kept.fields = true, sd.Tail, append([]Field(nil), sd.Last...)
			return nil
		}
		s.endStream(out, st, sd)
	}
	return nil
}

// endData patches the head of a DATA frame whose body is whole behind it.
func (s *Session) endData(out *buf.Out, st *stream, n int, end bool) {
	if n == 0 && !end {
		out.Truncate(s.out.cur.head) // nothing is not worth a frame
		return
	}
	f := frame{typ: typeData, id: st.id, size: n}
	if end {
		f.flags = flagEnd
	}
	var head [frameHead]byte
	out.Patch(s.out.cur.head, appendHead(head[:0], f))
	s.spend(st, n, false)
}

// endStream appends the end of what we send on a stream, as far as DATA has not.
func (s *Session) endStream(out *buf.Out, st *stream, sd *Send) {
	switch {
	case sd.hasTail():
		s.putBlock(out, frame{typ: typeHeaders, id: st.id, flags: flagEnd}, sd.Tail, sd.Last, nil)
	case sd.Flags&(Data|Answer|Open) == 0:
		putHead(out, frame{typ: typeData, id: st.id, flags: flagEnd})
	}
	s.endLocal(out, st)
}

// fits bounds one body, and what waits for windows.
func (s *Session) fits(n int) *Error {
	switch {
	case n > s.cfg.MessageBytes:
		e := sendErr(EnhanceYourCalm, "body of "+strconv.Itoa(n)+" bytes, MessageBytes is "+strconv.Itoa(s.cfg.MessageBytes))
		e.Limit = true
		return e
	case s.out.kept > 0 && s.out.kept+n > keptFactor*s.cfg.MessageBytes:
		e := sendErr(EnhanceYourCalm, strconv.Itoa(s.out.kept)+" bytes wait for the peer's windows")
		e.Limit = true
		return e
	}
	return nil
}

// endLarge ends a body that takes several frames, or has to wait: it is taken out
// again, and leaves in frames as far as windows go.
func (s *Session) endLarge(out *buf.Out, st *stream, sd *Send) error {
	k := s.keeps(st)
	was := k.body.Len()
	// Pieces move, and hardly a byte: what is in a block of its own stays there.
	out.Cut(s.out.cur.body, &k.body)
	out.Truncate(s.out.cur.head)
	if sd.Body != nil {
		k.body.MoveFrom(sd.Body)
	}
	s.out.kept += k.body.Len() - was
	if sd.Flags&End != 0 {
		k.end, k.tail = true, sd.Tail
		if len(sd.Last) > 0 {
			k.fields = append([]Field(nil), sd.Last...) // the caller's may change
		}
	}
	// As much as the windows allow leaves at once, so that only what has to wait does.
	for st.kept != nil && s.sendKept(out, st) {
	}
	s.wake(st)
	return nil
}

// endLocal notes that we send nothing more on a stream.
func (s *Session) endLocal(out *buf.Out, st *stream) {
	st.localEnded = true
	if s.side == Server {
		s.out.earned = min(s.out.earned+1, earnedMost)
		if !st.remoteEnded { // an early answer: RFC 9113, section 8.1
			s.putReset(out, st.id, NoError)
			st.weReset = true
			s.close(st)
			return
		}
	}
	if st.remoteEnded {
		s.close(st)
	}
}

// control appends a frame that carries no message. A Reset of a stream that the peer
// has said it did not start needs none.
func (s *Session) control(out *buf.Out, sd *Send) {
	o := &s.out
	switch {
	case sd.Flags&GoAway != 0:
		last := uint32(maxID)
		if sd.Flags&HasLast != 0 {
			if !o.leaving {
				o.leaving, o.stop = true, o.last
			}
			last = o.stop
		}
		s.putGoAway(out, last, sd.Code, sd.Why)
	case sd.Flags&Ping != 0:
		s.putPing(out, 0, sd.Word)
	default:
		st := s.stream(sd.ID)
		if st == nil || !st.live {
			return // it is over already
		}
		if sd.Flags&Reset != 0 {
			if !o.goneAway || st.id <= o.goneLast { // else the peer does not know it
				s.putReset(out, st.id, sd.Code)
			}
			st.weReset = true
			s.close(st)
		} else if sd.Flags&Credit != 0 && !st.gathered {
			s.consumed(out, st, max(0, min(sd.Credit, st.window-st.recv-st.owed)))
		}
	}
}

// greet appends what a side says first.
func (s *Session) greet(out *buf.Out) {
	if s.out.greeted {
		return
	}
	s.out.greeted = true
	b := out.Block()
	if s.side == Client {
		b = append(b, Preface...)
	}
	at := len(b)
	b = appendHead(b, frame{typ: typeSettings})
	if s.side == Client {
		b = appendSetting(b, settingPush, 0)
	} else {
		b = appendSetting(b, settingStreams, uint32(s.cfg.Streams))
	}
	// What is the protocol's own default is not said: each setting is six bytes of every connection.
	if s.cfg.StreamWindow != defaultWindow {
		b = appendSetting(b, settingWindow, uint32(s.cfg.StreamWindow))
	}
	b = appendSetting(b, settingHeaderList, uint32(s.cfg.HeaderBytes))
	b[at+2] = byte(len(b) - at - frameHead)
	out.Commit(b)
	if n := s.cfg.ConnWindow - defaultWindow; n > 0 {
		putWord(out, typeWindowUpdate, 0, uint32(n))
	}
}

// putBlock appends HEADERS, and CONTINUATION where one frame is too small.
func (s *Session) putBlock(out *buf.Out, f frame, h *Head, fields []Field, brief *Brief) {
	e := &s.out.enc
	b := out.Block()
	f.flags |= flagEndHeaders
	b = e.open(appendHead(b, f))
	if h != nil {
		b = e.appendHead(b, h)
	}
	for i := range fields {
		b = appendPlain(b, fields[i].Name, fields[i].Value)
	}
	if brief != nil && brief.name != "" {
		b = appendInt(append(b, 0), 0, 7, uint64(len(brief.name)))
		b = appendInt(append(b, brief.name...), 0, 7, uint64(brief.n))
		b = append(b, brief.value[:brief.n]...)
	}
	// The head was written with a length of 0: it is patched in place, since nothing follows yet.
	n := len(b) - frameHead
	if n <= frameMax {
		b[0], b[1], b[2] = byte(n>>16), byte(n>>8), byte(n)
		out.Commit(b)
		return
	}
	// Rare: a header list of more than 16 KB. A copy is simpler than heads between its parts.
	block := append([]byte(nil), b[frameHead:]...)
	out.Commit(b[:0])
	for f.flags &^= flagEndHeaders; len(block) > 0; f = (frame{typ: typeContinuation, id: f.id}) {
		f.size = min(len(block), frameMax)
		if f.size == len(block) {
			f.flags |= flagEndHeaders
		}
		putHead(out, f)
		out.Append(block[:f.size])
		block = block[f.size:]
	}
}

// putReset appends a RST_STREAM: the stream is over, and code says why.
func (s *Session) putReset(out *buf.Out, id uint32, code Code) {
	putWord(out, typeReset, id, uint32(code))
}

// putPing appends a PING, or with the flag of an acknowledgement the answer to one. word is the payload, which
// an answer gives back as it came.
func (s *Session) putPing(out *buf.Out, flags uint8, word uint64) {
	b := appendHead(out.Block(), frame{typ: typePing, flags: flags, size: 8})
	out.Commit(binary.BigEndian.AppendUint64(b, word))
}

// putGoAway appends a GOAWAY: streams above last were not looked at, and may be tried elsewhere. why is for
// people and is cut after 200 bytes: part of it may be the peer's own.
func (s *Session) putGoAway(out *buf.Out, last uint32, code Code, why string) {
	why = why[:min(len(why), 200)]
	b := appendHead(out.Block(), frame{typ: typeGoAway, size: 8 + len(why)})
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, last), uint32(code))
	out.Commit(append(b, why...))
}
