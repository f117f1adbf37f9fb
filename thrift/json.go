package thrift

import (
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/tjson"
	"github.com/limosa-rpc/limosa/rpc"
)

// JSON is the codec of Thrift's JSON protocol (TJSONProtocol) for the same
// structs as Binary and with the same rules. It is for tools and for peers of
// old: fields go by id and with their types, so that it is JSON which only
// Thrift reads,
//
//	{"1":{"i64":7},"2":{"str":"text"},"3":{"lst":["i32",2,1,2]},"4":{"map":["str","dbl",1,{"pi":3.14}]}}
//
// and unlike Binary and Compact it allocates freely. Binary is base64, a UUID
// its text. Bytes of strings that are not UTF-8 are replaced by U+FFFD. A map
// whose keys are structs or containers is written as Apache's libraries do,
// and is no JSON then.
//
// The zero value is ready, and safe for concurrent use.
type JSON struct {
	MaxDepth int // as Binary's
}

var _ rpc.Codec = JSON{}

// Append encodes msg at the end of out, in one piece.
func (c JSON) Append(out *buf.Out, msg any) error { return tjson.Append(out, msg, c.MaxDepth) }

// Decode fills msg from body, as Binary.Decode does. Of numbers that do not fit
// their type it makes errors.
func (c JSON) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	return tjson.Decode(body, msg, lim)
}
