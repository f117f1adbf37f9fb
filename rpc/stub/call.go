// Package stub is what generated code and tools make calls of: a client's call
// together with its messages, a server's call that holds them, and the sequences
// that streams are. No other code needs it.
//
// It has the shapes that a generator would otherwise repeat in each file, with the types
// as parameters: New, Args and Result for a server's method, NewCall for a client's, and
// for streams a pair for each kind, the client's half (Incoming, Gather, Exchange) and the
// server's (First and SendAll, Arriving and SendLast, Arriving and SendAll). What is
// generated stays small, and a mend here needs no generator to be run again.
package stub

import (
	"fmt"
	"iter"

	"github.com/limosa-rpc/limosa/rpc"
)

// Typed is a Call together with its arguments and result: one allocation for
// a call. Generated code names its instances.
//
// A client's call is made once: its messages are the caller's before and after Do, and
// the engine's meanwhile.
type Typed[A, R any] struct {
	rpc.Call
	Args   A
	Result R
}

// NewCall makes a client's call of m. service is the name that the target
// knows the method under.
func NewCall[A, R any](m *rpc.Method, service string) *Typed[A, R] {
	x := &Typed[A, R]{Call: rpc.Call{Method: m, Service: service}}
	rpc.EngineOf(&x.Call).SetMessages(&x.Args, &x.Result)
	return x
}

// New makes a server's call; it is what [rpc.Method].New points to.
//
// One allocation here as well, with what only a server's call has.
func New[A, R any]() *rpc.Call {
	x := new(struct {
		rpc.ServerCall
		Args   A
		Result R
	})
	return x.Init(&x.Args, &x.Result)
}

// Make makes a client's call from messages that were made elsewhere, for
// tools that know the types only at run time. Both are pointers.
func Make(m *rpc.Method, service string, args, result any) *rpc.Call {
	c := &rpc.Call{Method: m, Service: service}
	rpc.EngineOf(c).SetMessages(args, result)
	return c
}

// Args gives the arguments of a server's call, decoded. It is what a
// generated method body begins with.
//
// It may be called any number of times and gives the same message: the body is decoded at
// the first. An error is what the peer has sent wrong, by its code, or rpc.Internal if
// the handler asks for another type than the method's.
func Args[A any](c *rpc.Call) (*A, error) {
	msg, err := rpc.EngineOf(c).Args()
	if err != nil {
		return nil, err
	}
	a, ok := msg.(*A)
	if !ok {
		return nil, &rpc.Error{Code: rpc.Internal, Op: "arguments", Err: fmt.Errorf("call of %v holds %T", c.Method, msg)}
	}
	return a, nil
}

// Missing is the error of a call whose arguments cannot be decoded, which err says, or that has
// come without a struct argument that is not optional: the handler would be given nil.
// Generated code looks for both before it calls the handler.
func Missing(c *rpc.Call, err error, argument string) error {
	if err != nil {
		return err
	}
	return &rpc.Error{Code: rpc.InvalidArgument, Op: "arguments", Msg: fmt.Sprintf("the argument %s of %s is missing", argument, c.Method)}
}

// Result gives the place for a server call's result. It panics if the call
// was made for another type, which generated code rules out.
func Result[R any](c *rpc.Call) *R { return rpc.EngineOf(c).Result().(*R) }

// Failed is a sequence that consists of err.
//
// It is for calls that cannot even be begun, whose caller has a loop to be told in.
func Failed[R any](err error) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) { yield(nil, err) }
}
