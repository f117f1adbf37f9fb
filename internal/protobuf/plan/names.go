package plan

import (
	"strings"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
)

// What other forms of messages than the binary one need of a plan.

// Ops are the fields and oneofs, in the order of their numbers.
func (pl *Plan) Ops() []Op { return pl.ops }

// ByNumber finds a field, those of oneofs among them; nil: there is none.
func (pl *Plan) ByNumber(n uint32) *Op {
	o, _ := pl.find(n)
	return o
}

// ByName finds a field by its name in JSON or in the .proto file, those of oneofs among them; nil:
// there is none.
func (pl *Plan) ByName(name string) *Op {
	if i, ok := pl.names[name]; ok {
		return &pl.fields[i]
	}
	return nil
}

// JSONName is the name of o, an op of pl that is no oneof, in JSON.
func (pl *Plan) JSONName(o *Op) string {
	if o.Do == Variant {
		return o.in.one.json[0]
	}
	return pl.json[o.Index]
}

// ProtoName is the name of o, an op of pl, in the .proto file.
func (pl *Plan) ProtoName(o *Op) string {
	if o.Do == Variant {
		return o.in.one.Names[0].IDL
	}
	return pl.Names[o.Index].IDL
}

// At gives the plan that a Struct of Memo is a part of.
func At(s *shape.Struct) *Plan { return at(s) }

// Enum tells whether the numbers of o, a field or a map's value, are those of an enum.
func (o *Op) Enum() bool { return o.enum }

// Key and Value are the ops of a Map's keys and values.
func (o *Op) Key() *Op { return &o.in.key }

// Value is beside Key.
func (o *Op) Value() *Op { return &o.in.value }

// Required tells whether o, an op of pl, is a required field.
func (pl *Plan) Required(o *Op) bool {
	return o.Do != Union && pl.Fields[o.Index].Rule == shape.Required
}

// Absent tells whether the field of o in the struct at p is absent.
func (pl *Plan) Absent(o *Op, p unsafe.Pointer) bool {
	f := &pl.Fields[o.Index]
	// Safety: p points to a pl.Go.
	return f.Absent(unsafe.Add(p, o.Offset))
}

// Held gives what a oneof holds: the plan of that struct, and its field; nil: nothing, or what is none
// of its variants.
func (o *Op) Held(f shape.Face) (*Plan, *Op) {
	v := o.Type.Holds(f)
	if v == nil || f.Data == nil {
		return nil, nil
	}
	pl := at(v.Struct)
	return pl, &pl.ops[0]
}

// One makes a struct for the field of a Variant, and gives the op of that field.
func (o *Op) One() (shape.Face, *Op) {
	return shape.Face{Itab: o.in.itab, Data: o.in.one.New()}, &o.in.one.ops[0]
}

// OneSize is the size of such a struct.
func (o *Op) OneSize() int { return o.in.one.Size }

// indexNames makes fields findable by name. One that is the JSON name of a field and the name of
// another one is the former's.
func (pl *Plan) indexNames() {
	pl.names = make(map[string]int, len(pl.fields))
	for i := range pl.fields {
		pl.names[pl.ProtoName(&pl.fields[i])] = i
	}
	for i := range pl.fields {
		pl.names[pl.JSONName(&pl.fields[i])] = i
	}
}

// JSONName makes the name that a field has in JSON of its name in the .proto file.
func JSONName(name string) string {
	var b strings.Builder
	up := false
	for i := range len(name) {
		c := name[i]
		if c == '_' {
			up = true
			continue
		}
		if up && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		up = false
		b.WriteByte(c)
	}
	return b.String()
}

// FieldNames are the names of the fields in JSON, in the order of their numbers.
func (pl *Plan) FieldNames() []string {
	names := make([]string, len(pl.fields))
	for i := range pl.fields {
		names[i] = pl.JSONName(&pl.fields[i])
	}
	return names
}
