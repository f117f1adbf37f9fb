package plan

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/internal/shape"
)

// A Draft describes a message that is known at run time only. [Make] makes a plan of it, with a Go type
// that nobody sees.
type Draft struct {
	Name   string // full, in the .proto file
	Fields []DraftField

	plan *Plan
	ones [][]*Plan // by field: of a oneof, the structs of its cases
}

// A DraftField is a field of a Draft, or a oneof.
type DraftField struct {
	Tag      string // as the field of a Go struct would have it, see the package protobuf
	JSON     string // its name in JSON; "": the usual one
	Repeated bool
	Of       *Draft       // the message that it is, or that its elements or values are
	Enum     *shape.Enum  // the same for enums
	Cases    []DraftField // of a oneof
}

// Plan is what Make has made.
func (d *Draft) Plan() *Plan { return d.plan }

// Make makes the plans of drafts that refer to each other; all that they refer to has to be among them. Their Go
// types are kept for ever: Go frees none. An error is about the description.
func Make(drafts []*Draft) error {
	for _, d := range drafts {
		if err := d.begin(); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	var all []*Plan
	for _, d := range drafts { // now that there is something to refer to
		for i := range d.Fields {
			for j, one := range d.ones[i] {
				one.addDraft(0, &d.Fields[i].Cases[j], nil)
			}
			d.plan.addDraft(i, &d.Fields[i], d.ones[i])
			all = append(all, d.ones[i]...)
		}
		d.plan.Add(d.plan.Go.Field(len(d.Fields)), shape.Spec{Is: shape.KeptField}, nil)
		all = append(all, d.plan)
	}
	for _, pl := range all {
		if err := pl.makeOps(); err != nil {
			return err
		}
	}
	for _, d := range drafts {
		for i := range d.Fields {
			for j, one := range d.ones[i] {
				one.named(0, &d.Fields[i].Cases[j])
				one.indexNames()
			}
			d.plan.named(i, &d.Fields[i])
		}
		d.plan.indexNames()
	}
	return nil
}

// begin makes the Go types of a message and of its oneofs' cases.
func (d *Draft) begin() error {
	if len(d.Fields) >= math.MaxUint16 {
		return fmt.Errorf("it has %d fields, which is too many", len(d.Fields))
	}
	d.ones = make([][]*Plan, len(d.Fields))
	fields := make([]reflect.StructField, 0, len(d.Fields)+1)
	for i := range d.Fields {
		f, err := d.goField(i, &d.Fields[i])
		if err != nil {
			return err
		}
		fields = append(fields, f)
		for j := range d.Fields[i].Cases {
			f, err := d.goField(j, &d.Fields[i].Cases[j])
			if err != nil {
				return err
			}
			one := at(shape.Begin(rules{}, reflect.StructOf([]reflect.StructField{f}), d.title()))
			d.ones[i] = append(d.ones[i], one)
		}
	}
	// Structs with the same fields would be one type; the name keeps them apart.
	fields = append(fields, reflect.StructField{Name: "Unknown", Type: reflect.TypeFor[[]byte](), Tag: tagOf("unknown", d.Name)})
	d.plan = at(shape.Begin(rules{}, reflect.StructOf(fields), d.title()))
	d.plan.Name = d.Name
	return nil
}

// title is the last part of the name.
func (d *Draft) title() string { return d.Name[strings.LastIndexByte(d.Name, '.')+1:] }

// tagOf is the tag of a field of the message with that name.
func tagOf(text, of string) reflect.StructTag {
	return reflect.StructTag("proto:" + strconv.Quote(text) + " of:" + strconv.Quote(of))
}

// goField makes the field of a Go struct.
func (d *Draft) goField(i int, f *DraftField) (x reflect.StructField, err error) {
	tag, err := parseTag(f.Tag)
	if err == nil && (tag.unknown || !plainName(tag.name)) {
		err = fmt.Errorf("the tag %q is none of a field with a name", f.Tag)
	}
	if err != nil {
		return x, err
	}
	rt := reflect.TypeFor[any]()
	if !tag.oneof {
		rt = tag.goType(f.Repeated)
	}
	if err := tag.fitsType(rt); err != nil {
		return x, fmt.Errorf("%s: %w", tag.name, err)
	}
	if refers := tag.form == Message || tag.form == Group; refers && f.Of == nil {
		return x, fmt.Errorf("%s: the message is not known", tag.name)
	}
	// Go's fields begin with a capital letter, and no two have one name.
	return reflect.StructField{Name: "F" + strconv.Itoa(i) + "_" + tag.name, Type: rt, Tag: tagOf(f.Tag, d.Name)}, nil
}

// goTypes are Go's plain types.
var goTypes = map[reflect.Kind]reflect.Type{
	reflect.Bool: reflect.TypeFor[bool](), reflect.Int32: reflect.TypeFor[int32](), reflect.Int64: reflect.TypeFor[int64](),
	reflect.Uint32: reflect.TypeFor[uint32](), reflect.Uint64: reflect.TypeFor[uint64](), reflect.Float32: reflect.TypeFor[float32](),
	reflect.Float64: reflect.TypeFor[float64](), reflect.String: reflect.TypeFor[string](), reflect.Slice: reflect.TypeFor[[]byte](),
	reflect.Pointer: reflect.TypeOf(shape.Data(nil)),
}

// goType is the type of a field with that tag.
func (t *fieldTag) goType(repeated bool) reflect.Type {
	rt := goTypes[words[t.typ].kind]
	switch {
	case t.key != "":
		return reflect.MapOf(goTypes[words[t.key].kind], rt)
	case repeated:
		return reflect.SliceOf(rt)
	case (t.explicit || t.required) && t.form < Blob || t.form == Closed && (t.explicit || t.required):
		return reflect.PointerTo(rt)
	}
	return rt
}

// addDraft adds the field with that index. ones are the structs of a oneof's cases.
func (pl *Plan) addDraft(i int, f *DraftField, ones []*Plan) {
	sf := pl.Go.Field(i)
	tag, _ := parseTag(f.Tag) // goField has seen that it is one
	var t *shape.Type
	if tag.oneof {
		var structs []*shape.Struct
		for _, one := range ones {
			structs = append(structs, &one.Struct)
		}
		t = shape.MadeUnion(structs)
	} else {
		var of *shape.Struct
		if f.Of != nil {
			of = &f.Of.plan.Struct
		}
		t = shape.MadeType(sf.Type, of, f.Enum)
	}
	pl.Add(sf, tag.spec(i), t)
}

// named notes what the field with that index is called in JSON.
func (pl *Plan) named(i int, f *DraftField) {
	if f.JSON != "" {
		pl.json[i] = f.JSON
	}
}

// titleOf is what errors call a type: of one that Make has made, the name of the message.
func titleOf(rt reflect.Type) string {
	if of := messageOf(rt); of != "" {
		return of
	}
	return rt.String()
}

// fieldOf is what errors call a Go field.
func fieldOf(rt reflect.Type, name string) string {
	if _, own, ok := strings.Cut(name, "_"); ok && messageOf(rt) != "" {
		return own
	}
	return name
}

// messageOf is the name that a Go type has from Make, if it is from there.
func messageOf(rt reflect.Type) string {
	if rt.Kind() != reflect.Struct || rt.Name() != "" || rt.NumField() == 0 {
		return ""
	}
	return rt.Field(0).Tag.Get("of")
}

// plainName tells whether a name is one of .proto files: letters, digits and underscores, which Go's names may have
// too.
func plainName(name string) bool {
	for i, c := range []byte(name) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c-'0' > 9) {
			return false
		}
	}
	return name != ""
}
