// Package impl is what generated code calls, and nobody else: no user's program names it,
// and it may change with each version of the generator.
//
// A generated struct has four methods. EncodeThrift and DecodeThrift are called by the codecs,
// through an interface; what they are given and give are values that fit in registers
// ([Output], [Input], [Result]). They make an [Encoder] or a [Decoder] on their stack, which
// AppendThrift and ReadThrift pass on to the structs within: from there on all calls are of
// known functions.
//
//	func (x *User) DecodeThrift(in impl.Input, depth int) impl.Result {
//		var d impl.Decoder
//		return d.End(x.ReadThrift(d.Begin(in, depth)))
//	}
//
// Generated code does what is usual: fields in the order of the IDL, all of them there. For
// anything else it calls Plan, Whole or Fields, which go on by the struct's plan. What takes
// memory is charged to the budget of the decode on both ways.
//
// The functions for lazy views stand between their getters and setters and package lazy.
package impl
