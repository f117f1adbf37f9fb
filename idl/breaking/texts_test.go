package breaking

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
)

// The whole text of each rule's finding, as a user reads it.
func TestTexts(t *testing.T) {
	seen := map[string]bool{"type-moved": true, // see TestMoves, and cmd/protoparse for what Thrift does not have
		"json-name-changed": true, "package-changed": true, "oneof-changed": true, "enum-openness-changed": true}
	for _, c := range []struct{ old, new, want string }{
		{"struct S { 1: i32 a, 2: i32 b }", "struct S { 1: i32 a, 3: i32 b }", "1:29: field b of struct S had id 2 and has 3 (field-id-changed)"},
		{"struct S { 1: i32 a }", "struct S { 1: string b }", "1:22: id 1 of struct S was that of i32 a and is that of string b (field-id-reused)"},
		{"struct S { 1: i32 a }", "struct S { 1: list<i64> a }", "1:25: field a of struct S was i32 and is list<i64> (field-type-changed)"},
		{"exception S { 1: i32 a }", "exception S { 1: i32 b }", "1:22: field 1 of exception S was named a and is b (field-renamed)"},
		{"struct S { 1: i32 a }", "struct S {}", "old 1:19: field a (id 1) of struct S is gone (field-removed)"},
		{"struct S { 1: i32 a }", "struct S { 1: required i32 a }", "1:28: field a of struct S is required and was not (required-added)"},
		{"struct S {}", "struct S { 7: required i32 a }", "1:28: required field a of struct S is new (required-added)"},
		{"struct S { 1: required i32 a }", "struct S { 1: i32 a }", "1:19: field a of struct S was required and is not (required-removed)"},
		{"struct S { 1: required i32 a }", "struct S {}", "old 1:28: required field a (id 1) of struct S is gone (required-removed)"},
		{"struct S { 1: i32 a }", "struct S { 1: optional i32 a }", "1:28: field a of struct S is optional and was not (optional-changed)"},
		{"struct S { 1: optional i32 a }", "struct S { 1: i32 a }", "1:19: field a of struct S was optional and is not (optional-changed)"},
		{"struct S { 1: i32 a = 1 }", "struct S { 1: i32 a = 2 }", "1:19: the default of field a of struct S was 1 and is 2 (default-changed)"},
		{"struct S { 1: i32 a }", "struct S { 1: i32 a = 2 }", "1:19: the default of field a of struct S was absent and is 2 (default-changed)"},
		{"struct S { 1: list<i32> a = [1, 2] }", "struct S { 1: list<i32> a = [] }", "1:25: the default of field a of struct S was a list of 2 and is a list of 0 (default-changed)"},
		{"struct S { 1: string a = '" + strings.Repeat("x", 99) + "' }", "struct S { 1: string a = 'y' }", `1:22: the default of field a of struct S was "` + strings.Repeat("x", 59) + `… and is "y" (default-changed)`},
		{"struct S { 1: string a }", "struct S { 1: binary a }", "1:22: field a of struct S was string and is binary, which have the same bytes (type-respelled)"},
		{"struct S {}", "union S {}", "1:7: S was struct and is union (union-changed)"},
		{"struct S {}", "exception S {}", "1:11: S was struct and is exception (type-kind-changed)"},
		{"typedef i32 S", "struct S {}", "1:8: S was typedef and is struct (type-kind-changed)"},
		{"union U { 1: i32 a, 2: i32 b }", "union U { 1: i32 a }", "old 1:28: field b (id 2) of union U is gone (union-field-removed)"},
		{"union U { 1: i32 a }", "union U { 1: i32 a, 2: i32 b }", "1:28: b is new in union U: old readers will see no variant (union-field-added)"},
		{"struct S {}", "", "old 1:8: struct S is gone (type-removed)"},
		{"struct A { 1: i8 n } struct S { 1: A a }", "struct B { 1: i8 n } struct S { 1: B a }", "1:8: struct A is B now (type-renamed)"},
		{"typedef i32 T", "typedef i64 T", "1:13: typedef T was i32 and is i64 (typedef-changed)"},
		{"enum E { A = 1, B = 2 }", "enum E { A = 1, B = 3 }", "1:17: B of enum E was 2 and is 3 (enum-value-changed)"},
		{"enum E { A = 1, B = 2 }", "enum E { A = 1 }", "old 1:17: B = 2 of enum E is gone (enum-value-removed)"},
		{"enum E { A = 1 }", "enum E { C = 1 }", "1:10: A = 1 of enum E is C now (enum-value-renamed)"},
		{"const i32 X = 1", "const i32 X = 2", "1:11: constant X was 1 and is 2 (const-changed)"},
		{"const map<i8, i8> X = {1: 1}", "const map<i8, i8> X = {}", "1:19: constant X was a map of 1 and is a map of 0 (const-changed)"},
		{"const i32 X = 1", "const i64 X = 1", "1:11: constant X was of type i32 and is of i64 (const-type-changed)"},
		{"const i32 X = 1", "", "old 1:11: const X is gone (const-removed)"},
		{"namespace go a\n", "namespace go b\n", "1:1: the namespace for go was a and is b (namespace-changed)"},
		{"namespace go a\n", "", "old 1:1: the namespace for go was a and is gone (namespace-changed)"},
		{"service S {}", "", "old 1:9: service S is gone (service-removed)"},
		{"service S { void m() }", "service S {}", "old 1:18: method m of service S is gone (method-removed)"},
		{"service S { void m() }", "service S { oneway void m() }", "1:25: method S.m was answered and is oneway (oneway-changed)"},
		{"service S { oneway void m() }", "service S { void m() }", "1:18: method S.m was oneway and is answered (oneway-changed)"},
		{"service S { void m() }", "service S { i32 m() }", "1:17: the result of method S.m was void and is i32 (result-type-changed)"},
		{"service S { string m() }", "service S { binary m() }", "1:20: the result of method S.m was string and is binary, which have the same bytes (type-respelled)"},
		{"struct M {} service S { M m(1: M a) }", "struct M {} service S { stream<M> m(1: M a) }", "1:35: method S.m was without streams and is a server's stream (stream-changed)"},
		{"struct M {} service S { M m(1: M a) }", "struct M {} service S { M m(1: stream<M> a) }", "1:27: method S.m was without streams and is a client's stream (stream-changed)"},
		{"struct M {} service S { stream<M> m(1: stream<M> a) }", "struct M {} service S { M m(1: M a) }", "1:27: method S.m was a stream in both directions and is without streams (stream-changed)"},
		{"service S { void m(1: i32 a) }", "service S { void m(1: i64 a) }", "1:27: argument a of method S.m was i32 and is i64 (argument-type-changed)"},
		{"service S { void m(1: i32 a) }", "service S { void m(2: i32 a) }", "1:27: argument a of method S.m had id 1 and has 2 (argument-id-changed)"},
		{"service S { void m(1: i32 a) }", "service S { void m(1: string b) }", "1:30: id 1 of method S.m was that of i32 a and is that of string b (argument-id-reused)"},
		{"service S { void m(1: i32 a) }", "service S { void m(1: i32 b) }", "1:27: argument 1 of method S.m was named a and is b (argument-renamed)"},
		{"service S { void m(1: i32 a) }", "service S { void m() }", "old 1:27: argument a (id 1) of method S.m is gone (argument-removed)"},
		{"service S { void m() }", "service S { void m(1: i32 a) }", "1:27: argument a of method S.m is new (argument-added)"},
		{"exception X {} service S { void m() throws (1: X x) }", "exception X {} service S { void m() }", "old 1:50: exception x (id 1) of method S.m is gone (exception-removed)"},
		{"exception X {} service S { void m() }", "exception X {} service S { void m() throws (1: X x) }", "1:50: exception x of method S.m is new: old callers will see an answer without a result (exception-added)"},
		{"exception X {} service S { void m() throws (1: X x) }", "exception X {} service S { void m() throws (1: X y) }", "1:50: exception 1 of method S.m was named x and is y (exception-renamed)"},
		{"exception X {} service S { void m() throws (1: X x) }", "exception X {} service S { void m() throws (2: X x) }", "1:50: exception x of method S.m had id 1 and has 2 (exception-id-changed)"},
		{"exception X {} exception Y {} service S { void m() throws (1: X x) }", "exception X {} exception Y {} service S { void m() throws (1: Y x) }", "1:65: exception x of method S.m was X and is Y (exception-type-changed)"},
		{"exception X {} exception Y {} service S { void m() throws (1: X x) }", "exception X {} exception Y {} service S { void m() throws (1: Y y) }", "1:65: id 1 of method S.m was that of X x and is that of Y y (exception-id-reused)"},
		{"service B {} service S extends B {}", "service B {} service S {}", "1:22: service S extended B and extends none (service-base-changed)"},
		{"service B {} service C {} service S extends B {}", "service B {} service C {} service S extends C {}", "1:35: service S extended B and extends C (service-base-changed)"},
	} {
		found := compareFiles(t, map[string]string{"a.thrift": c.old}, map[string]string{"a.thrift": c.new})
		got := "nothing"
		if len(found) > 0 {
			got = strings.TrimPrefix(found[0].String(), "a.thrift:")
			if found[0].Old {
				got = "old " + got
			}
			seen[found[0].Rule] = true
		}
		if got != c.want {
			t.Errorf("%s\n%s\n gives %s\n want  %s", c.old, c.new, got, c.want)
		}
	}
	for _, r := range Rules() {
		if !seen[r.Name] {
			t.Errorf("no text of %s was seen", r.Name)
		}
	}
}

