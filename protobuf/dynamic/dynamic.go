package dynamic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/internal/protobuf/plan"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/protobuf"
)

// Types are the messages of a schema, and the well-known types beside them. They are constant, and
// safe for concurrent use. The schema is not kept.
//
// A program that makes Types again and again, of ever other schemas, grows: Go keeps the
// types for ever that it makes for them. Of the same schema they are the same.
type Types struct {
	messages   map[string]*plan.Plan // by full name
	extensions map[string]*plan.Plan // what extends a message, by the message's full name
}

// New makes the types of a schema's Protobuf files.
//
// An error says which definition is none; of a schema that a reader has made there is none.
func New(schema *idl.Schema) (*Types, error) {
	d := drafter{structs: map[*idl.Struct]*plan.Draft{}, enums: map[*idl.Enum]*shape.Enum{}, extends: map[string]*plan.Draft{}}
	for _, f := range schema.Files {
		if f.Language != idl.Protobuf {
			continue
		}
		for _, s := range f.Structs {
			if !s.Oneof {
				d.structs[s] = &plan.Draft{Name: fullName(f, s.Name)}
				d.all = append(d.all, d.structs[s])
			}
		}
	}
	for _, f := range schema.Files {
		if f.Language == idl.Protobuf {
			d.file(f)
		}
	}
	known := wellKnown()
	for _, x := range d.all {
		if k := known[x.Name]; k != nil && !alike(x, k) && d.err == nil {
			d.err = fmt.Errorf("%s is not the message of that name that everybody knows", x.Name)
		}
		delete(known, x.Name)
	}
	d.all = slices.AppendSeq(d.all, maps.Values(known))
	if d.err != nil {
		return nil, fmt.Errorf("dynamic: %w", d.err)
	}
	if err := plan.Make(slices.AppendSeq(slices.Clone(d.all), maps.Values(d.extends))); err != nil {
		return nil, fmt.Errorf("dynamic: %w", err)
	}
	t := &Types{messages: map[string]*plan.Plan{}, extensions: map[string]*plan.Plan{}}
	for _, x := range d.all {
		t.messages[x.Name] = x.Plan()
	}
	for name, x := range d.extends {
		t.extensions[name] = x.Plan()
	}
	return t, nil
}

// New makes an empty message of the type with that full name; nil: there is none.
func (t *Types) New(name string) *Message {
	pl := t.messages[name]
	if pl == nil {
		return nil
	}
	return &Message{types: t, name: name, held: pl.Hold()}
}

// Names are the full names of all messages, sorted.
func (t *Types) Names() []string {
	return slices.Sorted(maps.Keys(t.messages))
}

// JSON is the codec of the JSON mapping for these types: an Any holds one of them, and extensions are those of
// the schema. Its fields may be set.
func (t *Types) JSON() protobuf.JSON {
	return protobuf.JSON{
		Any: func(name string) any {
			if m := t.New(name); m != nil {
				return m
			}
			return nil
		},
		Extensions: func(name string) []any {
			if pl := t.extensions[name]; pl != nil {
				return []any{&Message{types: t, held: pl.Hold()}}
			}
			return nil
		},
	}
}

// fullName is a definition's name with its package.
func fullName(f *idl.File, name string) string {
	if f.Package == "" {
		return name
	}
	return f.Package + "." + name
}

// A drafter makes drafts of a schema.
type drafter struct {
	structs map[*idl.Struct]*plan.Draft
	enums   map[*idl.Enum]*shape.Enum
	extends map[string]*plan.Draft // by the name of the message that is extended
	all     []*plan.Draft
	err     error // the first one
}

// file fills in the fields of a file's messages.
func (d *drafter) file(f *idl.File) {
	for _, s := range f.Structs {
		if x := d.structs[s]; x != nil {
			for _, field := range s.Fields {
				x.Fields = append(x.Fields, d.field(field, field.Name, field.JSONName, false))
			}
		}
	}
	for _, e := range f.Extensions {
		of := e.Struct.True().Struct
		name := fullName(of.File, of.Name)
		x := d.extends[name]
		if x == nil {
			x = &plan.Draft{Name: name + " extensions"}
			d.extends[name] = x
		}
		// Two files may have an extension of one name, in packages of theirs.
		full := fullName(f, e.Name)
		x.Fields = append(x.Fields, d.field(e.Field, strings.ReplaceAll(full, ".", "_"), "["+full+"]", false))
	}
}

// field makes a field. one: it is a field of a oneof, which has no presence of its own.
func (d *drafter) field(f *idl.Field, name, json string, one bool) plan.DraftField {
	t := f.Type.True()
	if t.Kind == idl.StructRef && t.Struct.Oneof {
		x := plan.DraftField{Tag: "oneof,name=" + name}
		for _, c := range t.Struct.Fields {
			x.Cases = append(x.Cases, d.field(c, c.Name, c.JSONName, true))
		}
		return x
	}
	parts := []string{fmt.Sprint(f.ID), word(t)}
	elem := t
	if t.Kind == idl.List || t.Kind == idl.Map {
		elem = t.Elem.True()
	}
	if f.Packed {
		parts = append(parts, "packed")
	}
	switch {
	case f.Presence == idl.Required:
		parts = append(parts, "required")
	case f.Presence == idl.Optional && t.Kind != idl.StructRef && !one:
		parts = append(parts, "explicit")
	}
	x := plan.DraftField{JSON: json, Repeated: t.Kind == idl.List}
	switch elem.Kind {
	case idl.EnumRef:
		if x.Enum = d.enum(elem.Enum); elem.Enum.Closed {
			parts = append(parts, "closed")
		}
	case idl.StructRef:
		if x.Of = d.structs[elem.Struct]; x.Of == nil && d.err == nil {
			d.err = fmt.Errorf("%s: the message %s is not in the schema", name, elem.Name)
		}
	}
	if f.AnyBytes {
		parts = append(parts, "noutf8")
	}
	x.Tag = strings.Join(append(parts, "name="+name), ",")
	return x
}

// word is a type as a tag has it: of a list that of its elements.
func word(t *idl.Type) string {
	switch t.Kind {
	case idl.List:
		return word(t.Elem.True())
	case idl.Map:
		return "map(" + word(t.Key.True()) + "," + word(t.Elem.True()) + ")"
	case idl.EnumRef:
		return "enum"
	case idl.StructRef:
		if t.Word == "" {
			return "message"
		}
	}
	return t.Word
}

// enum makes an enum. Of several names of one number the first one is written.
func (d *drafter) enum(e *idl.Enum) *shape.Enum {
	if x := d.enums[e]; x != nil {
		return x
	}
	x := &shape.Enum{Title: fullName(e.File, e.Name), Names: map[int32]string{}, Numbers: map[string]int32{}}
	for _, v := range e.Values {
		if _, ok := x.Names[v.Value]; !ok {
			x.Names[v.Value] = v.Name
		}
		x.Numbers[v.Name] = v.Value
	}
	d.enums[e] = x
	return x
}
