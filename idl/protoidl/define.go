package protoidl

import (
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/limosa-rpc/limosa/idl"
)

// declareEnums and declareMessages make what a file defines, those within messages too,
// so that a name can be resolved wherever it stands. Maps are no messages here.
func (b *builder) declareEnums(f *idl.File, all protoreflect.EnumDescriptors) {
	for i := range all.Len() {
		ed := all.Get(i)
		e := &idl.Enum{Name: relative(ed), Closed: ed.IsClosed(), File: f, Annotations: b.annotations(ed)}
		e.Pos, e.Doc = b.at(f, ed)
		for j := range ed.Values().Len() {
			vd := ed.Values().Get(j)
			v := &idl.EnumValue{Name: string(vd.Name()), Value: int32(vd.Number()), Annotations: b.annotations(vd)}
			v.Pos, v.Doc = b.at(f, vd)
			b.values[vd] = v
			e.Values = append(e.Values, v)
		}
		b.enums[ed.FullName()] = e
		f.Enums = append(f.Enums, e)
	}
}

// declareMessages makes the structs of a file and of what nests in them, without fields, so that fields can refer to
// any of them. Entries of maps are no messages of their own.
func (b *builder) declareMessages(f *idl.File, all protoreflect.MessageDescriptors) {
	for i := range all.Len() {
		md := all.Get(i)
		if md.IsMapEntry() {
			continue
		}
		s := &idl.Struct{Name: relative(md), Kind: idl.PlainStruct, Fields: []*idl.Field{}, Extendable: md.ExtensionRanges().Len() > 0,
			File: f, Annotations: b.annotations(md)}
		s.Pos, s.Doc = b.at(f, md)
		b.structs[md.FullName()] = s
		f.Structs = append(f.Structs, s)
		for j := range md.Oneofs().Len() {
			if od := md.Oneofs().Get(j); !od.IsSynthetic() {
				u := &idl.Struct{Name: relative(od), Kind: idl.Union, Oneof: true, Fields: []*idl.Field{}, File: f, Annotations: b.annotations(od)}
				u.Pos, u.Doc = b.at(f, od)
				b.structs[od.FullName()] = u
				f.Structs = append(f.Structs, u)
			}
		}
		b.declareEnums(f, md.Enums())
		b.declareMessages(f, md.Messages())
	}
}

// define fills in what a file's definitions are made of. All files are declared by now.
func (b *builder) define(fd protoreflect.FileDescriptor) {
	f := b.files[fd.Path()]
	b.messages(f, fd.Messages())
	b.extensions(f, fd.Extensions())
	for i := range fd.Services().Len() {
		sd := fd.Services().Get(i)
		s := &idl.Service{Name: relative(sd), Methods: []*idl.Method{}, File: f, Annotations: b.annotations(sd)}
		s.Pos, s.Doc = b.at(f, sd)
		for j := range sd.Methods().Len() {
			s.Methods = append(s.Methods, b.method(f, sd.Methods().Get(j)))
		}
		f.Services = append(f.Services, s)
	}
}

// messages fills in the fields of messages. The field of a oneof stands where the first
// of its members does.
func (b *builder) messages(f *idl.File, all protoreflect.MessageDescriptors) {
	for i := range all.Len() {
		md := all.Get(i)
		s := b.structs[md.FullName()]
		if s == nil { // the entry of a map
			continue
		}
		for j := range md.Fields().Len() {
			x := md.Fields().Get(j)
			od := x.ContainingOneof()
			if od == nil || od.IsSynthetic() {
				s.Fields = append(s.Fields, b.field(f, x))
				continue
			}
			u := b.structs[od.FullName()]
			if len(u.Fields) == 0 {
				s.Fields = append(s.Fields, &idl.Field{Name: string(od.Name()), Presence: idl.Optional, Annotations: u.Annotations, Doc: u.Doc, Pos: u.Pos,
					Type: &idl.Type{Kind: idl.StructRef, Name: u.Name, File: f.Path, Struct: u, Pos: u.Pos}})
			}
			u.Fields = append(u.Fields, b.field(f, x))
		}
		b.extensions(f, md.Extensions())
		b.messages(f, md.Messages())
	}
}

