package plan

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// stray deals with a field that the struct does not have, or has with another wire type. op is the field of that
// number, if there is one: numbers may be packed or not, whatever the field says. Everything else
// is kept as it is, if the struct keeps such fields.
func (d *Decoder) stray(pl *Plan, op *Op, base unsafe.Pointer, b []byte, from, o int, tag uint32, depth int) (int, raw.Fault) {
	// The same list in its other form; both may come in one message.
	if op != nil && op.Alt == tag {
		// Safety: base points to a pl.Go, and offset is that of its field, a slice.
		p := unsafe.Add(base, op.Offset)
		end, f := 0, raw.Fine
		if op.Do == List {
			end, f = d.packed(pl, op, (*shape.Slice)(p), b, o)
		} else {
			end, f = d.list(pl, op, p, b, from, o, depth)
		}
		if f != raw.Fine {
			return d.blame(pl, op, end, f)
		}
		return end, f
	}
	// It is parsed although nobody asks for it: a group has no length, and what is kept will be sent.
	end, f := raw.Skip(b, o, tag, depth-1)
	if f != raw.Fine {
		return end, f
	}
	return d.keep(pl, base, b[o:end], end, tag)
}

// keep adds a field to what the struct at base keeps, if it keeps any. Its tag is written anew, since it
// may have been longer than it needs to be.
func (d *Decoder) keep(pl *Plan, base unsafe.Pointer, value []byte, end int, tag uint32) (int, raw.Fault) {
	if !pl.HasKept() {
		return end, raw.Fine
	}
	// Twice its length, since append grows by doubling.
	if d.Budget -= 2 * codec.Budget(len(value)+5); d.Budget < 0 {
		return end, raw.TooCostly
	}
	u := pl.Kept(base)
	*u = append(binary.AppendUvarint(*u, uint64(tag)), value...)
	return end, raw.Fine
}

// known tells whether a closed enum of that type has a name for the number v.
func known(t *shape.Type, v uint64) bool {
	if t.Enum != nil {
		_, ok := t.Enum.Names[int32(v)]
		return ok
	}
	x := reflect.New(t.Go).Elem()
	x.SetInt(int64(int32(v)))
	k, ok := reflect.TypeAssert[knower](x)
	return ok && k.Known()
}

// closed decodes a closed enum, or a pointer to one, into the field at p: a number without a name is
// an unknown field.
func (d *Decoder) closed(pl *Plan, op *Op, p unsafe.Pointer, b []byte, from, o int) (int, raw.Fault) {
	t := op.Type
	if op.Do == Scalar {
		t = t.Elem
	}
	v, end, f := raw.Uvarint(b, o)
	if f != raw.Fine || !known(t, v) {
		return d.putAside(pl, op, f, p, b, from, end)
	}
	if op.Do == Scalar {
		if !d.Charge(t.Size) {
			return o, raw.TooCostly
		}
		q := t.NewScalar()
		// Safety: p points to a pointer to an enum.
		*(*unsafe.Pointer)(p) = q
		p = q
	}
	store(Closed, p, v)
	return end, raw.Fine
}

// putAside keeps a field whose closed enum has no name for its number, unless there is a fault. p is where
// the field is in its struct.
func (d *Decoder) putAside(pl *Plan, op *Op, f raw.Fault, p unsafe.Pointer, b []byte, from, end int) (int, raw.Fault) {
	if f != raw.Fine {
		return end, f
	}
	tag, at, _ := raw.ReadTag(b, from)
	// Safety: p points to the field of op in a pl.Go.
	return d.keep(pl, unsafe.Add(p, -int(op.Offset)), b[at:end], end, tag)
}
