// Package thriftidl reads .thrift files and gives them as a schema of package idl:
// the language of Apache Thrift 0.25, with Kitex's streams.
//
//	files ── load.go ── lex.go ── parse.go, define.go ── resolve.go, values.go ── idl.Schema
//	         bytes,     tokens    one tree a file,       names to definitions,
//	         includes             names as written       values against types
//
// A parsed file is an idl.File whose types are still names (idl.Invalid with a
// Name); the resolver replaces them in place. Nobody sees a schema of which one
// file has an error.
//
// Input is not trusted: IDL text can come from a server that is asked what it
// speaks. The time is linear in the bytes that are read, whatever they say, and the
// depth of every recursion is bounded (maxDepth, idl.MaxChain, maxIncludes).
//
// Against Apache's compiler. Refused here, since no right code can follow: a constant
// or default that does not fit its type, a key that is twice in a map, a oneway method
// with a result, a required field of a union, a field id beyond 16 bits, a typedef of
// itself, a service with more than idl.MaxChain parents. Taken here: definitions in
// any order, senum as a string and a separator behind a header with a warning each,
// stream<T>.
//
// Alike, though odd: a field without a positive id is numbered down from -1, with a
// warning; a number for an enum must be one of its values; {} stands for an empty
// list and [] for an empty map; a keyword may name a field, but no method or type;
// Other.NAME for an enum that has a NAME is that NAME, with a warning.
//
// Sources: compiler/cpp/src/thrift/thriftl.ll, thrifty.yy and parse/ of Apache
// Thrift 0.25. docs/how/idl.md tells where this reader is stricter or laxer.
package thriftidl
