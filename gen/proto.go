package gen

import (
	"fmt"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// protoBackend is Protobuf's [backend]. Its parts:
//
//	proto.go        tags, names, the embedded descriptor, methods
//	proto_place.go  which Go package a file belongs to
//	proto_extend.go extensions
//	proto_encode.go AppendProto and EncodeProto of a message
//	proto_decode.go ReadProto and DecodeProto
//
// A message is a plain struct: the tags of its fields say all that the codec has to know. The
// methods do the usual, faster.
//
//	type Order struct {
//		ID      string           `proto:"1,string,name=id" json:"id,omitempty"`
//		Note    *string          `proto:"2,string,explicit,name=note" json:"note,omitempty"`
//		Items   []*Item          `proto:"3,message,name=items" json:"items,omitempty"`
//		Counts  map[string]int32 `proto:"4,map(string,sint32),name=counts" json:"counts,omitempty"`
//		Payment OrderPayment     `proto:"oneof,name=payment" json:"payment,omitempty"`
//		unknown []byte           `proto:"unknown"`
//	}
//
// Fields that the program does not know stay in unknown, and are written again.
type protoBackend struct {
	g       *generator
	extends map[*idl.Struct]*idl.Struct // the messages that those of adds extend
}

// suffix implements backend.
func (b *protoBackend) suffix() string { return ".proto" }

// traits implements [backend]. A zero is absent where presence is implicit, in JSON too,
// as Protobuf's mapping has it; what is absent has its default for who asks a getter.
// Packages of many files are the custom, and buf runs a plug-in for a folder at a time.
func (b *protoBackend) traits() traits { return traits{together: true} }

// reserved implements [backend]. The names are those of the methods that a message of
// Thrift has, and unknown's.
func (b *protoBackend) reserved() []string {
	return []string{"AppendProto", "ReadProto", "EncodeProto", "DecodeProto", "ProtoName", "UnknownProto"}
}

func (b *protoBackend) check(*file)                    {}
func (b *protoBackend) typ(*emitter, *idl.Type) string { return "" }
func (b *protoBackend) wire(e *emitter) string         { return e.use("protobuf") + ".Codec{}" }

// face implements [backend].
func (b *protoBackend) face(e *emitter, s *idl.Struct) {
	e.text(e.name(s, ""), s.Fields, "protobuf")
	if b.extends[s] != nil {
		b.extension(e, s)
	}
}

// codec implements [backend]: the full name is what an Any has in its URL.
func (b *protoBackend) codec(e *emitter, s *idl.Struct) {
	if b.extends[s] != nil {
		return
	}
	if s.Extendable {
		e.p("// UnknownProto gives the place of the fields that x does not have, extensions among them.")
		e.p("func (x *%s) UnknownProto() *[]byte { return &x.unknown }\n", e.name(s, ""))
	}
	e.p("// ProtoName gives the message's full name in the IDL.")
	e.p("func (*%s) ProtoName() string { return %q }\n", e.name(s, ""), fullName(s.File, s.Name))
	b.methods(e, s)
}

// hidden implements [backend].
func (b *protoBackend) hidden(s *idl.Struct) []string {
	return []string{"unknown []byte `proto:\"unknown\"`"}
}

// nameMethod implements [backend]: arguments have no names in the IDL.
func (b *protoBackend) nameMethod(_ *file, _ *idl.Service, m *idl.Method) {
	name := "req"
	if m.ClientStream {
		name = "in"
	}
	b.g.names[key{m.Args[0], "param"}] = name
}

// tag implements [backend]: number, type, and what else the codec has to know. The
// members of a oneof have the tags, the field itself has the word.
func (b *protoBackend) tag(f *idl.Field) string {
	if len(oneofOf(f)) > 0 {
		return fmt.Sprintf("proto:%q", "oneof,name="+f.Name)
	}
	parts := []string{fmt.Sprint(f.ID), protoType(f.Type)}
	elem := f.Type
	if elem.Kind == idl.List || elem.Kind == idl.Map {
		elem = elem.Elem
	}
	if f.Packed {
		parts = append(parts, "packed")
	}
	switch {
	case f.Presence == idl.Required:
		parts = append(parts, "required")
	case f.Presence == idl.Optional && f.Type.Kind != idl.StructRef: // messages need no word for it
		parts = append(parts, "explicit")
	}
	if elem.Kind == idl.EnumRef && elem.Enum.Closed {
		parts = append(parts, "closed")
	}
	if f.AnyBytes {
		parts = append(parts, "noutf8")
	}
	parts = append(parts, "name="+f.Name)
	if f.JSONName != "" && f.JSONName != jsonName(f.Name) && jsonTag(f) == f.JSONName {
		parts = append(parts, "json="+f.JSONName)
	}
	return fmt.Sprintf("proto:%q", strings.Join(parts, ","))
}

// jsonName is the name that a field has in JSON unless its option says another one.
func jsonName(name string) string {
	var b strings.Builder
	up := false
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_':
			up = true
			continue
		case up && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		}
		up = false
		b.WriteByte(c)
	}
	return b.String()
}

