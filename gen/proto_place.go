package gen

import (
	"path"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// knownPath is the package that has google/protobuf/*.proto for everybody, so that the
// Timestamp of one program is that of another.
const knownPath = "github.com/limosa-rpc/limosa/protobuf/known"

// known are the files that are there already, by the names under which all import them.
func known(name string) string {
	base, ok := strings.CutPrefix(name, "google/protobuf/")
	switch {
	case !ok:
	case strings.Contains(" any.proto api.proto duration.proto empty.proto field_mask.proto source_context.proto struct.proto timestamp.proto type.proto wrappers.proto ", " "+base+" "):
		return knownPath
	}
	return ""
}

// place implements [backend]. A file says itself which Go package it belongs to, unless
// the command does; both may name it in two words:
//
//	option go_package = "example.com/shop/gen/shop/v1;shopv1";
//
// The folder follows from that and from Config.Layout.
func (b *protoBackend) place(f *idl.File) place {
	spec, given := b.g.Packages[f.Import]
	there := false // also where a tree has a copy of it
	if spec == "" {
		spec = known(f.Import)
		there = spec != ""
	}
	if spec == "" {
		spec = f.Namespace("go")
	}
	at, name, _ := strings.Cut(spec, ";")
	at = path.Clean("/" + at)[1:]
	if name == "" {
		name = path.Base(at)
	}
	if b.g.Layout == BelowPrefix {
		return b.belowPrefix(f, at, name, given || there)
	}
	p := place{name: packageName(name), path: at, dir: path.Dir(f.Import), elsewhere: there || given && !f.Listed}
	if at == "" {
		b.g.errorf(f, idl.Pos{}, "it says no go_package, and no option M%s=PATH says one", f.Import)
	}
	if b.g.Layout == ByImport {
		rest, ok := strings.CutPrefix(at+"/", b.g.Module+"/")
		switch {
		case b.g.Module == "":
			p.dir = at
		case ok:
			p.dir = path.Clean(rest)
		case !p.elsewhere && (f.Listed || !b.g.OnlyListed):
			b.g.errorf(f, idl.Pos{}, "its Go package %s is not below the module %s", at, b.g.Module)
		}
	}
	return p
}

// belowPrefix finds the folder of a package by what its path at has behind Config.Prefix.
// A path that is none of a module is a folder by itself. In place of one of another
// module, such as go_package of what Google has published, the IDL's package is taken:
// google.api goes to google/api. given: the command says the path, and code that is
// elsewhere stays there.
func (b *protoBackend) belowPrefix(f *idl.File, at, name string, given bool) place {
	rest, inside := strings.CutPrefix(at+"/", b.g.Prefix+"/")
	host, _, _ := strings.Cut(at, "/")
	switch {
	case at != "" && b.g.Prefix != "" && inside:
		return place{dir: path.Clean(rest), name: packageName(name)}
	case at != "" && given:
		return place{path: at, name: packageName(name), elsewhere: true}
	case at != "" && !strings.Contains(host, "."):
		return place{dir: at, name: packageName(name)}
	case at != "" && f.Package == "":
		return place{dir: packageName(path.Base(at)), name: packageName(name)}
	}
	dir := packageName(strings.ToLower(strings.ReplaceAll(f.Name, ".", "_")))
	if f.Package != "" {
		parts := strings.Split(f.Package, ".")
		for i, part := range parts {
			parts[i] = packageName(part)
		}
		dir = path.Join(parts...)
	}
	return folder(dir)
}
