package thrift

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/limosa-rpc/limosa/rpc"
)

// A Decoder is the state of one decode by generated code, which is its only
// user. What is left of the message is passed along as a slice; nil stands for
// a fault, which the Decoder has noted.
type Decoder struct {
	decoder
	rest  []byte // while it is handed over, as depth
	depth int
	flt   fault
	at    int // the fault's offset
}

// generated decodes the struct at p, whose first field is at d.b[o:], by its
// generated methods.
func (d *decoder) generated(pl *plan, p unsafe.Pointer, o, depth int) (int, fault) {
	g := pl.madeFor(p).DecodeThrift(Decoder{decoder: *d, rest: d.b[o:], depth: depth})
	*d = g.decoder
	if g.rest == nil {
		return g.at, g.flt
	}
	return d.offset(g.rest), fine
}

// Begin gives what ReadThrift takes.
func (d *Decoder) Begin() (*Decoder, []byte, int) { return d, d.rest, d.depth }

// End takes what ReadThrift gave.
func (d *Decoder) End(b []byte) Decoder {
	d.rest = b
	return *d
}

// Stop takes the struct's end; if something else comes, the plan goes on.
func (d *Decoder) Stop(x any, b []byte, depth, next int) []byte {
	if len(b) != 0 && b[0] == byte(TypeStop) {
		return b[1:]
	}
	return d.Plan(x, b, depth, next)
}

// failed makes the error for a fault.
func (d *decoder) failed(o int, f fault) error {
	// With short, skip gives where the value would have ended.
	return &rpc.Error{Code: rpc.InvalidArgument, Op: "decode", Err: &SyntaxError{Offset: min(o, len(d.b)), Path: d.where, Why: faults[f]}}
}

// offset is where b, which is a rest of the message, begins.
func (d *decoder) offset(b []byte) int { return len(d.b) - len(b) }

// Miss is 0 if a field's header is the one of type t and id. p has 4 bytes at
// the least: no field has fewer.
func Miss(p []byte, t byte, id uint16) uint32 {
	return (binary.LittleEndian.Uint32(p) ^ (uint32(t) | uint32(id>>8)<<8 | uint32(id&0xff)<<16)) << 8
}

// Has tells whether b begins with the header of type t and id, and has n bytes.
func Has(b []byte, n int, t byte, id uint16) bool { return len(b) >= n && Miss(b, t, id) == 0 }

// Plan decodes the rest of the struct x by its plan, up to and with its stop.
// The fields before the one with index next were decoded, but for those that
// may be absent.
func (d *Decoder) Plan(x any, b []byte, depth, next int) []byte {
	pl, p, err := planOf(x)
	if err != nil { // then the message could not have one either
		return d.fail(d.offset(b), badType)
	}
	return d.rested(d.resume(pl, p, d.offset(b), depth, next, pl.bitsBefore(next)))
}

// Whole decodes the struct x, its defaults included, by its plan: one that is
// nested too deeply, or nil because its memory was not to be had.
func (d *Decoder) Whole(x any, b []byte, depth int) []byte {
	// Safety: every empty interface is these two words.
	switch p := (*words)(unsafe.Pointer(&x)).data; {
	case depth <= 0:
		return d.fail(d.offset(b), tooDeep)
	case p == nil:
		return d.fail(d.offset(b), tooCostly)
	}
	pl, p, err := planOf(x)
	if err != nil {
		return d.fail(d.offset(b), badType)
	}
	if pl.preset != 0 {
		pl.setDefaults(p)
	}
	return d.rested(d.fields(pl, p, d.offset(b), depth))
}

// Fields decodes the fields of x with the indexes i up to and without j by its
// plan, where one follows the other; those that are not required may be absent. If
// that is not all there is to it, the plan goes on to the end of the struct, and
// done is true, as it is after a fault.
func (d *Decoder) Fields(x any, b []byte, depth, i, j int) (rest []byte, done bool) {
	pl, p, err := planOf(x)
	if err != nil {
		return d.fail(d.offset(b), badType), true
	}
	o, f, done := d.some(pl, p, d.offset(b), depth, i, j)
	return d.rested(o, f), done
}

