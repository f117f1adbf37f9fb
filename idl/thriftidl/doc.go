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
// Sources: compiler/cpp/src/thrift/thriftl.ll, thrifty.yy and parse/ of Apache
// Thrift 0.25. docs/how/idl.md tells where this reader is stricter or laxer.
package thriftidl
