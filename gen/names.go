package gen

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// Names are given out before a line is written, in this order: what the IDL defines,
// then what is made from it, then the short names of a file's only service; methods
// last of all, when every file has its names, since a service's parents may be in
// another one. What the IDL's author wrote keeps its name; what is made yields, by
// underscores at its end.
//
// A name is found by the definition that it is for and a part (see key):
//
//	definition   part              name, for a service Hello with a method echo
//	any          ""                Hello, Echo, and of a field or argument its Go field
//	*idl.File    "idl"             HelloIDL
//	*idl.Enum    "parse"           ParseColor
//	*idl.Struct  "new", "lazy"     NewPoint, LazyPoint
//	             "variants"        choiceVariants, of a union with many
//	*idl.Field   "get", "variant"  GetX; of a union ChoiceText, of a oneof GetText too
//	             "lazy get", "lazy set"
//	             "param"           of an argument: the parameter's name
//	*idl.Service "client", "service", "new", "dial", "unimplemented", "caller"
//	             "only Dial" …     the short names, if it has them
//	*idl.Method  "var"             helloEcho, the description
//	             "args", "result"  of backends that have such types

// goWords are the words that no generated name may be: keywords and what the
// language declares before any package does.
var goWords = func() map[string]bool {
	m := map[string]bool{}
	for t := token.BREAK; t <= token.VAR; t++ {
		m[t.String()] = true
	}
	for _, s := range strings.Fields(`any append bool byte cap clear close comparable complex complex128 complex64
		copy delete error false float32 float64 imag int int16 int32 int64 int8 iota len make max min new nil panic
		print println real recover rune string true uint uint16 uint32 uint64 uint8 uintptr`) {
		m[s] = true
	}
	return m
}()

// imported are the packages that generated code may import, by name. No name of a
// generated package is one of these, so that no import has to be renamed for them.
var imported = map[string]string{
	"binary": "encoding/binary", "context": "context", "errors": "errors", "fmt": "fmt", "iter": "iter", "math": "math", "strconv": "strconv",
	"limosa":   "github.com/limosa-rpc/limosa",
	"rpc":      "github.com/limosa-rpc/limosa/rpc",
	"stub":     "github.com/limosa-rpc/limosa/rpc/stub",
	"thrift":   "github.com/limosa-rpc/limosa/thrift",
	"impl":     "github.com/limosa-rpc/limosa/thrift/impl",
	"protobuf": "github.com/limosa-rpc/limosa/protobuf",

	"protoimpl": "github.com/limosa-rpc/limosa/protobuf/impl",
}

// buildWords have a meaning at the end of a Go file's name: operating systems and
// processors that Go knows or has known, and test.
var buildWords = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields(`test aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd
		plan9 solaris wasip1 windows zos 386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le
		mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm`) {
		m[s] = true
	}
	return m
}()

// initialisms are written in one case, as Go code does: most of those that golint knew, so
// that a generated name is what one would write by hand.
var initialisms = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields(`acl api ascii cpu css dns eof guid html http https id ip json qps ram rpc sla smtp sql
		ssh tcp tls ttl udp ui uid uri url utf8 uuid vm xml xsrf xss`) {
		m[s] = true
	}
	return m
}()

// camel makes an exported Go name: user_id -> UserID, SECOND_CHANCE ->
// SecondChance, userId -> UserId, f_1_2 -> F1_2. Underscores at the end stay: they
// tell names apart that would be one otherwise. What begins with a digit, or is nothing
// but underscores, gets an X in front.
func camel(name string) string {
	body := strings.TrimRight(name, "_")
	tail := name[len(body):]
	body = strings.TrimLeft(body, "_")
	shout := strings.Contains(body, "_") && strings.ToUpper(body) == body
	var b strings.Builder
	for part := range strings.SplitSeq(body, "_") {
		if part == "" {
			continue
		}
		if shout {
			part = strings.ToLower(part)
		}
		if initialisms[strings.ToLower(part)] {
			part = strings.ToUpper(part)
		}
		if b.Len() > 0 && isDigit(part[0]) && isDigit(b.String()[b.Len()-1]) {
			b.WriteByte('_')
		}
		b.WriteString(upperFirst(part))
	}
	s := b.String() + tail
	if s == "" || s[0] < 'A' || s[0] > 'Z' {
		s = "X" + s
	}
	return s
}

// defined is the Go name of a definition, which in some IDLs stands within others:
// Order.line_item -> OrderLineItem.
func defined(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, ".") {
		b.WriteString(camel(part))
	}
	return b.String()
}

// isDigit reports whether c is an ASCII digit; names of IDLs have no others.
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// upperFirst puts the first letter of an ASCII name that is not empty into capitals.
func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// lowerFirst makes an unexported name of an exported one: the first word in
// lower case, as in urlService for URLService.
func lowerFirst(s string) string {
	n := 0
	for n < len(s) && s[n] >= 'A' && s[n] <= 'Z' {
		n++
	}
	if n > 1 && n < len(s) && s[n] >= 'a' && s[n] <= 'z' {
		n--
	}
	return strings.ToLower(s[:n]) + s[n:]
}

