package thriftidl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
)

// dump writes the last file of a schema as the model has it, a definition to a line,
// kind by kind. Types are shown by their kind where they are named, presences where
// they are not Implicit.
func dump(s *idl.Schema) string {
	f := s.Files[len(s.Files)-1]
	var lines []string
	add := func(notes idl.Annotations, doc, format string, args ...any) {
		line := fmt.Sprintf(format, args...) + dumpNotes(notes)
		if doc != "" {
			line += fmt.Sprintf(" [%s]", doc)
		}
		lines = append(lines, line)
	}
	for _, n := range f.Namespaces {
		add(n.Annotations, "", "namespace %s %s", n.Scope, n.Name)
	}
	for _, c := range f.Consts {
		add(nil, c.Doc, "const %s %s = %s", dumpType(c.Type), c.Name, c.Value)
	}
	for _, d := range f.Typedefs {
		add(d.Annotations, d.Doc, "typedef %s %s", dumpType(d.Type), d.Name)
	}
	for _, e := range f.Enums {
		var values []string
		for _, v := range e.Values {
			values = append(values, fmt.Sprintf("%s=%d%s", v.Name, v.Value, dumpNotes(v.Annotations)))
		}
		add(e.Annotations, e.Doc, "enum %s {%s}", e.Name, strings.Join(values, " "))
	}
	for _, x := range f.Structs {
		add(x.Annotations, x.Doc, "%s %s {%s}", x.Kind, x.Name, dumpFields(x.Fields))
	}
	for _, x := range f.Services {
		var methods []string
		for _, m := range x.Methods {
			methods = append(methods, dumpMethod(m))
		}
		extends := ""
		if x.Parent != nil {
			extends = " extends " + x.Parent.Name
		}
		add(x.Annotations, x.Doc, "service %s%s {%s}", x.Name, extends, strings.Join(methods, "; "))
	}
	return strings.Join(lines, "\n")
}

func dumpNotes(notes idl.Annotations) string {
	if notes == nil {
		return ""
	}
	var parts []string
	for _, n := range notes {
		parts = append(parts, n.Key+"="+n.Value)
	}
	return " (" + strings.Join(parts, " ") + ")"
}

func dumpType(t *idl.Type) string {
	s := t.String()
	if t != nil && (t.Kind == idl.EnumRef || t.Kind == idl.StructRef || t.Kind == idl.TypedefRef) {
		s = t.Kind.String() + ":" + s
	}
	if t != nil {
		s += dumpNotes(t.Annotations)
	}
	return s
}

func dumpFields(list []*idl.Field) string {
	var parts []string
	for _, f := range list {
		s := fmt.Sprintf("%d ", f.ID)
		if f.Presence != idl.Implicit {
			s += string(f.Presence) + " "
		}
		s += dumpType(f.Type) + " " + f.Name
		if f.Default != nil {
			s += " = " + f.Default.String()
		}
		if f.AutoID {
			s += " auto"
		}
		if f.Reference {
			s += " ref"
		}
		parts = append(parts, s+dumpNotes(f.Annotations))
	}
	return strings.Join(parts, ", ")
}

func dumpMethod(m *idl.Method) string {
	s := fmt.Sprintf("%s %s(%s)", dumpType(m.Result), m.Name, dumpFields(m.Args))
	if len(m.Throws) > 0 {
		s += " throws(" + dumpFields(m.Throws) + ")"
	}
	for _, x := range []struct {
		has  bool
		text string
	}{{m.Oneway, " oneway"}, {m.ClientStream, " client-stream"}, {m.ServerStream, " server-stream"}} {
		if x.has {
			s += x.text
		}
	}
	return s + dumpNotes(m.Annotations)
}

// mustLoad reads one file.
func mustLoad(t testing.TB, text string) *idl.Schema {
	t.Helper()
	s, err := load(map[string]string{"a.thrift": text}, "a.thrift")
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return s
}

