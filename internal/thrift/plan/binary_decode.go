package plan

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// Fields decodes, in either protocol, the fields of a struct at b[o:], up to and with its stop, into
// the pl.Go at base. It gives the end, or the offset of a fault. depth is how
// many levels are allowed, this struct included.
//
// The next field is guessed to be the next one of the plan, so that fields in
// that order cost one compare each; docs/how/thrift.md.
//
// The struct is not cleared: fields that the message lacks keep what they have, which in
// a fresh struct are its defaults. Of a field that comes twice the last value counts.
func (d *Decoder) Fields(pl *Plan, base unsafe.Pointer, o, depth int) (int, raw.Fault) {
	if d.wire == inCompact {
		return d.compactFields(pl, base, o, depth)
	}
	if depth <= 0 {
		return o, raw.TooDeep
	}
	return d.Resume(pl, base, o, depth, 0, 0)
}

// Resume is fields for the rest of a struct: next is the index of the field
// that is guessed to come, seen has the bits of those that came. With more
// required fields than bits it begins with the first field.
//
// It is long, since it is the loop that all time is spent in: the five kinds of most
// fields are decoded in place, and a call for each would cost more than what it does.
// Every kind that is here is in Value too, which is for elements and for the rest.
func (d *Decoder) Resume(pl *Plan, base unsafe.Pointer, o, depth, next int, seen uint64) (int, raw.Fault) {
	b, begin := d.B, o
	for {
		if len(b)-o < 4 {
			// No field is shorter than 4 bytes.
			if o < len(b) && b[o] == byte(raw.TypeStop) {
				break
			}
			return d.rest(o)
		}
		head := binary.BigEndian.Uint32(b[o:]) >> 8
		var f *shape.Field
		if next < len(pl.Fields) && pl.Fields[next].Tag == head {
			f = &pl.Fields[next]
			// Required fields are counted by bits, not by the position: they may come in
			// any order.
			next++
		} else if head>>16 == uint32(raw.TypeStop) {
			break
		} else if f, next = pl.Find(head); f == nil {
			var flt raw.Fault
			from := o
			if o, flt = raw.SkipAt(b, o+3, raw.Type(head>>16), depth-1); flt != raw.Fine {
				return o, flt
			}
			if pl.HasKept() && !d.keep(pl, base, from, o) {
				return from, raw.TooCostly
			}
			continue
		}
		o += 3
		// Safety: base points to a pl.Go, and offset and kind are those of one
		// of its fields: compile took them from reflection. So for all stores below.
		p := unsafe.Add(base, f.Offset)
		switch f.Kind {
		case shape.Int64, shape.Float64:
			if len(b)-o < 8 {
				return d.Blame(pl, f, o, raw.Short)
			}
			*(*uint64)(p) = binary.BigEndian.Uint64(b[o:])
			o += 8
		case shape.Int32:
			if len(b)-o < 4 {
				return d.Blame(pl, f, o, raw.Short)
			}
			*(*uint32)(p) = binary.BigEndian.Uint32(b[o:])
			o += 4
		case shape.String:
			if len(b)-o < 4 {
				return d.Blame(pl, f, o, raw.Short)
			}
			n := int(binary.BigEndian.Uint32(b[o:]))
			if uint(n) > uint(len(b)-o-4) {
				return d.Blame(pl, f, o, raw.TooLarge)
			}
			if o += 4; d.Texts.Fits(n, len(b)-o) {
				*(*string)(p) = d.Texts.Take(codec.HeadOf(b[o:]), n)
			} else {
				*(*string)(p) = d.Texts.Copy(b, o, n)
			}
			o += n
		case shape.Bool:
			*(*bool)(p) = b[o] == 1 // the header left a byte; see value
			o++
		default:
			end, flt := d.Value(f.Type, p, o, depth-1)
			// An element of another type than the field's. Value has stored nothing of
			// it.
			if flt == raw.WrongType {
				end, flt = raw.SkipAt(b, o, WireOf(f), depth-1)
				if flt == raw.Fine && pl.HasKept() && !d.keep(pl, base, o-3, end) {
					return o, raw.TooCostly
				}
				if flt == raw.Fine {
					o = end
					continue
				}
			}
			if flt != raw.Fine {
				return d.Blame(pl, f, end, flt)
			}
			o = end
		}
		seen |= f.Bit
	}
	if seen != pl.Bits || pl.Wide {
		return d.lacking(pl, seen, begin, o)
	}
	return o + 1, raw.Fine
}

