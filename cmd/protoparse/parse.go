// Package protoparse reads .proto files, with protocompile, and gives them as a schema of
// package idl.
//
//	files ── names.go ──────────── protocompile ── descriptors ── idl/protoidl ── idl.Schema
//	         under which name       ▲
//	         others import each     └── edition2024.go: what protocompile does not know yet
//
// It stands in the module cmd because of what it needs. A project that generates code
// from .proto files names the command limosa-gen of this module, which is this package
// and package gen.
package protoparse

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/protoutil"
	"github.com/bufbuild/protocompile/reporter"
	"github.com/bufbuild/protocompile/wellknownimports"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/gofeaturespb"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/protoidl"
	"github.com/limosa-rpc/limosa/idl/readers"
)

const (
	// maxFileBytes is how large a file may be, as of Thrift's.
	maxFileBytes = 16 << 20
	// maxErrors is how many errors are told.
	maxErrors = 10
)

// A Reader reads .proto files. The zero value reads from the file system.
type Reader struct {
	// Include lists the directories that imports are relative to. Where they do not
	// have one, it is looked for in the folders above the files that were named.
	// google/protobuf/*.proto are always there.
	Include []string
	// Open gives a file's bytes; nil: os.ReadFile. An error that is fs.ErrNotExist lets
	// the search for an import go on.
	Open func(path string) ([]byte, error)
}

// Readers has the readers of limosa-gen, and the one for .proto files beside them.
func Readers() readers.Set {
	set := readers.Builtin()
	set[".proto"] = func(from readers.Source, paths []string) (*idl.Schema, error) {
		return Reader{Include: from.Include, Open: from.Open}.Load(paths...)
	}
	return set
}

// Load reads the files at paths and all that they import, and checks them as one
// schema; see [protoidl.Reader.Schema] for which files are in it. The error is an
// idl.Errors: at most ten findings, each with its place. The schema is nil then.
func (r Reader) Load(paths ...string) (*idl.Schema, error) {
	if r.Open == nil {
		r.Open = os.ReadFile
	}
	l := &loader{Reader: r, sources: map[string]*source{}}
	names := l.name(paths)
	if len(l.errs) > 0 {
		return nil, l.errs
	}
	files := l.compile(names)
	if len(l.errs) > 0 {
		return nil, l.errs
	}
	set := new(descriptorpb.FileDescriptorSet)
	// Several files may import one: it is added where it is needed first.
	seen := map[string]bool{}
	for _, f := range files {
		l.add(set, f, seen)
	}
	schema, err := protoidl.Reader{Source: l.source}.Schema(set, names...)
	if err != nil {
		return nil, err
	}
	// Warnings are given only with a schema: behind an error nobody reads them.
	schema.Warnings = l.warns
	return schema, nil
}

// A loader is the state of one Load. protocompile calls open on goroutines of its own.
type loader struct {
	Reader
	roots   []string // where imports are looked for, besides Include
	sources map[string]*source
	errs    idl.Errors
	warns   []*idl.Error
}

// A source is a file by the name under which others import it.
type source struct {
	path, text string
	from2024   *lowered // nil if the file is of another edition
}

// compile makes descriptors. One goroutine is enough: a tree of 1,000 files takes less
// than a second, and what is found comes in the same order in every run.
func (l *loader) compile(names []string) linker.Files {
	report := reporter.NewReporter(func(err reporter.ErrorWithPos) error {
		l.errs = append(l.errs, l.finding(err))
		// Any error that a reporter returns ends the compiling; nil goes on to the next fault.
		if len(l.errs) >= maxErrors {
			return err
		}
		return nil
		// The second function hears warnings, which end nothing.
	}, func(err reporter.ErrorWithPos) {
		if w := l.finding(err); !l.expected(err) {
			l.warns = append(l.warns, w)
		}
	})
	c := protocompile.Compiler{
		// Comments and places come from the source info: without it the schema would have none.
		MaxParallelism: 1, SourceInfoMode: protocompile.SourceInfoStandard, Reporter: report,
		Resolver: standard(&protocompile.SourceResolver{Accessor: l.open}),
	}
	files, err := c.Compile(context.Background(), names...)
	if err != nil && len(l.errs) == 0 { // an import that is not found comes this way
		if placed, ok := errors.AsType[reporter.ErrorWithPos](err); ok {
			l.errs = idl.Errors{l.finding(placed)}
		} else {
			l.errs = idl.Errors{l.unplaced(names, err)}
		}
	}
	return files
}

