package thriftidl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/idl"
)

// load reads files that exist only in the test; the first is listed.
func load(files map[string]string, first string) (*idl.Schema, error) {
	t := Reader{Open: func(path string) ([]byte, error) {
		if s, ok := files[path]; ok {
			return []byte(s), nil
		}
		return nil, fs.ErrNotExist
	}}
	return t.Load(first)
}

func TestGrammar(t *testing.T) {
	s, err := Reader{}.Load("testdata/grammar.thrift")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Files) != 2 || s.Files[0].Name != "shared" || s.Files[0].Listed || !s.Files[1].Listed {
		t.Fatalf("files: %d", len(s.Files))
	}
	f := s.Files[1]
	for _, c := range []struct{ what, got, want string }{
		{"file doc", f.Doc, "Every production of the grammar stands in this file."},
		{"go namespace", f.Namespace("go"), "limosa.grammar"},
		{"any namespace", f.Namespace("rb"), "grammar"},
		{"consts", fmt.Sprint(len(f.Consts)), "24"},
		{"string", f.Consts[10].Value.Text, "a \"quoted\"\ttext\n"},
		{"min int64", fmt.Sprint(f.Consts[6].Value.Int), "-9223372036854775808"},
		{"enum doc", f.Enums[0].Doc, "A color.\n\nindented"},
		{"implicit enum value", fmt.Sprint(f.Enums[0].Values[1].Value), "2"},
		{"value doc", f.Enums[0].Values[1].Doc, "the sea"},
		{"field doc", f.Structs[1].Fields[2].Doc, "its color"},
		{"tag", f.Structs[1].Fields[2].Annotations[0].Value, `json:"c"`},
		{"bare annotation", f.Structs[1].Annotations[1].Value, "1"},
		{"type", f.Structs[2].Fields[10].Type.String(), "list<list<set<map<string,Point>>>>"},
		{"cpp_type", f.Structs[2].Fields[13].Type.CppType, "l"},
		{"implicit ids", fmt.Sprint(f.Structs[2].Fields[24].ID, f.Structs[2].Fields[25].ID), "-1 -2"},
		{"union fields", string(f.Structs[3].Fields[1].Presence), "optional"},
		{"parent", f.Services[0].Parent.Name, "Root"},
		{"parent file", f.Services[0].ParentFile, "testdata/shared.thrift"},
		{"async", fmt.Sprint(f.Services[0].Methods[2].Oneway), "true"},
		{"throws", f.Services[0].Methods[3].Throws[1].Type.Struct.Name, "Far"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	var shapes []string
	for _, m := range f.Services[1].Methods {
		shapes = append(shapes, fmt.Sprintf("%s %v %v", m.Name, m.ClientStream, m.ServerStream))
	}
	if got := strings.Join(shapes, ", "); got != "down false true, up true false, both true true, kitex true true, one false false" {
		t.Errorf("streams: %s", got)
	}
}

func TestJSONIsStable(t *testing.T) {
	var all [2]string
	for i := range all {
		s, err := Reader{}.Load("testdata/grammar.thrift")
		if err != nil {
			t.Fatal(err)
		}
		p, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = string(p)
		var back idl.Schema
		if err := json.Unmarshal(p, &back); err != nil {
			t.Fatal(err)
		}
		if again, _ := json.Marshal(&back); string(again) != all[i] {
			t.Fatal("the schema does not survive JSON")
		}
	}
	if all[0] != all[1] {
		t.Fatal("two loads give different JSON")
	}
	if !strings.Contains(all[0], `"kind":"map","key":{"kind":"typedef","name":"UserID","file":"testdata/grammar.thrift"`) {
		t.Error("a named type has no name or file in JSON")
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"struct A { 1: Missing x }", "1:15: unknown type Missing"},
		{"struct A { 1: point x }\nstruct Point {}", "1:15: unknown type point: there is Point"},
		{"struct A { 1: no.Thing x }", "1:15: unknown type no.Thing: nothing named no is included"},
		{"struct A { 1: i32 x, 1: i32 y }", "1:29: field y: id 1 is already that of x in line 1"},
		{"struct A { 1: i32 x\n 2: i32 x }", "2:9: field x: there is one of this name in line 1"},
		{"struct A {}\nenum A { B }", "2:6: enum A: the name is taken in line 1"},
		{"const i32 A = 1\nconst i32 A = 2", "2:11: constant A: the name is taken in line 1"},
		{"enum E { A\n A }", "2:2: enum E has two values named A, the first in line 1"},
		{"enum E { A = 3000000000 }", "1:14: value 3000000000 of A does not fit 32 bits"},
		{"enum E { A = 0x7fffffff B }", "1:25: value 2147483648 of B does not fit 32 bits"},
		{"const i8 X = 300", "1:14: X is of type i8: 300 does not fit"},
		{"const i32 X = 0xffffffff", "1:15: X is of type i32: 4294967295 does not fit"},
		{"const i64 X = 9876543210987654321", "1:15: integer 9876543210987654321 does not fit 64 bits"},
		{"const string X = 5", "1:18: X is of type string: 5 does not fit"},
		{"const double X = \"1\"", `1:18: X is of type double: "1" does not fit`},
		{"const double X = 1e999", "1:18: X is of type double: 1e999 does not fit"},
		{"const bool X = 1.5", "1:16: X is of type bool: 1.5 does not fit"},
		{"const uuid X = '00112233-4455'", `1:16: X is of type uuid: "00112233-4455" does not fit`},
		{"const list<i8> X = [1, 200]", "1:24: X is of type i8: 200 does not fit"},
		{"const list<i8> X = {1: 2}", "1:20: X is of type list<i8>: {1: 2} does not fit"},
		{"const map<i8,i8> X = {1: 2, 1: 3}", "1:29: X has the key 1 twice"},
		{"enum E { A }\nconst E X = A", "2:13: X: write E.A"},
		{"enum E { A }\nconst E X = E.B", "2:13: X: enum E has no value named B"},
		{"enum E { A }\nconst E X = 7", "2:13: X: enum E has no value 7"},
		{"struct S { 1: i32 a }\nconst S X = {'b': 1}", `2:14: X: struct S has no field "b"`},
		{"struct S { 1: i8 a }\nconst S X = {'a': 999}", "2:19: X.a is of type i8: 999 does not fit"},
		{"union U { 1: i8 a, 2: i8 b }\nconst U X = {'a': 1, 'b': 1}", "2:22: X: only one field of union U can be set"},
		{"const i8 A = 300\nconst i8 B = A", "1:14: A is of type i8: 300 does not fit"},
		{"const i32 A = 300\nconst i8 B = A", "2:14: B is of type i8: 300 does not fit"},
		{"enum E { V = 300 }\nconst E X = E.V\nconst i8 Y = X", "3:14: Y is of type i8: 300 does not fit"},
		{"enum E { V = 300 }\nconst i8 Y = X\nconst E X = 300", "2:14: Y is of type i8: 300 does not fit"},
		{"enum E { V = 3 }\nconst E X = E.V\nconst E Z = X\nconst string S = Z", "4:18: S is of type string: 3 does not fit"},
		{"enum E { V = 3 }\nconst E X = E.V\nconst uuid U = X", "3:16: U is of type uuid: 3 does not fit"},
		{"enum E { V = 3 }\nconst E X = E.V\nstruct S { 1: binary b = X }", "3:26: b is of type binary: 3 does not fit"},
		{"enum E { V = 300 }\nconst E X = E.V\nconst i32 N = X\nconst i8 Y = N", "4:14: Y is of type i8: 300 does not fit"},
		{"enum E { V = 300 }\nenum F { V = 3 }\nconst E X = F.V\nconst i8 Y = X", "4:14: Y is of type i8: 300 does not fit"},
		{"enum E { V }\nenum F { V }\nconst E X = E.V\nconst F Y = X", "4:13: Y is of type F: constant X is of type E"},
		{"const i32 A = B\nconst i32 B = A", "1:11: constant A leads back to itself"},
		{"const list<i32> A = A", "1:17: constant A leads back to itself"},
		{"const i32 A = B", "1:15: A: no constant or enum value is named B"},
		{"struct S { 1: i32 a = 'x' }", `1:23: a is of type i32: "x" does not fit`},
		{"typedef A B\ntypedef B A", "1:11: typedef B stands for itself"},
		{"typedef list<A> A", "1:17: typedef A stands for itself"},
		{"service S { oneway i32 f() }", "1:20: oneway method f cannot have a result: make it void"},
		{"exception E {}\nservice S { oneway void f() throws (1: E e) }", "2:42: oneway method f cannot throw"},
		{"struct E {}\nservice S { void f() throws (1: E e) }", "2:33: method f throws E, which is no exception"},
		{"service S extends T {}", "1:19: service S extends the unknown service T"},
		{"service S extends T {}\nservice T extends S {}", "2:19: service T extends itself"},
		{"service S { void f() void f() }", "1:27: service S has two methods f, the first in line 1"},
		{"service B extends A { void f() }\nservice A { void f() }", "1:28: method f: B has one of this name from service A"},
		{"service S {}\nstruct A { 1: S x }", "2:15: S is a service, not a type"},
		{"union U { 1: required i32 a }", "1:27: field a of union U cannot be required: one of a union's fields is set"},
		{"union U { 1: i32 a = 1, 2: i32 b = 2 }", "1:32: union U has two defaults: a and b"},
		{"struct S { 40000: i32 a }", "1:12: field id 40000 does not fit 16 bits"},
		{"struct S { 1: void a }", "1:15: void is only a result"},
		{"struct S { 1: stream<i32> a }", "1:15: stream<> stands only for a method's result or its only argument"},
		{"service S { void f(1: stream<i32> a, 2: i32 b) }", "1:38: a stream must be a method's only argument"},
		{"service S { i32 f(1: i32 a, 2: i32 b) (streaming.mode='client') }", "1:17: method f takes a stream: it must have one argument"},
		{"service S { i32 f(1: i32 a) (streaming.mode='up') }", `1:30: streaming.mode "up": it is server, client, bidirectional or unary`},
		{"service S { oneway void f(1: i32 a) (streaming.mode='client') }", "1:25: oneway method f cannot stream"},
		{"service S { void f(1: i32 a) (streaming.mode='server') }", "1:18: method f streams void"},
		{"struct a.b {}", `1:8: "a.b": a type's name cannot have a dot`},
		{"struct list {}", `1:8: "list" is a word of the language where a type's name is expected`},
		{"struct A { 1: i32 true }", `1:19: "true" is a word of the language where a field's name is expected`},
		{"struct A { 1: i32 x", `1:20: the end of the file where "}" is expected`},
		{"struct A { 1 i32 x }", `1:14: "i32" where ":" is expected`},
		{"struct A {}\nnamespace go x", "2:1: namespace must stand before the first definition"},
		{"structure A {}", `1:1: "structure" where a definition (const, typedef, enum, struct, union, exception or service) is expected`},
		{"const string X = \"abc", "1:18: string does not end"},
		{"const string X = \"abc\n\"", "1:18: string does not end on its line"},
		{`const string X = "\q"`, `1:18: unknown escape \q in string: use \\ for a backslash`},
		{"/* never ends", "1:1: comment does not end"},
		{"const i32 X = @", `1:15: unexpected character "@"`},
		{"include \"nope.thrift\"", `1:9: cannot include "nope.thrift": file does not exist`},
		{"include \"a.thrift\"", "1:9: files include each other: a.thrift -> a.thrift"},
		{"const list<" + strings.Repeat("list<", 70) + "i32", "1:327: nested deeper than 64 levels"},
		{"const i32 X = " + strings.Repeat("[", 70), "1:79: nested deeper than 64 levels"},
	} {
		_, err := load(map[string]string{"a.thrift": c.text}, "a.thrift")
		errs, ok := errors.AsType[idl.Errors](err)
		if !ok {
			t.Errorf("%s\n  gives %v, want %s", c.text, err, c.want)
			continue
		}
		if got := strings.TrimPrefix(errs[0].Head(), "a.thrift:"); got != c.want {
			t.Errorf("%s\n  gives %s\n  want  %s", c.text, got, c.want)
		}
	}
}

