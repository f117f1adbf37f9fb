package gen

import (
	"github.com/limosa-rpc/limosa/idl"
)

// A view is a message that was not decoded: it has the bytes, and methods with the
// names of the struct's fields that find and read one when they are called. What is
// set stays beside the bytes until the view is encoded.
//
//	type LazyOrder struct {
//		_ [0]Order          ties the view to the struct whose plan it uses
//		thrift.Lazy         the bytes, where fields begin, what was set
//	}
//	func (x *LazyOrder) ID() string         { v, _ := impl.Getter{}.Text(&x.Lazy, 0); return v }
//	func (x *LazyOrder) SetID(v string)     { impl.LazySet(&x.Lazy, 0, v) }
//	func (x *LazyOrder) Plain() (*Order, error)
//
// The index is that of the field in the IDL, as everywhere between generated code and
// plan. docs/how/lazy.md tells how fields are found.

// wantsLazy tells whether a struct gets a view: all do if the command says so,
// else those that are annotated.
func (g *generator) wantsLazy(s *idl.Struct) bool {
	if s.Kind == idl.Union {
		return false
	}
	if note, ok := s.Annotations.Find("lazy"); ok {
		return note != "false"
	}
	return g.Lazy && s.Kind == idl.PlainStruct
}

// nameLazy names a struct's view and its methods. Getters come first: they have
// the names of the struct's fields.
func (g *generator) nameLazy(s *idl.Struct, take func(string) string) {
	if !g.wantsLazy(s) {
		return
	}
	g.names[key{s, "lazy"}] = take("Lazy" + g.names[key{s, ""}])
	taken := scope{"Lazy": true, "Plain": true, "Release": true}
	for _, f := range s.Fields {
		g.names[key{f, "lazy get"}] = taken.take(g.names[key{f, ""}])
	}
	for _, f := range s.Fields {
		g.names[key{f, "lazy set"}] = taken.take("Set" + g.names[key{f, ""}])
	}
}

// markLazy finds the arguments and results of methods that are annotated as
// lazy. All files have their names by now. A method without anything that could be a
// view is an error: whoever wrote the annotation expects one.
func (b *thriftBackend) markLazy(f *file, s *idl.Service) {
	g := b.g
	for _, m := range s.Methods {
		if note, ok := m.Annotations.Find("lazy"); !ok || note == "false" {
			continue
		}
		marked := false
		mark := func(t *idl.Type) {
			if t != nil && isPointer(t) && g.names[key{t.True().Struct, "lazy"}] != "" {
				b.views[t] = true
				marked = true
			}
		}
		for _, a := range m.Args {
			mark(a.Type)
			if a.Default != nil && b.views[a.Type] {
				g.errorf(f.File, a.Pos, "the argument %s of a lazy method has a default", a.Name)
			}
		}
		mark(m.Result)
		if !marked {
			g.errorf(f.File, m.Pos, "method %s.%s is lazy, but neither an argument nor the result is a struct that has (lazy) as well", s.Name, m.Name)
		}
	}
}

// lazy writes a struct's view: its fields as methods, those with values of their own
// types that are not the run time's converted.
func (e thriftEmitter) lazy(d *idl.Struct) {
	view := e.name(d, "lazy")
	if view == "" {
		return
	}
	name, lib, impl := e.name(d, ""), e.use("thrift"), e.use("impl")
	e.p("// %s is a %s that is read and changed where its bytes lie; see %s.Lazy.", view, name, lib)
	e.p("type %s struct {\n_ [0]%s\n%s.Lazy\n}\n", view, name, lib)
	e.p("// Plain decodes it, with what was changed.")
	e.p("func (x *%s) Plain() (*%s, error) { return %s.LazyPlain[%[2]s](&x.Lazy) }\n", view, name, impl)
	for i, f := range d.Fields {
		e.doc(f.Doc, f.Annotations)
		e.lazyGetter(view, i, f)
		e.p("func (x *%s) %s(v %s) { %s.LazySet(&x.Lazy, %d, v) }", view, e.name(f, "lazy set"), e.fieldType(f), impl, i)
	}
	e.p("")
}

