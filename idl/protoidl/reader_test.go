package protoidl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa/idl"
)

// set parses descriptors: each text is the body of one file.
func set(t testing.TB, files ...string) *descriptorpb.FileDescriptorSet {
	t.Helper()
	s := new(descriptorpb.FileDescriptorSet)
	for _, text := range files {
		fd := new(descriptorpb.FileDescriptorProto)
		if err := prototext.Unmarshal([]byte(text), fd); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		s.File = append(s.File, fd)
	}
	return s
}

// schema reads descriptors of which the last file is listed.
func schema(t testing.TB, files ...string) *idl.Schema {
	t.Helper()
	all := set(t, files...)
	s, err := Reader{}.Schema(all, all.File[len(all.File)-1].GetName())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shown is a field in one line.
func shown(f *idl.Field) string {
	s := fmt.Sprintf("%d %s %s %s", f.ID, f.Name, f.Type, f.Presence)
	elem := f.Type
	if elem.Elem != nil {
		elem = elem.Elem
	}
	if elem.Word == "group" {
		s += " group"
	}
	if f.Packed {
		s += " packed"
	}
	if f.AnyBytes {
		s += " any-bytes"
	}
	if f.Default != nil {
		s += " = " + f.Default.String()
	}
	return s
}

// fields is what a message has of each kind, to be read by four editions.
const fields = `
	message_type {
		name: "M"
		field { name: "n" number: 1 type: TYPE_SINT32 label: LABEL_OPTIONAL }
		field { name: "s" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
		field { name: "r" number: 3 type: TYPE_FIXED64 label: LABEL_REPEATED }
		field { name: "m" number: 4 type: TYPE_MESSAGE type_name: ".M" label: LABEL_OPTIONAL }
		field { name: "e" number: 5 type: TYPE_ENUM type_name: ".E" label: LABEL_OPTIONAL }
		field { name: "o" number: 6 type: TYPE_STRING label: LABEL_OPTIONAL oneof_index: 0 }
		field { name: "p" number: 7 type: TYPE_BYTES label: LABEL_OPTIONAL oneof_index: 0 }
		field { name: "k" number: 8 type: TYPE_MESSAGE type_name: ".M.KEntry" label: LABEL_REPEATED }
		field { name: "t" number: 9 type: TYPE_MESSAGE type_name: ".M.TEntry" label: LABEL_REPEATED }
		oneof_decl { name: "one" }
		nested_type { name: "TEntry" options { map_entry: true }
			field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
			field { name: "value" number: 2 type: TYPE_BYTES label: LABEL_OPTIONAL } }
		nested_type { name: "KEntry" options { map_entry: true }
			field { name: "key" number: 1 type: TYPE_UINT32 label: LABEL_OPTIONAL }
			field { name: "value" number: 2 type: TYPE_MESSAGE type_name: ".M" label: LABEL_OPTIONAL } }
	}
	enum_type { name: "E" value { name: "Z" number: 0 } value { name: "A" number: 1 } }
`

// The four editions differ in their features' defaults, and a feature overrides them.
func TestEditions(t *testing.T) {
	for edition, want := range map[string]string{
		`name: "a.proto"`: `closed
1 n sint32 optional
2 s string optional any-bytes
3 r list<fixed64> implicit
4 m M optional
5 e E optional
0 one M.one optional
 6 o string optional any-bytes
 7 p bytes optional
8 k map<uint32,M> implicit
9 t map<string,bytes> implicit any-bytes`,
		`name: "a.proto" syntax: "proto3"`: `open
1 n sint32 implicit
2 s string implicit
3 r list<fixed64> implicit packed
4 m M optional
5 e E implicit
0 one M.one optional
 6 o string optional
 7 p bytes optional
8 k map<uint32,M> implicit
9 t map<string,bytes> implicit`,
		`name: "a.proto" syntax: "editions" edition: EDITION_2023`: `open
1 n sint32 optional
2 s string optional
3 r list<fixed64> implicit packed
4 m M optional
5 e E optional
0 one M.one optional
 6 o string optional
 7 p bytes optional
8 k map<uint32,M> implicit
9 t map<string,bytes> implicit`,
		`name: "a.proto" syntax: "editions" edition: EDITION_2024 options { features { field_presence: IMPLICIT enum_type: CLOSED
			repeated_field_encoding: EXPANDED utf8_validation: NONE message_encoding: DELIMITED } }`: `closed
1 n sint32 implicit
2 s string implicit any-bytes
3 r list<fixed64> implicit
4 m M optional group
5 e E optional
0 one M.one optional
 6 o string optional any-bytes
 7 p bytes optional
8 k map<uint32,M> implicit
9 t map<string,bytes> implicit any-bytes`,
	} {
		text := fields
		if strings.Contains(edition, "CLOSED") { // which has to have presence
			text = strings.Replace(text, `".E" label: LABEL_OPTIONAL`, `".E" label: LABEL_OPTIONAL options { features { field_presence: EXPLICIT } }`, 1)
		}
		f := schema(t, edition+text).Files[0]
		lines := []string{map[bool]string{true: "closed", false: "open"}[f.Enums[0].Closed]}
		for _, x := range f.Structs[0].Fields {
			lines = append(lines, shown(x))
			if s := x.Type.Struct; s != nil && s.Oneof {
				for _, y := range s.Fields {
					lines = append(lines, " "+shown(y))
				}
			}
		}
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("%s\n got %s\nwant %s", edition, got, want)
		}
	}
}

