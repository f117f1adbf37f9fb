package impl

import (
	"encoding/binary"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// A Decoder is the state of one decode by generated code, which is its only
// user. What is left of the message is passed along as a slice; nil stands for
// a fault, which the Decoder has noted.
type Decoder struct {
	core plan.Decoder
	flt  raw.Fault
	at   int // the fault's offset
}

// Begin gives what ReadThrift takes.
func (d *Decoder) Begin(in Input, depth int) (*Decoder, []byte, int) {
	// Safety: these are the bytes of a slice that are only read.
	d.core.B = unsafe.Slice(unsafe.StringData(in.B), len(in.B))
	d.core.Texts.Frame, d.core.Budget = in.Frame, in.Budget
	return d, d.core.B, depth
}

// End takes what ReadThrift gave.
func (d *Decoder) End(b []byte) Result {
	end := d.at
	if b != nil {
		end = d.core.Offset(b)
	}
	return Result{Code: uint64(end)<<8 | uint64(d.flt), Budget: d.core.Budget, Where: d.core.Where}
}

// Stop takes the struct's end; if something else comes, the plan goes on.
func (d *Decoder) Stop(x any, b []byte, depth, next int) []byte {
	if len(b) != 0 && b[0] == byte(raw.TypeStop) {
		return b[1:]
	}
	return d.Plan(x, b, depth, next)
}

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
	pl, p, err := plan.Of(x)
	if err != nil { // then the message could not have one either
		return d.fail(d.core.Offset(b), raw.BadType)
	}
	return d.rested(d.core.Resume(pl, p, d.core.Offset(b), depth, next, pl.BitsBefore(next)))
}

// Whole decodes the struct x, its defaults included, by its plan: one that is
// nested too deeply, or nil because its memory was not to be had.
func (d *Decoder) Whole(x any, b []byte, depth int) []byte {
	switch p := shape.Data(x); {
	case depth <= 0:
		return d.fail(d.core.Offset(b), raw.TooDeep)
	case p == nil:
		return d.fail(d.core.Offset(b), raw.TooCostly)
	}
	pl, p, err := plan.Of(x)
	if err != nil {
		return d.fail(d.core.Offset(b), raw.BadType)
	}
	if pl.HasPreset() && !d.core.Defaults(pl, p) {
		return d.fail(d.core.Offset(b), raw.TooCostly)
	}
	return d.rested(d.core.Fields(pl, p, d.core.Offset(b), depth))
}

// Defaults sets the defaults of the struct x, whose fields begin at b, if there
// is enough memory for them. Defaults that take none need not go this way.
func (d *Decoder) Defaults(x any, b []byte) bool {
	pl, p, err := plan.Of(x)
	if err != nil {
		d.fail(d.core.Offset(b), raw.BadType)
		return false
	}
	if pl.HasPreset() && !d.core.Defaults(pl, p) {
		d.fail(d.core.Offset(b), raw.TooCostly)
		return false
	}
	return true
}

// Fields decodes the fields of x with the indexes i up to and without j by its
// plan, where one follows the other; those that are not required may be absent. If
// that is not all there is to it, the plan goes on to the end of the struct, and
// done is true, as it is after a fault.
func (d *Decoder) Fields(x any, b []byte, depth, i, j int) (rest []byte, done bool) {
	pl, p, err := plan.Of(x)
	if err != nil {
		return d.fail(d.core.Offset(b), raw.BadType), true
	}
	o, f, done := d.core.Some(pl, p, d.core.Offset(b), depth, i, j)
	return d.rested(o, f), done
}

// rested gives the bytes from offset o on, or notes a fault there.
func (d *Decoder) rested(o int, f raw.Fault) []byte {
	if f != raw.Fine {
		return d.fail(o, f)
	}
	return d.core.B[o:]
}

func (d *Decoder) fail(o int, f raw.Fault) []byte {
	d.at, d.flt = o, f
	return nil
}

// In notes that the fault is in the field of x with index i, unless a field
// further in was noted, and gives nil.
func (d *Decoder) In(x any, i int) []byte {
	if pl, _, err := plan.Of(x); err == nil {
		d.core.Blame(pl, &pl.Fields[i], 0, raw.Fine)
	}
	return nil
}

// String reads a string whose length b begins with; b has 4 bytes at the least.
func (d *Decoder) String(s *string, b []byte) []byte {
	n := int(binary.BigEndian.Uint32(b))
	if d.core.Texts.Fits(n, len(b)-4) {
		*s = d.core.Texts.Take(codec.HeadOf(b[4:]), n)
		return b[4:][n:]
	}
	return d.stringSlow(s, b, n)
}

// stringSlow is String for what Take is not for. Nothing is done after the
// call, so that String keeps all that it has in registers.
//
//go:noinline
func (d *Decoder) stringSlow(s *string, b []byte, n int) []byte {
	if uint(n) > uint(len(b)-4) {
		return d.fail(d.core.Offset(b), raw.TooLarge)
	}
	*s = d.core.Texts.Copy(d.core.B, d.core.Offset(b)+4, n)
	return b[4+n:]
}

// Bytes is String for binary.
func (d *Decoder) Bytes(s *[]byte, b []byte) []byte {
	return d.rested(d.core.Bytes(s, d.core.Offset(b)))
}

// New makes a T for a value that is decoded next; nil if it takes more memory
// than is left.
func New[T any](d *Decoder) *T {
	var x *T
	if !d.core.Charge(int(unsafe.Sizeof(*x))) {
		return nil
	}
	return new(T)
}

