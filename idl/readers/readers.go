// Package readers chooses the reader of an IDL file by the ending of its name. It is the one
// place that knows all readers: limosa-gen and the command limosa ask it, so that a second
// IDL is one more entry of [Builtin], and of no other file.
//
//	set := readers.Builtin()
//	schema, err := set.Load(readers.Source{Include: dirs}, paths...)
//
// A [Set] is a value: a program that has another reader puts it into its own.
package readers

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
)

// A Source says where files come from.
type Source struct {
	// Include lists directories to search for includes, after that of the including file.
	Include []string
	// Open gives a file's bytes; nil: os.ReadFile. An error that is fs.ErrNotExist
	// lets the search for an include go on.
	Open func(path string) ([]byte, error)
}

// A Reader makes a schema of the files at paths and all that they include. Its error
// is an idl.Errors, with places in the files.
type Reader func(from Source, paths []string) (*idl.Schema, error)

// A Set has the reader of each IDL by the ending of its files, ".thrift" with its dot. It
// may be read concurrently; nobody changes one that was handed on.
type Set map[string]Reader

// Builtin is a fresh set of the readers that Limosa has.
func Builtin() Set { return Set{".thrift": Thrift} }

// Thrift reads files that end with ".thrift".
func Thrift(from Source, paths []string) (*idl.Schema, error) {
	return thriftidl.Reader{Include: from.Include, Open: from.Open}.Load(paths...)
}

// Endings lists those of the files that are read, sorted.
func (s Set) Endings() []string { return slices.Sorted(maps.Keys(s)) }

// String lists the endings for a sentence: ".proto or .thrift".
func (s Set) String() string { return strings.Join(s.Endings(), " or ") }

// Reads tells whether a file of that name is one of an IDL. The name may have slashes of
// the system or those of git.
func (s Set) Reads(name string) bool { return s[filepath.Ext(name)] != nil }

// In lists the files of a directory, and not of those below it, that are read, sorted;
// none of one that cannot be read.
func (s Set) In(dir string) (paths []string) {
	found, _ := os.ReadDir(dir)
	for _, f := range found {
		if !f.IsDir() && s.Reads(f.Name()) {
			paths = append(paths, filepath.Join(dir, f.Name()))
		}
	}
	return paths
}

// Below lists the files of a directory and of all below it that are read, sorted, but
// for those in directories whose names begin with a dot, see [Hidden]; dir itself may be one.
func (s Set) Below(dir string) (paths []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != dir && Hidden(e.Name()+"/"):
			return filepath.SkipDir
		case !e.IsDir() && s.Reads(path):
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}

// Hidden tells whether one of the directories in name, which has slashes, begins with a
// dot: other trees are kept there, such as those of git, editors and tools.
func Hidden(name string) bool {
	dir, _ := path.Split(name)
	return strings.HasPrefix(dir, ".") || strings.Contains(dir, "/.")
}

// Load gives the files to their readers, and joins what those give. Where there is one
// reader it gets all files, whatever they are called. The schema is nil with an error,
// which is that of the first reader that has one.
func (s Set) Load(from Source, paths ...string) (*idl.Schema, error) {
	endings, byEnding := s.Endings(), map[string][]string{}
	for _, p := range paths {
		ending := filepath.Ext(p)
		switch {
		case len(endings) == 1:
			ending = endings[0]
		case s[ending] == nil:
			return nil, fmt.Errorf("%s: its name does not end with %s", p, s)
		}
		byEnding[ending] = append(byEnding[ending], p)
	}
	all := new(idl.Schema)
	for _, ending := range endings {
		if len(byEnding[ending]) == 0 {
			continue
		}
		schema, err := s[ending](from, byEnding[ending])
		if err != nil {
			return nil, err
		}
		all.Files = append(all.Files, schema.Files...)
		all.Warnings = append(all.Warnings, schema.Warnings...)
	}
	return all, nil
}
