package thrift

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unsafe"
)

const (
	// maxSlab bounds how many structs of a list one allocation holds, and
	// slabBytes its size: a struct that is kept pins its slab.
	maxSlab   = 64
	slabBytes = 16 << 10
	// maxDense is the largest id that is found by indexing.
	maxDense = 1024
)

// slabOf is how many structs of that size a slab has at most.
func slabOf(size int) int { return min(maxSlab, max(1, slabBytes/max(size, 1))) }

// A compiler makes the plans of one struct and of all that it refers to. plans
// and types are filled in before what they refer to is compiled, for types that
// refer to themselves.
type compiler struct {
	known map[reflect.Type]*plan // from earlier runs
	plans map[reflect.Type]*plan
	types map[reflect.Type]*typ
	// unions are looked at in the end: their variants may be unfinished before.
	unions []*typ
}

func (c *compiler) plan(rt reflect.Type) (*plan, error) {
	if pl := c.known[rt]; pl != nil {
		return pl, nil
	}
	if pl := c.plans[rt]; pl != nil {
		return pl, nil
	}
	if uint64(rt.Size()) > math.MaxUint32 {
		return nil, &TypeError{Type: rt, Why: "the struct is too large"}
	}
	pl := &plan{rt: rt, size: int(rt.Size()), slices: reflect.SliceOf(rt)}
	c.plans[rt] = pl
	if of := viewed(rt); of != nil {
		return pl, c.view(pl, of)
	}
	pl.slab = slabOf(pl.size)
	if d := reflect.TypeFor[defaulter](); reflect.PointerTo(rt).Implements(d) {
		pl.preset = itab(d, reflect.PointerTo(rt))
	}
	if g := reflect.TypeFor[generated](); reflect.PointerTo(rt).Implements(g) {
		pl.made = itab(g, reflect.PointerTo(rt))
	}
	byID := map[int16]string{}
	for i := range rt.NumField() {
		f := rt.Field(i)
		tag, ok := f.Tag.Lookup("thrift")
		if why := embeds(f, ok && tag != "-"); why != "" {
			return nil, &TypeError{Type: rt, Field: f.Name, Why: why}
		}
		if f.Type == reflect.TypeFor[Unknown]() && tag != "-" && f.IsExported() {
			if err := pl.addUnknown(f, tag); err != nil {
				return nil, err
			}
			pl.addStretch(f, true)
			continue
		}
		if !ok || tag == "-" || !f.IsExported() {
			pl.addStretch(f, false)
			continue
		}
		pl.addStretch(f, true)
		id, need, err := parseTag(tag)
		if err != nil {
			return nil, &TypeError{Type: rt, Field: f.Name, Why: err.Error()}
		}
		if twin, ok := byID[id]; ok {
			return nil, &TypeError{Type: rt, Field: f.Name, Why: fmt.Sprintf("id %d is also that of %s", id, twin)}
		}
		byID[id] = f.Name
		t, err := c.field(rt, f)
		if err != nil {
			return nil, err
		}
		pl.add(id, f, need, t)
	}
	pl.index()
	return pl, nil
}

// embeds says why a field may not be embedded: its methods would stand for the
// whole struct, or its fields would be lost. field: it is a field of Thrift's itself.
func embeds(f reflect.StructField, field bool) string {
	if !f.Anonymous {
		return ""
	}
	for _, methods := range []reflect.Type{reflect.TypeFor[generated](), reflect.TypeFor[defaulter](), reflect.TypeFor[aLazy]()} {
		if f.Type.Implements(methods) || reflect.PointerTo(f.Type).Implements(methods) {
			return "embeds " + f.Type.String() + ", whose methods would stand for the whole struct: give the field a name"
		}
	}
	if !field && tagged(f.Type) && f.Tag.Get("thrift") != "-" {
		return "embeds " + f.Type.String() + ", whose fields would be lost: give the field a name and a tag"
	}
	return ""
}

// tagged tells whether a struct, or a pointer to one, has fields of Thrift's, its
// own or embedded ones. A struct that embeds a pointer to itself has no other fields by
// that: one level of pointers is looked at.
func tagged(rt reflect.Type) bool {
	if rt.Kind() == reflect.Pointer {
		rt = rt.Elem()
	}
	if rt.Kind() != reflect.Struct {
		return false
	}
	for i := range rt.NumField() {
		f := rt.Field(i)
		if tag, ok := f.Tag.Lookup("thrift"); ok && tag != "-" {
			return true
		}
		if f.Anonymous && f.Type.Kind() == reflect.Struct && tagged(f.Type) {
			return true
		}
	}
	return false
}

