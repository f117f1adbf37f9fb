package lint_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/format"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the lists of the exported API anew")

const apiDir = "internal/lint/testdata/api"

// forEngines lists the public packages that no user's program imports: what
// generated code calls, and what builds protocols, transports and tools.
var forEngines = []string{"buf", "gen", "grpc", "http1", "http2", "idl", "mux", "netio", "stats", "ttheader", "web", "wire"}

// exportedMax bounds the names that a user's program can see: package-level
// names, without methods and fields, of packages that are not for engines.
const exportedMax = 400

// TestAPIGolden compares each public package's exported API with a list in
// testdata, so that a change of what users build on is seen in review.
func TestAPIGolden(t *testing.T) {
	lists := map[string][]string{}
	names := 0
	eachSource(t, func(s *source) {
		rel := s.pkg.rel()
		if s.test || !public(rel) || s.pkg.Name == "main" || slices.Contains(s.pkg.IgnoredGoFiles, s.name) {
			return
		}
		for _, d := range s.file.Decls {
			lines := exported(s, d)
			lists[rel] = append(lists[rel], lines...)
			if !engines(rel) && !s.made { // the well-known types have the names that Protobuf gives them
				names += len(lines) - countMembers(lines)
			}
		}
	})
	t.Logf("%d exported names", names)
	if names > exportedMax {
		t.Errorf("%d exported names for users, at most %d", names, exportedMax)
	}
	for rel, lines := range lists {
		compareAPI(t, rel, lines)
	}
	files, _ := filepath.Glob(apiDir + "/*.txt")
	for _, f := range files {
		if rel := relOfAPI(f); lists[rel] == nil {
			t.Errorf("%s: there is no package %q", f, rel)
		}
	}
}

// public reports packages of the root module that other modules can import.
func public(rel string) bool {
	return moduleOf(rel) == "" && !strings.Contains("/"+rel+"/", "/internal/") && !strings.Contains(rel, "testdata") && !strings.HasPrefix(rel, "examples/")
}

// engines reports packages that are not for users' programs, and those below them.
func engines(rel string) bool {
	return slices.ContainsFunc(forEngines, func(e string) bool { return rel == e || strings.HasPrefix(rel, e+"/") })
}

func apiFile(rel string) string {
	if rel == "" {
		rel = "limosa"
	}
	return filepath.Join(apiDir, strings.ReplaceAll(rel, "/", "_")+".txt")
}

func relOfAPI(file string) string {
	rel := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".txt"), "_", "/")
	if rel == "limosa" {
		return ""
	}
	return rel
}

func compareAPI(t *testing.T, rel string, lines []string) {
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	file := apiFile(rel)
	if *update {
		if err := os.MkdirAll(apiDir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%v (go test ./internal/lint -run API -update writes it)", err)
		return
	}
	if got == string(want) {
		return
	}
	before := strings.Split(strings.TrimSuffix(string(want), "\n"), "\n")
	for _, l := range before {
		if !slices.Contains(lines, l) {
			t.Errorf("%s: gone: %s", file, l)
		}
	}
	for _, l := range lines {
		if !slices.Contains(before, l) {
			t.Errorf("%s: new: %s", file, l)
		}
	}
}

// exported gives one line for each exported name that d declares, and for the
// exported fields and methods of the types in it.
func exported(s *source, d ast.Decl) (lines []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
			lines = append(lines, "func "+strings.TrimPrefix(oneLine(s, &ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type}), "func "))
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					lines = append(lines, exportedType(s, spec)...)
				}
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					if !n.IsExported() {
						continue
					}
					line := d.Tok.String() + " " + n.Name
					if spec.Type != nil {
						line += " " + oneLine(s, spec.Type)
					}
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}

// exportedType gives a type's line and those of its exported fields or methods.
func exportedType(s *source, spec *ast.TypeSpec) []string {
	name := spec.Name.Name
	if spec.TypeParams != nil {
		text := oneLine(s, &ast.FuncType{TypeParams: spec.TypeParams, Params: &ast.FieldList{}})
		name += strings.TrimSuffix(strings.TrimPrefix(text, "func"), "()")
	}
	var members *ast.FieldList
	var line, kind string
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		line, members, kind = "type "+name+" struct", typ.Fields, "field "
	case *ast.InterfaceType:
		line, members, kind = "type "+name+" interface", typ.Methods, "method "
	default:
		eq := " "
		if spec.Assign.IsValid() {
			eq = " = "
		}
		return []string{"type " + name + eq + oneLine(s, spec.Type)}
	}
	lines := []string{line}
	for _, f := range members.List {
		text := strings.TrimPrefix(oneLine(s, f.Type), "func")
		if kind == "field " {
			text = " " + oneLine(s, f.Type)
		}
		if len(f.Names) == 0 {
			lines = append(lines, kind+spec.Name.Name+" embeds "+oneLine(s, f.Type))
		}
		for _, n := range f.Names {
			if n.IsExported() {
				lines = append(lines, kind+spec.Name.Name+"."+n.Name+text)
			}
		}
	}
	return lines
}

// countMembers gives how many of the lines are fields and methods.
func countMembers(lines []string) (n int) {
	for _, l := range lines {
		if strings.HasPrefix(l, "field ") || strings.HasPrefix(l, "method ") || strings.HasPrefix(l, "func (") {
			n++
		}
	}
	return n
}

// oneLine prints a node without its comments, its white space folded.
func oneLine(s *source, n any) string {
	var b bytes.Buffer
	if err := format.Node(&b, token.NewFileSet(), n); err != nil {
		return s.path + ": " + err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
