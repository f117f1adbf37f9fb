package reflection

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa/grpc/reflection/internal/reflectpb"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
	"github.com/limosa-rpc/limosa/rpc"
)

// An index is what can be asked for. It is not changed after newIndex.
type index struct {
	services   []string
	files      map[string]*file
	symbols    map[string]*file           // by full names
	extensions map[string]map[int32]*file // by full names of what is extended
}

// A file is a FileDescriptorProto.
type file struct {
	name string
	raw  []byte
	deps []string
}

func emptyIndex() *index {
	return &index{files: map[string]*file{}, symbols: map[string]*file{}, extensions: map[string]map[int32]*file{}}
}

// newIndex makes the index of services. Of a name that comes twice the first is it. What
// an IDL says that cannot be read is not described: the service is only listed.
func newIndex(services []rpc.Service) *index {
	x := emptyIndex()
	var packed strings.Builder
	var thrift []string
	seen := map[string]bool{}
	for _, s := range services {
		x.services = append(x.services, s.Name)
		if described := strings.HasPrefix(s.IDL, "\n"); !described { // that is how a FileDescriptorSet begins
			thrift = append(thrift, s.Name)
		}
		if s.IDL == "" || seen[s.IDL] {
			continue
		}
		seen[s.IDL] = true
		if !strings.HasPrefix(s.IDL, "\n") {
			packed.WriteString(s.IDL)
			continue
		}
		set := new(descriptorpb.FileDescriptorSet)
		if proto.Unmarshal([]byte(s.IDL), set) == nil {
			x.add(set.File...)
		}
	}
	if packed.Len() > 0 {
		if schema, err := thriftidl.Unpack(packed.String()); err == nil {
			x.add(describe(schema, thrift)...)
		}
	}
	slices.Sort(x.services)
	return x
}

// add takes files in.
func (x *index) add(all ...*descriptorpb.FileDescriptorProto) {
	for _, fd := range all {
		raw, err := proto.Marshal(fd)
		if err != nil || x.files[fd.GetName()] != nil {
			continue
		}
		f := &file{name: fd.GetName(), raw: raw, deps: fd.Dependency}
		x.files[f.name] = f
		scope := fd.GetPackage()
		x.messages(f, scope, fd.MessageType)
		x.enums(f, scope, fd.EnumType)
		x.extends(f, scope, fd.Extension)
		for _, s := range fd.Service {
			own := x.declare(f, scope, s.GetName())
			for _, m := range s.Method {
				x.declare(f, own, m.GetName())
			}
		}
	}
}

// declare notes a name in a scope, and gives both.
func (x *index) declare(f *file, scope, name string) string {
	if scope != "" {
		name = scope + "." + name
	}
	if x.symbols[name] == nil {
		x.symbols[name] = f
	}
	return name
}

// messages notes messages of a scope, with all that is declared in them, however deep: tools may ask for
// a field by its full name.
func (x *index) messages(f *file, scope string, all []*descriptorpb.DescriptorProto) {
	for _, m := range all {
		own := x.declare(f, scope, m.GetName())
		for _, d := range m.Field {
			x.declare(f, own, d.GetName())
		}
		for _, d := range m.OneofDecl {
			x.declare(f, own, d.GetName())
		}
		x.messages(f, own, m.NestedType)
		x.enums(f, own, m.EnumType)
		x.extends(f, own, m.Extension)
	}
}

// enums notes enums, and their values, whose scope is the enum's.
func (x *index) enums(f *file, scope string, all []*descriptorpb.EnumDescriptorProto) {
	for _, e := range all {
		x.declare(f, scope, e.GetName())
		for _, v := range e.Value {
			x.declare(f, scope, v.GetName())
		}
	}
}

// extends notes extensions, as names of the scope and as numbers of what they extend. Of a number that
// two files give the first counts.
func (x *index) extends(f *file, scope string, all []*descriptorpb.FieldDescriptorProto) {
	for _, e := range all {
		x.declare(f, scope, e.GetName())
		of := plain(e.GetExtendee())
		if x.extensions[of] == nil {
			x.extensions[of] = map[int32]*file{}
		}
		if x.extensions[of][e.GetNumber()] == nil {
			x.extensions[of][e.GetNumber()] = f
		}
	}
}

// plain is a full name as tools may write it, with a dot in front.
func plain(name string) string { return strings.TrimPrefix(name, ".") }

// symbol finds the file that declares a name.
func (x *index) symbol(name string) *file { return x.symbols[plain(name)] }

// list gives the services, in order.
func (x *index) list() *reflectpb.ListServiceResponse {
	res := new(reflectpb.ListServiceResponse)
	for _, name := range x.services {
		res.Service = append(res.Service, &reflectpb.ServiceResponse{Name: name})
	}
	return res
}

// numbers gives the extensions of a type; nil: there is no such type.
func (x *index) numbers(name string) *reflectpb.ExtensionNumberResponse {
	of := x.extensions[plain(name)]
	if of == nil && x.symbol(name) == nil {
		return nil
	}
	return &reflectpb.ExtensionNumberResponse{BaseTypeName: name, ExtensionNumber: slices.Sorted(maps.Keys(of))}
}

// with gives a file, and what it needs and was not sent before.
func (x *index) with(f *file, sent map[string]bool) (all [][]byte) {
	for queue := []*file{f}; len(queue) > 0; queue = queue[1:] {
		f := queue[0]
		if sent[f.name] && len(all) > 0 {
			continue
		}
		// Noted when it is answered and not when it is queued: a file that many others import is queued
		// for each of them and sent once.
		sent[f.name] = true
		all = append(all, f.raw)
		for _, name := range f.deps {
			if d := x.files[name]; d != nil && !sent[name] {
				queue = append(queue, d)
			}
		}
	}
	return all
}

const (
	ownPackage   = "grpc.reflection.v1"
	alphaPackage = "grpc.reflection.v1alpha"
)

// alphaIDL is the IDL of version v1 under the names of v1alpha.
func alphaIDL(v1 string) string {
	set := new(descriptorpb.FileDescriptorSet)
	if proto.Unmarshal([]byte(v1), set) != nil {
		return ""
	}
	// Only what refers to this package's own types: messages of others keep their names.
	rename := func(s *string) {
		if s != nil {
			*s = strings.Replace(*s, ownPackage+".", alphaPackage+".", 1)
		}
	}
	for _, f := range set.File {
		f.Name, f.Package = proto.String("grpc/reflection/v1alpha/reflection.proto"), proto.String(alphaPackage)
		for _, m := range f.MessageType {
			for _, d := range m.Field {
				rename(d.TypeName)
			}
		}
		for _, s := range f.Service {
			for _, m := range s.Method {
				rename(m.InputType)
				rename(m.OutputType)
			}
		}
	}
	raw, err := proto.Marshal(set)
	if err != nil {
		return ""
	}
	return string(raw)
}
