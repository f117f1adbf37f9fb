package thrift

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
)

// A compactDecoder is a decoder that reads the Compact protocol. What the two
// have in common is the decoder's: budget, string window, blame.
type compactDecoder struct{ decoder }

// fields decodes the fields of a struct at b[o:], up to and with its stop, into
// the pl.Go at base; see decoder.fields.
func (d *compactDecoder) fields(pl *plan, base unsafe.Pointer, o, depth int) (int, fault) {
	if depth <= 0 {
		return o, tooDeep
	}
	begin, next := o, 0
	var seen uint64
	var h compactHead
	for {
		end, flt := h.read(d.b, o)
		if flt != fine {
			return end, flt
		}
		if o = end; h.kind == compactStop {
			break
		}
		var f *shape.Field
		if head := h.head(); next < len(pl.Fields) && pl.Fields[next].Tag == head {
			f = &pl.Fields[next]
			next++
		} else if f, next = pl.find(head); f == nil {
			if o, flt = d.pass(pl, base, h, o, depth-1); flt != fine {
				return o, flt
			}
			continue
		}
		// Safety: base points to a pl.Go, and offset and kind are those of one
		// of its fields: compile took them from reflection.
		p := unsafe.Add(base, f.Offset)
		switch {
		case f.Kind == shape.Bool:
			*(*bool)(p) = h.kind == compactTrue
		case f.Kind == shape.Pointer:
			end, flt = d.pointer(f.Type.Elem, (*unsafe.Pointer)(p), o, h.kind)
		default:
			end, flt = d.value(f.Type, p, o, depth-1)
		}
		if flt == wrongType {
			if end, flt = d.pass(pl, base, h, o, depth-1); flt == fine {
				o = end
				continue
			}
		}
		if flt != fine {
			return d.blame(pl, f, end, flt)
		}
		o = end
		seen |= f.Bit
	}
	if seen != pl.Bits || pl.Wide {
		return d.lacking(pl, seen, begin, o)
	}
	return o, fine
}

// pass passes over the field behind the header h, whose value begins at o, and
// keeps it if the struct at base has room for that.
//
// Safety: base points to a pl.Go.
func (d *compactDecoder) pass(pl *plan, base unsafe.Pointer, h compactHead, o, depth int) (int, fault) {
	if pl.HasKept() {
		return d.keep(pl, base, h, o, depth)
	}
	return skipCompactField(d.b, o, h.kind, depth)
}

// A compactHead is the header of a field; its id is told by how far it is from
// the one before in the same struct.
type compactHead struct {
	kind compactKind
	id   int16
}

// head is it as a plan has it.
func (h *compactHead) head() uint32 {
	return uint32(compactTypes[h.kind])<<16 | uint32(uint16(h.id))
}

// read reads the header at b[o:] that comes after h.
func (h *compactHead) read(b []byte, o int) (int, fault) {
	if o >= len(b) {
		return o + 1, short
	}
	c := b[o]
	if h.kind = compactKind(c & 15); h.kind == compactStop {
		return o + 1, fine // whatever the other half says, as in Apache's libraries
	}
	if compactTypes[h.kind] == 0 {
		return o, badType
	}
	if delta := c >> 4; delta != 0 {
		h.id += int16(delta)
		return o + 1, fine
	}
	v, end, f := uvarint(b, o+1)
	h.id = int16(unzigzag(v))
	return end, f
}

// lacking finds the first required field that was not seen; see
// decoder.lacking. The struct ends at o.
func (d *compactDecoder) lacking(pl *plan, seen uint64, begin, o int) (int, fault) {
	there := map[uint32]bool{}
	var h compactHead
	for at := begin; pl.Wide && at < o; {
		at, _ = h.read(d.b, at)
		there[h.head()] = true
		at, _ = skipCompactField(d.b, at, h.kind, 1<<30) // its depth was checked before
	}
	for i := range pl.Fields {
		f := &pl.Fields[i]
		if f.Rule == shape.Required && (f.Bit != 0 && seen&f.Bit == 0 || f.Bit == 0 && !there[f.Tag]) {
			return d.blame(pl, f, o-1, missing)
		}
	}
	return o, fine
}

