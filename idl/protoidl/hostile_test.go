package protoidl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa/idl"
)

// layers are files of which each imports all of the layer before, publicly, and one that imports the last layer.
func layers(n, wide int) *descriptorpb.FileDescriptorSet {
	all := new(descriptorpb.FileDescriptorSet)
	var before []string
	for i := range n {
		var names []string
		for k := range wide {
			fd := &descriptorpb.FileDescriptorProto{Name: proto.String(fmt.Sprintf("%d_%d", i, k)), Syntax: proto.String("proto3"), Dependency: before}
			for j := range before {
				fd.PublicDependency = append(fd.PublicDependency, int32(j))
			}
			names = append(names, fd.GetName())
			all.File = append(all.File, fd)
		}
		before = names
	}
	all.File = append(all.File, &descriptorpb.FileDescriptorProto{Name: proto.String("main"), Syntax: proto.String("proto3"), Dependency: before})
	return all
}

// The official run time goes all ways through public imports, which are 2^60 here: such a set is refused before.
func TestEntangledImports(t *testing.T) {
	for _, c := range []struct {
		layers, wide int
		refused      bool
	}{{60, 2, true}, {400, 8, true}, {14, 2, false}, {1, 1000, false}, {300, 1, false}, {5, 10, false}, {10, 10, true}} {
		_, err := Reader{}.Schema(layers(c.layers, c.wide), "main")
		if (err != nil) != c.refused {
			t.Errorf("%d layers of %d: %v", c.layers, c.wide, err)
		}
		if c.refused && !strings.HasSuffix(err.Error(), ": its public imports lead to other files in too many ways") {
			t.Error(err)
		}
	}
}

