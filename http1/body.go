package http1

import (
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
)

const (
	lengthDigits = 10 // of a content-length that is sent, padded on the left
	lengthEnd    = "\r\n\r\n"
	chunkHead    = 10 // bytes of the line of a chunk that is sent: eight digits
)

// A framing is how the body of the message that is being sent is told to end: RFC 9112,
// section 6.
//
//	whole at once, no trailers    content-length, patched: ten digits, padded on the left
//	Sized                         content-length, as it was told, and counted down
//	in parts, or with trailers    chunks, whose lines are patched as well: eight digits
//	in parts, to HTTP/1.0         nothing; the connection ends behind it
//	204, 304                      nothing: there is no body
//	to HEAD                       as if it were GET, and then nothing
type framing struct {
	open  bool // it was begun and has not ended
	kind  kind
	mute  bool // of the body nothing is sent
	close bool // the connection ends behind it
	left  int64
}

// A kind is how a body's end is told.
type kind uint8

const (
	bodyless kind = iota
	counted       // its length is patched into the head
	sized         // its length was told: left bytes of it are missing
	chunked       // by an empty chunk
	unframed      // by the end of the connection: HTTP/1.0
)

// frame decides how the end of the message is told: RFC 9112, section 6. A length where
// all of it is here, chunks where not, or where trailers follow. Requests whose methods
// expect a body say that there is none; 204 and 304 say nothing. An answer to HEAD
// is framed as that to GET, and mute. old: the peer has to be told that the
// connection stays.
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

// endBody patches the body's length, and appends what follows it. All that can fail comes
// before anything is moved out of sd.
func (s *Session) endBody(out *buf.Out, sd *Send) *Error {
	c := &s.out.cur
	n := out.Since(c.body)
	if sd.Body != nil {
		n += sd.Body.Len()
	}
	end := sd.Flags&End != 0
	switch {
	case n > s.cfg.MessageBytes:
		e := sendErr("body of " + strconv.Itoa(n) + " bytes, MessageBytes is " + strconv.Itoa(s.cfg.MessageBytes))
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
	if c.msg.mute {
		s.silence(out, sd)
	} else {
		s.putBody(out, sd, n)
	}
	return nil
}

// silence takes the body of an answer to HEAD back.
func (s *Session) silence(out *buf.Out, sd *Send) {
	c := &s.out.cur
	if out.Truncate(c.body); c.msg.kind == chunked && sd.Flags&Data != 0 {
		out.Truncate(c.chunk)
	}
	sd.drop()
}

// putBody completes the n bytes of a body, or of a part of it: a chunk gets its line
// patched and its end, and the last of them trailers behind it.
func (s *Session) putBody(out *buf.Out, sd *Send, n int) {
	c := &s.out.cur
	inChunk := c.msg.kind == chunked && sd.Flags&Data != 0
	if inChunk && n == 0 {
		out.Truncate(c.chunk) // it would be the end
	} else if inChunk {
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
	if sd.Flags&End == 0 || c.msg.kind != chunked {
		return
	}
	b := append(out.Block(), "0\r\n"...)
	if sd.Tail != nil {
		b = append(b, sd.Tail.text...)
	}
	for _, f := range sd.Last {
		b = appendField(b, f.Name, f.Value)
	}
	out.Commit(append(b, "\r\n"...))
}

// A number is padded rather than moved, since what lies behind it may be in other blocks
// by then, or somebody else's memory. White space before a value and zeros before
// the size of a chunk are in the grammar, and no parser minds.

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
