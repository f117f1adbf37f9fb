package gen

import "github.com/limosa-rpc/limosa/idl"

// A defaulting says what defaults a struct has: decoding has to take the memory of
// large ones from its budget before it makes them, or a list of empty structs would be
// a bomb.
type defaulting int

const (
	noDefaults    defaulting = iota
	plainDefaults            // they take no memory besides the struct
	largeDefaults            // containers, structs, binary, and pointers to scalars
)

// defaultsOf gives the largest kind of default among fields.
func defaultsOf(fields []*idl.Field) defaulting {
	kind := noDefaults
	for _, f := range fields {
		switch {
		case f.Default == nil:
		case !isScalar(f.Type) || byPointer(f):
			return largeDefaults
		default:
			kind = plainDefaults
		}
	}
	return kind
}

// A defaultWalk looks for structs whose defaults need one of themselves: making
// one would never end. Each struct and each constant is looked into once.
//
//	struct A { 1: list<B> bs = [{}] }     NewA makes a B,
//	struct B { 1: A a = {} }              NewB makes an A, which makes a B, …
//
// A field without a default ends it: struct Tree { 1: Tree left } is fine.
type defaultWalk struct {
	g      *generator
	states map[*idl.Struct]walkState
	consts map[*idl.Const]bool // those that were looked into
	steps  int                 // values that were looked at; a test bounds it
}

// A walkState is how far a struct's defaults were looked at.
type walkState uint8

const (
	unseen  walkState = iota
	walking           // its defaults are being looked at
	ended
	blamed // its defaults are being looked at, and need it
)

// newDefaultWalk makes a walk that reports to g.
func newDefaultWalk(g *generator) *defaultWalk {
	return &defaultWalk{g: g, states: map[*idl.Struct]walkState{}, consts: map[*idl.Const]bool{}}
}

// structure looks at the defaults of s, unless that was done. A union has none that
// anybody makes: nil is its default.
func (w *defaultWalk) structure(s *idl.Struct) {
	switch {
	case s.Kind == idl.Union:
		return
	case w.states[s] == walking:
		w.g.errorf(s.File, s.Pos, "the defaults of %s need a %s: making one would never end", s.Name, s.Name)
		w.states[s] = blamed
	case w.states[s] != unseen:
		return
	default:
		w.states[s] = walking
		for _, f := range s.Fields {
			if f.Default != nil {
				w.value(f.Type, f.Default)
			}
		}
		w.states[s] = ended
	}
}

// value looks at every struct that an expression for v makes. A constant makes
// the same ones wherever it stands; what it made is either done, or was being
// looked at then and was blamed.
func (w *defaultWalk) value(t *idl.Type, v *idl.Value) {
	w.steps++
	t = t.True()
	if v.Const != nil {
		if !isConstant(t) && !w.consts[v.Const] {
			w.consts[v.Const] = true
			w.value(t, v.Const.Value)
		}
		return
	}
	switch t.Kind {
	case idl.List, idl.Set:
		for _, x := range v.List {
			w.value(t.Elem, x)
		}
	case idl.Map:
		for _, x := range v.Map {
			w.value(t.Key, x.Key)
			w.value(t.Elem, x.Value)
		}
	case idl.StructRef:
		w.structure(t.Struct)
		for _, x := range v.Map {
			w.value(fieldNamed(t.Struct, x.Key.Text).Type, x.Value)
		}
	}
}

// maxParts bounds how many types a typedef stands for when all typedefs in it
// are written out, as the Go compiler does it. Typedefs that double what the one
// before them stands for would keep it busy for ever.
const maxParts = 4096

// typedefParts tells how many types t stands for, and reports a typedef in it that
// stands for too many. known has the numbers of those that were looked at.
func (g *generator) typedefParts(t *idl.Type, known map[*idl.Typedef]int) int {
	switch {
	case t == nil:
		return 0
	case t.Typedef == nil:
		return min(1+g.typedefParts(t.Key, known)+g.typedefParts(t.Elem, known), maxParts+1)
	}
	d := t.Typedef
	n, seen := known[d]
	if !seen {
		if n = g.typedefParts(d.Type, known); n > maxParts {
			g.errorf(d.File, d.Pos, "typedef %s stands for more than %d types when the typedefs in it are written out", d.Name, maxParts)
			n = 1 // those that are made of it are not to blame
		}
		known[d] = n
	}
	return n
}