// Public imports that lead in a circle, to no file, or to no import are errors, whatever comes first.
func TestWrongPublicImports(t *testing.T) {
	for text, want := range map[string]string{
		`name: "a.proto" dependency: "b.proto" public_dependency: 0|name: "b.proto" dependency: "a.proto" public_dependency: 0`: `import cycle in file: "`,
		`name: "a.proto" dependency: "b.proto" public_dependency: 0`:                                                            `a.proto: could not resolve import "b.proto": not found`,
		`name: "a.proto" public_dependency: 0`:                                                                                  `a.proto: invalid or duplicate public import index: 0`,
		`name: "a.proto" dependency: "b.proto" public_dependency: -1|name: "b.proto"`:                                           `a.proto: invalid or duplicate public import index: -1`,
		`name: "a.proto" dependency: "b.proto" public_dependency: [0, 0]|name: "b.proto"`:                                       `a.proto: invalid or duplicate public import index: 0`,
		`name: "a.proto"|name: "a.proto"`:                                                                                       `file appears multiple times: "a.proto"`,
	} {
		_, err := Reader{}.Schema(set(t, strings.Split(text, "|")...), "a.proto")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

// The file that is to blame is found in one walk, however long the chain of imports before it is.
func TestBlamedBehindManyFiles(t *testing.T) {
	const files = 3000
	all := new(descriptorpb.FileDescriptorSet)
	for i := range files {
		fd := &descriptorpb.FileDescriptorProto{Name: proto.String(fmt.Sprint(i, ".proto")), Syntax: proto.String("proto3")}
		if i > 0 {
			fd.Dependency = []string{fmt.Sprint(i-1, ".proto")}
		}
		all.File = append(all.File, fd)
	}
	last := all.File[files-1]
	last.MessageType = []*descriptorpb.DescriptorProto{{Name: proto.String("1M")}}
	_, err := Reader{}.Schema(all, last.GetName())
	if err == nil || !strings.HasPrefix(err.Error(), last.GetName()+": descriptor ") {
		t.Error(err)
	}
}

// A definition of another file in the way is told with the file that brings it.
func TestBlamedForTwoOfOneName(t *testing.T) {
	_, err := Reader{}.Schema(set(t, `name: "a.proto" message_type { name: "M" }`, `name: "b.proto" enum_type { name: "M" value { name: "Z" number: 0 } }`), "a.proto")
	if err == nil || !strings.HasPrefix(err.Error(), "b.proto: ") {
		t.Error(err)
	}
}

// What descriptors say of messages, that no compiler would write: an error with the file, or a schema, and never a panic.
func TestWrongDescriptors(t *testing.T) {
	message := func(body string) string {
		return `name: "a.proto" syntax: "proto3" message_type { name: "M" ` + body + ` }`
	}
	field := func(body string) string {
		return message(`field { name: "f" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 ` + body + ` }`)
	}
	for text, want := range map[string]string{
		message(`field { name: "f" }`):    `message field "M.f" cannot resolve type: invalid name reference: ""`,
		field(``):                         "",
		field(`oneof_index: 0`):           `message field "M.f" has an invalid oneof index: 0`,
		field(`oneof_index: -1`):          `message field "M.f" has an invalid oneof index: -1`,
		field(`proto3_optional: true`):    "",
		field(`default_value: "1"`):       `message field "M.f" has invalid default: cannot be specified with implicit field presence`,
		field(`extendee: ".M"`):           `message field "M.f" may not have extendee: ".M"`,
		field(`type_name: ".M"`):          `message field "M.f" cannot resolve type: target name cannot be specified for int32`,
		field(`json_name: ""`):            "",
		field(`options { packed: true }`): "",
		field(`} field { name: "f" number: 2 label: LABEL_OPTIONAL type: TYPE_INT32 `):                            `descriptor "M.f" already declared`,
		field(`} field { name: "g" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 `):                            `message "M" has conflicting fields: "g" with "f"`,
		message(`field { name: "" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }`):                            `descriptor "M" has an invalid nested name: ""`,
		message(`field { name: "f" number: 0 label: LABEL_OPTIONAL type: TYPE_INT32 }`):                           `message field "M.f" has an invalid number: 0`,
		message(`field { name: "f" number: -1 label: LABEL_OPTIONAL type: TYPE_INT32 }`):                          `message field "M.f" has an invalid number: -1`,
		message(`field { name: "f" number: 1 label: LABEL_REQUIRED type: TYPE_INT32 }`):                           `message field "M.f" using proto3 semantics cannot be required`,
		message(`field { name: "f" number: 1 label: LABEL_OPTIONAL type: TYPE_GROUP type_name: ".M" }`):           `message field "M.f" is an invalid group: invalid under proto3 semantics`,
		message(`field { name: "f" number: 1 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".M" }`):            `message field "M.f" cannot resolve type: resolved "M", but it is not an enum`,
		message(`field { name: "f" number: 1 label: LABEL_OPTIONAL type: TYPE_MESSAGE }`):                         `message field "M.f" cannot resolve type: invalid name reference: ""`,
		message(`field { name: "f" number: 1 label: LABEL_OPTIONAL type_name: ".M" }`):                            "",
		message(`options { map_entry: true }`):                                                                    "",
		message(`oneof_decl { name: "o" }`):                                                                       `message oneof "M.o" must contain at least one field declaration`,
		message(`reserved_range { start: 5 end: 1 }`):                                                             `message "M" reserved ranges has invalid field number: 0`,
		message(`extension_range { start: 1 end: 2 }`):                                                            `message "M" using proto3 semantics cannot have extension ranges`,
		message(`nested_type { name: "f" } enum_type { name: "f" value { name: "Z" number: 0 } }`):                `descriptor "M.f" already declared`,
		`name: "a.proto" enum_type { name: "E" }`:                                                                 `enum "E" must contain at least one value declaration`,
		`name: "a.proto" syntax: "proto3" enum_type { name: "E" value { name: "Z" number: 1 } }`:                  `enum "Z" using open semantics must have zero number for the first value`,
		`name: "a.proto" service { name: "S" method { name: "m" input_type: ".N" output_type: ".N" } }`:           `service method "S.m" cannot resolve input: "N" not found`,
		`name: "a.proto" extension { name: "x" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 extendee: ".N" }`: `extension field "x" cannot resolve extendee: "N" not found`,
		`name: "a.proto" package: "a..b"`:                                                                         `invalid package: "a..b"`,
		`name: "a.proto" syntax: "proto4"`:                                                                        `invalid syntax: "proto4"`,
		`name: ""`:                                                                                                `: file path must be populated`,
	} {
		all := set(t, text)
		s, err := Reader{}.Schema(all, all.File[0].GetName())
		got := ""
		if errs, ok := errors.AsType[idl.Errors](err); ok {
			got = strings.TrimPrefix(errs[0].Error(), "a.proto: ")
		}
		if got != want || (s == nil) != (want != "") {
			t.Errorf("%q: %q", text, got)
		}
	}
}
