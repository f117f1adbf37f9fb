package plan

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// A Decoder is the state of one decode. It lives on the stack of Decode: nothing here may go
// through a function value, or it would be allocated.
//
// b is a message, from the begin of the whole one to its own end, so that offsets are those of
// the whole message everywhere.
type Decoder struct {
	all   []byte // the whole message
	Texts codec.Texts
	where string // the field where a fault was found, innermost
	lacks map[unsafe.Pointer]lack
	codec.Budget
}

// blame notes the field where a fault was found, unless a field further in was noted. The text
// reaches the peer: it has the IDL's names.
func (d *Decoder) blame(pl *Plan, o *Op, at int, f raw.Fault) (int, raw.Fault) {
	if d.where == "" {
		d.where = pl.Title + "." + pl.Names[o.Index].IDL
	}
	return at, f
}

// fields decodes fields at b[o:] into the pl.Go at base, up to the end of b or, in a group, to
// that group's end. It gives the end, or the offset of a fault. depth is how many levels
// are allowed, this struct included; group is the number of the group, 0: a message.
//
// The next field is guessed to be the next one of the plan.
//
// It is long, since it is the loop that all time is spent in: what scalars, strings and
// messages need is in place, and a call for each would cost more than what it does.
func (d *Decoder) fields(pl *Plan, base unsafe.Pointer, b []byte, o, depth int, group uint32) (int, raw.Fault) {
	if depth <= 0 {
		return o, raw.TooDeep
	}
	begin, next, seen := o, 0, uint64(0)
	for {
		if o >= len(b) {
			if group != 0 {
				return o, raw.NoEnd
			}
			break
		}
		// Tags of one and two bytes are read here: those of the numbers up to 2,047.
		from, tag, f := o, uint32(b[o]), raw.Fine
		if o++; tag >= 0x80 {
			if o < len(b) && b[o] < 0x80 {
				tag = tag&0x7f | uint32(b[o])<<7
				o++
			} else if tag, o, f = raw.ReadTag(b, from); f != raw.Fine {
				return o, f
			}
		}
		var op *Op
		// Writers write fields in the order of their numbers. So the guess is right most of the time,
		// and then a field costs one comparison; a whole tag is compared, so that the wire type is too.
		if next < len(pl.fields) && pl.fields[next].Tag == tag {
			op = &pl.fields[next]
			next++
		} else {
			// Number 0 is looked for here only: a field of the plan cannot have it.
			if tag < 8 {
				return from, raw.BadTag
			}
			if tag == group<<3|uint32(raw.EndGroup) {
				break
			}
			var after int
			if op, after = pl.find(tag >> 3); op == nil || op.Tag != tag {
				if o, f = d.stray(pl, op, base, b, from, o, tag, depth); f != raw.Fine {
					return o, f
				}
				continue
			}
			// What comes out of order moves the guess: the fields behind it are next then, as in messages
			// that were merged by writing one behind the other.
			next = after
		}
		// Safety: base points to a pl.Go, and offset and form are those of one of its
		// fields: Complete took them from reflection. So for all stores below.
		p := unsafe.Add(base, op.Offset)
		// Bit is 0 for what is not required, so that this needs no branch.
		seen |= op.Bit
		var v uint64
		switch op.Do {
		// A string is checked and copied in one look at its first bytes if it is short, which most are.
		case Text:
			n := 0
			if o < len(b) && b[o] < 0x80 {
				if n = int(b[o]); n > len(b)-o-1 {
					return d.blame(pl, op, o, raw.TooLarge)
				}
				o++
			} else if n, o, f = raw.Length(b, o); f != raw.Fine {
				return d.blame(pl, op, o, f)
			}
			if d.Texts.Fits(n, len(d.all)-o) {
				if head := codec.HeadOf(d.all[o:]); head.ASCII() || !op.utf8 || codec.UTF8Bytes(b[o:o+n]) {
					*(*string)(p) = d.Texts.Take(head, n)
					o += n
					continue
				}
				return d.blame(pl, op, o, raw.BadText)
			}
			if op.utf8 && !codec.UTF8Bytes(b[o:o+n]) {
				return d.blame(pl, op, o, raw.BadText)
			}
			*(*string)(p) = d.Texts.Copy(d.all, o, n)
			o += n
			continue
		case Fixed64:
			if len(b)-o < 8 {
				return d.blame(pl, op, o, raw.Short)
			}
			*(*uint64)(p) = binary.LittleEndian.Uint64(b[o:])
			o += 8
			continue
		case Int64, Int32, Uint32, Bool, Sint64, Sint32:
			if o < len(b) && b[o] < 0x80 {
				v = uint64(b[o])
				o++
			} else if v, o, f = raw.UvarintSlow(b, o); f != raw.Fine {
				return d.blame(pl, op, o, f)
			}
			store(op.Do, p, v)
			continue
		}
		if o, f = d.other(pl, op, p, b, from, o, depth); f != raw.Fine {
			return d.blame(pl, op, o, f)
		}
	}
	// Only a message that lacks something, or has more required fields than a word has bits, or was
	// begun before and lacked something then, goes the slow way.
	if seen != pl.Bits || pl.Wide || d.lacks != nil {
		return d.lacking(pl, base, seen, b, begin, o)
	}
	return o, raw.Fine
}

