package breaking

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
)

// compareFiles compares two sets of files. a.thrift is the one that is named;
// all others that exist on that side are named as well.
func compareFiles(t testing.TB, old, new map[string]string) []*Change {
	t.Helper()
	var both [2]*idl.Schema
	for i, files := range []map[string]string{old, new} {
		var paths []string
		for p := range files {
			paths = append(paths, p)
		}
		slices.Sort(paths)
		s, err := thriftidl.Reader{Open: opener(files)}.Load(paths...)
		if err != nil {
			t.Fatalf("side %d: %v", i, err)
		}
		both[i] = s
	}
	return Compare(both[0], both[1])
}

func opener(files map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if s, ok := files[path]; ok {
			return []byte(s), nil
		}
		return nil, fs.ErrNotExist
	}
}

// load reads files that exist only in the test; the first is listed.
func load(files map[string]string, first string) (*idl.Schema, error) {
	return thriftidl.Reader{Open: opener(files)}.Load(first)
}

func texts(found []*Change) []string {
	var list []string
	for _, b := range found {
		old := ""
		if b.Old {
			old = "old "
		}
		list = append(list, fmt.Sprintf("%s %s%d:%d", b.Rule, old, b.Pos.Line, b.Pos.Col))
	}
	return list
}

// Each rule with what sets it off; the first word of want names the rule. In
// the end all rules must have been there.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []struct{ old, new, want string }{
		{"struct S { 1: i32 a, 2: string b }", "struct S { 1: i32 a, 3: string b }", "field-id-changed 1:32"},
		{"struct S { 1: i32 a, 2: i32 b }", "struct S { 1: i32 b, 2: i32 a }", "field-id-changed 1:19, field-id-changed 1:29"},
		{"struct S { 1: i32 a }", "struct S { 1: string b }", "field-id-reused 1:22"},
		{"struct S { 1: i32 a }", "struct S { 1: i64 a }", "field-type-changed 1:19"},
		{"struct S { 1: list<i32> a }", "struct S { 1: set<i32> a }", "field-type-changed 1:24"},
		{"struct S { 1: list<i32> a }", "struct S { 1: list<i64> a }", "field-type-changed 1:25"},
		{"struct S { 1: map<i32, i32> a }", "struct S { 1: map<i32, string> a }", "field-type-changed 1:32"},
		{"struct A {} struct B {} struct S { 1: A a }", "struct A {} struct B {} struct S { 1: B a }", "field-type-changed 1:41"},
		{"struct S { 1: i32 a }", "struct S { 1: i32 b }", "field-renamed 1:19"},
		{"struct S { 1: i32 a }", "struct S { 1: required i32 b = 5 }", "field-renamed 1:28, default-changed 1:28, required-added 1:28"},
		{"struct S { 1: i32 a }", "struct S { }", "field-removed old 1:19"},
		{"struct S { 1: required i32 a }", "struct S { }", "required-removed old 1:28"},
		{"struct S { 1: required i32 a }", "struct S { 1: optional i32 a }", "required-removed 1:28"},
		{"struct S { 1: i32 a }", "struct S { 1: required i32 a }", "required-added 1:28"},
		{"struct S { }", "struct S { 1: required i32 a }", "required-added 1:28"},
		{"struct S { }", "struct S { 1: i32 a, 2: optional i32 b }", ""},
		{"struct S { 1: i32 a }", "struct S { 1: optional i32 a }", "optional-changed 1:28"},
		{"struct S { 1: i32 a = 1 }", "struct S { 1: i32 a = 2 }", "default-changed 1:19"},
		{"struct S { 1: i32 a = 1 }", "struct S { 1: i32 a }", "default-changed 1:19"},
		{"const i32 X = 1 struct S { 1: i32 a = 1 }", "const i32 X = 1 struct S { 1: i32 a = X }", ""},
		{"enum E { A = 1 } struct S { 1: E a = E.A }", "enum E { A = 1 } struct S { 1: E a = 1 }", ""},
		{`struct S { 1: map<string,double> a = {"x": 1, "y": 2} }`, `struct S { 1: map<string,double> a = {"y": 2.0, "x": 1.0} }`, ""},
		{`struct P { 1: i32 x } struct S { 1: P a = {"x": 1} }`, `struct P { 1: i32 x } struct S { 1: P a = {"x": 2} }`, "default-changed 1:39"},
		{"struct S { 1: list<i32> a = [1, 2] }", "struct S { 1: list<i32> a = [2, 1] }", "default-changed 1:25"},
		{"struct S { 1: set<i32> a = [1, 2] }", "struct S { 1: set<i32> a = [2, 1] }", ""},
		{"struct S { 1: string a }", "struct S { 1: binary a }", "type-respelled 1:22"},
		{"enum E { A } struct S { 1: i32 a }", "enum E { A } struct S { 1: E a }", "type-respelled 1:30"},
		{"typedef i32 T struct S { 1: i32 a }", "typedef i32 T struct S { 1: T a }", ""},
		{"typedef i32 T struct S { 1: T a }", "typedef i64 T struct S { 1: T a }", "typedef-changed 1:13, field-type-changed 1:31"},
		{"struct S { }", "exception S { }", "type-kind-changed 1:11"},
		{"struct S { }", "union S { }", "union-changed 1:7"},
		{"union S { }", "exception S { }", "union-changed 1:11"},
		{"enum S { A }", "struct S { }", "type-kind-changed 1:8"},
		{"union U { 1: i32 a, 2: i32 b }", "union U { 1: i32 a }", "union-field-removed old 1:28"},
		{"union U { 1: i32 a }", "union U { 1: i32 a, 2: i32 b }", "union-field-added 1:28"},
		{"union U { 1: i32 a }", "union U { 1: i32 b }", "field-renamed 1:18"},
		{"struct S { }", "", "type-removed old 1:8"},
		{"typedef i32 T", "", "type-removed old 1:13"},
		{"struct A { 1: i32 x } struct S { 1: A a }", "struct B { 1: i64 x } struct S { 1: B a }", "type-renamed 1:8, field-type-changed 1:19"},
		{"enum A { X } struct S { 1: list<A> a }", "enum B { X } struct S { 1: list<B> a }", "type-renamed 1:6"},
		{"struct A { 1: optional A next } struct S { 1: A a }", "struct B { 1: optional B next } struct S { 1: B a }", "type-renamed 1:8"},
		{"enum E { A = 1, B = 2 }", "enum E { A = 1, B = 3 }", "enum-value-changed 1:17"},
		{"enum E { A = 1, B = 2 }", "enum E { A = 1 }", "enum-value-removed old 1:17"},
		{"enum E { A = 1, B = 2 }", "enum E { A = 1, C = 2 }", "enum-value-renamed 1:17"},
		{"enum E { A, B }", "enum E { B, A }", "enum-value-changed 1:10, enum-value-changed 1:13"},
		{"enum E { A = 1 }", "enum E { A = 1, B = 2 }", ""},
		{"const i32 X = 1", "const i32 X = 2", "const-changed 1:11"},
		{"const i32 X = 1", "const i64 X = 1", "const-type-changed 1:11"},
		{"const i32 X = 1", "", "const-removed old 1:11"},
		{"namespace go a", "namespace go b", "namespace-changed 1:1"},
		{"namespace go a", "namespace * a", ""},
		{"# hello\n namespace go a\nnamespace java x", "namespace java x", "namespace-changed old 2:2"},

		{"service S { void m() }", "", "service-removed old 1:9"},
		{"service S { void m() }", "service S { }", "method-removed old 1:18"},
		{"service S { void m() }", "service S { oneway void m() }", "oneway-changed 1:25"},
		{"service S { void m() }", "service S { i32 m() }", "result-type-changed 1:17"},
		{"service S { i32 m() }", "service S { void m() }", "result-type-changed 1:18"},
		{"service S { string m() }", "service S { binary m() }", "type-respelled 1:20"},
		{"service S { i32 m() }", "service S { stream<i32> m() }", "stream-changed 1:25"},
		{"service S { void m(1: i32 a) }", "service S { void m(1: i64 a) }", "argument-type-changed 1:27"},
		{"service S { void m(1: i32 a) }", "service S { void m(2: i32 a) }", "argument-id-changed 1:27"},
		{"service S { void m(1: i32 a) }", "service S { void m(1: string b) }", "argument-id-reused 1:30"},
		{"service S { void m(1: i32 a) }", "service S { void m(1: i32 b) }", "argument-renamed 1:27"},
		{"service S { void m(1: i32 a) }", "service S { void m() }", "argument-removed old 1:27"},
		{"service S { void m() }", "service S { void m(1: i32 a) }", "argument-added 1:27"},
		{"service S { void m() }", "service S { void m(1: required i32 a) }", "required-added 1:36"},
		{"exception X { } service S { void m() throws (1: X x) }", "exception X { } service S { void m() }", "exception-removed old 1:51"},
		{"exception X { } service S { void m() }", "exception X { } service S { void m() throws (1: X x) }", "exception-added 1:51"},
		{"exception X { } service S { void m() throws (1: X x) }", "exception X { } service S { void m() throws (2: X x) }", "exception-id-changed 1:51"},
		{"exception X { } service S { void m() throws (1: X x) }", "exception X { } service S { void m() throws (1: X y) }", "exception-renamed 1:51"},
		{"exception X { } exception Y { } service S { void m() throws (1: X x) }", "exception X { } exception Y { } service S { void m() throws (1: Y x) }", "exception-type-changed 1:67"},
		{"exception X { } exception Y { } service S { void m() throws (1: X x) }", "exception X { } exception Y { } service S { void m() throws (1: Y y) }", "exception-id-reused 1:67"},
		{"service B { void m() } service S extends B { }", "service B { void m() } service S { }", "service-base-changed 1:32, method-removed 1:32"},
		{"service B { void m() } service S extends B { }", "service B { void m() } service S { i32 m() }", "service-base-changed 1:32, result-type-changed 1:40"},
		{"service B { void m() } service C extends B { } service S extends B { }", "service B { void m() } service C extends B { } service S extends C { }", "service-base-changed 1:56"},
		{"service S { void m() }", "service B { void m() } service S extends B { }", ""},
		{"service B { } service S extends B { void m() }", "service B { void m() } service S extends B { }", ""},
	} {
		found := compareFiles(t, map[string]string{"a.thrift": c.old}, map[string]string{"a.thrift": c.new})
		if got := strings.Join(texts(found), ", "); got != c.want {
			t.Errorf("%s\n%s\n\tgives %q, want %q", c.old, c.new, got, c.want)
		}
		for _, b := range found {
			seen[b.Rule] = true
			text, _, _ := strings.Cut(map[bool]string{true: c.old, false: c.new}[b.Old], "\x00")
			if lines := strings.Split(text, "\n"); b.Source != lines[b.Pos.Line-1] || b.Path != "a.thrift" || b.Msg == "" {
				t.Errorf("%s: %s %q %q", c.new, b.Path, b.Source, b.Msg)
			}
		}
	}
	found := compareFiles(t, map[string]string{"a.thrift": "struct S { }"}, map[string]string{"a.thrift": "", "b.thrift": "struct S { 1: required i32 a }"})
	if got := strings.Join(texts(found), ", "); got != "type-moved 1:8, required-added 1:28" {
		t.Errorf("moved: %s", got)
	}
	seen["type-moved"] = true
	// What Thrift does not have: see cmd/protoparse.
	for _, name := range []string{"json-name-changed", "package-changed", "oneof-changed", "enum-openness-changed"} {
		seen[name] = true
	}
	names := map[string]bool{}
	for _, r := range Rules() {
		if !seen[r.Name] || names[r.Name] || r.Text == "" || r.Harms == "" {
			t.Errorf("rule %s: seen %t, twice %t", r.Name, seen[r.Name], names[r.Name])
		}
		names[r.Name] = true
		delete(seen, r.Name)
	}
	for name := range seen {
		t.Errorf("rule %s is not in the list", name)
	}
}

