package thrift

import (
	"encoding/binary"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
)

// compactFields decodes the fields of a struct in the Compact protocol; see message and fields.
func (d *decoder) compactFields(pl *plan, base unsafe.Pointer, o, depth int) (int, fault) {
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
			if o, flt = d.strange(pl, base, h, o, depth-1); flt != fine {
				return o, flt
			}
			continue
		}
		// Safety: base points to a pl.Go, and offset and kind are those of one
		// of its fields: compile took them from reflection.
		p := unsafe.Add(base, f.Offset)
		if f.Kind == shape.Bool {
			*(*bool)(p), end = h.kind == compactTrue, o
		} else {
			end, flt = d.compactField(f, p, o, depth-1, h.kind)
		}
		if flt == wrongType {
			if end, flt = d.strange(pl, base, h, o, depth-1); flt == fine {
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
		return d.lacking(pl, seen, begin, o-1)
	}
	return o, fine
}

// strange passes over the field behind the header h, whose value begins at o, and
// keeps it if the struct at base has room for that.
//
// Safety: base points to a pl.Go.
func (d *decoder) strange(pl *plan, base unsafe.Pointer, h compactHead, o, depth int) (int, fault) {
	if pl.HasKept() {
		return d.keepCompact(pl, base, h, o, depth)
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

// compactValue is value in the Compact protocol, for anything but bools of fields.
func (d *decoder) compactValue(t *shape.Type, p unsafe.Pointer, o, depth int) (int, fault) {
	b := d.b
	// Safety: for all stores below: p points to a t.Go, whose layout kind says.
	switch t.Kind {
	case shape.String:
		n, end, f := d.compactSize(o)
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
		return d.compactBytes((*[]byte)(p), o)
	case shape.List, shape.Set:
		return d.list(t, p, o, depth)
	case shape.Map, shape.Pairs:
		return d.entries(t, p, o, depth)
	default: // shape.Union; a shape.Pointer is a field's only
		return d.union(t, (*shape.Face)(p), o, depth)
	}
}

// compactSize reads a length and holds it against the bytes that are left. With a
// fault n is 0.
func (d *decoder) compactSize(o int) (n, end int, f fault) {
	n, end, f = compactSize(d.b, o)
	if f == fine && n > len(d.b)-end {
		return 0, o, tooLarge
	}
	return n, end, f
}

func (d *decoder) compactBytes(p *[]byte, o int) (int, fault) {
	n, o, f := d.compactSize(o)
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

// compactField decodes the value of a field, of which kind is a bool's.
func (d *decoder) compactField(f *shape.Field, p unsafe.Pointer, o, depth int, kind compactKind) (int, fault) {
	// Safety: p points to an f.Type.Go.
	switch f.Kind {
	case shape.Bool:
		*(*bool)(p) = kind == compactTrue
		return o, fine
	case shape.Pointer:
		return d.pointer(f.Type.Elem, (*unsafe.Pointer)(p), o, kind)
	}
	return d.compactValue(f.Type, p, o, depth)
}

// compactList reads what precedes the elements of a list or set of type e.
func (d *decoder) compactList(e *shape.Type, o int) (n, end int, f fault) {
	kind, n, end, f := compactListHead(d.b, o)
	switch {
	case f == short && n > 0:
		return 0, o, tooLarge
	case f != fine || n == 0:
		return 0, end, f
	case compactTypes[kind] != wires[e.Kind]:
		return 0, end, wrongType
	}
	return n, end, fine
}

// compactMap reads what precedes the entries of a map.
func (d *decoder) compactMap(t *shape.Type, o int) (n, end int, f fault) {
	key, elem, n, end, f := compactMapHead(d.b, o)
	switch {
	case f == short && n > 0:
		return 0, o, tooLarge
	case f != fine || n == 0:
		return 0, end, f
	case compactTypes[key] != wires[t.Key.Kind] || compactTypes[elem] != wires[t.Elem.Kind]:
		return 0, end, wrongType
	}
	return n, end, fine
}
