package thriftidl

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

func sortByPos(list []named) {
	slices.SortStableFunc(list, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.pos.Line, b.pos.Line), cmp.Compare(a.pos.Col, b.pos.Col))
	})
}

// values checks every constant and default of f against its type.
func (r *resolver) values(f *idl.File) {
	for _, c := range f.Consts {
		r.constant(c)
	}
	for _, s := range f.Structs {
		r.defaults(s.Fields)
	}
	for _, s := range f.Services {
		for _, m := range s.Methods {
			r.defaults(m.Args)
			r.defaults(m.Throws)
		}
	}
}

// constant checks c against its type, once.
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

func (r *resolver) defaults(list []*idl.Field) {
	for _, f := range list {
		if f.Default != nil {
			r.fit(f.Name, f.Type, f.Default, idl.Pos{})
		}
	}
}

var intBits = map[idl.Kind]uint{idl.I8: 8, idl.I16: 16, idl.I32: 32, idl.I64: 64}

// fit checks that v can be the value of a t; what says whose value it is. at
// is the place for errors when v is another constant's value, else zero.
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
	case idl.Bool:
		if v.Kind != idl.IntValue {
			wrong()
		}
	case idl.I8, idl.I16, idl.I32, idl.I64:
		bits := intBits[t.Kind]
		if v.Kind != idl.IntValue || v.Int < math.MinInt64>>(64-bits) || v.Int > math.MaxInt64>>(64-bits) {
			wrong()
		}
	case idl.Double:
		if v.Kind == idl.DoubleValue {
			if _, err := strconv.ParseFloat(v.Text, 64); err != nil {
				wrong()
			}
		} else if v.Kind != idl.IntValue {
			wrong()
		}
	case idl.String, idl.Binary:
		if v.Kind != idl.StringValue {
			wrong()
		}
	case idl.UUID:
		if _, ok := v.UUID(); !ok {
			wrong()
		}
	case idl.EnumRef:
		r.fitEnum(what, t, v, pos)
	case idl.List, idl.Set:
		r.fitList(what, t, v, at, wrong)
	case idl.Map:
		r.fitMap(what, t, v, at, wrong)
	case idl.StructRef:
		r.fitStruct(what, t, v, at, wrong)
	}
}

// fitName checks a value that is another constant or an enum's value.
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
// value of a t.
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

func byType(t *idl.Type) bool { return containerOrStruct(t) || t.Kind == idl.EnumRef }

// constCycles reports constants that lead back to themselves.
func (r *resolver) constCycles(f *idl.File) {
	for _, c := range f.Consts {
		r.file = f
		r.follow(c, 0)
	}
}

// follow walks along what c refers to. done holds the constants that are known
// to end; one that is in it with false is being walked.
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

func containerOrStruct(t *idl.Type) bool {
	return t.Kind == idl.List || t.Kind == idl.Set || t.Kind == idl.Map || t.Kind == idl.StructRef
}

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

func (r *resolver) fitEnum(what string, t *idl.Type, v *idl.Value, pos idl.Pos) {
	if ev := r.enums[t.Enum].byNumber[int32(v.Int)]; v.Kind == idl.IntValue && ev != nil && int64(ev.Value) == v.Int {
		v.Enum, v.EnumValue = t.Enum, ev
		return
	}
	r.found.errorf(r.file, pos, "%s: enum %s has no value %s", what, t.Enum.Name, v)
}

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
			r.fit(what+"."+f.Name, f.Type, e.Value, at)
		}
	}
}

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
