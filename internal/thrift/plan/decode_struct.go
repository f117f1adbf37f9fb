package plan

import (
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// maxHanded is how many structs of a message are handed to their generated
// methods, which copy strings to memory of their own each. No method has more
// arguments worth it, but one can come any number of times.
const maxHanded = 16

// structure decodes a struct and makes p point to it.
func (d *Decoder) structure(pl *Plan, p unsafe.Pointer, o, depth int) (int, raw.Fault) {
	if depth <= 0 {
		return o, raw.TooDeep
	}
	if pl.HasViews {
		return d.withViews(pl, p, o, depth)
	}
	if depth == d.hand && pl.made != 0 && d.handed < maxHanded {
		d.handed++
		if !d.Charge(pl.Size) {
			return o, raw.TooCostly
		}
		q := reflect.New(pl.Go).UnsafePointer() // ReadThrift sets the defaults
		// Safety: p points to a *pl.Go.
		*(*unsafe.Pointer)(p) = q
		return d.generated(pl, q, o, depth)
	}
	q, ok := d.Fresh(pl)
	if !ok {
		return o, raw.TooCostly
	}
	// Safety: p points to a *pl.Go.
	*(*unsafe.Pointer)(p) = q
	return d.Fields(pl, q, o, depth)
}

// union decodes a struct of which one field counts: the last one that is known.
// Without any, p becomes nil.
//
// A variant that is not known leaves the union unset, in all wires alike: a receiver with
// an older IDL sees that there is something it does not know. Every known variant that
// comes is decoded, since the last one counts; those before it are garbage, and were
// charged for.
func (d *Decoder) union(t *shape.Type, p *shape.Face, o, depth int) (int, raw.Fault) {
	if depth <= 0 {
		return o, raw.TooDeep
	}
	*p = shape.Face{}
	var h raw.CompactHead
	for {
		head, end, flt := d.head(&h, o)
		if o = end; flt != raw.Fine || head == 0 {
			return o, flt
		}
		flt = raw.WrongType
		if v := t.Variant(head); v != nil {
			q, ok := d.Fresh(At(v.Struct))
			if !ok {
				return o, raw.TooCostly
			}
			f := &v.Struct.Fields[0]
			// Safety: q points to a v.Struct.Go, whose one field f is; v.Itab is
			// that of *v.Struct.Go as the interface that p points to.
			end, flt = d.variant(f, unsafe.Add(q, f.Offset), o, depth-1, h.Kind)
			switch flt {
			case raw.Fine:
				*p = shape.Face{Itab: v.Itab, Data: q}
				o = end
			case raw.WrongType:
			default:
				return d.Blame(At(v.Struct), f, end, flt)
			}
		}
		if flt == raw.WrongType {
			if o, flt = d.pass(head, &h, o, depth-1); flt != raw.Fine {
				return o, flt
			}
		}
	}
}

// variant decodes the field of a variant. Views in it have bytes of their own.
func (d *Decoder) variant(f *shape.Field, p unsafe.Pointer, o, depth int, kind raw.CompactKind) (end int, flt raw.Fault) {
	if d.wire == inCompact {
		return d.compactField(f, p, o, depth, kind)
	}
	if d.lim == nil {
		return d.Value(f.Type, p, o, depth)
	}
	body := d.apart()
	end, flt = d.Value(f.Type, p, o, depth)
	d.body = body
	return end, flt
}
