package gen

import "github.com/limosa-rpc/limosa/idl"

// A backend writes what belongs to one IDL: how its types travel.
//
// What Go code sees is the same for every IDL and is written by an [emitter]:
// structs, enums, sealed interfaces for unions, getters, constants, the interface of
// a service, its client, its server. The emitter asks the backend of the IDL at the
// places below, and at no others, so that a new IDL is a new backend and no change
// of an old one.
//
// A backend lives as long as one Generate. The order of the calls: nameStruct and
// nameMethod for everything, then check for each file, then all that writes.
type backend interface {
	// suffix ends the names of generated files before ".go": ".thrift".
	suffix() string
	// traits are what the IDL decides for all of its files.
	traits() traits
	// place says where the code of a file goes.
	place(f *idl.File) place
	// reserved are the methods that the backend gives to every struct; no field
	// may have their names.
	reserved() []string
	// adds are structs that a file gets besides those of its IDL.
	adds(f *idl.File) []*idl.Struct
	// nameStruct and nameMethod give names to what the backend makes of a struct or
	// of a method besides what all IDLs have. The names of s and m stand already.
	nameStruct(f *file, s *idl.Struct)
	nameMethod(f *file, s *idl.Service, m *idl.Method)
	// check reports what has no form on this wire, with its place. All files have
	// their names by then.
	check(f *file)

	// typ gives the Go type, without the star of structs, of what only this IDL
	// has; "" where the common type is right.
	typ(e *emitter, t *idl.Type) string
	// tag is what stands in the tag of a struct's field for the run-time plan.
	tag(f *idl.Field) string
	// hidden are fields of a struct that its IDL does not have, with their tags.
	hidden(s *idl.Struct) []string
	// enumPrefix is what all values of an enum begin with and leave out in Go.
	enumPrefix(d *idl.Enum) string
	// wire is a Go expression for the rpc.Codec of a method.
	wire(e *emitter) string

	// face writes methods of a struct that a user may call, into the file of types;
	// codec writes those that the run time calls, into the file of codecs.
	face(e *emitter, s *idl.Struct)
	codec(e *emitter, s *idl.Struct)
	// messages writes, into the file of codecs, the types that a method without
	// streams sends and receives, and its description, a variable with the name "var".
	messages(e *emitter, s *idl.Service, m *idl.Method)
	// serve and call write the bodies of a method without streams: what the server
	// does with a call c for an impl, what the method of a client c does. They
	// end with a return.
	serve(e *emitter, m *idl.Method)
	call(e *emitter, s *idl.Service, m *idl.Method)
	// note is the comment that opens the file of codecs beside the file types.
	note(types string) string
	// schema is the text of a file that a program carries with it, so that tools
	// can ask it what it speaks, and the name of the function that reads such texts.
	schema(f *file) (text, reader string)
}

// traits are the differences between IDLs that need no code of their own.
type traits struct {
	// presets: a new message has the defaults of the IDL in its fields. Otherwise they
	// are what getters give for a field that is absent.
	presets bool
	// zeros: a field of idl.Implicit presence is there when it is zero, in JSON too.
	zeros bool
	// together: whoever generates a file of a Go package generates all of them in one
	// run, so that a name may depend on what the others have.
	together bool
}

// A place is where the code of a file goes, and how other code imports it.
type place struct {
	dir  string // below the output directory, with slashes
	name string // of the package
	// path is its import path; "" if that is the output directory's with dir.
	path string
	// elsewhere: the code is there already, and is not written.
	elsewhere bool
}

// newBackends makes one backend for each IDL, for one Generate.
func newBackends(g *generator) map[idl.Language]backend {
	return map[idl.Language]backend{
		idl.Thrift:   &thriftBackend{g: g, views: map[*idl.Type]bool{}},
		idl.Protobuf: &protoBackend{g: g, extends: map[*idl.Struct]*idl.Struct{}},
	}
}