// constName keeps a name of capitals as it is: MAX_SIZE is what whoever reads the
// IDL looks for.
func constName(name string) string {
	if strings.ToUpper(name) == name && name[0] >= 'A' && name[0] <= 'Z' {
		return name
	}
	return camel(name)
}

// scope is a set of names that are taken: of a package as far as one file knows, of the
// fields and methods of a struct, of a function's variables.
type scope map[string]bool

// newScope has what no file of a package may declare: the names of its imports, and
// those that mean something to the compiler.
func newScope() scope {
	s := scope{}
	for name := range imported {
		s[name] = true
	}
	s["init"] = true
	s["main"] = true
	return s
}

// methodScope has the names of the methods of every struct of a file.
func (g *generator) methodScope(f *file) scope {
	s := scope{}
	for _, name := range g.back(f.File).reserved() {
		s[name] = true
	}
	return s
}

// take gives name, or name with as few underscores at its end as are needed.
func (s scope) take(name string) string {
	for s[name] || goWords[name] {
		name += "_"
	}
	s[name] = true
	return name
}

// nameFile gives names to all that f defines: first to what the IDL defines,
// then to what is made from it. No other file has a say in it, so that a file's
// code is the same in every run; clashes tells what two files of a package have
// named alike.
func (g *generator) nameFile(f *file) {
	g.nameDefinitions(f)
	for _, e := range f.Enums {
		enum, prefix := g.names[key{e, ""}], g.back(f.File).enumPrefix(e)
		g.names[key{e, "parse"}] = f.take("Parse"+enum, "enum "+e.Name, e.Pos)
		for _, v := range e.Values {
			g.names[key{v, ""}] = f.take(enum+enumSuffix(strings.TrimPrefix(v.Name, prefix)), "value "+v.Name+" of enum "+e.Name, v.Pos)
		}
	}
	for _, s := range f.all {
		g.nameStruct(f, s)
	}
	g.names[key{f.File, "idl"}] = f.take(camel(strings.Map(identChar, f.Name))+"IDL", "the file "+f.Name, idl.Pos{})
	for _, s := range f.Services {
		g.nameService(f, s)
	}
	if s := g.only(f); s != nil {
		for _, name := range shortNames {
			if !f.names[name] {
				g.names[key{s, "only " + name}] = f.take(name, "service "+s.Name, s.Pos)
			}
		}
	}
}

// shortNames are what the only service of a file gets beside its long names.
var shortNames = []string{"Service", "NewClient", "Dial", "Unimplemented"}

// only gives the service of f that has short names, nil if there is none: the only one
// of the file, or of the package where the IDL's packages are made together.
func (g *generator) only(f *file) *idl.Service {
	if g.Long || len(f.Services) != 1 {
		return nil
	}
	if g.back(f.File).traits().together {
		for _, x := range f.pkg.files {
			if x != f && len(x.Services) > 0 {
				return nil
			}
		}
	}
	if note, ok := f.Services[0].Annotations.Find("go.short"); ok && note == "false" {
		return nil
	}
	return f.Services[0]
}

// enumSuffix keeps an enum value's name as it is but for its first letter.
func enumSuffix(name string) string {
	if s := strings.TrimLeft(name, "_"); s != "" {
		return upperFirst(s)
	}
	return "X"
}

// identChar replaces what cannot be in a Go name, such as the dots and dashes of a
// file's.
func identChar(r rune) rune {
	if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return '_'
}

// nameDefinitions names what the IDL defines: types before services, services before
// constants, each kind in the order of the file.
func (g *generator) nameDefinitions(f *file) {
	name := func(decl any, kind, idlName, goName string, pos idl.Pos) {
		g.names[key{decl, ""}] = f.take(goName, kind+" "+idlName, pos)
	}
	for _, d := range f.Typedefs {
		name(d, "typedef", d.Name, camel(d.Name), d.Pos)
	}
	for _, d := range f.Enums {
		name(d, "enum", d.Name, defined(d.Name), d.Pos)
	}
	for _, oneofs := range []bool{false, true} { // which yield to messages: theirs are names of fields
		for _, d := range f.all {
			if d.Oneof == oneofs {
				name(d, string(d.Kind), d.Name, defined(d.Name), d.Pos)
			}
		}
	}
	for _, d := range f.Services {
		name(d, "service", d.Name, camel(d.Name), d.Pos)
	}
	for _, d := range f.Consts {
		name(d, "constant", d.Name, constName(d.Name), d.Pos)
	}
}

