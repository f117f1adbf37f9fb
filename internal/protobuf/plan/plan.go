package plan

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// A Plan is a struct type, ready to be encoded and decoded: what shape knows of it, and what
// Protobuf adds. It is constant once Memo has returned it.
type Plan struct {
	shape.Struct // the first field: At

	made   uintptr // itab of *struct as a generated; 0: no generated methods
	ops    []Op    // of fields and oneofs, in the order of their numbers; a oneof has that of its first field
	fields []Op    // of fields, those of oneofs among them, in the order of their numbers

	Name  string         // in the .proto file, with its package; "": not known
	json  []string       // names of Fields in JSON
	names map[string]int // index into fields, by both names

	dense  []uint16       // index into fields plus one, for numbers below len(dense)
	others map[uint32]int // the same for the rest; nil if there is no rest
}

// An Op is what is to be done for a field: 64 bytes, a cache line.
type Op struct {
	Head   uint64 // the tag as it is on the wire, its first byte lowest
	Tag    uint32
	Alt    uint32 // the tag of a list of numbers that is packed though it should not be, or the other way round; 0: none
	Offset uint32 // in the struct; of a Variant, of the oneof's interface
	Index  uint16 // in Fields and Names
	HeadN  uint8  // bytes of Head
	Do     Form   // what loops switch on
	Elem   Form   // of Scalar, List, Packed, Variant
	always bool   // a plain value is written even if it is zero
	utf8   bool   // strings have to be that
	enum   bool   // numbers, of a map's values too, are those of an enum
	Bit    uint64 // of a required field
	Type   *shape.Type
	Plan   *Plan // of messages and groups, elements' too
	in     *inner
}

// inner is what few ops have.
type inner struct {
	key, value Op      // of a Map
	itab       uintptr // of a Variant: the interface's first word
	one        *Plan   // of a Variant: the struct that holds its field
}

// at gives the plan that a Struct of Memo is a part of; nil gives nil.
func at(s *shape.Struct) *Plan {
	// Safety: rules.New has made it as the first field of a plan.
	return (*Plan)(unsafe.Pointer(s))
}

// Memo remembers the plans of all types that were used. It is the one piece of package
// state: a plan depends on its type only.
var Memo = shape.Memo{Rules: rules{}}

// Of gives the plan for msg, a pointer to a struct, and that pointer. An error is a *TypeError.
func Of(msg any) (*Plan, unsafe.Pointer, error) {
	if pl, p := at(Memo.Known(msg)), shape.Data(msg); pl != nil && p != nil {
		return pl, p, nil
	}
	s, p, err := Memo.Of(msg)
	if e, ok := errors.AsType[*shape.TypeError](err); ok {
		return nil, nil, &TypeError{Type: e.Type, Field: e.Field, Why: e.Why}
	}
	return at(s), p, err
}

// A TypeError says why a Go type, or a value of it, cannot be a message. The codec gives it
// inside of an *rpc.Error with rpc.Internal.
type TypeError struct {
	Type  reflect.Type
	Field string // the Go field, if one is at fault
	Why   string
}

// Error gives all of them.
func (e *TypeError) Error() string {
	name := "nil"
	if e.Type != nil {
		name = titleOf(e.Type)
	}
	if e.Field != "" {
		name += "." + fieldOf(e.Type, e.Field)
	}
	return "protobuf: " + name + ": " + e.Why
}

// find gives the op for a field's number and the index after it; nil: the struct does not have it.
func (pl *Plan) find(number uint32) (*Op, int) {
	i := 0
	if int(number) < len(pl.dense) {
		i = int(pl.dense[number])
	} else if pl.others != nil {
		i = pl.others[number]
	}
	if i == 0 {
		return nil, 0
	}
	return &pl.fields[i-1], i
}

// maxDense is the largest number that is found by indexing.
const maxDense = 1024

// index makes fields findable by number.
func (pl *Plan) index() error {
	byNumber := func(a, b Op) int { return cmp.Compare(a.Tag, b.Tag) }
	// Messages are written in the order of numbers, which makes equal messages equal bytes, and is what
	// readers guess.
	slices.SortStableFunc(pl.ops, byNumber)
	slices.SortFunc(pl.fields, byNumber)
	top := -1
	for i := range pl.fields {
		n := pl.fields[i].Tag >> 3
		if i > 0 && pl.fields[i-1].Tag>>3 == n {
			return &shape.TypeError{Type: pl.Go, Why: fmt.Sprintf("two fields have the number %d", n)}
		}
		if n <= maxDense {
			top = int(n)
		}
	}
	// An index for small numbers: one load for each field, where a map would take a hash. A struct
	// whose numbers are large has a map for those only.
	pl.dense = make([]uint16, top+1)
	for i := range pl.fields {
		if n := pl.fields[i].Tag >> 3; int(n) <= top {
			pl.dense[n] = uint16(i + 1)
		} else {
			if pl.others == nil {
				pl.others = map[uint32]int{}
			}
			pl.others[n] = i + 1
		}
	}
	return nil
}

