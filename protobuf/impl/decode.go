package impl

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/protobuf/plan"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// A Decoder is the state of one decode by generated code, which is its only user.
//
// b is a message, from the begin of the whole one to its own end, as in the plan: offsets are those
// of the whole message. A negative offset, or false, stands for a fault.
type Decoder struct {
	core plan.Decoder
	end  int // of the whole message, or the offset of a fault
	flt  raw.Fault
}

// Begin gives what ReadProto takes.
func (d *Decoder) Begin(in Input, depth int) (*Decoder, []byte, int, int) {
	b := d.core.Begin(in)
	d.end = len(b)
	return d, b, 0, depth
}

// End takes what ReadProto gave for x.
func (d *Decoder) End(x any, _ bool) Result {
	if d.core.Lacks() {
		d.judge(x)
	}
	return d.core.Result(d.end, d.flt)
}

// judge finds what x lacks, if anything.
func (d *Decoder) judge(x any) {
	if pl, p, err := plan.Of(x); err == nil {
		d.end, d.flt = d.core.Judge(pl, p, d.end, d.flt)
	}
}

// Plan decodes the rest of x, from b[o:] on, by its plan.
func (d *Decoder) Plan(x any, b []byte, o, depth int) bool {
	pl, p, err := plan.Of(x)
	if err != nil { // then the message could not have one either
		return d.fail(o, raw.BadWire)
	}
	if end, f := d.core.Rest(pl, p, b, o, depth); f != raw.Fine {
		return d.fail(end, f)
	}
	return true
}

func (d *Decoder) fail(o int, f raw.Fault) bool {
	d.end, d.flt = o, f
	return false
}

// In notes that the fault is in the field of x with index i, by number, unless a field further in was noted, and
// gives false.
func (d *Decoder) In(x any, i int) bool {
	if pl, _, err := plan.Of(x); err == nil {
		d.core.In(pl, i)
	}
	return false
}

// Field decodes the field of x with index i, by number, whose tag of n bytes is at b[o:], by the plan: of a list or map
// as many elements as follow each other. It gives where that ends.
func (d *Decoder) Field(x any, b []byte, o, n, depth, i int) int {
	pl, p, err := plan.Of(x)
	if err != nil {
		d.fail(o, raw.BadWire)
		return -1
	}
	end, f := d.core.Field(pl, i, p, b, o, o+n, depth)
	if f != raw.Fine {
		d.fail(end, f)
		return -1
	}
	return end
}

// Is tells whether b[o:] begins with a tag of one byte, and has one more.
func Is(b []byte, o int, tag byte) bool { return len(b)-o > 1 && b[o] == tag }

// Is2 tells whether b[o:] begins with a tag of two bytes, the first one lowest, and has one more.
func Is2(b []byte, o int, tag uint16) bool {
	return len(b)-o > 2 && binary.LittleEndian.Uint16(b[o:]) == tag
}

// Number reads the number at b[o:], which has more than one byte, and gives where it ends; that is negative if it is
// wrong.
func Number(b []byte, o int) (v uint64, end int) {
	if len(b)-o >= raw.MaxVarint {
		p := (*[raw.MaxVarint]byte)(b[o:])
		if v, n := codec.UvarintOf(p); n != 0 && (n < raw.MaxVarint || p[raw.MaxVarint-1] <= 1) {
			return v, o + n
		}
		return 0, -1
	}
	v, end, f := raw.Uvarint(b, o)
	if f != raw.Fine {
		return 0, -1
	}
	return v, end
}

// Unzigzag takes the sign of a number from its lowest bit.
func Unzigzag(v uint64) int64 { return raw.Unzigzag(v) }

// Length reads the length at b[o:], gives where what has it begins and ends; end is negative if that is
// not within b.
func Length(b []byte, o int) (begin, end int) {
	if o < len(b) && b[o] < 0x80 {
		if end = o + 1 + int(b[o]); end <= len(b) {
			return o + 1, end
		}
		return 0, -1
	}
	if len(b)-o >= 2 && b[o+1] < 0x80 {
		if end = o + 2 + int(b[o]&0x7f) + int(b[o+1])<<7; end <= len(b) {
			return o + 2, end
		}
		return 0, -1
	}
	v, o := Number(b, o)
	if o < 0 || v > uint64(len(b)-o) {
		return 0, -1
	}
	return o, o + int(v)
}

// Text reads a string of UTF-8, whose length is at b[o:].
func (d *Decoder) Text(s *string, b []byte, o int) int {
	n := int(b[o])
	o++
	if n >= 0x80 || n > len(b)-o {
		return d.textSlow(s, b, o-1, true)
	}
	all := d.core.All()
	if len(all)-o < codec.Short || n > codec.Short {
		if codec.UTF8Bytes(b[o : o+n]) {
			*s = d.core.Texts.Copy(all, o, n)
			return o + n
		}
		return -1
	}
	head := codec.HeadOf(all[o:])
	if !head.ASCII() && !codec.UTF8Bytes(b[o:o+n]) {
		return -1
	}
	if text, ok := d.core.Texts.Copied(o, n); ok {
		*s = text
	} else if d.core.Texts.Fits(n, len(all)-o) {
		*s = d.core.Texts.Take(head, n)
	} else {
		*s = d.core.Texts.Copy(all, o, n)
	}
	return o + n
}

