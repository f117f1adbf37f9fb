package thriftidl

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// A value is checked when its type is known. What fits what:
//
//	bool, i8 … i64, double   an integer in range; true and false are 1 and 0; for a
//	                         double a double too
//	string, binary, uuid     a string; of a uuid in its usual form
//	enum                     a value's name, or a number that has one
//	list, set                a list; the empty map too, as ThriftTest writes it
//	map                      a map without a key that is there twice; the empty list too
//	struct, union            a map from names of fields to values; of a union one entry
//	any                      the name of a constant whose value, or type, fits
//
// A value that is written for one type means something else for another: {} is an
// empty map, set or struct. So what a name leads to is looked at by its type and not
// by its text as soon as it is a container, a struct or an enum.

// sortByPos brings names into the order of the text, in which faults are told.
func sortByPos(list []named) {
	slices.SortStableFunc(list, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.pos.Line, b.pos.Line), cmp.Compare(a.pos.Col, b.pos.Col))
	})
}

// values checks every constant and default of f against its type. On the way it sets
// what values refer to (Const, Enum, EnumValue).
func (r *resolver) values(f *idl.File) {
	for _, c := range f.Consts {
		r.constant(c)
	}
	for _, s := range f.Structs {
		r.defaults(s.Fields)
	}
	for _, s := range f.Services {
		for _, m := range s.Methods {
			r.arguments(m.Args)
			r.defaults(m.Args)
			r.defaults(m.Throws)
		}
	}
}

// arguments takes optional from arguments to which it means nothing, since they are always
// sent. Of a struct it says that a handler expects calls without it; other languages'
// compilers pass over it there too.
func (r *resolver) arguments(list []*idl.Field) {
	for _, f := range list {
		if t := f.Type.True(); f.Presence == idl.Optional && t.Kind != idl.StructRef {
			r.found.warnf(r.file, f.Pos, "optional means nothing for argument %s", f.Name)
			f.Presence = idl.Implicit
		}
	}
}

// constant checks c against its type, once: a constant may be used before the file
// that has it is gone through, and its references are needed then.
func (r *resolver) constant(c *idl.Const) {
	if r.fitted[c] {
		return
	}
	r.fitted[c] = true
	file := r.file
	r.file = c.File
	r.fit(c.Name, c.Type, c.Value, idl.Pos{})
	r.file = file
}

// defaults checks what the fields of a list are if they are absent.
func (r *resolver) defaults(list []*idl.Field) {
	for _, f := range list {
		if f.Default != nil {
			r.fit(f.Name, f.Type, f.Default, idl.Pos{})
		}
	}
}

// intBits is how many bits an integer type has.
var intBits = map[idl.Kind]uint{idl.I8: 8, idl.I16: 16, idl.I32: 32, idl.I64: 64}

// fit checks that v can be the value of a t; what says whose value it is, with the
// fields that lead to it: order.price.cents. at is the place for errors when v is
// another constant's value, else zero: whoever uses a constant wants to be told
// where he does, and not where the constant is right for somebody else.
//
// It goes as deep as the value is written, which the parser has bounded.
func (r *resolver) fit(what string, t *idl.Type, v *idl.Value, at idl.Pos) {
	t = t.True()
	pos := at
	if pos == (idl.Pos{}) {
		pos = v.Pos
	}
	wrong := func() {
		r.found.errorf(r.file, pos, "%s is of type %s: %s does not fit", what, t, v)
	}
	if v.Kind == idl.NameValue {
		r.fitName(what, t, v, pos)
		return
	}
	switch t.Kind {
	case idl.EnumRef:
		r.fitEnum(what, t, v, pos)
	case idl.List, idl.Set:
		r.fitList(what, t, v, at, wrong)
	case idl.Map:
		r.fitMap(what, t, v, at, wrong)
	case idl.StructRef:
		r.fitStruct(what, t, v, at, wrong)
	default:
		if !fitsScalar(t.Kind, v) {
			wrong()
		}
	}
}