// Defaults are values of the model, one of each kind; an enum that begins with another
// number than zero has its first value.
func TestDefaults(t *testing.T) {
	var b strings.Builder
	wants := map[string]string{}
	for i, c := range []struct{ typ, def, want string }{
		{"BOOL", "true", "1"}, {"BOOL", "false", "0"}, {"INT32", "-5", "-5"}, {"SFIXED64", "-9223372036854775808", "-9223372036854775808"},
		{"UINT32", "4294967295", "4294967295"}, {"UINT64", "18446744073709551615", "-1"}, {"FLOAT", "1.1", "1.1"}, {"DOUBLE", "-inf", "-inf"},
		{"DOUBLE", "nan", "nan"}, {"STRING", "a\\\"b", `"a\"b"`}, {"BYTES", `\\001x`, `"\x01x"`},
	} {
		name := fmt.Sprintf("f%d", i)
		fmt.Fprintf(&b, "field { name: %q number: %d type: TYPE_%s label: LABEL_OPTIONAL default_value: \"%s\" }\n", name, i+1, c.typ, c.def)
		wants[name] = c.want
	}
	b.WriteString(`field { name: "e" number: 50 type: TYPE_ENUM type_name: ".E" label: LABEL_OPTIONAL }
		field { name: "e2" number: 51 type: TYPE_ENUM type_name: ".E" label: LABEL_OPTIONAL default_value: "B" }
		field { name: "e3" number: 52 type: TYPE_ENUM type_name: ".E" label: LABEL_REPEATED }
		field { name: "none" number: 53 type: TYPE_INT32 label: LABEL_OPTIONAL }`)
	wants["e"], wants["e2"] = "A", "B"
	f := schema(t, `name: "a.proto" message_type { name: "M" `+b.String()+` } enum_type { name: "E" value { name: "A" number: 3 } value { name: "B" number: 4 } }`).Files[0]
	for _, x := range f.Structs[0].Fields {
		got := ""
		if x.Default != nil {
			got = x.Default.String()
		}
		if got != wants[x.Name] {
			t.Errorf("%s: %s, want %s", x.Name, got, wants[x.Name])
		}
		if x.Type.Kind == idl.EnumRef && x.Default != nil && (x.Default.Enum != f.Enums[0] || x.Default.EnumValue.Name != x.Default.Text) {
			t.Errorf("%s: it leads nowhere", x.Name)
		}
	}
}

