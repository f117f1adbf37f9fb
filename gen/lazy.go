package gen

import (
	"github.com/limosa-rpc/limosa/idl"
)

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
func (g *generator) nameLazy(p *pkg, s *idl.Struct) {
	if !g.wantsLazy(s) {
		return
	}
	g.names[key{s, "lazy"}] = p.names.take("Lazy" + g.names[key{s, ""}])
	taken := scope{"Lazy": true, "Plain": true, "Release": true}
	for _, f := range s.Fields {
		g.names[key{f, "lazy get"}] = taken.take(g.names[key{f, ""}])
	}
	for _, f := range s.Fields {
		g.names[key{f, "lazy set"}] = taken.take("Set" + g.names[key{f, ""}])
	}
}

// markLazy finds the arguments and results of methods that are annotated as
// lazy. All files have their names by now.
func (g *generator) markLazy(f *file, s *idl.Service) {
	for _, m := range s.Methods {
		if note, ok := m.Annotations.Find("lazy"); !ok || note == "false" {
			continue
		}
		marked := false
		mark := func(t *idl.Type) {
			if t != nil && isPointer(t) && g.names[key{t.True().Struct, "lazy"}] != "" {
				g.lazy[t] = true
				marked = true
			}
		}
		for _, a := range m.Args {
			mark(a.Type)
			if a.Default != nil && g.lazy[a.Type] {
				g.errorf(f.File, a.Pos, "the argument %s of a lazy method has a default", a.Name)
			}
		}
		mark(m.Result)
		if !marked {
			g.errorf(f.File, m.Pos, "method %s.%s is lazy, but neither an argument nor the result is a struct that has (lazy) as well", s.Name, m.Name)
		}
	}
}

// lazy writes a struct's view: its fields as methods.
func (e *emitter) lazy(d *idl.Struct) {
	view := e.name(d, "lazy")
	if view == "" {
		return
	}
	name, lib := e.name(d, ""), e.use("thrift")
	e.p("// %s is a %s that is read and changed where its bytes lie; see %s.Lazy.", view, name, lib)
	e.p("type %s struct {\n_ [0]%s\n%s.Lazy\n}\n", view, name, lib)
	e.p("// Plain decodes it, with what was changed.")
	e.p("func (x *%s) Plain() (*%s, error) { return %s.LazyPlain[%[2]s](&x.Lazy) }\n", view, name, lib)
	for i, f := range d.Fields {
		e.doc(f.Doc, f.Annotations)
		result, call := e.lazyGetter(f)
		e.p("func (x *%s) %s() %s { return %s.%s(&x.Lazy, %d) }", view, e.name(f, "lazy get"), result, lib, call, i)
		e.p("func (x *%s) %s(v %s) { %s.LazySet(&x.Lazy, %d, v) }", view, e.name(f, "lazy set"), e.fieldType(f), lib, i)
	}
	e.p("")
}

// lazyGetter gives a getter's results and the function that it calls.
func (e *emitter) lazyGetter(f *idl.Field) (result, call string) {
	typ, lib := e.typ(f.Type), e.use("thrift")
	if view := e.viewOf(f.Type); view != "" {
		return "*" + view, "LazyStruct[" + view + "]"
	}
	switch t := f.Type.True(); t.Kind {
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
	if f.Requiredness == idl.Optional && isScalar(f.Type) {
		return "(" + typ + ", bool)", "LazyOpt[" + typ + "]"
	}
	return typ, "LazyGet[" + typ + "]"
}

// viewOf gives the view's name of a type that is a struct with one.
func (e *emitter) viewOf(t *idl.Type) string {
	if !isPointer(t) || e.name(t.True().Struct, "lazy") == "" {
		return ""
	}
	s := t.True().Struct
	return e.at(s.File, s, "lazy")
}
