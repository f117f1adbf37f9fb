package thriftidl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
)

// values has what a constant may be written as, with the kind that it has.
var values = []struct{ text, kind string }{
	{"1", "int"}, {"-129", "int"}, {"32768", "int"}, {"2147483648", "int"}, {"9223372036854775807", "int"}, {"true", "int"},
	{"1.5", "double"}, {"1e999", "double"}, {"'x'", "string"}, {"'00112233-4455-6677-8899-aabbccddeeff'", "string"},
	{"[]", "list"}, {"[1, 2]", "list"}, {"['a']", "list"}, {"{}", "map"}, {"{1: 'a'}", "map"}, {"{'n': 5}", "map"}, {"{'n': 5, 'm': 6}", "map"},
	{"E.V", "name"}, {"F.V", "name"}, {"INT", "name"}, {"TEXT", "name"}, {"LIST", "name"}, {"ENUM", "name"}, {"STRUCT", "name"}, {"gone", "name"},
}

// TestFit holds which values fit which types: a row a type, a column a value, an x
// where it fits. A value that does not fit has one error, which names the type.
func TestFit(t *testing.T) {
	const head = `enum E { V = 1 } enum F { V = 1, W = 2 }
const i32 INT = 7
const string TEXT = 'text'
const list<i32> LIST = [1]
const E ENUM = E.V
struct S { 1: i32 n, 2: i32 m }
union U { 1: i32 n, 2: i32 m }
exception X { 1: i32 n }
typedef i8 Small
const S STRUCT = {'n': 1}
`
	want := map[string]string{
		//               1 -129 32768 2^31 max true 1.5 1e999 'x' uuid [] [1,2] ['a'] {} {1:'a'} {n} {n,m} E.V F.V INT TEXT LIST ENUM STRUCT gone
		"bool":             "xxxxxx...........xxx..x..",
		"i8":               "x....x...........xxx..x..",
		"Small":            "x....x...........xxx..x..",
		"i16":              "xx...x...........xxx..x..",
		"i32":              "xxx..x...........xxx..x..",
		"i64":              "xxxxxx...........xxx..x..",
		"double":           "xxxxxxx..........xxx..x..",
		"string":           "........xx..........x....",
		"binary":           "........xx..........x....",
		"uuid":             ".........x...............",
		"list<i32>":        "..........xx.x.......x...",
		"set<string>":      "..........x.xx...........",
		"map<i32,string>":  "..........x..xx..........",
		"map<string,i32>":  "..........x..x.xx........",
		"E":                "x....x...........xx...x..", // F.V: the name behind the dot is E's too
		"F":                "x....x...........xx......",
		"S":                ".............x.xx......x.",
		"U":                ".............x.x.........",
		"X":                ".............x.x.........",
		"list<list<bool>>": "..........x..x...........",
	}
	for typ, row := range want {
		for i, v := range values {
			s, err := load(map[string]string{"a.thrift": fmt.Sprintf("%sconst %s C = %s", head, typ, v.text)}, "a.thrift")
			if fits := row[i] == 'x'; fits != (err == nil) {
				t.Errorf("const %s C = %s: %v, but the table has %q", typ, v.text, err, row[i])
				continue
			}
			if err == nil {
				if c := s.Files[0].Consts[5]; string(c.Value.Kind) != v.kind {
					t.Errorf("%s is a %s, want %s", v.text, c.Value.Kind, v.kind)
				}
				continue
			}
			if errs, ok := errors.AsType[idl.Errors](err); !ok || !strings.Contains(errs[0].Msg, "C") || errs[0].Pos.Line != 11 {
				t.Errorf("const %s C = %s: %v", typ, v.text, err)
			}
		}
		if len(row) != len(values) {
			t.Fatalf("%s has %d columns, want %d", typ, len(row), len(values))
		}
	}
}

