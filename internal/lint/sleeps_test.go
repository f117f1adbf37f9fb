package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestLintSleeps finds tests that wait by the clock. A sleep stands in a bubble
// of testing/synctest, or in what only bubbles call, or it says beside it what
// is real about its time.
func TestLintSleeps(t *testing.T) {
	packages := map[string][]*source{}
	eachSource(t, func(s *source) {
		if s.test {
			packages[s.pkg.Dir] = append(packages[s.pkg.Dir], s)
		}
	})
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		for _, pos := range realSleeps(packages[dir]) {
			t.Errorf("%v: a sleep outside of a bubble without a word why: use testing/synctest, or say `// Real time: …` or `// Virtual time: …`", pos)
		}
	}
}

// realSleeps gives the calls of time.Sleep in a package's test files that some
// test reaches without entering a bubble, and that no comment explains.
//
// It follows names, not types: whoever mentions a function of these files is
// taken to call it, and whoever mentions a method to call those of all types
// that have one of this name. So a sleep may be found in vain where two methods
// share a name; overlooked is one in a method that only code outside of the
// package's tests calls, through an interface.
func realSleeps(files []*source) (found []token.Position) {
	type function struct {
		source *source
		body   ast.Node
	}
	named := map[string][]function{} // functions and variables by name, methods of all types by name behind a dot
	var next []function
	for _, s := range files {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			switch {
			case ok && isRoot(f):
				next = append(next, function{s, f})
			case ok:
				name := f.Name.Name
				if f.Recv != nil {
					name = "." + name
				}
				named[name] = append(named[name], function{s, f})
			default:
				// What a variable of the package holds is known by its name.
				for _, name := range variables(d) {
					named[name] = append(named[name], function{s, d})
				}
			}
		}
	}
	for len(next) > 0 {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		for _, n := range unbubbled(at.body) {
			if isCall(n, "time", "Sleep") && !at.source.explained(n) {
				found = append(found, at.source.at(n))
			}
			name := ""
			switch n := n.(type) {
			case *ast.SelectorExpr:
				name = "." + n.Sel.Name
			case *ast.Ident:
				name = n.Name
			}
			next = append(next, named[name]...)
			delete(named, name)
		}
	}
	slices.SortFunc(found, func(a, b token.Position) int {
		return strings.Compare(a.String(), b.String())
	})
	return found
}

// isRoot reports what the testing package or the runtime calls.
func isRoot(f *ast.FuncDecl) bool {
	if f.Recv != nil {
		return false
	}
	for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example", "init"} {
		if strings.HasPrefix(f.Name.Name, prefix) {
			return true
		}
	}
	return false
}

func variables(d ast.Decl) (names []string) {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR {
		return nil
	}
	for _, spec := range g.Specs {
		for _, name := range spec.(*ast.ValueSpec).Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// unbubbled gives the nodes of a function that do not run in a bubble.
func unbubbled(body ast.Node) (nodes []ast.Node) {
	selected := map[ast.Node]bool{} // names behind a dot, which their selector tells
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil || isCall(n, "synctest", "Test") {
			return false
		}
		if sel, ok := n.(*ast.SelectorExpr); ok {
			selected[sel.Sel] = true
		}
		if !selected[n] {
			nodes = append(nodes, n)
		}
		return true
	})
	return nodes
}

// isCall reports a call of a function of another package.
func isCall(n ast.Node, pkg, name string) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// explained reports whether a comment in the line of a node, or in the line
// above, says what its time is.
func (s *source) explained(n ast.Node) bool {
	line := s.at(n).Line
	for _, g := range s.file.Comments {
		end := s.fset.Position(g.End()).Line
		if text := g.Text(); (end == line || end+1 == line) && (strings.Contains(text, "Real time:") || strings.Contains(text, "Virtual time:")) {
			return true
		}
	}
	return false
}

// TestLintSleepsFinds shows which sleeps are found.
func TestLintSleepsFinds(t *testing.T) {
	const text = `package p
func TestInBubble(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(1); onlyInBubbles(); both() }) }
func onlyInBubbles() { time.Sleep(2) }
func both() {
	time.Sleep(3) // found
}
func TestBeside(t *testing.T) {
	both()
	synctest.Test(t, bubble)
	time.Sleep(4) // found
	// Real time: the kernel's timer.
	time.Sleep(5)
	time.Sleep(6) // Virtual time: its caller is in a bubble.
	new(rig).wait()
	unused := 0
	x.named(unused)
	held()
}
func bubble(t *testing.T) { time.Sleep(7) }
func (r *rig) wait() {
	time.Sleep(8) // found
}
func (r *rig) unused() { time.Sleep(9) }
func named() { time.Sleep(9) }
var held = func() {
	time.Sleep(10) // found
}
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p_test.go", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []int
	for i, line := range strings.Split(text, "\n") {
		if strings.HasSuffix(line, "// found") {
			want = append(want, i+1)
		}
	}
	for _, pos := range realSleeps([]*source{{fset: fset, file: file}}) {
		got = append(got, pos.Line)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("found in the lines %v, want %v", got, want)
	}
}
