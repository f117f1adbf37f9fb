package idl

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

func sortByPos(list []named) {
	slices.SortStableFunc(list, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.pos.Line, b.pos.Line), cmp.Compare(a.pos.Col, b.pos.Col))
	})
}

// values checks every constant and default of f against its type.
func (r *resolver) values(f *File) {
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
func (r *resolver) constant(c *Const) {
	if r.fitted[c] {
		return
	}
	r.fitted[c] = true
	file := r.file
	r.file = c.File
	r.fit(c.Name, c.Type, c.Value, Pos{})
	r.file = file
}

func (r *resolver) defaults(list []*Field) {
	for _, f := range list {
		if f.Default != nil {
			r.fit(f.Name, f.Type, f.Default, Pos{})
		}
	}
}

var intBits = map[Kind]uint{I8: 8, I16: 16, I32: 32, I64: 64}

// fit checks that v can be the value of a t; what says whose value it is. at
// is the place for errors when v is another constant's value, else zero.
func (r *resolver) fit(what string, t *Type, v *Value, at Pos) {
	t = t.True()
	pos := at
	if pos == (Pos{}) {
		pos = v.Pos
	}
	wrong := func() {
		r.found.errorf(r.file, pos, "%s is of type %s: %s does not fit", what, t, v)
	}
	if v.Kind == NameValue {
		r.fitName(what, t, v, pos)
		return
	}
	switch t.Kind {
	case Bool:
		if v.Kind != IntValue {
			wrong()
		}
	case I8, I16, I32, I64:
		bits := intBits[t.Kind]
		if v.Kind != IntValue || v.Int < math.MinInt64>>(64-bits) || v.Int > math.MaxInt64>>(64-bits) {
			wrong()
		}
	case Double:
		if v.Kind == DoubleValue {
			if _, err := strconv.ParseFloat(v.Text, 64); err != nil {
				wrong()
			}
		} else if v.Kind != IntValue {
			wrong()
		}
	case String, Binary:
		if v.Kind != StringValue {
			wrong()
		}
	case UUID:
		if _, ok := v.UUID(); !ok {
			wrong()
		}
	case EnumRef:
		r.fitEnum(what, t, v, pos)
	case List, Set:
		r.fitList(what, t, v, at, wrong)
	case Map:
		r.fitMap(what, t, v, at, wrong)
	case StructRef:
		r.fitStruct(what, t, v, at, wrong)
	}
}

// fitName checks a value that is another constant or an enum's value.
func (r *resolver) fitName(what string, t *Type, v *Value, pos Pos) {
	c, e, ev := lookup(r.file, v.Text)
	first, second := bothHave(r.file, v.Text)
	switch {
	case second != nil:
		r.found.errorf(r.file, pos, "%s: %s is in %s and in %s, which are included under one name", what, v.Text, first.Path, second.Path)
	case ev != nil && t.Kind == EnumRef && t.Enum != e:
		if same := t.Enum.byName[ev.Name]; same != nil {
			// Apache's compiler looks at the part behind the dot only.
			r.found.warnf(r.file, pos, "%s is a value of %s; %s.%s is taken", v.Text, e.Name, t.Enum.Name, same.Name)
			v.Enum, v.EnumValue = t.Enum, same
			return
		}
		r.found.errorf(r.file, pos, "%s is of type %s: %s is a value of enum %s", what, t, v.Text, e.Name)
	case ev != nil && t.Kind == EnumRef:
		v.Enum, v.EnumValue = e, ev
	case ev != nil:
		v.Enum, v.EnumValue = e, ev
		r.fit(what, t, &Value{Kind: IntValue, Int: int64(ev.Value), Pos: v.Pos}, pos)
	case c != nil:
		r.fitConst(what, t, v, c, pos)
	case t.Kind == EnumRef:
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
func (r *resolver) fitConst(what string, t *Type, v *Value, c *Const, pos Pos) {
	v.Const = c
	own := c.Type.True()
	for range maxChain + 1 { // constCycles reports what is longer, or a circle
		switch next, _, ev := lookup(c.File, c.Value.Text); {
		case own.Kind == EnumRef && !byType(t):
			r.fitEnumConst(what, t, c, pos)
			return
		case byType(own) || byType(t):
			if !r.same.same(own, t) {
				r.found.errorf(r.file, pos, "%s is of type %s: constant %s is of type %s", what, t, c.Name, c.Type)
			}
			return
		case c.Value.Kind != NameValue:
			r.fit(what, t, c.Value, pos)
			return
		case ev != nil:
			r.fit(what, t, &Value{Kind: IntValue, Int: int64(ev.Value)}, pos)
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
func (r *resolver) fitEnumConst(what string, t *Type, c *Const, pos Pos) {
	for range maxChain + 1 {
		r.constant(c)
		switch v := c.Value; {
		case v.EnumValue != nil:
			r.fit(what, t, &Value{Kind: IntValue, Int: int64(v.EnumValue.Value)}, pos)
			return
		case v.Const == nil:
			return // reported where that constant is
		default:
			c = v.Const
		}
	}
}

func byType(t *Type) bool { return containerOrStruct(t) || t.Kind == EnumRef }

// constCycles reports constants that lead back to themselves.
func (r *resolver) constCycles(f *File) {
	for _, c := range f.Consts {
		r.file = f
		r.follow(c, 0)
	}
}

// follow walks along what c refers to. done holds the constants that are known
// to end; one that is in it with false is being walked.
func (r *resolver) follow(c *Const, depth int) {
	ended, seen := r.done[c]
	switch {
	case ended:
		return
	case seen:
		r.found.errorf(c.File, c.Pos, "constant %s leads back to itself", c.Name)
		return
	case depth > maxChain:
		r.found.errorf(c.File, c.Pos, "constant %s is used through more than %d others", c.Name, maxChain)
		return
	}
	r.done[c] = false
	r.followValue(c.Value, depth)
	r.done[c] = true
}

func (r *resolver) followValue(v *Value, depth int) {
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

func containerOrStruct(t *Type) bool {
	return t.Kind == List || t.Kind == Set || t.Kind == Map || t.Kind == StructRef
}

func (r *resolver) unknownEnumValue(what string, t *Type, v *Value, pos Pos) {
	name := v.Text[strings.LastIndexByte(v.Text, '.')+1:]
	same := t.Enum.byName[name]
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

func (r *resolver) fitEnum(what string, t *Type, v *Value, pos Pos) {
	if ev := t.Enum.byNumber[int32(v.Int)]; v.Kind == IntValue && ev != nil && int64(ev.Value) == v.Int {
		v.Enum, v.EnumValue = t.Enum, ev
		return
	}
	r.found.errorf(r.file, pos, "%s: enum %s has no value %s", what, t.Enum.Name, v)
}

func (r *resolver) fitList(what string, t *Type, v *Value, at Pos, wrong func()) {
	if v.Kind == MapValue && len(v.Map) == 0 {
		return // ThriftTest writes "set<binary> s = {}"
	}
	if v.Kind != ListValue {
		wrong()
		return
	}
	for _, x := range v.List {
		r.fit(what, t.Elem, x, at)
	}
}

func (r *resolver) fitMap(what string, t *Type, v *Value, at Pos, wrong func()) {
	if v.Kind == ListValue && len(v.List) == 0 {
		return
	}
	if v.Kind != MapValue {
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
		if seen[key] && at == (Pos{}) {
			r.found.errorf(r.file, e.Key.Pos, "%s has the key %s twice", what, e.Key)
		}
		seen[key] = true
	}
}

func (r *resolver) fitStruct(what string, t *Type, v *Value, at Pos, wrong func()) {
	if v.Kind != MapValue {
		wrong()
		return
	}
	seen := map[string]bool{}
	for i, e := range v.Map {
		pos := at
		if pos == (Pos{}) {
			pos = e.Key.Pos
		}
		f := t.Struct.field(e.Key.Text)
		switch {
		case e.Key.Kind != StringValue:
			r.found.errorf(r.file, pos, "%s is of type %s: its fields are named by strings", what, t)
		case f == nil:
			r.found.errorf(r.file, pos, "%s: %s %s has no field %q", what, t.Struct.Kind, t.Struct.Name, e.Key.Text)
		case seen[f.Name]:
			r.found.errorf(r.file, pos, "%s has the field %s twice", what, f.Name)
		case t.Struct.Kind == Union && i > 0:
			r.found.errorf(r.file, pos, "%s: only one field of union %s can be set", what, t.Struct.Name)
		default:
			seen[f.Name] = true
			r.fit(what+"."+f.Name, f.Type, e.Value, at)
		}
	}
}

// field finds a field by name; nil if there is none.
func (s *Struct) field(name string) *Field {
	if s.byName == nil {
		s.byName = make(map[string]*Field, len(s.Fields))
		for _, f := range s.Fields {
			if s.byName[f.Name] == nil {
				s.byName[f.Name] = f
			}
		}
	}
	return s.byName[name]
}

// UUID reads a uuid's text, with or without curly brackets.
func (v *Value) UUID() (id [16]byte, ok bool) {
	s := v.Text
	if v.Kind != StringValue {
		return id, false
	}
	if len(s) == 38 && s[0] == '{' && s[37] == '}' {
		s = s[1:37]
	}
	if len(s) != 36 {
		return id, false
	}
	n := 0
	for i := 0; i < 36; i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return id, false
			}
			continue
		}
		b, err := strconv.ParseUint(s[i:i+1], 16, 8)
		if err != nil {
			return id, false
		}
		id[n/2] |= byte(b) << (4 * (1 - n%2))
		n++
	}
	return id, true
}

// String gives the value roughly as a file would write it.
func (v *Value) String() string {
	switch v.Kind {
	case IntValue:
		return strconv.FormatInt(v.Int, 10)
	case StringValue:
		return strconv.Quote(v.Text)
	case ListValue:
		parts := make([]string, len(v.List))
		for i, x := range v.List {
			parts[i] = x.String()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case MapValue:
		parts := make([]string, len(v.Map))
		for i, e := range v.Map {
			parts[i] = fmt.Sprintf("%s: %s", e.Key, e.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return v.Text
}
