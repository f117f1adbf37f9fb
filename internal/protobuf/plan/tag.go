package plan

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
)

// A Form is how one value is written.
type Form uint8

// The forms of values, and those of fields that have another number of them.
const (
	NoForm  Form = iota
	Int32        // and open enums
	Uint32       //
	Sint32       //
	Int64        // and uint64
	Sint64       //
	Bool         //
	Fixed32      // and sfixed32, float
	Fixed64      // and sfixed64, double
	Text         //
	Blob         //
	Closed       // an enum whose unknown numbers are unknown fields
	Message      //
	Group        //

	Scalar  // a pointer to one of Int32 to Text, or Closed
	List    // a value a tag
	Packed  // numbers behind one tag
	Map     //
	Union   // a oneof
	Variant // one field of a oneof
)

// A word is a name of a type in a tag.
type word struct {
	form Form
	kind reflect.Kind // of the Go type
}

// words are the types of .proto files.
var words = map[string]word{
	"int32": {Int32, reflect.Int32}, "int64": {Int64, reflect.Int64}, "uint32": {Uint32, reflect.Uint32}, "uint64": {Int64, reflect.Uint64},
	"sint32": {Sint32, reflect.Int32}, "sint64": {Sint64, reflect.Int64}, "fixed32": {Fixed32, reflect.Uint32}, "fixed64": {Fixed64, reflect.Uint64},
	"sfixed32": {Fixed32, reflect.Int32}, "sfixed64": {Fixed64, reflect.Int64}, "float": {Fixed32, reflect.Float32}, "double": {Fixed64, reflect.Float64},
	"bool": {Bool, reflect.Bool}, "string": {Text, reflect.String}, "bytes": {Blob, reflect.Slice}, "enum": {Int32, reflect.Int32},
	"message": {Message, reflect.Pointer}, "group": {Group, reflect.Pointer},
}

// wires are the wire types of forms of one value.
var wires = [...]raw.Wire{
	Int32: raw.Varint, Uint32: raw.Varint, Sint32: raw.Varint, Int64: raw.Varint, Sint64: raw.Varint, Bool: raw.Varint, Closed: raw.Varint,
	Fixed32: raw.Fixed32, Fixed64: raw.Fixed64, Text: raw.Bytes, Blob: raw.Bytes, Message: raw.Bytes, Group: raw.StartGroup,
}

// packs tells whether a list of values of that form may be packed.
func (f Form) packs() bool { return f < Text || f == Closed }

// A fieldTag is what a field's tag says.
type fieldTag struct {
	number                             int
	name, json                         string
	typ                                string // of the field or, of a map, of its value
	key                                string // of a map
	form, keyForm                      Form
	packed, required, explicit, noUTF8 bool
	oneof, unknown                     bool
}

// parseTag reads the tag of a field: `NUMBER,TYPE[,OPTION...]`, `oneof` or `unknown`.
func parseTag(text string) (t fieldTag, err error) {
	head, rest, _ := strings.Cut(text, ",")
	switch head {
	case "oneof":
		t.oneof = true
	case "unknown":
		t.unknown = true
	default:
		// 19,000 to 19,999 are those of Protobuf's implementations, for themselves.
		if t.number, err = strconv.Atoi(head); err != nil || t.number < 1 || t.number > raw.MaxNumber || t.number >= 19000 && t.number <= 19999 {
			return t, fmt.Errorf("the tag %q does not begin with a field's number", text)
		}
		if rest, err = t.parseType(text, rest); err != nil {
			return t, err
		}
	}
	for rest != "" {
		head, rest, _ = strings.Cut(rest, ",")
		if !t.option(head) {
			return t, fmt.Errorf("the tag %q has the option %q, which is none", text, head)
		}
	}
	return t, nil
}

