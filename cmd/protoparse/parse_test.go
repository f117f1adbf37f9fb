package protoparse

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/breaking"
)

// opener serves files that exist only in the test.
func opener(files map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if s, ok := files[filepath.ToSlash(path)]; ok {
			return []byte(s), nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
}

// load reads files that exist only in the test.
func load(files map[string]string, include []string, list ...string) (*idl.Schema, error) {
	return Reader{Include: include, Open: opener(files)}.Load(list...)
}

// A file is known by one name, whichever way the tree is given.
func TestNames(t *testing.T) {
	const (
		item  = "syntax = 'proto3'; package shop.v1; message Item {}"
		order = "syntax = 'proto3'; package shop.v1; import \"shop/v1/item.proto\"; message Order { Item item = 1; }"
		other = "syntax = 'proto3'; import 'item.proto'; message X { shop.v1.Item item = 1; }"
	)
	for name, c := range map[string]struct {
		files   map[string]string
		include []string
		list    []string
		want    string // name=path of each file; + if it is listed
	}{
		"by -I":           {map[string]string{"a/idl/x/y.proto": item}, []string{"inc", "a/idl"}, []string{"a/idl/x/y.proto"}, "x/y.proto=a/idl/x/y.proto+"},
		"by an import":    {map[string]string{"idl/shop/v1/item.proto": item, "idl/shop/v1/order.proto": order}, nil, []string{"idl/shop/v1/item.proto", "idl/shop/v1/order.proto"}, "shop/v1/item.proto=idl/shop/v1/item.proto+ shop/v1/order.proto=idl/shop/v1/order.proto+"},
		"by its package":  {map[string]string{"idl/shop/v1/item.proto": item, "idl/shop/v1/order.proto": order}, nil, []string{"idl/shop/v1/order.proto"}, "shop/v1/item.proto=idl/shop/v1/item.proto shop/v1/order.proto=idl/shop/v1/order.proto+"},
		"beside the file": {map[string]string{"d/item.proto": item, "d/other.proto": other}, nil, []string{"d/other.proto"}, "item.proto=d/item.proto other.proto=d/other.proto+"},
		"elsewhere":       {map[string]string{"/abs/d/item.proto": item, "/abs/d/other.proto": other}, nil, []string{"/abs/d/other.proto"}, "item.proto=/abs/d/item.proto other.proto=/abs/d/other.proto+"},
		"-I goes first":   {map[string]string{"inc/item.proto": item, "d/item.proto": "x", "d/other.proto": other}, []string{"inc"}, []string{"d/other.proto"}, "item.proto=inc/item.proto other.proto=d/other.proto+"},
		"of one root":     {map[string]string{"../i/x/a.proto": "syntax = 'proto3';", "../i/x/shop/v1/item.proto": item}, nil, []string{"../i/x/a.proto", "../i/x/shop/v1/item.proto"}, "a.proto=../i/x/a.proto+ shop/v1/item.proto=../i/x/shop/v1/item.proto+"},
		"of one folder":   {map[string]string{"../i/x/y/a.proto": "syntax = 'proto3';", "../i/x/z/a.proto": "syntax = 'proto3';"}, nil, []string{"../i/x/y/a.proto", "../i/x/z/a.proto"}, "y/a.proto=../i/x/y/a.proto+ z/a.proto=../i/x/z/a.proto+"},
		"named twice":     {map[string]string{"d/item.proto": item}, nil, []string{"d/item.proto", "./d/item.proto"}, "item.proto=d/item.proto+"},
	} {
		s, err := load(c.files, c.include, c.list...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, f := range s.Files {
			got = append(got, f.Import+"="+filepath.ToSlash(f.Path)+map[bool]string{true: "+"}[f.Listed])
			if f.Text != c.files[filepath.ToSlash(f.Path)] {
				t.Errorf("%s: %s has another text", name, f.Path)
			}
		}
		slices.Sort(got)
		want := strings.Fields(c.want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// Errors have the place in the file as it was named, and at most ten are told.
func TestErrors(t *testing.T) {
	many := "syntax = 'proto3'; message M {\n" + strings.Repeat("  N n = 1;\n", 20) + "}"
	for name, c := range map[string]struct {
		files map[string]string
		list  string
		want  string // the first line; "" after it: how many
		n     int
	}{
		"a word that is none":          {map[string]string{"idl/a.proto": "syntax = 'proto3';\n\tmessag M {}"}, "idl/a.proto", "idl/a.proto:2:2: syntax error: unexpected identifier", 1},
		"a name that is not there":     {map[string]string{"idl/a.proto": "syntax = 'proto3';\nmessage M {\n\tN n = 1; }"}, "idl/a.proto", "idl/a.proto:3:2: field M.n: unknown type N", 1},
		"an import that is not there":  {map[string]string{"idl/a.proto": "syntax = 'proto3';\nimport 'b.proto';"}, "idl/a.proto", "idl/a.proto:2:8: cannot import b.proto: file does not exist", 1},
		"an import of somebody's file": {map[string]string{"idl/a.proto": "syntax = 'proto3';\nimport '../../b.proto';", "b.proto": ""}, "idl/a.proto", "idl/a.proto:2:8: cannot import ../../b.proto: it leads out of the tree", 1},
		"an import that is broken":     {map[string]string{"idl/a.proto": "syntax = 'proto3';\nimport 'b.proto';", "idl/b.proto": "syntax = 'proto3';\n message {"}, "idl/a.proto", "idl/b.proto:2:10: syntax error: unexpected '{'", 1},
		"a circle":                     {map[string]string{"idl/a.proto": "syntax = 'proto3';\nimport 'idl/a.proto';"}, "idl/a.proto", `idl/a.proto:2:8: cycle found in imports: "idl/a.proto" -> "idl/a.proto"`, 1},
		"what is local": {map[string]string{"idl/a.proto": "syntax = 'proto3';\nimport 'b.proto';\nmessage M {\n\tN n = 1; }", "idl/b.proto": "edition = \"2024\"; local message N {}"}, "idl/a.proto",
			"idl/a.proto:4:4: N is local to idl/b.proto", 1},
		"no such file": {nil, "x.proto", "x.proto: file does not exist", 1},
		"too large":    {map[string]string{"x.proto": strings.Repeat(" ", maxFileBytes+1)}, "x.proto", "x.proto: file of 16777217 bytes; 16777216 are allowed", 1},
		"many":         {map[string]string{"a.proto": many}, "a.proto", "a.proto:3:9: message M: fields n and n both have the same tag 1", 10},
	} {
		s, err := load(c.files, nil, c.list)
		errs, ok := errors.AsType[idl.Errors](err)
		if !ok || s != nil || len(errs) != c.n || errs[0].Head() != c.want {
			t.Errorf("%s: %v\nwant %d: %s", name, err, c.n, c.want)
		} else if e := errs[0]; e.Pos.Line > 0 && e.Source != idl.SourceLine(c.files[filepath.ToSlash(e.Path)], e.Pos.Line) {
			t.Errorf("%s: the line %q", name, e.Source)
		}
	}
	_, err := load(map[string]string{"a/x.proto": "syntax = 'proto3';", "/b/x.proto": "syntax = 'proto3';", "/a/x.proto": ""}, []string{"/a", "/b"}, "/a/x.proto", "/b/x.proto")
	if err == nil || !strings.Contains(err.Error(), `/a/x.proto would be imported as "x.proto" too: give the directories that imports are relative to with -I`) {
		t.Errorf("two of one name: %v", err)
	}
}

// An import that nobody uses is a warning.
func TestWarnings(t *testing.T) {
	s, err := load(map[string]string{"a.proto": "syntax = 'proto3';\nimport 'b.proto';", "b.proto": "syntax = 'proto3';"}, nil, "a.proto")
	if err != nil || len(s.Warnings) != 1 || s.Warnings[0].Head() != `a.proto:2:1: import "b.proto" not used` {
		t.Errorf("%v, %v", s.Warnings, err)
	}
}

// A file of edition 2024 keeps its places, its words, and who may see what.
func Test2024(t *testing.T) {
	const text = `edition = "2024";
/* import option "x.proto"; */
import option "google/protobuf/go_features.proto";
import "google/protobuf/empty.proto";
option features.enforce_naming_style = STYLE_LEGACY;
option features.(pb.go).strip_enum_prefix = STRIP_ENUM_PREFIX_KEEP;
export message A { local enum E { Z = 0 [features.(pb.go).strip_enum_prefix = STRIP_ENUM_PREFIX_KEEP]; Y = 1 [deprecated = true, features.(pb.go).strip_enum_prefix = STRIP_ENUM_PREFIX_KEEP]; }
  map<int32, int32> m = 1;
  export message B {} local message C { int32 n = 1 [features.(pb.go).strip_enum_prefix = STRIP_ENUM_PREFIX_KEEP, deprecated = true]; }
  export export = 2; local local = 3; google.protobuf.Empty empty = 4; }
message export { string text = 1 [default = "export message X {"]; }
local message local { }
`
	s, err := load(map[string]string{"a.proto": text}, nil, "a.proto")
	if err != nil || len(s.Warnings) > 0 {
		t.Fatalf("%v, %v", err, s)
	}
	f := s.Files[len(s.Files)-1]
	if f.Import != "a.proto" || f.Text != text || len(f.Includes) != 1 {
		t.Errorf("%s: %v", f.Import, f.Includes)
	}
	for _, d := range f.Structs {
		line := idl.SourceLine(text, d.Pos.Line)
		if name := d.Name[strings.LastIndexByte(d.Name, '.')+1:]; !strings.HasPrefix(line[d.Pos.Col-1:], name+" {") {
			t.Errorf("%s is not at %v", d.Name, d.Pos)
		}
	}
	fd := new(descriptorpb.FileDescriptorProto)
	if err := proto.Unmarshal(f.Compiled, fd); err != nil || fd.GetEdition() != descriptorpb.Edition_EDITION_2024 {
		t.Errorf("%v, %v", err, fd.GetEdition())
	}
	var seen []string
	var walk func(m *descriptorpb.DescriptorProto)
	walk = func(m *descriptorpb.DescriptorProto) {
		seen = append(seen, m.GetName()+m.GetVisibility().String()[len("VISIBILITY"):])
		for _, e := range m.EnumType {
			seen = append(seen, e.GetName()+e.GetVisibility().String()[len("VISIBILITY"):])
		}
		for _, n := range m.NestedType {
			walk(n)
		}
	}
	for _, m := range fd.MessageType {
		walk(m)
	}
	if got := strings.Join(seen, " "); got != "A_EXPORT E_LOCAL MEntry_UNSET B_EXPORT C_LOCAL export_UNSET local_LOCAL" {
		t.Error(got)
	}
	if n := f.Structs[3]; len(n.Fields) != 1 || f.Enums[0].Values[1].Annotations == nil || f.Structs[2].Fields[0].Annotations == nil {
		t.Errorf("%v", n)
	}
	// Of another edition the words mean nothing, and only one token is the edition.
	for _, text := range []string{`edition = "2023"; message export {} // "2024"`, `syntax = "proto3"; message M { string edition = 2024; }`, "", "edition = 2024"} {
		if lower(text) != nil {
			t.Errorf("%s is taken for 2024", text)
		}
	}
}

// Whatever a file says, the answer is a schema or errors.
func FuzzLoad(f *testing.F) {
	f.Add("edition = \"2024\"; import option 'b.proto'; export message M { local enum E { A = 0; } E e = 1 [features.(pb.go).strip_enum_prefix = X]; }")
	f.Add("syntax = 'proto2'; message M { extensions 1 to max; optional group G = 1 { } extend M { repeated int32 x = 5 [packed = true]; } }")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := load(map[string]string{"a.proto": text, "b.proto": ""}, nil, "a.proto")
		if (s == nil) == (err == nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}

// What a change of a .proto file breaks: findings of idl/breaking, with their places.
func TestBreaking(t *testing.T) {
	message := func(body string) string { return "syntax = 'proto3'; message M { " + body + " }" }
	enum := func(body string) string { return "syntax = 'proto2'; " + body }
	for _, c := range []struct{ old, new, want string }{
		{message("int32 a = 1;"), message("int32 a = 1; string b = 2; optional int32 c = 3;"), ""},
		{message("int32 a = 1;"), message("int32 a = 2;"), "field-id-changed"},
		{message("int32 a = 1;"), message("int64 a = 1;"), "type-respelled"},
		{message("int32 a = 1;"), message("bool a = 1;"), "type-respelled"},
		{message("int32 a = 1;"), message("sint32 a = 1;"), "field-type-changed"},
		{message("fixed32 a = 1;"), message("sfixed32 a = 1;"), "type-respelled"},
		{message("sint32 a = 1;"), message("sint64 a = 1;"), "type-respelled"},
		{message("fixed64 a = 1;"), message("double a = 1;"), "field-type-changed"},
		{message("string a = 1;"), message("bytes a = 1;"), "type-respelled"},
		{message("string a = 1;"), message("repeated string a = 1;"), "field-type-changed"},
		{message("repeated int32 a = 1;"), message("repeated int32 a = 1 [packed = false];"), ""},
		{message("int32 a = 1;"), message("optional int32 a = 1;"), "optional-changed"},
		{message("int32 a = 1;"), message("int32 b = 1;"), "field-renamed"},
		{message("int32 a = 1;"), message("string b = 1;"), "field-id-reused"},
		{message("int32 a = 1;"), message(""), "field-removed"},
		{message("int32 a = 1;"), message("int32 a = 1 [json_name = 'x'];"), "json-name-changed"},
		{message("oneof o { int32 a = 1; }"), message("oneof o { int32 a = 1; string b = 2; }"), ""},
		{message("optional int32 a = 1;"), message("oneof o { int32 a = 1; }"), "oneof-changed"},
		{message("oneof o { int32 a = 1; }"), message("oneof p { int32 a = 1; }"), "oneof-changed"},
		{message("oneof o { int32 a = 1; }"), message("oneof o { string a = 1; }"), "field-type-changed"},
		{message("oneof o { int32 a = 1; int32 b = 2; }"), message("oneof o { int32 a = 1; }"), "field-removed"},
		{message("message N {} N n = 1;"), message("message O {} O n = 1;"), "type-renamed"},
		{message("map<int32, M> a = 1;"), message("map<int64, M> a = 1;"), "type-respelled"},
		{message("map<int32, M> a = 1;"), message("map<string, M> a = 1;"), "field-type-changed"},
		{enum("message M { optional M a = 1; }"), enum("message M { optional group A = 1 {} }"), "field-type-changed"},
		{enum("message M { required int32 a = 1; }"), enum("message M { optional int32 a = 1; }"), "required-removed"},
		{enum("message M { optional int32 a = 1 [default = 1]; }"), enum("message M { optional int32 a = 1 [default = 2]; }"), "default-changed"},
		{enum("enum E { A = 0; }"), enum("enum E { B = 0; }"), "enum-value-renamed"},
		{enum("enum E { A = 0; }"), "syntax = 'proto3'; enum E { A = 0; }", "enum-openness-changed"},
		{enum("message M { extensions 1 to 9; } extend M { optional int32 x = 1; }"), enum("message M { extensions 1 to 9; } extend M { optional string x = 1; }"), "field-type-changed"},
		{enum("message M { extensions 1 to 9; extend M { optional int32 x = 1; } }"), enum("message M { extensions 1 to 9; }"), "field-removed"},
		{"syntax = 'proto3'; package a;", "syntax = 'proto3';\npackage b;", "package-changed 2:1"},
		{"syntax = 'proto3'; option go_package = 'a';", "syntax = 'proto3';\n\n option go_package = 'b';", "namespace-changed 3:2"},
		{"syntax = 'proto3'; message M {} service S { rpc A(M) returns (M); }", "syntax = 'proto3'; message M {} service S { rpc A(M) returns (stream M); }", "stream-changed"},
		{"syntax = 'proto3'; message M {} service S { rpc A(M) returns (M); }", "syntax = 'proto3'; message M {} service S { rpc A(stream M) returns (M); }", "stream-changed"},
		{"syntax = 'proto3'; message M {} message N {} service S { rpc A(M) returns (M); }", "syntax = 'proto3'; message M {} message N {} service S { rpc A(N) returns (M); }", "argument-type-changed"},
		{"syntax = 'proto3'; message M {} message N {} service S { rpc A(M) returns (M); }", "syntax = 'proto3'; message M {} message N {} service S { rpc A(M) returns (N); }", "result-type-changed"},
		{"syntax = 'proto3'; message M {} service S { rpc A(M) returns (M); }", "syntax = 'proto3'; message M {} service S { }", "method-removed"},
	} {
		var both [2]*idl.Schema
		for i, text := range []string{c.old, c.new} {
			s, err := load(map[string]string{"a.proto": text}, nil, "a.proto")
			if err != nil {
				t.Fatal(err)
			}
			both[i] = s
		}
		var got []string
		for _, x := range breaking.Compare(both[0], both[1]) {
			text := x.Rule
			if strings.Contains(c.want, ":") {
				text += fmt.Sprintf(" %d:%d", x.Pos.Line, x.Pos.Col)
			}
			got = append(got, text)
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s\n%s\n\tgives %s, want %s", c.old, c.new, s, c.want)
		}
	}
}