// What a value stands for, as those who read a schema follow it: a name leads to its
// constant or its enum's value, a number of an enum to the value too.
func TestValuesRefer(t *testing.T) {
	s, err := load(map[string]string{
		"a.thrift": `include "b.thrift"
include "x.y.thrift"
enum E { A = 1, B = 2, C = 2 }
typedef E Alias
typedef Alias Again
const E NAME = E.B
const E NUMBER = 2
const E ALIAS = Again.A
const i32 PLAIN = E.C
const i32 CHAIN = PLAIN
const b.F FAR = b.F.Z
const i32 FARTHER = b.LIMIT
const i32 DOTTED = x.y.DEEP
const list<E> LIST = [E.A, 2, NAME]
const map<E, i32> MAP = {E.A: PLAIN}
struct S { 1: E e = E.B, 2: list<E> l = LIST }`,
		"b.thrift":   "enum F { Z = 26 }\nconst i32 LIMIT = 10",
		"x.y.thrift": "const i32 DEEP = 3",
	}, "a.thrift")
	if err != nil {
		t.Fatal(err)
	}
	f := s.Files[2]
	show := func(v *idl.Value) string {
		switch {
		case v.Const != nil:
			return "constant " + v.Const.Name
		case v.EnumValue != nil:
			return fmt.Sprintf("%s.%s=%d", v.Enum.Name, v.EnumValue.Name, v.EnumValue.Value)
		}
		return v.String()
	}
	got := map[string]string{}
	for _, c := range f.Consts {
		got[c.Name] = show(c.Value)
		for _, x := range c.Value.List {
			got[c.Name] += " " + show(x)
		}
		for _, x := range c.Value.Map {
			got[c.Name] += " " + show(x.Key) + ":" + show(x.Value)
		}
	}
	for _, x := range f.Structs[0].Fields {
		got["default "+x.Name] = show(x.Default)
	}
	for name, want := range map[string]string{
		"NAME": "E.B=2", "NUMBER": "E.B=2", "ALIAS": "E.A=1", "PLAIN": "E.C=2", "CHAIN": "constant PLAIN", "FAR": "F.Z=26",
		"FARTHER": "constant LIMIT", "DOTTED": "constant DEEP", "LIST": "[E.A, 2, NAME] E.A=1 E.B=2 constant NAME", "MAP": "{E.A: PLAIN} E.A=1:constant PLAIN",
		"default e": "E.B=2", "default l": "constant LIST",
	} {
		if got[name] != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
}

// Errors of values that stand within others, or that go through other constants,
// have the place where they are written, or where the constant is used.
func TestValueErrors(t *testing.T) {
	for text, want := range map[string]string{
		"const list<list<i8>> C = [[1], [300]]":                         "1:33: C is of type i8: 300 does not fit",
		"const map<i8, i8> C = {1: 300}":                                "1:27: C is of type i8: 300 does not fit",
		"const map<i8, i8> C = {300: 1}":                                "1:24: C is of type i8: 300 does not fit",
		"enum E { V = 1 } const map<E, i8> C = {E.V: 1, 1: 2}":          "1:48: C has the key 1 twice",
		"struct S { 1: i8 a } const list<S> C = [{'a': 1}, {'a': 300}]": "1:57: C.a is of type i8: 300 does not fit",
		"struct S { 1: i8 a } const S C = {'a': 1, 'a': 2}":             "1:43: C has the field a twice",
		"struct S { 1: i8 a } const S C = {1: 1}":                       "1:35: C is of type S: its fields are named by strings",
		"struct S { 1: i8 a } const S C = [1]":                          "1:34: C is of type S: [1] does not fit",
		"struct S { 1: i8 a } struct T { 1: S s = {'b': 1} }":           `1:43: s: struct S has no field "b"`,
		"exception S { 1: i8 a } const S C = {'b': 1}":                  `1:38: C: exception S has no field "b"`,
		"struct S { 1: S s } const S C = {'s': {'s': {'t': {}}}}":       `1:46: C.s.s: struct S has no field "t"`,
		"const i8 A = B const i32 B = 300":                              "1:14: A is of type i8: 300 does not fit",
		"const i8 A = B const i32 B = C const i64 C = 300":              "1:14: A is of type i8: 300 does not fit",
		"const string A = B const list<i8> B = [1]":                     "1:18: A is of type string: constant B is of type list<i8>",
		"const list<i8> A = B const list<i16> B = [1]":                  "1:20: A is of type list<i8>: constant B is of type list<i16>",
		"const list<i8> A = B const i8 B = 1":                           "1:20: A is of type list<i8>: constant B is of type i8",
		"enum E { V } const list<i8> A = E.V":                           "1:33: A is of type list<i8>: 0 does not fit",
		"enum E { V } const string A = E.V":                             "1:31: A is of type string: 0 does not fit",
		"enum E { V } enum F { W } const E A = F.W":                     "1:39: A is of type E: F.W is a value of enum F",
		"const uuid A = '00112233-4455-6677-8899-aabbccddeefg'":         `1:16: A is of type uuid: "00112233-4455-6677-8899-aabbccddeefg" does not fit`,
		"service S { void m(1: i8 a = 300) }":                           "1:30: a is of type i8: 300 does not fit",
		"exception X {} service S { void m() throws (1: X x = 5) }":     "1:54: x is of type X: 5 does not fit",
		"const i8 A = A": "1:10: constant A leads back to itself",
		"const map<string, string> A = {'a': B} const string B = C const string C = B": "1:53: constant B leads back to itself",
		"struct S { 1: list<S> l } const S A = {'l': B} const list<S> B = [A]":         "1:35: constant A leads back to itself",
		"const list<i8> A = [B, C]":                                                          "1:21: A: no constant or enum value is named B",
		"enum E { V } typedef list<E> L const i8 A = L.V":                                    "1:45: A: no constant or enum value is named L.V",
		"enum E { V } typedef E T struct S {} typedef S U const i8 A = T.V const i8 B = U.V": "1:80: B: no constant or enum value is named U.V",
		"const bool A = 5.5":                                                                 "1:16: A is of type bool: 5.5 does not fit",
		"const i64 A = -9223372036854775809":                                                 "1:15: integer -9223372036854775809 does not fit 64 bits",
		"const i64 A = 0xffffffffffffffff":                                                   "1:15: integer 0xffffffffffffffff does not fit 64 bits",
		"const i64 A = 0x8000000000000000":                                                   "1:15: integer 0x8000000000000000 does not fit 64 bits",
		"enum E { A = -2147483649 }":                                                         "1:14: value -2147483649 of A does not fit 32 bits",
		"struct S { 32768: i8 a }":                                                           "1:12: field id 32768 does not fit 16 bits",
		"const set<i8> A = {'a': 1}":                                                         `1:19: A is of type set<i8>: {"a": 1} does not fit`,
		"struct S { 1: i8 a = 300 } (x) union U { 1: i8 b = 300 }":                           "1:22: a is of type i8: 300 does not fit",
		"const map<list<i8>, i8> A = {[1]: 1, [1]: 2}":                                       "1:38: A has the key [1] twice",
	} {
		_, err := load(map[string]string{"a.thrift": text}, "a.thrift")
		errs, ok := errors.AsType[idl.Errors](err)
		if !ok {
			t.Errorf("%.100s\n gives %v, want %s", text, err, want)
			continue
		}
		if got := strings.TrimPrefix(errs[0].Head(), "a.thrift:"); got != want {
			t.Errorf("%.100s\n gives %s\n want  %s", text, got, want)
		}
	}
}
