package thriftidl

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
)

// The first line of each error that a file can have.
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

// What a user sees of a file with errors, whole: each with its line and a caret
// under the place. A definition that is broken does not hide the next ones.
func TestErrorTexts(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a tab keeps its width": {"struct A {\n\t1: Nope\tx\n}", `
a.thrift:2:5: unknown type Nope
    	1: Nope	x
    	   ^`},
		"characters before the place": {"struct Ä { 1: i32 a }", `
a.thrift:1:8: unexpected character "Ä"
    struct Ä { 1: i32 a }
           ^`},
		"columns are bytes, carets are not": {"const string S = \"äöü\" const i32 I = 'x'", `
a.thrift:1:41: I is of type i32: "x" does not fit
    const string S = "äöü" const i32 I = 'x'
                                         ^`},
		"Windows line ends": {"struct A {\r\n  1: Nope x\r\n}", `
a.thrift:2:6: unknown type Nope
      1: Nope x
         ^`},
		"the end of the file": {"struct A {\n  1: i32 a\n", `
a.thrift:3:1: the end of the file where "}" is expected`},
		"one a definition": {"struct A { 1 oops }\nstruct B { 1: i32 }\nenum C { 1 }\nstruct D { 1: i32 fine }\nservice E { void }\nconst i32 F\n", `
a.thrift:1:14: "oops" where ":" is expected
a.thrift:2:19: "}" where a field's name is expected
a.thrift:3:10: "1" where an enum value's name is expected
a.thrift:5:18: "}" where a method's name is expected
a.thrift:7:1: the end of the file where "=" is expected`},
		"a field's name that is a definition's word": {"struct A {\n  1: i32 struct\n  2: oops\n}\nstruct B { 1: Nope x }", `
a.thrift:4:1: "}" where a field's name is expected`},
		"a broken header": {"namespace go\ninclude nope\nnamespace py 'x'\ninclude \"b.thrift\"\nstruct S { 1: b.B b }", `
a.thrift:2:1: "include" is a word of the language where a namespace is expected
a.thrift:2:9: "nope" where the path of a file in quotes is expected
a.thrift:3:14: a string where a namespace is expected`},
		"sorted by line": {"service S extends T {}\nstruct A { 1: X x }\nconst i32 C = 'x'\nstruct A {}", `
a.thrift:2:15: unknown type X
a.thrift:4:8: struct A: the name is taken in line 2`},
		"values after names": {"const i32 C = 'x'\nconst i32 D = E\nstruct S { 1: bool b = 'no' }", `
a.thrift:1:15: C is of type i32: "x" does not fit
a.thrift:2:15: D: no constant or enum value is named E
a.thrift:3:24: b is of type bool: "no" does not fit`},
		"a line too long to be shown": {"const string S = '" + strings.Repeat("x", 500) + "' const i32 I = ''", `
a.thrift:1:535: I is of type i32: "" does not fit`},
		"no more than ten": {strings.Repeat("struct S { 1: X x }\n", 12), `
a.thrift:2:8: struct S: the name is taken in line 1
a.thrift:3:8: struct S: the name is taken in line 1
a.thrift:4:8: struct S: the name is taken in line 1
a.thrift:5:8: struct S: the name is taken in line 1
a.thrift:6:8: struct S: the name is taken in line 1
a.thrift:7:8: struct S: the name is taken in line 1
a.thrift:8:8: struct S: the name is taken in line 1
a.thrift:9:8: struct S: the name is taken in line 1
a.thrift:10:8: struct S: the name is taken in line 1
a.thrift:11:8: struct S: the name is taken in line 1
a.thrift: too many errors`},
		"in an included file": {"include \"bad.thrift\"\nstruct A { 1: bad.B b }", `
bad.thrift:1:13: "i32" where ":" is expected`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(map[string]string{"a.thrift": c.text, "b.thrift": "struct B {}", "bad.thrift": "struct B {1 i32}"}, "a.thrift")
			errs, ok := errors.AsType[idl.Errors](err)
			if !ok {
				t.Fatalf("%v is no idl.Errors", err)
			}
			got := "\n" + err.Error()
			if !strings.Contains(c.want, "^") { // heads alone
				got = ""
				for _, e := range errs {
					got += "\n" + e.Head()
				}
			}
			if got != c.want {
				t.Errorf("%s\n gives%s\n want%s", c.text, got, c.want)
			}
		})
	}
}