// rest judges what is left where no whole field is.
//
// A byte that no type has is told apart from an end that comes too early, so that whoever
// reads the error does not look for bytes that were lost.
func (d *Decoder) rest(o int) (int, raw.Fault) {
	if o < len(d.B) && raw.Least[d.B[o]] == 0 {
		return o, raw.BadType
	}
	return len(d.B), raw.Short
}

// Value decodes a value at b[o:] into p, which points to a t.Go. depth is how
// many levels are allowed for it. What p held before is replaced as a whole.
//
// raw.WrongType says that the header of a list or map has other types than t, which is
// for whoever has the field to skip. It is never a fault that a peer is told of.
//
// It has a case for each kind, which is what makes it long; a table of functions would
// have the state of the decoder escape.
func (d *Decoder) Value(t *shape.Type, p unsafe.Pointer, o, depth int) (int, raw.Fault) {
	if d.wire == inCompact {
		return d.compactValue(t, p, o, depth)
	}
	b := d.B
	// Safety: for all stores below: p points to a t.Go, whose layout kind says.
	switch t.Kind {
	case shape.String:
		if len(b)-o < 4 {
			return o, raw.Short
		}
		n := int(binary.BigEndian.Uint32(b[o:]))
		if uint(n) > uint(len(b)-o-4) {
			return o, raw.TooLarge
		}
		*(*string)(p) = d.text(o+4, n)
		return o + 4 + n, raw.Fine
	case shape.Ref:
		return d.structure(At(t.Struct), p, o, depth)
	case shape.Int64, shape.Float64:
		if len(b)-o < 8 {
			return o, raw.Short
		}
		*(*uint64)(p) = binary.BigEndian.Uint64(b[o:])
		return o + 8, raw.Fine
	case shape.Int32:
		if len(b)-o < 4 {
			return o, raw.Short
		}
		*(*uint32)(p) = binary.BigEndian.Uint32(b[o:])
		return o + 4, raw.Fine
	case shape.Int16:
		if len(b)-o < 2 {
			return o, raw.Short
		}
		*(*uint16)(p) = binary.BigEndian.Uint16(b[o:])
		return o + 2, raw.Fine
	case shape.Int8:
		if len(b)-o < 1 {
			return o, raw.Short
		}
		*(*uint8)(p) = b[o]
		return o + 1, raw.Fine
	case shape.Bool:
		if len(b)-o < 1 {
			return o, raw.Short
		}
		*(*bool)(p) = b[o] == 1 // as Apache's libraries: no other byte is true
		return o + 1, raw.Fine
	case shape.UUID:
		if len(b)-o < 16 {
			return o, raw.Short
		}
		copy((*(*[16]byte)(p))[:], b[o:])
		return o + 16, raw.Fine
	case shape.Bytes:
		return d.Bytes((*[]byte)(p), o)
	case shape.Pointer:
		return d.pointer(t.Elem, (*unsafe.Pointer)(p), o, 0)
	case shape.List, shape.Set:
		return d.list(t, p, o, depth)
	case shape.Map, shape.Pairs:
		return d.entries(t, p, o, depth)
	default: // shape.Union
		return d.union(t, (*shape.Face)(p), o, depth)
	}
}

// text copies the string at d.b[o:], which has n bytes.
func (d *Decoder) text(o, n int) string { return d.Texts.Copy(d.B, o, n) }

// Bytes decodes binary at b[o:], length first, into a slice of its own.
//
// It is always a copy: the program may write to it, and the block may be used again.
// Strings, which nobody can write to, need not be; see codec.Texts.
func (d *Decoder) Bytes(p *[]byte, o int) (int, raw.Fault) {
	if len(d.B)-o < 4 {
		return o, raw.Short
	}
	n := int(binary.BigEndian.Uint32(d.B[o:]))
	if uint(n) > uint(len(d.B)-o-4) {
		return o, raw.TooLarge
	}
	o += 4
	if !d.Charge(n) {
		return o, raw.TooCostly
	}
	src := d.B[o : o+n]
	s := make([]byte, len(src)) // not cleared, since all of it is copied over
	copy(s, src)
	*p = s
	return o + n, raw.Fine
}

// count is what keeps a message of ten bytes from asking for memory for two billion
// elements. It checks a declared number of elements against the bytes from o on, each
// taking at least size.
//
// The check is against the bytes that are there, so that what is allocated for n elements
// is at most a constant times the message; the budget bounds what they become as Go
// values.
func (d *Decoder) count(declared uint32, size uint8, o int) (int, raw.Fault) {
	if declared > math.MaxInt32 {
		return 0, raw.Negative
	}
	if int64(declared)*int64(size) > int64(len(d.B)-o) {
		return 0, raw.TooLarge
	}
	return int(declared), raw.Fine
}

