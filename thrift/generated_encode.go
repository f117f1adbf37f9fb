package thrift

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
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

// An Output is where an encode goes, as it is handed to a generated method.
type Output struct{ out *buf.Out }

// generated is what generated structs implement. These methods are called
// through an interface, and what is passed through one by reference lives on the
// heap; so what they need is passed as values, which fit in registers. The state
// begins on their stack and stays there, because from there on all calls are of
// known functions.
type generated interface {
	EncodeThrift(to Output, b []byte, depth int) ([]byte, error)
	DecodeThrift(in Input, depth int) Result
}

// madeFor gives the struct at p as what its generated methods are called on.
func (pl *plan) madeFor(p unsafe.Pointer) generated {
	f := shape.Face{Itab: pl.made, Data: p}
	// Safety: p points to a pl.Go, and made is the itab of *pl.Go for generated.
	return *(*generated)(unsafe.Pointer(&f))
}

// generated appends the struct at p by its generated methods.
func (e *encoder) generated(b []byte, pl *plan, p unsafe.Pointer, depth int) []byte {
	b, e.err = pl.madeFor(p).EncodeThrift(Output{e.out}, b, depth)
	return b
}

// Begin gives what AppendThrift takes.
func (e *Encoder) Begin(to Output, b []byte, depth int) (*Encoder, []byte, int) {
	e.out = to.out
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
	s := encoder{out: e.out}
	return e.after(&s, s.fields(b, pl, p, depth))
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
	s := encoder{out: e.out}
	return e.after(&s, s.some(b, pl, p, depth, pl.Fields[i:j], false))
}

// after notes an error of s, and makes sure of Room.
func (e *Encoder) after(s *encoder, b []byte) []byte {
	if s.err != nil {
		e.fail(s.err)
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
func (e *Encoder) planOf(x any) (*plan, unsafe.Pointer) {
	if shape.Data(x) == nil {
		e.fail(&TypeError{Type: reflect.TypeOf(x), Why: shape.WhyNil})
		return nil, nil
	}
	pl, p, err := planOf(x)
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
	if cap(b)-len(b) < headroom {
		b = e.out.Next(b)
	}
	s := encoder{out: e.out}
	return e.after(&s, s.text(b, text))
}

// Bytes is String for binary.
func (e *Encoder) Bytes(b, p []byte) []byte {
	if cap(b)-len(b) < headroom {
		b = e.out.Next(b)
	}
	s := encoder{out: e.out}
	return e.after(&s, s.bytes(b, p))
}

// Count appends the number of elements, with Room left behind it.
func (e *Encoder) Count(b []byte, n int) []byte {
	if n > raw.MaxSize {
		e.fail(errTooLong)
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
		e.fail(errTooLong)
		return b
	}
	b = e.Count(b, (*shape.Slice)(p).Len)
	s := encoder{out: e.out}
	switch size {
	case 2:
		return e.after(&s, numbers(&s, b, *(*[]uint16)(p), 2, codec.To16))
	case 4:
		return e.after(&s, numbers(&s, b, *(*[]uint32)(p), 4, codec.To32))
	}
	return e.after(&s, numbers(&s, b, *(*[]uint64)(p), 8, codec.To64))
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
	s := encoder{out: e.out}
	return e.after(&s, s.stringMap(b, m))
}

// Bool is the byte of a bool.
func Bool(v bool) byte {
	// Safety: a bool is a byte that is 0 or 1.
	return *(*byte)(unsafe.Pointer(&v))
}
