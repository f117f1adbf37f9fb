package http1

import (
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
)

const (
	lengthDigits = 10 // of a content-length that is sent, padded on the left
	lengthEnd    = "\r\n\r\n"
	chunkHead    = 10 // bytes of the line of a chunk that is sent: eight digits
	chunkMost    = 1<<32 - 1
)

// A framing is how the body of the message that is being sent is told to end.
type framing struct {
	open  bool // it was begun and has not ended
	kind  kind
	mute  bool // of the body nothing is sent
	close bool // the connection ends behind it
	left  int64
}

type kind uint8

const (
	bodyless kind = iota
	counted       // its length is patched into the head
	sized         // its length was told: left bytes of it are missing
	chunked       //
	unframed      // up to the end of the connection: HTTP/1.0
)

// begun is what is at hand between Begin and a good End.
type begun struct {
	open   bool // Begin without a good End
	void   bool // the peer cannot be told, or needs not be
	err    *Error
	msg    framing // as it is once End has returned nil
	mark   buf.Mark
	length buf.Mark // of content-length's digits
	chunk  buf.Mark
	body   buf.Mark
}

// Begin appends the head of the message that sd names, or of its next part. The caller,
// which holds the output lock, lets the body be appended and calls End. The mark it
// returns is what End needs, and what out is truncated to if End fails, or is never
// reached. What is wrong with sd is kept for End.
func (s *Session) Begin(out *buf.Out, sd *Send) buf.Mark {
	o := &s.out
	m := out.Mark()
	o.cur = begun{open: true, mark: m, msg: o.msg}
	c := &o.cur
	if sd.isControl() {
		return m // End does it all
	}
	if c.void, c.err = s.mayBegin(sd); c.void || c.err != nil {
		return m
	}
	if sd.Flags&(Open|Answer) != 0 {
		if c.err = s.putHead(out, sd); c.err != nil {
			return m
		}
	}
	if c.msg.kind == chunked && sd.Flags&Data != 0 {
		c.chunk = out.Reserve(chunkHead)
	}
	c.body = out.Mark()
	return m
}

func (sd *Send) hasTail() bool { return sd.Tail != nil || len(sd.Last) > 0 }

func (sd *Send) isControl() bool {
	return sd.Flags&(Open|Answer|Data|End) == 0 || sd.Flags&Reset != 0
}

// mayBegin checks what can be checked before anything is appended. void: it is too late
// for sd, and that is nobody's fault.
func (s *Session) mayBegin(sd *Send) (void bool, e *Error) {
	o := &s.out
	for _, f := range sd.Last {
		if why := sendFault(f); why != "" {
			return false, sendErr(why)
		}
	}
	if sd.Tail != nil && (sd.Tail.fault != "" || sd.Tail.start.n > 0) {
		return false, sendErr("trailers that are none: " + sd.Tail.fault)
	}
	if s.side == Client {
		switch {
		case sd.Flags&Open == 0:
			if sd.ID != o.call || !o.busy || o.dead {
				return true, nil
			}
			if !o.msg.open {
				e = sendErr("the request has ended")
			}
		case o.dead || o.leaving:
			e = sendErr("the connection takes no more requests")
		case o.busy || o.msg.open:
			e = sendErr("a request is in flight")
		}
		return false, e
	}
	switch {
	case o.dead, o.fault != nil && o.asked.at(sd.ID) == nil:
		return true, nil
	case o.asked.at(sd.ID) == nil:
		e = sendErr("there is no request that waits for this answer")
	case sd.ID != o.asked.next:
		e = sendErr("it is another answer's turn")
	case o.msg.open == (sd.Flags&Answer != 0):
		e = sendErr("an answer begins once")
	}
	return false, e
}