// parseType reads the type at the begin of rest, and gives what is behind it.
func (t *fieldTag) parseType(text, rest string) (string, error) {
	if inner, ok := strings.CutPrefix(rest, "map("); ok {
		pair, more, ok := strings.Cut(inner, ")")
		if t.key, t.typ, _ = strings.Cut(pair, ","); !ok || words[t.key].form == NoForm || t.key == "bytes" || t.key == "enum" || words[t.key].form > Text || strings.HasPrefix(words[t.key].kind.String(), "float") {
			return "", fmt.Errorf("the tag %q does not say map(KEY,VALUE) with a type that keys may have", text)
		}
		t.keyForm, rest = words[t.key].form, strings.TrimPrefix(more, ",")
	} else {
		t.typ, rest, _ = strings.Cut(rest, ",")
	}
	if t.form = words[t.typ].form; t.form == NoForm || t.key != "" && t.form == Group {
		return "", fmt.Errorf("the tag %q has the type %q, which Protobuf does not have", text, t.typ)
	}
	return rest, nil
}

// option notes an option, and tells whether it is one.
func (t *fieldTag) option(s string) bool {
	if name, ok := strings.CutPrefix(s, "name="); ok {
		t.name = name
		return name != ""
	}
	if name, ok := strings.CutPrefix(s, "json="); ok {
		t.json = name
		return name != ""
	}
	if t.oneof || t.unknown {
		return false
	}
	switch s {
	case "packed":
		t.packed = true
	case "required":
		t.required = true
	case "explicit":
		t.explicit = true
	case "noutf8":
		t.noUTF8 = true
	case "closed":
		if t.typ != "enum" {
			return false
		}
		t.form = Closed
	default:
		return false
	}
	return true
}

// A knower is an enum that tells which numbers have a name. Closed ones need it.
type knower interface{ Known() bool }

// check says what is wrong with the Go type of a field that has this tag.
func (t *fieldTag) check(rt reflect.Type) error {
	if err := t.fitsType(rt); err != nil || t.form != Closed {
		return err
	}
	if t.key != "" || rt.Kind() != reflect.Int32 {
		rt = rt.Elem() // of a map, a list or a pointer
	}
	if !rt.Implements(reflect.TypeFor[knower]()) {
		return errors.New("a closed enum has a method Known() bool, which " + rt.String() + " has not")
	}
	return nil
}

// fitsType is check without the methods that a type may need.
func (t *fieldTag) fitsType(rt reflect.Type) error {
	if t.oneof {
		if rt.Kind() != reflect.Interface {
			return errors.New("a oneof is a sealed interface, not " + rt.String())
		}
		return nil
	}
	repeated := false
	switch {
	case t.key != "":
		if rt.Kind() != reflect.Map || rt.Key().Kind() != words[t.key].kind {
			return fmt.Errorf("map(%s,%s) is no %s", t.key, t.typ, rt)
		}
		repeated, rt = true, rt.Elem()
	case rt.Kind() == reflect.Slice && rt.Elem().Kind() != reflect.Uint8:
		repeated, rt = true, rt.Elem()
	}
	pointer := rt.Kind() == reflect.Pointer && t.form != Message && t.form != Group
	if pointer && !repeated {
		rt = rt.Elem()
	}
	if err := t.checkOptions(repeated, pointer); err != nil {
		return err
	}
	if !t.fits(rt) {
		return fmt.Errorf("%s is no %s", t.typ, rt)
	}
	return nil
}

// fits tells whether a value of the Go type is one of the tag's type.
func (t *fieldTag) fits(rt reflect.Type) bool {
	switch t.form {
	case Message, Group:
		return rt.Kind() == reflect.Pointer && rt.Elem().Kind() == reflect.Struct || rt.Kind() == reflect.UnsafePointer
	case Blob:
		return rt.Kind() == reflect.Slice && rt.Elem().Kind() == reflect.Uint8
	}
	return rt.Kind() == words[t.typ].kind
}

// checkOptions says which options do not go with what the field is.
func (t *fieldTag) checkOptions(repeated, pointer bool) error {
	switch {
	case t.packed && (!repeated || t.key != "" || !t.form.packs()):
		return errors.New("only lists of numbers, bools and enums are packed")
	case repeated && (t.explicit || t.required):
		return errors.New("a list or map is neither explicit nor required")
	case repeated && pointer:
		return errors.New("elements are no pointers to scalars")
	case pointer && (t.form == Blob || !t.explicit && !t.required):
		return errors.New("a pointer to a scalar is explicit or required")
	case t.explicit && !pointer && t.form < Blob:
		return errors.New("what is explicit is a pointer")
	case t.noUTF8 && t.form != Text && t.keyForm != Text:
		return errors.New("only strings have the option noutf8")
	}
	return nil
}
