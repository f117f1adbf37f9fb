// Package raw knows Protobuf's wire format and nothing of Go types: numbers, tags, skipping, and
// lists of numbers in one piece. It allocates nothing but errors.
//
// A parser here is given the bytes b and an offset o, and gives the offset behind what it read or,
// with a [Fault] other than Fine, the offset of the fault. Bytes are borrowed for the call.
package raw