// rested gives the bytes from offset o on, or notes a fault there.
func (d *Decoder) rested(o int, f fault) []byte {
	if f != fine {
		return d.fail(o, f)
	}
	return d.b[o:]
}

func (d *Decoder) fail(o int, f fault) []byte {
	d.at, d.flt = o, f
	return nil
}

// In notes that the fault is in the field of x with index i, unless a field
// further in was noted, and gives nil.
func (d *Decoder) In(x any, i int) []byte {
	if pl, _, err := planOf(x); err == nil {
		d.blame(pl, &pl.ops[i], 0, fine)
	}
	return nil
}

// String reads a string whose length b begins with; b has 4 bytes at the least.
func (d *Decoder) String(s *string, b []byte) []byte {
	n := int(binary.BigEndian.Uint32(b))
	if n > len(b)-4 {
		return d.fail(d.offset(b), tooLarge)
	}
	*s = d.text(d.offset(b)+4, n)
	return b[4+n:]
}

// Bytes is String for binary.
func (d *Decoder) Bytes(s *[]byte, b []byte) []byte {
	return d.rested(d.bytes(s, d.offset(b)))
}

// New makes a T for a value that is decoded next; nil if it takes more memory
// than is left.
func New[T any](d *Decoder) *T {
	var x *T
	if !d.charge(int(unsafe.Sizeof(*x))) {
		return nil
	}
	return new(T)
}

// Optional reads an optional scalar other than a string: the field that b begins
// with, of which all is there.
func Optional[T any](d *Decoder, p **T, b []byte) []byte {
	x := New[T](d)
	if x == nil {
		return d.fail(d.offset(b)+3, tooCostly)
	}
	*p = x
	b = b[3:]
	if v, ok := any(x).(*bool); ok {
		*v = b[0] == 1
		return b[1:]
	}
	// Safety: x has the size that is looked at, and is a number or a UUID.
	switch q := unsafe.Pointer(x); unsafe.Sizeof(*x) {
	case 1:
		*(*byte)(q) = b[0]
		return b[1:]
	case 2:
		*(*uint16)(q) = binary.BigEndian.Uint16(b)
		return b[2:]
	case 4:
		*(*uint32)(q) = binary.BigEndian.Uint32(b)
		return b[4:]
	case 8:
		*(*uint64)(q) = binary.BigEndian.Uint64(b)
		return b[8:]
	default:
		*(*UUID)(q) = UUID(b)
		return b[16:]
	}
}

// OptionalString is Optional for a string, of whose field b has 7 bytes at the least.
func (d *Decoder) OptionalString(p **string, b []byte) []byte {
	s := New[string](d)
	if s == nil {
		return d.fail(d.offset(b)+3, tooCostly)
	}
	*p = s
	return d.String(s, b[3:])
}

// List begins the list or set of structs with the header of type t and id, which b
// ought to begin with: it makes the slice, and gives what follows the number of
// elements. If anything is not as it ought to be it gives nil; the plan, which
// then looks at the whole field, finds out what.
func List[T any](d *Decoder, b []byte, t byte, id uint16) ([]*T, []byte) {
	if len(b) < 8 || Miss(b, t, id) != 0 {
		return nil, nil
	}
	n := int(binary.BigEndian.Uint32(b[4:]))
	if b[3] != byte(TypeStruct) && n != 0 || n > len(b)-8 || n > math.MaxInt32 || n != 0 && !d.charges(n, int(unsafe.Sizeof(uintptr(0)))) {
		return nil, nil
	}
	return make([]*T, n), b[8:]
}

// A Slab makes the structs of a list, several with one allocation. The zero
// value is ready.
type Slab[T any] struct{ free []T }

// Next gives a struct; more of them will be wanted, that one included. It is nil
// if there is no more memory for it.
func (s *Slab[T]) Next(d *Decoder, more int) *T {
	if len(s.free) == 0 && !s.fill(d, more) {
		return nil
	}
	x := &s.free[0]
	s.free = s.free[1:]
	return x
}

func (s *Slab[T]) fill(d *Decoder, more int) bool {
	size := int(unsafe.Sizeof(*new(T)))
	n := min(more, slabOf(size))
	if !d.charges(n, size) {
		return false
	}
	s.free = make([]T, n)
	return true
}
