package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// An Engine is a call as engines, protocols and generated code see it: what
// makes the call happen, which no handler and no interceptor needs. It is a
// pointer, and costs nothing.
type Engine struct{ c *Call }

// EngineOf gives the engine's view of c.
func EngineOf(c *Call) Engine { return Engine{c} }

// SetMessages makes args and result, two pointers, the messages of a client's
// call.
func (e Engine) SetMessages(args, result any) { e.c.args, e.c.result = args, result }

// Args gives the message that the call was made with, a pointer: for a Thrift method
// the struct of its arguments. It decodes as [Call.Request] does.
func (e Engine) Args() (any, error) { return e.c.request() }

// Result gives the message that holds the answer, a pointer: for a Thrift method a
// struct with a field for what it returns and for each exception.
func (e Engine) Result() any { return e.c.result }

// SetPeer has p tell who the caller of a server's call is.
func (e Engine) SetPeer(p Identifier) { e.c.served().from = p }

// Refuse makes a server's call one that is not served: Request gives err.
func (e Engine) Refuse(err error) {
	l := &e.c.served().lazy
	l.state, l.err = bodyFailed, err
}

// SetHolder has h told what the request takes, before the handler runs.
func (e Engine) SetHolder(h Holder) { e.c.served().lazy.holder = h }

// SetBody gives a server's call the bytes of its request. The call owns v until
// Release.
func (e Engine) SetBody(v buf.View, lim *Limits) {
	l := &e.c.served().lazy
	l.state, l.body, l.lim = bodyWaiting, v, lim
}

// SetEncoding says how the bodies of the call are written from now on, before
// they are encoded or decoded.
func (e Engine) SetEncoding(to Encoding) { e.c.encoding = to }

// Codec is that of the call's messages, in its encoding.
func (e Engine) Codec() Codec { return e.c.codec() }

// Release gives the bytes of the request back, once the handler has returned.
func (e Engine) Release() {
	l := &e.c.served().lazy
	l.Lock()
	defer l.Unlock()
	if l.state == bodyWaiting {
		l.state = bodyGone
	}
	l.body.Release()
	l.body = buf.View{}
}

// AppendRequest encodes the arguments.
func (e Engine) AppendRequest(out *buf.Out) error {
	err := e.c.codec().Append(out, e.c.args)
	if err != nil { // who calls with nil is told that, whatever the codec says of it
		err = cmp.Or(e.NilMessage("encode"), err)
	}
	return err
}

// NilMessage is the error of a call that was made with a message that is a nil pointer, for op.
func (e Engine) NilMessage(op string) error {
	if v := reflect.ValueOf(e.c.args); v.Kind() != reflect.Pointer || !v.IsNil() {
		return nil
	}
	return &Error{Code: InvalidArgument, Op: op, Msg: fmt.Sprintf("the message of %v is nil", e.c.Method), Sent: NotSent}
}

// AppendResponse encodes the result.
func (e Engine) AppendResponse(out *buf.Out) error { return e.c.codec().Append(out, e.c.result) }

// DecodeResponse fills the result from body and returns the declared exception
// that it holds, if any. What an earlier attempt left is cleared first.
func (e Engine) DecodeResponse(body buf.View, lim *Limits) (declared, err error) {
	if e.c.answered {
		clearMessage(e.c.result)
	}
	e.c.answered = true
	if err := e.c.codec().Decode(body, e.c.result, lim); err != nil {
		return nil, err
	}
	if e.c.Method.Raise == nil {
		return nil, nil
	}
	return e.c.Method.Raise(e.c.result), nil
}

// Fork makes a second attempt at the same call that may run beside c: it
// shares the arguments and has a result and metadata of its own. Adopt takes
// the winner's over.
func (e Engine) Fork() *Call {
	f := &Call{Method: e.c.Method, Service: e.c.Service, Asked: e.c.Asked, Header: e.c.Header.Clone(), Attempt: e.c.Attempt, args: e.c.args}
	f.result = reflect.New(reflect.TypeOf(e.c.result).Elem()).Interface()
	return f
}

// Adopt makes the outcome of a fork of c, which has ended, c's own.
func (e Engine) Adopt(f *Call) {
	reflect.ValueOf(e.c.result).Elem().Set(reflect.ValueOf(f.result).Elem())
	e.c.Trailer, e.c.Peer, e.c.Attempt, e.c.answered = f.Trailer, f.Peer, f.Attempt, true
}

// clearMessage makes the message that msg points to zero.
func clearMessage(msg any) { reflect.ValueOf(msg).Elem().SetZero() }

// Begin makes a server's call the context of its handler: values come from
// parent, deadline and end from the call. The zero deadline is none. The
// context is valid until End and readable for ever.
func (e Engine) Begin(parent context.Context, deadline time.Time) context.Context {
	l := &e.c.served().life
	l.parent, l.deadline = parent, deadline
	return (*callContext)(e.c)
}

// End ends the context of a server's call with context.Canceled or
// context.DeadlineExceeded. Only the first call counts.
func (e Engine) End(err error) { e.c.served().life.end(err) }

// nearDeadline is how much earlier than a call's own clock its caller's may say that the
// deadline is over: of the way of the request, which is not part of the timeout that is
// sent with it, and of the way that the caller's word takes, the first may be longer.
const nearDeadline = 5 * time.Millisecond

// GiveUp ends the context of a server's call because its caller has given it up, or is
// gone: with context.DeadlineExceeded at its deadline, or just before, since that is
// why a caller gives up then; else with context.Canceled. Only the first end counts.
// The deadline is the one given to Begin, which may run meanwhile.
func (e Engine) GiveUp(deadline time.Time) {
	why := context.Canceled
	if !deadline.IsZero() && time.Until(deadline) <= nearDeadline {
		why = context.DeadlineExceeded
	}
	e.c.served().life.end(why)
}

// Context is the one that Begin gave the handler of a server's call.
func (e Engine) Context() context.Context { return (*callContext)(e.c) }

// SetStream gives a server's call its stream, before the handler runs.
func (e Engine) SetStream(s Stream) { e.c.streaming().stream = s }

// Stream is the server's side of a call of several messages, hooks included.
// It is valid until the handler returns.
func (e Engine) Stream() Stream { return e.c.hooked(e.c.streaming().stream) }

// SetDrive has Drive call f with the stream of a client's call.
func (e Engine) SetDrive(f func(ctx context.Context, s Stream) error) { e.c.streaming().drive = f }

// Drive does with the open stream of a client's call what the call was made
// for. It returns when that is done: nil after the last message,
// ErrStopped if the caller has seen enough. A call is driven once: what its
// caller had to send is used up then.
func (e Engine) Drive(ctx context.Context, s Stream) error {
	switch {
	case e.c.several == nil || e.c.several.drive == nil:
		return Errorf(Internal, "%v is a call of several messages", e.c.Method)
	case e.c.several.driven:
		return Errorf(FailedPrecondition, "an earlier attempt at %v has used its messages up", e.c.Method)
	}
	e.c.several.driven = true
	return e.c.several.drive(ctx, e.c.hooked(s))
}

// Driven reports whether Drive was called: messages of the caller's may have
// been used up then, so that an engine does not try the call again.
func (e Engine) Driven() bool { return e.c.several != nil && e.c.several.driven }

// ErrStopped is what Drive returns when the caller wants no more messages: the
// call is given up, and that is no failure.
var ErrStopped = errors.New("rpc: the caller has seen enough")

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

// An Identifier knows who a caller is, such as a connection.
type Identifier interface {
	// PeerInfo is called by handlers, at any time.
	PeerInfo() PeerInfo
}
