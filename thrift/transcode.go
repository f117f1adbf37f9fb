package thrift

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
)

// A transcoder rewrites values of the Compact protocol in the Binary protocol,
// by their types on the wire: no struct needs to know them. It takes and refuses
// what skipCompact does, with the same offsets, and makes at most max bytes and
// one value more.
//
// A value becomes at most eight times as long (an i64 of one byte), so that a
// budget for memory is what bounds it. Not kept are what the types of an empty
// map would be, since Compact does not have them, and bytes of bools other than
// 1, all of which say false.
type transcoder struct {
	p   []byte // Compact
	b   []byte // Binary, appended to
	max int64
}

// field appends the field behind the header h; its value begins at o.
func (t *transcoder) field(h compactHead, o, depth int) (int, fault) {
	t.b = binary.BigEndian.AppendUint16(append(t.b, byte(compactTypes[h.kind])), uint16(h.id))
	if h.kind <= compactFalse {
		t.b = append(t.b, byte(compactFalse-h.kind)) // 1 for true, 0 for false
		return o, fine
	}
	return t.value(o, h.kind, depth)
}

// value appends the element at p[o:]; see skipCompact.
func (t *transcoder) value(o int, kind compactKind, depth int) (int, fault) {
	switch kind {
	case compactI16, compactI32, compactI64:
		v, end, f := uvarint(t.p, o)
		switch kind {
		case compactI16:
			t.b = binary.BigEndian.AppendUint16(t.b, uint16(unzigzag(uint64(uint32(v)))))
		case compactI32:
			t.b = binary.BigEndian.AppendUint32(t.b, uint32(unzigzag(uint64(uint32(v)))))
		default:
			t.b = binary.BigEndian.AppendUint64(t.b, uint64(unzigzag(v)))
		}
		return end, f
	case compactTrue, compactFalse, compactI8, compactDouble, compactUUID:
		end, f := bounded(t.p, o, int(compactFixed[kind]))
		if f == fine {
			t.fixed(t.p[o:end], kind)
		}
		return end, f
	case compactString:
		n, end, f := compactSize(t.p, o)
		if f != fine {
			return end, f
		}
		o = end
		if end, f = bounded(t.p, o, n); f != fine {
			return end, f
		}
		if int64(len(t.b))+int64(n) > t.max {
			return o, tooCostly
		}
		t.b = append(binary.BigEndian.AppendUint32(t.b, uint32(n)), t.p[o:end]...)
		return end, fine
	}
	if depth <= 0 {
		return o, tooDeep
	}
	switch kind {
	case compactStruct:
		return t.fields(o, depth)
	case compactMap:
		key, elem, n, end, f := compactMapHead(t.p, o)
		if f != fine {
			return end, f
		}
		t.b = append(t.b, byte(compactTypes[key]), byte(compactTypes[elem]))
		return t.elems(end, key, elem, n, depth-1)
	case compactList, compactSet:
		elem, n, end, f := compactListHead(t.p, o)
		if f != fine {
			return end, f
		}
		t.b = append(t.b, byte(compactTypes[elem]))
		return t.elems(end, compactStop, elem, n, depth-1)
	}
	return o, badType
}

// fixed appends a value of a size that is always the same.
func (t *transcoder) fixed(p []byte, kind compactKind) {
	switch kind {
	case compactTrue, compactFalse:
		v := byte(0)
		if p[0] == byte(compactTrue) {
			v = 1
		}
		t.b = append(t.b, v)
	case compactDouble:
		t.b = binary.BigEndian.AppendUint64(t.b, binary.LittleEndian.Uint64(p))
	default:
		t.b = append(t.b, p...)
	}
}

// fields appends the struct at p[o:], which is at a level that is allowed.
func (t *transcoder) fields(o, depth int) (int, fault) {
	var h compactHead
	for {
		end, f := h.read(t.p, o)
		if f != fine {
			return end, f
		}
		if h.kind == compactStop {
			t.b = append(t.b, byte(TypeStop))
			return end, fine
		}
		if o, f = t.field(h, end, depth-1); f != fine {
			return o, f
		}
		if int64(len(t.b)) > t.max {
			return o, tooCostly
		}
	}
}

// elems appends n elements, or pairs if key is not compactStop, and their number.
func (t *transcoder) elems(o int, key, elem compactKind, n, depth int) (int, fault) {
	t.b = binary.BigEndian.AppendUint32(t.b, uint32(n))
	for range n {
		if int64(len(t.b)) > t.max {
			return o, tooCostly
		}
		var f fault
		if key != compactStop {
			if o, f = t.value(o, key, depth); f != fine {
				return o, f
			}
		}
		if o, f = t.value(o, elem, depth); f != fine {
			return o, f
		}
	}
	return o, fine
}