func TestErrorShowsTheLine(t *testing.T) {
	_, err := load(map[string]string{"a.thrift": "struct A {\n\t1: Ünknown x\n}"}, "a.thrift")
	if err == nil || !strings.Contains(err.Error(), "2:5: unexpected character \"Ü\"\n    \t1: Ünknown x\n    \t   ^") {
		t.Errorf("%v", err)
	}
}

func TestSeveralErrors(t *testing.T) {
	_, err := load(map[string]string{"a.thrift": "struct A { 1: i32 }\nstruct B { oops }\nstruct C { 1: i32 fine }\nconst i32 = 5\n"}, "a.thrift")
	errs, _ := errors.AsType[idl.Errors](err)
	if len(errs) != 3 || errs[0].Pos.Line != 1 || errs[1].Pos.Line != 2 || errs[2].Pos.Line != 4 {
		t.Errorf("syntax errors:\n%v", err)
	}
	_, err = load(map[string]string{"a.thrift": strings.Repeat("struct A { 1: X x }\n", 30)}, "a.thrift")
	errs, _ = errors.AsType[idl.Errors](err)
	if len(errs) != maxErrors+1 || errs[maxErrors].Msg != "too many errors" {
		t.Errorf("%d errors:\n%v", len(errs), err)
	}
}