// What each production becomes in the model.
func TestParse(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing": {"", ""},
		"namespaces": {"namespace go a.b\nnamespace * c\nnamespace py.twisted d;",
			"namespace go a.b\nnamespace * c\nnamespace py.twisted d"},
		"annotated namespace": {"namespace go a (uri = 'x', y)", "namespace go a (uri=x y=1)"},
		"constants":           {"const i32 A = 1; const string B = 'b', const bool C = true const bool D = false", "const i32 A = 1\nconst string B = \"b\"\nconst bool C = 1\nconst bool D = 0"},
		"doubles":             {"const double A = 1.50\nconst double B = -2", "const double A = 1.50\nconst double B = -2"},
		"containers": {"const list<i32> A = [1 2; 3, 4]\nconst map<string, set<i8>> B = {'a': [1], 'b': []; 'c': [2]}",
			"const list<i32> A = [1, 2, 3, 4]\nconst map<string,set<i8>> B = {\"a\": [1], \"b\": [], \"c\": [2]}"},
		"base types":            {"struct S { 1: bool a 2: byte b 3: i8 c 4: i16 d 5: i32 e 6: i64 f 7: double g 8: string h 9: binary i 10: uuid j }", "struct S {1 bool a, 2 i8 b, 3 i8 c, 4 i16 d, 5 i32 e, 6 i64 f, 7 double g, 8 string h, 9 binary i, 10 uuid j}"},
		"typedefs":              {"typedef i64 ID (a = 'b'), typedef list<ID> IDs;", "typedef i64 ID (a=b)\ntypedef list<ID> IDs"},
		"annotated type":        {"typedef list<i32 (x)> (y = 'z') T (w)", "typedef list<i32> (y=z) T (w=1)"},
		"enums":                 {"enum E { A, B = 5, C; D = -2 E (x) } (y)", "enum E {A=0 B=5 C=6 D=-2 E=-1 (x=1)} (y=1)"},
		"empty enum":            {"enum E {}", "enum E {}"},
		"hex in an enum":        {"enum E { A = 0x10, B }", "enum E {A=16 B=17}"},
		"senum":                 {"senum S { 'a', \"b\"; 'c' }", "typedef string S"},
		"empty struct":          {"struct S {}", "struct S {}"},
		"presence":              {"struct S { 1: i32 a, 2: required i32 b, 3: optional i32 c }", "struct S {1 i32 a, 2 required i32 b, 3 optional i32 c}"},
		"defaults":              {"struct S { 1: i32 a = 5, 2: optional string b = 'x' }", "struct S {1 i32 a = 5, 2 optional string b = \"x\"}"},
		"no ids":                {"struct S { i32 a, optional i32 b }", "struct S {-1 i32 a auto, -2 optional i32 b auto}"},
		"ids below one":         {"struct S { 0: i32 a, -9: i32 b, i32 c }", "struct S {-1 i32 a auto, -2 i32 b auto, -3 i32 c auto}"},
		"mixed ids":             {"struct S { 5: i32 a, i32 b, 6: i32 c }", "struct S {5 i32 a, -1 i32 b auto, 6 i32 c}"},
		"keywords as fields":    {"struct S { 1: i32 list, 2: i32 required, 3: i32 async, 4: i32 struct }", "struct S {1 i32 list, 2 i32 required, 3 i32 async, 4 i32 struct}"},
		"a field called stream": {"struct stream {}\nstruct S { 1: stream stream }", "struct stream {}\nstruct S {1 struct:stream stream}"},
		"reference":             {"struct S { 1: optional S & next }", "struct S {1 optional struct:S next ref}"},
		"xsd":                   {"struct S xsd_all { 1: i32 a xsd_optional xsd_nillable xsd_attrs { 1: i32 b } (x) }", "struct S {1 i32 a (x=1)}"},
		"cpp_type":              {"struct S { 1: list<i32> cpp_type 'l' a, 2: map cpp_type 'm' <i32, i32> b, 3: set cpp_type 's' <i32> c }", "struct S {1 list<i32> a, 2 map<i32,i32> b, 3 set<i32> c}"},
		"union":                 {"union U { 1: i32 a, 2: optional i32 b = 3 }", "union U {1 optional i32 a, 2 optional i32 b = 3}"},
		"exception":             {"exception E { 1: string message } (x)", "exception E {1 string message} (x=1)"},
		"named types":           {"struct S { 1: E e, 2: T t, 3: list<S> s } enum E { A } typedef i32 T", "typedef i32 T\nenum E {A=0}\nstruct S {1 enum:E e, 2 typedef:T t, 3 list<S> s}"},
		"service":               {"service S { void a(), i32 b(1: i32 x; 2: string y) (n); oneway void c(i32 z) }", "service S {void a(); i32 b(1 i32 x, 2 string y) (n=1); void c(-1 i32 z auto) oneway}"},
		"async is oneway":       {"service S { async void a() }", "service S {void a() oneway}"},
		"throws":                {"exception X {} service S { void a() throws (1: X x, 2: X y), void b() throws () }", "exception X {}\nservice S {void a() throws(1 struct:X x, 2 struct:X y); void b()}"},
		"extends":               {"service B {} service S extends B { void a() } (x)", "service B {}\nservice S extends B {void a()} (x=1)"},
		"argument is optional":  {"service S { void a(1: optional i32 x, 2: required i32 y) }", "service S {void a(1 i32 x, 2 required i32 y)}"},
		"streams": {"struct M {} service S { stream<M> a(1: M m), M b(1: stream<M> m), stream<M> c(stream<M> m) (x) }",
			"struct M {}\nservice S {struct:M a(1 struct:M m) server-stream; struct:M b(1 struct:M m) client-stream; struct:M c(-1 struct:M m auto) client-stream server-stream (x=1)}"},
		"streams of Kitex": {"struct M {} service S { M a(1: M m) (streaming.mode = 'server') M b(1: M m) (streaming.mode = 'client') M c(1: M m) (streaming.mode = 'bidirectional') M d(1: M m) (streaming.mode = 'unary') }",
			"struct M {}\nservice S {struct:M a(1 struct:M m) server-stream (streaming.mode=server); struct:M b(1 struct:M m) client-stream (streaming.mode=client); " +
				"struct:M c(1 struct:M m) client-stream server-stream (streaming.mode=bidirectional); struct:M d(1 struct:M m) (streaming.mode=unary)}"},
		"doc comments": {"/** f */ namespace go a\n/** c */ const i32 C = 1\n/** t */ typedef i32 T\n/** e */ enum E {}\n/** s */ struct S {}\n/** v */ service V {}\n/** nobody's */",
			"namespace go a\nconst i32 C = 1 [c]\ntypedef i32 T [t]\nenum E {} [e]\nstruct S {} [s]\nservice V {} [v]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := dump(mustLoad(t, c.text)); got != c.want {
				t.Errorf("%s\n gives %s\n want  %s", c.text, got, c.want)
			}
		})
	}
}

