// Package gen turns a schema of package idl into Go source. It is what the commands
// limosa-gen and limosa gen run.
//
// Each IDL file becomes two Go files, in the shape that docs/how/gen.md shows:
//
//	hello.thrift ─┬─ hello.thrift.go        what a user reads: types, getters, the interface, client and server
//	              └─ hello.thrift.codec.go  what the run time calls: how those types travel
//
// The first is the same for every IDL, and an emitter writes it. What differs from
// IDL to IDL is in a backend: see there for what a new one has to bring.
//
//	idl.Schema ── plan (gen.go, names.go, clash.go) ── emitter (struct.go, service.go, …)
//	              packages, names, what cannot be       │
//	                                                    └── backend (thrift*.go)
//
// A file and what it includes give the same bytes in every run. Names that are no
// Go names, or that are taken in their file, get underscores at their end.
package gen

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// Version stands in the head of every generated file, for people: that old code does not
// meet a run time which is too old is limosa.Gen1's to see to.
const Version = "0.1.0"

// A File is one generated file. Its JSON is also what a plug-in prints.
type File struct {
	Path    string `json:"path"` // below the output directory, with slashes
	Content string `json:"content"`
}

// Config says where generated code will live.
type Config struct {
	// Prefix is the import path of the output directory. It is needed only
	// when one generated package imports another.
	Prefix string
	// Lazy gives every struct a view (see thrift.Lazy), not only those that are
	// annotated with lazy.
	Lazy bool
	// Long leaves out the short names (Service, NewClient, Dial, Unimplemented) that
	// a file's only service gets beside its long ones.
	Long bool

	// Packages says for .proto files which Go package they belong to, by the name under
	// which others import them: "path" or "path;name", as protoc's option M does. It goes
	// before what go_package says. A package that is not below Prefix is not written.
	Packages map[string]string
	// Layout says where the code of .proto files goes.
	Layout Layout
	// Module is left off the paths of [ByImport].
	Module string
	// OnlyListed leaves out files that are only included, as protoc's plug-ins do:
	// whoever needs their code makes it in a run of their own.
	OnlyListed bool
}

// A Layout is how folders of generated code are found.
type Layout string

// The layouts.
const (
	// BelowPrefix puts a package into the folder that its import path has below
	// Config.Prefix; one that has none there into the folder of its namespace, or of its
	// package in the IDL.
	BelowPrefix Layout = ""
	// ByImport puts a package into the folder of its whole import path, as
	// protoc-gen-go does.
	ByImport Layout = "import"
	// BySource puts the code of a file beside where the file is, as protoc-gen-go does
	// with paths=source_relative.
	BySource Layout = "source_relative"
)

// Generate makes the Go files of all files of s, two for each, included ones as well,
// sorted by their paths. An error is an idl.Errors, with places in the IDL; there are
// no files then. It may be called concurrently, also with one schema, which it does not
// change.
func (c Config) Generate(s *idl.Schema) ([]File, error) { return c.generator().generate(s) }

// generator makes the state of a Generate that has not begun.
func (c Config) generator() *generator {
	g := &generator{Config: c, pkgs: map[string]*pkg{}, files: map[*idl.File]*file{}, names: map[key]string{}}
	g.backs = newBackends(g)
	return g
}

