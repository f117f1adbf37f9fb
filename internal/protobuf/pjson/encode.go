package pjson

import (
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/internal/protobuf/plan"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/rpc"
)

// Options are the choices that the mapping leaves. The zero value is its default.
type Options struct {
	ProtoNames bool // fields have their names of the .proto file
	Defaults   bool // fields that are zero are written, and empty lists and maps
	Numbers    bool // enums are written as numbers
	Discard    bool // unknown fields, and names of enums, are passed over

	// Any makes a message of that full name, for what a google.protobuf.Any holds; nil: it is not
	// known. Without it, what an Any holds is not known.
	Any func(name string) any
	// Extensions makes a struct for each group of extensions of the message of that full name.
	Extensions func(name string) []any
}

// Append encodes msg at the end of out.
//
// depth is how deeply the message may nest, 0 the default. msg is only read, and out refers to nothing
// of it. After an error out is as it was: the text is made apart, since whether a message can be written
// is known only at its end. The error is an *rpc.Error with rpc.Internal: a message that cannot be sent is
// the program's fault.
func Append(out *buf.Out, msg any, o Options, depth int) error {
	pl, p, err := plan.Of(msg)
	// Faults of the type, such as no struct at all, come from the plan; those of the value
	// from the encoder.
	if err == nil {
		if depth == 0 {
			depth = plan.DefaultDepth
		}
		e := encoder{Options: o}
		e.message(pl, p, depth)
		if err = e.err; err == nil {
			out.Append(e.b)
			return nil
		}
	}
	return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: err}
}

// An encoder is the state of one encode.
//
// It appends to one slice of its own and not to blocks, because JSON is written for people and gateways,
// not on the fast path: bounds of blocks in the middle of every number would be paid by all.
type encoder struct {
	Options
	b   []byte
	err error // the first one
}

// fail notes why a message cannot be written.
//
// Only the first reason counts; what follows from it would mislead.
func (e *encoder) fail(pl *plan.Plan, why string) {
	if e.err == nil {
		e.err = &plan.TypeError{Type: pl.Go, Why: why}
	}
}

// failAt notes why a field cannot be written.
//
// It names the Go field, as errors of the binary format do: who reads it looks at Go code.
func (e *encoder) failAt(pl *plan.Plan, o *plan.Op, why string) {
	if e.err == nil {
		e.err = &plan.TypeError{Type: pl.Go, Field: pl.Names[o.Index].Go, Why: why}
	}
}

// add appends text that needs no escapes.
func (e *encoder) add(s string) { e.b = append(e.b, s...) }

// message writes the struct at p: as an object, unless its type has a form of its own.
//
// The struct itself counts as a level: with depth 1 it may have scalars only.
func (e *encoder) message(pl *plan.Plan, p unsafe.Pointer, depth int) {
	if depth <= 0 {
		e.fail(pl, shape.WhyDeep)
		return
	}
	if e.known(pl, p, depth) {
		return
	}
	e.add("{")
	e.members(pl, p, depth, true)
	e.add("}")
}

// members writes the fields of the struct at p; first: there is none before them.
//
// What is absent is left out, as the mapping says, unless Defaults asks for it; fields with presence are
// absent even then, as there would be no way to tell them from those that are there.
func (e *encoder) members(pl *plan.Plan, p unsafe.Pointer, depth int, first bool) {
	ops := pl.Ops()
	for i := range ops {
		o := &ops[i]
		if e.err != nil {
			return
		}
		// Safety: p points to a pl.Go, and offset is that of one of its fields.
		f := unsafe.Add(p, o.Offset)
		// Its variants have names of their own; the oneof has none in JSON.
		if o.Do == plan.Union {
			first = e.union(pl, o, *(*shape.Face)(f), depth, first)
			continue
		}
		if pl.Absent(o, p) {
			switch {
			// Before Defaults: a zero in the place of what must be set would hide the fault.
			case pl.Required(o):
				e.failAt(pl, o, shape.WhyRequired)
				return
			case !e.Defaults || o.Do == plan.Message || o.Do == plan.Group || o.Do == plan.Scalar || pl.Fields[o.Index].Presence == shape.Nilable:
				continue
			}
		}
		first = e.name(pl, o, first)
		e.field(pl, o, f, depth)
	}
	e.extend(pl, p, depth, first)
}