// putHead appends a head, and decides how the body's end is told.
func (s *Session) putHead(out *buf.Out, sd *Send) *Error {
	c := &s.out.cur
	st, text, fields := start{}, "", sd.Fields
	if h := sd.Head; h != nil {
		if h.fault != "" {
			return sendErr(h.fault)
		}
		st, text = h.start, h.text
	} else {
		st = startOf(fields)
		fields = fields[st.n:]
	}
	switch {
	case st.fault != "":
		return sendErr(st.fault)
	case st.n == 0, (st.status == 0) != (s.side == Client):
		return sendErr("head without its first line")
	}
	for _, f := range fields {
		if why := sendFault(f); why != "" {
			return sendErr(why)
		}
	}
	br := &sd.Brief
	if why := ""; br.name != "" {
		if why = sendFault(Field{br.name, string(br.value[:br.n])}); why != "" {
			return sendErr(why)
		}
	}
	old := s.frame(sd, &st)
	b := out.Block()
	if text == "" {
		b = st.append(b)
	}
	b = append(b, text...)
	for i := range fields {
		b = appendField(b, fields[i].Name, fields[i].Value)
	}
	if s.side == Server {
		b = s.appendDate(b)
	}
	switch {
	case c.msg.close:
		b = append(b, "connection: close\r\n"...)
	case old:
		b = append(b, "connection: keep-alive\r\n"...)
	}
	if br.name != "" {
		b = appendField(b, br.name, br.value[:br.n])
	}
	switch c.msg.kind {
	case counted:
		out.Commit(append(b, "content-length: "...))
		c.length = out.Reserve(lengthDigits + len(lengthEnd))
		return nil
	case sized:
		b = append(b, "content-length: "...)
		b = append(strconv.AppendInt(b, c.msg.left, 10), "\r\n"...)
	case chunked:
		b = append(b, "transfer-encoding: chunked\r\n"...)
	}
	out.Commit(append(b, "\r\n"...))
	return nil
}

// frame decides how the end of the message is told: RFC 9112, section 6. old: the peer
// has to be told that the connection stays.
func (s *Session) frame(sd *Send, st *start) (old bool) {
	o, m := &s.out, &s.out.cur.msg
	*m = framing{close: sd.Flags&Close != 0, left: max(0, sd.Length)}
	end := sd.Flags&End != 0
	if s.side == Client {
		switch {
		case sd.Flags&Sized != 0:
			m.kind = sized
		case !end || sd.hasTail():
			m.kind = chunked
		case sd.Flags&Data != 0, st.method == "POST", st.method == "PUT", st.method == "PATCH":
			m.kind = counted
		}
		return false
	}
	a := *o.asked.at(o.asked.next)
	old = a&askOld != 0
	m.mute = a&askHead != 0
	m.close = m.close || a&askLast != 0 || o.leaving && o.asked.len() == 1 || end && a&askEnded == 0
	switch {
	case st.status == 204 || st.status == 304:
	case sd.Flags&Sized != 0:
		m.kind = sized
	case end && (old || !sd.hasTail()):
		m.kind = counted
	case old:
		m.kind, m.close = unframed, true
	default:
		m.kind = chunked
	}
	return old
}

// End finishes what was begun at m, whose body was appended since, and with it what
// Begin did counts. After an error the caller truncates out to m; the message is as it
// was. What the peer needs not be told any more is no error: nothing is appended. Close
// in sd says afterwards whether the connection is to end once the output has left.
func (s *Session) End(out *buf.Out, m buf.Mark, sd *Send) error {
	o := &s.out
	c := &o.cur
	switch {
	case !c.open || c.mark != m:
		panic("http1: End without its Begin")
	case c.err != nil:
		return c.err
	case sd.isControl():
		c.open = false
		s.control(sd)
		return nil
	case c.void:
		c.open = false
		sd.Flags &^= Close
		out.Truncate(m)
		sd.drop()
		return nil
	}
	if e := s.endBody(out, sd); e != nil {
		return e
	}
	c.open = false
	sd.Flags &^= Close
	o.msg = c.msg
	o.msg.open = true
	if sd.Flags&Open != 0 {
		s.started(sd)
	}
	if sd.Flags&End != 0 {
		s.finish(out, sd)
	}
	return nil
}

// drop takes the body that is not sent.
func (sd *Send) drop() {
	if sd.Body != nil {
		sd.Body.Reset()
	}
}

