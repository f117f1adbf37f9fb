package plan

import (
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// A lack is a message without all of its required fields. They may still come: a message that
// comes twice is merged. So this is judged when all has been read.
type lack struct {
	seen  uint64 // the bits of those that came
	at    int    // where the message ended
	where string
}

// lackBytes is about what a lack takes.
const lackBytes = 128

// lacking notes that the struct at base lacks required fields, unless they came before. seen has
// no bits for those after the 64th; then the struct, which begins at b[begin:], is gone through again.
func (d *Decoder) lacking(pl *Plan, base unsafe.Pointer, seen uint64, b []byte, begin, end int) (int, raw.Fault) {
	had, known := d.lacks[base]
	seen |= had.seen
	first := pl.missing(seen, b, begin, end)
	switch {
	case first == nil && known:
		delete(d.lacks, base)
		return end, raw.Fine
	case first == nil:
		return end, raw.Fine
	case !known && !d.Charge(lackBytes):
		return end, raw.TooCostly
	case d.lacks == nil:
		d.lacks = map[unsafe.Pointer]lack{}
	}
	d.lacks[base] = lack{seen, end, pl.Title + "." + pl.Names[first.Index].IDL}
	return end, raw.Fine
}

// missing finds the first required field that was not seen; nil: there is none.
func (pl *Plan) missing(seen uint64, b []byte, begin, end int) *Op {
	there := map[uint32]bool{}
	for o := begin; pl.Wide && o < end; {
		tag, at, f := raw.ReadTag(b, o)
		if f != raw.Fine || raw.Wire(tag&7) == raw.EndGroup {
			break
		}
		there[tag] = true
		o, _ = raw.Skip(b, at, tag, 1<<30) // its depth was checked before
	}
	for i := range pl.ops {
		o := &pl.ops[i]
		if pl.Fields[o.Index].Rule == shape.Required && (o.Bit != 0 && seen&o.Bit == 0 || o.Bit == 0 && !there[o.Tag]) {
			return o
		}
	}
	return nil
}

// again decodes one more message into the struct at q, which has been decoded into before: what
// it had then need not come again.
func (d *Decoder) again(op *Op, form Form, q unsafe.Pointer, b []byte, o, depth int) (int, raw.Fault) {
	_, lacked := d.lacks[q]
	end, f := d.message(op, form, q, b, o, depth)
	if !lacked && d.lacks != nil {
		delete(d.lacks, q)
	}
	return end, f
}

// judge gives the first of the lacks in what the struct at p refers to: what was replaced since does not
// count. It is nil if there is none.
func (d *Decoder) judge(pl *Plan, p unsafe.Pointer) (first *lack) {
	if x, ok := d.lacks[p]; ok {
		first = &x
	}
	sooner := func(pl *Plan, q unsafe.Pointer) {
		if q == nil {
			return
		}
		if x := d.judge(pl, q); x != nil && (first == nil || x.at < first.at) {
			first = x
		}
	}
	for i := range pl.ops {
		o := &pl.ops[i]
		// Safety: p points to a pl.Go, and offset and form are those of one of its fields.
		f := unsafe.Add(p, o.Offset)
		switch {
		case o.Do == Message, o.Do == Group:
			sooner(o.Plan, *(*unsafe.Pointer)(f))
		case o.Do == List && o.Plan != nil:
			for _, q := range *(*[]unsafe.Pointer)(f) {
				sooner(o.Plan, q)
			}
		case o.Do == Map && o.in.value.Plan != nil:
			for it := reflect.NewAt(o.Type.Go, f).Elem().MapRange(); it.Next(); {
				sooner(o.in.value.Plan, it.Value().UnsafePointer())
			}
		case o.Do == Union:
			if v := o.Type.Holds(*(*shape.Face)(f)); v != nil {
				sooner(at(v.Struct), (*shape.Face)(f).Data)
			}
		}
	}
	return first
}
