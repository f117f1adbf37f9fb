// Package grpc is what gRPC puts on top of HTTP/2: the envelope of a message,
// timeouts, status with details, metadata, and compression. It is pure, and knows
// neither connections nor calls; package web makes calls of it.
//
// A body is messages behind each other, wherever its DATA frames begin and end:
//
//	1 byte   0, or 1: the message is compressed, as grpc-encoding says
//	4 bytes  its length, big endian
//	         the message
//
// Behind the last one of an answer come trailers; an answer without a message may be
// nothing but them:
//
//	grpc-status              a number of rpc.Code; 0 is no error
//	grpc-message             the error's text, percent-encoded
//	grpc-status-details-bin  google.rpc.Status in base64: code and text again, and details
//	                         metadata, values of keys in -bin in base64
//
// The format: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
package grpc
