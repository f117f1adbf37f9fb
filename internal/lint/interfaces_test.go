package lint_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// seams are the interfaces that the design is cut along (docs/architecture.md,
// Adding a room): whoever adds a room implements one. Their second
// implementation may stand in a test, which is what a seam is for as well.
// An optional part of a seam is one as well.
var seams = []string{
	"buf.Source", "rpc.Codec", "rpc.Caller", "netio.Conn", "internal/shape.Rules", "internal/shape.View",
	"wire.Protocol", "wire.Session", "wire.Clocked", "wire.Keeper", "wire.Orderer", "wire.Router", "wire.Named",
}

// written are the interfaces of what the generators write for programs: their
// implementations stand in the golden files, with these words.
var written = map[string]string{"internal/protobuf/plan.knower": ") Known() bool"}

// loneMax bounds the share of interfaces with one implementation, in per cent.
const loneMax = 15

// An iface is one hand-written interface outside of tests, and what implements it.
type iface struct {
	key   string // its package below the module, and its name
	pos   token.Position
	types []string // outside of tests, generated code and the standard library included
	tests []string
}

// lone reports an interface that one type, or none, implements. A seam's
// implementations in tests count.
func (f *iface) lone() bool {
	n := len(f.types)
	if slices.Contains(seams, f.key) {
		n += len(f.tests)
	}
	return n < 2
}

// TestLintLoneInterfaces counts the interfaces that only one type implements.
//
// What counts: named interfaces with methods, in hand-written files that are no
// tests. Constraints (a union of types) do not: that many types satisfy them is
// their meaning. An implementation is a named type of the workspace, generated
// ones included, or an exported one of a package of the standard library that the
// interface's package imports, or a golden file of the generators. A type that has all of the methods from one field
// that it embeds is that field's type again.
func TestLintLoneInterfaces(t *testing.T) {
	w := newHouse(t)
	found := w.interfaces()
	if len(found) < 10 {
		t.Fatalf("only %d interfaces found: the count is not to be trusted", len(found))
	}
	lone := 0
	for _, f := range found {
		if words := written[f.key]; words != "" {
			f.types = append(f.types, golden(t, words)...)
		}
		mark := " "
		if f.lone() {
			lone++
			mark = "!"
		}
		t.Logf("%s %-32s %2d %v, in tests %v", mark, f.key, len(f.types), f.types[:min(len(f.types), 4)], f.tests[:min(len(f.tests), 4)])
	}
	t.Logf("%d of %d interfaces have one implementation: %d %%", lone, len(found), 100*lone/len(found))
	if 100*lone > loneMax*len(found) {
		t.Errorf("%d of %d interfaces have one implementation, at most %d %%", lone, len(found), loneMax)
	}
	for _, key := range slices.Concat(seams, slices.Collect(maps.Keys(written))) {
		if !slices.ContainsFunc(found, func(f *iface) bool { return f.key == key }) {
			t.Errorf("%s is no interface", key)
		}
	}
}

// golden gives the generators' golden files in which the words stand.
func golden(t *testing.T, words string) (files []string) {
	t.Helper()
	for _, pattern := range []string{"gen/testdata/golden*/*/*.go", "gen/testdata/golden*/*/*/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for range bytes.Count(text, []byte(words)) {
				files = append(files, name)
			}
		}
	}
	return files
}

// A house is every package of the workspace with its types. Packages are checked
// in the order of their imports, from source, so that a type is the same one
// wherever it is used.
type house struct {
	fset    *token.FileSet
	std     types.Importer            // the standard library's and other modules', by export data
	checked map[string]*types.Package // ours, without tests
	found   map[string]*iface
	rooms   []room
}

// A room is one package, or one with its tests.
type room struct {
	pkg  *types.Package
	test bool
}

// theHouse is made once for all tests that ask.
var theHouse = sync.OnceValues(makeHouse)

func newHouse(t *testing.T) *house {
	t.Helper()
	w, err := theHouse()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func makeHouse() (*house, error) {
	all, err := sources()
	if err != nil {
		return nil, err
	}
	// With -deps what is imported comes first.
	listed, err := goList("-export", "-deps", "work")
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range listed {
		exports[p.ImportPath] = p.Export
	}
	byPackage := map[string][]*source{}
	for _, s := range all {
		if !slices.Contains(s.pkg.IgnoredGoFiles, s.name) {
			byPackage[s.pkg.ImportPath] = append(byPackage[s.pkg.ImportPath], s)
		}
	}
	w := &house{fset: all[0].fset, checked: map[string]*types.Package{}, found: map[string]*iface{}}
	w.std = importer.ForCompiler(w.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(exports[path])
	})
	for _, p := range listed {
		if p.ours() {
			w.checked[p.ImportPath] = w.check(p.ImportPath, byPackage[p.ImportPath], func(s *source) bool { return !s.test })
			w.rooms = append(w.rooms, room{pkg: w.checked[p.ImportPath]})
			w.declared(p, byPackage[p.ImportPath])
		}
	}
	for path, files := range byPackage { // tests come last: they may import anything
		for _, inside := range []bool{true, false} {
			has := slices.ContainsFunc(files, func(s *source) bool { return s.test && inside == (s.file.Name.Name == s.pkg.Name) })
			if has {
				name := path
				if !inside {
					name += "_test"
				}
				pkg := w.check(name, files, func(s *source) bool {
					return inside == (s.file.Name.Name == s.pkg.Name) && (inside || s.test)
				})
				w.rooms = append(w.rooms, room{pkg: pkg, test: true})
			}
		}
	}
	return w, nil
}

