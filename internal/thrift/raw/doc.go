// Package raw knows Thrift's bytes and no Go types: the types of values, where a value
// ends, message envelopes, application exceptions, the numbers and headers of the Compact
// protocol, and how Compact is rewritten as Binary. It is what framings need, which cut
// messages and do not look into them, and what package plan builds on.
//
// A parser on the fast path gives a [Fault] and an offset instead of an error; an error is
// made of it where it leaves. Functions that are told an offset take the whole input and
// an offset in it, so that offsets need no correction.
//
// Source: doc/specs/thrift-binary-protocol.md and thrift-compact-protocol.md of Apache
// Thrift 0.25.
package raw
