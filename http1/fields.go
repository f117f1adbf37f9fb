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

// marks are what a head's lines say about the message and the connection. They are kept
// with a head's beginning, so that the lines behind it add to them: a second host
// or length is found wherever it stands.
type marks struct {
	bits   uint16
	lines  int   // so far; HeaderEntries bounds them
	length int64 // content-length; -1: absent
}

// The bits of marks. What is a fault at once has none: a second line of those that may
// come once is refused where it is found. The rest is judged by requestFault and
// codingFault when all lines are known.

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

// A list is header lines that are being parsed. Its methods see a line at a time, without
// its end, and name it by its offset in the head, for errors.
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
		return h.host(value, at)
	case "content-length":
		// Several that agree, and a list of them, are refused too: RFC 9112, section 6.3
		// lets a recipient choose, and what others choose is not known.
		n, ok := parseLength(value)
		if !ok || h.bits&hasLength != 0 {
			return bad(at, "content-length that is none, or two")
		}
		h.bits |= hasLength
		h.length = n
	case "transfer-encoding":
		// Only chunked, and only once. What else there is (gzip, identity, chunked
		// within a list) is read in as many ways as there are parsers.
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
	default:
		if name == "trailer" && announces(value) {
			return bad(at, "trailer names a field that frames messages")
		}
		h.fields = append(h.fields, Field{name, value})
	}
	return nil
}

// host takes the field of this name: RFC 9112, section 3.2. It may be empty, for targets
// without an authority, and must be that of a target which has one.
func (h *list) host(value string, at int) *Error {
	switch {
	case h.bits&hasHost != 0:
		return bad(at, "host twice")
	case h.authority != "" && !strings.EqualFold(h.authority, value):
		return bad(at, "host and target name two hosts")
	case value != "" && !validHost(value, true):
		return bad(at, "host that is none")
	}
	h.bits |= hasHost
	h.authority = value
	return nil
}

// announces reports whether the value of a field trailer names fields that may be none.
func announces(value string) bool {
	for name := range strings.SplitSeq(value, ",") {
		if frames(strings.ToLower(trim(name))) {
			return true
		}
	}
	return false
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

// split parts a line at its colon, and checks both parts: RFC 9112, section 5. Between
// name and colon nothing may stand, since some cut it off and some do not; a CR that
// is left in a line is a control character like others.
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

// closes reports whether the message with these marks is the last of its side: RFC 9112,
// section 9.3. HTTP/1.0 closes unless it says otherwise; close wins over keep-alive.
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

// codingFault says what is wrong with how the body's end is told: RFC 9112, section 6.1.
// A length beside a coding may be ignored by the RFC, and is the oldest way to smuggle; it is
// refused. So is a coding in HTTP/1.0, where a proxy may not have looked at it.
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
