package gen

import (
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// typedef writes an alias: the same type under another name, since on the wire and
// for Thrift's other languages it is nothing else.
func (e *emitter) typedef(d *idl.Typedef) {
	e.doc(d.Doc, d.Annotations)
	e.p("type %s = %s\n", e.name(d, ""), e.bare(d.Type))
}

// structure writes what a user sees of a struct or an exception.
func (e *emitter) structure(d *idl.Struct) {
	name := e.name(d, "")
	e.doc(d.Doc, d.Annotations)
	e.fields(name, d.Fields, e.back.hidden(d))
	if e.g.presets(d) {
		e.p("// %s makes one with the defaults of the IDL, which &%s{} does not have.", e.name(d, "new"), name)
		e.p("func %s() *%s {\nx := new(%[2]s)\nx.SetDefaults()\nreturn x\n}\n", e.name(d, "new"), name)
		e.setDefaults(name, d.Fields)
	}
	if d.Kind == idl.Exception {
		e.exceptionText(name, d)
	}
	e.unionJSON(name, d.Fields)
	e.getters(name, d.Fields)
	e.memberGetters(name, d.Fields)
	e.back.face(e, d)
}

// unionJSON writes UnmarshalJSON for a struct that has unions in its fields, but for those of
// structs within, which have their own: encoding/json writes a union, and cannot know
// which variant to make of what it reads.
func (e *emitter) unionJSON(name string, fields []*idl.Field) {
	if !slices.ContainsFunc(fields, func(f *idl.Field) bool { return holdsUnion(f.Type) }) {
		return
	}
	e.p("func (x *%s) UnmarshalJSON(text []byte) error { return %s.UnmarshalJSON(x, text) }", name, e.use("stub"))
}

// holdsUnion tells the types that are unions or contain some without a struct between.
func holdsUnion(t *idl.Type) bool {
	switch t = t.True(); t.Kind {
	case idl.List, idl.Set:
		return holdsUnion(t.Elem)
	case idl.Map:
		return holdsUnion(t.Key) || holdsUnion(t.Elem)
	}
	return t.Struct != nil && t.Struct.Kind == idl.Union
}

// fields writes a struct type, with the comments of its fields. The fields are in the
// order of the IDL, whatever their ids: the plan counts them so.
func (e *emitter) fields(name string, fields []*idl.Field, hidden []string) {
	if len(fields)+len(hidden) == 0 {
		e.p("type %s struct{}\n", name)
		return
	}
	e.p("type %s struct {", name)
	for _, f := range fields {
		e.doc(f.Doc, f.Annotations)
		e.p("%s %s %s", e.name(f, ""), e.fieldType(f), e.tag(f))
	}
	for _, line := range hidden {
		e.p("%s", line)
	}
	e.p("}\n")
}

// hasGetter tells the fields that get a getter: those that are nil while they are
// absent, and structs, which stand between a message and what is read from it. A
// field that always has a value needs none.
func hasGetter(f *idl.Field) bool { return f.Presence == idl.Optional || isPointer(f.Type) }

// getters writes methods that read a field which may be absent, of a message that
// may be nil: what is not there has the default of the IDL, else the zero value.
// So order.GetCustomer().GetAddress().GetCity() needs no look at what is nil.
func (e *emitter) getters(name string, fields []*idl.Field) {
	for _, f := range fields {
		if !hasGetter(f) {
			continue
		}
		field, absent := e.name(f, ""), "nil"
		if isScalar(f.Type) {
			absent = e.zero(f.Type)
		}
		if f.Default != nil {
			absent = e.value(f.Type, f.Default)
		}
		test := "x == nil"
		if byPointer(f) || absent != "nil" {
			test += " || x." + field + " == nil"
		}
		star := ""
		if byPointer(f) {
			star = "*"
		}
		e.deprecated(f.Annotations)
		e.p("func (x *%s) %s() %s {\nif %s {\nreturn %s\n}\nreturn %sx.%s\n}", name, e.name(f, "get"), e.typ(f.Type), test, absent, star, field)
	}
	e.p("")
}

// memberGetters writes methods that read a member of a oneof: its value if it is the one
// that is set, else its default or zero.
func (e *emitter) memberGetters(name string, fields []*idl.Field) {
	for _, x := range fields {
		for _, f := range oneofOf(x) {
			absent := "nil"
			switch {
			case f.Default != nil:
				absent = e.value(f.Type, f.Default)
			case isScalar(f.Type):
				absent = e.zero(f.Type)
			}
			e.deprecated(f.Annotations)
			e.p("func (x *%s) %s() %s {\nif x != nil {", name, e.name(f, "get"), e.typ(f.Type))
			e.p("if v, ok := x.%s.(*%s); ok && v != nil {\nreturn v.%s\n}\n}\nreturn %s\n}", e.name(x, ""), e.name(f, "variant"), e.name(f, ""), absent)
		}
	}
	e.p("")
}

// setDefaults writes SetDefaults. Containers are made anew in each call, so that
// no two messages share one.
func (e *emitter) setDefaults(name string, fields []*idl.Field) {
	e.p("// SetDefaults sets the fields that have a default in the IDL.\nfunc (x *%s) SetDefaults() {", name)
	for _, f := range fields {
		if f.Default == nil {
			continue
		}
		e.p("x.%s = %s", e.name(f, ""), e.fieldValue(f, f.Default))
	}
	e.p("}\n")
}

// text writes String, unless a field has that name: that of the package lib.
func (e *emitter) text(name string, fields []*idl.Field, lib string) {
	for _, f := range fields {
		if e.name(f, "") == "String" {
			return
		}
	}
	e.p("// String shows the fields, for logs: at most 1,024 bytes.\nfunc (x *%s) String() string { return %s.String(x) }\n", name, e.use(lib))
}

// exceptionText writes Error: a message if there is one, else the plain fields. Declared
// exceptions are Go errors, and errors.As finds them: the pointer is the error.
func (e *emitter) exceptionText(name string, d *idl.Struct) {
	var words, args []string
	for _, f := range d.Fields {
		if f.Presence == idl.Optional || !isScalar(f.Type) {
			continue
		}
		goName := e.name(f, "")
		if strings.EqualFold(f.Name, "message") && f.Type.True().Kind == idl.String {
			e.p("func (x *%s) Error() string { return %q + x.%s }\n", name, d.Name+": ", goName)
			return
		}
		words = append(words, f.Name+"=%v")
		args = append(args, "x."+goName)
	}
	if len(args) == 0 {
		e.p("func (x *%s) Error() string { return %q }\n", name, d.Name)
		return
	}
	e.p("func (x *%s) Error() string {\nreturn %s.Sprintf(%q, %s)\n}\n", name, e.use("fmt"),
		d.Name+": "+strings.Join(words, " "), strings.Join(args, ", "))
}

// maxNamed is how many variants every method of a union names: each variant has
// such a method, so that a union of 1,000 would be a million names. Larger ones name a
// function type in their place, whose parameters are the variants.
const maxNamed = 8

// union writes a sealed interface, with a struct for each variant. Its method's
// parameters tell a codec which variants there are, in their order:
//
//	type Choice interface{ isUnion(*ChoiceNumber, *ChoiceText) }
//
// A variant is a struct of one field, so that encoding/json writes a union as
// {"number": 5} by itself.
func (e *emitter) union(d *idl.Struct) {
	name := e.name(d, "")
	variants := make([]string, len(d.Fields))
	for i, f := range d.Fields {
		variants[i] = "*" + e.name(f, "variant")
	}
	list := strings.Join(variants, ", ")
	if len(variants) > maxNamed {
		list = e.name(d, "variants")
	}
	method := "isUnion(" + list + ")"
	e.doc(unionDoc(d.Doc, name, variants), d.Annotations)
	e.p("type %s interface { %s }\n", name, method)
	if len(variants) > maxNamed {
		e.p("// %s has the variants of %s as its parameters.\ntype %[1]s func(\n%[3]s,\n)\n", list, name, strings.Join(variants, ",\n"))
	}
	for _, f := range d.Fields {
		always := *f // in its variant, the field is there
		always.Presence = idl.Implicit
		e.doc(f.Doc, f.Annotations)
		e.p("type %s struct { %s %s %s }\n", e.name(f, "variant"), e.name(f, ""), e.typ(f.Type), e.tagWith(&always, ""))
	}
	for _, f := range d.Fields {
		e.unionJSON(e.name(f, "variant"), []*idl.Field{f})
	}
	for _, v := range variants {
		e.p("func (%s) %s {}", v, method)
	}
	e.p("")
}

// unionDoc adds to a union's comment what values it may have.
func unionDoc(doc, name string, variants []string) string {
	const width = 100
	text := name + " is nil, which is unset: it has no variants."
	switch n := len(variants); n {
	case 0:
	case 1:
		text = name + " is " + variants[0] + " or nil, which is unset."
	default:
		text = name + " is one of these, or nil, which is unset:"
		line := ""
		for _, v := range variants {
			if len(line)+len(v) > width {
				text, line = text+"\n"+line, ""
			}
			line += " " + v + ","
		}
		text += "\n" + strings.TrimSuffix(line, ",") + "."
		text = strings.ReplaceAll(text, "\n ", "\n")
	}
	if doc == "" {
		return text
	}
	return doc + "\n\n" + text
}
