// Package web makes calls of HTTP: a [Protocol] of it is gRPC over HTTP/2, as a client and
// as a server. The frames are package http2's, what stands in them package grpc's; a
// session only translates between them and the engine's events.
package web
