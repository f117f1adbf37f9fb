package shape

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unsafe"
)

const (
	// maxSlab bounds how many structs of a list one allocation holds, and
	// slabBytes its size: a struct that is kept pins its slab.
	maxSlab   = 64
	slabBytes = 16 << 10
)

// SlabOf is how many structs of that size one allocation has at most.
func SlabOf(size int) int { return min(maxSlab, max(1, slabBytes/max(size, 1))) }

// A compiler makes the Structs of one type and of all that it refers to. structs
// and types are filled in before what they refer to is compiled, for types that
// refer to themselves.
type compiler struct {
	rules   Rules
	known   map[reflect.Type]*Struct // from earlier runs
	structs map[reflect.Type]*Struct
	order   []*Struct // the same
	types   map[reflect.Type]*Type
	// unions are looked at in the end: their variants may be unfinished before.
	unions []*Type
}

// structure makes the Struct of rt, or gives the one that is there. It is entered into
// structs before its fields are looked at: a field may lead back to it, and then refers to
// what is not finished yet.
func (c *compiler) structure(rt reflect.Type) (*Struct, error) {
	if s := c.known[rt]; s != nil {
		return s, nil
	}
	if s := c.structs[rt]; s != nil {
		return s, nil
	}
	if uint64(rt.Size()) > math.MaxUint32 {
		return nil, &TypeError{Type: rt, Why: "the struct is too large"}
	}
	s := c.rules.New(rt)
	s.Go, s.Size, s.Slices, s.rules, s.Title = rt, int(rt.Size()), reflect.SliceOf(rt), c.rules, rt.Name()
	c.structs[rt], c.order = s, append(c.order, s)
	if of, view := c.rules.View(rt); of != nil {
		s.View = view(s)
		return s, c.fill(&s.Of, of)
	}
	s.Slab = SlabOf(s.Size)
	if d := reflect.TypeFor[Defaulter](); reflect.PointerTo(rt).Implements(d) {
		s.preset = Itab(d, reflect.PointerTo(rt))
	}
	byID := map[int]string{}
	for i := range rt.NumField() {
		f := rt.Field(i)
		spec, err := c.rules.Field(f)
		if err != nil {
			return nil, &TypeError{Type: rt, Field: f.Name, Why: err.Error()}
		}
		s.addStretch(f, spec.Is != NoField)
		switch spec.Is {
		case NoField:
			continue
		case KeptField:
			if s.unknown != 0 {
				return nil, &TypeError{Type: rt, Field: f.Name, Why: "there is one field of type " + c.rules.Words().Kept + " already"}
			}
			s.unknown = f.Offset + 1
			continue
		}
		if twin, ok := byID[spec.ID]; ok {
			return nil, &TypeError{Type: rt, Field: f.Name, Why: fmt.Sprintf("id %d is also that of %s", spec.ID, twin)}
		}
		byID[spec.ID] = f.Name
		t, err := c.field(rt, f)
		if err != nil {
			return nil, err
		}
		s.add(f, spec, c.rules.Tag(spec.ID, t), t)
	}
	return s, nil
}

// add appends a field.
func (s *Struct) add(f reflect.StructField, spec Spec, tag uint32, t *Type) {
	x := Field{Tag: tag, Offset: uint32(f.Offset), Kind: t.Kind, Index: uint16(len(s.Fields)), Rule: spec.Rule, Type: t}
	switch {
	case t.Kind == Pointer:
		x.Presence = Optional
	case t.Kind == Ref, t.Kind == Union, t.Kind >= Bytes && spec.Rule == Free:
		x.Presence = Nilable
	case spec.Zero:
		x.Presence = Zero
	}
	if spec.Rule == Required {
		if s.Bits == math.MaxUint64 {
			s.Wide = true
		} else {
			x.Bit = s.Bits + 1
			s.Bits |= x.Bit
		}
	}
	s.Fields = append(s.Fields, x)
	s.Names = append(s.Names, Name{Go: f.Name, IDL: cmp.Or(spec.Name, f.Name), ID: spec.ID})
}

