// Package plan encodes and decodes Go structs in Thrift's Binary and Compact protocols, by plans
// that are made at the first use of a type and by the methods of generated structs. Package
// thrift is its face, thrift/impl what generated code calls; docs/how/thrift.md tells how it works.
//
//	Of ──► Plan ──► Encoder.Fields ──► a buf.Out      Binary; compactFields for Compact
//	         │
//	         └────► Decoder.Fields ──► the struct     Resume: from the field at hand on
//
// A [Plan] is a [shape.Struct] with what Thrift adds: fields by id, the generated methods, the
// runs of the typed skip, and how a lazy view is treated. [Encoder] and [Decoder] know which of
// the two protocols they are in, and share all but headers and values. They live on the stack
// of whoever encodes or decodes: nothing of them may go through a function value or an
// interface, which is why generated methods and [Views] are handed values.
package plan