// field makes a field. A list or a map is there whether it is empty or not; so it has
// no presence.
func (b *builder) field(f *idl.File, d protoreflect.FieldDescriptor) *idl.Field {
	x := &idl.Field{ID: int32(d.Number()), Name: string(d.Name()), Presence: idl.Implicit, Packed: d.IsPacked(), Annotations: b.annotations(d)}
	x.Pos, x.Doc = b.at(f, d)
	x.Type = b.fieldType(f, d, x.Pos)
	if !d.IsExtension() {
		x.JSONName = d.JSONName()
	}
	switch {
	case d.Cardinality() == protoreflect.Required:
		x.Presence = idl.Required
	case d.HasPresence():
		x.Presence = idl.Optional
	}
	x.AnyBytes = anyBytes(d)
	if d.IsMap() {
		x.AnyBytes = anyBytes(d.MapKey()) || anyBytes(d.MapValue())
	}
	x.Default = b.defaultOf(d)
	return x
}

// anyBytes tells the strings that need not be UTF-8.
func anyBytes(d protoreflect.FieldDescriptor) bool {
	return d.Kind() == protoreflect.StringKind && !utf8(d)
}

// utf8 tells whether a string has to be UTF-8: features.utf8_validation, which is on in
// proto3 and in editions, and off in proto2. The official run time has it in a method
// that its interface does not name.
func utf8(d protoreflect.FieldDescriptor) bool {
	if x, ok := d.(interface{ EnforceUTF8() bool }); ok {
		return x.EnforceUTF8()
	}
	return d.ParentFile().Syntax() != protoreflect.Proto2
}

// fieldType is the type of a field, with list or map around it.
func (b *builder) fieldType(f *idl.File, d protoreflect.FieldDescriptor, pos idl.Pos) *idl.Type {
	switch {
	case d.IsMap():
		return &idl.Type{Kind: idl.Map, Key: b.single(f, d.MapKey(), pos), Elem: b.single(f, d.MapValue(), pos), Pos: pos}
	case d.IsList():
		return &idl.Type{Kind: idl.List, Elem: b.single(f, d, pos), Pos: pos}
	}
	return b.single(f, d, pos)
}

// kinds are the kinds of Protobuf's scalars; several have one kind, and differ by
// their word.
var kinds = map[protoreflect.Kind]idl.Kind{
	protoreflect.BoolKind: idl.Bool, protoreflect.StringKind: idl.String, protoreflect.BytesKind: idl.Binary,
	protoreflect.FloatKind: idl.Float, protoreflect.DoubleKind: idl.Double,
	protoreflect.Int32Kind: idl.I32, protoreflect.Sint32Kind: idl.I32, protoreflect.Sfixed32Kind: idl.I32,
	protoreflect.Int64Kind: idl.I64, protoreflect.Sint64Kind: idl.I64, protoreflect.Sfixed64Kind: idl.I64,
	protoreflect.Uint32Kind: idl.U32, protoreflect.Fixed32Kind: idl.U32,
	protoreflect.Uint64Kind: idl.U64, protoreflect.Fixed64Kind: idl.U64,
}

// single is the type of one value of a field, an element of it if it has several.
func (b *builder) single(f *idl.File, d protoreflect.FieldDescriptor, pos idl.Pos) *idl.Type {
	switch d.Kind() {
	case protoreflect.EnumKind:
		e := b.enums[d.Enum().FullName()]
		b.names(f, e.File, d.Enum(), pos)
		return &idl.Type{Kind: idl.EnumRef, Word: "enum", Name: e.Name, File: e.File.Path, Enum: e, Pos: pos}
	case protoreflect.MessageKind:
		return b.ref(f, d.Message(), pos)
	case protoreflect.GroupKind:
		t := b.ref(f, d.Message(), pos)
		t.Word = "group"
		return t
	}
	return &idl.Type{Kind: kinds[d.Kind()], Word: d.Kind().String(), Pos: pos}
}

