package gen

import (
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// What becomes of a service, in the file of types:
//
//	type Hello interface { Echo(ctx, *Request) (*Response, error) … }   both sides
//	func HelloService(impl Hello) rpc.Service                           for a Server
//	type HelloClient struct; NewHelloClient, DialHello, Close           is a Hello
//	type UnimplementedHello struct                                      for who has some methods only
//	Service, NewClient, Dial, Unimplemented                             of a file's only service
//
// and in the file of codecs the descriptions, helloEcho and so on, with the types of
// their messages. A service that extends another one embeds the parent's interface,
// client and Unimplemented, and appends to its methods.

// service writes what a user sees of a service: the interface that both sides have,
// and how to make a server or a client of it.
func (e *emitter) service(s *idl.Service) {
	if s.Parent != nil || len(s.Methods) > 0 {
		e.use("context")
	}
	e.use("rpc")
	e.face(s)
	e.server(s)
	e.client(s)
	for _, m := range s.Methods {
		e.call(s, m)
	}
	e.unimplemented(s)
	e.only(s)
}

// messages writes what a service's methods send and receive.
func (e *emitter) messages(s *idl.Service) {
	for _, m := range s.Methods {
		if streams(m) {
			e.streamMethod(s, m)
		} else {
			e.back.messages(e, s, m)
		}
	}
}

// face writes the interface that both sides have: a client is an implementation too, so
// that one service can be put in front of another.
func (e *emitter) face(s *idl.Service) {
	e.doc(s.Doc, s.Annotations)
	e.p("type %s interface {", e.name(s, ""))
	if s.Parent != nil {
		e.p("%s", e.at(s.Parent.File, s.Parent, ""))
	}
	for _, m := range s.Methods {
		e.doc(m.Doc, m.Annotations)
		e.p("%s%s", e.name(m, ""), e.signature(m))
	}
	e.p("}\n")
}

// signature gives a method's parameters and results.
func (e *emitter) signature(m *idl.Method) string {
	params := []string{"ctx context.Context"}
	if streams(m) {
		in, out := e.streamTypes(m)
		return "(" + params[0] + ", " + e.streamParam(m) + " " + in + ") " + out
	}
	for _, f := range m.Args {
		params = append(params, e.name(f, "param")+" "+e.typ(f.Type))
	}
	return "(" + strings.Join(params, ", ") + ") " + e.results(m)
}

// results gives a method's results.
func (e *emitter) results(m *idl.Method) string {
	if m.Result == nil {
		return "error"
	}
	return "(" + e.typ(m.Result) + ", error)"
}

// server writes the function that binds an implementation to the methods: a closure for
// each, whose body is the backend's, or that of a stream.
func (e *emitter) server(s *idl.Service) {
	name := e.name(s, "service")
	e.p("// %s makes a service of an implementation.", name)
	e.p("func %s(impl %s) rpc.Service {", name, e.name(s, ""))
	if s.Parent == nil {
		e.p("return rpc.Service{Name: %q, IDL: %s, Unbound: impl == nil, Methods: []rpc.Handler{", e.fullName(s), e.idlOf())
	} else {
		e.p("return rpc.Service{Name: %q, IDL: %s, Unbound: impl == nil, Methods: append(%s(impl).Methods, []rpc.Handler{", e.fullName(s), e.idlOf(),
			e.at(s.Parent.File, s.Parent, "service"))
	}
	for _, m := range s.Methods {
		e.p("{Method: &%s, Serve: func(ctx context.Context, c *rpc.Call) error {", e.name(m, "var"))
		if streams(m) {
			e.streamBody(m)
		} else {
			e.back.serve(e, m)
		}
		e.p("}},")
	}
	if s.Parent == nil {
		e.p("}}\n}\n")
	} else {
		e.p("}...)}\n}\n")
	}
}

// fullName is what a definition is called on the wire: its name, behind the package that
// its IDL gives it.
func fullName(f *idl.File, name string) string {
	if f.Package == "" {
		return name
	}
	return f.Package + "." + name
}

// fullName is what a service is called on the wire.
func (e *emitter) fullName(s *idl.Service) string { return fullName(s.File, s.Name) }

// idlOf is an expression for the text of this file and all that it includes, each once:
// what a tool needs to call the service.
func (e *emitter) idlOf() string {
	parts := []string{e.name(e.f.File, "idl") + "()"}
	seen := map[*idl.File]bool{e.f.File: true}
	var walk func(f *idl.File)
	walk = func(f *idl.File) {
		for _, inc := range f.Includes {
			if !seen[inc.File] {
				seen[inc.File] = true
				parts = append(parts, e.at(inc.File, inc.File, "idl")+"()")
				walk(inc.File)
			}
		}
	}
	walk(e.f.File)
	return strings.Join(parts, " + ")
}

// client writes the client's type and how to make one. A client that Dial has made
// owns its caller, one that was made over a caller does not: several clients may
// share it, so that Close must not end the others' calls.
func (e *emitter) client(s *idl.Service) {
	name, made, face := e.name(s, "client"), e.name(s, "new"), e.name(s, "")
	e.p("// %s calls a %s elsewhere.", name, face)
	if s.Parent == nil {
		e.p("type %s struct{ caller, dialed rpc.Caller }\n", name)
		e.p("// %s makes a client that calls through c; whoever made c closes it.", made)
		e.p("func %s(c rpc.Caller) *%s { return &%[2]s{caller: c} }\n", made, name)
	} else {
		e.inheritedClient(s)
	}
	e.p("// Close closes what %s has opened. It does not close what %s was given.", e.name(s, "dial"), made)
	e.p("func (c *%s) Close() error {\nif c.dialed == nil {\nreturn nil\n}\nreturn c.dialed.Close()\n}\n", name)
	e.p("// %s makes a client of the %s at target; it connects with the first call.", e.name(s, "dial"), face)
	e.p("func %s(target string, opts ...limosa.DialOption) (*%s, error) {\nc, err := limosa.Dial(target, opts...)\nif err != nil {\nreturn nil, err\n}", e.name(s, "dial"), name)
	if s.Parent == nil {
		e.p("return &%s{caller: c, dialed: c}, nil\n}\n", name)
	} else {
		e.p("x := %s(c)\nx.dialed = c\nreturn x, nil\n}\n", made)
	}
}

// inheritedClient writes the client of a service that extends another one: it has
// the parent's, made over a caller that sets the name of this service, under which
// the server knows inherited methods too.
func (e *emitter) inheritedClient(s *idl.Service) {
	name, made, caller := e.name(s, "client"), e.name(s, "new"), e.name(s, "caller")
	parent := e.at(s.Parent.File, s.Parent, "client")
	e.p("type %s struct {\n*%s\ncaller, dialed rpc.Caller\n}\n", name, parent)
	e.p("// %s makes a client that calls through c; whoever made c closes it.", made)
	e.p("func %s(c rpc.Caller) *%s {\nreturn &%[2]s{%s: %s(%s{c}), caller: c}\n}\n", made, name,
		parent[strings.LastIndexByte(parent, '.')+1:], e.at(s.Parent.File, s.Parent, "new"), caller)
	e.p("// %s sends inherited methods to %s.", caller, s.Name)
	e.p("type %s struct{ rpc.Caller }\n", caller)
	e.p("func (x %s) Do(ctx context.Context, c *rpc.Call) error {\nc.Service = %q\nreturn x.Caller.Do(ctx, c)\n}\n", caller, e.fullName(s))
}

// call writes a client's method. Its documentation is the interface's; that it is
// deprecated is said where it is called.
func (e *emitter) call(s *idl.Service, m *idl.Method) {
	e.deprecated(m.Annotations)
	e.p("func (c *%s) %s%s {", e.name(s, "client"), e.name(m, ""), e.signature(m))
	if streams(m) {
		e.streamCall(s, m)
	} else {
		e.back.call(e, s, m)
	}
	e.p("}\n")
}

// unimplemented writes an implementation that has no method, to be embedded by
// one that has some. Nobody has to: a method that the IDL gets anew is then an error of
// the compiler, which most want.
func (e *emitter) unimplemented(s *idl.Service) {
	name := e.name(s, "unimplemented")
	e.p("// %s answers every method with rpc.Unimplemented. Nothing needs to embed it.", name)
	if s.Parent == nil {
		e.p("type %s struct{}\n", name)
	} else {
		e.p("type %s struct{ %s }\n", name, e.at(s.Parent.File, s.Parent, "unimplemented"))
	}
	for _, m := range s.Methods {
		value := "rpc.Unimplemented"
		switch {
		case m.ServerStream:
			value = e.use("stub") + ".Failed[" + e.bare(m.Result) + "](" + value + ")"
		case m.Result != nil && isScalar(m.Result):
			value = e.zero(m.Result) + ", " + value
		case m.Result != nil:
			value = "nil, " + value
		}
		e.p("func (%s) %s%s { return %s }", name, e.name(m, ""), e.signature(m), value)
	}
	e.p("")
}

// only writes the short names, for a file with one service: hello.Service(impl) reads
// better than hello.HelloService(impl). A name that the IDL itself uses is left out.
func (e *emitter) only(s *idl.Service) {
	if e.g.only(e.f) != s {
		return
	}
	if name := e.name(s, "only Service"); name != "" {
		e.p("// Service is %s.\nfunc Service(impl %s) rpc.Service { return %[1]s(impl) }\n", e.name(s, "service"), e.name(s, ""))
	}
	if name := e.name(s, "only NewClient"); name != "" {
		e.p("// NewClient is %s.\nfunc NewClient(c rpc.Caller) *%s { return %[1]s(c) }\n", e.name(s, "new"), e.name(s, "client"))
	}
	if name := e.name(s, "only Unimplemented"); name != "" {
		e.p("// Unimplemented is %s.\ntype Unimplemented = %[1]s\n", e.name(s, "unimplemented"))
	}
	if name := e.name(s, "only Dial"); name != "" {
		e.p("// Dial is %s.\nfunc Dial(target string, opts ...limosa.DialOption) (*%s, error) { return %[1]s(target, opts...) }\n", e.name(s, "dial"), e.name(s, "client"))
	}
}
