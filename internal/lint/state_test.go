package lint_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// mayBeState lists the package variables that hold state, and why.
var mayBeState = map[string]string{
	"buf.shelves":                 "free memory, as in a sync.Pool: what is there changes nothing but time",
	"netio.Default":               "the one Net that connections share when a user passes none",
	"rpc.defaults":                "the table of default limits; WithDefaults reads it through pointers",
	"internal/thrift/plan.Memo":   "memo of plans by type: a pure function of the type, so sharing it changes nothing but time",
	"internal/protobuf/plan.Memo": "memo of plans by type: a pure function of the type, so sharing it changes nothing but time",
	"thrift.plans":                "memo of plans by type: a pure function of the type, so sharing it changes nothing but time",
}

// TestLintNoPackageState finds package variables that can change. Tables that
// nobody writes to, error values, pools of memory and descriptions of methods pass.
func TestLintNoPackageState(t *testing.T) {
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	listed, err := goList("-export", "-deps", "work")
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for _, p := range listed {
		exports[p.ImportPath] = p.Export
	}
	byPackage := map[string][]*source{}
	for _, s := range all {
		if !s.test && !s.alien && !slices.Contains(s.pkg.IgnoredGoFiles, s.name) {
			byPackage[s.pkg.ImportPath] = append(byPackage[s.pkg.ImportPath], s)
		}
	}
	found := state{vars: map[string]*variable{}}
	for path, files := range byPackage {
		found.add(path, files, exports)
	}
	for _, v := range found.vars {
		if why := v.complaint(); why != "" && mayBeState[v.key] == "" {
			t.Errorf("%v: package variable %s %s", v.pos, v.key, why)
		}
	}
	for key := range mayBeState {
		pkg, _, _ := strings.Cut(key, ".")
		if len(byPackage[modulePath+"/"+pkg]) > 0 && found.vars[key] == nil {
			t.Logf("the exception %s is not needed", key)
		}
	}
}

// state is what the workspace's package variables are and what is done to them.
type state struct{ vars map[string]*variable }

// A variable is one package variable; key is its package below the module and its name.
type variable struct {
	key     string
	pos     token.Position
	typ     types.Type // nil while only a use was seen
	written []token.Position
	taken   []token.Position // where its address is taken
}

func (v *variable) complaint() string {
	switch {
	case v.typ == nil || isError(v.typ) || isPool(v.typ):
		return ""
	case len(v.written) > 0:
		return fmt.Sprintf("is written to at %v", v.written[0])
	case holdsState(v.typ, nil):
		return fmt.Sprintf("is of type %v, which is there to change", v.typ)
	case len(v.taken) > 0 && !isDescription(v.typ):
		return fmt.Sprintf("has its address taken at %v", v.taken[0])
	}
	return ""
}

func (s *state) get(o types.Object) *variable {
	rel := strings.TrimPrefix(strings.TrimPrefix(o.Pkg().Path(), modulePath), "/")
	if rel == "" {
		rel = "limosa"
	}
	key := rel + "." + o.Name()
	v := s.vars[key]
	if v == nil {
		v = &variable{key: key}
		s.vars[key] = v
	}
	return v
}

// add checks one package. Errors of types are ignored: what does not compile
// is reported by whoever compiles it.
func (s *state) add(path string, files []*source, exports map[string]string) {
	fset := files[0].fset
	lookup := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(exports[path])
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup), Error: func(error) {}, FakeImportC: true}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	var asts []*ast.File
	for _, f := range files {
		asts = append(asts, f.file)
	}
	conf.Check(path, fset, asts, info)
	for _, f := range files {
		s.declared(f, info)
		s.used(f, info)
	}
}

func (s *state) declared(f *source, info *types.Info) {
	for _, d := range f.file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				if o := info.Defs[name]; o != nil && name.Name != "_" {
					v := s.get(o)
					v.typ, v.pos = o.Type(), f.at(name)
				}
			}
		}
	}
}