// add appends a field.
func (pl *plan) add(id int16, f reflect.StructField, n need, t *typ) {
	o := op{offset: uint32(f.Offset), kind: t.kind, need: n, name: uint16(len(pl.names)), t: t}
	o.head = uint32(t.wire)<<16 | uint32(uint16(id))
	if n == required {
		if pl.bits == math.MaxUint64 {
			pl.wide = true
		} else {
			o.bit = pl.bits + 1
			pl.bits |= o.bit
		}
	}
	pl.ops = append(pl.ops, o)
	pl.names = append(pl.names, f.Name)
	name, _, _ := strings.Cut(f.Tag.Get("thrift"), ",")
	pl.said = append(pl.said, cmp.Or(name, f.Name))
}

// index makes fields findable by id.
func (pl *plan) index() {
	pl.makeRuns()
	top := -1
	for _, o := range pl.ops {
		if id := int(int16(o.head)); id <= maxDense {
			top = max(top, id)
		}
	}
	pl.byID = make([]uint16, top+1)
	for i, o := range pl.ops {
		if id := uint16(o.head); int(id) <= top {
			pl.byID[id] = uint16(i + 1)
			continue
		}
		if pl.others == nil {
			pl.others = map[uint16]int{}
		}
		pl.others[uint16(o.head)] = i + 1
	}
}

// parseTag reads `name,id` and `name,id,required`, optional or default.
func parseTag(tag string) (id int16, n need, err error) {
	parts := strings.Split(tag, ",")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, 0, fmt.Errorf("the tag %q is not `name,id` or `name,id,required` or `name,id,optional`", tag)
	}
	wide, err := strconv.ParseInt(parts[1], 10, 16)
	if err != nil {
		return 0, 0, fmt.Errorf("the tag %q has no id between -32768 and 32767", tag)
	}
	if len(parts) == 3 {
		switch parts[2] {
		case "required":
			n = required
		case "optional":
			n = optional
		case "", "default":
		default:
			return 0, 0, fmt.Errorf("the tag %q says neither required nor optional", tag)
		}
	}
	return int16(wide), n, nil
}

// field finds the type of a struct's field, which unlike an element may be a
// pointer to a scalar.
func (c *compiler) field(rt reflect.Type, f reflect.StructField) (*typ, error) {
	if ft := f.Type; ft.Kind() == reflect.Pointer && ft.Elem().Kind() != reflect.Struct {
		elem, err := c.typ(ft.Elem())
		if err == nil && elem.kind > kString {
			err = errUnmappable
		}
		if err != nil {
			return nil, c.blame(err, rt, f)
		}
		return &typ{kind: kPointer, wire: elem.wire, size: int(ft.Size()), rt: ft, elem: elem}, nil
	}
	t, err := c.typ(f.Type)
	if err != nil {
		return nil, c.blame(err, rt, f)
	}
	return t, nil
}

// errUnmappable stands for a type that the field at hand is blamed for.
const errUnmappable = unmappable("")

type unmappable string

func (u unmappable) Error() string { return string(u) }

func (c *compiler) blame(err error, rt reflect.Type, f reflect.StructField) error {
	u, ok := err.(unmappable)
	if !ok {
		return err // an inner struct is to blame
	}
	why := "the type " + f.Type.String() + " has no Thrift type"
	if u != "" {
		why = string(u)
	}
	return &TypeError{Type: rt, Field: f.Name, Why: why}
}

// typ maps a Go type.
func (c *compiler) typ(rt reflect.Type) (*typ, error) {
	if t := c.types[rt]; t != nil {
		return t, nil
	}
	t := &typ{rt: rt, size: int(rt.Size())}
	c.types[rt] = t
	switch rt.Kind() {
	case reflect.Bool:
		t.kind, t.wire = kBool, TypeBool
	case reflect.Int8:
		t.kind, t.wire = k1, TypeI8
	case reflect.Int16:
		t.kind, t.wire = k2, TypeI16
	case reflect.Int32:
		t.kind, t.wire = k4, TypeI32
	case reflect.Int64:
		t.kind, t.wire = k8, TypeI64
	case reflect.Float64:
		t.kind, t.wire = k8, TypeDouble
	case reflect.String:
		t.kind, t.wire = kString, TypeString
	case reflect.Array:
		if rt.Len() != 16 || rt.Elem().Kind() != reflect.Uint8 {
			return nil, errUnmappable
		}
		t.kind, t.wire = kUUID, TypeUUID
	case reflect.Pointer:
		if rt.Elem().Kind() != reflect.Struct {
			return nil, unmappable("a pointer to " + rt.Elem().String() + " can only be a field")
		}
		t.kind, t.wire = kStruct, TypeStruct
		return t, c.fill(&t.plan, rt.Elem())
	case reflect.Struct:
		return nil, unmappable("a struct is referred to by a pointer: *" + rt.String())
	case reflect.Interface:
		t.kind, t.wire = kUnion, TypeStruct
		return t, c.union(t)
	case reflect.Slice:
		return t, c.slice(t)
	case reflect.Map:
		t.kind, t.wire = kMap, TypeMap
		return t, c.pair(t, rt.Key(), rt.Elem())
	default:
		return nil, errUnmappable
	}
	return t, nil
}