// keepCompact adds the field behind the header h to the Unknown of the struct at base,
// in the Binary protocol; see decoder.keep. Its value begins at o.
//
// Safety: base points to a pl.Go.
func (d *decoder) keepCompact(pl *plan, base unsafe.Pointer, h compactHead, o, depth int) (int, fault) {
	u := pl.Kept(base)
	had := len(*u)
	t := transcoder{p: d.b, b: *u, max: min(int64(had)+int64(d.Budget/2), math.MaxInt)}
	end, f := t.field(h, o, depth)
	if f != fine {
		return end, f
	}
	if d.Budget -= 2 * codec.Budget(len(t.b)-had); d.Budget < 0 {
		return o, tooCostly
	}
	*u = t.b
	return end, fine
}

// unknownCompact appends what the struct at base kept, whose last field before that
// had the id last; see encoder.unknown.
//
// Safety: base points to a pl.Go.
func (e *encoder) unknownCompact(b []byte, pl *plan, base unsafe.Pointer, last int16, depth int) []byte {
	u, err := pl.writable(base, depth)
	if err != nil {
		if e.err == nil {
			e.err = err
		}
		return b
	}
	for o := 0; o < len(u); {
		b, o, last = e.transcodeField(b, u, o, last)
	}
	return b
}

// transcodeField appends the field at p[o:], which is one of the Binary protocol and was
// checked. It gives where it ends, and its id, which the next one's is counted
// from; last is that of the one before.
func (e *encoder) transcodeField(b, p []byte, o int, last int16) ([]byte, int, int16) {
	if cap(b)-len(b) < headroom {
		b = e.out.Next(b)
	}
	t, id := Type(p[o]), int16(binary.BigEndian.Uint16(p[o+1:]))
	o += 3
	if t == TypeBool {
		return appendCompactHead(b, compactKind(compactBool(p[o] == 1)), id, last), o + 1, id
	}
	b, o = e.transcode(appendCompactHead(b, compactOf[t], id, last), p, o, t)
	return b, o, id
}

// transcode appends the element of type t at p[o:], and gives its end.
func (e *encoder) transcode(b, p []byte, o int, t Type) ([]byte, int) {
	if cap(b)-len(b) < headroom {
		b = e.out.Next(b)
	}
	switch t {
	case TypeBool:
		return append(b, compactBool(p[o] == 1)), o + 1
	case TypeI8:
		return append(b, p[o]), o + 1
	case TypeI16:
		return binary.AppendUvarint(b, zigzag(int64(int16(binary.BigEndian.Uint16(p[o:]))))), o + 2
	case TypeI32:
		return binary.AppendUvarint(b, zigzag(int64(int32(binary.BigEndian.Uint32(p[o:]))))), o + 4
	case TypeI64:
		return binary.AppendUvarint(b, zigzag(int64(binary.BigEndian.Uint64(p[o:])))), o + 8
	case TypeDouble:
		return binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(p[o:])), o + 8
	case TypeUUID:
		return append(b, p[o:o+16]...), o + 16
	case TypeString:
		n := int(binary.BigEndian.Uint32(p[o:]))
		o += 4
		return e.compactBytes(b, p[o:o+n]), o + n
	case TypeStruct:
		last := int16(0)
		for p[o] != byte(TypeStop) {
			b, o, last = e.transcodeField(b, p, o, last)
		}
		return append(b, byte(compactStop)), o + 1
	case TypeMap:
		key, elem, n := Type(p[o]), Type(p[o+1]), int(binary.BigEndian.Uint32(p[o+2:]))
		if b = binary.AppendUvarint(b, uint64(n)); n != 0 { // an empty one has no types
			b = append(b, byte(compactOf[key])<<4|byte(compactOf[elem]))
		}
		o += 6
		for range n {
			b, o = e.transcode(b, p, o, key)
			b, o = e.transcode(b, p, o, elem)
		}
	default: // a list or a set
		elem, n := Type(p[o]), int(binary.BigEndian.Uint32(p[o+1:]))
		kind := compactStop
		if n != 0 || least[elem] != 0 { // what stands for the type of no elements may be none
			kind = compactOf[elem]
		}
		if o += 5; n < 15 {
			b = append(b, byte(n)<<4|byte(kind))
		} else {
			b = binary.AppendUvarint(append(b, 0xf0|byte(kind)), uint64(n))
		}
		for range n {
			b, o = e.transcode(b, p, o, elem)
		}
	}
	return b, o
}

// appendCompactHead appends the header of a field.
func appendCompactHead(b []byte, kind compactKind, id, last int16) []byte {
	if delta := int(id) - int(last); delta > 0 && delta < 16 {
		return append(b, byte(delta)<<4|byte(kind))
	}
	return binary.AppendUvarint(append(b, byte(kind)), zigzag(int64(id)))
}