// A scalar is what Optional reads. A type that is made of bool is none, since its
// bytes could not be told from an int8's.
type scalar interface {
	bool | ~int8 | ~int16 | ~int32 | ~int64 | ~float64 | ~[16]byte
}

// Optional reads an optional scalar other than a string: the field that b begins
// with, of which all is there.
func Optional[T scalar](d *Decoder, p **T, b []byte) []byte {
	x := New[T](d)
	if x == nil {
		return d.fail(d.core.Offset(b)+3, raw.TooCostly)
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
		*(*[16]byte)(q) = [16]byte(b)
		return b[16:]
	}
}

// OptionalString is Optional for a string, of whose field b has 7 bytes at the least.
func (d *Decoder) OptionalString(p **string, b []byte) []byte {
	s := New[string](d)
	if s == nil {
		return d.fail(d.core.Offset(b)+3, raw.TooCostly)
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
	if b[3] != byte(raw.TypeStruct) && n != 0 || uint(n) > uint(len(b)-8) || n != 0 && !d.core.Charges(n, int(unsafe.Sizeof(uintptr(0)))) {
		return nil, nil
	}
	return make([]*T, n), b[8:]
}

// ReadNumbers reads the list or set of numbers with the header of type t and id,
// which b ought to begin with, and elements of type elem. If anything is not as
// it ought to be it gives b and false; the plan, which then looks at the whole
// field, finds out what. So do the two below.
func ReadNumbers[S ~[]T, T ~int16 | ~int32 | ~int64 | ~float64](d *Decoder, p *S, b []byte, t byte, id uint16, elem byte) (rest []byte, ok bool) {
	size := int(unsafe.Sizeof(T(0)))
	n, ok := d.count8(b, t, id, elem, size)
	if !ok {
		return b, false
	}
	if n == 0 {
		*p = S{}
		return b[8:], true
	}
	// Safety: p points to a slice of numbers of that size.
	switch p := unsafe.Pointer(p); size {
	case 2:
		s := codec.Room[uint16](n)
		codec.From16(s, b[8:])
		*(*[]uint16)(p) = s
	case 4:
		s := codec.Room[uint32](n)
		codec.From32(s, b[8:])
		*(*[]uint32)(p) = s
	default:
		s := codec.Room[uint64](n)
		codec.From64(s, b[8:])
		*(*[]uint64)(p) = s
	}
	return b[8+n*size:], true
}

// count8 looks at the header of a field and a list, and takes the memory for n
// elements of which each has size bytes in Go, and as numbers on the wire.
func (d *Decoder) count8(b []byte, t byte, id uint16, elem byte, size int) (n int, ok bool) {
	if len(b) < 8 || Miss(b, t, id) != 0 {
		return 0, false
	}
	n = int(binary.BigEndian.Uint32(b[4:]))
	if n == 0 {
		return 0, true
	}
	if b[3] != elem || uint(n) > uint((len(b)-8)/int(raw.Least[elem])) || !d.core.Charges(n, size) {
		return 0, false
	}
	return n, true
}

// ReadStrings is ReadNumbers for strings.
func ReadStrings[S ~[]string](d *Decoder, p *S, b []byte, t byte, id uint16) (rest []byte, ok bool) {
	left := d.core.Budget
	n, ok := d.count8(b, t, id, byte(raw.TypeString), int(unsafe.Sizeof("")))
	if !ok {
		return b, false
	}
	s := make([]string, n)
	o, f := d.core.Strings(s, d.core.Offset(b)+8)
	if f != raw.Fine {
		d.core.Budget = left
		return b, false
	}
	*p = s
	return d.core.B[o:], true
}

// StringMap is ReadNumbers for a map of strings.
func (d *Decoder) StringMap(p *map[string]string, b []byte, id uint16) (rest []byte, ok bool) {
	if len(b) < 9 || Miss(b, byte(raw.TypeMap), id) != 0 {
		return b, false
	}
	n, left := int(binary.BigEndian.Uint32(b[5:])), d.core.Budget
	if n != 0 && (b[3] != byte(raw.TypeString) || b[4] != byte(raw.TypeString)) || uint(n) > uint((len(b)-9)/8) || !d.core.ChargeMap(n, 2*int(unsafe.Sizeof(""))) {
		d.core.Budget = left
		return b, false
	}
	o, f := d.core.StringMap(p, d.core.Offset(b)+9, n)
	if f != raw.Fine {
		d.core.Budget = left
		return b, false
	}
	return d.core.B[o:], true
}

// A Slab makes the structs of a list, several with one allocation. The zero
// value is ready.
type Slab[T any] struct {
	of   []T
	next int // the first one that is free
}

// Next gives a struct; more of them will be wanted, that one included. It is nil
// if there is no more memory for it.
func (s *Slab[T]) Next(d *Decoder, more int) *T {
	if i := s.next; i < len(s.of) {
		s.next++
		return &s.of[i]
	}
	return s.fill(d, more)
}

// fill is Next when there is none left. It stays out of Next, which is inlined.
//
//go:noinline
func (s *Slab[T]) fill(d *Decoder, more int) *T {
	size := int(unsafe.Sizeof(*new(T)))
	n := min(more, shape.SlabOf(size))
	if !d.core.Charges(n, size) {
		return nil
	}
	s.of, s.next = make([]T, n), 1
	return &s.of[0]
}
