package plan

import (
	"encoding/binary"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// Fields appends the fields of the struct at base, and its stop. depth is how
// many levels are allowed, this struct included.
func (e *Encoder) Fields(b []byte, pl *Plan, base unsafe.Pointer, depth int) []byte {
	if e.wire == inCompact {
		return e.compactFields(b, pl, base, depth)
	}
	return e.Some(b, pl, base, depth, pl.Fields, true)
}

// Structure appends the struct at p: by its generated methods if it has some.
func (e *Encoder) Structure(b []byte, pl *Plan, p unsafe.Pointer, depth int) []byte {
	if pl.made != 0 && !e.plain {
		return e.generated(b, pl, p, depth)
	}
	if pl.Shown != nil {
		return e.view(b, pl, p)
	}
	return e.Fields(b, pl, p, depth)
}

// Some appends fields of the struct at base, and if they are the whole of it
// what was kept of unknown ones and the stop.
//
// Like Decoder.Resume it is long because all time of an encode is spent in it: what
// fields of fixed size and short strings need is here, without a call.
func (e *Encoder) Some(b []byte, pl *Plan, base unsafe.Pointer, depth int, ops []shape.Field, whole bool) []byte {
	if depth <= 0 {
		return e.tooDeep(b, pl)
	}
	// Safety: block and size are where b's memory is and how much; n, of which all is
	// used, is one number to be moved on instead of a slice to be cut, which would be
	// checked each time.
	block, n, size := unsafe.Pointer(unsafe.SliceData(b)), len(b), cap(b)
	for i := range ops {
		f := &ops[i]
		// Safety: base points to a pl.Go, and offset and kind are those of one
		// of its fields: compile took them from reflection. So for all loads below.
		p := unsafe.Add(base, f.Offset)
		if size-n < Headroom {
			b = e.Out.Next(b[:n])
			block, n, size = unsafe.Pointer(unsafe.SliceData(b)), 0, cap(b)
		}
		// Safety: w points to headroom bytes of b's room. Every field writes its
		// header as four bytes, of which the value then covers the last.
		w := (*[Headroom]byte)(unsafe.Add(block, n))
		binary.BigEndian.PutUint32(w[:], f.Tag<<8)
		switch f.Kind {
		case shape.Int64, shape.Float64:
			binary.BigEndian.PutUint64(w[3:], *(*uint64)(p))
			n += 11
			continue
		case shape.Int32:
			binary.BigEndian.PutUint32(w[3:], *(*uint32)(p))
			n += 7
			continue
		case shape.Int16:
			binary.BigEndian.PutUint16(w[3:], *(*uint16)(p))
			n += 5
			continue
		case shape.Bool, shape.Int8:
			w[3] = *(*uint8)(p)
			n += 4
			continue
		case shape.String:
			s := *(*string)(p)
			binary.BigEndian.PutUint32(w[3:], uint32(len(s)))
			n += 7
			if len(s) <= size-n-Headroom && len(s) < buf.RefMin {
				// Safety: there is room for s behind n.
				copy(unsafe.Slice((*byte)(unsafe.Add(block, n)), len(s)), s)
				n += len(s)
				continue
			}
			b = e.spill(b[:n], s)
		default:
			if f.Absent(p) {
				if f.Rule == shape.Required {
					return e.fail(b[:n], pl, f, shape.WhyRequired)
				}
				continue
			}
			if b = e.Value(b[:n+3], f.Type, p, depth-1); e.Err != nil {
				return b
			}
		}
		block, n, size = unsafe.Pointer(unsafe.SliceData(b)), len(b), cap(b)
	}
	// Generated code calls it for a part of the fields and writes the stop itself.
	if b = b[:n]; !whole {
		return b
	}
	if pl.HasKept() && e.Err == nil {
		b = e.unknown(b, pl, base, depth-1)
	}
	return append(b, byte(raw.TypeStop))
}

// Text appends length and bytes of a string. From buf.RefMin on a string is not copied: it
// cannot change, so the output refers to it.
func (e *Encoder) Text(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	if len(s) <= cap(b)-len(b)-Headroom && len(s) < buf.RefMin {
		return append(b, s...)
	}
	return e.spill(b, s)
}

// Bytes appends length and copy of p: unlike a string it may change after the
// call.
//
// It is copied even where it is long: who has the message may change it as soon as the
// call returns, and out may be sent much later.
func (e *Encoder) Bytes(b, p []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
	if len(p) <= cap(b)-len(b)-Headroom {
		return append(b, p...)
	}
	if len(p) > raw.MaxSize {
		e.Err = ErrTooLong
		return b
	}
	e.Out.Commit(b)
	e.Out.Append(p)
	return e.Out.Block()
}

// Value appends the value of type t at p, for which b has a room of Headroom. depth is how
// many levels are allowed for it; scalars need none.
func (e *Encoder) Value(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	if e.wire == inCompact {
		return e.compactValue(b, t, p, depth)
	}
	// Safety: for all loads below: p points to a t.Go, whose layout kind says.
	switch t.Kind {
	case shape.String:
		return e.Text(b, *(*string)(p))
	case shape.Ref:
		q := *(*unsafe.Pointer)(p)
		if q == nil {
			return e.failAt(b, t, shape.WhyNil)
		}
		return e.Structure(b, At(t.Struct), q, depth)
	case shape.Int64, shape.Float64:
		return binary.BigEndian.AppendUint64(b, *(*uint64)(p))
	case shape.Int32:
		return binary.BigEndian.AppendUint32(b, *(*uint32)(p))
	case shape.Int16:
		return binary.BigEndian.AppendUint16(b, *(*uint16)(p))
	case shape.Int8, shape.Bool:
		return append(b, *(*uint8)(p))
	case shape.UUID:
		return append(b, (*(*[16]byte)(p))[:]...)
	case shape.Bytes:
		return e.Bytes(b, *(*[]byte)(p))
	case shape.Pointer:
		return e.Value(b, t.Elem, *(*unsafe.Pointer)(p), 0)
	case shape.List, shape.Set:
		return e.list(b, t, p, depth)
	case shape.Map, shape.Pairs:
		return e.entries(b, t, p, depth)
	default: // shape.Union
		return e.union(b, t, (*shape.Face)(p), depth)
	}
}

// Numbers appends elements of size bytes, block by block: many, or near the
// end of a block.
func Numbers[T uint16 | uint32 | uint64](e *Encoder, b []byte, s []T, size int, to func([]byte, []T)) []byte {
	for {
		n := min(len(s), (cap(b)-len(b))/size)
		at := len(b)
		b = b[:at+n*size]
		to(b[at:], s[:n])
		if s = s[n:]; len(s) == 0 && cap(b)-len(b) >= Headroom {
			return b
		}
		if b = e.Out.Next(b); len(s) == 0 {
			return b
		}
	}
}

// binaryNumbers appends the elements of the slice at p, which have a fixed size, if there
// are vectors or copies for them; ok is false for others.
func (e *Encoder) binaryNumbers(b []byte, el *shape.Type, p unsafe.Pointer) (_ []byte, ok bool) {
	// Safety: p points to a slice of el.Go, which has the layout that is looked at.
	switch el.Kind {
	case shape.Bool, shape.Int8:
		return e.raw(b, *(*[]byte)(p)), true
	case shape.Int16:
		s := *(*[]uint16)(p)
		if at := len(b); len(s) <= (cap(b)-at-Headroom)/2 {
			b = b[:at+2*len(s)]
			codec.To16(b[at:], s)
			return b, true
		}
		return Numbers(e, b, s, 2, codec.To16), true
	case shape.Int32:
		s := *(*[]uint32)(p)
		if at := len(b); len(s) <= (cap(b)-at-Headroom)/4 {
			b = b[:at+4*len(s)]
			codec.To32(b[at:], s)
			return b, true
		}
		return Numbers(e, b, s, 4, codec.To32), true
	case shape.Int64, shape.Float64:
		s := *(*[]uint64)(p)
		if at := len(b); len(s) <= (cap(b)-at-Headroom)/8 {
			b = b[:at+8*len(s)]
			codec.To64(b[at:], s)
			return b, true
		}
		return Numbers(e, b, s, 8, codec.To64), true
	case shape.String:
		for _, s := range *(*[]string)(p) {
			b = e.Text(b, s)
		}
		return b, true
	}
	return b, false
}