// Every name that the model gives a position has the position of that name.
func TestPositions(t *testing.T) {
	const text = `include "b.thrift"
const i32 C = 1
typedef i32 T
enum E {
  A = 1 (note)
}
struct S {
  1: required i32 f = 5
}
service V extends b.W {
  stream<S> m(1: S a)
}`
	s, err := load(map[string]string{"a.thrift": text, "b.thrift": "service W {}"}, "a.thrift")
	if err != nil {
		t.Fatal(err)
	}
	f := s.Files[1]
	field, m := f.Structs[0].Fields[0], f.Services[0].Methods[0]
	lines := strings.Split(text, "\n")
	for what, pos := range map[string]idl.Pos{
		`"b.thrift"`: f.Includes[0].Pos, "C =": f.Consts[0].Pos, "i32 C": f.Consts[0].Type.Pos, "1": f.Consts[0].Value.Pos,
		"T": f.Typedefs[0].Pos, "i32 T": f.Typedefs[0].Type.Pos, "E {": f.Enums[0].Pos, "A =": f.Enums[0].Values[0].Pos, "note": f.Enums[0].Values[0].Annotations[0].Pos,
		"S {": f.Structs[0].Pos, "f =": field.Pos, "i32 f": field.Type.Pos, "5": field.Default.Pos, "V ": f.Services[0].Pos,
		"b.W": f.Services[0].ExtendsPos, "m(": m.Pos, "stream<": m.StreamPos, "S>": m.Result.Pos, "a)": m.Args[0].Pos, "S a": m.Args[0].Type.Pos,
	} {
		if pos.Line < 1 || !strings.HasPrefix(lines[pos.Line-1][pos.Col-1:], what) {
			t.Errorf("%s is said to stand at %v", what, pos)
		}
	}
}

// Documentation goes to what it stands before, of several comments the last.
func TestDocs(t *testing.T) {
	f := mustLoad(t, `/** the file */
namespace go a
/** not this one */
/** the enum */
enum E { /** first */ A, B /** of C */, C }
struct S {
  /** of a
   *  in two lines */
  1: i32 a
  2: i32 b /** of nothing: it ends the struct */
}
service V {
  /** of m */
  void m(/** of x */ 1: i32 x) throws (/** of e */ 1: X e)
}
exception X {}`).Files[0]
	m := f.Services[0].Methods[0]
	for what, c := range map[string][2]string{
		"file":      {f.Doc, "the file"},
		"enum":      {f.Enums[0].Doc, "the enum"},
		"value":     {f.Enums[0].Values[0].Doc, "first"},
		"no value":  {f.Enums[0].Values[1].Doc, ""},
		"separator": {f.Enums[0].Values[2].Doc, ""}, // the comment is the comma's
		"field":     {f.Structs[0].Fields[0].Doc, "of a\nin two lines"},
		"no field":  {f.Structs[0].Fields[1].Doc, ""},
		"method":    {m.Doc, "of m"},
		"argument":  {m.Args[0].Doc, "of x"},
		"throws":    {m.Throws[0].Doc, "of e"},
		"exception": {f.Structs[1].Doc, ""},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %q, want %q", what, c[0], c[1])
		}
	}
	if doc := mustLoad(t, "/** of the struct, since no header follows */\nstruct S {}").Files[0].Doc; doc != "" {
		t.Errorf("the file has a struct's comment: %q", doc)
	}
}