// nameStruct names the fields of s and what is made from it. Fields come first: a
// getter yields to a field that is called GetX. A union's variants are types, and
// so names of the package.
func (g *generator) nameStruct(f *file, s *idl.Struct) {
	take := func(name string) string { return f.take(name, string(s.Kind)+" "+s.Name, s.Pos) }
	name := g.names[key{s, ""}]
	if s.Kind == idl.Union {
		for _, x := range s.Fields {
			g.names[key{x, "variant"}] = take(name + camel(x.Name))
			fields := scope{"UnmarshalJSON": holdsUnion(x.Type)} // of the variant, which has a method of that name then
			g.names[key{x, ""}] = fields.take(camel(x.Name))
		}
		if len(s.Fields) > maxNamed {
			g.names[key{s, "variants"}] = take(lowerFirst(name) + "Variants")
		}
		return
	}
	fields := g.methodScope(f)
	if s.Kind == idl.Exception {
		fields["Error"] = true
	}
	if g.presets(s) {
		fields["SetDefaults"] = true
		g.names[key{s, "new"}] = take("New" + name)
	}
	if slices.ContainsFunc(s.Fields, func(f *idl.Field) bool { return holdsUnion(f.Type) }) {
		fields["UnmarshalJSON"] = true
	}
	for _, x := range s.Fields {
		g.names[key{x, ""}] = fields.take(camel(x.Name))
	}
	for _, x := range s.Fields {
		if hasGetter(x) {
			g.names[key{x, "get"}] = fields.take("Get" + g.names[key{x, ""}])
		}
	}
	for _, x := range s.Fields {
		for _, v := range oneofOf(x) {
			g.names[key{v, "get"}] = fields.take("Get" + camel(v.Name))
		}
	}
	g.back(f.File).nameStruct(f, s)
}

// oneofOf gives the members of a oneof that is the type of x; none if it has another.
func oneofOf(x *idl.Field) []*idl.Field {
	if s := x.Type.True().Struct; s != nil && s.Oneof {
		return s.Fields
	}
	return nil
}

// presets tells whether a struct needs SetDefaults.
func (g *generator) presets(s *idl.Struct) bool {
	return g.back(s.File).traits().presets && hasDefaults(s.Fields)
}

// hasDefaults tells whether one of fields has a default.
func hasDefaults(fields []*idl.Field) bool {
	for _, f := range fields {
		if f.Default != nil {
			return true
		}
	}
	return false
}

// nameService names a service's Go types and its methods. A method must differ
// from those of all parents, since interfaces and clients embed them.
func (g *generator) nameService(f *file, s *idl.Service) {
	take := func(name string) string { return f.take(name, "service "+s.Name, s.Pos) }
	name := g.names[key{s, ""}]
	low := lowerFirst(name)
	g.names[key{s, "client"}] = take(name + "Client")
	g.names[key{s, "service"}] = take(name + "Service")
	g.names[key{s, "new"}] = take("New" + g.names[key{s, "client"}])
	g.names[key{s, "dial"}] = take("Dial" + name)
	g.names[key{s, "unimplemented"}] = take("Unimplemented" + name)
	if s.Parent != nil {
		g.names[key{s, "caller"}] = take(low + "Caller")
	}
}

// nameMethods names what belongs to the methods of a service. The services of
// all packages have their names by now.
func (g *generator) nameMethods(f *file, s *idl.Service) {
	low := lowerFirst(g.names[key{s, ""}])
	for _, m := range s.Methods {
		goName := g.method(m, s)
		base := f.take(low+goName, "method "+m.Name+" of service "+s.Name, m.Pos)
		g.names[key{m, "var"}] = base
		g.back(f.File).nameMethod(f, s, m)
		params := newScope()
		for _, s := range []string{"ctx", "c", "x", base, g.names[key{m, "args"}], g.names[key{m, "result"}]} {
			params[s] = true
		}
		for _, x := range m.Args {
			name := g.names[key{x, "param"}] // the backend's, if the IDL has none
			if name == "" {
				name = lowerFirst(camel(x.Name))
			}
			g.names[key{x, "param"}] = params.take(name)
		}
	}
}

// method gives the Go name of s's method m; the names of a service's methods
// are given out together, parents' first, whichever file comes first: the interface
// of s has all of them. Close is the client's.
func (g *generator) method(m *idl.Method, s *idl.Service) string {
	if g.names[key{m, ""}] == "" {
		taken := scope{"Close": true}
		for up := s.Parent; up != nil; up = up.Parent {
			// A client has its parent's as an embedded field.
			taken[g.names[key{up, "client"}]] = true
			taken[g.names[key{up, "unimplemented"}]] = true
			for _, old := range up.Methods {
				taken[g.method(old, up)] = true
			}
		}
		for _, x := range s.Methods {
			g.names[key{x, ""}] = taken.take(camel(x.Name))
		}
	}
	return g.names[key{m, ""}]
}

// goPath is the import path of a generated package. Without a prefix there is none;
// that is an error only where a path is needed, and told once.
func (g *generator) goPath(f *idl.File, p *pkg) string {
	if p.path != "" {
		return p.path
	}
	if g.Prefix == "" {
		msg := fmt.Sprintf("%s imports the Go package %s: give -prefix, or an output directory below a go.mod", f.Path, p.dir)
		if len(g.errs) == 0 {
			g.errorf(f, idl.Pos{}, "%s", msg)
		}
		return p.dir
	}
	return g.Prefix + "/" + p.dir
}