// makeOps makes the ops of a struct's fields.
func (pl *Plan) makeOps() error {
	for i := range pl.Fields {
		f := &pl.Fields[i]
		sf, _ := pl.Go.FieldByName(pl.Names[i].Go)
		tag, err := parseTag(sf.Tag.Get("proto"))
		if err != nil {
			return err // Field has seen that there is none
		}
		if tag.oneof {
			pl.json = append(pl.json, "")
			if err := pl.addUnion(f); err != nil {
				return err
			}
			continue
		}
		pl.json = append(pl.json, cmp.Or(tag.json, JSONName(pl.Names[i].IDL)))
		o := newOp(tag, f)
		pl.ops, pl.fields = append(pl.ops, o), append(pl.fields, o)
	}
	return pl.index()
}

// newOp makes the op of a field.
func newOp(tag fieldTag, f *shape.Field) Op {
	o := Op{Offset: f.Offset, Index: f.Index, Bit: f.Bit, Type: f.Type, Do: tag.form, Elem: tag.form, utf8: !tag.noUTF8, always: tag.required, enum: tag.typ == "enum"}
	wire := wires[tag.form]
	t := f.Type
	switch {
	case tag.key != "":
		o.Do, wire = Map, raw.Bytes
		o.in = &inner{
			key:   Op{Do: tag.keyForm, Elem: tag.keyForm, Type: t.Key, utf8: !tag.noUTF8},
			value: Op{Do: tag.form, Elem: tag.form, Type: t.Elem, utf8: !tag.noUTF8, enum: tag.typ == "enum"},
		}
		o.in.key.setTag(raw.Tag(1, wires[tag.keyForm]))
		o.in.value.setTag(raw.Tag(2, wires[tag.form]))
		if t.Elem.Struct != nil {
			o.in.value.Plan = at(t.Elem.Struct)
		}
	case f.Kind == shape.List:
		o.Do = List
		if t.Elem.Struct != nil {
			o.Plan = at(t.Elem.Struct)
		}
		// Readers take both forms of a list of numbers, so that a .proto file may change between them.
		if tag.form.packs() {
			o.Alt = raw.Tag(tag.number, raw.Bytes)
		}
		if tag.packed {
			o.Do, wire, o.Alt = Packed, raw.Bytes, raw.Tag(tag.number, wire)
		}
	case f.Kind == shape.Pointer:
		o.Do = Scalar
	case t.Struct != nil:
		o.Plan = at(t.Struct)
	}
	o.setTag(raw.Tag(tag.number, wire))
	return o
}

// setTag notes the tag, as a number for readers and as bytes for writers.
func (o *Op) setTag(tag uint32) {
	var head [8]byte
	o.Tag, o.HeadN = tag, uint8(binary.PutUvarint(head[:], uint64(tag)))
	// As a word, which is stored at once: what is above HeadN bytes is written over by the value.
	o.Head = binary.LittleEndian.Uint64(head[:])
}

// addUnion makes the ops of a oneof, and of its fields.
func (pl *Plan) addUnion(f *shape.Field) error {
	// Its number is that of its first field, so that a oneof is written where that would be; the largest
	// if it has none.
	o := Op{Do: Union, Offset: f.Offset, Index: f.Index, Type: f.Type, Tag: math.MaxUint32}
	for i := range f.Type.Cases {
		c := &f.Type.Cases[i]
		one := at(c.Struct)
		tag, err := one.variantTag()
		if err != nil {
			return &shape.TypeError{Type: one.Go, Why: err.Error()}
		}
		v := Op{Do: Variant, Elem: tag.form, Offset: f.Offset, Index: f.Index, Type: f.Type, enum: tag.typ == "enum", in: &inner{itab: c.Itab, one: one}}
		v.setTag(raw.Tag(tag.number, wires[tag.form]))
		pl.fields = append(pl.fields, v)
		if i == 0 {
			o.Tag = v.Tag
		}
	}
	pl.ops = append(pl.ops, o)
	return nil
}

// variantTag gives the tag of the one field that a struct of a oneof has.
func (pl *Plan) variantTag() (tag fieldTag, err error) {
	sf, _ := pl.Go.FieldByName(pl.Names[0].Go)
	if tag, err = parseTag(sf.Tag.Get("proto")); err != nil {
		return tag, err
	}
	if f := &pl.Fields[0]; f.Presence == shape.Zero {
		f.Presence = shape.Always // that the oneof holds it says that it is there
	}
	if k := pl.Fields[0].Kind; tag.oneof || tag.required || tag.explicit || k == shape.List || k == shape.Map || k == shape.Pointer {
		return tag, errors.New("the field of a oneof has one value, and no presence of its own")
	}
	return tag, nil
}

