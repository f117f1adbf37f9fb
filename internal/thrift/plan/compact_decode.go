package plan

import (
	"encoding/binary"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// compactFields is [Decoder.Fields] in the Compact protocol. Its loop is one of its own: a
// header is one byte that tells the id by the distance from the one before, so that nothing of
// it can be compared with a plan's tag before it was read, and a bool's value is in its header.
func (d *Decoder) compactFields(pl *Plan, base unsafe.Pointer, o, depth int) (int, raw.Fault) {
	if depth <= 0 {
		return o, raw.TooDeep
	}
	begin, next := o, 0
	var seen uint64
	var h raw.CompactHead
	for {
		end, flt := h.Read(d.B, o)
		if flt != raw.Fine {
			return end, flt
		}
		if o = end; h.Kind == raw.CompactStop {
			break
		}
		var f *shape.Field
		if head := h.Tag(); next < len(pl.Fields) && pl.Fields[next].Tag == head {
			f = &pl.Fields[next]
			next++
		} else if f, next = pl.Find(head); f == nil {
			if o, flt = d.strange(pl, base, h, o, depth-1); flt != raw.Fine {
				return o, flt
			}
			continue
		}
		// Safety: base points to a pl.Go, and offset and kind are those of one
		// of its fields: compile took them from reflection.
		p := unsafe.Add(base, f.Offset)
		switch f.Kind { // what most fields are goes without compactField's call
		case shape.Bool:
			*(*bool)(p), end = h.Kind == raw.CompactTrue, o
		case shape.String:
			end, flt = d.compactText((*string)(p), o)
		case shape.Pointer:
			end, flt = d.pointer(f.Type.Elem, (*unsafe.Pointer)(p), o, h.Kind)
		default:
			end, flt = d.compactValue(f.Type, p, o, depth-1)
		}
		if flt == raw.WrongType {
			if end, flt = d.strange(pl, base, h, o, depth-1); flt == raw.Fine {
				o = end
				continue
			}
		}
		if flt != raw.Fine {
			return d.Blame(pl, f, end, flt)
		}
		o = end
		seen |= f.Bit
	}
	if seen != pl.Bits || pl.Wide {
		return d.lacking(pl, seen, begin, o-1)
	}
	return o, raw.Fine
}

// strange passes over the field behind the header h, whose value begins at o, and
// keeps it if the struct at base has room for that.
//
// Safety: base points to a pl.Go.
//
// Its type is not looked at either: that of a known field which came as another type ends
// here too.
func (d *Decoder) strange(pl *Plan, base unsafe.Pointer, h raw.CompactHead, o, depth int) (int, raw.Fault) {
	if pl.HasKept() {
		return d.keepCompact(pl, base, h, o, depth)
	}
	return raw.SkipCompactField(d.B, o, h.Kind, depth)
}

// compactValue is [Decoder.Value] in the Compact protocol, for anything but bools of fields.
//
// Numbers are varints. As Apache's libraries do, an i16 or i32 takes one of up to ten bytes and
// drops what does not fit. Doubles are little-endian, unlike everything in Binary.
func (d *Decoder) compactValue(t *shape.Type, p unsafe.Pointer, o, depth int) (int, raw.Fault) {
	b := d.B
	// Safety: for all stores below: p points to a t.Go, whose layout kind says.
	switch t.Kind {
	case shape.String:
		return d.compactText((*string)(p), o)
	case shape.Ref:
		return d.structure(At(t.Struct), p, o, depth)
	case shape.Int64:
		v, end, f := raw.Uvarint(b, o)
		*(*int64)(p) = raw.Unzigzag(v)
		return end, f
	case shape.Float64:
		if len(b)-o < 8 {
			return o, raw.Short
		}
		*(*uint64)(p) = binary.LittleEndian.Uint64(b[o:])
		return o + 8, raw.Fine
	case shape.Int32:
		v, end, f := raw.Uvarint(b, o)
		*(*int32)(p) = int32(raw.Unzigzag(uint64(uint32(v))))
		return end, f
	case shape.Int16:
		v, end, f := raw.Uvarint(b, o)
		*(*int16)(p) = int16(raw.Unzigzag(uint64(uint32(v))))
		return end, f
	case shape.Int8:
		if o >= len(b) {
			return o, raw.Short
		}
		*(*uint8)(p) = b[o]
		return o + 1, raw.Fine
	case shape.Bool:
		if o >= len(b) {
			return o, raw.Short
		}
		*(*bool)(p) = b[o] == byte(raw.CompactTrue)
		return o + 1, raw.Fine
	case shape.UUID:
		if len(b)-o < 16 {
			return o, raw.Short
		}
		copy((*(*[16]byte)(p))[:], b[o:])
		return o + 16, raw.Fine
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
func (d *Decoder) compactSize(o int) (n, end int, f raw.Fault) {
	n, end, f = raw.CompactSize(d.B, o)
	if f == raw.Fine && n > len(d.B)-end {
		return 0, o, raw.TooLarge
	}
	return n, end, f
}

// compactText decodes the string at b[o:], length first. A length of up to [codec.Short]
// takes one byte, so that most strings need no look at a number.
func (d *Decoder) compactText(s *string, o int) (int, raw.Fault) {
	b := d.B
	if o < len(b) && d.Texts.Fits(int(b[o]), len(b)-o-1) {
		n := int(b[o])
		*s = d.Texts.Take(codec.HeadOf(b[o+1:]), n)
		return o + 1 + n, raw.Fine
	}
	n, end, f := d.compactSize(o)
	if f == raw.Fine {
		*s = d.Texts.Copy(b, end, n)
	}
	return end + n, f
}

// compactTexts decodes len(s) strings at b[o:], one behind the other.
//
// Nothing is allocated before the bytes of a string are known to be there.
func (d *Decoder) compactTexts(s []string, o int) (end int, f raw.Fault) {
	for i := range s {
		if o, f = d.compactText(&s[i], o); f != raw.Fine {
			return o, f
		}
	}
	return o, raw.Fine
}

// compactBytes decodes binary at b[o:], length first, into a slice of its own.
func (d *Decoder) compactBytes(p *[]byte, o int) (int, raw.Fault) {
	n, o, f := d.compactSize(o)
	if f != raw.Fine {
		return o, f
	}
	if !d.Charge(n) {
		return o, raw.TooCostly
	}
	s := make([]byte, n)
	copy(s, d.B[o:])
	*p = s
	return o + n, raw.Fine
}

// compactField decodes the value of a field where speed does not matter, a variant's; kind is
// that of its header, which has the value of a bool.
func (d *Decoder) compactField(f *shape.Field, p unsafe.Pointer, o, depth int, kind raw.CompactKind) (int, raw.Fault) {
	// Safety: p points to an f.Type.Go.
	switch f.Kind {
	case shape.Bool:
		*(*bool)(p) = kind == raw.CompactTrue
		return o, raw.Fine
	case shape.Pointer:
		return d.pointer(f.Type.Elem, (*unsafe.Pointer)(p), o, kind)
	}
	return d.compactValue(f.Type, p, o, depth)
}

// compactList reads what precedes the elements of a list or set of type e. An empty one may be
// of any type: there are writers that put 0 there.
func (d *Decoder) compactList(e *shape.Type, o int) (n, end int, f raw.Fault) {
	kind, n, end, f := raw.CompactListHead(d.B, o)
	switch {
	case f == raw.Short && n > 0:
		return 0, o, raw.TooLarge
	case f != raw.Fine || n == 0:
		return 0, end, f
	case raw.CompactTypes[kind] != Wires[e.Kind]:
		return 0, end, raw.WrongType
	}
	return n, end, raw.Fine
}

// compactMap reads what precedes the entries of a map.
func (d *Decoder) compactMap(t *shape.Type, o int) (n, end int, f raw.Fault) {
	key, elem, n, end, f := raw.CompactMapHead(d.B, o)
	switch {
	case f == raw.Short && n > 0:
		return 0, o, raw.TooLarge
	case f != raw.Fine || n == 0:
		return 0, end, f
	case raw.CompactTypes[key] != Wires[t.Key.Kind] || raw.CompactTypes[elem] != Wires[t.Elem.Kind]:
		return 0, end, raw.WrongType
	}
	return n, end, raw.Fine
}

// compactNumbers decodes the numbers of a list of i64 at b[o:]. Those of one byte do without a
// call: Uvarint is too large to be inlined.
func (d *Decoder) compactNumbers(s []int64, o int) (int, raw.Fault) {
	b := d.B
	for i := range s {
		if o < len(b) && b[o] < 0x80 {
			s[i] = raw.Unzigzag(uint64(b[o]))
			o++
			continue
		}
		v, end, f := raw.UvarintSlow(b, o)
		if f != raw.Fine {
			return end, f
		}
		s[i], o = raw.Unzigzag(v), end
	}
	return o, raw.Fine
}