// name begins a field, and gives what first is for the next one.
//
// Both names are read back by every implementation, so that the choice is one of taste.
func (e *encoder) name(pl *plan.Plan, o *plan.Op, first bool) bool {
	if !first {
		e.add(",")
	}
	name := pl.JSONName(o)
	if e.ProtoNames {
		name = pl.ProtoName(o)
	}
	e.b = append(json.AppendString(e.b, name), ':')
	return false
}

// union writes the field that a oneof holds.
//
// The field is written even if its value is zero: that it is the one which is set is what the oneof says.
func (e *encoder) union(pl *plan.Plan, o *plan.Op, f shape.Face, depth int, first bool) bool {
	// No variant, or a nil pointer to one: both are an empty oneof, as in the binary format.
	if f.Itab == 0 || f.Data == nil {
		return first
	}
	one, v := o.Held(f)
	if one == nil {
		e.failAt(pl, o, shape.WhyForeign)
		return first
	}
	// Safety: Data points to a one.Go, whose one field v is.
	p := unsafe.Add(f.Data, v.Offset)
	if (v.Do == plan.Message || v.Do == plan.Group) && *(*unsafe.Pointer)(p) == nil {
		e.failAt(one, v, shape.WhyNil)
		return first
	}
	// Errors from here on name the struct of the variant, where the field is in Go.
	first = e.name(one, v, first)
	e.field(one, v, p, depth)
	return first
}

// field writes what the field of o at p holds.
func (e *encoder) field(pl *plan.Plan, o *plan.Op, p unsafe.Pointer, depth int) {
	// Safety: for all loads: p points to a field of o.Type.Go.
	switch o.Do {
	case plan.Scalar:
		e.value(pl, o, o.Elem, o.Type.Elem, *(*unsafe.Pointer)(p), depth)
	case plan.List, plan.Packed:
		s := *(*shape.Slice)(p)
		e.add("[")
		for i := range s.Len {
			if i > 0 {
				e.add(",")
			}
			e.value(pl, o, o.Elem, o.Type.Elem, unsafe.Add(s.Data, i*o.Type.Elem.Size), depth)
		}
		e.add("]")
	case plan.Map:
		e.entries(pl, o, p, depth)
	default:
		e.value(pl, o, o.Do, o.Type, p, depth)
	}
}

