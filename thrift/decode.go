package thrift

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/rpc"
)

// A decoder is the state of one decode. It lives on the stack of Decode:
// nothing here may go through a function value, or it would be allocated.
type decoder struct {
	b      []byte
	body   buf.View    // b's if there is a view in what is decoded, else empty
	lim    *rpc.Limits // of the decode, if body is there
	texts  codec.Texts
	hand   int    // depth at which a struct is handed to its generated methods
	handed int    // how many were
	where  string // the field where a fault was found, innermost
	budget
}

// fields decodes the fields of a struct at b[o:], up to and with its stop, into
// the pl.rt at base. It gives the end, or the offset of a fault. depth is how
// many levels are allowed, this struct included.
//
// The next field is guessed to be the next one of the plan, so that fields in
// that order cost one compare each; docs/how/thrift.md.
func (d *decoder) fields(pl *plan, base unsafe.Pointer, o, depth int) (int, fault) {
	if depth <= 0 {
		return o, tooDeep
	}
	return d.resume(pl, base, o, depth, 0, 0)
}

// resume is fields for the rest of a struct: next is the index of the field
// that is guessed to come, seen has the bits of those that came. With more
// required fields than bits it begins with the first field.
func (d *decoder) resume(pl *plan, base unsafe.Pointer, o, depth, next int, seen uint64) (int, fault) {
	b, begin := d.b, o
	for {
		if len(b)-o < 4 {
			// No field is shorter than 4 bytes.
			if o < len(b) && b[o] == byte(TypeStop) {
				break
			}
			return d.rest(o)
		}
		head := binary.BigEndian.Uint32(b[o:]) >> 8
		var f *op
		if next < len(pl.ops) && pl.ops[next].head == head {
			f = &pl.ops[next]
			next++
		} else if head>>16 == uint32(TypeStop) {
			break
		} else if f, next = pl.find(head); f == nil {
			var flt fault
			from := o
			if o, flt = skip(b, o+3, Type(head>>16), depth-1); flt != fine {
				return o, flt
			}
			if pl.unknown != 0 && !d.keep(pl, base, from, o) {
				return from, tooCostly
			}
			continue
		}
		o += 3
		// Safety: base points to a pl.rt, and offset and kind are those of one
		// of its fields: compile took them from reflection. So for all stores below.
		p := unsafe.Add(base, f.offset)
		switch f.kind {
		case k8:
			if len(b)-o < 8 {
				return d.blame(pl, f, o, short)
			}
			*(*uint64)(p) = binary.BigEndian.Uint64(b[o:])
			o += 8
		case k4:
			if len(b)-o < 4 {
				return d.blame(pl, f, o, short)
			}
			*(*uint32)(p) = binary.BigEndian.Uint32(b[o:])
			o += 4
		case kString:
			if len(b)-o < 4 {
				return d.blame(pl, f, o, short)
			}
			n := int(binary.BigEndian.Uint32(b[o:]))
			if uint(n) > uint(len(b)-o-4) {
				return d.blame(pl, f, o, tooLarge)
			}
			if o += 4; d.texts.Fits(n, len(b)-o) {
				*(*string)(p) = d.texts.Take(codec.HeadOf(b[o:]), n)
			} else {
				*(*string)(p) = d.texts.Copy(b, o, n)
			}
			o += n
		case kBool:
			*(*bool)(p) = b[o] == 1 // the header left a byte; see value
			o++
		default:
			end, flt := d.value(f.t, p, o, depth-1)
			if flt == wrongType {
				end, flt = skip(b, o, f.t.wire, depth-1)
				if flt == fine && pl.unknown != 0 && !d.keep(pl, base, o-3, end) {
					return o, tooCostly
				}
				if flt == fine {
					o = end
					continue
				}
			}
			if flt != fine {
				return d.blame(pl, f, end, flt)
			}
			o = end
		}
		seen |= f.bit
	}
	if seen != pl.bits || pl.wide {
		return d.lacking(pl, seen, begin, o)
	}
	return o + 1, fine
}

// rest judges what is left where no whole field is.
func (d *decoder) rest(o int) (int, fault) {
	if o < len(d.b) && least[d.b[o]] == 0 {
		return o, badType
	}
	return len(d.b), short
}