func (c *compiler) fill(into **plan, rt reflect.Type) (err error) {
	*into, err = c.plan(rt)
	return err
}

func (c *compiler) slice(t *typ) (err error) {
	e := t.rt.Elem()
	switch {
	case t.rt.Implements(reflect.TypeFor[interface{ pairs() }]()):
		t.kind, t.wire, t.pair, t.pairAt = kPairs, TypeMap, e, e.Field(1).Offset
		return c.pair(t, e.Field(0).Type, e.Field(1).Type)
	case t.rt.Implements(reflect.TypeFor[interface{ set() }]()):
		t.kind, t.wire = kList, TypeSet
	case e.Kind() == reflect.Uint8:
		t.kind, t.wire = kBytes, TypeString
		return nil
	default:
		t.kind, t.wire = kList, TypeList
	}
	if t.elem, err = c.typ(e); err == nil {
		err = notInside(t.elem)
	}
	return err
}

func (c *compiler) pair(t *typ, key, value reflect.Type) (err error) {
	if t.key, err = c.typ(key); err != nil {
		return err
	}
	if t.elem, err = c.typ(value); err != nil {
		return err
	}
	if err = cmp.Or(notInside(t.key), notInside(t.elem)); err != nil {
		return err
	}
	if t.kind == kMap {
		if t.key.kind > kString {
			return unmappable("a map's key cannot be " + key.String() + ": use thrift.Pairs")
		}
		t.maps = mapKindOf(t.key, t.elem)
	}
	return nil
}

// union finds the variants of a sealed interface: the parameters of its one
// method, each a pointer to a struct with one field. Where they are many the
// method has one parameter, a function type whose parameters they are.
func (c *compiler) union(t *typ) error {
	// A union without variants has only its unset value, nil; its method cannot be
	// that of other packages' types.
	if t.rt.NumMethod() != 1 || t.rt.Method(0).Type.NumIn() == 0 && (t.rt.Method(0).PkgPath == "" || t.rt.Method(0).Type.NumOut() > 0) {
		return unmappable("the interface " + t.rt.String() + " is no union: it needs one method, whose parameters are its variants")
	}
	c.unions = append(c.unions, t)
	m := t.rt.Method(0).Type
	if m.NumIn() == 1 && m.In(0).Kind() == reflect.Func {
		m = m.In(0)
	}
	for i := range m.NumIn() {
		v := m.In(i)
		if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct || !v.Implements(t.rt) {
			return unmappable("the union " + t.rt.String() + " has the variant " + v.String() + ", which is no struct of it")
		}
		pl, err := c.plan(v.Elem())
		if err != nil {
			return err
		}
		t.cases = append(t.cases, variant{itab: itab(t.rt, v), plan: pl})
	}
	return nil
}

// checkUnions looks at the variants when all plans are complete.
func (c *compiler) checkUnions() error {
	for _, t := range c.unions {
		ids := map[uint16]bool{}
		for _, v := range t.cases {
			if len(v.plan.ops) != 1 || v.plan.unknown != 0 {
				return &TypeError{Type: v.plan.rt, Why: "a variant of the union " + t.rt.String() + " has exactly one field"}
			}
			id := uint16(v.plan.ops[0].head)
			if ids[id] {
				return &TypeError{Type: t.rt, Why: "two variants have the id " + strconv.Itoa(int(int16(id)))}
			}
			ids[id] = true
		}
		t.indexCases()
	}
	return nil
}

// itab gives the first word of an interface of type as that holds a ptr.
func itab(as, ptr reflect.Type) uintptr {
	v := reflect.New(as)
	v.Elem().Set(reflect.Zero(ptr))
	// Safety: v points to an interface with methods, whose first word is the
	// itab. The runtime keeps itabs for ever.
	return (*face)(unsafe.Pointer(v.Pointer())).itab
}

// manyCases is how many variants of a union are gone through one by one.
const manyCases = 8

// indexCases makes the variants of a union findable if they are many.
func (t *typ) indexCases() {
	if len(t.cases) <= manyCases {
		return
	}
	t.byHead, t.byItab = map[uint32]int{}, map[uintptr]int{}
	for i, v := range t.cases {
		t.byHead[v.plan.ops[0].head], t.byItab[v.itab] = i, i
	}
}
