package gen

import "github.com/limosa-rpc/limosa/idl"

// defaultCycles reports structs whose defaults need one of themselves: making
// one would never end.
func (g *generator) defaultCycles(f *idl.File, state map[*idl.Struct]int) {
	for _, s := range f.Structs {
		g.defaultCycle(s, state)
	}
}

func (g *generator) defaultCycle(s *idl.Struct, state map[*idl.Struct]int) {
	const walking, done = 1, 2
	if s.Kind == idl.Union || state[s] == done {
		return
	}
	if state[s] == walking {
		g.errorf(s.File, s.Pos, "the defaults of %s need a %s: making one would never end", s.Name, s.Name)
		return
	}
	state[s] = walking
	for _, f := range s.Fields {
		if f.Default != nil {
			madeBy(f.Type, f.Default, 0, func(inner *idl.Struct) { g.defaultCycle(inner, state) })
		}
	}
	state[s] = done
}

// madeBy tells of every struct that an expression for v makes. Constants do
// not lead back to themselves, but they may be used many times: what one makes
// is looked at down to a depth that no IDL reaches.
func madeBy(t *idl.Type, v *idl.Value, depth int, made func(*idl.Struct)) {
	if t = t.True(); depth > 16 {
		return
	}
	if v.Const != nil {
		if !isConstant(t) {
			madeBy(t, v.Const.Value, depth+1, made)
		}
		return
	}
	switch t.Kind {
	case idl.List, idl.Set:
		for _, x := range v.List {
			madeBy(t.Elem, x, depth, made)
		}
	case idl.Map:
		for _, x := range v.Map {
			madeBy(t.Key, x.Key, depth, made)
			madeBy(t.Elem, x.Value, depth, made)
		}
	case idl.StructRef:
		made(t.Struct)
		for _, x := range v.Map {
			madeBy(fieldNamed(t.Struct, x.Key.Text).Type, x.Value, depth, made)
		}
	}
}
