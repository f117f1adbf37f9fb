// Package rpc is the vocabulary of a call: what a method, a call, a handler,
// an interceptor, metadata, limits and errors are. Engines, protocols, codecs
// and generated code all speak it, on both sides and for every protocol.
//
// It does no I/O and starts no goroutine. A *Call is one object per call and
// side; on the server it is the context of the handler as well. Nothing in it
// is pooled, so a handler may keep its ctx and messages for as long as it likes.
package rpc