// generate is Generate with the backends that g has.
func (g *generator) generate(s *idl.Schema) ([]File, error) {
	g.plan(s)
	if len(g.errs) > 0 {
		return nil, g.errs
	}
	var out []File
	for _, p := range g.order {
		for _, f := range p.files {
			if p.elsewhere || g.OnlyListed && !f.Listed {
				continue
			}
			types, codecs, err := g.file(f)
			if err != nil {
				return nil, err
			}
			out = append(out, File{Path: path.Join(p.dir, f.out), Content: types}, File{Path: path.Join(p.dir, codecName(f.out)), Content: codecs})
		}
	}
	if len(g.errs) > 0 {
		return nil, g.errs
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// A generator is the state of one Generate. plan fills it; what follows reads it.
type generator struct {
	Config
	backs map[idl.Language]backend
	pkgs  map[string]*pkg // by import path, or by dir
	order []*pkg
	files map[*idl.File]*file
	names map[key]string
	errs  idl.Errors
}

// back gives the backend of a file. plan has refused files that have none.
func (g *generator) back(f *idl.File) backend { return g.backs[f.Language] }

// pkg is one Go package that is generated: that of all files with its namespace.
type pkg struct {
	place
	files []*file
}

// file is one IDL file with its Go package.
type file struct {
	*idl.File
	pkg   *pkg
	out   string              // the name of its file of types
	all   []*idl.Struct       // those of the IDL, and what the backend adds
	names scope               // of the package, that are taken
	decls map[string]declared // the names that f declares in it
}

// A declared is what a Go name of a package is declared for: what an error about two
// files that declare it says.
type declared struct {
	what string
	pos  idl.Pos
}

// take gives a name of the package to what stands at pos in the IDL: name, or name
// with underscores if f has declared it already. Other files of the package have no
// say in it; clashes finds what they declare too.
func (f *file) take(name, what string, pos idl.Pos) string {
	name = f.names.take(name)
	f.decls[name] = declared{what, pos}
	return name
}

// key finds the Go name of a definition, or of something that is made from it: decl
// is a pointer of the model. names.go lists the parts.
type key struct {
	decl any
	part string
}

// errorf notes what cannot be generated, at its place in the IDL. Generate gives all of
// them, and no files.
func (g *generator) errorf(f *idl.File, pos idl.Pos, format string, args ...any) {
	g.errs = append(g.errs, f.Error(pos, fmt.Sprintf(format, args...)))
}

// plan sorts the files into packages, gives every definition its name, and finds
// whatever cannot be generated: after it, writing cannot fail but for import paths.
func (g *generator) plan(s *idl.Schema) {
	files := slices.Clone(s.Files)
	// By name first: paths differ with the directory that the command runs in.
	slices.SortFunc(files, func(a, b *idl.File) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Path, b.Path))
	})
	for _, f := range files {
		if g.back(f) == nil {
			g.errorf(f, idl.Pos{}, "there is no generator for files of the language %q", f.Language)
			return
		}
		at := g.back(f).place(f)
		dir := cmp.Or(at.path, at.dir)
		p := g.pkgs[dir]
		if p == nil {
			p = &pkg{place: at}
			g.pkgs[dir] = p
			g.order = append(g.order, p)
		}
		x := &file{File: f, pkg: p, out: outName(f.Name) + g.back(f).suffix() + ".go", all: slices.Concat(f.Structs, g.back(f).adds(f)), names: newScope(), decls: map[string]declared{}}
		for _, y := range p.files {
			if y.out == x.out {
				g.errorf(f, idl.Pos{}, "%s is in the Go package %s as well: both would be %s", y.Path, dir, x.out)
			}
		}
		p.files = append(p.files, x)
		g.files[f] = x
	}
	for _, f := range files {
		g.nameFile(g.files[f])
	}
	for _, f := range files {
		for _, s := range f.Services {
			g.nameMethods(g.files[f], s)
		}
	}
	for _, f := range files {
		g.back(f).check(g.files[f])
	}
	for _, p := range g.order {
		g.clashes(p)
	}
	g.cycles()
	defaults, parts := newDefaultWalk(g), map[*idl.Typedef]int{}
	for _, f := range files {
		for _, s := range f.Structs {
			defaults.structure(s)
		}
		for _, d := range f.Typedefs {
			g.typedefParts(&idl.Type{Kind: idl.TypedefRef, Typedef: d}, parts)
		}
	}
}

// folder is a package in a folder below the output directory.
func folder(dir string) place { return place{dir: dir, name: path.Base(dir)} }