// Services have their shapes and what their options say; extensions are fields with the
// struct that they extend; options that the files define are annotations. The file that
// defines them is needed for nothing else, and left out.
func TestServicesExtensionsOptions(t *testing.T) {
	all := set(t, `name: "opt.proto" package: "x" syntax: "proto2" dependency: "google/protobuf/descriptor.proto"
		extension { name: "level" number: 50000 type: TYPE_INT32 label: LABEL_OPTIONAL extendee: ".google.protobuf.FieldOptions" }
		extension { name: "rule" number: 50001 type: TYPE_MESSAGE type_name: ".x.Rule" label: LABEL_OPTIONAL extendee: ".google.protobuf.MethodOptions" }
		message_type { name: "Rule" field { name: "get" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL } }`,
		`name: "dir/my-file.v1.proto" package: "a.b" dependency: "opt.proto" options { go_package: "x/y;z" java_package: "j" }
		message_type { name: "M" extension_range { start: 10 end: 20 } options { deprecated: true }
			field { name: "n" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL options {} json_name: "N" }
			extension { name: "in" number: 11 type: TYPE_STRING label: LABEL_REPEATED extendee: ".a.b.M" } }
		extension { name: "out" number: 10 type: TYPE_MESSAGE type_name: ".a.b.M" label: LABEL_OPTIONAL extendee: ".a.b.M" }
		service { name: "S"
			method { name: "Get" input_type: ".a.b.M" output_type: ".a.b.M" options { idempotency_level: NO_SIDE_EFFECTS } }
			method { name: "Both" input_type: ".a.b.M" output_type: ".a.b.M" client_streaming: true server_streaming: true options { idempotency_level: IDEMPOTENT } } }`)
	fd := all.File[1]
	// level: 7, and rule: {get: "/v1"}.
	fd.MessageType[0].Field[0].Options.ProtoReflect().SetUnknown([]byte("\x80\xb5\x18\x07"))
	fd.Service[0].Method[0].Options.ProtoReflect().SetUnknown([]byte("\x8a\xb5\x18\x05\x0a\x03/v1"))
	all.File = append(all.File, protodesc.ToFileDescriptorProto(descriptorpb.File_google_protobuf_descriptor_proto))
	s, err := Reader{}.Schema(all, fd.GetName())
	if err != nil || len(s.Files) != 1 {
		t.Fatalf("%v, %v", err, s)
	}
	f := s.Files[0]
	m, get, both := f.Structs[0], f.Services[0].Methods[0], f.Services[0].Methods[1]
	for what, c := range map[string][2]any{
		"file":              {fmt.Sprint(f.Name, " ", f.Import, " ", f.Package, " ", f.Language, " ", f.Listed), "my-file.v1 dir/my-file.v1.proto a.b protobuf true"},
		"namespaces":        {f.Namespace("go") + " " + f.Namespace("java"), "x/y;z j"},
		"the message":       {fmt.Sprint(m.Name, m.Extendable, notes(m.Annotations)), "Mtruedeprecated=1"},
		"the field":         {m.Fields[0].JSONName + " " + notes(m.Fields[0].Annotations), "N (x.level)=7"},
		"Get":               {fmt.Sprint(get.Result, get.Args[0].Type, get.ClientStream, get.ServerStream, notes(get.Annotations)), `M M false falseidempotent=1 no_side_effects=1 (x.rule)={"get":"/v1"}`},
		"Both":              {fmt.Sprint(both.ClientStream, both.ServerStream, notes(both.Annotations)), "true trueidempotent=1"},
		"extensions":        {fmt.Sprint(len(f.Extensions), f.Extensions[0].Name, f.Extensions[0].Struct, shown(f.Extensions[0].Field)), "2M.inM11 in list<string> implicit any-bytes"},
		"another extension": {fmt.Sprint(f.Extensions[1].Name, shown(f.Extensions[1].Field), f.Extensions[1].Struct.Struct == m), "out10 out M optionaltrue"},
		"includes":          {len(f.Includes), 0},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %v, want %v", what, c[0], c[1])
		}
	}
	own := new(descriptorpb.FileDescriptorProto)
	if err := proto.Unmarshal(f.Compiled, own); err != nil || len(own.Dependency) != 0 || own.GetPackage() != "a.b" || fd.Dependency[0] != "opt.proto" {
		t.Errorf("%v, %v", err, own)
	}
}

func notes(all idl.Annotations) string {
	var list []string
	for _, a := range all {
		list = append(list, a.Key+"="+a.Value)
	}
	return strings.Join(list, " ")
}

