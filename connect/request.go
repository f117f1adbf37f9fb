package connect

import (
	"strconv"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

// A Find gives a server's method by the exact names of its service and itself; nil: there
// is none.
type Find func(service, method string) *rpc.Method

// A Request is what the head of a request says. Of one with a Status or an Err the
// body does not matter: it is answered with that.
//
// Make it with [Read], then Take every field of the head, in its order, then ask for its
// end with Done.
type Request struct {
	Service, Method string // as the server knows them; as they were asked for if it has no such method; empty: the path names none
	Encoding        rpc.Encoding
	Packed          bool // the body is compressed by gzip
	Unpacked        bool // and an answer must not be: its caller has not asked for it
	Get             bool // the message is Message, and the request has no body
	Stream          bool // messages come in envelopes, and so do those of the answer, of which the last has the error
	Message         []byte
	Timeout         time.Duration // 0: none
	Header          rpc.Metadata
	Status          int        // of HTTP, where that says more than the code of Err; 0: it does not
	Err             *rpc.Error // why it cannot be served
	Allow           string     // with Status 405, the methods of HTTP that are taken

	lim     *rpc.Limits
	found   *rpc.Method
	kind    string // content-type
	one     coding
	many    coding // of streams, where the body as a whole has none
	version string
	query   string
}

// A coding is what a request says of compression: by what its messages are, and whether answers may be.
type coding struct {
	by      string
	accepts bool
}

// Read begins to read a request, by the method of HTTP and the target that its first line has.
// lim bounds its metadata, and its message if the target has that; it is referred to.
func Read(httpMethod, target string, find Find, lim *rpc.Limits) Request {
	r := Request{lim: lim}
	path, query, _ := strings.Cut(target, "?")
	r.resolve(path, find)
	r.query = query
	switch {
	case r.Err != nil:
	// It is answered as if it were not there: a client could not know whether it was carried out.
	case r.found.Kind == rpc.Oneway:
		r.refuse(0, rpc.Unimplemented, "the method has no answer, without which there is no call over HTTP")
	case httpMethod == "GET" && r.found.ReadOnly && r.found.Kind == rpc.Unary:
		r.Get = true
	case httpMethod != "POST":
		r.refuse(405, rpc.Unimplemented, "the method takes no "+httpMethod)
		r.Allow = "POST"
		if r.found.ReadOnly {
			r.Allow = "GET, POST"
		}
	}
	return r
}

// refuse notes the first thing that is wrong.
func (r *Request) refuse(status int, code rpc.Code, why string) {
	if r.Err == nil {
		r.Status, r.Err = status, &rpc.Error{Code: code, Msg: why}
		r.Stream = r.Stream && status != 415 // which no client takes for a stream's
	}
}

// resolve finds the method of a path.
func (r *Request) resolve(path string, find Find) {
	rest, rooted := strings.CutPrefix(path, "/")
	// The last slash: a path in front of the service is a proxy's, and none of ours, so that it is
	// part of a name that nobody has.
	i := strings.LastIndexByte(rest, '/')
	if !rooted || i <= 0 || find == nil {
		r.refuse(404, rpc.Unimplemented, "a path is /SERVICE/METHOD")
		return
	}
	service, method := rest[:i], rest[i+1:]
	r.Service, r.Method = service, method
	if m := find(service, method); m != nil {
		r.found = m
		return
	}
	// Exact names were looked for before, so that a method is never hidden by one that is called
	// nearly the same.
	other := otherCase(method)
	for _, s := range [...]string{service, service[strings.LastIndexByte(service, '.')+1:]} {
		for _, name := range [...]string{method, other} {
			if m := find(s, name); m != nil && wraps(m) {
				r.Service, r.Method, r.found = s, name, m
				return
			}
		}
	}
	r.refuse(404, rpc.Unimplemented, "no such method here")
}

// otherCase is a name whose first letter is large if it was small, and small if it was large.
func otherCase(name string) string {
	if name == "" || (name[0]|0x20)-'a' > 'z'-'a' {
		return name
	}
	return string(name[0]^0x20) + name[1:]
}

// wraps reports methods of Thrift: their messages wrap arguments.
func wraps(m *rpc.Method) bool {
	_, ok := m.Codec.(rpc.Unwrapper)
	return ok
}

// Take takes a field of the head in; names are in lower case.
func (r *Request) Take(name, value string) {
	switch name {
	case "content-type":
		r.kind = value
	case "content-encoding":
		r.one.by = value
	case "accept-encoding":
		r.one.accepts = r.one.accepts || asksGzip(value)
	case "connect-content-encoding":
		r.many.by = value
	case "connect-accept-encoding":
		r.many.accepts = r.many.accepts || asksGzip(value)
	case "connect-timeout-ms":
		d, ok := parseTimeout(value)
		if !ok {
			r.refuse(0, rpc.InvalidArgument, "malformed connect-timeout-ms")
		}
		r.Timeout = d
	case "connect-protocol-version":
		r.version = value
	default:
		md, code := parsePair(r.Header, name, value, rpc.Transient, r.lim.HeaderEntries)
		switch r.Header = md; code {
		case rpc.InvalidArgument:
			r.refuse(0, code, "metadata that is not base64")
		case rpc.ResourceExhausted:
			r.refuse(0, code, "metadata beyond the limits")
		}
	}
}

// packed notes how the message is compressed.
func (r *Request) packed(by string) {
	switch by {
	case "gzip":
		r.Packed = true
	case "", "identity":
	default:
		r.refuse(0, rpc.Unimplemented, "messages are not compressed by "+brief(by)+", but by gzip")
	}
}

// asksGzip reports whether an accept-encoding has gzip, and not with a weight of nothing.
func asksGzip(list string) bool {
	for name := range strings.SplitSeq(list, ",") {
		name, weight, _ := strings.Cut(name, ";")
		if strings.TrimSpace(name) != "gzip" {
			continue
		}
		q := strings.TrimLeft(strings.TrimPrefix(strings.TrimSpace(weight), "q="), "0.")
		return weight == "" || q != ""
	}
	return false
}

// brief is the begin of what a peer has sent, for an answer to it. The longest that is seen often
// is what curl calls a body of which it was told nothing, application/x-www-form-urlencoded.
func brief(s string) string { return strconv.QuoteToASCII(s[:min(len(s), 48)]) }

// Done ends the reading: what the fields say together. r may be copied before, to take
// more fields of another request that begins as this one.
func (r *Request) Done() {
	kind, _, _ := strings.Cut(r.kind, ";")
	if kind = strings.ToLower(strings.TrimSpace(kind)); kind == streamJSON || kind == streamProto {
		r.Stream, kind = true, "application/"+kind[len(streamPrefix):]
		if kind == kindJSON {
			r.Encoding = rpc.JSON // of what it is refused with, too
		}
	}
	if r.Err != nil {
		return
	}
	if r.version != "" && r.version != "1" {
		r.refuse(0, rpc.InvalidArgument, "connect-protocol-version is "+brief(r.version)+", not 1")
	}
	c := r.one
	switch {
	case r.Get:
		r.readQuery()
		c.by = ""
	default:
		r.encoded(kind)
		if r.Stream {
			c = r.many
		}
	}
	r.packed(c.by)
	r.Unpacked = !c.accepts
	if err := r.Header.Fits(r.lim); err != nil {
		r.refuse(0, rpc.ResourceExhausted, "metadata beyond the limits")
	}
}

// The content types of messages.
const (
	kindJSON  = "application/json"
	kindProto = "application/proto"

	streamPrefix = "application/connect+"
	streamJSON   = streamPrefix + "json"
	streamProto  = streamPrefix + "proto"
)

// Speaks reports whether a content type is one of Connect's.
func Speaks(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case kindJSON, kindProto, streamJSON, streamProto:
		return true
	}
	return false
}