// packageDir turns a namespace into a folder: that of go, else that of *, else
// the file's name in lower case, as Apache's compiler does.
//
//	namespace go shop.api      shop/api, package api
//	namespace * shop           shop
//	My-Order.thrift            my_order
//	namespace go shop.main     shop/main_, since package main cannot be imported
func packageDir(f *idl.File) string {
	ns := f.Namespace("go")
	if ns == "" {
		return packageName(strings.ToLower(strings.ReplaceAll(f.Name, ".", "_")))
	}
	parts := strings.Split(ns, ".")
	for i, part := range parts {
		parts[i] = packageName(part)
	}
	return path.Join(parts...)
}

// packageName makes s a package's name that can be imported: it is a folder's name and
// a word of Go at once.
func packageName(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			b[i] = '_'
		}
	}
	s = string(b)
	if s == "" || s[0] >= '0' && s[0] <= '9' || s[0] == '_' { // go build passes over folders with an underscore
		s = "x" + s
	}
	if goWords[s] || s == "main" || s == "init" {
		s += "_"
	}
	return s
}

// codecEnd ends the names of files of codecs: hello.thrift.codec.go. No file of types is called so: the
// name of an IDL file stands before the suffix of its language.
const codecEnd = ".codec.go"

// codecName gives the file of codecs that stands beside a file of types.
func codecName(types string) string { return strings.TrimSuffix(types, ".go") + codecEnd }

// outName gives the Go file of an IDL file, without its endings. The go command looks
// at what a file's name ends with before its first dot, and so must we.
//
//	order        order
//	my-order     my_order
//	order_test   order_test_idl, or only tests would see it
//	types_linux  types_linux_idl, or only Linux would
//	_order       x_order, or nobody would
func outName(name string) string {
	name = strings.ReplaceAll(name, "-", "_")
	if strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
		name = "x" + name
	}
	head, _, _ := strings.Cut(name, ".")
	if i := strings.LastIndexByte(head, '_'); i >= 0 && buildWords[head[i+1:]] {
		name = head + "_idl" + name[len(head):]
	}
	return name
}

// cycles reports Go packages that would import each other. Files never include
// each other in a circle, but packages of several files can. The error tells the
// whole circle, file by file: which one is to get another namespace is the user's
// to say. One circle is told, since mending it mends most others.
func (g *generator) cycles() {
	const walking, done = 1, 2
	state := map[*pkg]int{}
	var chain []string
	var walk func(p *pkg) bool
	walk = func(p *pkg) bool {
		state[p] = walking
		for _, f := range p.files {
			for _, inc := range f.Includes {
				q := g.files[inc.File].pkg
				if q == p || state[q] == done {
					continue
				}
				chain = append(chain, fmt.Sprintf("%s (%s) includes %s (%s)", f.Path, p.dir, inc.File.Path, q.dir))
				if state[q] == walking {
					g.errorf(f.File, inc.Pos, "Go packages would import each other: %s; give these files one namespace go", strings.Join(chain, ", "))
					return false
				}
				if !walk(q) {
					return false
				}
				chain = chain[:len(chain)-1]
			}
		}
		state[p] = done
		return true
	}
	for _, p := range g.order {
		if state[p] == 0 && !walk(p) {
			return
		}
	}
}

// file makes the two Go files of an IDL file. What a user reads comes in the order of
// its kinds: aliases, enums, structs and unions, services, constants; what belongs to
// one of them stands together in either file.
func (g *generator) file(f *file) (types, codecs string, err error) {
	t, c := g.emitter(f), g.emitter(f)
	t.use("limosa")
	for _, d := range f.Typedefs {
		t.typedef(d)
	}
	for _, d := range f.Enums {
		t.enum(d)
		c.enumText(d)
	}
	for _, d := range f.all {
		if d.Kind == idl.Union {
			t.union(d)
			continue
		}
		t.structure(d)
		c.back.codec(c, d)
	}
	for _, d := range f.Services {
		t.service(d)
		c.messages(d)
	}
	for _, d := range f.Consts {
		t.constant(d)
	}
	c.schema()
	if types, err = t.source(f.Doc, "// Does not compile against a runtime that this code is too old for.\nconst _ = limosa.Gen1\n"); err != nil {
		return "", "", err
	}
	codecs, err = c.source("", c.back.note(f.out)+"\n")
	return types, codecs, err
}
