package grpc

import (
	"encoding/base64"
	"strings"

	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
)

// AppendPair appends a pair as a field: its key in lower case, and its value in base64 if
// the key ends in -bin. One whose key is reserved, or has a meaning for HTTP, is left out.
func AppendPair(fields []http2.Field, p rpc.Pair) []http2.Field {
	key := strings.ToLower(p.Key)
	if own(key) || rpc.Reserved(key) {
		return fields
	}
	value := p.Value
	if strings.HasSuffix(key, "-bin") {
		value = encodeBinary(value)
	}
	return append(fields, http2.Field{Name: key, Value: value})
}

// ParseMetadata appends to md what users see of fields, with a scope. An error, of which
// code and text are set, says that a value which is to be base64 is none, or that the values
// in one would make md more than most pairs: a byte of a value may be another one, and a
// byte on the wire a field of thousands.
func ParseMetadata(md rpc.Metadata, fields []http2.Field, scope rpc.Scope, most int) (rpc.Metadata, *rpc.Error) {
	for _, f := range fields {
		if own(f.Name) || rpc.Reserved(f.Name) {
			continue
		}
		if !strings.HasSuffix(f.Name, "-bin") {
			md = append(md, rpc.Pair{Key: f.Name, Value: f.Value, Scope: scope})
			continue
		}
		if n := strings.Count(f.Value, ","); n > 0 && len(md)+n >= most {
			return md, &rpc.Error{Code: rpc.ResourceExhausted, Msg: "metadata beyond the limits"}
		}
		for v := range strings.SplitSeq(f.Value, ",") { // HTTP joins values so
			p, ok := decodeBinary(strings.TrimSpace(v))
			if !ok {
				return md, &rpc.Error{Code: rpc.Internal, Msg: "metadata that is not base64"}
			}
			md = append(md, rpc.Pair{Key: f.Name, Value: p, Scope: scope})
		}
	}
	return md, nil
}

// own names fields that belong to HTTP and gRPC themselves.
func own(name string) bool {
	switch name {
	case "content-type", "te", "user-agent", "content-length", "host", "date", "trailer", "accept-encoding", "content-encoding",
		"connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return true
	}
	return false
}

func encodeBinary(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) }

// decodeBinary takes base64 with padding and without.
func decodeBinary(s string) (string, bool) {
	p, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	return string(p), err == nil
}
