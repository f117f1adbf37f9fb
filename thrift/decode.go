package thrift

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
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
	codec.Budget
}

// fields decodes the fields of a struct at b[o:], up to and with its stop, into
// the pl.Go at base. It gives the end, or the offset of a fault. depth is how
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
		var f *shape.Field
		if next < len(pl.Fields) && pl.Fields[next].Tag == head {
			f = &pl.Fields[next]
			next++
		} else if head>>16 == uint32(TypeStop) {
			break
		} else if f, next = pl.find(head); f == nil {
			var flt fault
			from := o
			if o, flt = skip(b, o+3, Type(head>>16), depth-1); flt != fine {
				return o, flt
			}
			if pl.HasKept() && !d.keep(pl, base, from, o) {
				return from, tooCostly
			}
			continue
		}
		o += 3
		// Safety: base points to a pl.Go, and offset and kind are those of one
		// of its fields: compile took them from reflection. So for all stores below.
		p := unsafe.Add(base, f.Offset)
		switch f.Kind {
		case shape.Int64, shape.Float64:
			if len(b)-o < 8 {
				return d.blame(pl, f, o, short)
			}
			*(*uint64)(p) = binary.BigEndian.Uint64(b[o:])
			o += 8
		case shape.Int32:
			if len(b)-o < 4 {
				return d.blame(pl, f, o, short)
			}
			*(*uint32)(p) = binary.BigEndian.Uint32(b[o:])
			o += 4
		case shape.String:
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
		case shape.Bool:
			*(*bool)(p) = b[o] == 1 // the header left a byte; see value
			o++
		default:
			end, flt := d.value(f.Type, p, o, depth-1)
			if flt == wrongType {
				end, flt = skip(b, o, wireOf(f), depth-1)
				if flt == fine && pl.HasKept() && !d.keep(pl, base, o-3, end) {
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
		seen |= f.Bit
	}
	if seen != pl.Bits || pl.Wide {
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
func (d *decoder) blame(pl *plan, f *shape.Field, o int, flt fault) (int, fault) {
	if d.where == "" {
		d.where = pl.Go.Name() + "." + pl.IDL(f)
	}
	return o, flt
}

// lacking finds the first required field that was not seen. seen has no bits
// for those after the 64th; then the struct, which begins at begin and has its
// stop at o, is gone through again.
func (d *decoder) lacking(pl *plan, seen uint64, begin, o int) (int, fault) {
	there := map[uint32]bool{}
	for at := begin; pl.Wide && at < o; {
		head := binary.BigEndian.Uint32(d.b[at:]) >> 8
		there[head] = true
		at, _ = skip(d.b, at+3, Type(head>>16), 1<<30) // its depth was checked before
	}
	for i := range pl.Fields {
		f := &pl.Fields[i]
		if f.Rule == shape.Required && (f.Bit != 0 && seen&f.Bit == 0 || f.Bit == 0 && !there[f.Tag]) {
			return d.blame(pl, f, o, missing)
		}
	}
	return o + 1, fine
}

// value decodes a value at b[o:] into p, which points to a t.Go. depth is how
// many levels are allowed for it. What p held before is replaced as a whole.
func (d *decoder) value(t *shape.Type, p unsafe.Pointer, o, depth int) (int, fault) {
	b := d.b
	// Safety: for all stores below: p points to a t.Go, whose layout kind says.
	switch t.Kind {
	case shape.String:
		if len(b)-o < 4 {
			return o, short
		}
		n := int(binary.BigEndian.Uint32(b[o:]))
		if uint(n) > uint(len(b)-o-4) {
			return o, tooLarge
		}
		*(*string)(p) = d.text(o+4, n)
		return o + 4 + n, fine
	case shape.Ref:
		return d.structure(planAt(t.Struct), p, o, depth)
	case shape.Int64, shape.Float64:
		if len(b)-o < 8 {
			return o, short
		}
		*(*uint64)(p) = binary.BigEndian.Uint64(b[o:])
		return o + 8, fine
	case shape.Int32:
		if len(b)-o < 4 {
			return o, short
		}
		*(*uint32)(p) = binary.BigEndian.Uint32(b[o:])
		return o + 4, fine
	case shape.Int16:
		if len(b)-o < 2 {
			return o, short
		}
		*(*uint16)(p) = binary.BigEndian.Uint16(b[o:])
		return o + 2, fine
	case shape.Int8:
		if len(b)-o < 1 {
			return o, short
		}
		*(*uint8)(p) = b[o]
		return o + 1, fine
	case shape.Bool:
		if len(b)-o < 1 {
			return o, short
		}
		*(*bool)(p) = b[o] == 1 // as Apache's libraries: no other byte is true
		return o + 1, fine
	case shape.UUID:
		if len(b)-o < 16 {
			return o, short
		}
		copy((*(*UUID)(p))[:], b[o:])
		return o + 16, fine
	case shape.Bytes:
		return d.bytes((*[]byte)(p), o)
	case shape.Pointer:
		return d.pointer(t.Elem, (*unsafe.Pointer)(p), o)
	case shape.List, shape.Set:
		return d.list(t, p, o, depth)
	case shape.Map, shape.Pairs:
		return d.entries(t, p, o, depth)
	default: // shape.Union
		return d.union(t, (*shape.Face)(p), o, depth)
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
	if !d.Charge(n) {
		return o, tooCostly
	}
	src := d.b[o : o+n]
	s := make([]byte, len(src)) // not cleared, since all of it is copied over
	copy(s, src)
	*p = s
	return o + n, fine
}

// pointer decodes an optional scalar.
func (d *decoder) pointer(t *shape.Type, p *unsafe.Pointer, o int) (int, fault) {
	if !d.Charge(t.Size) {
		return o, tooCostly
	}
	// Safety: the memory has t's size and, but for strings, no pointers; it is
	// aligned for it, because the allocator aligns by size.
	var q unsafe.Pointer
	switch t.Kind {
	case shape.Bool, shape.Int8:
		q = unsafe.Pointer(new(uint8))
	case shape.Int16:
		q = unsafe.Pointer(new(uint16))
	case shape.Int32:
		q = unsafe.Pointer(new(uint32))
	case shape.Int64, shape.Float64:
		q = unsafe.Pointer(new(uint64))
	case shape.UUID:
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
	if !d.Charge(pl.Size) {
		return nil, false
	}
	q := reflect.New(pl.Go).UnsafePointer()
	if pl.HasPreset() && !d.defaults(pl, q) {
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
		if !d.Charge(pl.Size) {
			return o, tooCostly
		}
		q := reflect.New(pl.Go).UnsafePointer() // ReadThrift sets the defaults
		// Safety: p points to a *pl.Go.
		*(*unsafe.Pointer)(p) = q
		return d.generated(pl, q, o, depth)
	}
	q, ok := d.fresh(pl)
	if !ok {
		return o, tooCostly
	}
	// Safety: p points to a *pl.Go.
	*(*unsafe.Pointer)(p) = q
	return d.fields(pl, q, o, depth)
}

// union decodes a struct of which one field counts: the last one that is known.
// Without any, p becomes nil.
func (d *decoder) union(t *shape.Type, p *shape.Face, o, depth int) (int, fault) {
	if depth <= 0 {
		return o, tooDeep
	}
	b := d.b
	*p = shape.Face{}
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
		if v := t.Variant(head); v != nil {
			q, ok := d.fresh(planAt(v.Struct))
			if !ok {
				return o, tooCostly
			}
			f := &v.Struct.Fields[0]
			var body buf.View
			if d.lim != nil {
				body = d.apart()
			}
			var end int
			// Safety: q points to a v.Struct.Go, whose one field f is; v.Itab is
			// that of *v.Struct.Go as the interface that p points to.
			end, flt = d.value(f.Type, unsafe.Add(q, f.Offset), o, depth-1)
			if d.lim != nil {
				d.body = body
			}
			switch flt {
			case fine:
				*p = shape.Face{Itab: v.Itab, Data: q}
				o = end
			case wrongType:
			default:
				return d.blame(planAt(v.Struct), f, end, flt)
			}
		}
		if flt == wrongType {
			if o, flt = skip(b, o, Type(head>>16), depth-1); flt != fine {
				return o, flt
			}
		}
	}
}