// An Output is where an encode goes, as it is handed to a generated method.
type Output struct {
	Out    *buf.Out
	Sorted bool // maps are written in the order of their keys
	Inside bool // the message must not leave its block: whoever asks goes on otherwise then
}

// generated is what generated messages implement. What is passed through an interface by reference
// would live on the heap; so what these methods need is passed as values, and the state begins on
// their stack.
//
// EncodeProto gives the block, and false if the message cannot be encoded, or not so: the plan says why.
type generated interface {
	EncodeProto(to Output, b []byte, depth int) (block []byte, fine bool)
	DecodeProto(in Input, depth int) Result
}

// madeFor gives the message at p as what its generated methods are called on.
func (pl *Plan) madeFor(p unsafe.Pointer) generated {
	f := shape.Face{Itab: pl.made, Data: p}
	// Safety: p points to a pl.Go, and made is the itab of *pl.Go for generated.
	return *(*generated)(unsafe.Pointer(&f))
}

// An Input is what is decoded, as it is handed to a generated method: values that fit in registers.
type Input struct {
	B      string // a slice would be one word more
	Frame  *codec.Frame
	Budget codec.Budget
}

// A Result is what comes back.
type Result struct {
	Code   uint64 // where the message ended or the fault is, and below that eight bits of fault
	Budget codec.Budget
	Where  string
}

// rules are what Protobuf adds to Go's types.
type rules struct{}

var _ shape.Rules = rules{}

// New implements [shape.Rules].
func (rules) New(rt reflect.Type) *shape.Struct {
	pl := new(Plan)
	if g := reflect.TypeFor[generated](); reflect.PointerTo(rt).Implements(g) {
		pl.made = shape.Itab(g, reflect.PointerTo(rt))
	}
	return &pl.Struct
}

// View implements [shape.Rules].
func (rules) View(reflect.Type) (reflect.Type, func(*shape.Struct) shape.View) { return nil, nil }

// Field implements [shape.Rules].
func (rules) Field(f reflect.StructField) (spec shape.Spec, err error) {
	text, ok := f.Tag.Lookup("proto")
	if !ok || text == "-" {
		return spec, nil
	}
	tag, err := parseTag(text)
	switch {
	case err != nil:
		return spec, err
	case tag.unknown && (f.Type.Kind() != reflect.Slice || f.Type.Elem().Kind() != reflect.Uint8):
		return spec, errors.New("what keeps unknown fields is a []byte")
	case tag.unknown:
		return shape.Spec{Is: shape.KeptField}, nil
	case !f.IsExported():
		return spec, errors.New("the field has a tag and is not exported")
	}
	if err := tag.check(f.Type); err != nil {
		return spec, err
	}
	return tag.spec(f.Index[0]), nil
}

// spec is what the tag says of the field with that index.
func (t *fieldTag) spec(i int) shape.Spec {
	spec := shape.Spec{Is: shape.IDLField, ID: t.number, Name: t.name, Zero: !t.required && !t.explicit}
	switch {
	case t.oneof:
		spec.ID = -1 - i // fields have numbers from 1 on, a oneof has none
	case t.required:
		spec.Rule = shape.Required
	case t.explicit:
		spec.Rule = shape.Free
	}
	return spec
}

// Kind implements [shape.Rules].
func (rules) Kind(_ reflect.Type, k shape.Kind) shape.Kind {
	switch k {
	case shape.Int8, shape.Int16, shape.UUID:
		return shape.None
	}
	return k
}

// Words implements [shape.Rules].
func (rules) Words() shape.Words {
	return shape.Words{IDL: "Protobuf", Pairs: "another type", Kept: "unknown"}
}

// Tag implements [shape.Rules].
func (rules) Tag(id int, _ *shape.Type) uint32 { return uint32(id) }

// Complete implements [shape.Rules].
func (rules) Complete(fresh []*shape.Struct) error {
	for _, s := range fresh {
		if n, ok := reflect.TypeAssert[named](reflect.New(s.Go)); ok {
			at(s).Name = n.ProtoName()
		}
		if err := at(s).makeOps(); err != nil {
			return err
		}
	}
	for _, s := range fresh { // now that those of oneofs are made too
		at(s).indexNames()
	}
	return nil
}

// A named is a generated message.
type named interface{ ProtoName() string }

// Whole implements [shape.Rules].
func (rules) Whole(kept []byte, depth int) bool {
	_, f := raw.Check(kept, depth)
	return f == raw.Fine
}

// Most implements [shape.Rules].
func (rules) Most() (depth, size int) { return DefaultDepth, maxSize }