// Values are compared by what they mean for their type, not by how they are written.
func TestSameValues(t *testing.T) {
	const head = "enum E { A = 1, B = 2 } struct P { 1: i32 x, 2: optional P p } const i32 ONE = 1 const list<i32> ONES = [1, 1] const uuid ID = '00112233-4455-6677-8899-AABBCCDDEEFF' "
	for _, c := range []struct {
		typ, old, new string
		same          bool
	}{
		{"i32", "1", "ONE", true},
		{"i32", "16", "0x10", true},
		{"i32", "1", "E.A", true},
		{"i32", "1", "2", false},
		{"bool", "true", "1", true},
		{"bool", "true", "0", false},
		{"double", "1", "1.0", true},
		{"double", "1.5", "15e-1", true},
		{"double", "1.5", "1.6", false},
		{"string", "'a'", `"a"`, true},
		{"string", "'a'", "'A'", false},
		{"binary", "'a'", `"a"`, true},
		{"uuid", "'{00112233-4455-6677-8899-aabbccddeeff}'", "ID", true},
		{"uuid", "'00112233-4455-6677-8899-aabbccddeef0'", "ID", false},
		{"E", "E.A", "1", true},
		{"E", "E.A", "E.B", false},
		{"list<i32>", "[1, 1]", "ONES", true},
		{"list<i32>", "[1, 2]", "[2, 1]", false},
		{"list<i32>", "[1]", "[1, 1]", false},
		{"list<i32>", "[]", "{}", true},
		{"set<i32>", "[1, 2]", "[2, 1]", true},
		{"set<i32>", "[1, 2]", "[1]", false},
		{"map<string, i32>", "{'a': 1, 'b': 2}", "{'b': 2, 'a': ONE}", true},
		{"map<string, i32>", "{'a': 1}", "{'a': 2}", false},
		{"map<string, i32>", "{'a': 1}", "{'b': 1}", false},
		{"map<string, list<i32>>", "{'a': [1, 1]}", "{'a': ONES}", true},
		{"P", "{'x': 1, 'p': {}}", "{'p': {}, 'x': ONE}", true},
		{"P", "{'x': 1}", "{}", false},
		{"P", "{'p': {'x': 1}}", "{'p': {'x': 2}}", false},
		{"list<P>", "[{'x': 1}]", "[{'x': 1}]", true},
	} {
		side := func(v string) map[string]string {
			return map[string]string{"a.thrift": head + "const " + c.typ + " C = " + v + " struct S { 1: " + c.typ + " f = " + v + " }"}
		}
		found := compareFiles(t, side(c.old), side(c.new))
		want := 2 // of the constant and of the default
		if c.same {
			want = 0
		}
		if len(found) != want {
			t.Errorf("%s: %s and %s: %v", c.typ, c.old, c.new, found)
		}
	}
}