// standard finds what every compiler brings along: google/protobuf/*.proto.
func standard(r protocompile.Resolver) protocompile.Resolver {
	// Files with options for Go's API import these, which protocompile does not bring along.
	features := protodesc.ToFileDescriptorProto(gofeaturespb.File_google_protobuf_go_features_proto)
	return wellknownimports.WithStandardImports(protocompile.CompositeResolver{r, protocompile.ResolverFunc(func(name string) (protocompile.SearchResult, error) {
		if name == features.GetName() {
			return protocompile.SearchResult{Proto: features}, nil
		}
		return protocompile.SearchResult{}, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	})})
}

// finding is an error or a warning of protocompile.
func (l *loader) finding(err reporter.ErrorWithPos) *idl.Error {
	at := err.GetPosition()
	path, text := l.source(at.Filename)
	e := &idl.Error{Path: path, Msg: err.Unwrap().Error(), Err: err.Unwrap()}
	if at.Line > 0 {
		// protocompile counts lines and columns from 1, Pos takes both from 0.
		e.Pos = protoidl.Pos(text, at.Line-1, max(at.Col-1, 0))
		e.Source = idl.SourceLine(text, at.Line)
	}
	// protocompile knows 2023 only; 2024 is what lower makes of it.
	e.Msg = strings.Replace(e.Msg, `should be one of ["2023"]`, `should be "2023" or "2024"`, 1)
	if missing, ok := errors.AsType[*fs.PathError](err); ok {
		e.Msg = "cannot import " + missing.Path + ": " + missing.Err.Error()
	}
	return e
}

// unplaced is an error that protocompile gives without a place: of the file that is
// named first.
func (l *loader) unplaced(names []string, err error) *idl.Error {
	path, _ := l.source(names[0])
	return &idl.Error{Path: path, Msg: err.Error(), Err: err}
}

// expected tells warnings about what this package has done to a file of edition 2024:
// imports for options alone look unused.
func (l *loader) expected(err reporter.ErrorWithPos) bool {
	unused, ok := errors.AsType[linker.ErrorUnusedImport](err)
	src := l.sources[err.GetPosition().Filename]
	return ok && src != nil && src.from2024 != nil && src.from2024.options[unused.UnusedImport()]
}

// open gives protocompile a file by the name under which it is imported.
func (l *loader) open(name string) (io.ReadCloser, error) {
	src, err := l.find(name)
	if err != nil {
		return nil, err
	}
	text := src.text
	if src.from2024 != nil {
		text = src.from2024.text
	}
	return io.NopCloser(bytes.NewReader([]byte(text))), nil
}

// source implements protoidl.Reader.Source.
func (l *loader) source(name string) (path, text string) {
	if src := l.sources[name]; src != nil {
		return src.path, src.text
	}
	return name, ""
}

// add adds a file's descriptor to set, after those of the files that it imports.
func (l *loader) add(set *descriptorpb.FileDescriptorSet, f protoreflect.FileDescriptor, seen map[string]bool) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	// What it imports comes first, as in a descriptor set of protoc: who reads the set in
	// its order finds everything defined before it is used.
	for i := range f.Imports().Len() {
		l.add(set, f.Imports().Get(i).FileDescriptor, seen)
	}
	// What it gives may be shared with the compiler's: raise changes a clone.
	fd := protoutil.ProtoFromFileDescriptor(f)
	if src := l.sources[f.Path()]; src != nil && src.from2024 != nil {
		fd = src.from2024.raise(fd)
	}
	set.File = append(set.File, fd)
}
