package plan

import (
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// list decodes a list or a set into the slice at p, which is not touched unless
// all of it is right: an element of another type makes the field a skipped one.
//
// It tells four kinds of elements that are common, each with a loop without a choice in
// it, from all others. The order of the cases matters: structs and strings are most lists
// of most messages.
func (d *Decoder) list(t *shape.Type, p unsafe.Pointer, o, depth int) (n int, f raw.Fault) {
	e := t.Elem
	if depth <= 0 {
		return o, raw.TooDeep
	}
	if d.wire == inCompact {
		n, o, f = d.compactList(e, o)
	} else {
		n, o, f = d.binaryList(e, o)
	}
	if f != raw.Fine {
		return o, f
	}
	if n == 0 {
		// Safety: all slices have one layout, and there is no element.
		*(*[]byte)(p) = []byte{}
		return o, raw.Fine
	}
	if !d.Charges(n, e.Size) {
		return o, raw.TooCostly
	}
	// Safety: p points to a slice of elements with the layout of those that are
	// made here: of the same size, and with pointers at the same places.
	switch {
	case e.Kind == shape.Ref:
		s := make([]unsafe.Pointer, n)
		if o, f = d.structures(At(e.Struct), s, o, depth-1); f == raw.Fine {
			*(*[]unsafe.Pointer)(p) = s
		}
		return o, f
	case d.wire == inCompact && e.Kind == shape.Int64:
		s := make([]int64, n)
		if o, f = d.compactNumbers(s, o); f == raw.Fine {
			*(*[]int64)(p) = s
		}
		return o, f
	case e.Kind == shape.String:
		s := make([]string, n)
		if d.wire == inCompact {
			o, f = d.compactTexts(s, o)
		} else {
			o, f = d.Strings(s, o)
		}
		if f == raw.Fine {
			*(*[]string)(p) = s
		}
		return o, f
	case d.wire == inBinary && e.Kind.Fixed():
		return d.binaryNumbers(e, p, o, n), raw.Fine
	}
	s := t.Make(n)
	if d.wire == inCompact { // each element without the call of Value between
		for i := range n {
			if o, f = d.compactValue(e, unsafe.Add(s, i*e.Size), o, depth-1); f != raw.Fine {
				return o, f
			}
		}
	} else {
		for i := range n {
			if o, f = d.Value(e, unsafe.Add(s, i*e.Size), o, depth-1); f != raw.Fine {
				return o, f
			}
		}
	}
	*(*shape.Slice)(p) = shape.Slice{Data: s, Len: n, Cap: n}
	return o, raw.Fine
}

// structures decodes len(s) structs, which are made in slabs: one allocation for up to 64, so
// that a struct that is kept pins at most 16 KB of others. A message that
// declares many pays for each slab when it comes to it.
//
// Views within would have to be given back one by one after a fault. Lists can be long,
// so those have bytes of their own (apart), and nothing has to be given back.
func (d *Decoder) structures(pl *Plan, s []unsafe.Pointer, o, depth int) (int, raw.Fault) {
	if depth <= 0 {
		return o, raw.TooDeep
	}
	if pl.HasViews && d.lim != nil && d.body.Len() != 0 {
		body := d.apart()
		o, f := d.structures(pl, s, o, depth)
		d.body = body
		return o, f
	}
	for len(s) > 0 {
		n := min(len(s), pl.Slab)
		if !d.Charges(n, pl.Size) {
			return o, raw.TooCostly
		}
		slab := reflect.MakeSlice(pl.Slices, n, n).UnsafePointer()
		for i := range n {
			// Safety: the slab has n structs of that size.
			q := unsafe.Add(slab, i*pl.Size)
			if pl.HasPreset() && !d.Defaults(pl, q) {
				return o, raw.TooCostly
			}
			var f raw.Fault
			if o, f = d.Fields(pl, q, o, depth); f != raw.Fine {
				return o, f
			}
			s[i] = q
		}
		s = s[n:]
	}
	return o, raw.Fine
}
