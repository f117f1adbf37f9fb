package main

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/protoidl"
	"github.com/limosa-rpc/limosa/protobuf"
	pbdynamic "github.com/limosa-rpc/limosa/protobuf/dynamic"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

// isProto tells services of .proto files from Thrift's.
func isProto(s *idl.Service) bool {
	return s != nil && s.File != nil && s.File.Language == idl.Protobuf
}

// serviceName is what a service is called on the wire: of Protobuf with its package.
func serviceName(s *idl.Service) string {
	if isProto(s) && s.File.Package != "" {
		return s.File.Package + "." + s.Name
	}
	return s.Name
}

// protoMethod describes a method of Protobuf for calls with dynamic.Args and dynamic.Result, as Thrift's are made here.
func protoMethod(s *idl.Schema, svc *idl.Service, m *idl.Method, form limosa.Form) (*rpc.Method, error) {
	if form != limosa.TTHeader {
		return nil, usagef("%s is of Protobuf, whose messages travel in ttheader frames, not in %v", serviceName(svc), form)
	}
	types, err := pbdynamic.New(s)
	if err != nil {
		return nil, err
	}
	of, err := types.Method(svc, m)
	if err != nil {
		return nil, err
	}
	return &rpc.Method{Service: of.RPC.Service, Name: m.Name, Kind: of.RPC.Kind, Idempotent: of.RPC.Idempotent, Codec: protoCodec{of, types.JSON()}}, nil
}

// protoCodec has the JSON of one method's messages, which are Protobuf on the wire.
type protoCodec struct {
	of   *pbdynamic.Method
	json protobuf.JSON
}

// Append implements [rpc.Codec].
func (c protoCodec) Append(out *buf.Out, msg any) error {
	args, ok := msg.(*dynamic.Args)
	if !ok {
		return fmt.Errorf("message is %T", msg)
	}
	req := c.of.Request()
	err := c.json.Decode(buf.ViewOf(args.JSON), req, nil)
	if bad, ok := errors.AsType[*protobuf.SyntaxError](err); ok {
		return &rpc.Error{Code: rpc.InvalidArgument, Op: "encode", Err: &dynamic.Error{Path: bad.Path, Offset: bad.Offset, Why: bad.Why}}
	}
	if err != nil {
		return err
	}
	return protobuf.Codec{}.Append(out, req)
}

// Decode implements [rpc.Codec].
func (c protoCodec) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	result, ok := msg.(*dynamic.Result)
	if !ok {
		return fmt.Errorf("message is %T", msg)
	}
	answer := c.of.Answer()
	if err := (protobuf.Codec{}).Decode(body, answer, lim); err != nil {
		return err
	}
	text, err := answer.MarshalJSON()
	if err != nil {
		return fmt.Errorf("the answer has no form in JSON: %w", err)
	}
	*result = dynamic.Result{Field: "success", JSON: text}
	return nil
}

// unpackProto makes a schema of descriptors, each text a FileDescriptorSet that a server gave. Files that come twice are
// taken once.
func unpackProto(texts []string) (*idl.Schema, error) {
	set, names := new(descriptorpb.FileDescriptorSet), []string{}
	seen := map[string]bool{}
	for _, text := range texts {
		one := new(descriptorpb.FileDescriptorSet)
		if err := proto.Unmarshal([]byte(text), one); err != nil {
			return nil, err
		}
		for _, f := range one.File {
			if !seen[f.GetName()] {
				seen[f.GetName()] = true
				set.File, names = append(set.File, f), append(names, f.GetName())
			}
		}
	}
	return protoidl.Reader{}.Schema(set, names...)
}

// protoSignature writes a method as a .proto file has it.
func protoSignature(m *idl.Method) string {
	stream := map[bool]string{true: "stream "}
	return fmt.Sprintf("rpc %s(%s%s) returns (%s%s)", m.Name, stream[m.ClientStream], protoTypeName(m.Args[0].Type), stream[m.ServerStream], protoTypeName(m.Result))
}

// protoTypeName is a type as a .proto file names it, with the package where that is a well-known one.
func protoTypeName(t *idl.Type) string {
	switch {
	case t.Kind == idl.List:
		return "repeated " + protoTypeName(t.Elem)
	case t.Kind == idl.Map:
		return "map<" + protoTypeName(t.Key) + ", " + protoTypeName(t.Elem) + ">"
	case t.Kind == idl.StructRef && knownType(t.Struct) != "":
		return "google.protobuf." + t.Name
	}
	return t.String()
}

// protoText writes a message as a .proto file has it.
func protoText(d *idl.Struct) string {
	var b strings.Builder
	fmt.Fprintf(&b, "message %s {\n", d.Name)
	for _, f := range d.Fields {
		if t := f.Type; t.Kind == idl.StructRef && t.Struct.Oneof {
			fmt.Fprintf(&b, "  oneof %s {\n", f.Name)
			for _, c := range t.Struct.Fields {
				fmt.Fprintf(&b, "    %s %s = %d;\n", protoTypeName(c.Type), c.Name, c.ID)
			}
			b.WriteString("  }\n")
			continue
		}
		b.WriteString("  ")
		if f.Presence == idl.Required || f.Presence == idl.Optional && f.Type.Kind != idl.StructRef {
			b.WriteString(string(f.Presence) + " ")
		}
		fmt.Fprintf(&b, "%s %s = %d", protoTypeName(f.Type), f.Name, f.ID)
		if text, ok := literal(f.Type, f.Default); ok {
			if f.Type.Kind == idl.EnumRef {
				text = strings.Trim(text, `"`)
			}
			b.WriteString(" [default = " + text + "]")
		} else if f.Default != nil {
			b.WriteString(" [default = …]")
		}
		b.WriteString(";\n")
	}
	return b.String() + "}"
}

// knownType is what a well-known type is in JSON where it is no object of its fields: an example; "" for other
// messages.
func knownType(s *idl.Struct) string {
	if s.File == nil || s.File.Package != "google.protobuf" {
		return ""
	}
	return map[string]string{
		"Timestamp": `"1970-01-01T00:00:00Z"`, "Duration": `"0s"`, "FieldMask": `""`, "Struct": "{}", "Value": "null", "ListValue": "[]", "Any": "{}", "Empty": "{}",
		"DoubleValue": "0", "FloatValue": "0", "Int64Value": "0", "UInt64Value": "0", "Int32Value": "0", "UInt32Value": "0",
		"BoolValue": "false", "StringValue": `""`, "BytesValue": `""`,
	}[s.Name]
}

// sampleName is what a field is called in JSON.
func sampleName(f *idl.Field) string {
	if f.JSONName != "" {
		return f.JSONName
	}
	return f.Name
}

// held gives, of a oneof, the first of its fields that ends, since that is what stands in JSON; other fields are given as
// they are. nil: there is none that ends.
func (s *sampler) held(f *idl.Field) *idl.Field {
	t := f.Type.True()
	if t.Kind != idl.StructRef || !t.Struct.Oneof {
		return f
	}
	for _, c := range t.Struct.Fields {
		if !s.endless(c.Type) {
			return c
		}
	}
	return nil
}