// protoType is a type as a tag has it: of a list that of its elements.
func protoType(t *idl.Type) string {
	switch t.Kind {
	case idl.List:
		return protoType(t.Elem)
	case idl.Map:
		return "map(" + protoType(t.Key) + "," + protoType(t.Elem) + ")"
	case idl.EnumRef:
		return "enum"
	case idl.StructRef:
		if t.Word == "" {
			return "message"
		}
	}
	return t.Word
}

// enumPrefix implements [backend]. Values of Protobuf's enums stand beside the enum, not
// in it, so that most begin with its name: COLOR_RED of Color is ColorRED.
func (b *protoBackend) enumPrefix(d *idl.Enum) string {
	name := d.Name[strings.LastIndexByte(d.Name, '.')+1:]
	prefix := ""
	for i, v := range d.Values {
		if i == 0 {
			prefix = wordsOf(v.Name, name)
		}
		if prefix == "" || !strings.HasPrefix(v.Name, prefix) || strings.Trim(v.Name[len(prefix):], "_") == "" {
			return ""
		}
	}
	return prefix
}

// wordsOf gives the begin of value that spells name, in any case and with any
// underscores, with the underscore behind it; "" if there is none.
func wordsOf(value, name string) string {
	name = strings.ReplaceAll(name, "_", "")
	for i := range len(value) {
		switch {
		case value[i] == '_' && name == "":
			return value[:i+1]
		case value[i] == '_':
		case name == "" || !strings.EqualFold(value[i:i+1], name[:1]):
			return ""
		default:
			name = name[1:]
		}
	}
	return ""
}

// messages implements [backend]: the messages are those of the IDL.
func (b *protoBackend) messages(e *emitter, s *idl.Service, m *idl.Method) {
	more := ""
	if _, ok := m.Annotations.Find("idempotent"); ok {
		more = "Idempotent: true, "
	}
	if _, ok := m.Annotations.Find("no_side_effects"); ok {
		more += "ReadOnly: true, "
	}
	e.described(s, m, more)
}

// serve implements [backend].
func (b *protoBackend) serve(e *emitter, m *idl.Method) {
	in, _ := e.streamMessages(m)
	e.p("req, err := %s.Args[%s](c)\nif err != nil {\nreturn err\n}", e.use("stub"), in)
	e.p("res, err := impl.%s(ctx, req)\nreturn stub.Fill(c, res, err)", e.name(m, ""))
}

// call implements [backend].
func (b *protoBackend) call(e *emitter, s *idl.Service, m *idl.Method) {
	_, out := e.streamMessages(m)
	e.p("res := new(%s)", out)
	e.p("if err := c.caller.Do(ctx, %s.Make(&%s, %q, %s, res)); err != nil {\nreturn nil, err\n}\nreturn res, nil",
		e.use("stub"), e.name(m, "var"), e.fullName(s), e.name(m.Args[0], "param"))
}

// note implements backend: tags are all that the codec needs, so that no code follows the types.
func (b *protoBackend) note(types string) string {
	return "// How the types of " + types + " travel. EncodeProto and DecodeProto are what protobuf.Codec calls\n" +
		"// on a message, AppendProto and ReadProto what they call within one."
}

// schema implements [backend]: the descriptor as an entry of a FileDescriptorSet, so that
// the texts of several files behind each other are a set of them.
func (b *protoBackend) schema(f *file) (text, reader string) {
	const fileField = 1<<3 | 2 // of FileDescriptorSet, with its length in front
	p := []byte{fileField}
	n := len(f.Compiled)
	for ; n >= 0x80; n >>= 7 {
		p = append(p, byte(n)|0x80)
	}
	p = append(p, byte(n))
	return string(append(p, f.Compiled...)), "descriptorpb.FileDescriptorSet"
}
