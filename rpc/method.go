package rpc

import (
	"context"
	"fmt"
	"iter"

	"github.com/limosa-rpc/limosa/buf"
)

// A Kind is the shape of a method.
type Kind uint8

const (
	Unary        Kind = iota // one message, one answer
	Oneway                   // one message, no answer
	ServerStream             // one message, many answers
	ClientStream             // many messages, one answer
	Bidi                     // many and many, at the same time
)

// A Codec turns messages into bytes and back. It is a value in a method's
// description; implementations are safe for concurrent use. A panic of theirs fails
// the call only, but they must not end their goroutine (runtime.Goexit): where answers
// are decoded it may be another caller's, and its connection ends.
type Codec interface {
	// Append encodes msg at the end of out. After an error out holds an
	// unfinished message, which the caller takes back.
	Append(out *buf.Out, msg any) error
	// Decode fills msg from body, which it borrows: what is to outlive the
	// call is copied, or aliases body after View.Keep. Errors name an offset.
	Decode(body buf.View, msg any, lim *Limits) error
}

// An Encoding is the way a body is written, where a protocol leaves a choice
// and says in its frames what it was.
type Encoding uint8

const (
	Native  Encoding = iota // as the method's codec writes it
	Compact                 // Thrift's Compact protocol
	JSON                    // JSON with the names of the IDL, as people write it
)

// String names it.
func (e Encoding) String() string {
	switch e {
	case Native:
		return "the codec's own encoding"
	case Compact:
		return "Thrift's Compact protocol"
	case JSON:
		return "JSON"
	}
	return fmt.Sprintf("Encoding(%d)", uint8(e))
}

// A Recoder is a Codec that has its messages in other encodings too.
type Recoder interface {
	Codec
	// In gives the codec of the same messages in another encoding, and nil for
	// one that it does not have.
	In(e Encoding) Codec
}

// A Coder brings codecs for encodings that those of methods do not have themselves. A
// session of a protocol may be one, and so the [Identifier] of a server's call: a program
// whose protocols have no such encoding links nothing of it.
type Coder interface {
	// CodecIn gives a codec of the messages of m, and nil if there is none. Any goroutine
	// may call it, with no lock.
	CodecIn(m *Method, e Encoding) Codec
}

// A Weigher is a Codec that tells what it makes of a message.
type Weigher interface {
	Codec
	// DecodeWeighed is Decode, and tells how many bytes of memory the message
	// takes besides its text and binary, which are in body too. It is 0 with an
	// error.
	DecodeWeighed(body buf.View, msg any, lim *Limits) (bytes int, err error)
}

// An Unwrapper is a Codec of an IDL whose methods have arguments and declared
// exceptions, as Thrift's do: calls of one message are made with a message that holds
// the arguments, and answered with one that holds what is returned or thrown. A codec
// without it has the messages of the method themselves.
type Unwrapper interface {
	Codec
	// Args yields the arguments that msg holds, with their names in the IDL.
	Args(msg any) iter.Seq2[string, any]
	// Answer gives what msg returns, and nil if it holds an exception or nothing.
	Answer(msg any) any
}

// Next runs the rest of a call: the next interceptor, or the method itself.
type Next func(ctx context.Context, c *Call) error

// An Interceptor wraps calls on either side and of every shape. On the server
// it runs before the request is decoded. It may call next several times, one
// after the other (a retry), or not at all.
type Interceptor func(ctx context.Context, c *Call, next Next) error

// Chain nests interceptors around final, the first one outermost. Chains are
// built once; calling one costs no allocation.
func Chain(final Next, interceptors ...Interceptor) Next {
	for i := len(interceptors) - 1; i >= 0; i-- {
		icept, next := interceptors[i], final
		final = func(ctx context.Context, c *Call) error { return icept(ctx, c, next) }
	}
	return final
}

// A Method describes one method of a service for both sides. Generated code
// holds one for each; it is constant.
type Method struct {
	Service    string // the IDL's service name, with the package where the IDL has one
	Name       string // as on the wire
	Kind       Kind
	Idempotent bool // may be sent again although the server may have seen it
	ReadOnly   bool // has no side effects: may be asked for by GET, and its answer kept in caches
	Codec      Codec

	// New makes a call object for the server, with arguments and result in it.
	New func() *Call
	// Except puts err into result if the method declares it as an exception,
	// and reports whether it did. nil: nothing is declared.
	Except func(result any, err error) bool
	// Raise gives the declared exception that result holds, or an error if it
	// holds no result at all. nil: neither can happen.
	Raise func(result any) error

	hints hints // what engines have learned of it; see HintsOf
}

// String gives Service/Name.
func (m *Method) String() string { return m.Service + "/" + m.Name }

// A Handler is a method bound to an implementation.
type Handler struct {
	Method *Method
	Serve  Next

	// Service is the name of the Service that it was registered with; the
	// server sets it.
	Service string
}

// A Service is a set of handlers under one name, as a server takes it.
type Service struct {
	Name    string
	Methods []Handler
	// IDL is the service's own description, for tools that ask a server what
	// it speaks; may be empty.
	IDL string

	// Unbound says that there is no implementation behind Methods: the service
	// describes, and a server refuses it.
	Unbound bool
}

// A Caller makes calls: a connection, a pool of them, the in-process path, a
// balanced set of endpoints. It is safe for concurrent use.
type Caller interface {
	// Do makes one call and returns when it has ended: with nil and the
	// call's result filled, with a declared exception, or with an *Error.
	// After Do has returned nothing touches the call any more.
	Do(ctx context.Context, c *Call) error
	// Close ends calls in flight after a short grace and frees everything.
	Close() error
}
