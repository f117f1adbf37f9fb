package connect

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/limosa-rpc/limosa/rpc"
)

// A query is what the target of a GET has behind its path.
type query struct {
	version, encoding, message, base64, compression string

	seen uint8 // which of them were there: the first one counts
}

// readQuery reads the message off the target of a GET. Of a parameter that comes twice the
// first one counts; those that are not known are passed over.
func (r *Request) readQuery() {
	var q query
	for part := range strings.SplitSeq(r.query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if err := q.take(name, value); err != nil {
			r.refuse(0, rpc.InvalidArgument, "the parameter "+brief(name)+" of the query is not escaped well")
			return
		}
	}
	switch {
	case q.version != "" && q.version != "v1":
		r.refuse(0, rpc.InvalidArgument, "connect is "+brief(q.version)+", not v1")
	case q.seen&hasEncoding == 0 || q.seen&hasMessage == 0:
		r.refuse(0, rpc.InvalidArgument, "a GET has the parameters encoding and message")
	case q.encoding != "json" && q.encoding != "proto":
		r.refuse(415, rpc.Unimplemented, "encoding is "+brief(q.encoding)+", not json or proto")
	case q.base64 != "" && q.base64 != "0" && q.base64 != "1":
		r.refuse(0, rpc.InvalidArgument, "base64 is "+brief(q.base64)+", not 1")
	default:
		r.encoded("application/" + q.encoding)
	}
	r.packed(q.compression)
	if r.Err != nil {
		return
	}
	r.Message = []byte(q.message)
	if q.base64 == "1" {
		var ok bool
		if r.Message, ok = decodeAnyBase64(q.message); !ok {
			r.refuse(0, rpc.InvalidArgument, "message is not base64")
		}
	}
	if len(r.Message) > r.lim.MessageBytes {
		r.refuse(0, rpc.ResourceExhausted, "message beyond the limit")
	}
}

// The bits of query.seen.
const (
	hasVersion = 1 << iota
	hasEncoding
	hasMessage
	hasBase64
	hasCompression
)

// take takes a parameter in.
func (q *query) take(name, value string) error {
	var to *string
	var bit uint8
	switch name {
	case "connect":
		to, bit = &q.version, hasVersion
	case "encoding":
		to, bit = &q.encoding, hasEncoding
	case "message":
		to, bit = &q.message, hasMessage
	case "base64":
		to, bit = &q.base64, hasBase64
	case "compression":
		to, bit = &q.compression, hasCompression
	default:
		return nil
	}
	// The first counts, as for who reads the parameters in order; to join them would let two programs
	// on the way read two messages.
	if q.seen&bit != 0 {
		return nil
	}
	q.seen |= bit
	var err error
	*to, err = url.QueryUnescape(value)
	return err
}

// decodeAnyBase64 takes both alphabets, with padding and without.
func decodeAnyBase64(s string) ([]byte, bool) {
	s = strings.TrimRight(s, "=")
	of := base64.RawURLEncoding
	if strings.ContainsAny(s, "+/") {
		of = base64.RawStdEncoding
	}
	p, err := of.DecodeString(s)
	return p, err == nil
}