// ref names a message.
func (b *builder) ref(f *idl.File, md protoreflect.MessageDescriptor, pos idl.Pos) *idl.Type {
	s := b.structs[md.FullName()]
	b.names(f, s.File, md, pos)
	return &idl.Type{Kind: idl.StructRef, Name: s.Name, File: s.File.Path, Struct: s, Pos: pos}
}

// defaultOf gives what an absent field has: what its option says, else of an enum whose
// first value is not zero that value; nil for a zero. It has a case for each kind of scalar.
func (b *builder) defaultOf(d protoreflect.FieldDescriptor) *idl.Value {
	if d.IsList() || d.IsMap() || d.ContainingOneof() != nil && !d.HasDefault() {
		return nil
	}
	v := d.Default()
	if d.Kind() == protoreflect.EnumKind {
		vd := d.DefaultEnumValue()
		if !d.HasDefault() {
			vd = d.Enum().Values().Get(0) // an enum has one
		}
		if !d.HasDefault() && (vd.Number() == 0 || !d.HasPresence()) {
			return nil
		}
		return &idl.Value{Kind: idl.NameValue, Text: string(vd.Name()), EnumValue: b.values[vd], Enum: b.enums[d.Enum().FullName()]}
	}
	if !d.HasDefault() {
		return nil
	}
	switch x := v.Interface().(type) {
	case bool:
		if x {
			return &idl.Value{Kind: idl.IntValue, Int: 1}
		}
		return &idl.Value{Kind: idl.IntValue}
	case int32:
		return &idl.Value{Kind: idl.IntValue, Int: int64(x)}
	case int64:
		return &idl.Value{Kind: idl.IntValue, Int: x}
	case uint32:
		return &idl.Value{Kind: idl.IntValue, Int: int64(x)}
	case uint64:
		return &idl.Value{Kind: idl.IntValue, Int: int64(x), Text: strconv.FormatUint(x, 10)}
	case float32:
		return &idl.Value{Kind: idl.DoubleValue, Text: spelled(float64(x), 32)}
	case float64:
		return &idl.Value{Kind: idl.DoubleValue, Text: spelled(x, 64)}
	case string:
		return &idl.Value{Kind: idl.StringValue, Text: x}
	case []byte:
		return &idl.Value{Kind: idl.StringValue, Text: string(x)}
	}
	return nil
}

// descriptorFile has the messages of options, which are extended to define new ones. Every
// run time has it, so that no schema needs it for that alone.
const descriptorFile = "google/protobuf/descriptor.proto"

// extensions makes the fields that a file adds to messages. What it adds to options is no
// field of any message that travels; what it adds to message sets nobody here can read,
// and it is kept as a field that is not known.
func (b *builder) extensions(f *idl.File, all protoreflect.ExtensionDescriptors) {
	for i := range all.Len() {
		d := all.Get(i)
		if d.ContainingMessage().ParentFile().Path() == descriptorFile {
			b.options[f] = true
			continue
		}
		if b.messageSets[d.ContainingMessage().FullName()] { // which have another form on the wire
			b.ref(f, d.ContainingMessage(), idl.Pos{})
			continue
		}
		x := &idl.Extension{Name: relative(d), Struct: b.ref(f, d.ContainingMessage(), idl.Pos{}), Field: b.field(f, d), File: f}
		x.Pos = x.Field.Pos
		f.Extensions = append(f.Extensions, x)
	}
}

// method makes a method. Its one argument has no name in the file.
func (b *builder) method(f *idl.File, d protoreflect.MethodDescriptor) *idl.Method {
	m := &idl.Method{Name: string(d.Name()), ClientStream: d.IsStreamingClient(), ServerStream: d.IsStreamingServer(), Annotations: b.annotations(d)}
	m.Pos, m.Doc = b.at(f, d)
	m.StreamPos = m.Pos
	m.Args = []*idl.Field{{ID: 1, Name: "request", Type: b.ref(f, d.Input(), m.Pos), Presence: idl.Optional, Pos: m.Pos}}
	m.Result = b.ref(f, d.Output(), m.Pos)
	return m
}
