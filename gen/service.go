package gen

import (
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

func (e *emitter) service(s *idl.Service) {
	for _, m := range s.Methods {
		if streams(m) {
			e.checkStream(s, m)
		}
	}
	if len(e.g.errs) > 0 {
		return
	}
	if s.Parent != nil || len(s.Methods) > 0 {
		e.use("context")
	}
	e.use("rpc")
	e.face(s)
	for _, m := range s.Methods {
		e.messages(s, m)
	}
	e.server(s)
	e.client(s)
	for _, m := range s.Methods {
		e.call(s, m)
	}
	e.unimplemented(s)
	e.only(s)
}

// face writes the interface that both sides have.
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

func (e *emitter) signature(m *idl.Method) string {
	if streams(m) {
		return e.streamSignature(m)
	}
	var b strings.Builder
	b.WriteString("(ctx context.Context")
	for _, f := range m.Args {
		b.WriteString(", " + e.name(f, "param") + " " + e.typ(f.Type))
	}
	if m.Result == nil {
		return b.String() + ") error"
	}
	return b.String() + ") (" + e.typ(m.Result) + ", error)"
}

// resultName is the type of a method's result; void and oneway methods that
// declare no exception need none of their own.
func (e *emitter) resultName(m *idl.Method) string {
	if m.Result == nil && len(m.Throws) == 0 {
		return "struct{}"
	}
	return e.name(m, "result")
}

// messages writes a method's arguments, result and description.
func (e *emitter) messages(s *idl.Service, m *idl.Method) {
	e.use("stub")
	if streams(m) {
		e.streamMethod(s, m)
		return
	}
	e.fields(e.name(m, "args"), m.Args)
	if hasDefaults(m.Args) {
		e.setDefaults(e.name(m, "args"), m.Args)
	}
	e.outerCodec(e.name(m, "args"), e.members(m.Args), defaultsOf(m.Args))
	if e.resultName(m) != "struct{}" {
		e.result(m)
	}
	e.p("var %s = rpc.Method{", e.name(m, "var"))
	e.p("Service: %q, Name: %q, Codec: %s.Binary{},", s.Name, m.Name, e.use("thrift"))
	if m.Oneway {
		e.p("Kind: rpc.Oneway,")
	}
	if again, ok := m.Annotations.Find("idempotent"); ok && again != "false" {
		e.p("Idempotent: true,")
	}
	e.p("New: stub.New[%s, %s],", e.name(m, "args"), e.resultName(m))
	if len(m.Throws) > 0 {
		e.p("Except: func(result any, err error) bool {\nr := result.(*%s)", e.name(m, "result"))
		tests := make([]string, len(m.Throws))
		for i, x := range m.Throws {
			tests[i] = e.use("errors") + ".As(err, &r." + e.name(x, "") + ") && r." + e.name(x, "") + " != nil"
		}
		e.p("return %s\n},", strings.Join(tests, " || "))
	}
	e.raise(m)
	e.p("}\n")
}

// raise writes what makes an error of a result.
func (e *emitter) raise(m *idl.Method) {
	noResult := "nil"
	if m.Result != nil {
		noResult = e.use("thrift") + ".NoResult"
	}
	switch {
	case len(m.Throws) > 0:
		e.p("Raise: func(result any) error {\nswitch r := result.(*%s); {", e.name(m, "result"))
		for _, x := range m.Throws {
			e.p("case r.%s != nil:\nreturn r.%[1]s", e.name(x, ""))
		}
		if m.Result != nil {
			noResult += "(result)"
		}
		e.p("}\nreturn %s\n},", noResult)
	case m.Result != nil:
		e.p("Raise: %s,", noResult)
	}
}

// result writes a method's result: its value, else one of its exceptions.
func (e *emitter) result(m *idl.Method) {
	var lines []string
	var ms []member
	if m.Result != nil {
		ms = append(ms, member{name: "Success", need: idl.Optional, t: m.Result.True(), view: e.g.lazy[m.Result]})
		star := ""
		if isScalar(m.Result) {
			star = "*"
		}
		lines = append(lines, "Success "+star+e.typ(m.Result)+" `thrift:\"success,0,optional\"`")
	}
	for _, x := range m.Throws {
		y := *x
		y.Presence = idl.Optional
		ms = append(ms, e.members([]*idl.Field{&y})...)
		ms[len(ms)-1].name = e.name(x, "")
		lines = append(lines, e.name(x, "")+" "+e.typ(x.Type)+" "+tag(&y))
	}
	if len(lines) == 1 {
		e.p("type %s struct { %s }\n", e.name(m, "result"), lines[0])
	} else {
		e.p("type %s struct {\n%s\n}\n", e.name(m, "result"), strings.Join(lines, "\n"))
	}
	e.outerCodec(e.name(m, "result"), ms, noDefaults)
}

// server writes the function that binds an implementation to the methods.
func (e *emitter) server(s *idl.Service) {
	name := e.name(s, "service")
	e.p("// %s makes a service of an implementation.", name)
	e.p("func %s(impl %s) rpc.Service {", name, e.name(s, ""))
	if s.Parent == nil {
		e.p("return rpc.Service{Name: %q, IDL: %s, Unbound: impl == nil, Methods: []rpc.Handler{", s.Name, e.idlOf())
	} else {
		e.p("return rpc.Service{Name: %q, IDL: %s, Unbound: impl == nil, Methods: append(%s(impl).Methods, []rpc.Handler{", s.Name, e.idlOf(),
			e.at(s.Parent.File, s.Parent, "service"))
	}
	for _, m := range s.Methods {
		e.p("{Method: &%s, Serve: func(ctx context.Context, c *rpc.Call) error {", e.name(m, "var"))
		e.body(m)
		e.p("}},")
	}
	if s.Parent == nil {
		e.p("}}\n}\n")
	} else {
		e.p("}...)}\n}\n")
	}
}

// idlOf is an expression for the text of this file and all that it includes.
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

func (e *emitter) body(m *idl.Method) {
	e.use("stub")
	if streams(m) {
		e.streamBody(m)
		return
	}
	args := "args"
	if len(m.Args) == 0 {
		args = "_"
	}
	if args == "_" {
		e.p("if _, err := stub.Args[%s](c); err != nil {\nreturn err\n}", e.name(m, "args"))
	} else {
		e.p("args, err := stub.Args[%s](c)\nif err != nil {\nreturn err\n}", e.name(m, "args"))
	}
	call := "impl." + e.name(m, "") + "(ctx"
	for _, f := range m.Args {
		call += ", args." + e.name(f, "")
	}
	call += ")"
	if m.Result == nil {
		e.p("return %s", call)
		return
	}
	e.p("res, err := %s\nif err != nil {\nreturn err\n}", call)
	if isContainer(m.Result) { // nil would be no result at all
		e.p("if res == nil {\nres = %s{}\n}", e.bare(m.Result))
	}
	value := "res"
	if isScalar(m.Result) {
		value = "&res"
	}
	e.p("stub.Result[%s](c).Success = %s\nreturn nil", e.name(m, "result"), value)
}

// client writes the client's type and how to make one.
func (e *emitter) client(s *idl.Service) {
	name, made, face := e.name(s, "client"), e.name(s, "new"), e.name(s, "")
	e.p("// %s calls a %s elsewhere.", name, face)
	if s.Parent == nil {
		e.p("type %s struct {\ncaller rpc.Caller\ndialed bool\n}\n", name)
		e.p("// %s makes a client that calls through c.", made)
		e.p("func %s(c rpc.Caller) *%s { return &%[2]s{caller: c} }\n", made, name)
	} else {
		parent := e.at(s.Parent.File, s.Parent, "client")
		caller := e.name(s, "caller")
		e.p("type %s struct {\n*%s\ncaller rpc.Caller\ndialed bool\n}\n", name, parent)
		e.p("// %s makes a client that calls through c.", made)
		e.p("func %s(c rpc.Caller) *%s {\nreturn &%[2]s{%s: %s(%s{c}), caller: c}\n}\n", made, name,
			parent[strings.LastIndexByte(parent, '.')+1:], e.at(s.Parent.File, s.Parent, "new"), caller)
		e.p("// %s sends inherited methods to %s.", caller, s.Name)
		e.p("type %s struct{ rpc.Caller }\n", caller)
		e.p("func (x %s) Do(ctx context.Context, c *rpc.Call) error {\nc.Service = %q\nreturn x.Caller.Do(ctx, c)\n}\n", caller, s.Name)
	}
	dial := e.name(s, "dial")
	e.p("// %s makes a client of the %s at target; it connects with the first call.", dial, face)
	e.p("func %s(target string) (*%s, error) {\nc, err := limosa.Dial(target)\nif err != nil {\nreturn nil, err\n}", dial, name)
	e.p("x := %s(c)\nx.dialed = true\nreturn x, nil\n}\n", made)
	e.p("// Close ends a client of %s; a caller that %s was given stays open.", dial, made)
	e.p("func (c *%s) Close() error {\nif !c.dialed {\nreturn nil\n}\nreturn c.caller.Close()\n}\n", name)
}

// call writes a client's method.
func (e *emitter) call(s *idl.Service, m *idl.Method) {
	e.use("stub")
	if why, ok := m.Annotations.Find("deprecated"); ok {
		e.doc("", idl.Annotations{{Key: "deprecated", Value: why}})
	}
	e.p("func (c *%s) %s%s {", e.name(s, "client"), e.name(m, ""), e.signature(m))
	if streams(m) {
		e.streamCall(s, m)
		return
	}
	e.p("x := stub.NewCall[%s, %s](&%s, %q)", e.name(m, "args"), e.resultName(m), e.name(m, "var"), s.Name)
	for _, f := range m.Args {
		e.p("x.Args.%s = %s", e.name(f, ""), e.name(f, "param"))
	}
	if m.Result == nil {
		e.p("return c.caller.Do(ctx, &x.Call)\n}\n")
		return
	}
	if !isScalar(m.Result) {
		e.p("if err := c.caller.Do(ctx, &x.Call); err != nil {\nreturn nil, err\n}\nreturn x.Result.Success, nil\n}\n")
		return
	}
	// An interceptor may have left the result unset.
	e.p("if err := c.caller.Do(ctx, &x.Call); err != nil || x.Result.Success == nil {\nreturn %s, err\n}", e.zero(m.Result))
	e.p("return *x.Result.Success, nil\n}\n")
}

func (e *emitter) zero(t *idl.Type) string {
	switch t.True().Kind {
	case idl.Bool:
		return "false"
	case idl.String:
		return `""`
	case idl.UUID:
		return e.use("thrift") + ".UUID{}"
	}
	return "0"
}

// unimplemented writes an implementation that has no method, to be embedded by
// one that has some.
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

// only writes the short names, for a file with one service.
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
		e.p("// Dial is %s.\nfunc Dial(target string) (*%s, error) { return %[1]s(target) }\n", e.name(s, "dial"), e.name(s, "client"))
	}
}
