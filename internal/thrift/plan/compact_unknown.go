package plan

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// keepCompact adds the field behind the header h to the Unknown of the struct at base,
// in the Binary protocol; see decoder.keep. Its value begins at o.
//
// Safety: base points to a pl.Go.
//
// An Unknown holds Binary whatever it came in, so that a message can be passed on in
// either protocol. Rewriting may make it longer: a varint of one byte becomes eight. Max
// stops that at the budget before the memory is taken, and not afterwards; half of what
// is left, since append grows by doubling.
func (d *Decoder) keepCompact(pl *Plan, base unsafe.Pointer, h raw.CompactHead, o, depth int) (int, raw.Fault) {
	u := pl.Kept(base)
	had := len(*u)
	t := raw.Transcoder{P: d.B, B: *u, Max: min(int64(had)+int64(d.Budget/2), math.MaxInt)}
	end, f := t.Field(h, o, depth)
	if f != raw.Fine {
		return end, f
	}
	if d.Budget -= 2 * codec.Budget(len(t.B)-had); d.Budget < 0 {
		return o, raw.TooCostly
	}
	*u = t.B
	return end, raw.Fine
}

// unknownCompact appends what the struct at base kept, whose last field before that
// had the id last; see encoder.unknown.
//
// Safety: base points to a pl.Go.
//
// The headers of Compact fields count from the field before, hence last: those in the
// Unknown go on from the last known one.
func (e *Encoder) unknownCompact(b []byte, pl *Plan, base unsafe.Pointer, last int16, depth int) []byte {
	u, err := pl.writable(base, depth)
	if err != nil {
		if e.Err == nil {
			e.Err = err
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
func (e *Encoder) transcodeField(b, p []byte, o int, last int16) ([]byte, int, int16) {
	if cap(b)-len(b) < Headroom {
		b = e.Out.Next(b)
	}
	t, id := raw.Type(p[o]), int16(binary.BigEndian.Uint16(p[o+1:]))
	o += 3
	if t == raw.TypeBool {
		return raw.AppendCompactHead(b, raw.CompactKind(raw.CompactBool(p[o] == 1)), id, last), o + 1, id
	}
	b, o = e.transcode(raw.AppendCompactHead(b, raw.CompactOf[t], id, last), p, o, t)
	return b, o, id
}

// transcode appends the element of type t at p[o:], and gives its end.
//
// It trusts p, which whole has gone through: nothing here checks a length again, and the
// recursion is as deep as whole has allowed. Room is asked for before each element
// because elements become no longer than Headroom but for strings, which have a function
// of their own.
func (e *Encoder) transcode(b, p []byte, o int, t raw.Type) ([]byte, int) {
	if cap(b)-len(b) < Headroom {
		b = e.Out.Next(b)
	}
	switch t {
	case raw.TypeBool:
		return append(b, raw.CompactBool(p[o] == 1)), o + 1
	case raw.TypeI8:
		return append(b, p[o]), o + 1
	case raw.TypeI16:
		return binary.AppendUvarint(b, raw.Zigzag(int64(int16(binary.BigEndian.Uint16(p[o:]))))), o + 2
	case raw.TypeI32:
		return binary.AppendUvarint(b, raw.Zigzag(int64(int32(binary.BigEndian.Uint32(p[o:]))))), o + 4
	case raw.TypeI64:
		return binary.AppendUvarint(b, raw.Zigzag(int64(binary.BigEndian.Uint64(p[o:])))), o + 8
	case raw.TypeDouble:
		return binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(p[o:])), o + 8
	case raw.TypeUUID:
		return append(b, p[o:o+16]...), o + 16
	case raw.TypeString:
		n := int(binary.BigEndian.Uint32(p[o:]))
		o += 4
		return e.compactBytes(b, p[o:o+n]), o + n
	case raw.TypeStruct:
		last := int16(0)
		for p[o] != byte(raw.TypeStop) {
			b, o, last = e.transcodeField(b, p, o, last)
		}
		return append(b, byte(raw.CompactStop)), o + 1
	case raw.TypeMap:
		key, elem, n := raw.Type(p[o]), raw.Type(p[o+1]), int(binary.BigEndian.Uint32(p[o+2:]))
		if b = binary.AppendUvarint(b, uint64(n)); n != 0 { // an empty one has no types
			b = append(b, byte(raw.CompactOf[key])<<4|byte(raw.CompactOf[elem]))
		}
		o += 6
		for range n {
			b, o = e.transcode(b, p, o, key)
			b, o = e.transcode(b, p, o, elem)
		}
	default: // a list or a set
		elem, n := raw.Type(p[o]), int(binary.BigEndian.Uint32(p[o+1:]))
		kind := raw.CompactStop
		if n != 0 || raw.Least[elem] != 0 { // what stands for the type of no elements may be none
			kind = raw.CompactOf[elem]
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