// endBody patches the body's length, and appends what follows it.
func (s *Session) endBody(out *buf.Out, sd *Send) *Error {
	c := &s.out.cur
	n := out.Since(c.body)
	if sd.Body != nil {
		n += sd.Body.Len()
	}
	end := sd.Flags&End != 0
	switch {
	case n > s.cfg.MessageBytes:
		e := sendErr("body of " + strconv.Itoa(n) + " bytes, the limit is " + strconv.Itoa(s.cfg.MessageBytes))
		e.Limit = true
		return e
	case n > 0 && (sd.Flags&Data == 0 || c.msg.kind == bodyless && !c.msg.mute):
		return sendErr("body where there is none")
	}
	if c.msg.kind == sized {
		c.msg.left -= int64(n)
		if c.msg.left < 0 || end && c.msg.left > 0 && !(c.msg.mute && n == 0) {
			return sendErr("body of another length than was told")
		}
	}
	if c.msg.kind == counted {
		var digits [lengthDigits + len(lengthEnd)]byte
		copy(digits[lengthDigits:], lengthEnd)
		padNumber(digits[:lengthDigits], ' ', uint64(n), 10)
		out.Patch(c.length, digits[:])
	}
	inChunk := c.msg.kind == chunked && sd.Flags&Data != 0
	switch {
	case c.msg.mute:
		out.Truncate(c.body)
		if inChunk {
			out.Truncate(c.chunk)
		}
		sd.drop()
		return nil
	case inChunk && n == 0:
		out.Truncate(c.chunk) // it would be the end
	case inChunk:
		var line [chunkHead]byte
		copy(line[chunkHead-2:], "\r\n")
		padNumber(line[:chunkHead-2], '0', uint64(n), 16)
		out.Patch(c.chunk, line[:])
	}
	if sd.Body != nil {
		out.MoveFrom(sd.Body)
	}
	if inChunk && n > 0 {
		out.AppendString("\r\n")
	}
	if end && c.msg.kind == chunked {
		b := append(out.Block(), "0\r\n"...)
		if sd.Tail != nil {
			b = append(b, sd.Tail.text...)
		}
		for _, f := range sd.Last {
			b = appendField(b, f.Name, f.Value)
		}
		out.Commit(append(b, "\r\n"...))
	}
	return nil
}

// padNumber writes n in base 10 or 16 to the end of b, behind as many of pad as fit.
func padNumber(b []byte, pad byte, n, base uint64) {
	i := len(b)
	for {
		i--
		b[i] = "0123456789abcdef"[n%base]
		if n /= base; n == 0 {
			break
		}
	}
	for i--; i >= 0; i-- {
		b[i] = pad
	}
}

// started notes that a client's request is in flight.
func (s *Session) started(sd *Send) {
	o := &s.out
	o.busy, o.call = true, sd.ID
	o.number = (o.number + 1) & (1<<(32-sentShift) - 1)
	o.leaving = o.leaving || o.msg.close
	word := o.number << sentShift
	if sd.method() == "HEAD" {
		word |= sentHead
	}
	if sd.Flags&Gathered != 0 {
		word |= sentGathered
	}
	s.sent.Store(word)
}

// method is the one that the first line says.
func (sd *Send) method() string {
	if sd.Head != nil {
		return sd.Head.start.method
	}
	return startOf(sd.Fields).method
}

// finish notes that a message was sent, and goes on with what waited for that.
func (s *Session) finish(out *buf.Out, sd *Send) {
	o := &s.out
	last := o.msg.close
	o.msg = framing{}
	if s.side == Client {
		return
	}
	last = last || *o.asked.at(o.asked.next)&askEnded == 0
	o.asked.pop()
	switch {
	case last:
		o.dead = true
		sd.Flags |= Close
	case o.fault != nil && o.asked.len() == 0:
		s.putFault(out)
		sd.Flags |= Close
	default:
		s.invite(out)
	}
}

// control does what needs no message: HTTP/1 has none for it.
func (s *Session) control(sd *Send) {
	o := &s.out
	switch {
	case sd.Flags&Reset != 0:
		if s.side == Server && o.asked.at(sd.ID) != nil || s.side == Client && o.busy && sd.ID == o.call {
			o.dead, o.busy = true, false
			sd.Flags |= Close
		}
	case sd.Flags&GoAway != 0:
		o.leaving = true
		if s.side == Server && o.asked.len() == 0 || s.side == Client && !o.busy {
			o.dead = true
			sd.Flags |= Close
		}
	}
}