// Strings decodes len(s) strings at b[o:], one behind the other.
func (d *Decoder) Strings(s []string, o int) (int, raw.Fault) {
	b := d.B
	for i := range s {
		if len(b)-o < 4 {
			return o, raw.Short
		}
		n := int(binary.BigEndian.Uint32(b[o:]))
		if uint(n) > uint(len(b)-o-4) {
			return o, raw.TooLarge
		}
		if o += 4; d.Texts.Fits(n, len(b)-o) {
			s[i] = d.Texts.Take(codec.HeadOf(b[o:]), n)
		} else {
			s[i] = d.Texts.Copy(b, o, n)
		}
		o += n
	}
	return o, raw.Fine
}

// binaryHead reads the header of a field at b[o:], or the stop: then it is 0.
//
// Nothing but the stop may be shorter than four bytes: every value has at least one
// behind its header of three.
func (d *Decoder) binaryHead(o int) (head uint32, end int, f raw.Fault) {
	if len(d.B)-o < 4 {
		if o < len(d.B) && d.B[o] == byte(raw.TypeStop) {
			return 0, o + 1, raw.Fine
		}
		o, f = d.rest(o)
		return 0, o, f
	}
	head = binary.BigEndian.Uint32(d.B[o:]) >> 8
	if head>>16 == uint32(raw.TypeStop) {
		return 0, o + 1, raw.Fine
	}
	return head, o + 3, raw.Fine
}

// binaryList reads what precedes the elements of a list or set of type e.
//
// The type of an empty list is not looked at: there are writers that put 0 there, and
// others the type of an element that the reader does not know.
func (d *Decoder) binaryList(e *shape.Type, o int) (n, end int, f raw.Fault) {
	b := d.B
	if len(b)-o < 5 {
		return 0, o, raw.Short
	}
	have, count := raw.Type(b[o]), binary.BigEndian.Uint32(b[o+1:])
	if count == 0 {
		return 0, o + 5, raw.Fine
	}
	if have != Wires[e.Kind] {
		return 0, o, raw.WrongType
	}
	if n, f = d.count(count, raw.Least[have], o+5); f != raw.Fine {
		return 0, o, f
	}
	return n, o + 5, raw.Fine
}

// binaryMap reads what precedes the entries of a map.
func (d *Decoder) binaryMap(t *shape.Type, o int) (n, end int, f raw.Fault) {
	b := d.B
	if len(b)-o < 6 {
		return 0, o, raw.Short
	}
	key, elem, count := raw.Type(b[o]), raw.Type(b[o+1]), binary.BigEndian.Uint32(b[o+2:])
	if count != 0 && (key != Wires[t.Key.Kind] || elem != Wires[t.Elem.Kind]) {
		return 0, o, raw.WrongType
	}
	if n, f = d.count(count, raw.Least[key]+raw.Least[elem], o+6); f != raw.Fine {
		return 0, o, f
	}
	return n, o + 6, raw.Fine
}

// binaryNumbers decodes n elements of fixed size at b[o:], which are there, into the slice at p.
//
// That they are there was checked by count; hence no bounds within. Numbers are turned
// around eight or more at once where the processor can (codec.From64).
func (d *Decoder) binaryNumbers(e *shape.Type, p unsafe.Pointer, o, n int) int {
	b := d.B
	// Safety: p points to a slice of elements with the layout of those that are
	// made here: of the same size, and without pointers.
	switch e.Kind {
	case shape.Bool:
		s := make([]bool, n)
		for i, c := range b[o : o+n] {
			s[i] = c == 1
		}
		*(*[]bool)(p) = s
		return o + n
	case shape.Int8:
		src := b[o : o+n]
		s := make([]byte, len(src))
		copy(s, src)
		*(*[]byte)(p) = s
		return o + n
	case shape.Int16:
		s := codec.Room[uint16](n)
		codec.From16(s, b[o:])
		*(*[]uint16)(p) = s
		return o + 2*n
	case shape.Int32:
		s := codec.Room[uint32](n)
		codec.From32(s, b[o:])
		*(*[]uint32)(p) = s
		return o + 4*n
	case shape.UUID:
		s := make([][16]byte, n)
		for i := range s {
			s[i] = [16]byte(b[o+16*i:])
		}
		*(*[][16]byte)(p) = s
		return o + 16*n
	}
	s := codec.Room[uint64](n)
	codec.From64(s, b[o:])
	*(*[]uint64)(p) = s
	return o + 8*n
}
