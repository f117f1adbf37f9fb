package http2

import (
	"math"
	"strconv"
	"strings"
)

// A Field is one header field. Names are lower case.
type Field struct{ Name, Value string }

// fieldCost is what a field counts besides its text: RFC 9113, section 6.5.2.
const fieldCost = 32

// size is what RFC 9113 6.5.2 counts for a field: its text and 32 bytes.
func (f Field) size() int { return len(f.Name) + len(f.Value) + fieldCost }

// Fields is a header list as it arrived. It is shared by all messages with the same
// header block and must not be changed; its memory is the collector's.
type Fields struct {
	Method, Scheme, Authority, Path string // of a request
	Status                          int    // of an answer
	Length                          int64  // content-length; -1: absent
	List                            []Field

	size   int    // as RFC 9113, section 6.5.2 counts it; fields that were left out too
	over   bool   // longer than the limits: List is not whole
	pseudo uint8  // the pseudo-header fields that are there
	fault  string // why it is none of request, answer, trailers
	routed bool   // server: it is known whether
	gather bool   // the body of a request with it is gathered
}

const (
	hasMethod = 1 << iota
	hasScheme
	hasAuthority
	hasPath
	hasStatus
)

// add takes a field in, and notes what is wrong with it: RFC 9113, sections 8.2 and 8.3.
func (h *Fields) add(f Field) {
	if why := h.check(f); why != "" && h.fault == "" {
		h.fault = why
	}
	if !strings.HasPrefix(f.Name, ":") {
		h.List = append(h.List, f)
	}
}

// check says why a field may not be in a list that already has h's, "" if it may: RFC 9113 8.2 and 8.3.
func (h *Fields) check(f Field) string {
	if strings.HasPrefix(f.Name, ":") {
		why := h.setPseudo(f)
		switch {
		case len(h.List) > 0:
			return "pseudo-header field behind others"
		case !validValue(f.Value):
			return "value of " + clip(f.Name) + " with control characters"
		}
		return why
	}
	switch {
	case !validName(f.Name):
		return "field name " + strconv.Quote(clip(f.Name))
	case !validValue(f.Value):
		return "value of " + clip(f.Name) + " with control characters"
	}
	switch f.Name {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return "field " + f.Name + " belongs to HTTP/1"
	case "te":
		if f.Value != "trailers" {
			return "te with " + strconv.Quote(clip(f.Value))
		}
	case "content-length":
		return h.setLength(f.Value)
	}
	return ""
}

// setPseudo takes a pseudo field in, and says why it may not be there: unknown, twice, or behind a plain one.
func (h *Fields) setPseudo(f Field) string {
	var bit uint8
	switch f.Name {
	case ":method":
		bit, h.Method = hasMethod, f.Value
	case ":scheme":
		bit, h.Scheme = hasScheme, f.Value
	case ":authority":
		bit, h.Authority = hasAuthority, f.Value
	case ":path":
		bit, h.Path = hasPath, f.Value
	case ":status":
		bit = hasStatus
		if h.Status = parseStatus(f.Value); h.Status == 0 {
			return "status " + strconv.Quote(clip(f.Value))
		}
	default:
		return "pseudo-header field " + strconv.Quote(clip(f.Name))
	}
	if h.pseudo&bit != 0 {
		return f.Name + " twice"
	}
	h.pseudo |= bit
	return ""
}

// ordinary reports names that check has nothing to say about.
func ordinary(name string) bool {
	switch name {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "te", "content-length":
		return false
	}
	return !strings.HasPrefix(name, ":")
}

// setLength takes a content-length; several must agree: RFC 9110, section 8.6.
func (h *Fields) setLength(v string) string {
	n, ok := int64(0), len(v) > 0 && len(v) < 19
	for i := 0; ok && i < len(v); i++ {
		ok = v[i] >= '0' && v[i] <= '9'
		n = n*10 + int64(v[i]-'0')
	}
	if !ok || n > math.MaxInt64/2 || h.Length >= 0 && h.Length != n {
		return "content-length " + strconv.Quote(clip(v))
	}
	h.Length = n
	return ""
}

// parseStatus reads a status of three digits; 0 is none.
func parseStatus(v string) (n int) {
	if len(v) != 3 || v[0] < '1' {
		return 0
	}
	for _, c := range []byte(v) {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// requestFault says why the list is not that of a request: RFC 9113, section 8.3.1.
func (h *Fields) requestFault() string {
	switch {
	case h.fault != "":
		return h.fault
	case h.pseudo&hasStatus != 0:
		return ":status in a request"
	case h.Method == "":
		return "request without :method"
	case h.Method == "CONNECT":
		if h.pseudo != hasMethod|hasAuthority {
			return "CONNECT with more than an authority"
		}
		return ""
	case h.Scheme == "":
		return "request without :scheme"
	case h.Path == "":
		return "request without :path"
	case h.Path[0] != '/' && h.Path != "*":
		return ":path " + strconv.Quote(clip(h.Path))
	}
	return ""
}

// answerFault says why the list is not that of an answer: RFC 9113, section 8.3.2.
func (h *Fields) answerFault() string {
	switch {
	case h.fault != "":
		return h.fault
	case h.pseudo != hasStatus:
		return "answer with other pseudo-header fields than :status"
	case h.Status == 101: // RFC 9113, section 8.6
		return "status 101"
	}
	return ""
}

// trailerFault says why the list is not that of trailers: RFC 9113, section 8.1.
func (h *Fields) trailerFault() string {
	switch {
	case h.fault != "":
		return h.fault
	case h.pseudo != 0:
		return "pseudo-header field in trailers"
	}
	return ""
}

// validName reports whether a name is a token in lower case.
func validName(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		case strings.IndexByte("!#$%&'*+^`|~", c) < 0:
			return false
		}
	}
	return len(s) > 0
}

// validValue reports whether a value has no control characters. White space at
// its ends passes, against RFC 9113, section 8.2.1: clients send it.
//
// It looks at eight bytes at a time: a byte on the wire may name a value of 4 KB.
func validValue(s string) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for len(s) >= 8 {
		x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		del := x ^ 0x7f*each
		if ((x-' '*each)&^x|(del-each)&^del)&high != 0 && !validBytes(s[:8]) {
			return false
		}
		s = s[8:]
	}
	return validBytes(s)
}

// validBytes is validValue, byte by byte.
func validBytes(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// clip bounds what of a peer's text goes into an error.
func clip(s string) string { return s[:min(len(s), clipped)] }

const clipped = 64 // bytes
