package http1

import (
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
)

// begun is what is at hand between Begin and a good End. Begin changes nothing else: to
// undo it is to forget this, which the next Begin and Apply do.
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
	for _, f := range sd.Last {
		if why := sendFault(f); why != "" {
			return false, sendErr(why)
		}
	}
	if sd.Tail != nil && (sd.Tail.fault != "" || sd.Tail.start.n > 0) {
		return false, sendErr("trailers that are none: " + sd.Tail.fault)
	}
	if s.side == Client {
		return s.mayAsk(sd)
	}
	return s.mayAnswer(sd)
}

// mayAsk is mayBegin for a client. A part of a request whose answer has come already is
// void: the server has made up its mind, and the connection goes with the rest.
func (s *Session) mayAsk(sd *Send) (void bool, e *Error) {
	o := &s.out
	switch {
	case sd.Flags&Open == 0 && (sd.ID != o.call || !o.busy || o.dead):
		return true, nil
	case sd.Flags&Open == 0:
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

// mayAnswer is mayBegin for a server. An answer on a connection that has had its last
// one is void, and so is one to a request that was taken back for a fault in it.
func (s *Session) mayAnswer(sd *Send) (void bool, e *Error) {
	o := &s.out
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

// putHead appends a head, and decides how the body's end is told. Lines that are the
// same for every message come first and those of this one last: that is the order in
// which the peer's cache, if it is ours, gets most of both.
func (s *Session) putHead(out *buf.Out, sd *Send) *Error {
	st, text, fields, e := s.headOf(sd)
	if e != nil {
		return e
	}
	c, old := &s.out.cur, s.frame(sd, &st)
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
	case old: // HTTP/1.0 takes the end for granted
		b = append(b, "connection: keep-alive\r\n"...)
	}
	if br := &sd.Brief; br.name != "" {
		b = appendField(b, br.name, br.value[:br.n])
	}
	switch c.msg.kind {
	case counted: // and the empty line, which End patches in with the digits
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

// headOf finds the first line of a message and its fields, and checks all that was not
// checked when a Head was made: a line end in a value would be another line, or another
// message, to who reads it.
func (s *Session) headOf(sd *Send) (st start, text string, fields []Field, e *Error) {
	fields = sd.Fields
	if h := sd.Head; h != nil {
		if st, text = h.start, h.text; h.fault != "" {
			return st, text, nil, sendErr(h.fault)
		}
	} else {
		st = startOf(fields)
		fields = fields[st.n:]
	}
	if st.fault != "" {
		return st, text, nil, sendErr(st.fault)
	}
	if st.n == 0 || (st.status == 0) != (s.side == Client) {
		return st, text, nil, sendErr("head without its first line")
	}
	for _, f := range fields {
		if why := sendFault(f); why != "" {
			return st, text, nil, sendErr(why)
		}
	}
	if br := &sd.Brief; br.name != "" && (nameFault(br.name) != "" || !validValue(br.value[:br.n])) {
		return st, text, nil, sendErr("a brief field that is none")
	}
	return st, text, fields, nil
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

// started notes that a client's request is in flight. The word for Cut is stored while the
// output lock is held, before its bytes can leave.
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

// finish notes that a message was sent, and goes on with what waited for that: the end of
// the connection, the word that the next request waits for, the answer to a fault.
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

// control does what needs no message: HTTP/1 has none for it. To give a message up is to
// give the connection up; to take no more requests is told by the last answer, and on
// an idle connection by its end.
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