// lazyGetter writes the method for a field, the index i. A struct with a view gives
// that, nil if the field is absent; an optional scalar gives whether it is there; what
// is absent otherwise has its zero value.
func (e thriftEmitter) lazyGetter(view string, i int, f *idl.Field) {
	typ, lib, get := e.typ(f.Type), e.use("impl"), e.name(f, "lazy get")
	if inner := e.viewOf(f.Type); inner != "" {
		e.p("func (x *%s) %s() *%s {", view, get, inner)
		e.p("v := new(%s)\nif !%s.LazyInner(&x.Lazy, &v.Lazy, %d) {\nreturn nil\n}\nreturn v\n}", inner, lib, i)
		return
	}
	optional := byPointer(f)
	call, plain := lazyScalar(f.Type.True().Kind)
	switch {
	case call == "" && optional:
		e.p("func (x *%s) %s() (%s, bool) { return %s.LazyOpt[%[3]s](&x.Lazy, %[5]d) }", view, get, typ, lib, i)
	case call == "":
		result, call := e.lazyValue(f.Type)
		e.p("func (x *%s) %s() %s { return %s.%s(&x.Lazy, %d) }", view, get, result, lib, call, i)
	case optional && plain == typ:
		e.p("func (x *%s) %s() (%s, bool) { return %s.%s(&x.Lazy, %d) }", view, get, typ, lib, call, i)
	case optional:
		e.p("func (x *%s) %s() (%s, bool) {", view, get, typ)
		e.p("v, ok := %s.%s(&x.Lazy, %d)\nreturn %s(v), ok\n}", lib, call, i, typ)
	case plain == typ:
		e.p("func (x *%s) %s() %s { v, _ := %s.%s(&x.Lazy, %d); return v }", view, get, typ, lib, call, i)
	default:
		e.p("func (x *%s) %s() %s { v, _ := %s.%s(&x.Lazy, %d); return %[3]s(v) }", view, get, typ, lib, call, i)
	}
}

// lazyScalar is the function for a type that is common, and what it gives; "" for the
// others, which one function with a type parameter serves (LazyGet).
func lazyScalar(k idl.Kind) (call, plain string) {
	switch k {
	case idl.Bool:
		return "Getter{}.Bool", "bool"
	case idl.I32, idl.EnumRef:
		return "Getter{}.I32", "int32"
	case idl.I64:
		return "Getter{}.I64", "int64"
	case idl.Double:
		return "Getter{}.Double", "float64"
	case idl.String:
		return "Getter{}.Text", "string"
	}
	return "", ""
}

// lazyValue gives what a getter for any other type gives, and the function that it calls.
func (e thriftEmitter) lazyValue(of *idl.Type) (result, call string) {
	typ, lib := e.typ(of), e.use("thrift")
	switch t := of.True(); t.Kind {
	case idl.List, idl.Set:
		elem := e.typ(t.Elem)
		if view := e.viewOf(t.Elem); view != "" {
			return lib + ".LazyStructs[" + view + "]", "LazyStructList[" + view + "]"
		}
		switch t.Elem.True().Kind {
		case idl.I8, idl.I16, idl.I32, idl.I64, idl.Double, idl.EnumRef:
			return lib + ".LazyNumbers[" + elem + "]", "LazyNumberList[" + elem + "]"
		}
		return lib + ".LazyList[" + elem + "]", "LazyListOf[" + elem + "]"
	case idl.Map:
		both := "[" + e.typ(t.Key) + ", " + e.typ(t.Elem) + "]"
		return lib + ".LazyMap" + both, "LazyMapOf" + both
	}
	return typ, "LazyGet[" + typ + "]"
}

// viewOf gives the view's name of a type that is a struct with one, "" for all others.
func (e thriftEmitter) viewOf(t *idl.Type) string {
	if !isPointer(t) || e.name(t.True().Struct, "lazy") == "" {
		return ""
	}
	s := t.True().Struct
	return e.at(s.File, s, "lazy")
}