// A file that is imported stays if something that it defines is named, be it by way of a
// public import; the files behind it then stay too.
func TestKeepsWhatIsNamed(t *testing.T) {
	s := schema(t,
		`name: "deep.proto" package: "deep" message_type { name: "D" }`,
		`name: "unused.proto" message_type { name: "U" }`,
		`name: "public.proto" dependency: "deep.proto" public_dependency: 0`,
		`name: "top.proto" dependency: "unused.proto" dependency: "public.proto" message_type { name: "T"
			field { name: "d" number: 1 type: TYPE_MESSAGE type_name: ".deep.D" label: LABEL_OPTIONAL } }`)
	var names, includes []string
	for _, f := range s.Files {
		names = append(names, f.Import)
	}
	top := s.Files[len(s.Files)-1]
	for _, inc := range top.Includes {
		includes = append(includes, inc.File.Import)
	}
	if got := strings.Join(names, " ") + "; " + strings.Join(includes, " "); got != "deep.proto public.proto top.proto; public.proto deep.proto" {
		t.Error(got)
	}
	own := new(descriptorpb.FileDescriptorProto)
	if err := proto.Unmarshal(top.Compiled, own); err != nil || strings.Join(own.Dependency, " ") != "public.proto" {
		t.Errorf("%v, %v", err, own)
	}
	if d := top.Structs[0].Fields[0].Type; d.File != "deep.proto" || d.Struct != s.Files[0].Structs[0] {
		t.Errorf("%v", d)
	}
}

// Comments and places come from SourceCodeInfo: the comment before, else behind; of the
// file, the package's.
func TestDocsAndPlaces(t *testing.T) {
	const text = "package a; \nmessage M {\n\tint32 n = 1;\n}\n"
	all := set(t, `name: "a.proto" package: "a" message_type { name: "M" field { name: "n" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL } }
		source_code_info {
			location { path: [12] span: [0, 0, 5] leading_comments: " A licence.\n" }
			location { path: [2] span: [0, 0, 10] leading_comments: " The file.\n" }
			location { path: [4, 0] span: [1, 0, 3, 1] leading_comments: " A message\n\n   with two parts.  \n" trailing_comments: " not this\n" }
			location { path: [4, 0, 1] span: [1, 8, 9] }
			location { path: [4, 0, 2, 0] span: [2, 8, 20] trailing_comments: "behind" }
			location { path: [4, 0, 2, 0, 1] span: [2, 14, 15] }
		}`)
	s, err := Reader{Source: func(name string) (string, string) { return "idl/" + name, text }}.Schema(all, "a.proto")
	if err != nil {
		t.Fatal(err)
	}
	f := s.Files[0]
	m := f.Structs[0]
	if f.Path != "idl/a.proto" || f.Text != text || f.Doc != "The file." || m.Doc != "A message\n\n  with two parts." || m.Pos != (idl.Pos{Line: 2, Col: 9}) {
		t.Errorf("%q %q %v", f.Doc, m.Doc, m.Pos)
	}
	if n := m.Fields[0]; n.Doc != "behind" || n.Pos != (idl.Pos{Line: 3, Col: 8}) { // the tab is one byte
		t.Errorf("%q %v", n.Doc, n.Pos)
	}
}

