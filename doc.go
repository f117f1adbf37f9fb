// Package limosa is the face of the Limosa RPC stack: a Server that speaks
// every protocol it knows on every address it listens on, and a Client that
// shares its connections to one target between all calls and replaces those that
// break. Serve drains when its context ends.
//
// Generated code (see gen/limosa-gen) gives a plain Go interface for each
// service of an IDL file; the same interface is implemented by servers and by
// clients. What calls, errors, metadata, limits and interceptors are is
// defined in package rpc.
package limosa