// AnyText is Text for a string that need not be UTF-8.
func (d *Decoder) AnyText(s *string, b []byte, o int) int { return d.textSlow(s, b, o, false) }

//go:noinline
func (d *Decoder) textSlow(s *string, b []byte, o int, strict bool) int {
	o, end := Length(b, o)
	if end < 0 {
		return -1
	}
	if strict && !codec.UTF8Bytes(b[o:end]) {
		return -1
	}
	*s = d.core.Texts.Copy(d.core.All(), o, end-o)
	return end
}

// Bytes reads bytes, whose length is at b[o:], into memory of their own.
func (d *Decoder) Bytes(s *[]byte, b []byte, o int) int {
	n, o, f := raw.Length(b, o)
	left := d.core.Budget
	if f != raw.Fine || !d.core.Charge(n) {
		d.core.Budget = left
		return -1
	}
	src := b[o : o+n]
	p := make([]byte, len(src)) // not cleared, since all of it is copied over
	copy(p, src)
	*s = p
	return o + n
}

// New makes a T for a value that is decoded next; nil if it takes more memory than is left.
func New[T any](d *Decoder) *T {
	var x *T
	if left := d.core.Budget; !d.core.Charge(int(unsafe.Sizeof(*x))) {
		d.core.Budget = left // it will be taken again
		return nil
	}
	return new(T)
}

// List makes room in s for as many messages as there are, the first one's length at b[o:], the others behind
// the tag of n bytes; more is negative if there is not enough memory.
func List[T any](d *Decoder, s []*T, b []byte, o int, tag uint64, n int) (list []*T, more int) {
	more = plan.Run(b, o, tag, n)
	if more > cap(s)-len(s) {
		left := d.core.Budget
		if !d.core.Charges(max(len(s)+more, 2*cap(s)), int(unsafe.Sizeof(uintptr(0)))) {
			d.core.Budget = left
			return s, -1
		}
		s = slices.Grow(s, more) // as the plan does: what is spare counts when more come
	}
	return s, more
}

// A Slab makes the messages of a list, several with one allocation. The zero value is ready.
type Slab[T any] struct {
	of   []T
	next int // the first one that is free
}

// Next gives a message; more of them will be wanted, that one included. It is nil if there is no more
// memory for it.
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

// Costly notes that there was no memory for a message of the list of x with index i, whose length is at b[o:].
func (d *Decoder) Costly(x any, o, i int) bool {
	d.fail(o, raw.TooCostly)
	return d.In(x, i)
}

// Cut notes that the message of the list of x with index i has a wrong length at b[o:].
func (d *Decoder) Cut(x any, b []byte, o, i int) bool {
	_, end, f := raw.Length(b, o)
	d.fail(end, f)
	return d.In(x, i)
}

// Numbers reads packed numbers of a form, whose length in bytes is at b[o:], to the end of the list.
func Numbers[S ~[]T, T number](d *Decoder, list *S, b []byte, o int, form plan.Form) int {
	// Safety: list is a slice, and form says what its numbers are.
	return d.numbers((*shape.Slice)(unsafe.Pointer(list)), b, o, form)
}

// numbers is Numbers without the type, so that it is compiled once. Short lists of 64-bit numbers, which are
// most, are read without the plan; what is wrong, or too much, is found out by the plan once more.
func (d *Decoder) numbers(s *shape.Slice, b []byte, o int, form plan.Form) int {
	if form == Int64 && s.Cap == 0 && b[o] < 0x80 && int(b[o]) < len(b)-o {
		// Safety: the numbers of that form are such words.
		return d.fewNumbers((*[]uint64)(unsafe.Pointer(s)), b[:o+1+int(b[o])], o+1)
	}
	left, was := d.core.Budget, *s
	end, f := d.core.Packed(form, s, b, o)
	if f != raw.Fine {
		d.core.Budget, *s = left, was // the plan does it again
		return -1
	}
	return end
}

// fewNumbers reads the packed numbers from b[o:] to the end of b, which are less than 128 bytes.
func (d *Decoder) fewNumbers(list *[]uint64, b []byte, o int) int {
	n := raw.Count(b[o:])
	left := d.core.Budget
	if n == 0 || !d.core.Charges(n, 8) {
		d.core.Budget = left
		return -1
	}
	s := make([]uint64, n)
	for i := range s {
		v := uint64(b[o])
		if o++; v >= 0x80 {
			if v, o = rest(b, o, v&0x7f); o < 0 {
				break
			}
		}
		s[i] = v
	}
	if o != len(b) {
		d.core.Budget = left
		return -1
	}
	*list = s
	return o
}

// rest reads what follows the first seven bits of a number, which ends within b.
func rest(b []byte, o int, v uint64) (uint64, int) {
	for shift := 7; ; shift += 7 {
		c := uint64(b[o])
		v |= c & 0x7f << (shift & 63)
		if o++; c >= 0x80 {
			continue
		}
		if shift > 63 || shift == 63 && c > 1 {
			return 0, -1
		}
		return v, o
	}
}
