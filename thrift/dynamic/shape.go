package dynamic

import (
	"fmt"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// What Thrift calls the field of a result, with the id 0. A declared exception of that
// name could not be told from it: except refuses it.
const success = "success"

// A shape is a struct, a union, an exception, or a method's arguments or
// results, ready for both directions. It is constant once it is compiled.
type shape struct {
	name string
	// These two say how many fields may come; every other shape may have any.
	union  bool // exactly one field
	single bool // at most one field: results
	fields []field
	byName map[string]int
	byID   map[int16]int
	due    []int // the fields of which one that is absent is a default or a fault
}

// A field is one of a shape, in the order of the IDL.
type field struct {
	name     string
	id       int16
	t        *typ
	required bool
	def      []byte // the default in Thrift's form; nil: none
}

// A typ is a type with typedefs followed.
type typ struct {
	kind  idl.Kind
	wire  raw.Type
	text  string // as the IDL writes it
	key   *typ
	elem  *typ
	shape *shape
	enum  *idl.Enum
	names map[string]int32
	nums  map[int32]string
}

var wires = map[idl.Kind]raw.Type{
	idl.Bool: raw.TypeBool, idl.I8: raw.TypeI8, idl.I16: raw.TypeI16, idl.I32: raw.TypeI32, idl.I64: raw.TypeI64,
	idl.Double: raw.TypeDouble, idl.String: raw.TypeString, idl.Binary: raw.TypeString, idl.UUID: raw.TypeUUID,
	idl.List: raw.TypeList, idl.Set: raw.TypeSet, idl.Map: raw.TypeMap, idl.EnumRef: raw.TypeI32, idl.StructRef: raw.TypeStruct,
}

// scalar reports whether a value of t can be a JSON object's key.
func (t *typ) scalar() bool {
	return t.kind != idl.List && t.kind != idl.Set && t.kind != idl.Map && t.kind != idl.StructRef
}

// find gives the field of that name in the IDL, nil if there is none.
func (s *shape) find(name string) *field {
	if i, ok := s.byName[name]; ok {
		return &s.fields[i]
	}
	return nil
}

// known lists names for an error text, not all of them if there are many.
//
// It is what a reader of the error needs most often: names are mistyped.
func (s *shape) known() string {
	const most = 20
	if len(s.fields) == 0 {
		return "there is none"
	}
	var names []string
	for i := range s.fields[:min(most, len(s.fields))] {
		names = append(names, s.fields[i].name)
	}
	text := strings.Join(names, ", ")
	if n := len(s.fields) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return "known are " + text
}

// A compiler makes shapes; those of recursive structs refer to themselves.
//
// IDLs may come from a server (reflection), so that it takes time and memory in
// proportion to the text: each struct, type and enum is made once, however many lead to
// it, and defaults are bounded.
type compiler struct {
	shapes map[*idl.Struct]*shape
	types  map[*idl.Type]*typ // by the type behind typedefs, which may double each other
	enums  map[*idl.Enum]*typ
	later  []func() error // defaults: they need whole shapes
	size   int            // of all defaults
	err    error
}

// newCompiler makes shapes of a schema, each once: types may refer to each other in circles.
func newCompiler() *compiler {
	return &compiler{shapes: map[*idl.Struct]*shape{}, types: map[*idl.Type]*typ{}, enums: map[*idl.Enum]*typ{}}
}

// finish makes the defaults, for which all shapes have to be whole, and gives the first
// error.
func (c *compiler) finish() error {
	for _, f := range c.later {
		if c.err == nil {
			c.err = f()
		}
	}
	return c.err
}

// structure makes the shape of a struct. It is entered before its fields are looked at,
// which may lead back to it; that is why it is filled in place.
func (c *compiler) structure(s *idl.Struct) *shape {
	if sh := c.shapes[s]; sh != nil {
		return sh
	}
	sh := &shape{}
	c.shapes[s] = sh
	*sh = *c.fields(s.Name, s.Fields)
	sh.union = s.Kind == idl.Union
	return sh
}

// fields makes a shape of a list of fields, which need not be a struct's.
func (c *compiler) fields(name string, list []*idl.Field) *shape {
	sh := &shape{name: name, fields: make([]field, len(list)), byName: map[string]int{}, byID: map[int16]int{}}
	for i, f := range list {
		sh.fields[i] = field{name: f.Name, id: int16(f.ID), t: c.typ(f.Type), required: f.Presence == idl.Required}
		sh.byName[f.Name], sh.byID[int16(f.ID)] = i, i
		if f.Default != nil || sh.fields[i].required {
			sh.due = append(sh.due, i)
		}
		if f.Default != nil {
			c.later = append(c.later, func() (err error) {
				d := defaults{}
				sh.fields[i].def = d.value(make([]byte, 0, 16), sh.fields[i].t, f.Default, 0)
				if c.size += len(sh.fields[i].def); d.err == nil && c.size > maxDefaults {
					d.err = fmt.Errorf("with those before it it takes more than %d bytes", maxDefaults)
				}
				if d.err != nil {
					return fmt.Errorf("dynamic: the default of %s.%s: %w", name, f.Name, d.err)
				}
				return nil
			})
		}
	}
	return sh
}

// results is the struct of a method's answer.
//
// Of its fields one comes, or none from a method without a result.
func (c *compiler) results(m *idl.Method) *shape {
	var list []*idl.Field
	if m.Result != nil {
		list = append(list, &idl.Field{ID: 0, Name: success, Type: m.Result, Presence: idl.Optional})
	}
	sh := c.fields(m.Name+"'s result", append(list, m.Throws...))
	sh.single = true
	return sh
}

// typ makes a type, each once but for the text that it is written as.
//
// The text is the one that the user wrote, a typedef's name too: errors show it.
func (c *compiler) typ(t *idl.Type) *typ {
	text := t.String()
	t = t.True()
	x := c.types[t]
	if x == nil {
		x = c.plain(t, text)
		c.types[t] = x
	}
	if x.text != text {
		x = new(*x)
		x.text = text
	}
	return x
}

// plain makes a type that is no typedef.
func (c *compiler) plain(t *idl.Type, text string) *typ {
	x := &typ{kind: t.Kind, wire: wires[t.Kind], text: text}
	switch t.Kind {
	case idl.List, idl.Set:
		x.elem = c.typ(t.Elem)
	case idl.Map:
		x.key, x.elem = c.typ(t.Key), c.typ(t.Elem)
	case idl.StructRef:
		x.shape = c.structure(t.Struct)
	case idl.EnumRef:
		return c.enum(t.Enum, x)
	default:
		if x.wire == raw.TypeStop && c.err == nil {
			c.err = fmt.Errorf("dynamic: the type %s has no Thrift form", text)
		}
	}
	return x
}

// enum completes x; fields of one enum share its names.
func (c *compiler) enum(e *idl.Enum, x *typ) *typ {
	if c.enums[e] == nil {
		all := &typ{names: map[string]int32{}, nums: map[int32]string{}}
		for _, v := range e.Values {
			all.names[v.Name] = v.Value
			if _, ok := all.nums[v.Value]; !ok {
				all.nums[v.Value] = v.Name // of several names the first one
			}
		}
		c.enums[e] = all
	}
	x.enum, x.names, x.nums = e, c.enums[e].names, c.enums[e].nums
	return x
}
