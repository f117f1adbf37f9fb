// Package impl is what generated code of .proto files calls, and nobody else: no user's program names
// it, and it may change with each version of the generator.
//
// A generated message has four methods. EncodeProto and DecodeProto are called by the codec, through an
// interface; what they are given and give are values ([Output], [Input], [Result]). They make an
// [Encoder] or a [Decoder] on their stack, which AppendProto and ReadProto pass on to the messages
// within: from there on all calls are of known functions.
//
// Generated code does what is usual: messages that fit into a block, fields in the order of their
// numbers. Everything else is the plan's: the kinds of fields that the generator has no words for,
// what has no room, what comes in another order, what nobody knows, and whatever is wrong, so
// that each rule of the format, and each error, stands once.
package impl
