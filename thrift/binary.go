package thrift

import (
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/rpc"
)

// Binary is the codec of Thrift's strict Binary protocol for Go structs with
// tags of the form
//
//	ID   int64   `thrift:"id,1,required"`
//	Name *string `thrift:"name,2,optional"`
//
// A message is a pointer to such a struct. What may be in one:
//
//	bool, int8, int16, int32, int64, float64, string   bool, i8, i16, i32, i64, double, string
//	type E int32      an enum
//	[]byte, UUID      binary, uuid
//	[]T, Set[T]       list, set
//	map[K]V           map with scalars, strings or UUIDs as keys
//	Pairs[K, V]       map with other keys
//	*S                struct
//	interface{ isUnion(*A, *B) }   union; each variant is a struct with one tagged field;
//	                               isUnion(func(*A, *B)) says the same
//	pointers to scalars, strings and UUIDs   optional fields
//	Unknown                            fields that the struct does not have
//
// Absent values: an optional field that is nil is not written; other nil slices
// and maps are written as empty ones; other nil pointers and unions are left
// out, unless they are required: then Append fails, as it does for a nil
// element of a container. Fields without a tag and unexported ones do not exist
// on the wire. A method SetDefaults on *S is called on every S, the message
// itself included, before it is decoded into; it makes the same values each time,
// whose memory counts against the budget of the decode.
//
// The zero value is ready, and safe for concurrent use. What is needed to know
// about a type is found out at its first use; a type that cannot be mapped gives
// an *rpc.Error with rpc.Internal that wraps a *TypeError.
type Binary struct {
	// MaxDepth is how deeply the structs and containers of a message to be
	// encoded may nest; 0 stands for 64, which is also what peers take by
	// default. It is what ends the encoding of values that refer to themselves.
	MaxDepth int
	// Plan has generated messages go by their run-time plan as well, as
	// messages without generated methods do. The bytes and values are the same.
	Plan bool
}

var _ rpc.Codec = Binary{}

// Append encodes msg at the end of out. Strings of buf.RefMin bytes and more
// are referred to, everything else is copied. Errors wrap a *TypeError.
func (c Binary) Append(out *buf.Out, msg any) error {
	return plan.AppendBinary(out, msg, c.MaxDepth, c.Plan)
}

// Decode replaces what msg holds by what body says: a field that body does not have
// is absent afterwards, or has its default, whatever msg had there before. Fields
// without a tag are left as they are. All is copied, with one exception: a string that has
// at least an eighth of a block of more than 8 MB refers to it, and the block is left
// to the garbage collector. A field that msg does not have, or has with another type, is skipped; of a
// field that comes twice the last one counts; containers are replaced, never
// added to. Bytes after the struct's end are an error: a body is cut by its
// frame, and what follows would be somebody else's.
//
// Depth and memory are bounded by lim: at most lim.DecodeBudget(body.Len())
// bytes are allocated for structs with their defaults, containers and binary, and
// besides at most three times the body for strings. Errors wrap a *SyntaxError and have the
// code rpc.InvalidArgument; msg is partly filled then.
func (c Binary) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	_, err := c.DecodeWeighed(body, msg, lim)
	return err
}

// DecodeWeighed makes Binary an rpc.Weigher. A lazy message weighs nothing.
func (c Binary) DecodeWeighed(body buf.View, msg any, lim *rpc.Limits) (int, error) {
	return plan.DecodeBinary(body, msg, lim, c.Plan)
}
