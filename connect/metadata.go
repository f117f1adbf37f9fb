package connect

import (
	"encoding/base64"
	"strings"

	"github.com/limosa-rpc/limosa/rpc"
)

// A Field is a header field of any version of HTTP.
type Field interface {
	~struct{ Name, Value string }
}

// trailerPrefix is what the names of trailers have in front, which are sent with the head.
const trailerPrefix = "trailer-"

// AppendMetadata appends the metadata of an answer: what leads it as it is, the rest
// as trailers. A pair whose key is reserved, or has a meaning for HTTP, is left out.
func AppendMetadata[F Field](fields []F, md rpc.Metadata) []F {
	for _, p := range md {
		key := strings.ToLower(p.Key)
		if own(key) || rpc.Reserved(key) {
			continue
		}
		value := p.Value
		if strings.HasSuffix(key, "-bin") {
			value = base64.RawStdEncoding.EncodeToString([]byte(value))
		}
		if p.Scope != rpc.Leading {
			key = trailerPrefix + key
		}
		fields = append(fields, F(struct{ Name, Value string }{key, value}))
	}
	return fields
}

// parsePair appends to md what users see of a field, with a scope. false: a value that
// is to be base64 is none.
func parsePair(md rpc.Metadata, name, value string, scope rpc.Scope) (rpc.Metadata, bool) {
	if own(name) || rpc.Reserved(name) {
		return md, true
	}
	if !strings.HasSuffix(name, "-bin") {
		return append(md, rpc.Pair{Key: name, Value: value, Scope: scope}), true
	}
	for v := range strings.SplitSeq(value, ",") { // HTTP joins values so
		p, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(v), "="))
		if err != nil {
			return md, false
		}
		md = append(md, rpc.Pair{Key: name, Value: string(p), Scope: scope})
	}
	return md, true
}

// own names fields that belong to HTTP, to the connection or to its next hop only.
func own(name string) bool {
	switch name {
	case "accept", "accept-encoding", "accept-post", "allow", "connection", "content-encoding", "content-length", "content-type", "date", "expect", "host",
		"keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent":
		return true
	}
	return false
}
