// Package protobuf is the codec for Protobuf messages that are plain Go structs.
//
//	type Order struct {
//		ID    int64             `proto:"1,int64"`
//		Note  *string           `proto:"2,string,explicit"`
//		Items []*Item           `proto:"3,message"`
//		Tags  map[string]string `proto:"4,map(string,string)"`
//		Paid  Payment           `proto:"oneof"`
//
//		unknown []byte `proto:"unknown"`
//	}
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
// has one method whose parameters are its fields, each a pointer to a struct with one tagged field; nil is none of them:
//
//	type Payment interface{ isPayment(*PaymentCard, *PaymentCash) }
//	type PaymentCard struct{ Value *Card `proto:"5,message"` }
//	type PaymentCash struct{ Value int64 `proto:"6,int64"` }
//	func (*PaymentCard) isPayment(*PaymentCard, *PaymentCash) {}
//
// isPayment(func(*PaymentCard, *PaymentCash)) says the same, for oneofs of many fields.
//
// A field `unknown []byte` with the tag `proto:"unknown"` keeps the fields that the struct does not have,
// extensions among them, and they are written behind the others. Fields without a tag are none of the message.
//
// # Use
//
// [Codec] is an rpc.Codec; [Marshal], [Append] and [Unmarshal] are for who stores messages. [Equal], [Clone], [String], [Keep] and [Drop]
// work on any message. All of them are safe for concurrent use; what is to be known about a type is found out at its first use.
package protobuf
