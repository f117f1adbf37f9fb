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
		prefix := ""
		if p.Scope != rpc.Leading {
			prefix = trailerPrefix
		}
		fields = appendPair(fields, prefix, p)
	}
	return fields
}

// AppendLeading appends of the metadata of a stream's answer what leads it; [AppendEnd] has the
// rest.
func AppendLeading[F Field](fields []F, md rpc.Metadata) []F {
	for _, p := range md {
		if p.Scope == rpc.Leading {
			fields = appendPair(fields, "", p)
		}
	}
	return fields
}

// appendPair appends a pair as a field whose name has prefix in front.
func appendPair[F Field](fields []F, prefix string, p rpc.Pair) []F {
	key, value := strings.ToLower(p.Key), p.Value
	if own(key) || rpc.Reserved(key) {
		return fields
	}
	if strings.HasSuffix(key, "-bin") {
		value = base64.RawStdEncoding.EncodeToString([]byte(value))
	}
	return append(fields, F(struct{ Name, Value string }{prefix + key, value}))
}

// ReadMetadata appends to md what users see of the head of an answer: what leads it, and what it
// has as trailers. A code other than rpc.OK says that a value is not base64, or that there are
// more than most pairs.
func ReadMetadata[F Field](md rpc.Metadata, fields []F, most int) (rpc.Metadata, rpc.Code) {
	for _, f := range fields {
		f := struct{ Name, Value string }(f)
		scope := rpc.Leading
		name, trails := strings.CutPrefix(f.Name, trailerPrefix)
		if trails {
			scope = rpc.Transient
		}
		var code rpc.Code
		if md, code = parsePair(md, name, f.Value, scope, most); code != rpc.OK {
			return md, code
		}
		if len(md) > most {
			return md, rpc.ResourceExhausted
		}
	}
	return md, rpc.OK
}

// parsePair appends to md what users see of a field, with a scope. A code other than rpc.OK
// says what is wrong: a value that is to be base64 is none, or the values in one would make md
// more than most pairs. They are counted before any is read: each byte of a value may be a
// comma, and so a pair, which takes forty times as much memory.
func parsePair(md rpc.Metadata, name, value string, scope rpc.Scope, most int) (rpc.Metadata, rpc.Code) {
	if own(name) || rpc.Reserved(name) {
		return md, rpc.OK
	}
	if !strings.HasSuffix(name, "-bin") {
		return append(md, rpc.Pair{Key: name, Value: value, Scope: scope}), rpc.OK
	}
	if n := strings.Count(value, ","); n > 0 && len(md)+n >= most {
		return md, rpc.ResourceExhausted
	}
	for v := range strings.SplitSeq(value, ",") { // HTTP joins values so
		p, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(v), "="))
		if err != nil {
			return md, rpc.InvalidArgument
		}
		md = append(md, rpc.Pair{Key: name, Value: string(p), Scope: scope})
	}
	return md, rpc.OK
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