// entries writes a map as an object, in the order of its keys' text.
//
// The mapping leaves the order open. Sorted output can be compared, cached and tested, and costs what the
// sorting of keys costs.
func (e *encoder) entries(pl *plan.Plan, o *plan.Op, p unsafe.Pointer, depth int) {
	// Safety: p points to a map of that type.
	m := reflect.NewAt(o.Type.Go, p).Elem()
	type entry struct {
		key   string
		value reflect.Value
	}
	all := make([]entry, 0, m.Len())
	for it := m.MapRange(); it.Next(); {
		all = append(all, entry{fmt.Sprint(plainKey(it.Key())), it.Value()})
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	e.add("{")
	// One value with an address for all: what a map holds has none.
	v := reflect.New(o.Type.Elem.Go)
	for i, x := range all {
		if i > 0 {
			e.add(",")
		}
		if !utf8.ValidString(x.key) {
			e.failAt(pl, o, "has a key that is not UTF-8")
			return
		}
		e.b = append(json.AppendString(e.b, x.key), ':')
		v.Elem().Set(x.value)
		e.value(pl, o, o.Value().Do, o.Type.Elem, v.UnsafePointer(), depth)
	}
	e.add("}")
}

// plainKey is a key as a value of Go's own type, whose text is the key's.
func plainKey(k reflect.Value) any {
	switch {
	case k.CanInt():
		return k.Int()
	case k.CanUint():
		return k.Uint()
	case k.Kind() == reflect.Bool:
		return k.Bool()
	}
	return k.String()
}

// value writes one value of type t at p.
//
// Integers of 64 bits are in quotes: a number in JSON is a double to most readers, which has 53.
// Bytes are base64 in the standard alphabet, with padding.
func (e *encoder) value(pl *plan.Plan, o *plan.Op, form plan.Form, t *shape.Type, p unsafe.Pointer, depth int) {
	// Safety: for all loads: p points to a t.Go, whose layout kind says.
	switch form {
	case plan.Message, plan.Group:
		q := *(*unsafe.Pointer)(p)
		if q == nil {
			e.failAt(pl, o, shape.WhyNil)
			return
		}
		e.message(plan.At(t.Struct), q, depth-1)
		return
	case plan.Text:
		s := *(*string)(p)
		if !utf8.ValidString(s) {
			e.failAt(pl, o, "is a string that is not UTF-8")
			return
		}
		e.b = json.AppendString(e.b, s)
		return
	case plan.Blob:
		e.b = append(e.b, '"')
		e.b = base64.StdEncoding.AppendEncode(e.b, *(*[]byte)(p))
		e.b = append(e.b, '"')
		return
	}
	switch t.Kind {
	case shape.Bool:
		e.b = strconv.AppendBool(e.b, *(*bool)(p))
	case shape.Int32:
		if o.Enum() {
			e.enum(t, *(*int32)(p))
			return
		}
		e.b = strconv.AppendInt(e.b, int64(*(*int32)(p)), 10)
	case shape.Uint32:
		e.b = strconv.AppendUint(e.b, uint64(*(*uint32)(p)), 10)
	case shape.Int64:
		e.b = append(strconv.AppendInt(append(e.b, '"'), *(*int64)(p), 10), '"')
	case shape.Uint64:
		e.b = append(strconv.AppendUint(append(e.b, '"'), *(*uint64)(p), 10), '"')
	case shape.Float32:
		e.float(float64(*(*float32)(p)), 32)
	case shape.Float64:
		e.float(*(*float64)(p), 64)
	}
}

// float writes a number, or what stands for one that is none.
//
// A float32 is written with the fewest digits that give it back as a float32, not as the double it would
// become.
func (e *encoder) float(f float64, bits int) {
	if math.IsNaN(f) || math.IsInf(f, 0) || bits == 64 {
		e.b = json.AppendDouble(e.b, f)
		return
	}
	e.b = strconv.AppendFloat(e.b, f, 'g', -1, bits)
}

// A textual is a generated enum, whose text is a name or, for a number without one, digits.
type textual interface{ MarshalText() ([]byte, error) }

// enum writes an enum by its name, if it has one.
//
// A number without a name is written as digits, which every reader of an open enum takes.
func (e *encoder) enum(t *shape.Type, n int32) {
	if nullValue(t) {
		e.add("null")
		return
	}
	// A type that is known by its schema alone has a table of names; a generated one has
	// them in its code.
	if t.Enum != nil && !e.Numbers {
		if name, ok := t.Enum.Names[n]; ok {
			e.b = json.AppendString(e.b, name)
			return
		}
	} else if !e.Numbers {
		x := reflect.New(t.Go).Elem()
		x.SetInt(int64(n))
		if m, ok := reflect.TypeAssert[textual](x); ok {
			// Digits mean that it has no name. They are written below, without quotes.
			if name, err := m.MarshalText(); err == nil && len(name) > 0 && name[0] != '-' && name[0]-'0' > 9 {
				e.b = json.AppendString(e.b, name)
				return
			}
		}
	}
	e.b = strconv.AppendInt(e.b, int64(n), 10)
}

// nullValue tells whether a type is google.protobuf.NullValue, which is null.
//
// It is the one enum whose values are no names in JSON. It is found by its name in Go, since an enum has
// no other at run time.
func nullValue(t *shape.Type) bool {
	if t.Enum != nil {
		return t.Enum.Title == "google.protobuf.NullValue"
	}
	return t.Go.Name() == "NullValue" && strings.HasSuffix(t.Go.PkgPath(), "/known")
}