func TestMessages(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"struct S { 1: i32 a }", "struct S { 1: list<i64> a }", "a.thrift:1:25: field a of struct S was i32 and is list<i64>"},
		{"struct S { 1: i32 a }", "struct S { 1: string b }", "a.thrift:1:22: id 1 of struct S was that of i32 a and is that of string b"},
		{"struct S { 1: string a = \"x\" }", "struct S { 1: string a }", `a.thrift:1:22: the default of field a of struct S was "x" and is absent`},
		{"service S { void m() }", "service S { i32 m() }", "a.thrift:1:17: the result of method S.m was void and is i32"},
		{"service S { void m() }", "service S { }", "a.thrift:1:18: method m of service S is gone"},
		{"enum S { A }", "struct S { }", "a.thrift:1:8: S was enum and is struct"},
	} {
		found := compareFiles(t, map[string]string{"a.thrift": c.old}, map[string]string{"a.thrift": c.new})
		if len(found) != 1 || found[0].String() != c.want+" ("+found[0].Rule+")" {
			t.Errorf("%v, want %s", found, c.want)
		}
	}
}

// A file that is only included and no longer is may still be there.
func TestJudgesOnlyWhatItSees(t *testing.T) {
	open := func(files map[string]string) *idl.Schema {
		s, err := load(files, "a.thrift")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	old := map[string]string{"a.thrift": "include \"b.thrift\"\nstruct S { 1: b.T t }", "b.thrift": "struct T { 1: i32 a } struct U { 1: i32 a }"}
	gone := open(map[string]string{"a.thrift": "struct S { 1: i32 t }"})
	if got := strings.Join(texts(Compare(open(old), gone)), ", "); got != "field-type-changed 1:19" {
		t.Errorf("no longer included: %s", got)
	}
	changed := map[string]string{"a.thrift": old["a.thrift"], "b.thrift": "struct T { 1: i64 a }"}
	found := Compare(open(old), open(changed))
	if got := strings.Join(texts(found), ", "); got != "field-type-changed 1:19, type-removed old 1:30" {
		t.Errorf("included: %s", got)
	}
	if found[0].Path != "b.thrift" {
		t.Errorf("path %s", found[0].Path)
	}
}

// Findings come in the order of files and lines, each time the same.
func TestIsStable(t *testing.T) {
	old, new := map[string]string{}, map[string]string{}
	for i := range 20 {
		old[fmt.Sprintf("f%02d.thrift", i)] = "struct A { 1: i32 a } struct X { 1: i32 a }"
		new[fmt.Sprintf("f%02d.thrift", i)] = "struct A { 1: i64 a }"
	}
	for i := range 5 {
		new[fmt.Sprintf("g%02d.thrift", i)] = "struct X { 1: i32 a }"
	}
	first := fmt.Sprint(compareFiles(t, old, new))
	if n := strings.Count(first, "type-moved"); strings.Count(first, "was in") != 5 {
		t.Errorf("%d moved: %s", n, first)
	}
	for range 10 {
		if again := fmt.Sprint(compareFiles(t, old, new)); again != first {
			t.Fatalf("%s\nthen\n%s", first, again)
		}
	}
}

// Types and values that double at each step, and many findings in one file.
func TestHostile(t *testing.T) {
	var b strings.Builder
	b.WriteString("typedef i32 T0\nconst list<i32> C0 = [1]\n")
	elem := "list<i32>"
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&b, "typedef map<T%d, T%d> T%d\n", i-1, i-1, i)
		if elem = "list<" + elem + ">"; i < 50 {
			fmt.Fprintf(&b, "const %s C%d = [C%d, C%d]\n", elem, i, i-1, i-1)
		}
	}
	b.WriteString("struct S { 1: T59 t }\n")
	doubled := b.String()
	if found := compareFiles(t, map[string]string{"a.thrift": doubled}, map[string]string{"a.thrift": doubled}); len(found) > 0 {
		t.Errorf("with itself: %v", found)
	}
	other := strings.Replace(strings.Replace(doubled, "typedef i32 T0", "typedef i64 T0", 1), "= [1]", "= [2]", 1)
	if found := compareFiles(t, map[string]string{"a.thrift": doubled}, map[string]string{"a.thrift": other}); len(found) != 60+1+50 {
		t.Errorf("%d findings", len(found))
	}
	var x, y strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&x, "struct S%d { 1: i32 a }\n", i)
		fmt.Fprintf(&y, "struct S%d { 1: i64 a }\n", i)
	}
	if found := compareFiles(t, map[string]string{"a.thrift": x.String()}, map[string]string{"a.thrift": y.String()}); len(found) != 30_000 {
		t.Errorf("%d findings", len(found))
	}
}

