package thriftidl

import (
	"cmp"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// lookup finds a constant or an enum's value by a name as f writes it: NAME,
// Enum.NAME, file.NAME, file.Enum.NAME. What f defines itself comes first: it was
// there before somebody added an include. All results are nil if there is none.
func (r *resolver) lookup(f *idl.File, name string) (*idl.Const, *idl.Enum, *idl.EnumValue) {
	if c, e, v := r.own(f, name); c != nil || v != nil {
		return c, e, v
	}
	if all := r.foreign(f, name); len(all) > 0 {
		return all[0].constant, all[0].enum, all[0].value
	}
	return nil, nil, nil
}

// bothHave finds two files that f includes under one name and that both have
// what a value's name in f stands for: nobody can tell which is meant. nil, nil if
// the name is clear.
func (r *resolver) bothHave(f *idl.File, name string) (first, second *idl.File) {
	if c, _, v := r.own(f, name); c != nil || v != nil {
		return nil, nil
	}
	all := r.foreign(f, name)
	for _, x := range all[min(1, len(all)):] {
		if x.file.Name == all[0].file.Name {
			return all[0].file, x.file
		}
	}
	return nil, nil
}

// A foreign is what a name stands for in an included file: a constant, or an enum
// with one of its values.
type foreign struct {
	file     *idl.File
	constant *idl.Const
	enum     *idl.Enum
	value    *idl.EnumValue
}

// foreign finds what name stands for in the files that f includes, in their order.
// A file's name may have dots, as what is in it may: each dot may be the one that
// ends the file's name. Of the files of one name that have it, two are enough.
func (r *resolver) foreign(f *idl.File, name string) (all []foreign) {
	for i, c := range []byte(name) {
		if c != '.' {
			continue
		}
		first, _, _ := strings.Cut(name[i+1:], ".") // a constant, or an enum
		before := len(all)
		for _, in := range r.mayHave(f, name[:i], first) {
			if c, e, v := r.own(in, name[i+1:]); c != nil || v != nil {
				if all = append(all, foreign{in, c, e, v}); len(all) == before+2 {
					break
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b foreign) int { return cmp.Compare(r.scopes[f].places[a.file], r.scopes[f].places[b.file]) })
	return all
}

// own finds what name stands for among the definitions of f: a constant, or a value
// of an enum, which may be named through typedefs of it.
func (r *resolver) own(f *idl.File, name string) (*idl.Const, *idl.Enum, *idl.EnumValue) {
	if c := r.scopes[f].consts[name]; c != nil {
		return c, nil, nil
	}
	enum, value, _ := strings.Cut(name, ".")
	t := r.scopes[f].types[enum]
	// A typedef of an enum may stand for it, and a typedef of that. Nobody names a
	// value through more of them than types may nest.
	for range maxDepth {
		d, ok := t.(*idl.Typedef)
		if !ok {
			break
		}
		switch d.Type.Kind {
		case idl.TypedefRef:
			t = d.Type.Typedef
		case idl.EnumRef:
			t = d.Type.Enum
		default:
			t = nil
		}
	}
	if e, ok := t.(*idl.Enum); ok {
		if v := r.enums[e].byName[value]; v != nil {
			return nil, e, v
		}
	}
	return nil, nil, nil
}

// namesakes are files of one name that a file includes, in the order of their includes.
type namesakes struct {
	files  []*idl.File // each once
	looked int         // how many files were looked into
	names  int         // that the files define; 0: not counted yet
	byName map[string][]*idl.File
}

// mayHave gives those of the files that r.scopes[f] includes under a prefix which may define a
// name, in their order. They are all of them at first; once more was looked into than they have
// names, these are put into a table: 4,000 files of one name, and as many names that were
// looked for in them, took twelve seconds.
func (r *resolver) mayHave(f *idl.File, prefix, name string) []*idl.File {
	x := r.scopes[f].includes[prefix]
	switch {
	case x == nil:
		return nil
	case x.byName != nil:
		return x.byName[name]
	case len(x.files) <= 2:
		return x.files
	}
	if x.names == 0 {
		for _, in := range x.files {
			own := r.scopes[in]
			x.names += 1 + len(own.types) + len(own.services) + len(own.consts)
		}
	}
	if x.looked += len(x.files); x.looked <= x.names {
		return x.files
	}
	x.byName = map[string][]*idl.File{}
	add := func(in *idl.File, name string) {
		if had := x.byName[name]; len(had) == 0 || had[len(had)-1] != in {
			x.byName[name] = append(had, in)
		}
	}
	for _, in := range x.files {
		own := r.scopes[in]
		for name := range own.types {
			add(in, name)
		}
		for name := range own.services {
			add(in, name)
		}
		for name := range own.consts {
			add(in, name)
		}
	}
	return x.byName[name]
}

// included finds the file that is meant by the prefix of a name as written: of
// those that are included under it the one that has the name, else the first.
// nil: there is no such include. Two that both have it are an error at pos; files of
// one base name in different folders are common, and mostly have nothing in common.
func (r *resolver) included(written string, pos idl.Pos, prefix, name string, has func(*idl.File) bool) *idl.File {
	x := r.scopes[r.file].includes[prefix]
	if x == nil {
		return nil
	}
	var found *idl.File
	for _, f := range r.mayHave(r.file, prefix, name) {
		switch {
		case !has(f):
		case found != nil:
			r.found.errorf(r.file, pos, "%s is in %s and in %s, which are included under one name", written, found.Path, f.Path)
			return found
		default:
			found = f
		}
	}
	if found == nil {
		return x.files[0]
	}
	return found
}
