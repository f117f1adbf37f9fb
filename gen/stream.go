package gen

import (
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// A method with streams sends and receives the messages of the IDL, without structs
// around them, whatever the IDL is. On either side a stream is an iterator:
//
//	iter.Seq2[*T, error]     an error comes at most once, and last
//
// The functions of package rpc/stub join iterators and calls: First, Arriving, SendAll and
// SendLast on a server, Incoming, Gather and Exchange on a client.

// streams tells methods with a stream in either direction.
func streams(m *idl.Method) bool { return m.ClientStream || m.ServerStream }

// streamMessages gives the types of a method's messages without their stars.
func (e *emitter) streamMessages(m *idl.Method) (in, out string) {
	return e.bare(m.Args[0].Type), e.bare(m.Result)
}

// streamTypes gives the type of the argument of a method with streams, and its
// results: a message, or an iterator of messages.
func (e *emitter) streamTypes(m *idl.Method) (arg, results string) {
	in, out := e.streamMessages(m)
	arg, results = "*"+in, "(*"+out+", error)"
	if m.ClientStream {
		arg = e.use("iter") + ".Seq2[*" + in + ", error]"
	}
	if m.ServerStream {
		results = e.use("iter") + ".Seq2[*" + out + ", error]"
	}
	return arg, results
}

// streamParam names the argument of a method with streams. Its functions name
// the types of their messages, whose packages it must not hide.
func (e *emitter) streamParam(m *idl.Method) string {
	name := e.name(m.Args[0], "param")
	in, out := e.streamMessages(m)
	for strings.HasPrefix(in, name+".") || strings.HasPrefix(out, name+".") {
		name += "_"
	}
	return name
}

// streamMethod writes a method's description, into the file of codecs. It makes
// messages, not arguments and results.
func (e *emitter) streamMethod(s *idl.Service, m *idl.Method) {
	kind := "Bidi"
	switch {
	case !m.ClientStream:
		kind = "ServerStream"
	case !m.ServerStream:
		kind = "ClientStream"
	}
	e.described(s, m, "Kind: rpc."+kind+", ")
}

// described writes the description of a method whose messages are those of the IDL.
func (e *emitter) described(s *idl.Service, m *idl.Method, more string) {
	e.use("rpc")
	e.use("stub")
	in, out := e.streamMessages(m)
	e.p("var %s = rpc.Method{", e.name(m, "var"))
	e.p("Service: %q, Name: %q, Codec: %s, %sNew: stub.New[%s, %s],\n}\n", e.fullName(s), m.Name, e.back.wire(e), more, in, out)
}

// streamBody writes what a server does with a call c. A stream to the client runs the
// iterator that the method gives; one from the client is an iterator that it is given.
func (e *emitter) streamBody(m *idl.Method) {
	e.use("stub")
	in, _ := e.streamMessages(m)
	call := "impl." + e.name(m, "") + "(ctx, stub.Arriving[" + in + "](c))"
	switch {
	case !m.ClientStream:
		e.p("args, err := stub.First[%s](c)\nif err != nil {\nreturn err\n}", in)
		e.p("return stub.SendAll(c, impl.%s(ctx, args))", e.name(m, ""))
	case !m.ServerStream:
		e.p("res, err := %s\nreturn stub.SendLast(c, res, err)", call)
	default:
		e.p("return stub.SendAll(c, %s)", call)
	}
}

// streamCall writes what a client's method does. A method that gives an iterator begins
// the call when that is run, and leaving its loop cancels it; one that gives a single
// answer runs the iterator that it was given, on the goroutine of its caller.
func (e *emitter) streamCall(s *idl.Service, m *idl.Method) {
	e.use("stub")
	in, out := e.streamMessages(m)
	param := e.streamParam(m)
	switch {
	case !m.ClientStream:
		e.p("return stub.Incoming[%s](ctx, c.caller, stub.Make(&%s, %q, %s, nil))", out, e.name(m, "var"), e.fullName(s), param)
	case !m.ServerStream:
		e.p("return stub.Gather[%s, %s](ctx, c.caller, stub.Make(&%s, %q, nil, nil), %s)", in, out, e.name(m, "var"), e.fullName(s), param)
	default:
		e.p("return stub.Exchange[%s, %s](ctx, c.caller, stub.Make(&%s, %q, nil, nil), %s)", in, out, e.name(m, "var"), e.fullName(s), param)
	}
}