// store stores a number that was a varint.
func store(form Form, p unsafe.Pointer, v uint64) {
	// Safety: p points to a number of that form.
	switch form {
	case Int64:
		*(*uint64)(p) = v
	case Int32, Uint32, Closed:
		*(*uint32)(p) = uint32(v)
	case Bool:
		*(*bool)(p) = v != 0
	case Sint64:
		*(*int64)(p) = raw.Unzigzag(v)
	case Sint32:
		*(*int32)(p) = int32(uint32(v)>>1) ^ -int32(v&1)
	}
}

// other decodes the value at b[o:] of a field that is no plain number or string; its tag is at
// b[from:]. A list or map is decoded as far as the fields that follow are the same.
func (d *Decoder) other(pl *Plan, op *Op, p unsafe.Pointer, b []byte, from, o, depth int) (int, raw.Fault) {
	// Safety: p points to a field of op.Type.Go.
	switch op.Do {
	case Scalar:
		q := *(*unsafe.Pointer)(p)
		if op.Elem == Closed {
			return d.closed(pl, op, p, b, from, o)
		}
		// A scalar that comes twice is written where the first one is.
		if q == nil {
			if !d.Charge(op.Type.Elem.Size) {
				return o, raw.TooCostly
			}
			q = op.Type.Elem.NewScalar()
		}
		o, f := d.value(op, op.Elem, q, b, o, depth)
		if f == raw.Fine {
			*(*unsafe.Pointer)(p) = q
		}
		return o, f
	case Closed:
		return d.closed(pl, op, p, b, from, o)
	case List:
		return d.list(pl, op, p, b, from, o, depth)
	case Packed:
		return d.packed(pl, op, (*shape.Slice)(p), b, o)
	case Map:
		return d.entries(pl, op, p, b, from, o, depth)
	case Variant:
		return d.variant(pl, op, (*shape.Face)(p), b, from, o, depth)
	}
	return d.value(op, op.Do, p, b, o, depth)
}