// used notes writes to package variables and where their addresses escape.
func (s *state) used(f *source, info *types.Info) {
	write := func(e ast.Expr) {
		if v := s.root(e, info); v != nil {
			v.written = append(v.written, f.at(e))
		}
	}
	ast.Inspect(f.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				write(e)
			}
		case *ast.IncDecStmt:
			write(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				write(n.Key)
				write(n.Value)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				s.take(n.X, f, info)
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear" || id.Name == "copy") && len(n.Args) > 0 {
				write(n.Args[0])
			}
		case *ast.SelectorExpr:
			// A method with a pointer receiver takes the address of a plain variable.
			if sel := info.Selections[n]; sel != nil && sel.Kind() == types.MethodVal && !isPointer(sel.Recv()) {
				if sig, ok := sel.Obj().Type().(*types.Signature); ok && sig.Recv() != nil && isPointer(sig.Recv().Type()) {
					s.take(n.X, f, info)
				}
			}
		}
		return true
	})
}

func (s *state) take(e ast.Expr, f *source, info *types.Info) {
	if v := s.root(e, info); v != nil {
		v.taken = append(v.taken, f.at(e))
	}
}

// root gives the package variable of this project whose memory e stands for.
func (s *state) root(e ast.Expr, info *types.Info) *variable {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SelectorExpr:
			if o, ok := info.Uses[x.Sel].(*types.Var); ok && isPackageLevel(o) {
				return s.get(o)
			}
			e = x.X
		case *ast.Ident:
			if o, ok := info.Uses[x].(*types.Var); ok && isPackageLevel(o) {
				return s.get(o)
			}
			return nil
		default:
			return nil
		}
	}
}

func isPackageLevel(o *types.Var) bool {
	return !o.IsField() && o.Pkg() != nil && o.Parent() == o.Pkg().Scope() && (o.Pkg().Path() == modulePath || strings.HasPrefix(o.Pkg().Path(), modulePath+"/"))
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

func isError(t types.Type) bool {
	err := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return types.Implements(t, err)
}

// isPool reports a sync.Pool, an array of them, or a struct of nothing else.
func isPool(t types.Type) bool {
	if named(t) == "sync.Pool" {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return isPool(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if !isPool(f.Type()) {
				return false
			}
		}
		return u.NumFields() > 0
	}
	return false
}

// isDescription reports types whose values are constant by their own contract,
// so that pointers to them may be handed around.
func isDescription(t types.Type) bool {
	return slices.Contains([]string{modulePath + "/rpc.Method", modulePath + "/rpc.Handler", "embed.FS"}, named(t))
}

func named(t types.Type) string {
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return ""
	}
	return n.Obj().Pkg().Path() + "." + n.Obj().Name()
}

// holdsState reports types that make no sense without changing: locks,
// atomics, channels, and pointers to structs that are not descriptions.
func holdsState(t types.Type, seen []types.Type) bool {
	if slices.Contains(seen, t) || named(t) == "time.Time" || isDescription(t) {
		return false
	}
	seen = append(seen, t)
	name := named(t)
	if pkg, _, _ := strings.Cut(name, "."); pkg == "sync" || pkg == "sync/atomic" {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Chan:
		return true
	case *types.Pointer:
		elem := named(u.Elem())
		return elem != "regexp.Regexp" && elem != "text/template.Template" && !isDescription(u.Elem())
	case *types.Array:
		return holdsState(u.Elem(), seen)
	case *types.Struct:
		for f := range u.Fields() {
			if holdsState(f.Type(), seen) {
				return true
			}
		}
	}
	return false
}

// TestLintPackageStateFinds holds the finder itself to a list of right and wrong.
func TestLintPackageStateFinds(t *testing.T) {
	const text = `package p
var errFixed error
var table = []string{"a"}
var matrix = [2]struct{ n int }{}
var written, cleared = 1, map[string]int{}
var ring chan int
var escaped = [4]byte{}
var through = []int{1}
func f() *[4]byte { written++; clear(cleared); through[0] = 2; _ = table[0]; _ = matrix; return &escaped }
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := state{vars: map[string]*variable{}}
	found.add(modulePath+"/p", []*source{{fset: fset, file: file}}, nil)
	var bad []string
	for _, v := range found.vars {
		if v.complaint() != "" {
			bad = append(bad, v.key)
		}
	}
	slices.Sort(bad)
	if got, want := strings.Join(bad, " "), "p.cleared p.escaped p.ring p.through p.written"; got != want {
		t.Errorf("found %s; want %s", got, want)
	}
}
