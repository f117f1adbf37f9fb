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
//
// The sizes of what is kept for a type are those of its fields, which the program has,
// not a peer: a plan is made for Go types only, never for what a message says. So plans
// are not bounded and not forgotten.
type Plan struct {
	shape.Struct // the first field: planAt

	// Finding a field that was not the predicted one. Most ids are small and dense, for
	// which an index is one load; an id of 30,000 would make it 60 KB for one field.
	byID   []uint16       // index into Fields plus one, for ids below len(byID)
	others map[uint16]int // index into Fields plus one, for the rest; nil if there is no rest
	made   uintptr        // itab of *struct as a generated; 0: no generated methods

	// For the typed skip alone: decoding and encoding go through Fields.
	Runs  []run    // of Fields, for the typed skip
	runAt []uint32 // index plus one of the run that begins with a field
	Plain bool     // no field has fields or elements

	// For lazy views; nil and false for all that is none and has none.
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
// It has room for every value of a Kind, so that indexing it takes no check of the
// bounds.
var Wires = [256]raw.Type{
	shape.Bool: raw.TypeBool, shape.Int8: raw.TypeI8, shape.Int16: raw.TypeI16, shape.Int32: raw.TypeI32, shape.Int64: raw.TypeI64,
	shape.Float64: raw.TypeDouble, shape.UUID: raw.TypeUUID, shape.String: raw.TypeString, shape.Bytes: raw.TypeString,
	shape.Ref: raw.TypeStruct, shape.Union: raw.TypeStruct, shape.List: raw.TypeList, shape.Set: raw.TypeSet, shape.Map: raw.TypeMap, shape.Pairs: raw.TypeMap,
}

// WireOf is the type of a field on the wire.
func WireOf(f *shape.Field) raw.Type { return raw.Type(f.Tag >> 16) }

// maxDense is the largest id that is found by indexing.
// Above it the map costs a hash for each field that comes out of order, and nothing for
// one that comes where it is predicted.
const maxDense = 1024

// Find gives the field for a header that is not the predicted one, and the
// index after it; nil for a field that the struct does not have, or has with
// another type.
//
// A field of another type than the struct's is treated as one that is not known, as
// Apache's libraries do: a sender may have changed the type, and what was meant by it
// cannot be told.
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
//
// Negative ids, which IDLs without explicit ids have, are large as uint16 and so go to
// the map.
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

// DefaultDepth is how deeply a message to be encoded may nest unless something else is said.
//
// It is the default of rpc.Limits.Depth too: what is sent by default can be read by
// default.
const DefaultDepth = 64

// rules are what Thrift adds to Go's types.
type rules struct{}

var _ shape.Rules = rules{}

// New implements [shape.Rules].
// A type has generated methods if the pointer to it has them: that is what a message is
// handed over as. Of a view they would be promoted ones, of the Lazy that it embeds.
func (rules) New(rt reflect.Type) *shape.Struct {
	pl := &Plan{}
	if g := reflect.TypeFor[generated](); viewed(rt) == nil && reflect.PointerTo(rt).Implements(g) {
		pl.made = shape.Itab(g, reflect.PointerTo(rt))
	}
	return &pl.Struct
}

// View implements [shape.Rules].
// The second field of a view is its Lazy (the first names the struct, see viewed), and it
// says by its method which Views treat it: this package is below the one that has them.
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
// A field without a tag is the program's own: it is neither sent nor set. One that is not
// exported could not be set from outside of the package by reflection, and is taken for
// such a one too.
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
// A set and a map in order are slices in Go; only their type's name tells. What has no
// type on the wire, such as uint32, is None, which the compiler refuses.
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
// An optional scalar is a pointer in Go, of which the wire knows nothing.
func (rules) Tag(id int, t *shape.Type) uint32 {
	if t.Kind == shape.Pointer {
		t = t.Elem
	}
	return uint32(Wires[t.Kind])<<16 | uint32(uint16(id))
}

// Complete implements [shape.Rules].
// Types may refer to each other in circles. What needs only the struct itself is made
// first; what views are within others is known when all of the circle are there.
func (rules) Complete(fresh []*shape.Struct) error {
	for _, s := range fresh {
		pl := At(s)
		if pl.Shown = At(s.Of); pl.Shown == nil {
			pl.index()
		}
	}
	findViews(fresh)
	return nil
}

// Whole implements [shape.Rules].
func (rules) Whole(kept []byte, depth int) bool { return whole(kept, depth) }

// Most implements [shape.Rules].
// It bounds encoding where no limits are given: a cycle of pointers would not end else.
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
	for _, methods := range []reflect.Type{reflect.TypeFor[generated](), reflect.TypeFor[shape.Defaulter](), reflect.TypeFor[Viewer]()} {
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

// parseTag reads `name,id` and `name,id,required`, optional or default.
//
// Go's Apache library has tags of the same form, so that structs which it has generated
// can be decoded. Nothing is guessed: a tag with a mistake would otherwise be a field
// that is silently never sent.
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

// whole reports whether u is a sequence of fields. Not to look would let one
// wrong byte break everything behind it.
//
// What a decode has kept is right. But the field is exported, so that a program may write
// to it, or move it from one struct to another where it nests deeper.
func whole(u []byte, depth int) bool {
	for o := 0; o < len(u); {
		if len(u)-o < 3 {
			return false
		}
		end, f := raw.SkipAt(u, o+3, raw.Type(u[o]), depth)
		if f != raw.Fine {
			return false
		}
		o = end
	}
	return true
}