// What is taken, and looks like a mistake: the whole texts of all warnings.
func TestWarningTexts(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"none":                    {"struct S { 1: i32 a }", ""},
		"no id":                   {"struct S { i32 a }", "1:16: field a has no id: it gets -1, which changes with the order of the fields"},
		"an id below one":         {"struct S { 0: i32 a }", "1:12: field id 0 is not positive: as Apache's compiler does, -1 is used; 1:19: field a has no id: it gets -1, which changes with the order of the fields"},
		"senum":                   {"senum S { 'a' }", "1:1: senum is gone from Thrift: S is read as a string"},
		"a header's separator":    {"namespace go a,\nstruct S {}", "1:15: Apache's compiler does not accept a separator here"},
		"an optional argument":    {"service S { void m(1: optional i32 a) }", "1:36: optional means nothing for argument a"},
		"an optional struct":      {"struct S {} typedef S T service U { void m(1: optional T a, 2: optional S b) }", ""},
		"another enum's value":    {"enum E { V } enum F { V } const E X = F.V", "1:39: F.V is a value of F; E.V is taken"},
		"an unknown enum's value": {"enum E { V } const E X = G.V", "1:26: G.V is unknown; E.V is taken"},
	} {
		s := mustLoad(t, c.text)
		var got []string
		for _, w := range s.Warnings {
			got = append(got, strings.TrimPrefix(w.Head(), "a.thrift:"))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %s\n gives %s\n want  %s", name, c.text, text, c.want)
		}
	}
}

// Warnings have a bound of their own: they are for people.
func TestManyWarnings(t *testing.T) {
	s := mustLoad(t, "struct S {\n"+strings.Repeat("i32 f, ", 1)+"}")
	if len(s.Warnings) != 1 {
		t.Error(s.Warnings)
	}
	var b strings.Builder
	for i := range 2 * maxWarnings {
		fmt.Fprintf(&b, "struct S%d { i32 f }\n", i)
	}
	if s = mustLoad(t, b.String()); len(s.Warnings) != maxWarnings {
		t.Errorf("%d warnings", len(s.Warnings))
	}
}

// A schema that comes with an error is nil, and each error says what caused it
// where something outside of the text did.
func TestErrorCauses(t *testing.T) {
	busy := errors.New("disk is busy")
	reader := Reader{Open: func(path string) ([]byte, error) {
		switch path {
		case "a.thrift":
			return []byte("include \"gone.thrift\""), nil
		case "b.thrift":
			return []byte("include \"busy.thrift\""), nil
		case "large.thrift":
			return make([]byte, maxFileBytes+1), nil
		case "gone.thrift":
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return nil, busy
	}}
	for path, c := range map[string]struct {
		want  string
		cause error
	}{
		"a.thrift":     {`a.thrift:1:9: cannot include "gone.thrift": file does not exist`, nil},
		"b.thrift":     {`b.thrift:1:9: cannot include "busy.thrift": disk is busy`, nil},
		"gone.thrift":  {"gone.thrift: file does not exist", fs.ErrNotExist},
		"busy.thrift":  {"busy.thrift: disk is busy", busy},
		"large.thrift": {"large.thrift: file of 16777217 bytes; 16777216 are allowed", nil},
	} {
		s, err := reader.Load(path)
		errs, ok := errors.AsType[idl.Errors](err)
		if s != nil || !ok || errs[0].Head() != c.want || c.cause != nil && !errors.Is(err, c.cause) {
			t.Errorf("%s: %v, %v\nwant %s", path, s, err, c.want)
		}
	}
	if _, err := reader.Load("gone.thrift", "busy.thrift", "a.thrift"); len(err.(idl.Errors)) != 3 {
		t.Errorf("not all files are told: %v", err)
	}
}
