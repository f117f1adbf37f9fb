// Package web makes calls of HTTP: a [Protocol] of it is gRPC over HTTP/2, and Connect there,
// as a client and as a server; [HTTP1] is Connect over HTTP/1.1, for servers. The frames are
// package http2's and http1's, what stands in them package grpc's and connect's; a session
// only translates between them and the engine's events.
//
// Which of the two a request on HTTP/2 is, its content type says. The streams of both have
// their messages in the same envelopes, so that they are one path; a stream of Connect ends
// with an envelope, where gRPC has trailers, and its calls of one message have no envelope.
//
// # A request on a server
//
//	Cut:    http2.Cut -> a step; the head of its list, remembered by the list's address;
//	        one message of the body, or the first of many  -> Note|Open|Message|End
//	Apply:  http2.Apply: does the stream live?             -> Open|Message|End, or nothing
//	engine: finds the handler, runs it, encodes the answer:
//	Begin:  HEADERS, the head of DATA, five bytes
//	End:    the five bytes are patched, http2.End          -> HEADERS, DATA, trailers
//	        of Connect: the last envelope, or an error's text, is appended before
//
// # An answer on a client
//
//	Cut:    http2.Cut -> a step; status, metadata, messages, as if it were a stream's
//	Apply:  http2.Apply: whose is it, is it gathered?
//	          gathered, and not whole: nothing yet; what Cut has remembered is forgotten
//	          gathered, and whole now: it is read once more
//	          of Connect, and for a call of another kind: an error
//	          a stream's:              the event as it was cut, with the call's id
//
// # What is held
//
//	steps           what was cut and not applied: a batch at the most, its memory goes with it
//	streams         messages that have arrived in part: counted by Held, bounded by Allow and half of HeldPerConn
//	heads           of eight header lists, 2 KB each at the most: counted by Held
//	paths           of 512 methods that this side has called
//	http2's own     bodies that are gathered, what waits for windows: see there
//
// # Errors
//
//	of the connection   http2 says GOAWAY; the engine's calls fail with it
//	of a stream         RST_STREAM, in and out: resetError
//	of a request        a status, in trailers without a body, or Connect's text: answer
//	of neither          415 or 405, and the engine never hears of it: turnAway
package web
