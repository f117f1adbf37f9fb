package http1

import "strings"

// A Field is one header field. Names are lower case.
type Field struct{ Name, Value string }

// fieldCost is about what a field takes besides its text.
const fieldCost = 32

func (f Field) size() int { return len(f.Name) + len(f.Value) + fieldCost }

// Fields is the head of a message, or the beginning of one that other messages have
// as well: those share it, and it must not be changed. Its memory is the collector's.
//
// List has neither the host nor what frames messages: content-length,
// transfer-encoding, connection, proxy-connection and expect.
type Fields struct {
	Method, Authority, Path string // of a request; Path with its query
	Status                  int    // of an answer
	Minor                   int    // 0 or 1, of the version
	List                    []Field

	routed bool // it is known whether
	gather bool // the body of a request with it is gathered
}

// marks are what a head's lines say about the message and the connection.
type marks struct {
	bits   uint16
	lines  int
	length int64 // content-length; -1: absent
}

const (
	hasHost = 1 << iota
	hasLength
	hasChunked
	otherCoding
	wantsClose
	wantsKeep
	wantsContinue
	otherExpect
)

// A list is header lines that are being parsed.
type list struct {
	marks
	fields    []Field
	authority string
	most      int // lines
}

// add takes a header line, whose name is in lower case already, and notes what is
// wrong with it: RFC 9112, section 5. at is its offset.
func (h *list) add(line string, at int) *Error {
	name, value, e := h.split(line, at)
	if e != nil {
		return e
	}
	switch name {
	case "host":
		if h.bits&hasHost != 0 {
			return bad(at, "host twice")
		}
		h.bits |= hasHost
		if h.authority != "" && !strings.EqualFold(h.authority, value) {
			return bad(at, "host and target name two hosts")
		}
		if value != "" && !validHost(value, true) {
			return bad(at, "host that is none")
		}
		h.authority = value
	case "content-length":
		n, ok := parseLength(value)
		if !ok || h.bits&hasLength != 0 {
			return bad(at, "content-length that is none, or two")
		}
		h.bits |= hasLength
		h.length = n
	case "transfer-encoding":
		if h.bits&(hasChunked|otherCoding) != 0 {
			return bad(at, "transfer-encoding twice")
		}
		h.bits |= otherCoding
		if strings.EqualFold(value, "chunked") {
			h.bits ^= otherCoding | hasChunked
		}
	case "connection":
		h.connection(value, wantsClose|wantsKeep)
	case "proxy-connection":
		h.connection(value, wantsClose) // some take it for the same
	case "expect":
		if strings.EqualFold(value, "100-continue") {
			h.bits |= wantsContinue
		} else {
			h.bits |= otherExpect
		}
	case "trailer":
		for name := range strings.SplitSeq(value, ",") {
			if frames(strings.ToLower(trim(name))) {
				return bad(at, "trailer names a field that frames messages")
			}
		}
		fallthrough
	default:
		h.fields = append(h.fields, Field{name, value})
	}
	return nil
}

// addTrailer takes a line of trailers: RFC 9110, section 6.5.
func (h *list) addTrailer(line string, at int) *Error {
	name, value, e := h.split(line, at)
	if e != nil {
		return e
	}
	if frames(name) {
		return bad(at, "trailer that frames messages")
	}
	h.fields = append(h.fields, Field{name, value})
	return nil
}

// split parts a line at its colon, and checks both parts.
func (h *list) split(line string, at int) (name, value string, e *Error) {
	i := strings.IndexByte(line, ':')
	switch h.lines++; {
	case h.lines > h.most:
		return "", "", &Error{Status: 431, Offset: int64(at), Limit: true, Why: "too many header lines"}
	case line[0] == ' ' || line[0] == '\t':
		return "", "", bad(at, "folded header line")
	case i < 0:
		return "", "", bad(at, "header line without a colon")
	case !isToken(line[:i]):
		return "", "", bad(at, "header name that is none")
	}
	if value = trim(line[i+1:]); !validValue(value) {
		return "", "", bad(at, "control characters in a header's value")
	}
	return line[:i], value, nil
}

// connection takes what the field of this name says, as far as most goes. Other options
// than these two mean nothing here; an upgrade is not taken.
func (h *list) connection(value string, most uint16) {
	for option := range strings.SplitSeq(value, ",") {
		option = trim(option)
		switch {
		case strings.EqualFold(option, "close"):
			h.bits |= wantsClose & most
		case strings.EqualFold(option, "keep-alive"):
			h.bits |= wantsKeep & most
		}
	}
}

// frames names fields on which the end of a message or of the connection depends:
// never trailers, and none that a user may send.
func frames(name string) bool {
	switch name {
	case "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "host", "expect", "upgrade", "trailer":
		return true
	}
	return false
}

// closes reports whether the message with these marks is the last of its side.
func (m *marks) closes(minor int) bool {
	return m.bits&wantsClose != 0 || minor == 0 && m.bits&wantsKeep == 0
}

// requestFault says what is wrong with a request: RFC 9112, sections 3.2 and 6.
func (m *marks) requestFault(f *Fields) *Error {
	switch {
	case f.Minor > 0 && m.bits&hasHost == 0:
		return bad(0, "request without host")
	case m.bits&otherExpect != 0 && f.Minor > 0:
		return &Error{Status: 417, Why: "expect with something else than 100-continue"}
	}
	return m.codingFault(f)
}

// codingFault says what is wrong with how the body's end is told.
func (m *marks) codingFault(f *Fields) *Error {
	switch coded := m.bits&(hasChunked|otherCoding) != 0; {
	case coded && m.bits&hasLength != 0:
		return bad(0, "transfer-encoding beside content-length")
	case coded && f.Minor == 0:
		return bad(0, "transfer-encoding in HTTP/1.0")
	case m.bits&otherCoding != 0:
		return &Error{Status: 501, Why: "transfer-encoding other than chunked"}
	}
	return nil
}