// fitsScalar tells whether v, which is no name, can be a value of a kind that is
// neither named nor made of others.
func fitsScalar(k idl.Kind, v *idl.Value) bool {
	switch k {
	case idl.Bool:
		return v.Kind == idl.IntValue
	case idl.I8, idl.I16, idl.I32, idl.I64:
		bits := intBits[k]
		return v.Kind == idl.IntValue && v.Int >= math.MinInt64>>(64-bits) && v.Int <= math.MaxInt64>>(64-bits)
	case idl.Double:
		_, err := strconv.ParseFloat(v.Text, 64)
		return v.Kind == idl.IntValue || v.Kind == idl.DoubleValue && err == nil
	case idl.String, idl.Binary:
		return v.Kind == idl.StringValue
	case idl.UUID:
		_, ok := v.UUID()
		return ok
	}
	return true
}

// fitName checks a value that is another constant or an enum's value, and sets what v
// stands for. In the order of the cases: a name that two included files have; a value
// of another enum than t's, which is taken if t's has one of that name; a value of
// t's; an enum's value as a number; a constant; nothing that is known.
func (r *resolver) fitName(what string, t *idl.Type, v *idl.Value, pos idl.Pos) {
	c, e, ev := r.lookup(r.file, v.Text)
	first, second := r.bothHave(r.file, v.Text)
	switch {
	case second != nil:
		r.found.errorf(r.file, pos, "%s: %s is in %s and in %s, which are included under one name", what, v.Text, first.Path, second.Path)
	case ev != nil && t.Kind == idl.EnumRef && t.Enum != e:
		if same := r.enums[t.Enum].byName[ev.Name]; same != nil {
			// Apache's compiler looks at the part behind the dot only.
			r.found.warnf(r.file, pos, "%s is a value of %s; %s.%s is taken", v.Text, e.Name, t.Enum.Name, same.Name)
			v.Enum, v.EnumValue = t.Enum, same
			return
		}
		r.found.errorf(r.file, pos, "%s is of type %s: %s is a value of enum %s", what, t, v.Text, e.Name)
	case ev != nil && t.Kind == idl.EnumRef:
		v.Enum, v.EnumValue = e, ev
	case ev != nil:
		v.Enum, v.EnumValue = e, ev
		r.fit(what, t, &idl.Value{Kind: idl.IntValue, Int: int64(ev.Value), Pos: v.Pos}, pos)
	case c != nil:
		r.fitConst(what, t, v, c, pos)
	case t.Kind == idl.EnumRef:
		r.unknownEnumValue(what, t, v, pos)
	default:
		r.found.errorf(r.file, pos, "%s: no constant or enum value is named %s", what, v.Text)
	}
}

// fitConst checks a value that is another constant. Numbers, strings and, where
// a number is wanted, enums fit by their value; containers, structs and enums by
// their type, since the same text means different things for different types. So
// nothing is followed but a chain of names, and a hostile file cannot make this
// expensive.
//
//	const i64 A = 7
//	const i8  B = A             fits: 7 does
//	const list<i8>  L = [1]
//	const list<i16> M = L       does not: the types differ
//	const E X = E.ONE
//	const i32 N = X             fits: the number does
//
// c is the first constant of the chain, own its true type. Each step goes to the next
// constant, unless the type of the one at hand says enough.
func (r *resolver) fitConst(what string, t *idl.Type, v *idl.Value, c *idl.Const, pos idl.Pos) {
	v.Const = c
	own := c.Type.True()
	for range idl.MaxChain + 1 { // constCycles reports what is longer, or a circle
		switch next, _, ev := r.lookup(c.File, c.Value.Text); {
		case own.Kind == idl.EnumRef && !byType(t):
			r.fitEnumConst(what, t, c, pos)
			return
		case byType(own) || byType(t):
			if !r.same.same(own, t) {
				r.found.errorf(r.file, pos, "%s is of type %s: constant %s is of type %s", what, t, c.Name, c.Type)
			}
			return
		case c.Value.Kind != idl.NameValue:
			r.fit(what, t, c.Value, pos)
			return
		case ev != nil:
			r.fit(what, t, &idl.Value{Kind: idl.IntValue, Int: int64(ev.Value)}, pos)
			return
		case next == nil:
			return // reported where that constant is
		default:
			c, own = next, next.Type.True()
		}
	}
}

