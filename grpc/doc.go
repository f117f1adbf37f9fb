// Package grpc is what gRPC puts on top of HTTP/2: the envelope of a message,
// timeouts, status with details, metadata, and compression. It is pure, and knows
// neither connections nor calls; package web makes calls of it.
//
// The format: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
package grpc
