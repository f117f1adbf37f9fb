package http1

import (
	"bytes"

	"github.com/limosa-rpc/limosa/buf"
)

const (
	chunkDigits = 15 // of the size of a chunk that is read
	// lineMost is how long the line of a chunk may be, without its extensions.
	lineMost = chunkDigits + 2
	// chunkFree and chunkShare are what the framing of a chunk may take, in bytes: for
	// itself, and for each byte that it brings. Beyond, it counts; below, it makes good.
	chunkFree, chunkShare = 16, 2

	// gatherGrowth is how many times the bytes that have arrived a body may take: a
	// peer that sends little costs little.
	gatherGrowth = 4
)

// cutChunkLine takes the line before a chunk's data: RFC 9112, section 7.1. Framing is
// weighed against data over the whole body: a byte in each chunk passes, a
// kilobyte of extensions with each does not.
func (s *Session) cutChunkLine(in *buf.In) (need int, e *Error) {
	r := &s.in
	most := lineMost + s.cfg.ChunkBytes
	p := in.Peek(min(in.Len(), most))
	i := bytes.IndexByte(p, '\n')
	switch {
	case i < 0 && len(p) == most:
		return 0, bad(0, "chunk whose line does not end")
	case i < 0:
		return 1, nil
	case i == 0 || p[i-1] != '\r':
		return 0, bad(i, "line that ends in LF alone")
	}
	size, why := parseChunk(p[:i-1])
	if why != "" {
		return 0, bad(0, why)
	}
	r.excess = max(0, r.excess+int64(i+1)-chunkFree-chunkShare*size)
	if r.excess > int64(s.cfg.ChunkBytes) {
		return 0, bad(0, "chunks with more framing than data")
	}
	s.take(in, i+1)
	if r.state, r.left = inChunk, size; size == 0 {
		r.state = inTrailers
	}
	return 0, nil
}

// parseChunk reads a chunk's line: digits, and extensions that mean nothing here. Fifteen
// digits cannot overflow, and no white space is passed over: some parsers end the
// size at it and some the line.
func parseChunk(p []byte) (size int64, why string) {
	i := 0
	for ; i < len(p) && p[i] != ';'; i++ {
		d, ok := hexDigit(p[i])
		if !ok || i == chunkDigits {
			return 0, "size of a chunk that is none"
		}
		size = size<<4 | d
	}
	if i == 0 {
		return 0, "chunk without a size"
	}
	for i < len(p) {
		if i = extension(p, i); i < 0 {
			return 0, "extension of a chunk that is none"
		}
	}
	return size, ""
}

// extension passes over one that begins at i, which is checked, since parsers have
// disagreed on where its line ends: a semicolon, a name, and perhaps a value,
// with no white space between. Quoted values have no escapes here. -1: it is none.
func extension(p []byte, i int) (next int) {
	at := i + 1
	for i = at; i < len(p) && tokenByte(p[i]); i++ {
	}
	if i == at || p[at-1] != ';' {
		return -1
	}
	if i == len(p) || p[i] != '=' {
		return i
	}
	i++
	if i < len(p) && p[i] == '"' {
		for i++; i < len(p) && p[i] != '"'; i++ {
			if c := p[i]; c < ' ' || c >= 0x7f || c == '\\' {
				return -1
			}
		}
		if i == len(p) {
			return -1
		}
		return i + 1
	}
	for at = i; i < len(p) && tokenByte(p[i]); i++ {
	}
	if i == at {
		return -1
	}
	return i
}

// cutChunk takes what has come of a chunk. The only chunk of a gathered body is taken
// where it lies, if the line of the last one is there too.
func (s *Session) cutChunk(in *buf.In, ev *Event) (need int) {
	r := &s.in
	if r.gather && s.tooMuch(int64(len(r.body))+r.left) {
		s.refuse(ev)
		return 0
	}
	const behind = "\r\n0\r\n"
	if r.gather && len(r.body) == 0 && int64(in.Len()) >= r.left+int64(len(behind)) {
		n := int(r.left)
		if p := in.Peek(n + len(behind)); string(p[n:]) == behind {
			r.whole = in.View(n)
			r.offset += r.left
			s.take(in, len(behind))
			r.state, r.left = inTrailers, 0
			return 0
		}
	}
	n := int(min(r.left, int64(in.Len())))
	if need = s.cutPart(in, n, ev); need > 0 {
		return need
	}
	if ev.Err == nil {
		if r.left -= int64(n); r.left == 0 {
			r.state = behindData
		}
	}
	return 0
}

// cutTrailers takes the lines behind the last chunk, and ends the message. They are told
// apart from the head's fields for good: none of them is ever merged into those.
func (s *Session) cutTrailers(in *buf.In, ev *Event) (need int, e *Error) {
	r := &s.in
	most := s.cfg.TrailerBytes
	p := in.Peek(min(in.Len(), most))
	n, e := findEnd(p, r.seen)
	switch {
	case e != nil:
		return 0, e
	case n == 0 && len(p) == most:
		return 0, &Error{Status: 431, Limit: true, Why: "trailers of too many bytes"}
	case n == 0:
		r.seen = len(p)
		return 1, nil
	}
	var h list
	if n > 2 {
		h.most = s.cfg.HeaderEntries
		if _, e = h.addAll(lowered(p[:n]), 0, true); e != nil {
			return 0, e
		}
	}
	s.take(in, n)
	ev.Trailer = h.fields
	switch {
	case !r.gather:
		ev.Flags, ev.ID = End, s.id()
		s.done(ev)
	case r.whole.Len() > 0:
		view := r.whole
		r.whole = buf.View{}
		s.whole(ev, view)
	default:
		s.whole(ev, buf.ViewOf(r.body))
	}
	return 0, nil
}

// grow appends p to what is gathered, if there is room for it. What was announced but has
// not come gets no memory.
func (s *Session) grow(p []byte) bool {
	r := &s.in
	n := len(r.body) + len(p)
	if s.tooMuch(int64(n)) {
		return false
	}
	if n > cap(r.body) {
		size := max(n, min(gatherGrowth*n, s.cfg.MessageBytes))
		r.body = append(make([]byte, 0, size), r.body...)
	}
	r.body = append(r.body, p...)
	return true
}
