package gen

import (
	"fmt"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
)

// thriftBackend is Thrift's [backend]. Its parts:
//
//	thrift.go           names, types, tags, the embedded IDL
//	thrift_encode.go    AppendThrift and EncodeThrift of a struct
//	thrift_decode.go    ReadThrift and DecodeThrift
//	thrift_outer.go     the same for arguments and results, which are never nested
//	thrift_messages.go  arguments, results and descriptions of methods
//	thrift_lazy.go      views
//
// The functions that generated code calls are those of package thrift; their names
// stand in these files only.
type thriftBackend struct {
	g     *generator
	views map[*idl.Type]bool // arguments and results that are views
}

// A thriftEmitter is an emitter with what Thrift's code needs to know beside it.
type thriftEmitter struct {
	*emitter
	views map[*idl.Type]bool
}

func (b *thriftBackend) on(e *emitter) thriftEmitter { return thriftEmitter{e, b.views} }

func (b *thriftBackend) suffix() string               { return ".thrift" }
func (b *thriftBackend) traits() traits               { return traits{presets: true, zeros: true} }
func (b *thriftBackend) place(f *idl.File) place      { return folder(packageDir(f)) }
func (b *thriftBackend) adds(*idl.File) []*idl.Struct { return nil }
func (b *thriftBackend) hidden(*idl.Struct) []string  { return nil }
func (b *thriftBackend) enumPrefix(*idl.Enum) string  { return "" }

// reserved implements [backend]. The four methods, as the run time knows them:
//
//	EncodeThrift(to Output, b []byte, depth int) ([]byte, error)   a whole message
//	DecodeThrift(in Input, depth int) Result
//	AppendThrift(e *Encoder, b []byte, depth int) []byte           within another one
//	ReadThrift(d *Decoder, b []byte, depth int) []byte
func (b *thriftBackend) reserved() []string {
	return []string{"AppendThrift", "ReadThrift", "EncodeThrift", "DecodeThrift"}
}

// nameStruct implements [backend]: views are what only Thrift has so far.
func (b *thriftBackend) nameStruct(f *file, s *idl.Struct) {
	b.g.nameLazy(s, func(name string) string { return f.take(name, string(s.Kind)+" "+s.Name, s.Pos) })
}

// nameMethod implements [backend]. Arguments are one struct on the wire, and so
// are the result and the declared exceptions.
func (b *thriftBackend) nameMethod(f *file, s *idl.Service, m *idl.Method) {
	g := b.g
	take := func(name string) string { return f.take(name, "method "+m.Name+" of service "+s.Name, m.Pos) }
	base := g.names[key{m, "var"}]
	g.names[key{m, "args"}] = take(base + "Args")
	g.names[key{m, "result"}] = take(base + "Result")
	args := g.methodScope(f)
	if hasDefaults(m.Args) {
		args["SetDefaults"] = true
	}
	for _, x := range m.Args {
		g.names[key{x, ""}] = args.take(camel(x.Name))
	}
	result := g.methodScope(f)
	result["Success"] = true
	for _, x := range m.Throws {
		g.names[key{x, ""}] = result.take(camel(x.Name))
	}
}

// check implements [backend].
func (b *thriftBackend) check(f *file) {
	for _, s := range f.Services {
		b.markLazy(f, s)
		for _, m := range s.Methods {
			if streams(m) {
				b.checkStream(f, s, m)
			}
		}
	}
}

// checkStream refuses what has no form on the wire: a frame holds one struct
// and nothing else, and the end of a stream has no place for an exception.
func (b *thriftBackend) checkStream(f *file, s *idl.Service, m *idl.Method) {
	isStruct := func(t *idl.Type) bool {
		t = t.True()
		return t.Kind == idl.StructRef && t.Struct.Kind != idl.Union
	}
	switch {
	case len(m.Args) != 1:
		b.g.errorf(f.File, m.StreamPos, "method %s.%s streams: it must have one argument", s.Name, m.Name)
	case !isStruct(m.Args[0].Type):
		b.g.errorf(f.File, m.Args[0].Pos, "method %s.%s streams: its argument must be a struct", s.Name, m.Name)
	case m.Result == nil || !isStruct(m.Result):
		b.g.errorf(f.File, m.Pos, "method %s.%s streams: its result must be a struct", s.Name, m.Name)
	case len(m.Throws) > 0:
		b.g.errorf(f.File, m.Throws[0].Pos, "method %s.%s streams: it cannot throw; the errors of a stream have codes", s.Name, m.Name)
	}
}

// typ implements [backend]: views, and the three types that Go does not have.
func (b *thriftBackend) typ(e *emitter, t *idl.Type) string {
	switch {
	case b.views[t]:
		s := t.True().Struct
		return e.at(s.File, s, "lazy")
	case t.Kind == idl.UUID:
		return e.use("thrift") + ".UUID"
	case t.Kind == idl.Set:
		return e.use("thrift") + ".Set[" + e.typ(t.Elem) + "]"
	case t.Kind == idl.Map && !isScalar(t.Key): // what a Go map cannot have as its key
		return e.use("thrift") + ".Pairs[" + e.typ(t.Key) + ", " + e.typ(t.Elem) + "]"
	}
	return ""
}

// tag implements [backend]: the name, the id, and the presence unless it is the
// usual one.
func (b *thriftBackend) tag(f *idl.Field) string {
	need := ""
	if f.Presence != idl.Implicit {
		need = "," + string(f.Presence)
	}
	return fmt.Sprintf("thrift:%q", fmt.Sprintf("%s,%d%s", f.Name, f.ID, need))
}

func (b *thriftBackend) wire(e *emitter) string { return e.use("thrift") + ".Binary{}" }

// face implements [backend]: String, and the view.
func (b *thriftBackend) face(e *emitter, s *idl.Struct) {
	e.text(e.name(s, ""), s.Fields, "thrift")
	b.on(e).lazy(s)
}

// codec implements [backend].
func (b *thriftBackend) codec(e *emitter, s *idl.Struct) {
	x := b.on(e)
	x.codec(e.name(s, ""), x.members(s.Fields), defaultsOf(s.Fields))
}

func (b *thriftBackend) messages(e *emitter, s *idl.Service, m *idl.Method) { b.on(e).messages(s, m) }
func (b *thriftBackend) serve(e *emitter, m *idl.Method)                    { b.on(e).serve(m) }
func (b *thriftBackend) call(e *emitter, s *idl.Service, m *idl.Method)     { b.on(e).call(s, m) }

// note implements [backend].
func (b *thriftBackend) note(types string) string {
	return "// How the types of " + types + " travel. EncodeThrift and DecodeThrift are what thrift.Binary\n" +
		"// calls on a message, AppendThrift and ReadThrift what they call within one."
}

// schema implements [backend]: the file itself without comments, a definition to
// a line.
func (b *thriftBackend) schema(f *file) (text, reader string) {
	return thriftidl.Pack(f.File, b.g.packName), "thriftidl.Unpack"
}

// packName is a file's name within a packed schema: the same wherever the
// command runs, and one for each file.
func (g *generator) packName(f *idl.File) string {
	return g.files[f].pkg.dir + "/" + f.Name + ".thrift"
}
