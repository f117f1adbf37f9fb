package thrift

import (
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// headroom is how many bytes of room there are before each field and element,
// so that none of fixed size and no header outgrows the block.
const headroom = 32

// An encoder is the state of one encode. b, the block that is being filled,
// is passed along as a value, so that it stays in registers.
type encoder struct {
	out *buf.Out
	err error // the first one; everything stops at it

	wire  protocol
	plain bool // generated methods are not used
}

// message appends the fields of the struct at p, and its stop. depth is how
// many levels are allowed, this struct included.
func (e *encoder) message(b []byte, pl *plan, p unsafe.Pointer, depth int) []byte {
	if e.wire == inCompact {
		return e.compactFields(b, pl, p, depth)
	}
	return e.fields(b, pl, p, depth)
}

// element appends the value of type t at p, which is no field.
func (e *encoder) element(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	if e.wire == inCompact {
		return e.compactValue(b, t, p, depth)
	}
	return e.value(b, t, p, depth)
}

// fail notes an error at a field of a plan's struct.
func (e *encoder) fail(b []byte, pl *plan, f *shape.Field, why string) []byte {
	if e.err == nil {
		e.err = &TypeError{Type: pl.Go, Field: pl.Names[f.Index].Go, Why: why}
	}
	return b
}

// failAt notes an error at an element; the field around it is not known.
func (e *encoder) failAt(b []byte, t *shape.Type, why string) []byte {
	if e.err == nil {
		e.err = &TypeError{Type: t.Go, Why: why}
	}
	return b
}

// tooDeep notes that a struct is too far down.
func (e *encoder) tooDeep(b []byte, pl *plan) []byte {
	if e.err == nil {
		e.err = &TypeError{Type: pl.Go, Why: shape.WhyDeep}
	}
	return b
}

// spill appends a string for which the block has not enough room: a long one
// by reference.
func (e *encoder) spill(b []byte, s string) []byte {
	if len(s) > raw.MaxSize {
		e.err = errTooLong
		return b
	}
	if len(s) >= buf.RefMin {
		return e.out.Ref(b, s)
	}
	e.out.Commit(b)
	e.out.AppendString(s)
	return e.out.Block()
}

// union appends the variant that f holds: a struct of one field.
func (e *encoder) union(b []byte, t *shape.Type, f *shape.Face, depth int) []byte {
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
		return e.fail(b, planAt(v.Struct), o, shape.WhyNil)
	}
	return e.message(b, planAt(v.Struct), f.Data, depth)
}
