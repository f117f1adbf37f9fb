package protobuf

import (
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/plan"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/rpc"
)

// Codec is the codec of Protobuf's binary format for Go structs with tags. The zero value is ready, and safe for
// concurrent use. A type that cannot be a message gives an *rpc.Error with rpc.Internal that wraps a *TypeError.
//
// # Tags
//
// A field of a message has a tag `proto:"NUMBER,TYPE[,OPTION...]"`. TYPE is a type of .proto files, or
//
//	message, group                      *S, where S is such a struct
//	enum                                a type whose underlying type is int32
//	map(KEY,VALUE)                      map[K]V; VALUE is any TYPE but group
//
// and the Go type is the one of the same size: int32 for int32, sint32 and sfixed32, uint32 for uint32 and
// fixed32, the same with 64, float32 for float, float64 for double, bool, string, []byte
// for bytes. A slice of it is a repeated field. The options are
//
//	packed      the numbers of a list are written behind one tag; read are both forms, always
//	required    it has to be there; a scalar is a pointer, or is always written
//	explicit    the field tells absent from zero: a scalar is a pointer, bytes are nil if absent
//	closed      an enum whose numbers without a name are unknown fields. It has a method Known() bool
//	noutf8      a string may be anything, as in proto2
//	name=NAME   its name in the .proto file, for String, masks, errors and JSON; the Go name otherwise
//	json=NAME   its name in JSON, where that is not the usual one
//
// Without explicit and required a scalar that is zero is not written; -0 is. A pointer to a message that is nil is absent.
//
// A oneof is a field whose type is a sealed interface, with the tag `proto:"oneof"` or `proto:"oneof,name=NAME"`. The interface
// has one method, isUnion, whose parameters are its fields, each a pointer to a struct with one tagged field; nil is none of them:
//
//	type Payment interface{ isUnion(*PaymentCard, *PaymentCash) }
//	type PaymentCard struct{ Value *Card `proto:"5,message"` }
//	type PaymentCash struct{ Value int64 `proto:"6,int64"` }
//	func (*PaymentCard) isUnion(*PaymentCard, *PaymentCash) {}
//
// isUnion(func(*PaymentCard, *PaymentCash)) says the same, for oneofs of many fields.
//
// A field `unknown []byte` with the tag `proto:"unknown"` keeps the fields that the struct does not have,
// extensions among them, and they are written behind the others. Fields without a tag are none of the message.
type Codec struct {
	// MaxDepth is how deeply the messages in a message to be encoded may nest; 0 stands for 100, which
	// is what other libraries take. It is what ends the encoding of values that refer to themselves.
	MaxDepth int
	// Deterministic has the entries of maps written in the order of their keys, so that equal messages
	// become equal bytes. Another version of the program may give other bytes.
	Deterministic bool
	// Plan has messages encoded and decoded by plans that are made at run time even if they have generated
	// methods: for tests that hold the one way against the other.
	Plan bool
}

var _ rpc.Codec = Codec{}

// Append encodes msg at the end of out, its fields in the order of their numbers and what it
// keeps of unknown ones last. Strings of buf.RefMin bytes and more are referred to, everything else is
// copied. Required fields that are absent, nil elements and strings that are not UTF-8 are errors, which
// wrap a *TypeError.
func (c Codec) Append(out *buf.Out, msg any) error {
	return plan.Append(out, msg, c.MaxDepth, c.Deterministic, c.Plan)
}

// Decode replaces what msg holds by what body says: a field that body does not have is absent afterwards. Fields
// without a tag are left as they are. All is copied, with one exception: a string that has
// at least an eighth of a block of more than buf.MaxPooled bytes refers to it, and the block is left
// to the garbage collector.
//
// A message or oneof that comes twice is merged, of other values the last one counts. A list of numbers may be packed or not. A field of another wire type is an unknown one. lim bounds depth and memory; nil stands for the
// defaults with a depth of 100. Other errors than those of a wrong type are an *rpc.Error with rpc.InvalidArgument that
// wraps a *SyntaxError.
func (c Codec) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	_, err := plan.Decode(body, msg, lim, c.Plan)
	return err
}

// In gives the codec of the same messages in another encoding; it makes Codec an
// rpc.Recoder. What JSON has of newer versions is passed over, as the binary format's
// unknown fields are.
func (c Codec) In(e rpc.Encoding) rpc.Codec {
	if e == rpc.JSON {
		return JSON{MaxDepth: c.MaxDepth, Discard: true}
	}
	return nil
}

var _ rpc.Recoder = Codec{}

// A SyntaxError says where bytes are not Protobuf, or not a message of the type that they are
// decoded into. rpc.CodeOf of it is rpc.InvalidArgument.
type SyntaxError = raw.SyntaxError

// A TypeError says why a Go type, or a value of it, cannot be a message.
type TypeError = plan.TypeError