// StreamKind is the content type of streams of messages in an encoding.
func StreamKind(e rpc.Encoding) string {
	if e == rpc.JSON {
		return streamJSON
	}
	return streamProto
}

// Kind is the content type of messages in an encoding.
func Kind(e rpc.Encoding) string {
	if e == rpc.JSON {
		return kindJSON
	}
	return kindProto
}

// Kinds are the content types that are taken for calls of one message, as a field accept-post
// has them, and StreamKinds those for streams.
const (
	Kinds       = kindJSON + ", " + kindProto
	StreamKinds = streamJSON + ", " + streamProto
)

// NoStreams refuses a request of a stream, behind Done: what it came by carries none.
func (r *Request) NoStreams() {
	if r.Stream {
		r.refuse(415, rpc.Unimplemented, "streams go over HTTP/2")
		r.Stream = false
	}
}

// Streams reports whether the method has streams; before Done.
func (r *Request) Streams() bool { return r.found != nil && r.found.Kind > rpc.Oneway }

// encoded finds the encoding of a content type; of a stream, of its messages.
func (r *Request) encoded(kind string) {
	switch {
	case r.Stream && !r.Streams():
		r.refuse(415, rpc.Unimplemented, "the method has no streams: its messages come as "+kind)
	case r.Streams() && !r.Stream && (kind == kindJSON || kind == kindProto):
		r.refuse(415, rpc.Unimplemented, "the method has streams, which "+kind+" does not carry")
	case kind == kindJSON && CodecOf(r.found, rpc.JSON) != nil:
		r.Encoding = rpc.JSON
	case kind == kindProto && !wraps(r.found):
		r.Encoding = rpc.Native
	case kind == kindProto:
		r.refuse(415, rpc.Unimplemented, "a method of Thrift is called with "+kindJSON)
	default:
		r.refuse(415, rpc.Unimplemented, "content type "+brief(kind)+"; it is one of "+Kinds)
	}
}

// timeoutDigits is how many digits a timeout has at the most, in milliseconds: 115 days.
const timeoutDigits = 10

// AppendTimeout appends d as the value of a connect-timeout-ms, at most 10 bytes. What is
// between two milliseconds is rounded up; d is not below zero.
func AppendTimeout(b []byte, d time.Duration) []byte {
	n := int64(d / time.Millisecond)
	if time.Duration(n)*time.Millisecond < d {
		n++
	}
	return strconv.AppendInt(b, min(n, 1e10-1), 10)
}

// parseTimeout reads a timeout in milliseconds. One that is over already is a
// nanosecond, as zero would be none.
func parseTimeout(s string) (d time.Duration, ok bool) {
	if s == "" || len(s) > timeoutDigits {
		return 0, false
	}
	n := int64(0)
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return max(1, time.Duration(n)*time.Millisecond), true
}
