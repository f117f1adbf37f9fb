package protoparse

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
)

// shown tells the definitions of a file, one a line.
func shown(f *idl.File) string {
	var lines []string
	for _, m := range f.Structs {
		line := m.Name + ":"
		for _, x := range m.Fields {
			line += fmt.Sprintf(" %d %s %v %v", x.ID, x.Name, x.Type, x.Presence)
			if x.Packed {
				line += " packed"
			}
			if x.AnyBytes {
				line += " any-bytes"
			}
			if x.Default != nil {
				line += " = " + x.Default.String()
			}
			line += ";"
		}
		lines = append(lines, line)
	}
	for _, e := range f.Enums {
		line := e.Name + ":"
		for _, v := range e.Values {
			line += fmt.Sprintf(" %s=%d", v.Name, v.Value)
		}
		if e.Closed {
			line += " closed"
		}
		lines = append(lines, line)
	}
	for _, s := range f.Services {
		line := s.Name + ":"
		for _, m := range s.Methods {
			line += " " + m.Name
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestUnusual reads sources that are seldom, and right.
func TestUnusual(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing but blanks": {" \n\t", ""},
		"no syntax is proto2": {"message M { required int32 n = 1; }",
			"M: 1 n int32 required;"},
		"nested extensions": {"syntax = 'proto2'; message M { extensions 10 to max; message N { extend M { optional N n = 10; repeated int32 r = 11 [packed = true]; } } }",
			"M:\nM.N:"},
		"groups": {"syntax = 'proto2'; message M { repeated group G = 1 { optional group H = 1 { } } oneof o { group I = 2 { required bool b = 1; } } }",
			"M: 1 g list<M.G> implicit; 0 o M.o optional;\nM.o: 2 i M.I optional;\nM.G: 1 h M.G.H optional;\nM.G.H:\nM.I: 1 b bool required;"},
		"reserved": {"syntax = 'proto3'; message M { reserved 1, 3 to 5, 9 to max; reserved 'a', \"b\"; int32 c = 2; } enum E { Z = 0; reserved -5 to -1, 7; reserved 'Y'; }",
			"M: 2 c int32 implicit;\nE: Z=0"},
		"numbers of all kinds": {"syntax = 'proto2'; message M { optional int32 a = 0x1 [default = -0x7f]; optional double b = 02 [default = 1e-3]; optional float c = 3 [default = -inf]; optional double d = 4 [default = nan]; optional uint64 e = 5 [default = 18446744073709551615]; optional int64 f = 6 [default = -9223372036854775808]; }",
			"M: 1 a int32 optional = -127; 2 b double optional = 0.001; 3 c float optional = -inf; 4 d double optional = nan; 5 e uint64 optional = -1; 6 f int64 optional = -9223372036854775808;"},
		"strings of all kinds": {`syntax = "proto2"; message M { optional string a = 1 [default = 'a' "b" '\x41\101\u00e9\n']; optional bytes b = 2 [default = "\xff\000\'"]; }`, `M: 1 a string optional any-bytes = "abAAé\n"; 2 b bytes optional = "\xff\x00'";`},
		"the largest number": {"syntax = 'proto3'; message M { int32 n = 536870911; }",
			"M: 536870911 n int32 implicit;"},
		"aliases": {"syntax = 'proto3'; enum E { option allow_alias = true; A = 0; B = 0; C = -1; D = 2147483647; }",
			"E: A=0 B=0 C=-1 D=2147483647"},
		"names from within": {"syntax = 'proto3'; package a.b; message M { message a { } a x = 1; .a.b.M y = 2; M.a z = 3; b.M w = 4; }",
			"M: 1 x M.a optional; 2 y M optional; 3 z M.a optional; 4 w M optional;\nM.a:"},
		"features of a file": {"edition = '2023'; option features.field_presence = IMPLICIT; option features.repeated_field_encoding = EXPANDED; option features.enum_type = CLOSED; option features.utf8_validation = NONE; message M { int32 a = 1; repeated int32 b = 2; string c = 3; E e = 4 [features.field_presence = EXPLICIT]; } enum E { A = 1; }",
			"M: 1 a int32 implicit; 2 b list<int32> implicit; 3 c string implicit any-bytes; 4 e E optional = A;\nE: A=1 closed"},
		"features of a field": {"edition = '2023'; message M { int32 a = 1 [features.field_presence = LEGACY_REQUIRED]; M b = 2 [features.message_encoding = DELIMITED]; repeated int32 c = 3 [features.repeated_field_encoding = EXPANDED]; string d = 4 [features = { utf8_validation: NONE field_presence: IMPLICIT }]; }",
			"M: 1 a int32 required; 2 b M optional; 3 c list<int32> implicit; 4 d string implicit any-bytes;"},
		"new features side by side": {"edition = '2024'; message M { int32 n = 1 [features.(pb.go).strip_enum_prefix = STRIP_ENUM_PREFIX_KEEP, features.enforce_naming_style = STYLE_LEGACY]; }",
			"M: 1 n int32 optional;"},
		"new features behind another option": {"edition = '2024'; message M { int32 n = 1 [deprecated = true, features.enforce_naming_style = STYLE_LEGACY, features.(pb.go).strip_enum_prefix = STRIP_ENUM_PREFIX_KEEP]; }",
			"M: 1 n int32 optional;"},
		"new features around another option": {"edition = '2024'; message M { int32 n = 1 [features.enforce_naming_style = STYLE_LEGACY, features.field_presence = IMPLICIT, features.(pb.go).strip_enum_prefix = STRIP_ENUM_PREFIX_KEEP]; }",
			"M: 1 n int32 implicit;"},
		"a byte order mark": {"\ufeffedition = '2024'; export message M { }",
			"M:"},
		"custom options": {"syntax = 'proto2'; import 'google/protobuf/descriptor.proto'; message O { optional int32 n = 1; repeated O o = 2; extensions 5; } extend google.protobuf.FieldOptions { optional O o = 50000; } extend O { optional string s = 5; } message M { optional int32 n = 1 [(o) = { n: 1 o { n: 2 } o: < [s]: 'x' > }, (o).o = { n: 3 }]; }",
			"O: 1 n int32 optional; 2 o list<O> implicit;\nM: 1 n int32 optional;"},
		"a stream each way": {"syntax = 'proto3'; message stream { } service S { rpc A(stream stream) returns (stream stream); rpc B(.stream) returns (stream .stream) { option idempotency_level = NO_SIDE_EFFECTS; }; }",
			"stream:\nS: A B"},
		"comments everywhere": {"/**/syntax/*a*/=/*b*/'proto3'//c\n;message/***/M{/* } */int32/*;*/n=/*2*/1;}//",
			"M: 1 n int32 implicit;"},
	} {
		s, err := load(map[string]string{"a.proto": c.text}, nil, "a.proto")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := shown(s.Files[len(s.Files)-1]); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestTree reads files that import each other in unusual ways: a name comes through public imports of any depth, and
// through no others.
func TestTree(t *testing.T) {
	const head = "syntax = 'proto3';\n"
	tree := map[string]string{
		"n.proto":      head + "package n; message N { }",
		"public.proto": head + "import public 'n.proto';",
		"again.proto":  head + "import public 'public.proto';",
		"inner.proto":  head + "import 'n.proto'; message I { n.N n = 1; }",
		"left.proto":   head + "import public 'again.proto'; import public 'n.proto';",
		"weak.proto":   "syntax = 'proto2'; import weak 'n.proto'; message W { optional n.N n = 1; }",
	}
	for name, c := range map[string]struct{ text, want string }{
		"straight":             {"import 'n.proto'; message M { n.N n = 1; }", ""},
		"through one":          {"import 'public.proto'; message M { n.N n = 1; }", ""},
		"through two":          {"import 'again.proto'; message M { n.N n = 1; }", ""},
		"two ways":             {"import 'left.proto'; message M { n.N n = 1; }", ""},
		"weak":                 {"import 'weak.proto'; message M { W w = 1; }", ""},
		"through a private":    {"import 'inner.proto';\nmessage M { n.N n = 1; }", "a.proto:3:13: field M.n: unknown type n.N"},
		"a word too few":       {"import 'n.proto';\nmessage M { N n = 1; }", "a.proto:3:13: field M.n: unknown type N"},
		"twice":                {"import 'n.proto';\nimport 'n.proto';", `a.proto:3:1: "n.proto" was already imported at a.proto:2:1`},
		"of another case":      {"import 'N.proto';", "a.proto:2:8: cannot import N.proto: file does not exist"},
		"a name defined twice": {"import 'n.proto';\npackage n;\nmessage N { }", `a.proto:4:9: symbol "n.N" already defined at n.proto:2:20`},
	} {
		files := map[string]string{"a.proto": head + c.text}
		for k, v := range tree {
			files[k] = v
		}
		s, err := load(files, nil, "a.proto")
		if got := first(err); got != c.want || (s == nil) != (c.want != "") {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// first is the first line of errors, "" for none.
func first(err error) string {
	if errs, ok := errors.AsType[idl.Errors](err); ok && len(errs) > 0 {
		return errs[0].Head()
	}
	return fmt.Sprint(map[bool]any{true: "", false: err}[err == nil])
}

// TestRules tells what the language forbids, each with the place in the file where it stands.
func TestRules(t *testing.T) {
	const p2, p3 = "syntax = 'proto2';\n", "syntax = 'proto3';\n"
	for text, want := range map[string]string{
		p3 + "message M { required int32 n = 1; }":                                                  "a.proto:2:13: field M.n: label 'required' is not allowed in proto3 or editions",
		p3 + "message M { int32 n = 1 [default = 1]; }":                                             "a.proto:2:26: field M.n: default values are not allowed in proto3",
		p3 + "message M { optional group G = 1 { } }":                                               "a.proto:2:22: field M.g: groups are not allowed in proto3 or editions",
		p3 + "message M { extensions 1 to 5; }":                                                     "a.proto:2:24: message M: extension ranges are not allowed in proto3",
		p3 + "enum E { A = 1; }":                                                                    "a.proto:2:14: enum E: proto3 requires that first value of enum have numeric value zero",
		p3 + "enum E { }":                                                                           "a.proto:2:1: enum E: enums must define at least one value",
		p3 + "enum E { A = 0; B = 0; }":                                                             "a.proto:2:21: enum E: values A and B both have the same numeric value 0; use allow_alias option if intentional",
		p3 + "message M { int32 n = 0; }":                                                           "a.proto:2:23: tag number 0 must be greater than zero",
		p3 + "message M { int32 n = 19000; }":                                                       "a.proto:2:23: tag number 19000 is in disallowed reserved range 19000-19999",
		p3 + "message M { int32 n = 536870912; }":                                                   "a.proto:2:23: tag number 536870912 is higher than max allowed tag number (536870911)",
		p3 + "message M { reserved 1 to 3; int32 n = 2; }":                                          "a.proto:2:40: message M: field n is using tag 2 which is in reserved range 1 to 3",
		p3 + "message M { reserved 'n'; int32 n = 2; }":                                             "a.proto:2:33: message M: field n is using a reserved name",
		p3 + "message M { reserved 1 to 3, 2; }":                                                    "a.proto:2:30: message M: reserved ranges overlap: 1 to 3 and 2 to 2",
		p3 + "message M { reserved 3 to 1; }":                                                       "a.proto:2:22: range, 3 to 1, is invalid: start must be <= end",
		p3 + "message M { map<float, int32> n = 1; }":                                               `a.proto:2:17: syntax error: unexpected "float"`,
		p3 + "message M { repeated map<int32, int32> n = 1; }":                                      "a.proto:2:25: syntax error: unexpected '<'",
		p3 + "message M { oneof o { } }":                                                            "a.proto:2:13: oneof must contain at least one field",
		p3 + "message M { oneof o { repeated int32 n = 1; } }":                                      `a.proto:2:23: syntax error: unexpected "repeated"`,
		p3 + "message M { string foo_bar = 1; string fooBar = 2; }":                                 `a.proto:2:33: field M.fooBar: default JSON name "fooBar" conflicts with default JSON name of field foo_bar, defined at a.proto:2:13`,
		p3 + "message M { repeated string n = 1 [packed = true]; }":                                 "a.proto:2:22: packed option is only allowed on numeric, boolean, and enum fields",
		p3 + "service S { rpc A(int32) returns (S); }":                                              "a.proto:2:19: method S.A: unknown request type int32",
		p2 + "message M { int32 n = 1; }":                                                           "a.proto:2:19: field M.n: field has no label; proto2 requires explicit 'optional' label",
		p2 + "message M { optional group g = 1 { } }":                                               "a.proto:2:28: group g should have a name that starts with a capital letter",
		p2 + "message M { optional bool n = 1 [default = 1]; }":                                     "a.proto:2:44: field M.n: option default: expecting bool, got integer",
		p2 + "message M { optional int32 n = 1 [default = 2147483648]; }":                           "a.proto:2:45: field M.n: option default: value 2147483648 is out of range for int32",
		p2 + "enum E { A = 1; } message M { optional E e = 1 [default = B]; }":                      "a.proto:2:59: field M.e: option default: enum E has no value named B",
		p2 + "message M { extensions 1 to 5; optional int32 n = 3; }":                               "a.proto:2:51: message M: field n is using tag 3 which is in extension range 1 to 5",
		p2 + "message M { extensions 5; } extend M { optional int32 n = 4; }":                       "a.proto:2:59: extension n: tag 4 is not in valid range for extended type M",
		p2 + "message M { extensions 5; } extend M { required int32 n = 5; }":                       "a.proto:2:40: extension n: extension fields cannot be 'required'",
		p2 + "message M { extensions 5; } extend M { optional int32 n = 5; optional int32 m = 5; }": "a.proto:2:81: extension with tag 5 for message M already defined at a.proto:2:59",
		"syntax = 'proto4';":                                                                        `a.proto:1:10: syntax value must be "proto2" or "proto3"`,
		"edition = '2022';":                                                                         `a.proto:1:11: edition value "2022" not recognized; should be "2023" or "2024"`,
		"edition = '2023'; message M { optional int32 n = 1; }":                                     "a.proto:1:31: field M.n: label 'optional' is not allowed in editions; use option features.field_presence instead",
		"edition = '2023'; message M { M n = 1 [features.field_presence = IMPLICIT]; }":             "a.proto:1:49: message fields may not specify implicit presence",
		"edition = '2024'; message M { int32 n = 1 [features.enforce_naming_style]; }":              "a.proto:1:73: compact option must have a value",
		"message M { string n = 1":                                                                  "a.proto:1:25: syntax error: expecting ';'",
		"message M { string n = 'a":                                                                 "a.proto:1:24: unexpected EOF",
		"/* no end":                                                                                 "a.proto:1:1: block comment never terminates, unexpected EOF",
		"message \x00 { }":                                                                          "a.proto:1:9: invalid control character",
	} {
		if _, err := load(map[string]string{"a.proto": text}, nil, "a.proto"); first(err) != want {
			t.Errorf("%q: %q,", text, first(err))
		}
	}
}