// field finds the type of a struct's field, which unlike an element may be a
// pointer to a scalar.
func (c *compiler) field(rt reflect.Type, f reflect.StructField) (*Type, error) {
	if ft := f.Type; ft.Kind() == reflect.Pointer && ft.Elem().Kind() != reflect.Struct {
		elem, err := c.typ(ft.Elem())
		if err == nil && elem.Kind > String {
			err = errUnmappable
		}
		if err != nil {
			return nil, c.blame(err, rt, f)
		}
		return &Type{Kind: Pointer, Size: int(ft.Size()), Go: ft, Elem: elem}, nil
	}
	t, err := c.typ(f.Type)
	if err != nil {
		return nil, c.blame(err, rt, f)
	}
	return t, nil
}

// errUnmappable stands for a type that the field at hand is blamed for.
const errUnmappable = unmappable("")

// unmappable is why a type cannot be in a message, until the field that has it is known.
type unmappable string

func (u unmappable) Error() string { return string(u) }

// blame names the field f of rt in an error that does not know where it is.
func (c *compiler) blame(err error, rt reflect.Type, f reflect.StructField) error {
	u, ok := err.(unmappable)
	if !ok {
		return err // an inner struct is to blame
	}
	why := "the type " + f.Type.String() + " has no " + c.rules.Words().IDL + " type"
	if u != "" {
		why = string(u)
	}
	return &TypeError{Type: rt, Field: f.Name, Why: why}
}

// kinds are the kinds by layout of what needs no closer look.
var kinds = [...]Kind{
	reflect.Bool: Bool, reflect.Int8: Int8, reflect.Int16: Int16, reflect.Int32: Int32, reflect.Int64: Int64,
	reflect.Uint32: Uint32, reflect.Uint64: Uint64, reflect.Float32: Float32, reflect.Float64: Float64, reflect.String: String,
	reflect.Slice: List, reflect.Map: Map, reflect.Interface: Union, reflect.UnsafePointer: None,
}

// kindOf is what rt is by its layout; None: it can be in no message.
func kindOf(rt reflect.Type) Kind {
	switch {
	case rt.Kind() == reflect.Array && rt.Len() == 16 && rt.Elem().Kind() == reflect.Uint8:
		return UUID
	case rt.Kind() == reflect.Slice && rt.Elem().Kind() == reflect.Uint8:
		return Bytes
	case rt.Kind() == reflect.Pointer && rt.Elem().Kind() == reflect.Struct:
		return Ref
	}
	return kinds[rt.Kind()]
}

// typ maps a Go type.
func (c *compiler) typ(rt reflect.Type) (*Type, error) {
	if t := c.types[rt]; t != nil {
		return t, nil
	}
	t := &Type{Go: rt, Size: int(rt.Size())}
	c.types[rt] = t
	switch rt.Kind() {
	case reflect.Pointer:
		if rt.Elem().Kind() != reflect.Struct {
			return nil, unmappable("a pointer to " + rt.Elem().String() + " can only be a field")
		}
	case reflect.Struct:
		return nil, unmappable("a struct is referred to by a pointer: *" + rt.String())
	}
	if t.Kind = kindOf(rt); t.Kind != None {
		t.Kind = c.rules.Kind(rt, t.Kind)
	}
	switch t.Kind {
	case None:
		return nil, errUnmappable
	case Ref:
		return t, c.fill(&t.Struct, rt.Elem())
	case Union:
		return t, c.union(t)
	case List, Set:
		return t, c.list(t)
	case Pairs:
		pair := rt.Elem()
		t.Pair, t.ValueAt = pair, pair.Field(1).Offset
		return t, c.pair(t, pair.Field(0).Type, pair.Field(1).Type)
	case Map:
		return t, c.pair(t, rt.Key(), rt.Elem())
	}
	return t, nil
}

// fill is structure for a place that is to hold the result.
func (c *compiler) fill(into **Struct, rt reflect.Type) (err error) {
	*into, err = c.structure(rt)
	return err
}

