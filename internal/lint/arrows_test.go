package lint_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"testing"
)

// arrowsMax bounds the arrows upwards in a room of codecs; the engine and the
// protocols have theirs in the log.
const arrowsMax = 15

// codecRooms are the rooms that arrowsMax holds for.
var codecRooms = []string{"thrift", "thrift/impl", "internal/thrift/raw", "internal/thrift/plan", "internal/thrift/lazy", "internal/thrift/tjson",
	"protobuf", "internal/protobuf/raw", "internal/protobuf/plan", "internal/protobuf/pjson", "internal/shape"}

// An arrow leads from a file to another one of its package that declares
// something which the first one uses.
type arrow struct{ from, to string }

// TestShapeArrows counts the arrows that lead upwards in each room: those against
// the order of the files that has the fewest. docs/architecture.md has the table.
func TestShapeArrows(t *testing.T) {
	w := newHouse(t)
	for _, rel := range append(slices.Clone(codecRooms), "rpc", "mux", "netio", "ttheader", "http2", "gen") {
		files, arrows := w.arrows(t, rel)
		if len(files) == 0 {
			t.Errorf("there is no package %s", rel)
		}
		n := upwards(files, arrows)
		t.Logf("%-26s %2d files, %3d arrows, %2d upwards", rel, len(files), len(arrows), n)
		if n > arrowsMax && slices.Contains(codecRooms, rel) {
			t.Errorf("%s has %d arrows upwards, at most %d", rel, n, arrowsMax)
		}
	}
}

// arrows gives the hand-written files of a package and the arrows between them.
func (w *house) arrows(t *testing.T, rel string) (files []string, arrows map[arrow]bool) {
	t.Helper()
	var asts []*ast.File
	path := modulePath + "/" + rel
	eachSource(t, func(s *source) {
		if s.pkg.rel() == rel && !s.test && !s.made && !slices.Contains(s.pkg.IgnoredGoFiles, s.name) {
			asts, files = append(asts, s.file), append(files, s.path)
		}
	})
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: w, Error: func(error) {}, FakeImportC: true}
	pkg, _ := conf.Check(path, w.fset, asts, info)
	arrows = map[arrow]bool{}
	for id, o := range info.Uses {
		v, local := o.(*types.Var)
		local = local && !v.IsField() && o.Parent() != pkg.Scope()
		if _, name := o.(*types.PkgName); o.Pkg() != pkg || name || local || o.Pos() == token.NoPos {
			continue
		}
		if a := (arrow{w.fset.Position(id.Pos()).Filename, w.fset.Position(o.Pos()).Filename}); a.from != a.to {
			arrows[a] = true
		}
	}
	return files, arrows
}

// upwards gives the number of arrows against the best order that moving one file
// at a time leads to, from the order of names.
func upwards(files []string, arrows map[arrow]bool) int {
	count := func(order []string) (n int) {
		at := map[string]int{}
		for i, f := range order {
			at[f] = i
		}
		for a := range arrows {
			if at[a.from] > at[a.to] {
				n++
			}
		}
		return n
	}
	slices.Sort(files)
	best := count(files)
	for again := true; again; {
		again = false
		for i := range files {
			for j := range files {
				order := slices.Clone(files)
				f := order[i]
				order = slices.Insert(slices.Delete(order, i, i+1), j, f)
				if n := count(order); n < best {
					files, best, again = order, n, true
				}
			}
		}
	}
	return best
}

// TestShapeArrowsFinds: a circle has one arrow upwards, a chain none.
func TestShapeArrowsFinds(t *testing.T) {
	chain := map[arrow]bool{{"c", "b"}: true, {"b", "a"}: true, {"c", "a"}: true}
	if n := upwards([]string{"a", "b", "c"}, chain); n != 0 {
		t.Errorf("a chain has %d arrows upwards", n)
	}
	chain[arrow{"a", "c"}] = true
	if n := upwards([]string{"a", "b", "c"}, chain); n != 1 {
		t.Errorf("a circle has %d arrows upwards, want 1", n)
	}
}