// Import implements [types.Importer].
func (w *house) Import(path string) (*types.Package, error) {
	if p := w.checked[path]; p != nil {
		return p, nil
	}
	return w.std.Import(path)
}

// check gives the types of one package. Errors are ignored: what does not compile
// is reported by whoever compiles it.
func (w *house) check(path string, files []*source, want func(*source) bool) *types.Package {
	var asts []*ast.File
	for _, s := range files {
		if want(s) {
			asts = append(asts, s.file)
		}
	}
	conf := types.Config{Importer: w, Error: func(error) {}, FakeImportC: true, IgnoreFuncBodies: true}
	pkg, _ := conf.Check(path, w.fset, asts, nil)
	return pkg
}

// declared notes the interfaces of a package that count.
func (w *house) declared(p *listed, files []*source) {
	for _, s := range files {
		if s.test || s.made || s.alien {
			continue
		}
		for _, d := range s.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					if i := methods(w.checked[p.ImportPath], spec.Name.Name); i != nil {
						key := strings.TrimPrefix(p.rel()+"."+spec.Name.Name, ".")
						w.found[key] = &iface{key: key, pos: s.at(spec)}
					}
				}
			}
		}
	}
}

// methods gives the interface of that name, and nil if it is none or none that counts.
func methods(pkg *types.Package, name string) *types.Interface {
	o, ok := pkg.Scope().Lookup(name).(*types.TypeName)
	if !ok || o.IsAlias() {
		return nil
	}
	i, ok := o.Type().Underlying().(*types.Interface)
	if !ok || i.NumMethods() == 0 || !i.IsMethodSet() {
		return nil
	}
	return i
}

// interfaces gives the interfaces that count with their implementations.
func (w *house) interfaces() (found []*iface) {
	for _, f := range w.found {
		found = append(found, f)
		path, name := modulePath, f.key
		if i := strings.LastIndexByte(f.key, '.'); i >= 0 {
			path, name = modulePath+"/"+f.key[:i], f.key[i+1:]
		}
		home := w.checked[path]
		for _, r := range w.rooms {
			asked := home
			if r.pkg.Path() == path {
				asked = r.pkg // a package with its tests has types of its own
			}
			if i := methods(asked, name); i != nil {
				w.collect(f, i, r)
			}
		}
		for _, p := range home.Imports() {
			if !strings.Contains(strings.SplitN(p.Path(), "/", 2)[0], ".") {
				w.collect(f, methods(home, name), room{pkg: p})
			}
		}
		slices.Sort(f.types)
		f.types = slices.Compact(f.types)
	}
	slices.SortFunc(found, func(a, b *iface) int { return strings.Compare(a.key, b.key) })
	return found
}

// collect adds the types of a room that implement i.
func (w *house) collect(f *iface, i *types.Interface, r room) {
	for _, name := range r.pkg.Scope().Names() {
		o, ok := r.pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || o.IsAlias() || types.IsInterface(o.Type()) || o.Type().Underlying() == types.Typ[types.Invalid] || !implements(o.Type(), i) || again(o.Type(), i) {
			continue
		}
		test := strings.HasSuffix(w.fset.Position(o.Pos()).Filename, "_test.go")
		rel := strings.TrimPrefix(strings.TrimPrefix(r.pkg.Path(), modulePath), "/")
		if test {
			f.tests = append(f.tests, rel+"."+name)
		} else if !r.test {
			f.types = append(f.types, rel+"."+name)
		}
	}
}

func implements(t types.Type, i *types.Interface) bool {
	if !types.Implements(t, i) && !types.Implements(types.NewPointer(t), i) {
		return false
	}
	// A type with a field that does not compile here is said to implement anything.
	for m := range i.Methods() {
		if o, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), false, m.Pkg(), m.Name()); o == nil {
			return false
		}
	}
	return true
}

// again reports a type that has all of i from one field that it embeds.
func again(t types.Type, i *types.Interface) bool {
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range st.Fields() {
		if !f.Embedded() || !implements(f.Type(), i) {
			continue
		}
		own := false
		for m := range i.Methods() {
			_, index, _ := types.LookupFieldOrMethod(types.NewPointer(t), false, m.Pkg(), m.Name())
			own = own || len(index) == 1
		}
		if !own {
			return true
		}
	}
	return false
}

// TestLintLoneInterfacesFinds holds the count itself to a list of right and wrong.
func TestLintLoneInterfacesFinds(t *testing.T) {
	const text = `package p
type one interface{ A() }
type two interface{ B() }
type constraint interface{ ~int | ~string; A() }
type none struct{}
type a struct{ a int }
func (a) A() {}
func (a) B() {}
type b struct{ a }
type c struct{ a }
func (*c) B() {}
`
	w := &house{fset: token.NewFileSet(), checked: map[string]*types.Package{}, found: map[string]*iface{}}
	file, err := parser.ParseFile(w.fset, "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	p := &listed{ImportPath: modulePath + "/p", Name: "p"}
	files := []*source{{pkg: p, fset: w.fset, file: file}}
	w.checked[p.ImportPath] = w.check(p.ImportPath, files, func(*source) bool { return true })
	w.rooms = []room{{pkg: w.checked[p.ImportPath]}}
	w.declared(p, files)
	var got []string
	for _, f := range w.interfaces() {
		got = append(got, fmt.Sprintf("%s%v%v", f.key, f.types, f.lone()))
	}
	if got, want := strings.Join(got, " "), "p.one[p.a]true p.two[p.a p.c]false"; got != want {
		t.Errorf("found %s; want %s", got, want)
	}
}
