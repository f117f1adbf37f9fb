package protoparse

import (
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
// what it defines would be there twice. The name of a file that the user names is, of
// these, the first one that there is:
//
//	-I idl                         the rest behind a directory of -I
//	import "shop/v1/item.proto";   an import of a file that is named too, if the path ends with it
//	package shop.v1;               idl/shop/v1/item.proto has its package in its path
//	                               the path within the working directory; else its base name
//
// What is left of the path in front of the name is a root: imports are looked for there
// if no directory of -I has them.

// name reads the files at paths and gives the names under which they are imported.
func (l *loader) name(paths []string) []string {
	paths = slices.Clone(paths)
	texts, imports := map[string]string{}, map[string]bool{}
	for i, p := range paths {
		p = filepath.Clean(p)
		paths[i] = p
		text, err := l.read(p)
		if err != nil {
			l.errs = append(l.errs, &idl.Error{Path: p, Msg: cause(err), Err: err})
			continue
		}
		texts[p] = text
		for _, name := range importsOf(text) {
			imports[name] = true
		}
	}
	var names []string
	for _, p := range paths {
		text, ok := texts[p]
		if !ok {
			continue
		}
		name, root := l.nameOf(p, text, imports)
		if old := l.sources[name]; old != nil && absolute(old.path) != absolute(p) {
			l.errs = append(l.errs, &idl.Error{Path: p, Msg: fmt.Sprintf("%s would be imported as %q too: give the directories that imports are relative to with -I", old.path, name)})
			continue
		}
		if l.sources[name] == nil {
			l.keep(name, p, text)
			names = append(names, name)
		}
		l.addRoots(root, filepath.Dir(p))
	}
	return names
}

// nameOf gives the name of a file, and the root that it is relative to.
func (l *loader) nameOf(p, text string, imports map[string]bool) (name, root string) {
	for _, dir := range l.Include {
		if rel, err := filepath.Rel(dir, p); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), dir
		}
	}
	whole := filepath.ToSlash(p)
	parts := strings.Split(whole, "/")
	for i := range parts {
		if name := strings.Join(parts[i:], "/"); imports[name] {
			return name, filepath.FromSlash(path.Clean(strings.TrimSuffix(whole, name)))
		}
	}
	if pkg := packageOf(text); pkg != "" {
		name := strings.ReplaceAll(pkg, ".", "/") + "/" + path.Base(whole)
		if whole == name {
			return name, "."
		}
		if rest, ok := strings.CutSuffix(whole, "/"+name); ok {
			return name, filepath.FromSlash(rest)
		}
	}
	if filepath.IsLocal(p) {
		return whole, "."
	}
	return path.Base(whole), filepath.Dir(p)
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
			if n := len(t.text); n >= 2 && (t.text[0] == '"' || t.text[0] == '\'') {
				list = append(list, t.text[1:n-1])
			}
		}
	}
	return list
}

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
