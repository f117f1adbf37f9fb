package impl

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// Room is how many bytes of room generated code makes sure of before it appends
// what it does not count: headers, stops, optional scalars.
const Room = 128

// Whole bounds what generated code appends at once: strings may be large enough
// to be sent by reference where there is more.
const Whole = buf.RefMin

// An Encoder is the state of one encode by generated code, which is its only
// user. It holds the output; the block that is being filled is passed along as a
// value, so that it stays in registers.
//
// Least is what the depth must be more than: 0, or once something failed a
// number that no depth reaches, so that all that follows goes to Plan, which
// does nothing then.
type Encoder struct {
	out   *buf.Out
	err   error // the first one
	Least int
}

// Begin gives what AppendThrift takes.
func (e *Encoder) Begin(to Output, b []byte, depth int) (*Encoder, []byte, int) {
	e.out = to.Out
	return e, b, depth
}

// End gives what AppendThrift gave, and what failed.
func (e *Encoder) End(b []byte) ([]byte, error) { return b, e.err }

// Next takes the block back and lends a fresh one.
func (e *Encoder) Next(b []byte) []byte { return e.out.Next(b) }

// Plan appends the struct x by its plan: one that may be nil, nested too deeply
// or come after a failure.
func (e *Encoder) Plan(b []byte, x any, depth int) []byte {
	if e.err != nil {
		return b
	}
	pl, p := e.planOf(x)
	if pl == nil {
		return b
	}
	s := plan.Encoder{Out: e.out}
	return e.after(&s, s.Fields(b, pl, p, depth))
}

// Fields appends the fields of the struct x from index i up to and without j,
// in the order of the IDL, by its plan: all that generated code has no words
// for, and what has no room in the block.
func (e *Encoder) Fields(b []byte, x any, depth, i, j int) []byte {
	if e.err != nil {
		return b
	}
	pl, p := e.planOf(x)
	if pl == nil {
		return b
	}
	s := plan.Encoder{Out: e.out}
	return e.after(&s, s.Some(b, pl, p, depth, pl.Fields[i:j], false))
}

// after notes an error of s, and makes sure of Room.
func (e *Encoder) after(s *plan.Encoder, b []byte) []byte {
	if s.Err != nil {
		e.fail(s.Err)
	}
	if cap(b)-len(b) < Room {
		return e.out.Next(b)
	}
	return b
}

// fail notes the first error; nothing is encoded after it.
func (e *Encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
	e.Least = 1 << 30
}

// planOf finds the plan of x, which may be a nil pointer.
func (e *Encoder) planOf(x any) (*plan.Plan, unsafe.Pointer) {
	if shape.Data(x) == nil {
		e.fail(&plan.TypeError{Type: reflect.TypeOf(x), Why: shape.WhyNil})
		return nil, nil
	}
	pl, p, err := plan.Of(x)
	if err != nil {
		e.fail(err)
		return nil, nil
	}
	return pl, p
}

// String appends length and bytes of s, with Room left behind it.
func (e *Encoder) String(b []byte, s string) []byte {
	if len(s) > min(cap(b)-len(b)-Room-4, buf.RefMin) {
		return e.long(b, s)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// long appends a string for which the block has not enough room.
func (e *Encoder) long(b []byte, text string) []byte {
	if cap(b)-len(b) < plan.Headroom {
		b = e.out.Next(b)
	}
	s := plan.Encoder{Out: e.out}
	return e.after(&s, s.Text(b, text))
}

// Bytes is String for binary.
func (e *Encoder) Bytes(b, p []byte) []byte {
	if cap(b)-len(b) < plan.Headroom {
		b = e.out.Next(b)
	}
	s := plan.Encoder{Out: e.out}
	return e.after(&s, s.Bytes(b, p))
}

// Count appends the number of elements, with Room left behind it.
func (e *Encoder) Count(b []byte, n int) []byte {
	if n > raw.MaxSize {
		e.fail(plan.ErrTooLong)
	}
	if b = binary.BigEndian.AppendUint32(b, uint32(n)); cap(b)-len(b) < Room {
		return e.out.Next(b)
	}
	return b
}

// Numbers appends a list or set of numbers, from its count on.
func Numbers[S ~[]T, T ~int16 | ~int32 | ~int64 | ~float64](e *Encoder, b []byte, list S) []byte {
	size, n := int(unsafe.Sizeof(T(0))), len(list)
	if n > (cap(b)-len(b)-Room-4)/size {
		// Safety: many looks at what it knows to be a slice.
		return e.many(b, unsafe.Pointer(&list), size)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	at := len(b)
	b = b[:at+n*size]
	// Safety: the elements are numbers of that size.
	switch p := unsafe.Pointer(unsafe.SliceData(list)); size {
	case 2:
		codec.To16(b[at:], unsafe.Slice((*uint16)(p), n))
	case 4:
		codec.To32(b[at:], unsafe.Slice((*uint32)(p), n))
	default:
		codec.To64(b[at:], unsafe.Slice((*uint64)(p), n))
	}
	return b
}

// many appends the list of numbers at p, for which the block has not enough room.
func (e *Encoder) many(b []byte, p unsafe.Pointer, size int) []byte {
	// Safety: all slices have one layout.
	if n := (*shape.Slice)(p).Len; n > raw.MaxSize {
		e.fail(plan.ErrTooLong)
		return b
	}
	b = e.Count(b, (*shape.Slice)(p).Len)
	s := plan.Encoder{Out: e.out}
	switch size {
	case 2:
		return e.after(&s, plan.Numbers(&s, b, *(*[]uint16)(p), 2, codec.To16))
	case 4:
		return e.after(&s, plan.Numbers(&s, b, *(*[]uint32)(p), 4, codec.To32))
	}
	return e.after(&s, plan.Numbers(&s, b, *(*[]uint64)(p), 8, codec.To64))
}

// Strings appends a list or set of strings, from its count on.
func (e *Encoder) Strings(b []byte, list []string) []byte {
	b = e.Count(b, len(list))
	for _, s := range list {
		b = e.String(b, s)
	}
	return b
}

// StringMap appends a map of strings, from its count on.
func (e *Encoder) StringMap(b []byte, m map[string]string) []byte {
	b = e.Count(b, len(m))
	s := plan.Encoder{Out: e.out}
	return e.after(&s, s.StringMap(b, m))
}

// Bool is the byte of a bool.
func Bool(v bool) byte {
	// Safety: a bool is a byte that is 0 or 1.
	return *(*byte)(unsafe.Pointer(&v))
}
