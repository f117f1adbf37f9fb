package http1

import (
	"bytes"
	"strings"
)

// findEnd looks for the empty line that ends lines. It goes from line end to line end, so
// that an LF without its CR is found however the bytes came, and before anything else
// that is wrong: what is told must not depend on how much had arrived.
//
// It begins in p at an offset that is
// not behind a line's end. n is how many bytes there are up to and with it, 0: it
// is not there. A line that ends in LF alone is a fault.
func findEnd(p []byte, from int) (n int, e *Error) {
	for {
		i := bytes.IndexByte(p[from:], '\n')
		if i < 0 {
			return 0, nil
		}
		i += from
		if i == 0 || p[i-1] != '\r' {
			return 0, bad(i, "line that ends in LF alone")
		}
		if i == 1 || p[i-2] == '\n' {
			return i + 1, nil
		}
		from = i + 1
	}
}

// endOfHead is findEnd within the limits for what waits, of which seen bytes were
// looked at before: a peer that sends a byte at a time costs no more than its bytes.
// Beyond the limit nothing is looked at, however much has come.
func (s *Session) endOfHead(p []byte) (n int, e *Error) {
	most := s.cfg.HeaderBytes
	if n, e = findEnd(p[:min(len(p), most)], s.in.seen); n > 0 || e != nil {
		return n, e
	}
	if len(p) < most {
		s.in.seen = len(p)
		return 0, nil
	}
	e = &Error{Status: 431, Limit: true, Why: "head of too many bytes"}
	if s.side == Server && bytes.IndexByte(p[:most], '\n') < 0 {
		e.Status, e.Why = 414, "target of too many bytes"
	}
	return 0, e
}

// parseHead parses a head, or the beginning of one that ends with a line. The text is
// copied twice: as it came, to find it again, and with names in lower case, which the
// fields are parts of. Nothing of it refers to p.
func (s *Session) parseHead(p []byte) (*cachedHead, *Error) {
	c := &cachedHead{text: string(p), fields: &Fields{}}
	first, rest, _ := strings.Cut(c.text, "\r\n")
	rest = lowered(p[len(p)-len(rest):])
	h := list{marks: marks{length: -1}, most: s.cfg.HeaderEntries}
	var e *Error
	if s.side == Server {
		e = parseRequestLine(first, c.fields)
	} else {
		e = parseStatusLine(first, c.fields)
	}
	if e != nil {
		return nil, e
	}
	h.authority = c.fields.Authority
	if n := strings.Count(rest, "\n"); n > 0 {
		h.fields = make([]Field, 0, min(n, h.most))
	}
	if c.end, e = h.addAll(rest, len(first)+2, false); e != nil {
		return nil, e
	}
	c.fields.Authority, c.fields.List, c.marks = h.authority, h.fields, h.marks
	c.digHole()
	return c, nil
}

// addAll takes lines, up to an empty one or all; at is the offset of the first. ended
// reports that there was an empty one.
func (h *list) addAll(lines string, at int, trailers bool) (ended bool, e *Error) {
	for lines != "" {
		line, rest, _ := strings.Cut(lines, "\r\n")
		if line == "" {
			return true, nil
		}
		if trailers {
			e = h.addTrailer(line, at)
		} else {
			e = h.add(line, at)
		}
		if e != nil {
			return false, e
		}
		at += len(line) + 2
		lines = rest
	}
	return false, nil
}

// parseRest takes the lines behind a head's beginning, at an offset of the head.
func (s *Session) parseRest(c *cachedHead, m marks, p []byte, at int) ([]Field, marks, *Error) {
	h := list{marks: m, most: s.cfg.HeaderEntries, authority: c.fields.Authority}
	if _, e := h.addAll(lowered(p), at, false); e != nil {
		return nil, m, e
	}
	return h.fields, h.marks, nil
}

// lowered is a copy of header lines with their names in lower case. A line without a colon
// is all name; it is refused anyway. Small ones cost one allocation.
func lowered(p []byte) string {
	var small [1 << 10]byte
	b := append(small[:0], p...)
	name := true
	for i, c := range b {
		switch {
		case c == '\n':
			name = true
		case c == ':':
			name = false
		case name && c >= 'A' && c <= 'Z':
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// parseRequestLine takes the first line of a request: RFC 9112, section 3. One space is
// between its parts, and none elsewhere. An unknown method is told apart from what is
// none (501), and so is a version that may exist (505).
func parseRequestLine(line string, f *Fields) *Error {
	method, rest, ok := strings.Cut(line, " ")
	if !ok || !isToken(method) {
		return bad(0, "request line without a method")
	}
	if f.Method = knownMethod(method); f.Method == "" {
		return &Error{Status: 501, Why: "unknown method"}
	}
	target, version, ok := strings.Cut(rest, " ")
	at := len(method) + 1
	switch {
	case !ok || !f.setTarget(target):
		return bad(at, "target that is none")
	case !f.setVersion(version):
		e := bad(at+len(target)+1, "version that is none")
		if len(version) == 8 && strings.HasPrefix(version, "HTTP/") {
			e.Status, e.Why = 505, "other version than HTTP/1.1 and HTTP/1.0"
		}
		return e
	}
	return nil
}

// setVersion takes the version of a first line; false: it is none that is spoken here. Names are case-sensitive:
// RFC 9112, section 2.3.
func (f *Fields) setVersion(v string) bool {
	if v == "HTTP/1.1" {
		f.Minor = 1
	}
	return v == "HTTP/1.1" || v == "HTTP/1.0"
}

// setTarget takes a request's target: RFC 9112, section 3.2. The absolute form becomes the
// origin form, with its authority, which the host has to agree with. The asterisk is for
// OPTIONS, and the authority form for CONNECT, which is not for us.
func (f *Fields) setTarget(t string) bool {
	if t == "*" {
		f.Path = t
		return f.Method == "OPTIONS"
	}
	for _, scheme := range [...]string{"http://", "https://"} {
		if len(t) < len(scheme) || !strings.EqualFold(t[:len(scheme)], scheme) {
			continue
		}
		f.Authority, f.Path = t[len(scheme):], "/"
		if f.Method == "OPTIONS" {
			f.Path = "*"
		}
		if i := strings.IndexByte(f.Authority, '/'); i >= 0 {
			f.Authority, f.Path = f.Authority[:i], f.Authority[i:]
		}
		return f.Authority != "" && validHost(f.Authority, false) && (f.Path == "*" || validPath(f.Path))
	}
	f.Path = t
	return validPath(t)
}

// parseStatusLine takes the first line of an answer: RFC 9112, section 4. A server may
// leave the reason away, and with it the space before it, as many do.
func parseStatusLine(line string, f *Fields) *Error {
	version, rest, ok := strings.Cut(line, " ")
	if !ok || !f.setVersion(version) {
		return bad(0, "version other than HTTP/1.1 and HTTP/1.0")
	}
	code, reason, ok := strings.Cut(rest, " ")
	if f.Status = parseStatus(code); f.Status == 0 || ok && !validValue(reason) {
		return bad(len(version)+1, "status that is none")
	}
	return nil
}
