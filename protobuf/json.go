package protobuf

import (
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/pjson"
	"github.com/limosa-rpc/limosa/rpc"
)

// JSON is the codec of Protobuf's JSON mapping (ProtoJSON), for the same structs as [Codec]: fields go by
// their names in lowerCamelCase, numbers of 64 bits are strings, enums go by name, bytes are base64, and the
// well-known types have forms of their own. Enums are written and read by their methods MarshalText and UnmarshalText, which
// generated ones have. A type is a well-known one by its method ProtoName() string, which generated messages have too.
//
// The zero value is ready, and safe for concurrent use. Unlike Codec it allocates freely.
type JSON struct {
	MaxDepth int // as Codec's

	ProtoNames bool // fields are written with their names in the .proto file; both are read, always
	Defaults   bool // what is zero is written too, and so are empty lists and maps, but not what may be absent
	Numbers    bool // enums are written as numbers
	Discard    bool // unknown fields, and unknown names of enums, are passed over; else they are errors

	// Any makes a message of that full name, for what a google.protobuf.Any holds; nil says that it is
	// not known, and is an error. Without it only an empty Any can be written and read.
	Any func(name string) any
	// Extensions makes a struct for each group of extensions of the message of that full name: pointers to structs whose
	// fields are extensions, with json=[FULL.NAME] in their tags, as generated code has them. Without it extensions are
	// unknown fields.
	Extensions func(name string) []any
}

var _ rpc.Codec = JSON{}

// options are c's fields as the codec below knows them.
func (c JSON) options() pjson.Options {
	return pjson.Options{ProtoNames: c.ProtoNames, Defaults: c.Defaults, Numbers: c.Numbers, Discard: c.Discard, Any: c.Any, Extensions: c.Extensions}
}

// Append encodes msg at the end of out, in one piece and without spaces. What cannot be sent is an error,
// as it is for Codec; what is kept of unknown fields is left out.
func (c JSON) Append(out *buf.Out, msg any) error {
	return pjson.Append(out, msg, c.options(), c.MaxDepth)
}

// Decode replaces what msg holds by what body says, one JSON object with nothing behind it. lim bounds depth and memory; nil stands
// for the defaults with a depth of 100. Errors wrap a *SyntaxError with an offset.
func (c JSON) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	return pjson.Decode(body, msg, c.options(), lim)
}

// MarshalJSON encodes msg by [JSON].
func MarshalJSON(msg any) ([]byte, error) {
	var out buf.Out
	defer out.Reset()
	if err := (JSON{}).Append(&out, msg); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// UnmarshalJSON replaces what msg holds by the message that text is. It borrows text.
func UnmarshalJSON(text []byte, msg any) error { return JSON{}.Decode(buf.ViewOf(text), msg, nil) }
