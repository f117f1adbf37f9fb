package gen

import (
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// Extensions are fields that a file adds to a message of another one. To whoever has the
// message alone they are fields that it does not know, which it keeps. So what a file adds
// to a message becomes a struct of its own, which is read from those bytes and written to
// them:
//
//	extend Extended { optional string note = 100; }
//
//	type LegacyExtendedExtensions struct { Note *string `proto:"100,string,explicit,…"` … }
//	func GetLegacyExtendedExtensions(m *Extended) (*LegacyExtendedExtensions, error)
//	func SetLegacyExtendedExtensions(m *Extended, x *LegacyExtendedExtensions) error
//
// What other files add stays as it is. A message that can be extended has a method
// UnknownProto, by which code of other packages gets at its bytes.

// adds implements [backend]: a struct for each message that f extends, in the order of
// the file.
func (b *protoBackend) adds(f *idl.File) []*idl.Struct {
	var list []*idl.Struct
	byMessage := map[*idl.Struct]*idl.Struct{}
	for _, x := range f.Extensions {
		of := x.Struct.Struct
		s := byMessage[of]
		if s == nil {
			s = &idl.Struct{
				Name: camel(strings.Map(identChar, f.Name)) + defined(of.Name) + "Extensions", Kind: idl.PlainStruct, File: f, Pos: x.Pos,
				Doc: "What " + f.Name + ".proto adds to " + fullName(of.File, of.Name) + ".",
			}
			byMessage[of], b.extends[s] = s, of
			list = append(list, s)
		}
		field := *x.Field
		field.Name, field.JSONName = strings.ReplaceAll(x.Name, ".", "_"), "["+fullName(f, x.Name)+"]"
		s.Fields = append(s.Fields, &field)
	}
	return list
}

// nameStruct implements [backend].
func (b *protoBackend) nameStruct(f *file, s *idl.Struct) {
	if b.extends[s] == nil {
		return
	}
	name := b.g.names[key{s, ""}]
	for _, word := range []string{"Get", "Set"} {
		b.g.names[key{s, "extension " + word}] = f.take(word+name, "extensions of "+b.extends[s].Name, s.Pos)
	}
}

// extension writes how extensions get out of a message and into it.
func (b *protoBackend) extension(e *emitter, s *idl.Struct) {
	of := b.extends[s]
	name, message := e.name(s, ""), e.at(of.File, of, "")
	get, set, lib := e.name(s, "extension Get"), e.name(s, "extension Set"), e.use("protobuf")
	e.p("// %s reads the extensions that m has.", get)
	e.p("func %s(m *%s) (*%s, error) {\nx := new(%[3]s)\nif m == nil {\nreturn x, nil\n}\nreturn x, %s.Unmarshal(*m.UnknownProto(), x)\n}\n", get, message, name, lib)
	e.p("// %s gives m the extensions that x has, in place of those it had. What other files add stays.", set)
	e.p("func %s(m *%s, x *%s) error {\nold, err := %s(m)\nif err != nil {\nreturn err\n}", set, message, name, get)
	e.p("all := *x\nall.unknown = old.unknown\nraw, err := %s.Marshal(&all)\nif err == nil {\n*m.UnknownProto() = raw\n}\nreturn err\n}\n", lib)
}
