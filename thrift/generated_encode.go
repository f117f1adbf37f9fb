package thrift

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
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
	encoder
	Least int
	b     []byte // while it is handed over, as depth
	depth int
}

// generated is what generated structs implement. These methods are called
// through an interface, and what is passed through one by reference lives on the
// heap; so the state is passed as a value. The method's copy stays on its
// stack, because from there on all calls are of known functions.
type generated interface {
	EncodeThrift(e Encoder) ([]byte, error)
	DecodeThrift(d Decoder) Decoder
}

// madeFor gives the struct at p as what its generated methods are called on.
func (pl *plan) madeFor(p unsafe.Pointer) generated {
	f := face{pl.made, p}
	// Safety: p points to a pl.rt, and made is the itab of *pl.rt for generated.
	return *(*generated)(unsafe.Pointer(&f))
}

// generated appends the struct at p by its generated methods.
func (e *encoder) generated(b []byte, pl *plan, p unsafe.Pointer, depth int) []byte {
	b, e.err = pl.madeFor(p).EncodeThrift(Encoder{encoder: *e, b: b, depth: depth})
	return b
}

// Begin gives what AppendThrift takes.
func (e *Encoder) Begin() (*Encoder, []byte, int) { return e, e.b, e.depth }

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
	if pl, p := e.planOf(x, whyNil); pl != nil {
		b = e.fields(b, pl, p, depth)
	}
	if e.err != nil {
		e.Least = stopped
	}
	return b
}

// stopped is more than any depth.
const stopped = 1 << 30

// Fields appends the fields of the struct x from index i up to and without j,
// in the order of the IDL, by its plan: all that generated code has no words
// for, and what has no room in the block.
func (e *Encoder) Fields(b []byte, x any, depth, i, j int) []byte {
	if e.err != nil {
		return b
	}
	if pl, p := e.planOf(x, whyNil); pl != nil {
		b = e.some(b, pl, p, depth, pl.ops[i:j])
	}
	if e.err != nil {
		e.Least = stopped
	}
	return e.more(b)
}

// planOf is planOf for a struct that has a plan already or is a part of one.
func (e *Encoder) planOf(x any, why string) (*plan, unsafe.Pointer) {
	// Safety: every empty interface is these two words.
	if (*words)(unsafe.Pointer(&x)).data == nil {
		e.err = &TypeError{Type: reflect.TypeOf(x), Why: why}
		return nil, nil
	}
	pl, p, err := planOf(x)
	if err != nil {
		e.err = err
		return nil, nil
	}
	return pl, p
}

// String appends length and bytes of s, with Room left behind it.
func (e *Encoder) String(b []byte, s string) []byte {
	if len(s) > cap(b)-len(b)-Room-4 {
		return e.long(b, s)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// long appends a string for which the block has not enough room.
func (e *Encoder) long(b []byte, s string) []byte {
	if cap(b)-len(b) < headroom {
		b = e.out.Next(b)
	}
	b = e.text(b, s)
	if e.err != nil {
		e.Least = stopped
	}
	return e.more(b)
}

// Bytes is String for binary.
func (e *Encoder) Bytes(b, p []byte) []byte {
	if cap(b)-len(b) < headroom {
		b = e.out.Next(b)
	}
	b = e.bytes(b, p)
	if e.err != nil {
		e.Least = stopped
	}
	return e.more(b)
}

// Count appends the number of elements, with Room left behind it.
func (e *Encoder) Count(b []byte, n int) []byte {
	if n > maxSize {
		if e.err == nil {
			e.err = errTooLong
		}
		e.Least = stopped
	}
	return e.more(binary.BigEndian.AppendUint32(b, uint32(n)))
}

// more makes sure of Room.
func (e *Encoder) more(b []byte) []byte {
	if cap(b)-len(b) < Room {
		return e.out.Next(b)
	}
	return b
}

// Bool is the byte of a bool.
func Bool(v bool) byte {
	// Safety: a bool is a byte that is 0 or 1.
	return *(*byte)(unsafe.Pointer(&v))
}
