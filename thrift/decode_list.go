package thrift

import (
	"encoding/binary"
	"math"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// list decodes a list or a set into the slice at p, which is not touched unless
// all of it is right: an element of another type makes the field a skipped one.
func (d *decoder) list(t *shape.Type, p unsafe.Pointer, o, depth int) (int, fault) {
	b, e := d.b, t.Elem
	if depth <= 0 {
		return o, tooDeep
	}
	if len(b)-o < 5 {
		return o, short
	}
	have, count := Type(b[o]), binary.BigEndian.Uint32(b[o+1:])
	if count == 0 {
		// Safety: all slices have one layout, and there is no element.
		*(*[]byte)(p) = []byte{}
		return o + 5, fine
	}
	if have != wires[e.Kind] {
		return o, wrongType
	}
	n, f := d.count(count, least[have], o+5)
	if f != fine {
		return o, f
	}
	if !d.Charges(n, e.Size) {
		return o, tooCostly
	}
	o += 5
	// Safety: p points to a slice of elements with the layout of those that are
	// made here: of the same size, and with pointers at the same places.
	switch e.Kind {
	case shape.Bool:
		s := make([]bool, n)
		for i, c := range b[o : o+n] {
			s[i] = c == 1
		}
		*(*[]bool)(p) = s
		return o + n, fine
	case shape.Int8:
		src := b[o : o+n]
		s := make([]byte, len(src))
		copy(s, src)
		*(*[]byte)(p) = s
		return o + n, fine
	case shape.Int16:
		s := codec.Room[uint16](n)
		codec.From16(s, b[o:])
		*(*[]uint16)(p) = s
		return o + 2*n, fine
	case shape.Int32:
		s := codec.Room[uint32](n)
		codec.From32(s, b[o:])
		*(*[]uint32)(p) = s
		return o + 4*n, fine
	case shape.Int64, shape.Float64:
		s := codec.Room[uint64](n)
		codec.From64(s, b[o:])
		*(*[]uint64)(p) = s
		return o + 8*n, fine
	case shape.UUID:
		s := make([]UUID, n)
		for i := range s {
			s[i] = UUID(b[o+16*i:])
		}
		*(*[]UUID)(p) = s
		return o + 16*n, fine
	case shape.String:
		s := make([]string, n)
		if o, f = d.strings(s, o); f == fine {
			*(*[]string)(p) = s
		}
		return o, f
	case shape.Ref:
		s := make([]unsafe.Pointer, n)
		if o, f = d.structures(planAt(e.Struct), s, o, depth-1); f == fine {
			*(*[]unsafe.Pointer)(p) = s
		}
		return o, f
	}
	s := reflect.MakeSlice(t.Go, n, n).UnsafePointer()
	for i := range n {
		if o, f = d.value(e, unsafe.Add(s, i*e.Size), o, depth-1); f != fine {
			return o, f
		}
	}
	*(*shape.Slice)(p) = shape.Slice{Data: s, Len: n, Cap: n}
	return o, fine
}

// count checks a declared number of elements against the bytes from o on, each
// taking at least size.
func (d *decoder) count(declared uint32, size uint8, o int) (int, fault) {
	if declared > math.MaxInt32 {
		return 0, negative
	}
	if int64(declared)*int64(size) > int64(len(d.b)-o) {
		return 0, tooLarge
	}
	return int(declared), fine
}

func (d *decoder) strings(s []string, o int) (int, fault) {
	b := d.b
	for i := range s {
		if len(b)-o < 4 {
			return o, short
		}
		n := int(binary.BigEndian.Uint32(b[o:]))
		if uint(n) > uint(len(b)-o-4) {
			return o, tooLarge
		}
		if o += 4; d.texts.Fits(n, len(b)-o) {
			s[i] = d.texts.Take(codec.HeadOf(b[o:]), n)
		} else {
			s[i] = d.texts.Copy(b, o, n)
		}
		o += n
	}
	return o, fine
}

// structures decodes len(s) structs, which are made in slabs. A message that
// declares many pays for each slab when it comes to it.
func (d *decoder) structures(pl *plan, s []unsafe.Pointer, o, depth int) (int, fault) {
	if depth <= 0 {
		return o, tooDeep
	}
	if pl.views && d.lim != nil && d.body.Len() != 0 {
		body := d.apart()
		o, f := d.structures(pl, s, o, depth)
		d.body = body
		return o, f
	}
	for len(s) > 0 {
		n := min(len(s), pl.Slab)
		if !d.Charges(n, pl.Size) {
			return o, tooCostly
		}
		slab := reflect.MakeSlice(pl.Slices, n, n).UnsafePointer()
		for i := range n {
			// Safety: the slab has n structs of that size.
			q := unsafe.Add(slab, i*pl.Size)
			if pl.HasPreset() && !d.defaults(pl, q) {
				return o, tooCostly
			}
			var f fault
			if o, f = d.fields(pl, q, o, depth); f != fine {
				return o, f
			}
			s[i] = q
		}
		s = s[n:]
	}
	return o, fine
}
