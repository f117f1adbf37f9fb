package gen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
)

// emitter writes one Go file. What is imported is found out on the way.
type emitter struct {
	g       *generator
	f       *file
	b       strings.Builder
	imports map[string]string // import path -> name
}

func (e *emitter) p(format string, args ...any) {
	fmt.Fprintf(&e.b, format, args...)
	e.b.WriteByte('\n')
}

// use imports one of the known packages and gives its name.
func (e *emitter) use(name string) string {
	e.imports[imported[name]] = name
	return name
}

func (e *emitter) name(decl any, part string) string { return e.g.names[key{decl, part}] }

// at gives the name of a definition of file f, with its package if that is
// another one.
func (e *emitter) at(f *idl.File, decl any, part string) string {
	name, p := e.name(decl, part), e.g.files[f].pkg
	if p == e.f.pkg {
		return name
	}
	path := e.g.goPath(e.f.File, p)
	alias, ok := e.imports[path]
	if !ok {
		// Names of variables in generated functions would hide the package. A name
		// without capitals is none that any file of this package declares.
		taken := newScope()
		for _, s := range strings.Fields("args b c call ctx d depth done e err i impl in n ok r res rest result s slab target to v x") {
			taken[s] = true
		}
		for _, s := range e.imports {
			taken[s] = true
		}
		alias = taken.take(strings.ToLower(p.name))
		e.imports[path] = alias
	}
	return alias + "." + name
}

// importBlock lists the standard library first, then the rest.
func (e *emitter) importBlock() string {
	var std, rest []string
	for path, name := range e.imports {
		line := strconv.Quote(path)
		if path[strings.LastIndexByte(path, '/')+1:] != name {
			line = name + " " + line
		}
		// Not by its looks: a module may be called hello.
		if imported[name] != path || strings.Contains(path, ".") {
			rest = append(rest, line)
		} else {
			std = append(std, line)
		}
	}
	slices.Sort(std)
	slices.SortFunc(rest, func(a, b string) int {
		return strings.Compare(a[strings.IndexByte(a, '"'):], b[strings.IndexByte(b, '"'):])
	})
	if len(std) > 0 {
		std = append(std, "")
	}
	return "import (\n" + strings.Join(append(std, rest...), "\n") + "\n)\n"
}

// comment makes a Go comment of a doc comment.
func comment(doc, indent string) string {
	if doc == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.SplitSeq(doc, "\n") {
		line = strings.TrimRight(strings.Map(visible, strings.ToValidUTF8(line, "?")), " \t")
		// The blank keeps a line that begins like a directive from being one.
		b.WriteString(strings.TrimRight(indent+"// "+line, " ") + "\n")
	}
	return b.String()
}

// visible keeps out of Go source what it may not have.
func visible(r rune) rune {
	if r < ' ' && r != '\t' || r == '\ufeff' {
		return ' '
	}
	return r
}

// doc writes a doc comment, and Deprecated if an annotation says so.
func (e *emitter) doc(doc string, notes idl.Annotations) {
	if why, ok := notes.Find("deprecated"); ok {
		if why == "1" || why == "" {
			why = "the IDL says so."
		}
		if doc != "" {
			doc += "\n\n"
		}
		doc += "Deprecated: " + why
	}
	e.b.WriteString(comment(doc, ""))
}

// isScalar tells the types that an optional field holds by a pointer, and that
// may be the key of a Go map.
func isScalar(t *idl.Type) bool {
	switch t.True().Kind {
	case idl.Bool, idl.I8, idl.I16, idl.I32, idl.I64, idl.Double, idl.String, idl.UUID, idl.EnumRef:
		return true
	}
	return false
}

func isContainer(t *idl.Type) bool {
	switch t.True().Kind {
	case idl.List, idl.Set, idl.Map, idl.Binary:
		return true
	}
	return false
}

func isPointer(t *idl.Type) bool {
	s := t.True().Struct
	return s != nil && s.Kind != idl.Union
}

var scalarNames = map[idl.Kind]string{
	idl.Bool: "bool", idl.I8: "int8", idl.I16: "int16", idl.I32: "int32", idl.I64: "int64",
	idl.Double: "float64", idl.String: "string", idl.Binary: "[]byte",
}

// typ gives the Go type of a value.
func (e *emitter) typ(t *idl.Type) string {
	name := e.bare(t)
	if isPointer(t) {
		return "*" + name
	}
	return name
}

// bare is typ without the star of structs.
func (e *emitter) bare(t *idl.Type) string {
	if e.g.lazy[t] {
		s := t.True().Struct
		return e.at(s.File, s, "lazy")
	}
	switch t.Kind {
	case idl.UUID:
		return e.use("thrift") + ".UUID"
	case idl.List:
		return "[]" + e.typ(t.Elem)
	case idl.Set:
		return e.use("thrift") + ".Set[" + e.typ(t.Elem) + "]"
	case idl.Map:
		if isScalar(t.Key) {
			return "map[" + e.typ(t.Key) + "]" + e.typ(t.Elem)
		}
		return e.use("thrift") + ".Pairs[" + e.typ(t.Key) + ", " + e.typ(t.Elem) + "]"
	case idl.EnumRef:
		return e.at(t.Enum.File, t.Enum, "")
	case idl.StructRef:
		return e.at(t.Struct.File, t.Struct, "")
	case idl.TypedefRef:
		return e.at(t.Typedef.File, t.Typedef, "")
	}
	return scalarNames[t.Kind]
}

// fieldType is typ, or a pointer where an optional field needs one.
func (e *emitter) fieldType(f *idl.Field) string {
	if f.Presence == idl.Optional && isScalar(f.Type) {
		return "*" + e.typ(f.Type)
	}
	return e.typ(f.Type)
}