func TestIncludes(t *testing.T) {
	files := map[string]string{
		"dir/main.thrift":   "include \"b.thrift\"\ninclude \"lib/c.thrift\"\nstruct S { 1: b.B b, 2: c.C c }",
		"dir/b.thrift":      "include \"lib/c.thrift\"\nstruct B { 1: c.C c }",
		"inc/lib/c.thrift":  "struct C {}",
		"dir/loop.thrift":   "include \"loop2.thrift\"",
		"dir/loop2.thrift":  "include \"loop.thrift\"",
		"dir/hidden.thrift": "include \"b.thrift\"\nstruct S { 1: c.C c }",
	}
	th := Reader{Include: []string{"other", "inc"}, Open: func(path string) ([]byte, error) {
		if s, ok := files[path]; ok {
			return []byte(s), nil
		}
		return nil, fs.ErrNotExist
	}}
	s, err := th.Load("dir/main.thrift", "dir/b.thrift")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range s.Files {
		names = append(names, fmt.Sprint(f.Path, f.Listed))
	}
	if got := strings.Join(names, " "); got != "inc/lib/c.thriftfalse dir/b.thrifttrue dir/main.thrifttrue" {
		t.Error(got)
	}
	if _, err := th.Load("dir/loop.thrift"); err == nil || !strings.Contains(err.Error(),
		"dir/loop2.thrift:1:9: files include each other: dir/loop.thrift -> dir/loop2.thrift -> dir/loop.thrift") {
		t.Error(err)
	}
	if _, err := th.Load("dir/hidden.thrift"); err == nil { // only what a file includes itself is visible
		t.Error("an include of an include is visible")
	}
	if _, err := th.Load("gone.thrift"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestWarnings(t *testing.T) {
	s, err := load(map[string]string{"a.thrift": "struct A { i32 x, -3: i32 y }\nenum E {V}\nenum F {V}\nstruct B { 1: E e = F.V }"}, "a.thrift")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Warnings) != 4 || s.Files[0].Structs[0].Fields[1].ID != -2 {
		t.Errorf("%d warnings: %v", len(s.Warnings), s.Warnings)
	}
}

// A hostile file must not cost more than its size.
func TestHostile(t *testing.T) {
	var chain, consts, bomb strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&chain, "typedef T%d T%d\n", i+1, i)
		fmt.Fprintf(&consts, "const i32 C%d = C%d\n", i, i+1)
	}
	for i := range 40 {
		fmt.Fprintf(&bomb, "const %si32%s B%d = [B%d, B%d]\n", strings.Repeat("list<", i+1), strings.Repeat(">", i+1), i+1, i, i)
	}
	for name, text := range map[string]string{
		"typedefs": chain.String() + "typedef i32 T3000",
		"consts":   consts.String() + "const i32 C3000 = 1",
		"bomb":     "const i32 B0 = 1\n" + bomb.String(),
	} {
		_, err := load(map[string]string{"a.thrift": text}, "a.thrift")
		if (err == nil) != (name == "bomb") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Looking names up must not take time in proportion to how many there are: each
// of these files took minutes, and takes a fraction of a second.
func TestHostileNames(t *testing.T) {
	const n = 50_000
	lines := func(head, line, tail string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			fmt.Fprintf(&b, line, i)
		}
		return b.String() + tail
	}
	for name, c := range map[string]struct{ text, want string }{
		"enum":    {lines("enum E {\n", "V%d\n", "}\n") + lines("", "const E C%d = E.V49999\n", ""), ""},
		"numbers": {lines("enum E {\n", "V%d\n", "}\n") + lines("", "const E C%d = 49999\n", ""), ""},
		"methods": {lines("service A {\n", "void a%d()\n", "}\n") + lines("service B extends A {\n", "void b%d()\n", "}\n"), ""},
		"chain":   {"service A0 {}\n" + lines("", "service B%d extends A0 {}\n", "") + chainOf(300), "a.thrift:50258:22: service A257 extends more than 256 others"},
		"upward":  {chainUp(300) + "service A0 {}", "service A300 extends more than 256 others"},
	} {
		start := time.Now()
		_, err := load(map[string]string{"a.thrift": c.text}, "a.thrift")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: %v", name, took)
		}
	}
}

