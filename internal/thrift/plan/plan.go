package plan

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// A Plan is a struct type, ready to be encoded and decoded: what shape knows of it,
// and what Thrift adds. It is constant once plans has returned it.
//
// The tag of a field is its header as it is on the wire: the type, then the id in two
// bytes.
type Plan struct {
	shape.Struct // the first field: planAt

	byID   []uint16       // index into Fields plus one, for ids below len(byID)
	others map[uint16]int // index into Fields plus one, for the rest; nil if there is no rest
	made   uintptr        // itab of *struct as a generated; 0: no generated methods

	Runs  []run    // of Fields, for the typed skip
	runAt []uint32 // index plus one of the run that begins with a field
	Plain bool     // no field has fields or elements

	Shown    *Plan   // of a view: the struct that it shows; such a plan has no fields
	lazyAt   uintptr // of a view: offset of its Lazy
	How      Views   // and how it is treated
	HasViews bool    // is a view, or has one within that is in no container
}

// At gives the plan that a Struct of plans is a part of; nil gives nil.
func At(s *shape.Struct) *Plan {
	// Safety: rules.New has made it as the first field of a plan.
	return (*Plan)(unsafe.Pointer(s))
}

// Memo remembers the plans of all types that were used. It is the one piece of
// package state: a plan depends on its type only. A zero Binary could not carry it.
var Memo = shape.Memo{Rules: rules{}}

// Of gives the plan for msg, a pointer to a struct, and that pointer. An error is a
// *TypeError.
func Of(msg any) (*Plan, unsafe.Pointer, error) {
	p := shape.Data(msg)
	if s := Memo.Known(msg); s != nil && p != nil {
		return At(s), p, nil
	}
	return ofSlow(msg)
}

// ofSlow is Of for what is new, or no message.
func ofSlow(msg any) (*Plan, unsafe.Pointer, error) {
	s, p, err := Memo.Of(msg)
	if err != nil {
		return nil, nil, typeError(err)
	}
	return At(s), p, nil
}

// typeError makes an error of shape one of this package's.
func typeError(err error) error {
	if e, ok := errors.AsType[*shape.TypeError](err); ok {
		return &TypeError{Type: e.Type, Field: e.Field, Why: e.Why}
	}
	return err
}

// Wires are the types that kinds have on the wire; 0: they have none. That of a Pointer
// is its element's.
var Wires = [256]raw.Type{
	shape.Bool: raw.TypeBool, shape.Int8: raw.TypeI8, shape.Int16: raw.TypeI16, shape.Int32: raw.TypeI32, shape.Int64: raw.TypeI64,
	shape.Float64: raw.TypeDouble, shape.UUID: raw.TypeUUID, shape.String: raw.TypeString, shape.Bytes: raw.TypeString,
	shape.Ref: raw.TypeStruct, shape.Union: raw.TypeStruct, shape.List: raw.TypeList, shape.Set: raw.TypeSet, shape.Map: raw.TypeMap, shape.Pairs: raw.TypeMap,
}

// WireOf is the type of a field on the wire.
func WireOf(f *shape.Field) raw.Type { return raw.Type(f.Tag >> 16) }

// maxDense is the largest id that is found by indexing.
const maxDense = 1024

// Find gives the field for a header that is not the predicted one, and the
// index after it; nil for a field that the struct does not have, or has with
// another type.
func (pl *Plan) Find(head uint32) (*shape.Field, int) {
	i := 0
	if id := uint16(head); int(id) < len(pl.byID) {
		i = int(pl.byID[id])
	} else if pl.others != nil {
		i = pl.others[id]
	}
	if i == 0 || pl.Fields[i-1].Tag != head {
		return nil, 0
	}
	return &pl.Fields[i-1], i
}

// index makes fields findable by id.
func (pl *Plan) index() {
	pl.makeRuns()
	top := -1
	for _, f := range pl.Fields {
		if id := int(int16(f.Tag)); id <= maxDense {
			top = max(top, id)
		}
	}
	pl.byID = make([]uint16, top+1)
	for i, f := range pl.Fields {
		if id := uint16(f.Tag); int(id) <= top {
			pl.byID[id] = uint16(i + 1)
			continue
		}
		if pl.others == nil {
			pl.others = map[uint16]int{}
		}
		pl.others[uint16(f.Tag)] = i + 1
	}
}

// rules are what Thrift adds to Go's types.
type rules struct{}

var _ shape.Rules = rules{}

// New implements [shape.Rules].
func (rules) New(rt reflect.Type) *shape.Struct {
	pl := &Plan{}
	if g := reflect.TypeFor[generated](); viewed(rt) == nil && reflect.PointerTo(rt).Implements(g) {
		pl.made = shape.Itab(g, reflect.PointerTo(rt))
	}
	return &pl.Struct
}

