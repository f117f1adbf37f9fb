package thriftidl

import (
	"fmt"
	"strings"
	"testing"
)

// doubling writes n typedefs, each of two of the one before it: the last one
// stands for 2 to the nth types.
func doubling(name string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "typedef i32 %s0\n", name)
	for i := range n {
		fmt.Fprintf(&b, "typedef map<%s%d, %[1]s%d> %[1]s%[3]d\n", name, i, i+1)
	}
	return b.String()
}

// Comparing types looks into each once: without that, this test never ends.
func TestDoublingTypedefs(t *testing.T) {
	const n, uses = 200, 50
	var b strings.Builder
	b.WriteString(doubling("A", n) + doubling("B", n))
	fmt.Fprintf(&b, "const A%d C = {}\n", n)
	for i := range uses {
		fmt.Fprintf(&b, "const B%d C%d = C\n", n, i)
	}
	s, err := load(map[string]string{"a.thrift": b.String()}, "a.thrift")
	if err != nil {
		t.Fatal(err)
	}
	f, all := s.Files[0], newTypes()
	for _, c := range f.Consts {
		if !all.same(f.Consts[0].Type, c.Type) {
			t.Error(c.Name, "has another type")
		}
	}
	// Two for each comparison, and three for each typedef: itself is asked for
	// by the two parts of the next one.
	if most := 2*(uses+1) + 3*2*(n+1); all.looks > most {
		t.Errorf("%d looks at types, more than %d", all.looks, most)
	}
	if all.same(f.Typedefs[3].Type, f.Typedefs[4].Type) {
		t.Error("types of different height are the same")
	}
}

// Two files that are included under one name: each name is looked for in both.
func TestIncludesOfOneName(t *testing.T) {
	files := map[string]string{
		"a.thrift": `include "x/base.thrift"
include "y/base.thrift"
include "y/base.thrift"
struct S { 1: base.X x, 2: base.Y y = {"n": base.YN}, 3: i32 k = base.XN, 4: base.E e = base.E.V }
service T extends base.Up {}`,
		"x/base.thrift": "struct X {}\nconst i32 XN = 5",
		"y/base.thrift": "struct Y { 1: i32 n }\nconst i32 YN = 6\nenum E { V }\nservice Up {}",
	}
	s, err := load(files, "a.thrift")
	if err != nil {
		t.Fatal(err)
	}
	f := s.Files[2]
	if x := f.Structs[0].Fields[1].Type; x.File != "y/base.thrift" || x.Struct == nil {
		t.Errorf("%+v", x)
	}
	if p := f.Services[0].Parent; p == nil || p.File.Path != "y/base.thrift" {
		t.Errorf("parent %+v", p)
	}
	for text, want := range map[string]string{
		`struct S { 1: base.Both b }`:                   "a.thrift:3:15: base.Both is in x/base.thrift and in y/base.thrift, which are included under one name",
		`struct S { 1: base.Z z }`:                      "a.thrift:3:15: unknown type base.Z",
		`service S extends base.Twin {}`:                "a.thrift:3:19: base.Twin is in x/base.thrift and in y/base.thrift, which are included under one name",
		`const i32 N = base.N`:                          "a.thrift:3:15: N: base.N is in x/base.thrift and in y/base.thrift, which are included under one name",
		`struct S { 1: list<base.Twice> l = [base.N] }`: "a.thrift:3:37: l: base.N is in x/base.thrift",
	} {
		for _, path := range []string{"x", "y"} {
			files[path+"/base.thrift"] = "struct Both {}\nservice Twin {}\nconst i32 N = 1"
		}
		files["x/base.thrift"] += "\ntypedef i32 Twice"
		files["a.thrift"] = "include \"x/base.thrift\"\ninclude \"y/base.thrift\"\n" + text
		_, err := load(files, "a.thrift")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n  gives %v\n  want  %s", text, err, want)
		}
	}
}

// What two types have to have in common to be the same.
func TestSame(t *testing.T) {
	const text = `typedef i32 T
typedef T U
typedef list<U> L
enum E { A }
enum F { A }
struct S { 1: i32 a }
struct R { 1: i32 a }
struct Types { %s }`
	types := []string{"i32", "T", "U", "i64", "list<i32>", "L", "list<T>", "set<i32>", "list<i64>", "E", "F", "S", "R", "map<i32, S>", "map<U, S>", "map<i32, R>", "string", "binary"}
	var fields strings.Builder
	for i, typ := range types {
		fmt.Fprintf(&fields, "%d: %s f%[1]d ", i+1, typ)
	}
	f := mustLoad(t, fmt.Sprintf(text, fields.String())).Files[0]
	groups := []int{1, 1, 1, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 10, 11, 12, 13}
	all := newTypes()
	for i, x := range f.Structs[2].Fields {
		for j, y := range f.Structs[2].Fields {
			if got := all.same(x.Type, y.Type); got != (groups[i] == groups[j]) {
				t.Errorf("%s and %s: %t", types[i], types[j], got)
			}
		}
		if all.same(x.Type, nil) || all.same(nil, x.Type) {
			t.Errorf("%s is void", types[i])
		}
	}
	if !all.same(nil, nil) {
		t.Error("void is not void")
	}
}
