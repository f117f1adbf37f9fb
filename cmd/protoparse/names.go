package protoparse

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// A .proto file is known by the name under which others import it, and by no other, or
// what it defines would be there twice. What is left of its path in front of the name is
// a root: imports are looked for there if no directory of -I has them. The name of a file
// that the user names is, of these, the first one that there is:
//
//	-I idl                         the rest behind a directory of -I
//	import "shop/v1/item.proto";   an import of a file that is named too, if the path ends with it
//	package shop.v1;               idl/shop/v1/item.proto has its package in its path
//	                               the rest behind a root of another file
//	                               the rest behind the folder that has all such files
//
// The working directory has no say in it: names stand in what is generated.

// name reads the files at paths and gives the names under which they are imported.
func (l *loader) name(paths []string) []string {
	var all []*named
	imports := map[string]bool{}
	for _, p := range paths {
		p = filepath.Clean(p)
		text, err := l.read(p)
		if err != nil {
			l.errs = append(l.errs, &idl.Error{Path: p, Msg: cause(err), Err: err})
			continue
		}
		all = append(all, &named{path: p, text: text})
		for _, name := range importsOf(text) {
			imports[name] = true
		}
	}
	// In two passes, since a file may be imported by one that is named after it.
	for _, f := range all {
		f.name, f.root = l.nameOf(f, imports)
	}
	nameRest(all)
	var names []string
	for _, f := range all {
		old := l.sources[f.name]
		switch {
		case old == nil:
			l.keep(f.name, f.path, f.text)
			names = append(names, f.name)
		// The same file named twice is taken once, without a word.
		case absolute(old.path) != absolute(f.path):
			l.errs = append(l.errs, &idl.Error{Path: f.path, Msg: fmt.Sprintf("%s would be imported as %q too: give the directories that imports are relative to with -I", old.path, f.name)})
			continue
		}
		l.addRoots(f.root, filepath.Dir(f.path))
	}
	return names
}

// A named is a file that the user has named. Its name is "" until it is found.
type named struct{ path, text, name, root string }

// nameOf gives the name of a file, and the root that it is relative to, by what is said
// of it: by -I, by imports, by its package; "" if nothing is.
func (l *loader) nameOf(f *named, imports map[string]bool) (name, root string) {
	// The first directory that has it wins, as with protoc's -I.
	for _, dir := range l.Include {
		if name, ok := below(dir, f.path); ok {
			return name, dir
		}
	}
	whole := filepath.ToSlash(f.path)
	within := func(name string) (string, bool) {
		rest, ok := strings.CutSuffix("/"+whole, "/"+name)
		if rest = strings.TrimPrefix(rest, "/"); rest == "" && !filepath.IsAbs(f.path) {
			rest = "."
		}
		return filepath.FromSlash(cmp.Or(rest, "/")), ok
	}
	// The longest end of the path that anybody imports: a shorter one may be the name of
	// another file.
	parts := strings.Split(whole, "/")
	for i := range parts {
		if name := strings.Join(parts[i:], "/"); imports[name] {
			root, _ := within(name)
			return name, root
		}
	}
	if pkg := packageOf(f.text); pkg != "" {
		name := strings.ReplaceAll(pkg, ".", "/") + "/" + path.Base(whole)
		if root, ok := within(name); ok {
			return name, root
		}
	}
	return "", ""
}

// nameRest names the files of which nothing is said.
func nameRest(all []*named) {
	// The folder that has all files of which nothing is said; it climbs until they are below it.
	common := ""
	for _, f := range all {
		if f.name != "" {
			continue
		}
		for _, g := range all {
			if name, ok := below(g.root, f.path); ok && g.root != "" {
				f.name, f.root = name, g.root
			}
		}
		dir := filepath.Dir(f.path)
		if f.name == "" && common == "" {
			common = dir
		}
		for _, inside := below(common, dir); f.name == "" && common != dir && !inside && common != filepath.Dir(common); _, inside = below(common, dir) {
			common = filepath.Dir(common)
		}
	}
	for _, f := range all {
		if f.name == "" {
			f.root = common
			if f.name, _ = below(common, f.path); f.name == "" { // of another volume, or above the working directory
				f.name, f.root = filepath.Base(f.path), filepath.Dir(f.path)
			}
		}
	}
}

// below gives a path relative to a directory, with slashes, if it lies there.
func below(dir, p string) (name string, ok bool) {
	rel, err := filepath.Rel(dir, p)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// addRoots notes where imports may lie: a root, then the folders of a file from its
// own to the root.
func (l *loader) addRoots(root, dir string) {
	for {
		if !slices.Contains(l.roots, dir) {
			l.roots = append(l.roots, dir)
		}
		up := filepath.Dir(dir)
		if dir == root || up == dir {
			break
		}
		dir = up
	}
	if !slices.Contains(l.roots, root) {
		l.roots = append(l.roots, root)
	}
}

// find gives a file by its name: one that is known, else the first that lies in a
// directory of Include, else in a root. A file that is there and cannot be read ends
// the search: it must not be replaced by another one of its name.
func (l *loader) find(name string) (*source, error) {
	if src := l.sources[name]; src != nil {
		return src, nil
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it leads out of the tree")}
	}
	for _, dir := range slices.Concat(l.Include, l.roots) {
		p := filepath.Join(dir, filepath.FromSlash(name))
		text, err := l.read(p)
		if err == nil {
			return l.keep(name, p, text), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New(cause(err))}
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// keep notes what a name stands for.
func (l *loader) keep(name, p, text string) *source {
	src := &source{path: p, text: text, from2024: lower(text)}
	l.sources[name] = src
	return src
}

// read reads a file, unless it is too large.
func (l *loader) read(p string) (string, error) {
	data, err := l.Open(p)
	if err == nil && len(data) > maxFileBytes {
		// After reading: Open may be any function, which tells no size before.
		err = fmt.Errorf("file of %d bytes; %d are allowed", len(data), maxFileBytes)
	}
	return string(data), err
}

// absolute is one for all ways to write a path.
func absolute(p string) string {
	if abs, err := filepath.Abs(p); err == nil {
		return abs
	}
	return p
}

// cause leaves out what the finding shows already.
func cause(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

// importsOf and packageOf look into a text that nobody has parsed yet. A text that is
// broken gives what can be seen.
func importsOf(text string) []string {
	var list []string
	toks := tokens(text)
	for i, t := range toks {
		if t.text != "import" || i > 0 && toks[i-1].text != ";" {
			continue
		}
		for _, t := range toks[i+1 : min(i+3, len(toks))] { // perhaps behind public, weak or option
			// A string that does not end on its line has no second quote, and the compiler's error;
			// here it only must not be cut out of range.
			if n := len(t.text); n >= 2 && (t.text[0] == '"' || t.text[0] == '\'') {
				list = append(list, t.text[1:n-1])
			}
		}
	}
	return list
}

// packageOf gives the package that a text names, by its words alone: the file may be one that cannot be read.
func packageOf(text string) string {
	toks := tokens(text)
	for i, t := range toks {
		if t.text != "package" || i > 0 && toks[i-1].text != ";" {
			continue
		}
		var b strings.Builder
		for _, t := range toks[i+1:] {
			if t.text == ";" {
				return b.String()
			}
			b.WriteString(t.text)
		}
	}
	return ""
}