// TestHostileIncludes has as many includes as names that are looked for in them: of one
// file, which took most of a minute, and of one name.
func TestHostileIncludes(t *testing.T) {
	const n = 20_000
	var b strings.Builder
	for range n {
		b.WriteString("include \"x/o.thrift\"\n")
	}
	b.WriteString("include \"y/o.thrift\"\n")
	for i := range n {
		fmt.Fprintf(&b, "const o.I C%d = o.X\ntypedef o.J T%[1]d\nservice S%[1]d extends o.S {}\n", i)
	}
	start := time.Now()
	s, err := load(map[string]string{
		"a.thrift":   b.String(),
		"x/o.thrift": "typedef i32 I\nconst i32 X = 7\nservice S {}",
		"y/o.thrift": "typedef string J\nconst i32 Y = 8",
	}, "a.thrift")
	if err != nil {
		t.Fatal(err)
	}
	if f := s.Files[len(s.Files)-1]; f.Consts[n-1].Value.Const.Value.Int != 7 || f.Typedefs[n-1].Type.True().Kind != idl.String {
		t.Error("names are other ones")
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("%v", took)
	}
}

// chainOf writes services that extend each other, each after its parent;
// chainUp before it.
func chainOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "service A%d extends A%d {}\n", i+1, i)
	}
	return b.String()
}

