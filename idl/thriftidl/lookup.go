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
// ends the file's name.
func (r *resolver) foreign(f *idl.File, name string) (all []foreign) {
	for i, c := range []byte(name) {
		if c != '.' {
			continue
		}
		for _, in := range r.scopes[f].includes[name[:i]] {
			if c, e, v := r.own(in, name[i+1:]); c != nil || v != nil {
				all = append(all, foreign{in, c, e, v})
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
