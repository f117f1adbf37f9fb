package lint_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// place is how docs/how names code: a file and what it declares in it.
var place = regexp.MustCompile("`(?:([a-z0-9_/]+)/)?([a-z0-9_]+\\.go):((?:[A-Za-z_][A-Za-z0-9_]*\\.)?[A-Za-z_][A-Za-z0-9_]*)`")

// TestLintDocsPlaces finds references such as `cut.go:Session.Cut` to code that
// has moved or has another name now.
func TestLintDocsPlaces(t *testing.T) {
	declared := map[string]map[string]bool{} // by file name without folder
	eachSource(t, func(s *source) {
		if declared[s.name] == nil {
			declared[s.name] = map[string]bool{}
		}
		for _, name := range declares(s) {
			declared[s.name][name] = true
		}
	})
	pages, err := filepath.Glob("docs/*/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range place.FindAllStringSubmatch(string(text), -1) {
			found++
			if !declared[m[2]][m[3]] {
				t.Errorf("%s names %s:%s, which is not there", page, m[2], m[3])
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d references found: the search is not to be trusted", found)
	}
}

// declares gives the names that a file declares: of types, functions, methods
// (with and without their type), variables, constants, fields.
func declares(s *source) (names []string) {
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
			if d.Recv != nil {
				names = append(names, receiver(d)+"."+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
					if st, ok := spec.Type.(*ast.StructType); ok {
						for _, f := range st.Fields.List {
							for _, n := range f.Names {
								names = append(names, spec.Name.Name+"."+n.Name)
							}
						}
					}
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}