// blame notes the field where a fault was found, unless a field further in was
// noted. The text reaches the peer: it has the IDL's names.
func (d *decoder) blame(pl *plan, f *op, o int, flt fault) (int, fault) {
	if d.where == "" {
		d.where = pl.rt.Name() + "." + pl.said[f.name]
	}
	return o, flt
}

// lacking finds the first required field that was not seen. seen has no bits
// for those after the 64th; then the struct, which begins at begin and has its
// stop at o, is gone through again.
func (d *decoder) lacking(pl *plan, seen uint64, begin, o int) (int, fault) {
	there := map[uint32]bool{}
	for at := begin; pl.wide && at < o; {
		head := binary.BigEndian.Uint32(d.b[at:]) >> 8
		there[head] = true
		at, _ = skip(d.b, at+3, Type(head>>16), 1<<30) // its depth was checked before
	}
	for i := range pl.ops {
		f := &pl.ops[i]
		if f.need == required && (f.bit != 0 && seen&f.bit == 0 || f.bit == 0 && !there[f.head]) {
			return d.blame(pl, f, o, missing)
		}
	}
	return o + 1, fine
}

// value decodes a value at b[o:] into p, which points to a t.rt. depth is how
// many levels are allowed for it. What p held before is replaced as a whole.
func (d *decoder) value(t *typ, p unsafe.Pointer, o, depth int) (int, fault) {
	b := d.b
	// Safety: for all stores below: p points to a t.rt, whose layout kind says.
	switch t.kind {
	case kString:
		if len(b)-o < 4 {
			return o, short
		}
		n := int(binary.BigEndian.Uint32(b[o:]))
		if uint(n) > uint(len(b)-o-4) {
			return o, tooLarge
		}
		*(*string)(p) = d.text(o+4, n)
		return o + 4 + n, fine
	case kStruct:
		return d.structure(t.plan, p, o, depth)
	case k8:
		if len(b)-o < 8 {
			return o, short
		}
		*(*uint64)(p) = binary.BigEndian.Uint64(b[o:])
		return o + 8, fine
	case k4:
		if len(b)-o < 4 {
			return o, short
		}
		*(*uint32)(p) = binary.BigEndian.Uint32(b[o:])
		return o + 4, fine
	case k2:
		if len(b)-o < 2 {
			return o, short
		}
		*(*uint16)(p) = binary.BigEndian.Uint16(b[o:])
		return o + 2, fine
	case k1:
		if len(b)-o < 1 {
			return o, short
		}
		*(*uint8)(p) = b[o]
		return o + 1, fine
	case kBool:
		if len(b)-o < 1 {
			return o, short
		}
		*(*bool)(p) = b[o] == 1 // as Apache's libraries: no other byte is true
		return o + 1, fine
	case kUUID:
		if len(b)-o < 16 {
			return o, short
		}
		copy((*(*UUID)(p))[:], b[o:])
		return o + 16, fine
	case kBytes:
		return d.bytes((*[]byte)(p), o)
	case kPointer:
		return d.pointer(t.elem, (*unsafe.Pointer)(p), o)
	case kList:
		return d.list(t, p, o, depth)
	case kMap, kPairs:
		return d.entries(t, p, o, depth)
	default: // kUnion
		return d.union(t, (*face)(p), o, depth)
	}
}

// text copies the string at d.b[o:], which has n bytes.
func (d *decoder) text(o, n int) string { return d.texts.Copy(d.b, o, n) }

func (d *decoder) bytes(p *[]byte, o int) (int, fault) {
	if len(d.b)-o < 4 {
		return o, short
	}
	n := int(binary.BigEndian.Uint32(d.b[o:]))
	if uint(n) > uint(len(d.b)-o-4) {
		return o, tooLarge
	}
	o += 4
	if !d.charge(n) {
		return o, tooCostly
	}
	src := d.b[o : o+n]
	s := make([]byte, len(src)) // not cleared, since all of it is copied over
	copy(s, src)
	*p = s
	return o + n, fine
}

