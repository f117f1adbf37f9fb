package thriftidl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

const (
	// maxFileBytes is how large a file may be: a message's default limit, and a
	// hundred times what anybody has written by hand.
	maxFileBytes = 16 << 20
	// maxIncludes is how long a chain of files that include each other may be: files
	// are read by recursion.
	maxIncludes = 256
	// maxName is how long an identifier may be, with all its dots, and the name of a
	// packed file: some are looked at once for each dot, or for each include.
	maxName = 1024
)

// A Reader reads .thrift files. The zero value reads from the file system and
// searches includes beside the file that names them.
type Reader struct {
	// Include lists directories to search for includes, after the directory
	// of the including file.
	Include []string
	// Open gives a file's bytes; nil: os.ReadFile. An error that is
	// fs.ErrNotExist lets the search for an include go on.
	Open func(path string) ([]byte, error)
}

// Load reads the files at paths and all that they include, and checks them as
// one schema. A file is read once, however many include it, and stands in the schema
// before those that do. The error is an idl.Errors: at most ten findings, each with
// its place. The schema is nil then.
//
// A file that cannot be read or parsed does not keep the others from being parsed,
// so that all syntax errors are told at once; names are resolved only when all
// files are whole, since otherwise each name of the broken one would be an error.
func (t Reader) Load(paths ...string) (*idl.Schema, error) {
	l := loader{Reader: t, byID: map[string]*idl.File{}, open: map[*idl.File]bool{}, schema: &idl.Schema{Files: []*idl.File{}}}
	if l.Open == nil {
		l.Open = os.ReadFile
	}
	for _, path := range paths {
		path = filepath.Clean(path)
		f, err := l.load(path, nil)
		if err != nil {
			l.found.errs = append(l.found.errs, &idl.Error{Path: path, Msg: openError(err), Err: err})
			continue
		}
		if f != nil {
			f.Listed = true
		}
	}
	if !l.broken {
		newResolver(&l.found).resolve(l.schema.Files)
	}
	if err := l.found.err(); err != nil {
		return nil, err
	}
	l.schema.Warnings = l.found.warns
	return l.schema, nil
}

// A loader is the state of one Load.
type loader struct {
	Reader
	schema *idl.Schema
	byID   map[string]*idl.File // by absolute path; one that is being read has no Name yet
	chain  []*idl.File          // files being read, each included by the one before
	open   map[*idl.File]bool   // the same, to be found at once
	found  findings
	broken bool // some file is not whole: names would be missed that are there
}

// load reads one file, after those that it includes. text is its bytes if search
// has read them already, nil to open it. An error means that the file itself cannot
// be opened; everything else goes to found.
func (l *loader) load(path string, text []byte) (*idl.File, error) {
	id := identity(path)
	if f := l.byID[id]; f != nil {
		return f, nil
	}
	if text == nil { // of a file that was named, not included
		var err error
		if text, err = l.Open(path); err != nil {
			return nil, err
		}
	}
	f := &idl.File{Path: path, Language: idl.Thrift, Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Text: string(text)}
	l.byID[id] = f
	if len(text) > maxFileBytes {
		l.broken = true
		f.Text = ""
		l.found.errorf(f, idl.Pos{}, "file of %d bytes; %d are allowed", len(text), maxFileBytes)
		return f, nil
	}
	l.chain, l.open[f] = append(l.chain, f), true
	if !parseFile(f, &l.found) {
		l.broken = true
	}
	for _, inc := range f.Includes {
		l.include(f, inc)
	}
	l.chain, l.open[f] = l.chain[:len(l.chain)-1], false
	l.schema.Files = append(l.schema.Files, f)
	return f, nil
}

// include finds and loads what inc of f names. A file that is being read already
// includes itself, directly or by others, which no target language can express.
func (l *loader) include(f *idl.File, inc *idl.Include) {
	path, text, err := l.search(f, inc.Path)
	if err != nil {
		l.broken = true
		l.found.errorf(f, inc.Pos, "cannot include %q: %s", inc.Path, openError(err))
		return
	}
	if again := l.byID[identity(path)]; l.open[again] {
		l.broken = true
		l.found.errorf(f, inc.Pos, "files include each other: %s", cycleText(l.chain[slices.Index(l.chain, again):], path))
		return
	}
	if len(l.chain) >= maxIncludes {
		l.broken = true
		l.found.errorf(f, inc.Pos, "includes go deeper than %d files", maxIncludes)
		return
	}
	// The file was opened by search, or is known, so load has nothing to fail with.
	inc.File, _ = l.load(path, text)
}

// cycleText shows a circle of includes: the files from the first one to the one that
// closes it.
func cycleText(files []*idl.File, last string) string {
	var b strings.Builder
	for _, f := range files {
		b.WriteString(f.Path + " -> ")
	}
	return b.String() + last
}

// search looks for an included file beside f, then along Include; an absolute name
// is looked for where it says. text is nil for a file that is known already. An
// error that is not fs.ErrNotExist ends the search: a file that is there and cannot
// be read must not be replaced by another one of its name.
func (l *loader) search(f *idl.File, name string) (path string, text []byte, err error) {
	dirs := slices.Compact(append([]string{filepath.Dir(f.Path)}, l.Include...))
	if filepath.IsAbs(name) {
		dirs = []string{""}
	}
	for _, dir := range dirs {
		path = filepath.Join(dir, filepath.FromSlash(name))
		if known := l.byID[identity(path)]; known != nil {
			return known.Path, nil, nil
		}
		text, err = l.Open(path)
		if err == nil {
			return path, nonNil(text), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
	}
	if len(dirs) > 1 {
		err = fmt.Errorf("not in %s: %w", strings.Join(dirs, ", "), fs.ErrNotExist)
	}
	return "", nil, err
}

// nonNil tells an empty file from one that was not read: an Open may give nil for it.
func nonNil(p []byte) []byte {
	if p == nil {
		return []byte{}
	}
	return p
}

// identity is one for all ways to write a path, so that a file is read once. It
// knows nothing of symbolic links, which Open may not have.
func identity(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// openError leaves out the path and what was tried, which the finding shows already:
// "no such file or directory", not "open a.thrift: no such file or directory".
func openError(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
