package rpc

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// A Call is one call on one side: an interceptor sees the same type on the
// client and on the server. Its exported fields may be changed by
// interceptors, before next on the way out and after it on the way back. One
// goroutine at a time uses a Call; a concurrent attempt works on a Fork.
type Call struct {
	Method  *Method
	Service string   // on the client the service that is asked for; on the server the registered one that serves the call
	Asked   string   // on the server: what the caller said the service was; may be empty, or anything
	Peer    string   // the other side's address, as soon as it is known
	Header  Metadata // sent with the request, or received with it
	Trailer Metadata // sent with the answer, or received with it
	Attempt int      // 0 for the first; an interceptor that retries counts it up

	// Set when made, then constant. Both point into the object that embeds
	// the Call, so that one allocation serves all.
	args, result any

	several *streaming // nil: a call of one message

	serving *serving // on the server, else nil: a client's call is half the size without

	answered bool // client: result holds the answer of an earlier attempt
	encoding Encoding
}

// serving is what a call has on the server only.
type serving struct {
	life lifetime
	lazy lazyBody
}

// served gives what the server's half of the call keeps.
func (c *Call) served() *serving {
	if c.serving == nil {
		c.serving = new(serving) // not made by New
	}
	return c.serving
}

// lazyBody is a request that is decoded when somebody asks for it. It has a
// lock because a goroutine that a handler left behind may still ask.
type lazyBody struct {
	sync.Mutex
	state  bodyState
	body   buf.View
	lim    *Limits
	holder Holder // nil: nobody is told
	err    error
}

type bodyState uint8

const (
	bodyDecoded bodyState = iota // also a client's call: its arguments were never bytes
	bodyWaiting
	bodyFailed
	bodyGone
)

// Typed is a Call together with its arguments and result: one allocation for
// a call. Generated code names its instances.
type Typed[A, R any] struct {
	Call
	Args   A
	Result R
}

// NewCall makes a client's call of m. service is the name that the target
// knows the method under.
func NewCall[A, R any](m *Method, service string) *Typed[A, R] {
	x := &Typed[A, R]{Call: Call{Method: m, Service: service}}
	x.args, x.result = &x.Args, &x.Result
	return x
}

// New makes a server's call; it is what Method.New points to.
func New[A, R any]() *Call {
	x := new(struct {
		Typed[A, R]
		own serving
	})
	x.args, x.result, x.serving = &x.Args, &x.Result, &x.own
	return &x.Call
}

// Make makes a client's call from messages that were made elsewhere, for
// tools that know the types only at run time. Both are pointers.
func Make(m *Method, service string, args, result any) *Call {
	return &Call{Method: m, Service: service, args: args, result: result}
}

// Args gives the arguments of a server's call, decoded. It is what a
// generated method body begins with.
func Args[A any](c *Call) (*A, error) {
	msg, err := c.Request()
	if err != nil {
		return nil, err
	}
	a, ok := msg.(*A)
	if !ok {
		return nil, &Error{Code: Internal, Op: "arguments", Err: fmt.Errorf("call of %v holds %T", c.Method, msg)}
	}
	return a, nil
}

// Result gives the place for a server call's result. It panics if the call
// was made for another type, which generated code rules out.
func Result[R any](c *Call) *R { return c.result.(*R) }

// Request gives the message that the call was made with, a pointer. On the
// server the first use decodes it; after the handler has returned an
// undecoded request is gone, and Request returns an error.
func (c *Call) Request() (any, error) {
	if c.serving == nil {
		return c.args, nil
	}
	l := &c.serving.lazy
	l.Lock()
	defer l.Unlock()
	switch l.state {
	case bodyWaiting:
		if err := l.decode(c.codec(), c.args); err != nil {
			l.state, l.err = bodyFailed, undecodable(err)
			return nil, l.err
		}
		l.state = bodyDecoded
	case bodyFailed:
		return nil, l.err
	case bodyGone:
		return nil, &Error{Code: FailedPrecondition, Op: "request", Msg: "the handler has returned"}
	}
	return c.args, nil
}

// decode decodes the body into msg, and tells the engine what that takes.
func (l *lazyBody) decode(codec Codec, msg any) (err error) {
	w, ok := codec.(Weigher)
	if !ok || l.holder == nil {
		return codec.Decode(l.body, msg, l.lim)
	}
	if err := l.holder.Decodes(l.body.Len()); err != nil {
		return err
	}
	n := 0
	defer func() { l.holder.Decoded(n) }() // also of a codec that panics
	n, err = w.DecodeWeighed(l.body, msg, l.lim)
	return err
}

