package reflection

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa/idl"
)

// describe gives a schema of Thrift as descriptors, as the package's comment has it: of
// its types, and of the services that are named.
func describe(s *idl.Schema, services []string) (all []*descriptorpb.FileDescriptorProto) {
	w := &world{files: map[*idl.File]*types{}, packages: map[string]bool{}}
	for _, f := range s.Files {
		w.of(f)
	}
	var behind []*descriptorpb.FileDescriptorProto
	for _, name := range services {
		// An included file stands before those that include it, and may have a service
		// of the same name.
		for _, f := range slices.Backward(s.Files) {
			if i := slices.IndexFunc(f.Services, func(x *idl.Service) bool { return x.Name == name }); i >= 0 {
				behind = append(behind, w.of(f).service(f.Services[i]))
				break
			}
		}
	}
	for _, f := range s.Files {
		t := w.of(f)
		t.define()
		all = append(all, t.fd)
	}
	return append(all, behind...)
}

// A world is the files of a schema.
type world struct {
	files    map[*idl.File]*types
	packages map[string]bool
}

// types is the descriptor of the types of one file.
type types struct {
	w     *world
	f     *idl.File
	fd    *descriptorpb.FileDescriptorProto
	names map[string]bool   // that are declared in its package
	made  map[string]string // messages around containers, by what is in them
}

// of gives the types of a file, which are defined once.
func (w *world) of(f *idl.File) *types {
	if t := w.files[f]; t != nil {
		return t
	}
	pkg := unique(w.packages, "thrift."+identifier(strings.TrimSuffix(f.Path, ".thrift")))
	t := &types{w: w, f: f, names: map[string]bool{}, made: map[string]string{}, fd: &descriptorpb.FileDescriptorProto{
		Name: proto.String(f.Path), Package: proto.String(pkg), Syntax: proto.String("proto2")}}
	w.files[f] = t
	for _, e := range f.Enums {
		t.names[identifier(e.Name)] = true
	}
	for _, s := range f.Structs {
		t.names[identifier(s.Name)] = true
	}
	return t
}

// define adds what the file declares.
func (t *types) define() {
	for _, e := range t.f.Enums {
		t.fd.EnumType = append(t.fd.EnumType, t.enum(e))
	}
	for _, s := range t.f.Structs {
		t.fd.MessageType = append(t.fd.MessageType, t.message(identifier(s.Name), s.Fields, s.Kind == idl.Union))
	}
}

// enum describes an enum. Its values have its name in front: they are declared beside it.
func (t *types) enum(e *idl.Enum) *descriptorpb.EnumDescriptorProto {
	name := identifier(e.Name)
	d := &descriptorpb.EnumDescriptorProto{Name: proto.String(name)}
	numbers := map[int32]bool{}
	for _, v := range e.Values {
		if numbers[v.Value] {
			d.Options = &descriptorpb.EnumOptions{AllowAlias: proto.Bool(true)}
		}
		numbers[v.Value] = true
		d.Value = append(d.Value, &descriptorpb.EnumValueDescriptorProto{
			Name: proto.String(unique(t.names, name+"_"+identifier(v.Name))), Number: proto.Int32(v.Value)})
	}
	if len(d.Value) == 0 { // which Protobuf does not know
		d.Value = append(d.Value, &descriptorpb.EnumValueDescriptorProto{Name: proto.String(unique(t.names, name+"_NONE")), Number: proto.Int32(0)})
	}
	return d
}

// message describes a struct, or a union: its fields are in a oneof then.
func (t *types) message(name string, fields []*idl.Field, union bool) *descriptorpb.DescriptorProto {
	m := &descriptorpb.DescriptorProto{Name: proto.String(name)}
	inside := map[string]bool{}
	for _, f := range fields {
		d := &descriptorpb.FieldDescriptorProto{Name: proto.String(unique(inside, identifier(f.Name))), JsonName: proto.String(f.Name), Number: proto.Int32(number(f.ID))}
		switch {
		case union:
			t.single(d, f.Type)
			d.OneofIndex = proto.Int32(0)
		default:
			t.field(m, inside, d, f.Type)
		}
		if f.Presence == idl.Required && d.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL {
			d.Label = descriptorpb.FieldDescriptorProto_LABEL_REQUIRED.Enum()
		}
		m.Field = append(m.Field, d)
	}
	// An empty oneof is none that tools take.
	if union && len(fields) > 0 {
		for _, d := range m.Field { // one of which is set: none is required
			d.Label = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
		}
		m.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String(unique(inside, "union"))}}
	}
	return m
}