// Types are compared with typedefs followed, on both sides, in containers too.
func TestSameTypes(t *testing.T) {
	const head = "typedef i32 T typedef T U typedef list<U> L enum E { A } struct S {} struct R {} "
	for _, c := range []struct{ old, new, want string }{
		{"i32", "T", ""},
		{"i32", "U", ""},
		{"list<i32>", "L", ""},
		{"map<T, list<U>>", "map<i32, L>", ""},
		{"E", "i32", "type-respelled"},
		{"list<E>", "list<T>", "type-respelled"},
		{"map<string, i8>", "map<binary, i8>", "type-respelled"},
		{"map<i32, string>", "map<E, binary>", "type-respelled"},
		{"list<i32>", "set<i32>", "field-type-changed"},
		{"map<string, i8>", "map<string, i16>", "field-type-changed"},
		{"map<string, i8>", "list<i8>", "field-type-changed"},
		{"S", "R", "field-type-changed"},
		{"list<S>", "list<R>", "field-type-changed"},
		{"S", "E", "field-type-changed"},
		{"string", "uuid", "field-type-changed"},
		{"i32", "double", "field-type-changed"},
	} {
		side := func(typ string) map[string]string {
			return map[string]string{"a.thrift": head + "struct X { 1: " + typ + " f }"}
		}
		for way, found := range map[string][]*Change{"": compareFiles(t, side(c.old), side(c.new)), "back: ": compareFiles(t, side(c.new), side(c.old))} {
			got := ""
			if len(found) > 0 {
				got = found[0].Rule
			}
			if got != c.want || len(found) > 1 {
				t.Errorf("%s%s and %s: %v, want %s", way, c.old, c.new, found, c.want)
			}
		}
	}
}