// View implements [shape.Rules].
func (rules) View(rt reflect.Type) (of reflect.Type, view func(*shape.Struct) shape.View) {
	return viewed(rt), func(s *shape.Struct) shape.View {
		pl := At(s)
		lazy := s.Go.Field(1)
		viewer, _ := reflect.TypeAssert[Viewer](reflect.New(lazy.Type))
		pl.lazyAt, pl.HasViews, pl.How = lazy.Offset, true, viewer.ThriftViews()
		return pl.How.Lens(pl)
	}
}

// Field implements [shape.Rules].
func (rules) Field(f reflect.StructField) (spec shape.Spec, err error) {
	tag, ok := f.Tag.Lookup("thrift")
	tagged := ok && tag != "-"
	if why := embeds(f, tagged); why != "" {
		return spec, errors.New(why)
	}
	switch {
	case ours(f.Type, "Unknown") && tag != "-" && f.IsExported():
		spec.Is = shape.KeptField
		if tag != "" && tag != ",unknown" {
			err = errors.New("a field of type thrift.Unknown has no tag, or `,unknown`")
		}
	case tagged && f.IsExported():
		spec, err = parseTag(tag)
		spec.Is = shape.IDLField
	}
	return spec, err
}

// Kind implements [shape.Rules].
func (rules) Kind(rt reflect.Type, k shape.Kind) shape.Kind {
	switch {
	case k != shape.List && k != shape.Bytes:
	case ours(rt, "Pairs["):
		return shape.Pairs
	case ours(rt, "Set["):
		return shape.Set
	}
	if Wires[k] == raw.TypeStop {
		return shape.None
	}
	return k
}

// Words implements [shape.Rules].
func (rules) Words() shape.Words {
	return shape.Words{IDL: "Thrift", Pairs: "thrift.Pairs", Kept: "thrift.Unknown"}
}

// Tag implements [shape.Rules].
func (rules) Tag(id int, t *shape.Type) uint32 {
	if t.Kind == shape.Pointer {
		t = t.Elem
	}
	return uint32(Wires[t.Kind])<<16 | uint32(uint16(id))
}

// Complete implements [shape.Rules].
func (rules) Complete(fresh []*shape.Struct) {
	for _, s := range fresh {
		pl := At(s)
		if pl.Shown = At(s.Of); pl.Shown == nil {
			pl.index()
		}
	}
	findViews(fresh)
}

// Whole implements [shape.Rules].
func (rules) Whole(kept []byte, depth int) bool { return whole(kept, depth) }

// Most implements [shape.Rules].
func (rules) Most() (depth, size int) { return DefaultDepth, raw.MaxSize }

// ours tells whether rt is the type of package thrift with that name, or one of those
// that begin with it: an instance of a generic type. They are told by their names since
// this package is below that one.
func ours(rt reflect.Type, name string) bool {
	const face = "github.com/limosa-rpc/limosa/thrift"
	if strings.HasSuffix(name, "[") {
		return rt.PkgPath() == face && strings.HasPrefix(rt.Name(), name)
	}
	return rt.PkgPath() == face && rt.Name() == name
}

// embeds says why a field may not be embedded: its methods would stand for the
// whole struct, or its fields would be lost. field: it is a field of Thrift's itself.
func embeds(f reflect.StructField, field bool) string {
	if !f.Anonymous {
		return ""
	}
	for _, methods := range []reflect.Type{reflect.TypeFor[generated](), reflect.TypeFor[defaulter](), reflect.TypeFor[Viewer]()} {
		if f.Type.Implements(methods) || reflect.PointerTo(f.Type).Implements(methods) {
			return "embeds " + f.Type.String() + ", whose methods would stand for the whole struct: give the field a name"
		}
	}
	if !field && tagged(f.Type) && f.Tag.Get("thrift") != "-" {
		return "embeds " + f.Type.String() + ", whose fields would be lost: give the field a name and a tag"
	}
	return ""
}

// A defaulter is a generated struct with default values.
type defaulter interface{ SetDefaults() }

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

// parseTag reads `name,id` and `name,id,required`, optional or default.
func parseTag(tag string) (spec shape.Spec, err error) {
	parts := strings.Split(tag, ",")
	if len(parts) < 2 || len(parts) > 3 {
		return spec, fmt.Errorf("the tag %q is not `name,id` or `name,id,required` or `name,id,optional`", tag)
	}
	id, err := strconv.ParseInt(parts[1], 10, 16)
	if err != nil {
		return spec, fmt.Errorf("the tag %q has no id between -32768 and 32767", tag)
	}
	spec.Name, spec.ID = parts[0], int(id)
	if len(parts) == 3 {
		switch parts[2] {
		case "required":
			spec.Rule = shape.Required
		case "optional":
			spec.Rule = shape.Free
		case "", "default":
		default:
			return spec, fmt.Errorf("the tag %q says neither required nor optional", tag)
		}
	}
	return spec, nil
}
