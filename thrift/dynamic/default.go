package dynamic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// maxDefault bounds one default value: constants that are made of each other
// can be far larger than their text.
//
// Sixty constants of which each is a list of the one before twice would be 2^60 elements.
const maxDefault = 1 << 20

// maxDefaults bounds those of one method or message together.
const maxDefaults = 16 << 20

// defaults turns values of an IDL, which idl has checked against their types,
// into Thrift's form.
//
// They are made once, when the codec is; a method's come out of one IDL, which may have
// been a server's.
type defaults struct{ err error }

// fail keeps the first error.
func (d *defaults) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// value appends v as a t. The bytes are made once for a schema and copied into each message that lacks
// the field.
//
// It has a case for each kind of type, as every codec here has; the length is that of the
// table.
func (d *defaults) value(b []byte, t *typ, v *idl.Value, depth int) []byte {
	for v.Const != nil { // a loaded schema has no circle
		v = v.Const.Value
	}
	if depth > maxDepth || len(b) > maxDefault {
		d.fail(errors.New("it is too large"))
	}
	if d.err != nil {
		return b
	}
	n := v.Int
	if v.EnumValue != nil {
		n = int64(v.EnumValue.Value)
	}
	switch t.kind {
	case idl.Bool:
		if n != 0 {
			return append(b, 1)
		}
		return append(b, 0)
	case idl.I8:
		return append(b, byte(n))
	case idl.I16:
		return binary.BigEndian.AppendUint16(b, uint16(n))
	case idl.I32, idl.EnumRef:
		return binary.BigEndian.AppendUint32(b, uint32(n))
	case idl.I64:
		return binary.BigEndian.AppendUint64(b, uint64(n))
	case idl.Double:
		x := float64(n)
		if v.Kind == idl.DoubleValue {
			var err error
			if x, err = strconv.ParseFloat(v.Text, 64); err != nil {
				d.fail(err)
			}
		}
		return binary.BigEndian.AppendUint64(b, math.Float64bits(x))
	case idl.String, idl.Binary:
		return append(binary.BigEndian.AppendUint32(b, uint32(len(v.Text))), v.Text...)
	case idl.UUID:
		id, ok := v.UUID()
		if !ok {
			d.fail(fmt.Errorf("%s is not a uuid", v))
		}
		return append(b, id[:]...)
	case idl.List, idl.Set:
		b = binary.BigEndian.AppendUint32(append(b, byte(t.elem.wire)), uint32(len(v.List)))
		for _, x := range v.List {
			b = d.value(b, t.elem, x, depth+1)
		}
		return b
	case idl.Map:
		b = binary.BigEndian.AppendUint32(append(b, byte(t.key.wire), byte(t.elem.wire)), uint32(len(v.Map)))
		for _, e := range v.Map {
			b = d.value(b, t.key, e.Key, depth+1)
			b = d.value(b, t.elem, e.Value, depth+1)
		}
		return b
	}
	for _, e := range v.Map {
		f := t.shape.find(e.Key.Text)
		if f == nil {
			d.fail(fmt.Errorf("%s has no field %q", t.shape.name, e.Key.Text))
			return b
		}
		b = d.value(appendHead(b, f), f.t, e.Value, depth+1)
	}
	// Fields that are not named keep their own defaults: the receiver of a
	// struct has them.
	return append(b, byte(raw.TypeStop))
}

// appendHead appends the header of a field: its type on the wire and its id.
func appendHead(b []byte, f *field) []byte {
	return append(b, byte(f.t.wire), byte(uint16(f.id)>>8), byte(f.id))
}
