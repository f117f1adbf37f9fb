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

// pairsMost is how many pairs the metadata of a message may be. The fields of a list are
// fewer than that already; but a byte of a value may be another value.
const pairsMost = 256

// ParseMetadata appends to md what users see of fields, with a scope. false: a value
// that is to be base64 is none, or there are more than 256 pairs.
func ParseMetadata(md rpc.Metadata, fields []http2.Field, scope rpc.Scope) (rpc.Metadata, bool) {
	for _, f := range fields {
		if own(f.Name) || rpc.Reserved(f.Name) {
			continue
		}
		if !strings.HasSuffix(f.Name, "-bin") {
			md = append(md, rpc.Pair{Key: f.Name, Value: f.Value, Scope: scope})
			continue
		}
		for v := range strings.SplitSeq(f.Value, ",") { // HTTP joins values so
			p, ok := decodeBinary(strings.TrimSpace(v))
			if !ok || len(md) >= pairsMost {
				return md, false
			}
			md = append(md, rpc.Pair{Key: f.Name, Value: p, Scope: scope})
		}
	}
	return md, true
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
