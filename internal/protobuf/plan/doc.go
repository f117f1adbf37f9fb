// Package plan encodes and decodes Go structs as Protobuf, by plans that are made at the first use
// of a type. Package protobuf is its face; docs/how/protobuf.md tells how it works.
//
//	Of ──► Plan ──► Encoder.fields ──► a buf.Out
//	         │
//	         └────► Decoder.fields ──► the struct
//
// A [Plan] is a [shape.Struct] with what Protobuf adds: a list of [Op]s, one for each field and
// oneof, in the order of their numbers, and one for each field by its number. The
// encoder goes along the one, the decoder guesses that the next field is the next one of the other.
//
// A message within a message has its length before it, and the encoder does not measure it first:
// it leaves room for the length that is likely, and moves the message if it was wrong. That
// takes a message that stays in one block. One that does not is measured when that is noticed,
// with all that is in it, and written again; see outer.
package plan