// field gives d, a field of m, its type.
func (t *types) field(m *descriptorpb.DescriptorProto, inside map[string]bool, d *descriptorpb.FieldDescriptorProto, of *idl.Type) {
	of = of.True()
	switch {
	case of.Kind == idl.List, of.Kind == idl.Set:
		t.single(d, of.Elem)
	case of.Kind == idl.Map:
		// Protobuf's own rule: a map is a repeated message called after the field, and a message of that
		// name that the file has already leaves no room for it.
		entry := entryName(d.GetName())
		if inside[entry] || !isMap(of) {
			d.Type, d.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(t.pair(of))
			break
		}
		inside[entry] = true
		e := t.entry(entry, of)
		e.Options = &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)}
		m.NestedType = append(m.NestedType, e)
		d.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
		d.TypeName = proto.String("." + t.fd.GetPackage() + "." + m.GetName() + "." + entry)
	default:
		t.single(d, of)
		return
	}
	d.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
}

// single gives d, which cannot be repeated, its type: of a container a message around it.
func (t *types) single(d *descriptorpb.FieldDescriptorProto, of *idl.Type) {
	of = of.True()
	d.Label = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
	switch of.Kind {
	case idl.List, idl.Set, idl.Map:
		d.Type, d.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(t.around(of))
	case idl.StructRef:
		d.Type, d.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(t.named(of.Struct.File, of.Struct.Name))
	case idl.EnumRef:
		d.Type, d.TypeName = descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum(), proto.String(t.named(of.Enum.File, of.Enum.Name))
	default:
		d.Type = scalar(of.Kind).Enum()
	}
}

// scalar is the type of a kind that is one of itself.
func scalar(k idl.Kind) descriptorpb.FieldDescriptorProto_Type {
	switch k {
	case idl.Bool:
		return descriptorpb.FieldDescriptorProto_TYPE_BOOL
	case idl.I64:
		return descriptorpb.FieldDescriptorProto_TYPE_INT64
	case idl.Double:
		return descriptorpb.FieldDescriptorProto_TYPE_DOUBLE
	case idl.Binary:
		return descriptorpb.FieldDescriptorProto_TYPE_BYTES
	case idl.String, idl.UUID:
		return descriptorpb.FieldDescriptorProto_TYPE_STRING
	}
	return descriptorpb.FieldDescriptorProto_TYPE_INT32
}

// isMap reports maps that Protobuf has: with keys of some types only, and no enum as value
// that begins with another number than zero.
func isMap(t *idl.Type) bool {
	if v := t.Elem.True(); v.Kind == idl.EnumRef && len(v.Enum.Values) > 0 && v.Enum.Values[0].Value != 0 {
		return false
	}
	switch t.Key.True().Kind {
	case idl.Bool, idl.I8, idl.I16, idl.I32, idl.I64, idl.String, idl.UUID:
		return true
	}
	return false
}

// named is the full name of what a file declares, which this one depends on.
func (t *types) named(f *idl.File, name string) string {
	t.needs(f)
	return "." + t.w.of(f).fd.GetPackage() + "." + identifier(name)
}

// needs notes a file as one that this one depends on.
func (t *types) needs(f *idl.File) {
	if f != t.f && !slices.Contains(t.fd.Dependency, f.Path) {
		t.fd.Dependency = append(t.fd.Dependency, f.Path)
	}
}

// around gives the message that has a container in a field, for where Protobuf has none.
func (t *types) around(of *idl.Type) string {
	key := "around " + exact(of)
	if t.made[key] == "" {
		name := unique(t.names, label(of))
		t.made[key] = "." + t.fd.GetPackage() + "." + name
		t.fd.MessageType = append(t.fd.MessageType, t.message(name, []*idl.Field{{ID: 1, Name: "items", Type: of}}, false))
	}
	return t.made[key]
}