// value decodes a value at b[o:] into p, which points to a t.Go; see
// decoder.value.
func (d *compactDecoder) value(t *shape.Type, p unsafe.Pointer, o, depth int) (int, fault) {
	b := d.b
	// Safety: for all stores below: p points to a t.Go, whose layout kind says.
	switch t.Kind {
	case shape.String:
		n, end, f := d.size(o)
		if f == fine {
			*(*string)(p) = d.texts.Copy(b, end, n)
		}
		return end + n, f
	case shape.Ref:
		return d.structure(planAt(t.Struct), p, o, depth)
	case shape.Int64, shape.Float64:
		if t.Kind == shape.Float64 {
			if len(b)-o < 8 {
				return o, short
			}
			*(*uint64)(p) = binary.LittleEndian.Uint64(b[o:])
			return o + 8, fine
		}
		v, end, f := uvarint(b, o)
		*(*int64)(p) = unzigzag(v)
		return end, f
	case shape.Int32:
		v, end, f := uvarint(b, o)
		*(*int32)(p) = int32(unzigzag(uint64(uint32(v))))
		return end, f
	case shape.Int16:
		v, end, f := uvarint(b, o)
		*(*int16)(p) = int16(unzigzag(uint64(uint32(v))))
		return end, f
	case shape.Int8:
		if o >= len(b) {
			return o, short
		}
		*(*uint8)(p) = b[o]
		return o + 1, fine
	case shape.Bool:
		if o >= len(b) {
			return o, short
		}
		*(*bool)(p) = b[o] == byte(compactTrue)
		return o + 1, fine
	case shape.UUID:
		if len(b)-o < 16 {
			return o, short
		}
		copy((*(*UUID)(p))[:], b[o:])
		return o + 16, fine
	case shape.Bytes:
		return d.bytes((*[]byte)(p), o)
	case shape.List, shape.Set:
		return d.list(t, p, o, depth)
	case shape.Map, shape.Pairs:
		return d.entries(t, p, o, depth)
	default: // shape.Union; a shape.Pointer is a field's only
		return d.union(t, (*shape.Face)(p), o, depth)
	}
}

// size reads a length and holds it against the bytes that are left. With a
// fault n is 0.
func (d *compactDecoder) size(o int) (n, end int, f fault) {
	n, end, f = compactSize(d.b, o)
	if f == fine && n > len(d.b)-end {
		return 0, o, tooLarge
	}
	return n, end, f
}

func (d *compactDecoder) bytes(p *[]byte, o int) (int, fault) {
	n, o, f := d.size(o)
	if f != fine {
		return o, f
	}
	if !d.Charge(n) {
		return o, tooCostly
	}
	s := make([]byte, n)
	copy(s, d.b[o:])
	*p = s
	return o + n, fine
}

// pointer decodes an optional scalar, of which kind is a bool's value.
func (d *compactDecoder) pointer(t *shape.Type, p *unsafe.Pointer, o int, kind compactKind) (int, fault) {
	if !d.Charge(t.Size) {
		return o, tooCostly
	}
	// Safety: the memory has t's size and, but for strings, no pointers; it is
	// aligned for it, because the allocator aligns by size.
	var q unsafe.Pointer
	switch t.Kind {
	case shape.Bool:
		v := kind == compactTrue
		*p = unsafe.Pointer(&v)
		return o, fine
	case shape.Int8:
		q = unsafe.Pointer(new(uint8))
	case shape.Int16:
		q = unsafe.Pointer(new(uint16))
	case shape.Int32:
		q = unsafe.Pointer(new(uint32))
	case shape.Int64, shape.Float64:
		q = unsafe.Pointer(new(uint64))
	case shape.UUID:
		q = unsafe.Pointer(new(UUID))
	default:
		q = unsafe.Pointer(new(string))
	}
	o, f := d.value(t, q, o, 0)
	if f == fine {
		*p = q
	}
	return o, f
}

// structure decodes a struct and makes p point to it.
func (d *compactDecoder) structure(pl *plan, p unsafe.Pointer, o, depth int) (int, fault) {
	if depth <= 0 {
		return o, tooDeep
	}
	q, ok := d.fresh(pl)
	if !ok {
		return o, tooCostly
	}
	// Safety: p points to a *pl.Go.
	*(*unsafe.Pointer)(p) = q
	if pl.of != nil {
		return d.view(pl.of, pl.viewAt(q), o, depth)
	}
	return d.fields(pl, q, o, depth)
}