// fitEnumConst checks that the number of c, which is of an enum's type, can be the
// value of a t. Which value c is may not be known yet: c may stand in a file, or a
// line, that comes later.
func (r *resolver) fitEnumConst(what string, t *idl.Type, c *idl.Const, pos idl.Pos) {
	for range idl.MaxChain + 1 {
		r.constant(c)
		switch v := c.Value; {
		case v.EnumValue != nil:
			r.fit(what, t, &idl.Value{Kind: idl.IntValue, Int: int64(v.EnumValue.Value)}, pos)
			return
		case v.Const == nil:
			return // reported where that constant is
		default:
			c = v.Const
		}
	}
}

// byType tells the types for which a constant must be of the same type: the same text
// would mean another value.
func byType(t *idl.Type) bool { return containerOrStruct(t) || t.Kind == idl.EnumRef }

// constCycles reports constants that lead back to themselves, directly or within
// lists, maps and structs: whoever makes their values would never end.
func (r *resolver) constCycles(f *idl.File) {
	for _, c := range f.Consts {
		r.file = f
		r.follow(c, 0)
	}
}

// follow walks along what c refers to. done holds the constants that are known
// to end; one that is in it with false is being walked. depth counts the constants
// behind each other, which bounds the recursion: whatever makes values of a schema
// recurses like this.
func (r *resolver) follow(c *idl.Const, depth int) {
	ended, seen := r.done[c]
	switch {
	case ended:
		return
	case seen:
		r.found.errorf(c.File, c.Pos, "constant %s leads back to itself", c.Name)
		return
	case depth > idl.MaxChain:
		r.found.errorf(c.File, c.Pos, "constant %s is used through more than %d others", c.Name, idl.MaxChain)
		return
	}
	r.done[c] = false
	r.followValue(c.Value, depth)
	r.done[c] = true
}

// followValue follows what is within v. How deep values nest is the parser's bound;
// how many constants stand behind each other is follow's.
func (r *resolver) followValue(v *idl.Value, depth int) {
	if v.Const != nil {
		r.follow(v.Const, depth+1)
	}
	for _, x := range v.List {
		r.followValue(x, depth)
	}
	for _, e := range v.Map {
		r.followValue(e.Key, depth)
		r.followValue(e.Value, depth)
	}
}

// containerOrStruct tells the types whose values are made of other values.
func containerOrStruct(t *idl.Type) bool {
	return t.Kind == idl.List || t.Kind == idl.Set || t.Kind == idl.Map || t.Kind == idl.StructRef
}

// unknownEnumValue tells what is wrong with a name that is to be a value of the enum
// t and stands for nothing. Apache's compiler looks at the part behind the last dot
// only; where that is a value, the name is taken with a warning.
func (r *resolver) unknownEnumValue(what string, t *idl.Type, v *idl.Value, pos idl.Pos) {
	name := v.Text[strings.LastIndexByte(v.Text, '.')+1:]
	same := r.enums[t.Enum].byName[name]
	switch {
	case same != nil && name == v.Text:
		r.found.errorf(r.file, pos, "%s: write %s.%s", what, t.Enum.Name, name)
	case same != nil:
		r.found.warnf(r.file, pos, "%s is unknown; %s.%s is taken", v.Text, t.Enum.Name, name)
		v.Enum, v.EnumValue = t.Enum, same
	default:
		r.found.errorf(r.file, pos, "%s: enum %s has no value named %s", what, t.Enum.Name, name)
	}
}

