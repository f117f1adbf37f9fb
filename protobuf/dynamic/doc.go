// Package dynamic has Protobuf messages whose types are known at run time only: from .proto files or
// descriptors that a tool or a gateway reads.
//
//	types, err := dynamic.New(schema)             // of idl/protoidl or cmd/protoparse
//	msg := types.New("shop.Order")
//	err = msg.UnmarshalJSON([]byte(`{"id": "7"}`))
//	wire, err := protobuf.Marshal(msg)
//	err = protobuf.Unmarshal(wire, msg)
//
// A [Message] is a message like any other: protobuf.Codec, protobuf.JSON, protobuf.Marshal, Unmarshal, Equal, Clone
// and String take it, with the same limits and errors. It keeps unknown fields. [Types.JSON] is the codec for
// Protobuf's JSON mapping that knows what an Any may hold, and extensions.
//
// [Types.Method] describes a method of the schema, for calls with a Message on both sides.
package dynamic
