package plan

import (
	"encoding/binary"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// Headroom is how many bytes of room there are before each field and element,
// so that none of fixed size and no header outgrows the block.
// The longest of them is a UUID behind its header, 19 bytes, or in Compact a varint of
// ten behind four.
const Headroom = 32

// An Encoder is the state of one encode. b, the block that is being filled,
// is passed along as a value, so that it stays in registers.
//
// The memory of b belongs to Out. Every function takes it, appends, and gives the block
// that is to be filled from then on, which is another one when the first was full;
// whoever goes on with the old one would write over what is there. Commit tells Out how
// far it was filled.
type Encoder struct {
	Out *buf.Out
	Err error // the first one; everything stops at it

	wire  protocol
	plain bool // generated methods are not used
}

// fail notes an error at a field of a plan's struct.
func (e *Encoder) fail(b []byte, pl *Plan, f *shape.Field, why string) []byte {
	if e.Err == nil {
		e.Err = &TypeError{Type: pl.Go, Field: pl.Names[f.Index].Go, Why: why}
	}
	return b
}

// failAt notes an error at an element; the field around it is not known.
//
// Placed looks for it when the encode is over.
func (e *Encoder) failAt(b []byte, t *shape.Type, why string) []byte {
	if e.Err == nil {
		e.Err = &TypeError{Type: t.Go, Why: why}
	}
	return b
}

// tooDeep notes that a struct is too far down.
func (e *Encoder) tooDeep(b []byte, pl *Plan) []byte {
	if e.Err == nil {
		e.Err = &TypeError{Type: pl.Go, Why: shape.WhyDeep}
	}
	return b
}

// spill appends a string for which the block has not enough room: a long one
// by reference.
//
// It is out of the way of Text, which is small enough to stay in one piece with what
// calls it, and is seldom called: once in a block, and for strings that are large.
func (e *Encoder) spill(b []byte, s string) []byte {
	if len(s) > raw.MaxSize {
		e.Err = ErrTooLong
		return b
	}
	if len(s) >= buf.RefMin {
		return e.Out.Ref(b, s)
	}
	e.Out.Commit(b)
	e.Out.AppendString(s)
	return e.Out.Block()
}

// union appends the variant that f holds: a struct of one field.
func (e *Encoder) union(b []byte, t *shape.Type, f *shape.Face, depth int) []byte {
	if f.Itab == 0 || f.Data == nil {
		return e.failAt(b, t, shape.WhyNil)
	}
	v := t.Holds(*f)
	if v == nil {
		return e.failAt(b, t, shape.WhyForeign)
	}
	o := &v.Struct.Fields[0]
	// Safety: data points to the variant's struct, whose only field o is.
	// A variant that is chosen and has nothing to say would arrive as no
	// variant at all.
	if o.Absent(unsafe.Add(f.Data, o.Offset)) {
		return e.fail(b, At(v.Struct), o, shape.WhyNil)
	}
	return e.Fields(b, At(v.Struct), f.Data, depth)
}

// raw appends elements of one byte.
//
// Many of them go to Out as one piece, which may be a block of their own.
func (e *Encoder) raw(b, p []byte) []byte {
	if len(p) <= cap(b)-len(b)-Headroom {
		return append(b, p...)
	}
	e.Out.Commit(b)
	e.Out.Append(p)
	return e.Out.Block()
}

// compactBytes appends length and copy of p.
func (e *Encoder) compactBytes(b, p []byte) []byte {
	if len(p) > raw.MaxSize {
		e.Err = ErrTooLong
		return b
	}
	return e.raw(binary.AppendUvarint(b, uint64(len(p))), p)
}