// What is wrong with descriptors is told with the file that has it.
func TestErrors(t *testing.T) {
	good := `name: "good.proto" message_type { name: "G" }`
	for name, c := range map[string]struct {
		files  []string
		listed string
		want   string
	}{
		"a name that is not there": {[]string{good, `name: "a.proto" message_type { name: "M" field { name: "n" number: 1 type: TYPE_MESSAGE type_name: ".N" label: LABEL_OPTIONAL } }`}, "a.proto",
			`a.proto: message field "M.n" cannot resolve type: "N" not found`},
		"an import that is not there": {[]string{`name: "a.proto" dependency: "b.proto"`}, "a.proto", `a.proto: could not resolve import "b.proto": not found`},
		"a file that is not there":    {[]string{good}, "a.proto", "a.proto: it is not among the descriptors"},
		"an edition of the future":    {[]string{`name: "a.proto" syntax: "editions" edition: EDITION_99999_TEST_ONLY`}, "a.proto", "a.proto: edition EDITION_99999_TEST_ONLY is not known here: 2023 and 2024 are"},
		// The official run time lets these pass, and then ends the program.
		"the same of its own tests": {[]string{`name: "cmd/protoc-gen-go/testdata/a.proto" syntax: "editions" edition: EDITION_99999_TEST_ONLY`}, "a.proto",
			"cmd/protoc-gen-go/testdata/a.proto: edition EDITION_99999_TEST_ONLY is not known here: 2023 and 2024 are"},
		"a circle": {[]string{`name: "a.proto" dependency: "a.proto"`}, "a.proto", "a.proto: import cycle in file: \"a.proto\""},
	} {
		s, err := Reader{}.Schema(set(t, c.files...), c.listed)
		errs, ok := errors.AsType[idl.Errors](err)
		if !ok || s != nil || len(errs) != 1 || errs[0].Error() != c.want {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// A message set is a message with extensions.
func TestMessageSet(t *testing.T) {
	all := set(t, `name: "a.proto" message_type { name: "S" options { message_set_wire_format: true } extension_range { start: 4 end: 2147483647 } }`)
	s, err := Reader{}.Schema(all, "a.proto")
	if err != nil || !s.Files[0].Structs[0].Extendable || !all.File[0].MessageType[0].Options.GetMessageSetWireFormat() {
		t.Errorf("%v, or the descriptor was changed", err)
	}
}

// Whatever descriptors say, the answer is a schema or an error.
func FuzzSchema(f *testing.F) {
	for _, text := range []string{`name: "a.proto"` + fields, `name: "a.proto" syntax: "editions" edition: EDITION_2024` + fields} {
		raw, err := proto.Marshal(set(f, text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		all := new(descriptorpb.FileDescriptorSet)
		if proto.Unmarshal(raw, all) != nil {
			return
		}
		var names []string
		for _, fd := range all.File {
			names = append(names, fd.GetName())
		}
		s, err := Reader{}.Schema(all, names...)
		if (s == nil) == (err == nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}

// Public imports that double at each step are looked into once each, and a file of many
// definitions is cut into lines once.
func TestManyImportsAndPlaces(t *testing.T) {
	const steps, fields = 10, 10_000
	all := new(descriptorpb.FileDescriptorSet)
	for i := steps; i >= 0; i-- {
		for _, side := range []string{"a", "b"} {
			fd := &descriptorpb.FileDescriptorProto{Name: proto.String(fmt.Sprint(side, i)), Syntax: proto.String("proto3")}
			if i < steps {
				fd.Dependency, fd.PublicDependency = []string{fmt.Sprint("a", i+1), fmt.Sprint("b", i+1)}, []int32{0, 1}
			} else {
				fd.MessageType = []*descriptorpb.DescriptorProto{{Name: proto.String(strings.ToUpper(side))}}
			}
			all.File = append(all.File, fd)
		}
	}
	m := &descriptorpb.DescriptorProto{Name: proto.String("M")}
	m.Field = append(m.Field, &descriptorpb.FieldDescriptorProto{Name: proto.String("last"), Number: proto.Int32(fields + 1), TypeName: proto.String(".B"),
		Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()})
	info := &descriptorpb.SourceCodeInfo{}
	for i := range fields {
		m.Field = append(m.Field, &descriptorpb.FieldDescriptorProto{Name: proto.String(fmt.Sprint("f", i)), Number: proto.Int32(int32(i + 1)),
			Type: descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()})
		info.Location = append(info.Location, &descriptorpb.SourceCodeInfo_Location{Path: []int32{4, 0, 2, int32(i + 1)}, Span: []int32{int32(i), 8, 14}})
	}
	all.File = append(all.File, &descriptorpb.FileDescriptorProto{Name: proto.String("main"), Syntax: proto.String("proto3"), Dependency: []string{"a0"},
		MessageType: []*descriptorpb.DescriptorProto{m}, SourceCodeInfo: info})
	text := strings.Repeat("\tint32 f = 1;\n", fields)
	s, err := Reader{Source: func(name string) (string, string) { return name, text }}.Schema(all, "main")
	if err != nil {
		t.Fatal(err)
	}
	f := s.Files[len(s.Files)-1]
	if got := f.Structs[0].Fields[fields].Pos; got != (idl.Pos{Line: fields, Col: 2}) {
		t.Errorf("the last field stands at %v", got)
	}
	if len(f.Includes) != 2 || f.Includes[0].Path != "a0" {
		t.Errorf("%d includes", len(f.Includes))
	}
}
