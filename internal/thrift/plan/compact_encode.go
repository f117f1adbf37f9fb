package plan

import (
	"encoding/binary"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// compactFields is [Encoder.Fields] in the Compact protocol. A header depends on the id before
// it, so that it cannot be a constant of the plan as it is in Binary. With a room of Headroom
// before each field, header and number (at most 4 and 10 bytes) fit without a look.
func (e *Encoder) compactFields(b []byte, pl *Plan, base unsafe.Pointer, depth int) []byte {
	if depth <= 0 {
		return e.tooDeep(b, pl)
	}
	if pl.Shown != nil {
		return e.compactView(b, pl, base)
	}
	last := int16(0)
	for i := range pl.Fields {
		f := &pl.Fields[i]
		// Safety: base points to a pl.Go, and offset and kind are those of one
		// of its fields: compile took them from reflection.
		p := unsafe.Add(base, f.Offset)
		if f.Absent(p) {
			if f.Rule == shape.Required {
				return e.fail(b, pl, f, shape.WhyRequired)
			}
			continue
		}
		if cap(b)-len(b) < Headroom {
			b = e.Out.Next(b)
		}
		t, kind := f.Type, raw.CompactOf[WireOf(f)]
		if t.Kind == shape.Pointer {
			// Safety: p points to a pointer to a t.Elem.Go, which is not nil.
			t, p = t.Elem, *(*unsafe.Pointer)(p)
		}
		// Safety: p points to a t.Go, a bool.
		if t.Kind == shape.Bool && !*(*bool)(p) {
			kind = raw.CompactFalse
		}
		id := int16(f.Tag)
		b = raw.AppendCompactHead(b, kind, id, last)
		if last = id; t.Kind == shape.Bool {
			continue // the header has said it all
		}
		if b = e.compactValue(b, t, p, depth-1); e.Err != nil {
			return b
		}
	}
	if pl.HasKept() {
		b = e.unknownCompact(b, pl, base, last, depth-1)
	}
	return append(b, byte(raw.CompactStop))
}

// compactText appends length and bytes of a string. Afterwards there is room for another
// length at the least.
func (e *Encoder) compactText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	if len(s) <= cap(b)-len(b)-Headroom {
		return append(b, s...)
	}
	return e.spill(b, s)
}

// compactTexts appends the entries of a map of strings.
func (e *Encoder) compactTexts(b []byte, m map[string]string) []byte {
	for k, v := range m {
		if cap(b)-len(b) < Headroom {
			b = e.Out.Next(b)
		}
		if b = e.compactText(e.compactText(b, k), v); e.Err != nil {
			return b
		}
	}
	return b
}

// compactValue appends the value of type t at p, which is no bool of a field's.
func (e *Encoder) compactValue(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	// Safety: for all loads below: p points to a t.Go, whose layout kind says.
	switch t.Kind {
	case shape.String:
		return e.compactText(b, *(*string)(p))
	case shape.Ref:
		q := *(*unsafe.Pointer)(p)
		if q == nil {
			return e.failAt(b, t, shape.WhyNil)
		}
		return e.compactFields(b, At(t.Struct), q, depth)
	case shape.Int64, shape.Float64:
		if t.Kind == shape.Float64 {
			return binary.LittleEndian.AppendUint64(b, *(*uint64)(p))
		}
		return binary.AppendUvarint(b, raw.Zigzag(*(*int64)(p)))
	case shape.Int32:
		return binary.AppendUvarint(b, raw.Zigzag(int64(*(*int32)(p))))
	case shape.Int16:
		return binary.AppendUvarint(b, raw.Zigzag(int64(*(*int16)(p))))
	case shape.Int8:
		return append(b, *(*uint8)(p))
	case shape.Bool:
		return append(b, raw.CompactBool(*(*bool)(p)))
	case shape.UUID:
		return append(b, (*(*[16]byte)(p))[:]...)
	case shape.Bytes:
		return e.compactBytes(b, *(*[]byte)(p))
	case shape.List, shape.Set:
		return e.list(b, t, p, depth)
	case shape.Map, shape.Pairs:
		return e.entries(b, t, p, depth)
	default: // shape.Union; a shape.Pointer was followed by fields
		return e.union(b, t, (*shape.Face)(p), depth)
	}
}

// listHeadCompact appends what precedes the n elements of a list or set of type el.
func (e *Encoder) listHeadCompact(b []byte, el *shape.Type, n int) []byte {
	kind := byte(raw.CompactOf[Wires[el.Kind]])
	if n < 15 {
		return append(b, byte(n)<<4|kind)
	}
	return binary.AppendUvarint(append(b, 0xf0|kind), uint64(n))
}

// mapHeadCompact appends what precedes the n entries of a map; an empty one has no types.
func (e *Encoder) mapHeadCompact(b []byte, t *shape.Type, n int) []byte {
	if b = binary.AppendUvarint(b, uint64(n)); n == 0 {
		return b
	}
	return append(b, byte(raw.CompactOf[Wires[t.Key.Kind]])<<4|byte(raw.CompactOf[Wires[t.Elem.Kind]]))
}

// compactNumbers appends a list of i64. PutUvarint goes into room that is known to be
// there, where AppendUvarint would look at the capacity again.
func (e *Encoder) compactNumbers(b []byte, s []int64) []byte {
	for _, v := range s {
		if cap(b)-len(b) < Headroom {
			b = e.Out.Next(b)
		}
		n := len(b)
		b = b[:n+binary.PutUvarint(b[n:n+binary.MaxVarintLen64], raw.Zigzag(v))]
	}
	return b
}
