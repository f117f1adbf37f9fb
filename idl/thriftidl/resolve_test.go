package thriftidl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
)

// Names are found whatever the order of definitions, in this file and in those that
// it includes itself; what is no type says what it is.
func TestResolveTypes(t *testing.T) {
	files := map[string]string{
		"b.thrift":     "include \"c.thrift\"\nstruct B { 1: c.C c }\nenum F { W }\ntypedef B Other\nservice V {}\nconst i32 K = 1",
		"c.thrift":     "struct C {}",
		"d.e.thrift":   "struct D {}",
		"sub/b.thrift": "struct Sub {}\nstruct B2 {}",
	}
	for name, c := range map[string]struct{ text, want string }{
		"later in the file":           {"struct A { 1: L l } struct L {}", "struct L in a.thrift"},
		"itself":                      {"struct A { 1: A a }", "struct A in a.thrift"},
		"enum":                        {"enum E {} struct A { 1: E e }", "enum E in a.thrift"},
		"typedef":                     {"typedef i32 T struct A { 1: T t }", "typedef T in a.thrift"},
		"included":                    {"include \"b.thrift\" struct A { 1: b.B b }", "struct B in b.thrift"},
		"included enum":               {"include \"b.thrift\" struct A { 1: b.F f }", "enum F in b.thrift"},
		"included typedef":            {"include \"b.thrift\" struct A { 1: b.Other o }", "typedef Other in b.thrift"},
		"a file's name with a dot":    {"include \"d.e.thrift\" struct A { 1: d.e.D d }", "struct D in d.e.thrift"},
		"two files of one name":       {"include \"b.thrift\" include \"sub/b.thrift\" struct A { 1: b.Sub s }", "struct Sub in sub/b.thrift"},
		"not included":                {"struct A { 1: b.B b }", "1:15: unknown type b.B: nothing named b is included"},
		"an include of an include":    {"include \"b.thrift\" struct A { 1: c.C c }", "1:34: unknown type c.C: nothing named c is included"},
		"not there":                   {"include \"b.thrift\" struct A { 1: b.X x }", "1:34: unknown type b.X"},
		"another case":                {"struct A { 1: lower l } struct Lower {}", "1:15: unknown type lower: there is Lower"},
		"another case, included":      {"include \"b.thrift\" struct A { 1: b.other o }", "1:34: unknown type b.other: there is Other"},
		"a service":                   {"service V {} struct A { 1: V v }", "1:28: V is a service, not a type"},
		"a service of another file":   {"include \"b.thrift\" struct A { 1: b.V v }", "1:34: b.V is a service, not a type"},
		"a constant":                  {"const i32 K = 1 struct A { 1: K k }", "1:31: unknown type K"},
		"a path is no name":           {"include \"sub/b.thrift\" struct A { 1: sub.b.Sub s }", "1:38: unknown type sub.b.Sub: nothing named sub.b is included"},
		"a keyword":                   {"struct A { 1: service s }", `1:15: "service" is a word of the language where a field's type is expected`},
		"a name of two definitions":   {"struct A {} typedef i32 A", "1:25: typedef A: the name is taken in line 1"},
		"a struct and a service":      {"struct A {} service A {}", "1:21: service A: the name is taken in line 1"},
		"a constant and a struct may": {"struct A { 1: B b } const i32 A = 1 struct B {}", "struct B in a.thrift"},
		"within a list":               {"struct A { 1: list<map<string, B>> b }", "1:32: unknown type B"},
		"a result":                    {"struct A { 1: A a } service V { B m() }", "1:33: unknown type B"},
		"an argument":                 {"struct A { 1: A a } service V { void m(1: B b) }", "1:43: unknown type B"},
		"a declared exception":        {"struct A { 1: A a } service V { void m() throws (1: B b) }", "1:53: unknown type B"},
		"an attribute":                {"struct A { 1: A a xsd_attrs { 1: B b } }", "1:34: unknown type B"},
		"a constant's type":           {"struct A { 1: A a } const B C = 1", "1:27: unknown type B"},
	} {
		t.Run(name, func(t *testing.T) {
			files["a.thrift"] = c.text
			s, err := load(files, "a.thrift")
			got := ""
			if errs, ok := errors.AsType[idl.Errors](err); ok {
				got = strings.TrimPrefix(errs[0].Head(), "a.thrift:")
			} else {
				typ := s.Files[len(s.Files)-1].Structs[0].Fields[0].Type
				got = fmt.Sprintf("%s %s in %s", typ.Kind, typ.Name, typ.File)
				if (typ.Enum != nil) != (typ.Kind == idl.EnumRef) || (typ.Struct != nil) != (typ.Kind == idl.StructRef) || (typ.Typedef != nil) != (typ.Kind == idl.TypedefRef) {
					t.Errorf("%+v refers to several", typ)
				}
			}
			if got != c.want {
				t.Errorf("%s\n gives %s\n want  %s", c.text, got, c.want)
			}
		})
	}
}