// pair gives the message of a key and its value, for maps whose keys Protobuf's have not.
func (t *types) pair(of *idl.Type) string {
	key := "pair " + exact(of)
	if t.made[key] == "" {
		name := unique(t.names, label(of)+"_entry")
		t.made[key] = "." + t.fd.GetPackage() + "." + name
		t.fd.MessageType = append(t.fd.MessageType, t.entry(name, of))
	}
	return t.made[key]
}

// entry is a message of a key and its value.
func (t *types) entry(name string, of *idl.Type) *descriptorpb.DescriptorProto {
	k := &descriptorpb.FieldDescriptorProto{Name: proto.String("key"), JsonName: proto.String("key"), Number: proto.Int32(1)}
	v := &descriptorpb.FieldDescriptorProto{Name: proto.String("value"), JsonName: proto.String("value"), Number: proto.Int32(2)}
	t.single(k, of.Key)
	t.single(v, of.Elem)
	return &descriptorpb.DescriptorProto{Name: proto.String(name), Field: []*descriptorpb.FieldDescriptorProto{k, v}}
}

// service describes a service, with the methods of its parents, in a file of its own.
func (t *types) service(s *idl.Service) *descriptorpb.FileDescriptorProto {
	d := &descriptorpb.ServiceDescriptorProto{Name: proto.String(identifier(s.Name))}
	fd := &descriptorpb.FileDescriptorProto{Name: proto.String(t.f.Path + "/" + s.Name), Syntax: proto.String("proto2"), Service: []*descriptorpb.ServiceDescriptorProto{d}}
	has := map[string]bool{}
	// The methods of a child come first, and hide those of its parents by name, as when it is called.
	for p, n := s, 0; p != nil && n <= idl.MaxChain; p, n = p.Parent, n+1 {
		at := t.w.of(p.File)
		for _, m := range p.Methods {
			if name := identifier(m.Name); !has[name] {
				has[name] = true
				d.Method = append(d.Method, at.method(fd, p, m))
			}
		}
	}
	return fd
}

// method describes a method, of a service in fd, and declares its messages.
func (t *types) method(fd *descriptorpb.FileDescriptorProto, s *idl.Service, m *idl.Method) *descriptorpb.MethodDescriptorProto {
	base := identifier(s.Name) + "_" + identifier(m.Name)
	d := &descriptorpb.MethodDescriptorProto{Name: proto.String(identifier(m.Name))}
	if m.ClientStream {
		d.ClientStreaming = proto.Bool(true)
	}
	if m.ServerStream {
		d.ServerStreaming = proto.Bool(true)
	}
	if _, ok := m.Annotations.Find("deprecated"); ok {
		d.Options = &descriptorpb.MethodOptions{Deprecated: proto.Bool(true)}
	}
	d.InputType = proto.String(t.messageOf(fd, base+"_args", m.Args, m.ClientStream))
	var result []*idl.Field
	if m.Result != nil {
		result = []*idl.Field{{ID: 1, Name: "success", Type: m.Result, Presence: idl.Optional}}
	}
	d.OutputType = proto.String(t.messageOf(fd, base+"_result", result, true))
	return d
}

// messageOf gives the message that has fields, once for each name; if it may be bare and
// there is one field, which is a struct, that is the message itself.
func (t *types) messageOf(fd *descriptorpb.FileDescriptorProto, name string, fields []*idl.Field, bare bool) string {
	full, home := "", t.f
	if of := (*idl.Type)(nil); bare && len(fields) == 1 {
		if of = fields[0].Type.True(); of.Kind == idl.StructRef {
			home = of.Struct.File
			full = "." + t.w.of(home).fd.GetPackage() + "." + identifier(of.Struct.Name)
		}
	}
	if full == "" {
		key := "method " + name
		if full = t.made[key]; full == "" {
			own := unique(t.names, name)
			full = "." + t.fd.GetPackage() + "." + own
			t.made[key] = full
			t.fd.MessageType = append(t.fd.MessageType, t.message(own, fields, false))
		}
	}
	// A descriptor names each file that it uses; tools refuse one that does not.
	if !slices.Contains(fd.Dependency, home.Path) {
		fd.Dependency = append(fd.Dependency, home.Path)
	}
	return full
}
