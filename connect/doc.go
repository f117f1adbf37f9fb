// Package connect is the Connect protocol (https://connectrpc.com/docs/protocol) without any
// input and output: what the head of a request says, the text of an error and of a stream's
// end, the JSON of messages. It is neutral of HTTP's version: heads come and
// go as fields, bodies as bytes. Package web puts it on connections.
//
// A request is a POST of a message in Protobuf or JSON, or for methods that only read a
// GET with the message in its query:
//
//	POST /hello.Hello/Echo                                   GET /hello.Hello/Echo?connect=v1
//	content-type: application/json                               &encoding=json&message=%7B%22message%22%3A%22hi%22%7D
//	connect-timeout-ms: 1000
//
//	{"message":"hi"}
//
// Its answer is a message with status 200, or an error with a status of its code:
//
//	{"code":"not_found","message":"no such word","details":[{"type":"a.Type","value":"AA"}]}
//
// Metadata is header fields; what an answer has besides what leads it goes there with the
// prefix trailer-.
//
// # Streams
//
// Both directions are messages in envelopes, which are gRPC's (package grpc): a byte of flags, of
// which the lowest says that the message is compressed, four bytes of length, the message. An
// answer has the status 200 and ends with an envelope with [EndFlag], whatever has become of
// the call:
//
//	{"error":{"code":"data_loss"},"metadata":{"key":["value"]}}
//
// # Thrift
//
// A method of Thrift has JSON only. Its request is an object with the arguments by name; a
// method with one argument takes that itself as well, as in {"message":"hi"} for
// {"req":{"message":"hi"}}. Its answer is what the method returns, {} if that is nothing. An exception is an
// error with the code unknown and one detail, whose type is limosa.detail/ and its name,
// and whose value its JSON.
//
// A service is found by its name and by one with a package in front; a method also with its
// first letter in the other case, for those who know the names of Go.
package connect