// A Holder holds a request for its caller.
type Holder interface {
	// Decodes is asked before a request of so many bytes is decoded, on the goroutine
	// that has asked for it, which may wait here. An error is that goroutine's;
	// without one Decoded is called in the end.
	Decodes(bytes int) error
	// Decoded is told what the request takes now that it is decoded, in bytes,
	// besides its text and binary, on the goroutine that has asked for it.
	Decoded(bytes int)
}

// SetHolder has h told what the request takes; for engines, before the handler runs.
func (c *Call) SetHolder(h Holder) { c.served().lazy.holder = h }

// undecodable is what the peer is told of a request that makes no sense: the
// codec's words hold offsets and field names, nothing of this side.
func undecodable(err error) error {
	code := CodeOf(err)
	if code == Unknown {
		code = InvalidArgument
	}
	return Errorf(code, "decode request: %w", err)
}

// Response gives the message that holds the answer, a pointer: to be filled
// on the server, filled after next on the client.
func (c *Call) Response() any { return c.result }

// SetBody gives a server's call the bytes of its request; for engines. The
// call owns v until Release.
func (c *Call) SetBody(v buf.View, lim *Limits) {
	l := &c.served().lazy
	l.state, l.body, l.lim = bodyWaiting, v, lim
}

// SetEncoding says how the bodies of the call are written from now on; for
// engines, before they encode or have something decoded.
func (c *Call) SetEncoding(e Encoding) { c.encoding = e }

// codec is the method's, in the encoding of the call.
func (c *Call) codec() Codec {
	if c.encoding == Native {
		return c.Method.Codec
	}
	if r, ok := c.Method.Codec.(Recoder); ok {
		if in := r.In(c.encoding); in != nil {
			return in
		}
	}
	return noCodec{}
}

// noCodec stands for the one that a method does not have.
type noCodec struct{}

var errNoCodec = &Error{Code: Unimplemented, Op: "encoding", Msg: "the method's codec does not write Thrift's Compact protocol", Sent: NotSent}

func (noCodec) Append(*buf.Out, any) error          { return errNoCodec }
func (noCodec) Decode(buf.View, any, *Limits) error { return errNoCodec }

// Release gives the bytes of the request back; for engines, once the handler
// has returned.
func (c *Call) Release() {
	l := &c.served().lazy
	l.Lock()
	defer l.Unlock()
	if l.state == bodyWaiting {
		l.state = bodyGone
	}
	l.body.Release()
	l.body = buf.View{}
}

// AppendRequest encodes the arguments; for engines.
func (c *Call) AppendRequest(out *buf.Out) error { return c.codec().Append(out, c.args) }

// AppendResponse encodes the result; for engines.
func (c *Call) AppendResponse(out *buf.Out) error { return c.codec().Append(out, c.result) }

// DecodeResponse fills the result from body and returns the declared exception
// that it holds, if any; for engines. What an earlier attempt left is cleared
// first.
func (c *Call) DecodeResponse(body buf.View, lim *Limits) (declared, err error) {
	if c.answered {
		clearMessage(c.result)
	}
	c.answered = true
	if err := c.codec().Decode(body, c.result, lim); err != nil {
		return nil, err
	}
	if c.Method.Raise == nil {
		return nil, nil
	}
	return c.Method.Raise(c.result), nil
}

// Fork makes a second attempt at the same call that may run beside c: it
// shares the arguments and has a result and metadata of its own. Adopt takes
// the winner's over.
func (c *Call) Fork() *Call {
	f := &Call{Method: c.Method, Service: c.Service, Asked: c.Asked, Header: c.Header.Clone(), Attempt: c.Attempt, args: c.args}
	f.result = reflect.New(reflect.TypeOf(c.result).Elem()).Interface()
	return f
}

// Adopt makes the outcome of a fork of c, which has ended, c's own.
func (c *Call) Adopt(f *Call) {
	reflect.ValueOf(c.result).Elem().Set(reflect.ValueOf(f.result).Elem())
	c.Trailer, c.Peer, c.Attempt, c.answered = f.Trailer, f.Peer, f.Attempt, true
}

func clearMessage(msg any) { reflect.ValueOf(msg).Elem().SetZero() }

// Begin makes a server's call the context of its handler: values come from
// parent, deadline and end from the call. The zero deadline is none. For
// engines; the context is valid until End and readable for ever.
func (c *Call) Begin(parent context.Context, deadline time.Time) context.Context {
	l := &c.served().life
	l.parent, l.deadline = parent, deadline
	return (*callContext)(c)
}

// End ends the context of a server's call with context.Canceled or
// context.DeadlineExceeded. Only the first call counts. For engines.
func (c *Call) End(err error) { c.served().life.end(err) }

// FromContext finds the call that is being handled under ctx: the one whose
// handler was given ctx or an ancestor of it. It is nil outside of a handler.
func FromContext(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}