// What moved to another file is found there, and compared.
func TestMoves(t *testing.T) {
	for name, c := range map[string]struct {
		old, new map[string]string
		want     string
	}{
		"a struct": {map[string]string{"a.thrift": "struct S { 1: i32 a }", "b.thrift": ""}, map[string]string{"a.thrift": "", "b.thrift": "struct S { 1: i32 a }"},
			"b.thrift:1:8: struct S was in a.thrift (type-moved)"},
		"and changed": {map[string]string{"a.thrift": "struct S { 1: i32 a }", "b.thrift": ""}, map[string]string{"a.thrift": "", "b.thrift": "struct S { 1: i64 a }"},
			"b.thrift:1:8: struct S was in a.thrift (type-moved)\nb.thrift:1:19: field a of struct S was i32 and is i64 (field-type-changed)"},
		"a service": {map[string]string{"a.thrift": "service V { void m() }", "b.thrift": ""}, map[string]string{"a.thrift": "", "b.thrift": "service V {}"},
			"a.thrift:1:18: method m of service V is gone (method-removed)\nb.thrift:1:9: service V was in a.thrift (type-moved)"},
		"where one was already": {map[string]string{"a.thrift": "struct S {}", "b.thrift": "struct S {}"}, map[string]string{"a.thrift": "", "b.thrift": "struct S {}"},
			"a.thrift:1:8: struct S is gone (type-removed)"},
		"a file": {map[string]string{"a.thrift": "struct S {}"}, map[string]string{"c.thrift": "struct S {}"},
			"c.thrift:1:8: struct S was in a.thrift (type-moved)"},
		"copied": {map[string]string{"a.thrift": "struct S {}"}, map[string]string{"a.thrift": "struct S {}", "b.thrift": "struct S {}"}, ""},
	} {
		var got []string
		for _, x := range compareFiles(t, c.old, c.new) {
			got = append(got, x.String())
		}
		if text := strings.Join(got, "\n"); text != c.want {
			t.Errorf("%s\n gives %s\n want  %s", name, text, c.want)
		}
	}
}