// tag is a struct field's tag: the codec's, and what go.tag adds.
func tag(f *idl.Field) string {
	s := fmt.Sprintf("thrift:%q", fmt.Sprintf("%s,%d%s", f.Name, f.ID, requiredness(f)))
	if extra, ok := f.Annotations.Find("go.tag"); ok && strconv.CanBackquote(extra) {
		s += " " + extra
	}
	return "`" + s + "`"
}

func requiredness(f *idl.Field) string {
	if f.Presence == idl.Implicit {
		return ""
	}
	return "," + string(f.Presence)
}

func (e *emitter) typedef(d *idl.Typedef) {
	e.doc(d.Doc, d.Annotations)
	e.p("type %s = %s\n", e.name(d, ""), e.bare(d.Type))
}

func (e *emitter) enum(d *idl.Enum) {
	name := e.name(d, "")
	e.doc(d.Doc, d.Annotations)
	e.p("type %s int32\n", name)
	if len(d.Values) > 0 {
		e.p("const (")
		for _, v := range d.Values {
			e.doc(v.Doc, v.Annotations)
			e.p("%s %s = %d", e.name(v, ""), name, v.Value)
		}
		e.p(")\n")
	}
	e.p("// String gives the name in the IDL.\nfunc (x %s) String() string {\nswitch x {", name)
	seen := map[int32]bool{}
	for _, v := range d.Values {
		if !seen[v.Value] {
			e.p("case %s:\nreturn %q", e.name(v, ""), v.Name)
		}
		seen[v.Value] = true
	}
	e.p("}\nreturn %q + %s.Itoa(int(x)) + \")\"\n}\n", name+"(", e.use("strconv"))
	e.p("// %s finds a value by its name in the IDL.", e.name(d, "parse"))
	e.p("func %s(s string) (%s, error) {\nswitch s {", e.name(d, "parse"), name)
	for _, v := range d.Values {
		e.p("case %q:\nreturn %s, nil", v.Name, e.name(v, ""))
	}
	e.p("}\nreturn 0, %s.Errorf(\"%%q is no %s\", s)\n}\n", e.use("fmt"), name)
}

func (e *emitter) structure(d *idl.Struct) {
	if d.Kind == idl.Union {
		e.union(d)
		return
	}
	name := e.name(d, "")
	e.doc(d.Doc, d.Annotations)
	e.fields(name, d.Fields)
	if hasDefaults(d.Fields) {
		e.p("// %s makes one with the defaults of the IDL.", e.name(d, "new"))
		e.p("func %s() *%s {\nx := new(%[2]s)\nx.SetDefaults()\nreturn x\n}\n", e.name(d, "new"), name)
		e.setDefaults(name, d.Fields)
	}
	if d.Kind == idl.Exception {
		e.exceptionText(name, d)
	}
	e.codec(name, e.members(d.Fields), defaultsOf(d.Fields))
	e.text(name, d.Fields)
	e.lazy(d)
}

// text writes String, unless a field has that name.
func (e *emitter) text(name string, fields []*idl.Field) {
	for _, f := range fields {
		if e.name(f, "") == "String" {
			return
		}
	}
	e.p("// String shows the fields, for logs: at most 1,024 bytes.\nfunc (x *%s) String() string { return %s.String(x) }\n", name, e.use("thrift"))
}

func (e *emitter) fields(name string, fields []*idl.Field) {
	if len(fields) == 0 {
		e.p("type %s struct{}\n", name)
		return
	}
	if len(fields) == 1 && fields[0].Doc == "" && name[0] >= 'a' { // arguments, results: one line
		f := fields[0]
		e.p("type %s struct { %s %s %s }\n", name, e.name(f, ""), e.fieldType(f), tag(f))
		return
	}
	e.p("type %s struct {", name)
	for _, f := range fields {
		e.doc(f.Doc, f.Annotations)
		e.p("%s %s %s", e.name(f, ""), e.fieldType(f), tag(f))
	}
	e.p("}\n")
}

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

// exceptionText writes Error: a message if there is one, else the plain fields.
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
// such a method.
const maxNamed = 8

// union writes a sealed interface; its method's parameters tell the codec the
// variants.
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
	method := "is" + name + "(" + list + ")"
	e.doc(d.Doc, d.Annotations)
	e.p("type %s interface { %s }\n", name, method)
	if len(variants) > maxNamed {
		e.p("// %s has the variants of %s as its parameters.\ntype %[1]s func(\n%[3]s,\n)\n", list, name, strings.Join(variants, ",\n"))
	}
	for _, f := range d.Fields {
		e.doc(f.Doc, f.Annotations)
		e.p("type %s struct { %s %s `thrift:\"%s,%d\"` }\n", e.name(f, "variant"), e.name(f, ""), e.typ(f.Type), f.Name, f.ID)
	}
	for _, v := range variants {
		e.p("func (%s) %s {}", v, method)
	}
	e.p("")
}

// schema embeds the file itself, without comments, so that tools can ask a
// program what it speaks.
func (e *emitter) schema() {
	e.p("// %s gives the IDL of this file; thriftidl.Unpack reads it.", e.name(e.f.File, "idl"))
	text := thriftidl.Pack(e.f.File, e.g.packName)
	quoted := "`" + text + "`"
	if !strconv.CanBackquote(strings.ReplaceAll(text, "\n", "")) {
		quoted = strconv.Quote(text)
	}
	e.p("func %s() string {\nreturn %s\n}", e.name(e.f.File, "idl"), quoted)
}

// packName is a file's name within a packed schema: the same wherever the
// command runs, and one for each file.
func (g *generator) packName(f *idl.File) string {
	return g.files[f].pkg.dir + "/" + f.Name + ".thrift"
}
