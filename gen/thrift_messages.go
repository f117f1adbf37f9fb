package gen

import (
	"fmt"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// A call without streams sends one struct, the arguments, and gets one struct
// back: the value in field 0, or one of the declared exceptions in a field with
// its id. Both are types that nobody but the generated code sees:
//
//	type helloFindArgs   struct { How int32 `thrift:"how,1"` }
//	type helloFindResult struct {
//		Success *Point    `thrift:"success,0,optional"`
//		Missing *NotFound `thrift:"missing,1,optional"`
//	}
//
// The description, an rpc.Method, tells the engine how to make them, how a declared
// exception gets into a result (Except) and out of it (Raise):
//
//	var helloFind = rpc.Method{
//		Service: "Hello", Name: "find", Codec: thrift.Binary{}, New: stub.New[helloFindArgs, helloFindResult],
//		Except: func(result any, err error) bool { … }     err, as one of the result's fields
//		Raise: func(result any) error { … }                the one that is set, or that nothing is
//	}
//
// A client makes call, arguments and result as one object, its one allocation beside
// what the caller has made:
//
//	x := stub.NewCall[helloFindArgs, helloFindResult](&helloFind, "Hello")
//	x.Args.How = how
//	if err := c.caller.Do(ctx, &x.Call); err != nil { … }
//	return x.Result.Success, nil

// resultName is the type of a method's result; void and oneway methods that
// declare no exception need none of their own. An empty answer is read into it too.
func (e thriftEmitter) resultName(m *idl.Method) string {
	if m.Result == nil && len(m.Throws) == 0 {
		return "struct{}"
	}
	return e.name(m, "result")
}

// messages writes a method's arguments, result and description. The names in the
// description are those of the wire: the IDL's. Idempotent lets a client send a call
// again although the server may have seen it.
func (e thriftEmitter) messages(s *idl.Service, m *idl.Method) {
	e.use("rpc")
	e.use("stub")
	e.arguments(m)
	if e.resultName(m) != "struct{}" {
		e.result(m)
	}
	line := fmt.Sprintf("Service: %q, Name: %q, Codec: %s, ", s.Name, m.Name, e.back.wire(e.emitter))
	if m.Oneway {
		line += "Kind: rpc.Oneway, "
	}
	if again, ok := m.Annotations.Find("idempotent"); ok && again != "false" {
		line += "Idempotent: true, "
	}
	if reads, ok := m.Annotations.Find("no_side_effects"); ok && reads != "false" {
		line += "ReadOnly: true, "
	}
	line += fmt.Sprintf("New: stub.New[%s, %s],", e.name(m, "args"), e.resultName(m))
	if len(m.Throws) == 0 && m.Result != nil {
		line += " Raise: " + e.use("impl") + ".NoResult,"
	}
	e.p("var %s = rpc.Method{\n%s", e.name(m, "var"), line)
	if len(m.Throws) > 0 {
		e.exceptions(m)
	}
	e.p("}\n")
}

// exceptions writes how a declared exception gets into a result, and what makes an
// error of a result: its exception, else that a value is missing.
func (e thriftEmitter) exceptions(m *idl.Method) {
	e.p("Except: func(result any, err error) bool {\nr := result.(*%s)", e.name(m, "result"))
	tests := make([]string, len(m.Throws))
	for i, x := range m.Throws {
		tests[i] = e.use("errors") + ".As(err, &r." + e.name(x, "") + ") && r." + e.name(x, "") + " != nil"
	}
	e.p("return %s\n},", strings.Join(tests, " || "))
	e.p("Raise: func(result any) error {\nswitch r := result.(*%s); {", e.name(m, "result"))
	for _, x := range m.Throws {
		e.p("case r.%s != nil:\nreturn r.%[1]s", e.name(x, ""))
	}
	noResult := "nil"
	if m.Result != nil {
		noResult = e.use("impl") + ".NoResult(result)"
	}
	e.p("}\nreturn %s\n},", noResult)
}

// arguments writes the struct of a method's arguments. Their defaults count when a
// caller has left an argument out; Go's callers cannot.
func (e thriftEmitter) arguments(m *idl.Method) {
	name, lines := e.name(m, "args"), make([]string, len(m.Args))
	for i, f := range m.Args {
		lines[i] = e.name(f, "") + " " + e.fieldType(f) + " `" + e.back.tag(f) + "`"
	}
	e.message(name, lines)
	if hasDefaults(m.Args) {
		e.setDefaults(name, m.Args)
	}
	e.outerCodec(name, e.members(m.Args), defaultsOf(m.Args))
}

// message writes a struct that is not exported. No blank line follows: what belongs
// to a method stands together.
func (e thriftEmitter) message(name string, lines []string) {
	if len(lines) == 0 {
		e.p("type %s struct{}", name)
		return
	}
	e.p("type %s struct {\n%s\n}", name, strings.Join(lines, "\n"))
}

// result writes a method's result: its value, else one of its exceptions. All
// of its fields are optional, whatever the IDL says: one of them is set.
func (e thriftEmitter) result(m *idl.Method) {
	var lines []string
	var ms []member
	if m.Result != nil {
		ms = append(ms, member{name: "Success", need: idl.Optional, t: m.Result.True(), view: e.views[m.Result]})
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
		lines = append(lines, e.name(x, "")+" "+e.typ(x.Type)+" `"+e.back.tag(&y)+"`")
	}
	e.message(e.name(m, "result"), lines)
	e.outerCodec(e.name(m, "result"), ms, noDefaults)
}

// serve writes the body of a server's method: decode, refuse a call without a struct that
// is an argument, call, put the result where
// the engine finds it. A container that is nil goes out as an empty one, since nothing
// at all is no result for the caller; a struct that is nil is just that.
func (e thriftEmitter) serve(m *idl.Method) {
	e.use("stub")
	if len(m.Args) == 0 {
		e.p("if _, err := stub.Args[%s](c); err != nil {\nreturn err\n}", e.name(m, "args"))
	} else {
		e.p("args, err := stub.Args[%s](c)", e.name(m, "args"))
		e.needed(m.Args)
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

// needed writes what refuses arguments that cannot be decoded, or that lack a struct which
// is not optional: a handler reads it without a look. The first look shares its lines
// with that at the error.
func (e thriftEmitter) needed(args []*idl.Field) {
	first := true
	for _, f := range args {
		if !isPointer(f.Type) || f.Presence == idl.Optional {
			continue
		}
		failed := ""
		if first {
			failed = "err != nil || "
		}
		first = false
		e.p("if %sargs.%s == nil {\nreturn stub.Missing(c, err, %q)\n}", failed, e.name(f, ""), f.Name)
	}
	if first {
		e.p("if err != nil {\nreturn err\n}")
	}
}

// call writes the body of a client's method. The call, its arguments and its
// result are one allocation.
func (e thriftEmitter) call(s *idl.Service, m *idl.Method) {
	e.use("stub")
	e.p("x := stub.NewCall[%s, %s](&%s, %q)", e.name(m, "args"), e.resultName(m), e.name(m, "var"), s.Name)
	for _, f := range m.Args {
		e.p("x.Args.%s = %s", e.name(f, ""), e.name(f, "param"))
	}
	if m.Result == nil {
		e.p("return c.caller.Do(ctx, &x.Call)")
		return
	}
	if !isScalar(m.Result) {
		e.p("if err := c.caller.Do(ctx, &x.Call); err != nil {\nreturn nil, err\n}\nreturn x.Result.Success, nil")
		return
	}
	// An interceptor may have left the result unset.
	e.p("if err := c.caller.Do(ctx, &x.Call); err != nil || x.Result.Success == nil {\nreturn %s, err\n}", e.zero(m.Result))
	e.p("return *x.Result.Success, nil")
}