// FuzzCompare compares anything with anything. With itself nothing differs, and
// every finding has a place and a rule.
// What files have many of costs its sum, and no product: 5,000 namespaces took 12 s, and
// as many fields with one constant of 5,000 elements two minutes.
func TestManyOfAKind(t *testing.T) {
	const n = 5_000
	lines := func(format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i+1)
		}
		return b.String()
	}
	one := func(text string) map[string]string { return map[string]string{"a.thrift": text} }
	if found := compareFiles(t, one(lines("namespace l%d a\n")), one(lines("namespace l%d b\n"))); len(found) != n || found[n-1].Pos != (idl.Pos{Line: n, Col: 1}) {
		t.Errorf("%d findings for namespaces", len(found))
	}
	big := "const list<i32> BIG = [" + strings.Repeat("1,", n)
	fields := "\nstruct S {\n" + lines("%d: list<i32> f%[1]d = BIG\n") + "}\n"
	named := "const S C = {" + lines(`"f%d": BIG,`) + "}\n"
	if found := compareFiles(t, one(big+"]"+fields+named), one(big+"]"+fields+named)); len(found) != 0 {
		t.Errorf("of a file with itself: %v", found[0])
	}
	if found := compareFiles(t, one(big+"]"+fields+named), one(big+"2]"+fields+named)); len(found) != n+2 {
		t.Errorf("%d findings for a constant, %d fields and what is made of both", len(found), n)
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("struct S { 1: i32 a = 5 } service T { void m(1: S s) }", "union S { 1: i64 a } service T { S m() }")
	f.Add("enum E { A, B } const E X = E.A", "enum E { B } typedef E F")
	f.Add("service A { void m() } service B extends A { }", "service A { } service B { oneway void m() }")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, err := load(map[string]string{"a.thrift": a}, "a.thrift")
		if err != nil {
			return
		}
		if found := Compare(x, x); len(found) > 0 {
			t.Fatalf("with itself: %v", found)
		}
		y, err := load(map[string]string{"a.thrift": b}, "a.thrift")
		if err != nil {
			return
		}
		for _, c := range Compare(x, y) {
			if c.Harms == "" || c.Pos.Line < 1 || c.Pos.Col < 1 || c.Msg == "" {
				t.Fatalf("%+v", c)
			}
		}
	})
}
