package idl

import (
	"cmp"
	"slices"
	"strings"
)

// lookup finds a constant or an enum's value by a name as f writes it: NAME,
// Enum.NAME, file.NAME, file.Enum.NAME.
func lookup(f *File, name string) (*Const, *Enum, *EnumValue) {
	if c, e, v := f.own(name); c != nil || v != nil {
		return c, e, v
	}
	if all := f.foreign(name); len(all) > 0 {
		return all[0].constant, all[0].enum, all[0].value
	}
	return nil, nil, nil
}

// bothHave finds two files that f includes under one name and that both have
// what a value's name in f stands for.
func bothHave(f *File, name string) (first, second *File) {
	if c, _, v := f.own(name); c != nil || v != nil {
		return nil, nil
	}
	all := f.foreign(name)
	for _, x := range all[min(1, len(all)):] {
		if x.file.Name == all[0].file.Name {
			return all[0].file, x.file
		}
	}
	return nil, nil
}

// A foreign is what a name stands for in an included file.
type foreign struct {
	file     *File
	constant *Const
	enum     *Enum
	value    *EnumValue
}

// foreign finds what name stands for in the files that f includes, in their order.
// A file's name may have dots, as what is in it may.
func (f *File) foreign(name string) (all []foreign) {
	for i, c := range []byte(name) {
		if c != '.' {
			continue
		}
		for _, in := range f.scope.includes[name[:i]] {
			if c, e, v := in.own(name[i+1:]); c != nil || v != nil {
				all = append(all, foreign{in, c, e, v})
			}
		}
	}
	slices.SortFunc(all, func(a, b foreign) int { return cmp.Compare(f.scope.places[a.file], f.scope.places[b.file]) })
	return all
}

func (f *File) own(name string) (*Const, *Enum, *EnumValue) {
	if c := f.scope.consts[name]; c != nil {
		return c, nil, nil
	}
	enum, value, _ := strings.Cut(name, ".")
	t := f.scope.types[enum]
	for range maxDepth { // a typedef of an enum may stand for it
		d, ok := t.(*Typedef)
		if !ok {
			break
		}
		switch d.Type.Kind {
		case TypedefRef:
			t = d.Type.Typedef
		case EnumRef:
			t = d.Type.Enum
		default:
			t = nil
		}
	}
	if e, ok := t.(*Enum); ok {
		if v := e.byName[value]; v != nil {
			return nil, e, v
		}
	}
	return nil, nil, nil
}