// union decodes a struct of which one field counts; see decoder.union.
func (d *compactDecoder) union(t *shape.Type, p *shape.Face, o, depth int) (int, fault) {
	if depth <= 0 {
		return o, tooDeep
	}
	*p = shape.Face{}
	var h compactHead
	for {
		end, flt := h.read(d.b, o)
		if flt != fine {
			return end, flt
		}
		if o = end; h.kind == compactStop {
			return o, fine
		}
		flt = wrongType
		if v := t.Variant(h.head()); v != nil {
			q, ok := d.fresh(planAt(v.Struct))
			if !ok {
				return o, tooCostly
			}
			f := &v.Struct.Fields[0]
			// Safety: q points to a v.Struct.Go, whose one field f is; v.Itab is
			// that of *v.Struct.Go as the interface that p points to.
			at := unsafe.Add(q, f.Offset)
			switch f.Kind {
			case shape.Bool:
				*(*bool)(at), flt = h.kind == compactTrue, fine
			case shape.Pointer:
				end, flt = d.pointer(f.Type.Elem, (*unsafe.Pointer)(at), o, h.kind)
			default:
				end, flt = d.value(f.Type, at, o, depth-1)
			}
			switch flt {
			case fine:
				*p = shape.Face{Itab: v.Itab, Data: q}
				o = end
			case wrongType:
			default:
				return d.blame(planAt(v.Struct), f, end, flt)
			}
		}
		if flt == wrongType {
			if o, flt = skipCompactField(d.b, o, h.kind, depth-1); flt != fine {
				return o, flt
			}
		}
	}
}

// list decodes a list or a set into the slice at p; see decoder.list.
func (d *compactDecoder) list(t *shape.Type, p unsafe.Pointer, o, depth int) (int, fault) {
	e := t.Elem
	if depth <= 0 {
		return o, tooDeep
	}
	kind, n, end, f := compactListHead(d.b, o)
	if f == short && n > 0 {
		return o, tooLarge
	}
	if o = end; f != fine {
		return o, f
	}
	if n == 0 {
		// Safety: all slices have one layout, and there is no element.
		*(*[]byte)(p) = []byte{}
		return o, fine
	}
	if compactTypes[kind] != wires[e.Kind] {
		return o, wrongType
	}
	if !d.Charges(n, e.Size) {
		return o, tooCostly
	}
	if e.Kind == shape.Ref {
		s := make([]unsafe.Pointer, n)
		if o, f = d.structures(planAt(e.Struct), s, o, depth-1); f == fine {
			// Safety: p points to a slice of pointers to structs.
			*(*[]unsafe.Pointer)(p) = s
		}
		return o, f
	}
	s := d.room(t, n)
	if e.Kind == shape.Int64 {
		// Safety: s points to n numbers of 64 bits, and p to a slice of such.
		if o, f = d.numbers(unsafe.Slice((*int64)(s), n), o); f == fine {
			*(*shape.Slice)(p) = shape.Slice{Data: s, Len: n, Cap: n}
		}
		return o, f
	}
	for i := range n {
		// Safety: s points to n elements of that size.
		if o, f = d.value(e, unsafe.Add(s, i*e.Size), o, depth-1); f != fine {
			return o, f
		}
	}
	// Safety: p points to a slice of elements with that layout.
	*(*shape.Slice)(p) = shape.Slice{Data: s, Len: n, Cap: n}
	return o, fine
}

// room makes n elements of a list, without reflection for those that are common.
func (d *compactDecoder) room(t *shape.Type, n int) unsafe.Pointer {
	// Safety: the elements have the same size and pointers at the same places
	// as those of t.Go.
	switch t.Elem.Kind {
	case shape.Bool, shape.Int8:
		return unsafe.Pointer(unsafe.SliceData(make([]uint8, n)))
	case shape.Int16:
		return unsafe.Pointer(unsafe.SliceData(make([]uint16, n)))
	case shape.Int32:
		return unsafe.Pointer(unsafe.SliceData(make([]uint32, n)))
	case shape.Int64, shape.Float64:
		return unsafe.Pointer(unsafe.SliceData(make([]uint64, n)))
	case shape.String:
		return unsafe.Pointer(unsafe.SliceData(make([]string, n)))
	}
	return reflect.MakeSlice(t.Go, n, n).UnsafePointer()
}

// structures decodes len(s) structs, which are made in slabs; see
// decoder.structures.
func (d *compactDecoder) structures(pl *plan, s []unsafe.Pointer, o, depth int) (int, fault) {
	if depth <= 0 {
		return o, tooDeep
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
