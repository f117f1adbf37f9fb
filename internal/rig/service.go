// Package rig is what tests of the upper rooms share: a service with a text codec,
// servers and clients over sockets and over a simulated network.
//
// Everything here takes a *testing.T and ends with it: who starts a server need not stop
// it, and a server that does not end well fails the test. What runs over simnet belongs
// into a bubble of testing/synctest, where a wait costs nothing and an order is the same
// each time; what needs the kernel (TLS in the end, unix credentials, resets) uses Start.
package rig

import (
	"context"
	"fmt"
	"iter"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// Text is a codec for the tests: a message is a *string, framed as a Thrift
// struct with one string field, so that bare messages can be told apart: where nothing
// says how long a message is, ttheader finds its end by walking the fields. Tests of the
// engine need no generated code that way, and see at once what a message holds.
type Text struct{}

// Append implements [rpc.Codec].
func (Text) Append(out *buf.Out, msg any) error {
	s := *msg.(*string)
	out.Append([]byte{11, 0, 1, byte(len(s) >> 24), byte(len(s) >> 16), byte(len(s) >> 8), byte(len(s))})
	out.AppendString(s)
	out.Append([]byte{0})
	return nil
}

// Decode implements [rpc.Codec].
func (Text) Decode(body buf.View, msg any, _ *rpc.Limits) error {
	p := body.Bytes()
	if len(p) < 8 || p[0] != 11 {
		return rpc.Errorf(rpc.InvalidArgument, "offset 0: not a text")
	}
	*msg.(*string) = string(p[7 : len(p)-1])
	return nil
}

// The methods of Service and Streams.
var (
	Echo = &rpc.Method{Service: "Test", Name: "echo", Codec: Text{}, New: stub.New[string, string]}
	Wait = &rpc.Method{Service: "Test", Name: "wait", Codec: Text{}, New: stub.New[string, string]}
	Head = &rpc.Method{Service: "Test", Name: "head", Codec: Text{}, New: stub.New[string, string]}

	Count = &rpc.Method{Service: "Test", Name: "count", Kind: rpc.ServerStream, Codec: Text{}, New: stub.New[string, string]}
	Join  = &rpc.Method{Service: "Test", Name: "join", Kind: rpc.ClientStream, Codec: Text{}, New: stub.New[string, string]}
	Chat  = &rpc.Method{Service: "Test", Name: "chat", Kind: rpc.Bidi, Codec: Text{}, New: stub.New[string, string]}
)

// Service answers echo with its argument, wait once the context ends, and head
// with the metadata that arrived, passing the call on to next if there is one.
func Service(next rpc.Caller) rpc.Service {
	bind := func(m *rpc.Method, f func(ctx context.Context, c *rpc.Call, arg string) (string, error)) rpc.Handler {
		return rpc.Handler{Method: m, Serve: func(ctx context.Context, c *rpc.Call) error {
			arg, err := stub.Args[string](c)
			if err != nil {
				return err
			}
			*stub.Result[string](c), err = f(ctx, c, *arg)
			return err
		}}
	}
	return rpc.Service{Name: "Test", Methods: []rpc.Handler{
		bind(Echo, func(_ context.Context, c *rpc.Call, arg string) (string, error) {
			c.Trailer.Add("served-by", "test")
			return arg, nil
		}),
		bind(Wait, func(ctx context.Context, _ *rpc.Call, _ string) (string, error) {
			<-ctx.Done() // as well behaved as a handler can be: it ends with its call
			return "", ctx.Err()
		}),
		bind(Head, func(ctx context.Context, c *rpc.Call, arg string) (string, error) {
			here := fmt.Sprintf("%s/%s", c.Header.Get("one-hop"), c.Header.Get("all-hops"))
			if next == nil {
				return here, nil
			}
			there, err := Call(ctx, next, Head, arg)
			return here + " " + there, err
		}),
	}}
}

// Call makes a call of a method that takes and returns a text, as a generated client
// would. The result is what arrived, also with an error.
func Call(ctx context.Context, c rpc.Caller, m *rpc.Method, arg string) (string, error) {
	x := stub.NewCall[string, string](m, "Test")
	x.Args = arg
	err := c.Do(ctx, &x.Call)
	return x.Result, err
}

// Streams serves count, which sends as many messages as it is asked for and
// then fails if that is more than 1,000; join, which answers with the number of
// bytes; chat, which answers each message, or passes everything on to next.
func Streams(next rpc.Caller) rpc.Service {
	count := func(_ context.Context, c *rpc.Call) error {
		arg, err := stub.First[string](c)
		if err != nil {
			return err
		}
		var n int
		fmt.Sscan(*arg, &n)
		return stub.SendAll(c, func(yield func(*string, error) bool) {
			for i := range min(n, 1000) {
				if !yield(new(fmt.Sprint("m", i)), nil) {
					return
				}
			}
			if n > 1000 {
				yield(nil, rpc.Errorf(rpc.OutOfRange, "no more than 1000"))
			}
		})
	}
	join := func(_ context.Context, c *rpc.Call) error {
		n := 0
		for s, err := range stub.Arriving[string](c) {
			if err != nil {
				return err
			}
			n += len(*s)
		}
		c.Trailer.Add("served-by", "join")
		return rpc.EngineOf(c).Stream().Send(new(fmt.Sprint(n)))
	}
	chat := func(ctx context.Context, c *rpc.Call) error {
		if next != nil {
			return stub.SendAll(c, Talk(ctx, next, stub.Arriving[string](c)))
		}
		return stub.SendAll(c, func(yield func(*string, error) bool) {
			for s, err := range stub.Arriving[string](c) {
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(new(*s+"!"), nil) {
					return
				}
			}
		})
	}
	return rpc.Service{Name: "Test", Methods: []rpc.Handler{
		{Method: Count, Serve: count}, {Method: Join, Serve: join}, {Method: Chat, Serve: chat},
		Service(nil).Methods[0],
	}}
}

// Tally calls Count for n messages. The call is made when the sequence is iterated.
func Tally(ctx context.Context, c rpc.Caller, n int) iter.Seq2[*string, error] {
	x := stub.NewCall[string, string](Count, "Test")
	x.Args = fmt.Sprint(n)
	return stub.Incoming[string](ctx, c, &x.Call)
}

// Talk calls Chat: for each message of in comes one back, with an exclamation mark.
func Talk(ctx context.Context, c rpc.Caller, in iter.Seq2[*string, error]) iter.Seq2[*string, error] {
	return stub.Exchange[string, string](ctx, c, &stub.NewCall[string, string](Chat, "Test").Call, in)
}

// Words is n messages, w0 and on, each a new one: a codec may keep what it is given.
func Words(n int) iter.Seq2[*string, error] {
	return func(yield func(*string, error) bool) {
		for i := range n {
			if !yield(new(fmt.Sprint("w", i)), nil) {
				return
			}
		}
	}
}

// One is a service with one method, for tests whose handler is their point. The method
// is a new one each time: what the engine has learnt of another, such as its cost and the
// size of its messages, is not this one's.
func One(name string, f func(ctx context.Context, c *rpc.Call) error) (rpc.Service, *rpc.Method) {
	m := &rpc.Method{Service: "One", Name: name, Codec: Text{}, New: stub.New[string, string]}
	return rpc.Service{Name: "One", Methods: []rpc.Handler{{Method: m, Serve: f}}}, m
}