func chainUp(n int) string {
	var b strings.Builder
	for i := n; i > 0; i-- {
		fmt.Fprintf(&b, "service A%d extends A%d {}\n", i, i-1)
	}
	return b.String()
}

func grammar(t testing.TB) (main, shared string) {
	a, err := os.ReadFile("testdata/grammar.thrift")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("testdata/shared.thrift")
	if err != nil {
		t.Fatal(err)
	}
	return string(a), string(b)
}

// Every prefix of a file that covers the grammar either loads or gives errors
// with a place.
func TestEveryPrefix(t *testing.T) {
	text, shared := grammar(t)
	for n := range len(text) {
		_, err := load(map[string]string{"a.thrift": text[:n], "shared.thrift": shared}, "a.thrift")
		if errs, ok := errors.AsType[idl.Errors](err); err != nil && (!ok || errs[0].Pos.Line == 0) {
			t.Fatalf("prefix of %d bytes: %v", n, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	text, shared := grammar(f)
	f.Add(text)
	for _, s := range strings.Split(text, "\n\n") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := load(map[string]string{"a.thrift": text, "shared.thrift": shared}, "a.thrift")
		if (s == nil) == (err == nil) {
			t.Fatal("neither a schema nor an error, or both")
		}
		if err != nil {
			_ = err.Error()
			return
		}
		if _, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		}
		repack(t, s)
	})
}

// repack packs a schema, reads that, and packs it again, which must change
// nothing.
func repack(t *testing.T, s *idl.Schema) *idl.Schema {
	t.Helper()
	name := func(f *idl.File) string { return "p/" + f.Path }
	pack := func(s *idl.Schema, name func(*idl.File) string) (text string) {
		for _, f := range s.Files {
			text += Pack(f, name)
		}
		return text
	}
	text := pack(s, name)
	back, err := Unpack(text + text) // what is there twice counts once
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if again := pack(back, func(f *idl.File) string { return f.Path }); again != text {
		t.Fatalf("packed:\n%s\nand again:\n%s", text, again)
	}
	return back
}

func TestPack(t *testing.T) {
	s, err := Reader{}.Load("testdata/grammar.thrift")
	if err != nil {
		t.Fatal(err)
	}
	back := repack(t, s)
	plain := func(s *idl.Schema) string { // without what packing takes away
		for _, f := range s.Files {
			f.Path, f.Text, f.Doc, f.Includes, f.Listed = "", "", "", nil, false
		}
		s.Warnings = nil
		p, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, re := range []string{`,?"(doc|file|extends_file)":"([^"\\]|\\.)*"`, `,?"(pos|stream_pos|extends_pos)":\{[^}]*\}`} {
			p = regexp.MustCompile(re).ReplaceAll(p, nil)
		}
		return string(p)
	}
	if got, want := plain(back), plain(s); got != want {
		t.Errorf("packing changes the schema:\n%s\n%s", got, want)
	}
	for _, bad := range []string{"", "struct A {}", "#file a\nstruct", "#file a\ninclude \"gone\""} {
		if _, err := Unpack(bad); err == nil {
			t.Errorf("Unpack(%q) gives no error", bad)
		}
	}
}