// value decodes one value at b[o:] into p. What is a message is merged into what is there.
func (d *Decoder) value(op *Op, form Form, p unsafe.Pointer, b []byte, o, depth int) (int, raw.Fault) {
	// Safety: for all stores: p points to what form says.
	switch form {
	case Fixed64:
		if len(b)-o < 8 {
			return o, raw.Short
		}
		*(*uint64)(p) = binary.LittleEndian.Uint64(b[o:])
		return o + 8, raw.Fine
	case Fixed32:
		if len(b)-o < 4 {
			return o, raw.Short
		}
		*(*uint32)(p) = binary.LittleEndian.Uint32(b[o:])
		return o + 4, raw.Fine
	case Text:
		n, o, f := raw.Length(b, o)
		if f != raw.Fine {
			return o, f
		}
		if op.utf8 && !codec.UTF8Bytes(b[o:o+n]) {
			return o, raw.BadText
		}
		*(*string)(p) = d.text(o, n)
		return o + n, raw.Fine
	case Blob:
		return d.bytes((*[]byte)(p), b, o)
	case Message, Group:
		if q := *(*unsafe.Pointer)(p); q != nil {
			return d.again(op, form, q, b, o, depth)
		}
		q, ok := d.fresh(op.Plan)
		if !ok {
			return o, raw.TooCostly
		}
		*(*unsafe.Pointer)(p) = q
		return d.message(op, form, q, b, o, depth)
	}
	v, o, f := raw.Uvarint(b, o)
	if f == raw.Fine {
		store(form, p, v)
	}
	return o, f
}

// message decodes a message or group at b[o:] into the struct at q.
func (d *Decoder) message(op *Op, form Form, q unsafe.Pointer, b []byte, o, depth int) (int, raw.Fault) {
	if form == Group {
		return d.fields(op.Plan, q, b, o, depth-1, op.Tag>>3)
	}
	n, o, f := raw.Length(b, o)
	if f != raw.Fine {
		return o, f
	}
	return d.fields(op.Plan, q, b[:o+n], o, depth-1, 0)
}

// fresh allocates the struct of a plan.
func (d *Decoder) fresh(pl *Plan) (unsafe.Pointer, bool) {
	if !d.Charge(pl.Size) {
		return nil, false
	}
	return reflect.New(pl.Go).UnsafePointer(), true
}

// text copies the string at all[o:], which has n bytes.
func (d *Decoder) text(o, n int) string {
	if d.Texts.Fits(n, len(d.all)-o) {
		return d.Texts.Take(codec.HeadOf(d.all[o:]), n)
	}
	return d.Texts.Copy(d.all, o, n)
}

// bytes decodes bytes at b[o:], length first, into a slice of its own.
func (d *Decoder) bytes(p *[]byte, b []byte, o int) (int, raw.Fault) {
	n, o, f := raw.Length(b, o)
	if f != raw.Fine {
		return o, f
	}
	if !d.Charge(n) {
		return o, raw.TooCostly
	}
	// Never a view of the body, whatever its size: a caller may write to bytes.
	src := b[o : o+n]
	s := make([]byte, len(src)) // not cleared, since all of it is copied over
	copy(s, src)
	*p = s
	return o + n, raw.Fine
}

// variant decodes a field of a oneof, which replaces what the oneof held; a message is merged
// into the same one.
func (d *Decoder) variant(pl *Plan, op *Op, p *shape.Face, b []byte, from, o, depth int) (end int, f raw.Fault) {
	one := &op.in.one.ops[0]
	// The same field of the oneof again is merged if it is a message, as any message that comes twice;
	// another one replaces what there was.
	if p.Itab == op.in.itab && p.Data != nil && (op.Elem == Message || op.Elem == Group) {
		// Safety: Data points to the variant's struct, whose one field one is.
		return d.value(one, op.Elem, unsafe.Add(p.Data, one.Offset), b, o, depth)
	}
	if op.Elem == Closed {
		v, end, f := raw.Uvarint(b, o)
		if f != raw.Fine || !known(one.Type, v) {
			return d.putAside(pl, op, f, unsafe.Pointer(p), b, from, end)
		}
	}
	q, ok := d.fresh(op.in.one)
	if !ok {
		return o, raw.TooCostly
	}
	if end, f = d.value(one, op.Elem, unsafe.Add(q, one.Offset), b, o, depth); f == raw.Fine {
		// Safety: itab is that of *one.Go as the interface that p points to.
		*p = shape.Face{Itab: op.in.itab, Data: q}
	}
	return end, f
}
