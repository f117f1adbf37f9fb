package http1

import (
	"strconv"
	"strings"
)

// A Head is a list of fields that is sent again and again: of the requests to one
// method, of answers, of the usual trailers. Make it once with [NewHead]; it is
// constant, and may be shared by all connections.
type Head struct {
	fields []Field
	text   string
	start  start
	fault  string
}

// NewHead makes a Head of a copy of the fields. Those that HTTP/2 calls
// pseudo-header fields come first, and are the first line: :method, :path and
// :authority of a request, :status of an answer; :scheme is for HTTP/2 only. Names are
// in lower case. Fields that frame messages are the session's, and so is date.
//
//	NewHead(Field{":method", "POST"}, Field{":path", "/hello.Hello/Echo"}, Field{":authority", "localhost:8888"}, Field{"content-type", "application/json"})
//	NewHead(Field{":status", "200"}, Field{"content-type", "application/json"})
//
// are the same lists that HTTP/2 is given. How the body's end is told, whether the
// connection stays, the date and the host are the session's to write: a field that
// contradicted what it does would be a hole.
func NewHead(fields ...Field) *Head {
	h := &Head{fields: append([]Field(nil), fields...)}
	h.start = startOf(h.fields)
	h.fault = h.start.fault
	b := h.start.append(nil)
	for _, f := range h.fields[h.start.n:] {
		if h.fault == "" {
			h.fault = sendFault(f)
		}
		b = appendField(b, f.Name, f.Value)
	}
	h.text = string(b)
	return h
}

// Fields is a copy of the head's fields.
func (h *Head) Fields() []Field { return append([]Field(nil), h.fields...) }

// A Brief is a field with a short value that is another one each time, such as a
// timeout: it costs no allocation. The zero Brief is none.
type Brief struct {
	name  string
	value [20]byte
	n     uint8
}

// BriefOf makes a Brief of a copy of value, 20 bytes at most.
func BriefOf(name string, value []byte) (b Brief) {
	b.name = name
	b.n = uint8(copy(b.value[:], value))
	return b
}

// A start is the first line of a message that is to be sent, and a request's host.
type start struct {
	method, path, authority string
	status                  int
	n                       int // fields that it is made of
	fault                   string
}

// startOf reads the pseudo-header fields at the beginning of a list. What would not be
// taken from a peer is not sent to one. Answers with status 1xx are the session's.
func startOf(fields []Field) (st start) {
	for _, f := range fields {
		if !strings.HasPrefix(f.Name, ":") {
			break
		}
		st.n++
		switch f.Name {
		case ":method":
			st.method = knownMethod(f.Value)
		case ":path":
			st.path = f.Value
		case ":authority":
			st.authority = f.Value
		case ":status":
			st.status = parseStatus(f.Value)
		case ":scheme":
		default:
			st.fault = "pseudo-header field that is none"
		}
	}
	switch {
	case st.n == 0 || st.fault != "":
	case st.status != 0:
		if st.method != "" || st.status < 200 {
			st.fault = "status that cannot be sent"
		}
	case st.method == "":
		st.fault = "first line without method or status"
	case st.path != "*" && !validPath(st.path) || st.path == "*" && st.method != "OPTIONS":
		st.fault = "path that is none"
	case st.authority != "" && !validHost(st.authority, true):
		st.fault = "authority that is none"
	}
	return st
}

// append appends the line, and the host.
func (st *start) append(b []byte) []byte {
	if st.n == 0 || st.fault != "" {
		return b
	}
	if st.status != 0 {
		return appendStatus(b, st.status)
	}
	b = append(append(b, st.method...), ' ')
	b = append(append(b, st.path...), " HTTP/1.1\r\n"...)
	return appendField(b, "host", st.authority)
}

// appendStatus appends the first line of an answer. Its reason is for people who read along: RFC 9112,
// section 4, has clients pass over it.
func appendStatus(b []byte, status int) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(append(b, ' '), reason(status)...)
	return append(b, "\r\n"...)
}

func appendField[T string | []byte](b []byte, name string, value T) []byte {
	b = append(append(b, name...), ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}

// sendFault says why a field cannot be sent.
func sendFault(f Field) string {
	if why := nameFault(f.Name); why != "" {
		return why
	}
	if !validValue(f.Value) {
		return "control characters in the value of " + f.Name
	}
	return ""
}

// nameFault says why a field with this name cannot be sent: it is no token in lower
// case, or its value is the session's to know.
func nameFault(name string) string {
	switch {
	case !isToken(name) || strings.ToLower(name) != name:
		return "a field's name is none"
	case frames(name) && name != "trailer", name == "date":
		return "the field " + name + " is the session's"
	}
	return ""
}
