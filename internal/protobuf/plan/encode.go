package plan

import (
	"encoding/binary"
	"reflect"
	"unicode/utf8"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

const (
	// headroom is how many bytes of room there are before each field and element, so that
	// no tag with a number or length behind it outgrows the block.
	headroom = 32
	// maxSize is the longest message, string and list in bytes: lengths are 31 bits in other
	// languages.
	maxSize = 1<<31 - 1
)

// An Encoder is the state of one encode. b, the block that is being filled, is passed along as a
// value, so that it stays in registers.
type Encoder struct {
	Out *buf.Out
	Err error // the first one

	sorted bool // maps are written in the order of their keys
	plain  bool // generated methods are not used
	inside bool // a message is being written that must not leave its block
	halt   bool // it would have, or there is an error: everything returns
	wide   int  // bytes that the last message's length took
	last   int  // length of the last message in no other one
	known  sizes
}

// stop notes an error.
func (e *Encoder) stop(b []byte, err error) []byte {
	if e.halt = true; e.Err == nil {
		e.Err = err
	}
	return b
}

// fail notes an error at a field of a plan's struct.
func (e *Encoder) fail(b []byte, pl *Plan, o *Op, why string) []byte {
	return e.stop(b, &TypeError{Type: pl.Go, Field: pl.Names[o.Index].Go, Why: why})
}

// failAt notes an error at an element; the field around it is not known.
func (e *Encoder) failAt(b []byte, t *shape.Type, why string) []byte {
	return e.stop(b, &TypeError{Type: t.Go, Why: why})
}

// errTooLong is the error for a string, message or list of 2 GB or more.
var errTooLong = &TypeError{Type: reflect.TypeFor[string](), Why: "longer than 2,147,483,647"}

const whyUTF8 = "is a string that is not UTF-8"

// room leaves the block if less than headroom is left.
func (e *Encoder) room(b []byte) []byte {
	if cap(b)-len(b) >= headroom {
		return b
	}
	if e.inside {
		e.halt = true
		return b
	}
	return e.Out.Next(b)
}

// fields appends the fields of the struct at base. depth is how many levels are allowed, this
// struct included. There is headroom when it is called.
//
// It is long for the same reason as the decoder's fields: all time of an encode is spent here.
func (e *Encoder) fields(b []byte, pl *Plan, base unsafe.Pointer, depth int) []byte {
	if depth <= 0 {
		return e.stop(b, &TypeError{Type: pl.Go, Why: shape.WhyDeep})
	}
	// Unknown fields go last: where they stood among the others is not known any more.
	if b = e.some(b, pl, pl.ops, base, depth); !e.halt && pl.HasKept() && len(*pl.Kept(base)) > 0 {
		return e.unknown(b, pl, base, depth)
	}
	return b
}

// some appends those of the fields of the struct at base that ops are for. It is long because numbers and short strings
// are stored in one loop, without a call.
func (e *Encoder) some(b []byte, pl *Plan, ops []Op, base unsafe.Pointer, depth int) []byte {
	// Safety: block and size are where b's memory is and how much; n, of which all is
	// used, is one number to be moved on instead of a slice to be cut, which would be
	// checked each time.
	block, n, size := unsafe.Pointer(unsafe.SliceData(b)), len(b), cap(b)
	for i := range ops {
		o := &ops[i]
		// Safety: base points to a pl.Go, and offset and form are those of one
		// of its fields: Complete took them from reflection. So for all loads below.
		p := unsafe.Add(base, o.Offset)
		// Looked at once for each field, and not for each byte: what a field of fixed size appends, with
		// its tag, is less than headroom.
		if size-n < headroom {
			if b = e.room(b[:n]); e.halt {
				return b
			}
			block, n, size = unsafe.Pointer(unsafe.SliceData(b)), len(b), cap(b)
		}
		var v uint64
		switch o.Do {
		case Int64:
			v = *(*uint64)(p)
		case Int32, Closed:
			v = uint64(int64(*(*int32)(p)))
		case Uint32:
			v = uint64(*(*uint32)(p))
		case Bool:
			v = uint64(*(*uint8)(p))
		case Sint64:
			v = raw.Zigzag(*(*int64)(p))
		case Sint32:
			v = raw.Zigzag(int64(*(*int32)(p)))
		case Fixed64:
			if v = *(*uint64)(p); v == 0 && !o.always {
				continue
			}
			// Safety: headroom bytes are there, and no tag has more than eight.
			w := (*[headroom]byte)(unsafe.Add(block, n))
			binary.LittleEndian.PutUint64(w[:], o.Head)
			binary.LittleEndian.PutUint64(w[o.HeadN&7:], v)
			n += int(o.HeadN) + 8
			continue
		case Fixed32:
			if v = uint64(*(*uint32)(p)); v == 0 && !o.always {
				continue
			}
			w := (*[headroom]byte)(unsafe.Add(block, n)) // Safety: as above.
			binary.LittleEndian.PutUint64(w[:], o.Head)
			binary.LittleEndian.PutUint32(w[o.HeadN&7:], uint32(v))
			n += int(o.HeadN) + 4
			continue
		case Text:
			s := *(*string)(p)
			if len(s) == 0 && !o.always {
				continue
			}
			if len(s) < 0x80 && len(s) <= size-n-headroom {
				// Safety: there is room for all of it: tag and length are less than headroom.
				w := (*[headroom]byte)(unsafe.Add(block, n))
				binary.LittleEndian.PutUint64(w[:], o.Head)
				h := int(o.HeadN & 7)
				w[h] = byte(len(s))
				n += h + 1
				if !codec.CopyASCII(unsafe.Add(block, n), s) && o.utf8 && !utf8.ValidString(s) {
					return e.blame(e.failAt(b[:n], o.Type, whyUTF8), pl, o)
				}
				n += len(s)
				continue
			}
			if b = e.text(b[:n], o, s); e.halt {
				return e.blame(b, pl, o)
			}
			block, n, size = unsafe.Pointer(unsafe.SliceData(b)), len(b), cap(b)
			continue
		default:
			if b = e.other(b[:n], pl, o, p, depth); e.halt {
				return e.blame(b, pl, o)
			}
			block, n, size = unsafe.Pointer(unsafe.SliceData(b)), len(b), cap(b)
			continue
		}
		if v == 0 && !o.always {
			continue
		}
		w := (*[headroom]byte)(unsafe.Add(block, n)) // Safety: as above.
		binary.LittleEndian.PutUint64(w[:], o.Head)
		h := int(o.HeadN & 7)
		if v < 0x80 {
			w[h] = byte(v)
			n += h + 1
			continue
		}
		n += h + raw.Put((*[raw.MaxVarint]byte)(w[h:]), v)
	}
	return b[:n]
}

// blame notes the field at which an element was wrong.
func (e *Encoder) blame(b []byte, pl *Plan, o *Op) []byte {
	if t, ok := e.Err.(*TypeError); ok && t.Field == "" && t != errTooLong && t.Type != pl.Go {
		e.Err = &TypeError{Type: pl.Go, Field: pl.Names[o.Index].Go, Why: t.Why}
	}
	return b
}

// other appends what is no plain scalar or string, and may be absent.
func (e *Encoder) other(b []byte, pl *Plan, o *Op, p unsafe.Pointer, depth int) []byte {
	// Safety: for all loads: p points to a field of o.Type.Go.
	switch o.Do {
	case Blob:
		if s := *(*[]byte)(p); len(s) == 0 {
			switch rule := pl.Fields[o.Index].Rule; {
			case rule == shape.Default, rule == shape.Free && s == nil:
				return b
			case s == nil:
				return e.fail(b, pl, o, shape.WhyRequired)
			}
		}
		return e.value(b, o, Blob, p, depth)
	case Message, Group:
		if *(*unsafe.Pointer)(p) == nil {
			if o.always {
				return e.fail(b, pl, o, shape.WhyRequired)
			}
			return b
		}
		return e.value(b, o, o.Do, p, depth)
	case Scalar:
		q := *(*unsafe.Pointer)(p)
		if q == nil {
			if o.always {
				return e.fail(b, pl, o, shape.WhyRequired)
			}
			return b
		}
		return e.value(b, o, o.Elem, q, depth)
	case List:
		return e.list(b, o, *(*shape.Slice)(p), depth)
	case Packed:
		return e.packed(b, o, *(*shape.Slice)(p))
	case Map:
		return e.entries(b, o, p, depth)
	}
	return e.union(b, o, *(*shape.Face)(p), depth)
}

// union appends the field of a oneof that is there.
func (e *Encoder) union(b []byte, o *Op, f shape.Face, depth int) []byte {
	if f.Itab == 0 || f.Data == nil {
		return b
	}
	// A user's own type may implement a sealed interface by embedding one that does.
	v := o.Type.Holds(f)
	if v == nil {
		return e.failAt(b, o.Type, shape.WhyForeign)
	}
	one := &at(v.Struct).ops[0]
	// Safety: Data points to the variant's struct, whose only field one is.
	p := unsafe.Add(f.Data, one.Offset)
	if (one.Do == Message || one.Do == Group) && *(*unsafe.Pointer)(p) == nil {
		return e.fail(b, at(v.Struct), one, shape.WhyNil)
	}
	return e.value(b, one, one.Do, p, depth)
}

// value appends the tag of o and the value at p, whatever it is. There is headroom.
//
// Its cases of numbers stand in fields once more, where a call for each would show.
func (e *Encoder) value(b []byte, o *Op, form Form, p unsafe.Pointer, depth int) []byte {
	// Safety: for all loads below: p points to what form says; head says how many bytes of
	// room there are.
	var v uint64
	switch form {
	case Int64:
		v = *(*uint64)(p)
	case Int32, Closed:
		v = uint64(int64(*(*int32)(p)))
	case Uint32:
		v = uint64(*(*uint32)(p))
	case Bool:
		v = uint64(*(*uint8)(p))
	case Sint64:
		v = raw.Zigzag(*(*int64)(p))
	case Sint32:
		v = raw.Zigzag(int64(*(*int32)(p)))
	case Fixed64:
		return binary.LittleEndian.AppendUint64(o.head(b), *(*uint64)(p))
	case Fixed32:
		return binary.LittleEndian.AppendUint32(o.head(b), *(*uint32)(p))
	case Text:
		return e.text(b, o, *(*string)(p))
	case Blob:
		s := *(*[]byte)(p)
		return e.bytes(raw.Append(o.head(b), uint64(len(s))), s)
	case Message:
		return e.message(o.head(b), o.Plan, *(*unsafe.Pointer)(p), depth-1, 1)
	case Group:
		return e.group(b, o, *(*unsafe.Pointer)(p), depth-1)
	}
	return raw.Append(o.head(b), v)
}

// head appends the tag.
func (o *Op) head(b []byte) []byte {
	if o.HeadN == 1 {
		return append(b, byte(o.Head))
	}
	return binary.AppendUvarint(b, uint64(o.Tag))
}

// text appends tag, length and bytes of a string. There is headroom, also afterwards.
func (e *Encoder) text(b []byte, o *Op, s string) []byte {
	if o.utf8 && !codec.UTF8(s) {
		return e.failAt(b, o.Type, whyUTF8)
	}
	b = raw.Append(o.head(b), uint64(len(s)))
	if len(s) <= cap(b)-len(b)-headroom && len(s) < buf.RefMin {
		return append(b, s...)
	}
	switch {
	case len(s) > maxSize:
		return e.stop(b, errTooLong)
	// Who writes a message inside of its block goes back and measures it: a reference would
	// break the block in two, and its length stands in front.
	case e.inside:
		e.halt = true
		return b
	case len(s) >= buf.RefMin:
		return e.Out.Ref(b, s)
	}
	e.Out.Commit(b)
	e.Out.AppendString(s)
	return e.Out.Block()
}

// bytes appends a copy of p: unlike a string it may change after the call.
func (e *Encoder) bytes(b, p []byte) []byte {
	if len(p) <= cap(b)-len(b)-headroom {
		return append(b, p...)
	}
	switch {
	case len(p) > maxSize:
		return e.stop(b, errTooLong)
	case e.inside:
		e.halt = true
		return b
	}
	e.Out.Commit(b)
	e.Out.Append(p)
	return e.Out.Block()
}

// group appends a message between two tags.
func (e *Encoder) group(b []byte, o *Op, p unsafe.Pointer, depth int) []byte {
	if b = e.fields(o.head(b), o.Plan, p, depth); e.halt {
		return b
	}
	if b = e.room(b); e.halt {
		return b
	}
	return binary.AppendUvarint(b, uint64(o.Tag+uint32(raw.EndGroup-raw.StartGroup)))
}

// unknown appends what the struct at base kept.
//
// Safety: base points to a pl.Go.
func (e *Encoder) unknown(b []byte, pl *Plan, base unsafe.Pointer, depth int) []byte {
	u := *pl.Kept(base)
	// Not to look would let one wrong byte break everything behind it.
	if _, f := raw.Check(u, depth-1); f != raw.Fine {
		return e.stop(b, &TypeError{Type: pl.Go, Why: "what it keeps of unknown fields is " + f.Why()})
	}
	return e.bytes(b, u)
}
