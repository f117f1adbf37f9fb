package gen

import (
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

func streams(m *idl.Method) bool { return m.ClientStream || m.ServerStream }

// checkStream refuses what has no form on the wire: a frame holds one struct
// and nothing else, and the end of a stream has no place for an exception.
func (e *emitter) checkStream(s *idl.Service, m *idl.Method) {
	isStruct := func(t *idl.Type) bool {
		t = t.True()
		return t.Kind == idl.StructRef && t.Struct.Kind != idl.Union
	}
	switch {
	case len(m.Args) != 1:
		e.g.errorf(e.f.File, m.StreamPos, "method %s.%s streams: it must have one argument", s.Name, m.Name)
	case !isStruct(m.Args[0].Type):
		e.g.errorf(e.f.File, m.Args[0].Pos, "method %s.%s streams: its argument must be a struct", s.Name, m.Name)
	case m.Result == nil || !isStruct(m.Result):
		e.g.errorf(e.f.File, m.Pos, "method %s.%s streams: its result must be a struct", s.Name, m.Name)
	case len(m.Throws) > 0:
		e.g.errorf(e.f.File, m.Throws[0].Pos, "method %s.%s streams: it cannot throw; the errors of a stream have codes", s.Name, m.Name)
	}
}

// streamTypes gives the types of a method's messages without their stars.
func (e *emitter) streamTypes(m *idl.Method) (in, out string) {
	return e.bare(m.Args[0].Type), e.bare(m.Result)
}

func (e *emitter) streamSignature(m *idl.Method) string {
	in, out := e.streamTypes(m)
	arg, result := "*"+in, "(*"+out+", error)"
	if m.ClientStream {
		arg = e.use("iter") + ".Seq2[*" + in + ", error]"
	}
	if m.ServerStream {
		result = e.use("iter") + ".Seq2[*" + out + ", error]"
	}
	return "(ctx context.Context, " + e.streamParam(m) + " " + arg + ") " + result
}

// streamParam names the argument of a method with streams. Its functions name
// the types of their messages, whose packages it must not hide.
func (e *emitter) streamParam(m *idl.Method) string {
	name := e.name(m.Args[0], "param")
	in, out := e.streamTypes(m)
	for strings.HasPrefix(in, name+".") || strings.HasPrefix(out, name+".") {
		name += "_"
	}
	return name
}

// streamMethod writes a method's description.
func (e *emitter) streamMethod(s *idl.Service, m *idl.Method) {
	e.use("stub")
	in, out := e.streamTypes(m)
	kind := "Bidi"
	switch {
	case !m.ClientStream:
		kind = "ServerStream"
	case !m.ServerStream:
		kind = "ClientStream"
	}
	e.p("var %s = rpc.Method{", e.name(m, "var"))
	e.p("Service: %q, Name: %q, Codec: %s.Binary{}, Kind: rpc.%s, New: stub.New[%s, %s],\n}\n", s.Name, m.Name, e.use("thrift"), kind, in, out)
}

// streamBody writes what a server does.
func (e *emitter) streamBody(m *idl.Method) {
	e.use("stub")
	in, _ := e.streamTypes(m)
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

// streamCall writes what a client's method does.
func (e *emitter) streamCall(s *idl.Service, m *idl.Method) {
	e.use("stub")
	in, out := e.streamTypes(m)
	param := e.streamParam(m)
	switch {
	case !m.ClientStream:
		e.p("return stub.Incoming[%s](ctx, c.caller, stub.Make(&%s, %q, %s, nil))\n}\n", out, e.name(m, "var"), s.Name, param)
	case !m.ServerStream:
		e.p("return stub.Gather[%s, %s](ctx, c.caller, stub.Make(&%s, %q, nil, nil), %s)\n}\n", in, out, e.name(m, "var"), s.Name, param)
	default:
		e.p("return stub.Exchange[%s, %s](ctx, c.caller, stub.Make(&%s, %q, nil, nil), %s)\n}\n", in, out, e.name(m, "var"), s.Name, param)
	}
}