// True leads through typedefs of other files too; what a container holds stays as it
// is written.
func TestTrue(t *testing.T) {
	s, err := load(map[string]string{
		"a.thrift": "include \"b.thrift\"\ntypedef b.T Mine\ntypedef list<Mine> Many\nstruct S { 1: Mine m, 2: Many n, 3: Plain p }\ntypedef string Plain",
		"b.thrift": "typedef U T\ntypedef map<i8, T2> U\ntypedef i64 T2",
	}, "a.thrift")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"map<i8,T2>", "list<Mine>", "string"} {
		if got := s.Files[1].Structs[0].Fields[i].Type.True().String(); got != want {
			t.Errorf("field %d is truly %s, want %s", i, got, want)
		}
	}
}

// Services have the methods of all parents; one that would have two of a name is
// refused, wherever the other one is.
func TestResolveServices(t *testing.T) {
	files := map[string]string{"b.thrift": "service Base { void up() }\nservice Mid extends Base { void mid() }\nstruct NoService {}"}
	for name, c := range map[string]struct{ text, want string }{
		"none":                      {"service A {}", ""},
		"of this file":              {"service A extends B {} service B {}", "B in a.thrift"},
		"of another file":           {"include \"b.thrift\" service A extends b.Mid {}", "Mid in b.thrift, Base in b.thrift"},
		"unknown":                   {"service A extends B {}", "1:19: service A extends the unknown service B"},
		"unknown file":              {"service A extends b.Mid {}", "1:19: service A extends the unknown service b.Mid"},
		"a struct":                  {"include \"b.thrift\" service A extends b.NoService {}", "1:38: service A extends the unknown service b.NoService"},
		"itself":                    {"service A extends A {}", "1:19: service A extends itself"},
		"a circle of three":         {"service A extends B {} service B extends C {} service C extends A {}", "1:65: service C extends itself"},
		"a method twice":            {"service A { void m() void m() }", "1:27: service A has two methods m, the first in line 1"},
		"a method of a parent":      {"include \"b.thrift\" service A extends b.Mid { void mid() }", "1:51: method mid: A has one of this name from service Mid"},
		"a method of a grandparent": {"include \"b.thrift\" service A extends b.Mid { void up() }", "1:51: method up: A has one of this name from service Base"},
		"throws a struct":           {"struct S {} service A { void m() throws (1: S s) }", "1:45: method m throws S, which is no exception"},
		"throws a number":           {"service A { void m() throws (1: i32 s) }", "1:33: method m throws i32, which is no exception"},
		"throws by typedef":         {"service A { void m() throws (1: T s) } exception X {} typedef X T", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files["a.thrift"] = c.text
			s, err := load(files, "a.thrift")
			got := ""
			if errs, ok := errors.AsType[idl.Errors](err); ok {
				got = strings.TrimPrefix(errs[0].Head(), "a.thrift:")
			} else {
				var up []string
				svc := s.Files[len(s.Files)-1].Services[0]
				if svc.Parent != nil && svc.ParentFile != svc.Parent.File.Path {
					t.Errorf("its parent is in %s, or in %s", svc.ParentFile, svc.Parent.File.Path)
				}
				for p := svc.Parent; p != nil; p = p.Parent {
					up = append(up, p.Name+" in "+p.File.Path)
				}
				got = strings.Join(up, ", ")
			}
			if got != c.want {
				t.Errorf("%s\n gives %s\n want  %s", c.text, got, c.want)
			}
		})
	}
}

// What cannot be together in a method, with the place of what is wrong.
func TestMethodErrors(t *testing.T) {
	const head = "struct M {} exception X {} service S { "
	for text, want := range map[string]string{
		"oneway M m()":                               "oneway method m cannot have a result: make it void",
		"oneway void m() throws (1: X x)":            "oneway method m cannot throw",
		"oneway void m(1: stream<M> a)":              "oneway method m cannot stream",
		"oneway stream<M> m()":                       "oneway method m cannot stream",
		"stream<M> m(1: M a, 2: M b)":                "",
		"M m(1: stream<M> a, 2: M b)":                "a stream must be a method's only argument",
		"M m(1: M b, 2: stream<M> a)":                "stream<> stands only for a method's result or its only argument",
		"M m() (streaming.mode = 'client')":          "method m takes a stream: it must have one argument",
		"void m(1: M a) (streaming.mode = 'server')": "method m streams void",
		"M m(1: M a) (streaming.mode = 'both')":      `streaming.mode "both": it is server, client, bidirectional or unary`,
		"stream<stream<M>> m()":                      "stream<> stands only for a method's result or its only argument",
		"list<stream<M>> m()":                        "stream<> stands only for a method's result or its only argument",
		"void void m()":                              `"void" is a word of the language where a method's name is expected`,
		"list<void> m()":                             "void is only a result",
		"void m(1: void a)":                          "void is only a result",
		"void m(1: M a, 1: M b)":                     "field b: id 1 is already that of a in line 1",
		"void m(1: M a, 2: M a)":                     "field a: there is one of this name in line 1",
		"void m() throws (1: X a, 1: X b)":           "field b: id 1 is already that of a in line 1",
		"M a.b()":                                    `"a.b": a method's name cannot have a dot`,
		"M m(":                                       `"}" where a field's type is expected`,
	} {
		_, err := load(map[string]string{"a.thrift": head + text + " }"}, "a.thrift")
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		errs, ok := errors.AsType[idl.Errors](err)
		if !ok || !strings.HasSuffix(errs[0].Head(), ": "+want) {
			t.Errorf("%s\n gives %v\n want  %s", text, err, want)
		}
	}
}