// pointer decodes an optional scalar.
func (d *decoder) pointer(t *typ, p *unsafe.Pointer, o int) (int, fault) {
	if !d.charge(t.size) {
		return o, tooCostly
	}
	// Safety: the memory has t's size and, but for strings, no pointers; it is
	// aligned for it, because the allocator aligns by size.
	var q unsafe.Pointer
	switch t.kind {
	case kBool, k1:
		q = unsafe.Pointer(new(uint8))
	case k2:
		q = unsafe.Pointer(new(uint16))
	case k4:
		q = unsafe.Pointer(new(uint32))
	case k8:
		q = unsafe.Pointer(new(uint64))
	case kUUID:
		q = unsafe.Pointer(new(UUID))
	default:
		q = unsafe.Pointer(new(string))
	}
	o, f := d.value(t, q, o, 0)
	if f == fine {
		*p = q
	}
	return o, f
}

// fresh allocates the struct of a plan, with its defaults.
func (d *decoder) fresh(pl *plan) (unsafe.Pointer, bool) {
	if !d.charge(pl.size) {
		return nil, false
	}
	q := reflect.New(pl.rt).UnsafePointer()
	if pl.preset != 0 && !d.defaults(pl, q) {
		return nil, false
	}
	return q, true
}

// maxHanded is how many structs of a message are handed to their generated
// methods, which copy strings to memory of their own each. No method has more
// arguments worth it, but one can come any number of times.
const maxHanded = 16

// structure decodes a struct and makes p point to it.
func (d *decoder) structure(pl *plan, p unsafe.Pointer, o, depth int) (int, fault) {
	if depth <= 0 {
		return o, tooDeep
	}
	if pl.views {
		return d.withViews(pl, p, o, depth)
	}
	if depth == d.hand && pl.made != 0 && d.handed < maxHanded {
		d.handed++
		if !d.charge(pl.size) {
			return o, tooCostly
		}
		q := reflect.New(pl.rt).UnsafePointer() // ReadThrift sets the defaults
		// Safety: p points to a *pl.rt.
		*(*unsafe.Pointer)(p) = q
		return d.generated(pl, q, o, depth)
	}
	q, ok := d.fresh(pl)
	if !ok {
		return o, tooCostly
	}
	// Safety: p points to a *pl.rt.
	*(*unsafe.Pointer)(p) = q
	return d.fields(pl, q, o, depth)
}

// union decodes a struct of which one field counts: the last one that is known.
// Without any, p becomes nil.
func (d *decoder) union(t *typ, p *face, o, depth int) (int, fault) {
	if depth <= 0 {
		return o, tooDeep
	}
	b := d.b
	*p = face{}
	for {
		if len(b)-o < 4 {
			if o < len(b) && b[o] == byte(TypeStop) {
				return o + 1, fine
			}
			return d.rest(o)
		}
		head := binary.BigEndian.Uint32(b[o:]) >> 8
		if head>>16 == uint32(TypeStop) {
			return o + 1, fine
		}
		o += 3
		flt := wrongType
		if v := t.variant(head); v != nil {
			q, ok := d.fresh(v.plan)
			if !ok {
				return o, tooCostly
			}
			f := &v.plan.ops[0]
			var body buf.View
			if d.lim != nil {
				body = d.apart()
			}
			var end int
			// Safety: q points to a v.plan.rt, whose one field f is; v.itab is
			// that of *v.plan.rt as the interface that p points to.
			end, flt = d.value(f.t, unsafe.Add(q, f.offset), o, depth-1)
			if d.lim != nil {
				d.body = body
			}
			switch flt {
			case fine:
				*p = face{v.itab, q}
				o = end
			case wrongType:
			default:
				return d.blame(v.plan, f, end, flt)
			}
		}
		if flt == wrongType {
			if o, flt = skip(b, o, Type(head>>16), depth-1); flt != fine {
				return o, flt
			}
		}
	}
}

// variant finds the case of a union by its field's header.
func (t *typ) variant(head uint32) *variant {
	if t.byHead != nil {
		if i, ok := t.byHead[head]; ok {
			return &t.cases[i]
		}
		return nil
	}
	for i := range t.cases {
		if t.cases[i].plan.ops[0].head == head {
			return &t.cases[i]
		}
	}
	return nil
}