// The comparison works on the model alone: schemas that no reader has made, without
// texts, positions or namespaces, as those from Protobuf's descriptors may be.
func TestModelAlone(t *testing.T) {
	schema := func(id int32, presence idl.Presence, values ...*idl.EnumValue) *idl.Schema {
		f := &idl.File{Path: "x.proto", Name: "x", Language: "protobuf", Listed: true, Package: "x"}
		e := &idl.Enum{Name: "E", Values: values, File: f}
		f.Enums = []*idl.Enum{e}
		f.Structs = []*idl.Struct{{Name: "M", Kind: idl.PlainStruct, File: f, Fields: []*idl.Field{
			{ID: id, Name: "e", Presence: presence, Type: &idl.Type{Kind: idl.EnumRef, Enum: e, Name: "E", File: f.Path}},
		}}}
		return &idl.Schema{Files: []*idl.File{f}}
	}
	one := &idl.EnumValue{Name: "ONE", Value: 1}
	for name, c := range map[string]struct {
		old, new *idl.Schema
		want     string
	}{
		"the same":      {schema(1, idl.Implicit, one), schema(1, idl.Implicit, one), ""},
		"another id":    {schema(1, idl.Implicit, one), schema(2, idl.Implicit, one), "x.proto:0:0: field e of struct M had id 1 and has 2 (field-id-changed)"},
		"presence":      {schema(1, idl.Implicit, one), schema(1, idl.Optional, one), "x.proto:0:0: field e of struct M is optional and was not (optional-changed)"},
		"a value fewer": {schema(1, idl.Implicit, one), schema(1, idl.Implicit), "x.proto:0:0: ONE = 1 of enum E is gone (enum-value-removed)"},
	} {
		var got []string
		for _, x := range Compare(c.old, c.new) {
			got = append(got, x.String())
		}
		if text := strings.Join(got, "\n"); text != c.want {
			t.Errorf("%s\n gives %s\n want  %s", name, text, c.want)
		}
	}
}

// A finding as JSON, whole: other tools read it.
func TestChangeJSON(t *testing.T) {
	found := compareFiles(t, map[string]string{"a.thrift": "enum E { A }\r\n"}, map[string]string{"a.thrift": "enum E {}\r\n"})
	p, err := json.Marshal(found)
	const want = `[{"rule":"enum-value-removed","harms":"wire","path":"a.thrift","pos":{"line":1,"col":10},"old":true,"msg":"A = 0 of enum E is gone","source":"enum E { A }"}]`
	if err != nil || string(p) != want {
		t.Errorf("%v\n gives %s\n want  %s", err, p, want)
	}
}

// Rules are a list of their own for each who asks.
func TestRulesAreACopy(t *testing.T) {
	Rules()[0].Name = "changed"
	if Rules()[0].Name == "changed" {
		t.Error("the list can be changed")
	}
	harms := map[Harm]int{}
	for _, r := range Rules() {
		harms[r.Harms]++
	}
	if harms[Wire] != 23 || harms[Source] != 19 || harms[Behavior] != 5 || len(harms) != 3 {
		t.Errorf("%v", harms)
	}
}

// A file with every production differs from itself in nothing, and from nothing in
// all that it defines; what is only added harms nobody.
func TestEverything(t *testing.T) {
	s, err := thriftidl.Reader{}.Load("../thriftidl/testdata/grammar.thrift")
	if err != nil {
		t.Fatal(err)
	}
	again, err := thriftidl.Reader{}.Load("../thriftidl/testdata/grammar.thrift")
	if err != nil {
		t.Fatal(err)
	}
	none := new(idl.Schema)
	for _, pair := range [][2]*idl.Schema{{s, s}, {s, again}, {none, none}, {none, s}} {
		if found := Compare(pair[0], pair[1]); len(found) > 0 {
			t.Errorf("%v", found)
		}
	}
	empty := &idl.Schema{Files: []*idl.File{{Path: s.Files[1].Path, Name: "grammar"}}}
	f, gone := s.Files[1], map[string]int{}
	for _, c := range Compare(&idl.Schema{Files: []*idl.File{f}}, empty) {
		gone[c.Rule]++
		if !c.Old && c.Rule != "namespace-changed" {
			t.Errorf("%s is said to stand in the new file", c)
		}
	}
	if gone["const-removed"] != len(f.Consts) || gone["service-removed"] != len(f.Services) || gone["type-removed"] != len(f.Typedefs)+len(f.Enums)+len(f.Structs) {
		t.Errorf("%v", gone)
	}
}