// fitEnum checks a number that is to be a value of an enum: it must have a name there.
func (r *resolver) fitEnum(what string, t *idl.Type, v *idl.Value, pos idl.Pos) {
	if ev := r.enums[t.Enum].byNumber[int32(v.Int)]; v.Kind == idl.IntValue && ev != nil && int64(ev.Value) == v.Int {
		v.Enum, v.EnumValue = t.Enum, ev
		return
	}
	r.found.errorf(r.file, pos, "%s: enum %s has no value %s", what, t.Enum.Name, v)
}

// fitList, fitMap and fitStruct check what is made of other values. at is fit's; wrong
// says that the whole does not fit.
func (r *resolver) fitList(what string, t *idl.Type, v *idl.Value, at idl.Pos, wrong func()) {
	if v.Kind == idl.MapValue && len(v.Map) == 0 {
		return // ThriftTest writes "set<binary> s = {}"
	}
	if v.Kind != idl.ListValue {
		wrong()
		return
	}
	for _, x := range v.List {
		r.fit(what, t.Elem, x, at)
	}
}

// fitMap finds keys that are there twice by how they are written, those of enums by
// their number. Keys that mean the same and are written differently, such as 1 and
// 0x1, are both taken; who makes a map of them takes the last one.
func (r *resolver) fitMap(what string, t *idl.Type, v *idl.Value, at idl.Pos, wrong func()) {
	if v.Kind == idl.ListValue && len(v.List) == 0 {
		return
	}
	if v.Kind != idl.MapValue {
		wrong()
		return
	}
	seen := map[string]bool{}
	for _, e := range v.Map {
		r.fit(what, t.Key, e.Key, at)
		r.fit(what, t.Elem, e.Value, at)
		key := e.Key.String()
		if e.Key.EnumValue != nil {
			key = strconv.Itoa(int(e.Key.EnumValue.Value))
		}
		if seen[key] && at == (idl.Pos{}) {
			r.found.errorf(r.file, e.Key.Pos, "%s has the key %s twice", what, e.Key)
		}
		seen[key] = true
	}
}

// fitStruct checks a struct's value, whose fields are named as in the IDL. What is left
// out has its default, even if it is required: Apache's compiler says nothing either.
func (r *resolver) fitStruct(what string, t *idl.Type, v *idl.Value, at idl.Pos, wrong func()) {
	if v.Kind != idl.MapValue {
		wrong()
		return
	}
	seen := map[string]bool{}
	for i, e := range v.Map {
		pos := at
		if pos == (idl.Pos{}) {
			pos = e.Key.Pos
		}
		f := r.field(t.Struct, e.Key.Text)
		switch {
		case e.Key.Kind != idl.StringValue:
			r.found.errorf(r.file, pos, "%s is of type %s: its fields are named by strings", what, t)
		case f == nil:
			r.found.errorf(r.file, pos, "%s: %s %s has no field %q", what, t.Struct.Kind, t.Struct.Name, e.Key.Text)
		case seen[f.Name]:
			r.found.errorf(r.file, pos, "%s has the field %s twice", what, f.Name)
		case t.Struct.Kind == idl.Union && i > 0:
			r.found.errorf(r.file, pos, "%s: only one field of union %s can be set", what, t.Struct.Name)
		default:
			seen[f.Name] = true
			r.fit(within(what, f.Name), f.Type, e.Value, at)
		}
	}
}

// within names a field of what has the name what, for errors. A long name grows no
// longer: it is made for each field of each value, and nobody reads most of them.
func within(what, field string) string {
	if len(what) > maxWhat {
		return what
	}
	return what + "." + field
}

// maxWhat is how long the name of a value may be to which another is added.
const maxWhat = 256

// field finds a field by name, of two with one name the first; nil if there is
// none.
func (r *resolver) field(s *idl.Struct, name string) *idl.Field {
	byName := r.fields[s]
	if byName == nil {
		byName = make(map[string]*idl.Field, len(s.Fields))
		for _, f := range s.Fields {
			if byName[f.Name] == nil {
				byName[f.Name] = f
			}
		}
		r.fields[s] = byName
	}
	return byName[name]
}