// list finds the type of the elements of a list or set.
func (c *compiler) list(t *Type) (err error) {
	if t.Elem, err = c.typ(t.Go.Elem()); err == nil {
		err = notInside(t.Elem)
	}
	return err
}

// pair finds the types of a map's or of Pairs' keys and values. Go's maps compare keys with ==,
// so that only kinds up to String can be keys; Pairs take any.
func (c *compiler) pair(t *Type, key, value reflect.Type) (err error) {
	if t.Key, err = c.typ(key); err != nil {
		return err
	}
	if t.Elem, err = c.typ(value); err != nil {
		return err
	}
	if err = cmp.Or(notInside(t.Key), notInside(t.Elem)); err != nil {
		return err
	}
	if t.Kind == Map {
		if t.Key.Kind > String {
			return unmappable("a map's key cannot be " + key.String() + ": use " + c.rules.Words().Pairs)
		}
		t.Maps = mapLayout(t.Key, t.Elem)
	}
	return nil
}

// notInside refuses views as elements, keys and values.
func notInside(t *Type) error {
	if t.Struct != nil && t.Struct.View != nil {
		return unmappable("a view can only be a message or a field, not " + t.Go.String() + " in a container")
	}
	return nil
}

// union compiles the variants of a sealed interface, each a struct with one field.
func (c *compiler) union(t *Type) error {
	variants, ok := Variants(t.Go)
	if !ok {
		return unmappable("the interface " + t.Go.String() + " is no union: it needs one method, isUnion, whose parameters are its variants (code of an older generator has to be made anew)")
	}
	c.unions = append(c.unions, t)
	for _, v := range variants {
		if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct || !v.Implements(t.Go) {
			return unmappable("the union " + t.Go.String() + " has the variant " + v.String() + ", which is no struct of it")
		}
		s, err := c.structure(v.Elem())
		if err != nil {
			return err
		}
		t.Cases = append(t.Cases, Variant{Itab: Itab(t.Go, v), Struct: s})
	}
	return nil
}

// Variants gives the types that a union may hold: the parameters of the one method of its
// sealed interface. Where they are many the method has one parameter, a function type whose
// parameters they are. A union without variants has only its unset value, nil; its method
// cannot be that of other packages' types. ok: union is such an interface.
//
// The method's name is constant: a look-up by another name, or by a number, has the linker
// keep every exported method of every type in the program, a sixth of a small one.
func Variants(union reflect.Type) (of []reflect.Type, ok bool) {
	if union.Kind() != reflect.Interface || union.NumMethod() != 1 {
		return nil, false
	}
	method, ok := union.MethodByName("isUnion")
	if !ok || method.Type.NumOut() > 0 {
		return nil, false
	}
	m := method.Type
	if m.NumIn() == 1 && m.In(0).Kind() == reflect.Func {
		m = m.In(0)
	}
	for i := range m.NumIn() {
		of = append(of, m.In(i))
	}
	return of, true
}

// checkUnions looks at the variants when all Structs are complete.
func (c *compiler) checkUnions() error {
	for _, t := range c.unions {
		ids := map[int]bool{}
		for _, v := range t.Cases {
			if len(v.Struct.Fields) != 1 || v.Struct.unknown != 0 {
				return &TypeError{Type: v.Struct.Go, Why: "a variant of the union " + t.Go.String() + " has exactly one field"}
			}
			id := v.Struct.Names[0].ID
			if ids[id] {
				return &TypeError{Type: t.Go, Why: "two variants have the id " + strconv.Itoa(id)}
			}
			ids[id] = true
		}
		t.indexCases()
	}
	return nil
}

// Itab gives the first word of an interface of type as that holds a ptr.
func Itab(as, ptr reflect.Type) uintptr {
	v := reflect.New(as)
	v.Elem().Set(reflect.Zero(ptr))
	// Safety: v points to an interface with methods, whose first word is the
	// itab. The runtime keeps itabs for ever.
	return (*Face)(unsafe.Pointer(v.Pointer())).Itab
}
