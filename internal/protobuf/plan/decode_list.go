package plan

import (
	"encoding/binary"
	"reflect"
	"slices"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// A head is a tag as it is on the wire: what begins each element of a run.
type head struct {
	bytes uint64 // its first byte lowest
	n     int
}

// headOf gives the head of the tag that an element of op begins with.
func (o *Op) headOf(tag uint32) head {
	if tag == o.Tag {
		return head{o.Head, int(o.HeadN)}
	}
	var b [8]byte
	n := binary.PutUvarint(b[:], uint64(tag))
	return head{binary.LittleEndian.Uint64(b[:]), n}
}

// at tells whether b[o:] begins with h.
func (h head) at(b []byte, o int) bool {
	if h.n == 1 {
		return o < len(b) && b[o] == byte(h.bytes)
	}
	if len(b)-o < h.n {
		return false
	}
	for i := range h.n {
		if b[o+i] != byte(h.bytes>>(8*i)) {
			return false
		}
	}
	return true
}

// run counts the values of that wire type at b[o:], of which each but the first follows h. It ends at
// what is wrong: who decodes will find it.
func (h head) run(b []byte, o int, w raw.Wire) (n int) {
	for {
		f := raw.Fine
		if w == raw.Bytes && o < len(b) && b[o] < 0x80 {
			o += 1 + int(b[o])
		} else if o, f = raw.Skip(b, o, uint32(w), 0); f != raw.Fine {
			return n + 1
		}
		if n++; !h.at(b, o) {
			return n
		}
		o += h.n
	}
}

// grow makes room for n more elements in the slice at p, and reports whether the budget had it.
func (d *Decoder) grow(t *shape.Type, p unsafe.Pointer, n int) bool {
	s := (*shape.Slice)(p)
	if n <= s.Cap-s.Len {
		return true
	}
	size := t.Elem.Size
	// slices.Grow doubles what it can, so that is what has to be paid for.
	if !d.Charges(max(s.Len+n, 2*s.Cap), size) {
		return false
	}
	// Safety: p points to a slice of elements with the same size, and with pointers at the same
	// places, as those of t.Go.
	switch t.Elem.Kind {
	case shape.Bool:
		*(*[]uint8)(p) = slices.Grow(*(*[]uint8)(p), n)
	case shape.Int32, shape.Uint32, shape.Float32:
		*(*[]uint32)(p) = slices.Grow(*(*[]uint32)(p), n)
	case shape.Int64, shape.Uint64, shape.Float64:
		*(*[]uint64)(p) = slices.Grow(*(*[]uint64)(p), n)
	case shape.String:
		*(*[]string)(p) = slices.Grow(*(*[]string)(p), n)
	case shape.Bytes:
		*(*[][]byte)(p) = slices.Grow(*(*[][]byte)(p), n)
	default: // shape.Ref
		*(*[]unsafe.Pointer)(p) = slices.Grow(*(*[]unsafe.Pointer)(p), n)
	}
	return true
}

// list decodes elements that have a tag each into the slice at p, as many as follow each other. The value of the
// first is at b[o:], its tag at b[from:].
func (d *Decoder) list(pl *Plan, op *Op, p unsafe.Pointer, b []byte, from, o, depth int) (int, raw.Fault) {
	w := wires[op.Elem]
	tag := op.Tag&^7 | uint32(w)
	h := op.headOf(tag)
	// How many follow is counted first, by their lengths alone, so that the slice is made once. Where
	// a group ends is known only once it was decoded.
	n := 1
	if op.Elem != Group {
		n = h.run(b, o, w)
	}
	if !d.grow(op.Type, p, n) {
		return o, raw.TooCostly
	}
	switch op.Elem {
	case Message, Group:
		return d.messages(op, (*[]unsafe.Pointer)(p), h, n, b, o, depth)
	case Text:
		return d.strings(op, (*[]string)(p), h, n, b, o)
	case Closed:
		return d.enums(pl, op, p, h, n, b, from, o)
	}
	s, size := (*shape.Slice)(p), op.Type.Elem.Size
	for {
		// Safety: there is room for n more elements of that size.
		var f raw.Fault
		if o, f = d.value(op, op.Elem, unsafe.Add(s.Data, s.Len*size), b, o, depth); f != raw.Fine {
			return o, f
		}
		s.Len++
		if n--; n == 0 {
			return o, raw.Fine
		}
		o += h.n
	}
}

// messages decodes n messages, which are made in slabs, or a group. A message that declares many pays for each
// slab when it comes to it.
func (d *Decoder) messages(op *Op, p *[]unsafe.Pointer, h head, n int, b []byte, o, depth int) (int, raw.Fault) {
	pl := op.Plan
	for {
		k := min(n, pl.Slab)
		if !d.Charges(k, pl.Size) {
			return o, raw.TooCostly
		}
		// One allocation for many structs. They live as long as any of them does, so a slab is small.
		slab := reflect.MakeSlice(pl.Slices, k, k).UnsafePointer()
		for i := range k {
			// Safety: the slab has k structs of that size.
			q := unsafe.Add(slab, i*pl.Size)
			var f raw.Fault
			if o, f = d.message(op, op.Elem, q, b, o, depth); f != raw.Fine {
				return o, f
			}
			*p = append(*p, q)
			if n--; n > 0 {
				o += h.n
			}
		}
		if n == 0 {
			return o, raw.Fine
		}
	}
}

// strings decodes n strings.
func (d *Decoder) strings(op *Op, p *[]string, h head, n int, b []byte, o int) (int, raw.Fault) {
	s := *p
	for {
		size, at, f := raw.Length(b, o)
		if f != raw.Fine {
			return at, f
		}
		o = at
		if op.utf8 && !codec.UTF8Bytes(b[o:o+size]) {
			return o, raw.BadText
		}
		s = append(s, d.text(o, size))
		o += size
		if n--; n == 0 {
			*p = s
			return o, raw.Fine
		}
		o += h.n
	}
}

// enums decodes n numbers of a closed enum into the slice at p; those without a name are unknown fields.
func (d *Decoder) enums(pl *Plan, op *Op, p unsafe.Pointer, h head, n int, b []byte, from, o int) (int, raw.Fault) {
	s := (*[]uint32)(p) // Safety: enums are numbers of that size.
	for {
		v, end, f := raw.Uvarint(b, o)
		if f == raw.Fine && known(op.Type.Elem, v) {
			*s = append(*s, uint32(v))
		} else if end, f = d.putAside(pl, op, f, p, b, from, end); f != raw.Fine {
			return end, f
		}
		if n--; n == 0 {
			return end, raw.Fine
		}
		from, o = end, end+h.n
	}
}

// packed decodes the numbers at b[o:], their length in bytes first, to the end of the slice at s.
func (d *Decoder) packed(pl *Plan, op *Op, s *shape.Slice, b []byte, o int) (int, raw.Fault) {
	size, o, f := raw.Length(b, o)
	if f != raw.Fine || size == 0 {
		return o, f
	}
	b = b[o : o+size]
	// Numbers are counted before they are read, so that the slice has its length from the beginning.
	n := 0
	switch op.Elem {
	case Fixed32:
		n = size / 4
	case Fixed64:
		n = size / 8
	default:
		n = raw.Count(b)
	}
	// Safety: for all of these: s is a slice of such numbers.
	at := 0
	switch op.Elem {
	case Fixed32:
		if at, f = 4*n, cut(size, 4); d.into32(s, n) {
			raw.From32((*(*[]uint32)(unsafe.Pointer(s)))[s.Len-n:], b)
		} else {
			f = raw.TooCostly
		}
	case Fixed64:
		if at, f = 8*n, cut(size, 8); d.into64(s, n) {
			raw.From64((*(*[]uint64)(unsafe.Pointer(s)))[s.Len-n:], b)
		} else {
			f = raw.TooCostly
		}
	case Int64, Sint64:
		at, f = numbers(d, (*[]uint64)(unsafe.Pointer(s)), d.into64(s, n), n, b, op.Elem == Sint64)
	case Bool:
		at, f = d.bools(op, (*[]bool)(unsafe.Pointer(s)), n, b)
	case Closed:
		at, f = d.packedEnums(pl, op, s, n, b)
	default: // Int32, Uint32, Sint32
		at, f = numbers(d, (*[]uint32)(unsafe.Pointer(s)), d.into32(s, n), n, b, op.Elem == Sint32)
	}
	return o + at, f
}

// cut tells that a number has been cut off.
func cut(size, each int) raw.Fault {
	if size%each != 0 {
		return raw.Short
	}
	return raw.Fine
}

// into64 makes the slice longer by n numbers of eight bytes, which are to be written; false: that is too much.
func (d *Decoder) into64(s *shape.Slice, n int) bool {
	p := (*[]uint64)(unsafe.Pointer(s)) // Safety: s is a slice of such numbers.
	// The first piece of a list, which nearly always is the only one, is made as long as it is and
	// cleared only where that is cheaper: all of it is written.
	if s.Len == 0 && s.Cap < n {
		if !d.Charges(n, 8) {
			return false
		}
		*p = codec.Room[uint64](n)
		return true
	}
	if s.Len+n > s.Cap && !d.Charges(max(s.Len+n, 2*s.Cap), 8) {
		return false
	}
	*p = slices.Grow(*p, n)[:s.Len+n]
	return true
}

// into32 is into64 for numbers of four bytes.
func (d *Decoder) into32(s *shape.Slice, n int) bool {
	p := (*[]uint32)(unsafe.Pointer(s)) // Safety: s is a slice of such numbers.
	if s.Len == 0 && s.Cap < n {
		if !d.Charges(n, 4) {
			return false
		}
		*p = codec.Room[uint32](n)
		return true
	}
	if s.Len+n > s.Cap && !d.Charges(max(s.Len+n, 2*s.Cap), 4) {
		return false
	}
	*p = slices.Grow(*p, n)[:s.Len+n]
	return true
}

// numbers reads the n numbers of b to the end of the slice at p; ok: there is room for them.
func numbers[T raw.Word](_ *Decoder, p *[]T, ok bool, n int, b []byte, zigzag bool) (int, raw.Fault) {
	if !ok {
		return 0, raw.TooCostly
	}
	s := (*p)[len(*p)-n:]
	at, f := raw.Numbers(s, b)
	if f == raw.Fine && zigzag {
		raw.Unzigzags(s)
	}
	return at, f
}

// bools decodes the n bools of b.
func (d *Decoder) bools(op *Op, p *[]bool, n int, b []byte) (int, raw.Fault) {
	// Safety: p is the slice of op.
	if !d.grow(op.Type, unsafe.Pointer(p), n) {
		return 0, raw.TooCostly
	}
	s := *p
	for o := 0; o < len(b); {
		v, end, f := raw.Uvarint(b, o)
		if f != raw.Fine {
			return end, f
		}
		s, o = append(s, v != 0), end
	}
	*p = s
	return len(b), raw.Fine
}

// packedEnums decodes the n numbers of b, of a closed enum.
func (d *Decoder) packedEnums(pl *Plan, op *Op, s *shape.Slice, n int, b []byte) (int, raw.Fault) {
	// Safety: s is the slice of op.
	if !d.grow(op.Type, unsafe.Pointer(s), n) {
		return 0, raw.TooCostly
	}
	p := (*[]uint32)(unsafe.Pointer(s)) // Safety: enums are numbers of that size.
	for o := 0; o < len(b); {
		v, end, f := raw.Uvarint(b, o)
		if f == raw.Fine && known(op.Type.Elem, v) {
			*p = append(*p, uint32(v))
		} else if f == raw.Fine {
			// Safety: s points to the field of op in a pl.Go.
			_, f = d.keep(pl, unsafe.Add(unsafe.Pointer(s), -int(op.Offset)), b[o:end], end, op.Tag&^7|uint32(raw.Varint))
		}
		if f != raw.Fine {
			return end, f
		}
		o = end
	}
	return len(b), raw.Fine
}
