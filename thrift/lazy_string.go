package thrift

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// String shows a view from its bytes and stops where the text is full: a kilobyte
// of text is not worth decoding a message for. The text is that of the struct.

// view shows what x shows. A view that was released is shown as nil: whoever
// logs is not to be stopped.
func (w *writer) view(x *Lazy, depth int) {
	if x.own == nil || x.own.b == nil {
		w.add("nil")
		return
	}
	b, _ := x.bytes()
	w.message(x.pl, b, 0, depth)
}

// message shows the struct at b[o:], which was checked; see members.
func (w *writer) message(pl *plan, b []byte, o, depth int) {
	w.add("{")
	if depth <= 0 {
		w.add(ellipsis + "}")
		return
	}
	at := make([]uint32, len(pl.ops))
	c := checker{b: b}
	c.fields(pl, o, math.MaxInt32, at) // of a value that cannot be encoded the rest is shown
	var absent unsafe.Pointer
	first := true
	for i := range pl.ops {
		if w.full() {
			return
		}
		f := &pl.ops[i]
		if at[i] != 0 {
			first = w.name(pl.said[f.name], first)
			w.wire(f.t, b, int(at[i]), depth-1)
			continue
		}
		if absent == nil {
			if absent = reflect.New(pl.rt).UnsafePointer(); pl.preset != 0 {
				pl.setDefaults(absent)
			}
		}
		// Safety: absent points to a pl.rt, and offset is that of a field.
		p := unsafe.Add(absent, f.offset)
		if skip, _ := f.absent(p); !skip {
			first = w.name(pl.said[f.name], first)
			w.value(f.t, p, depth-1)
		}
	}
	if pl.unknown != 0 {
		if u := c.strange(pl, o); len(u) > 0 {
			w.name("unknown", first)
			w.binary(u)
		}
	}
	w.add("}")
}

// strange collects the fields of the struct at o that an Unknown would have.
func (c *checker) strange(pl *plan, o int) (u []byte) {
	for c.b[o] != byte(TypeStop) {
		head := binary.BigEndian.Uint32(c.b[o:]) >> 8
		end, flt := 0, wrongType
		if f, _ := pl.find(head); f != nil {
			end, flt = c.value(f.t, o+3, math.MaxInt32)
		}
		if flt == wrongType {
			end, _ = skip(c.b, o+3, Type(head>>16), math.MaxInt32)
			u = append(u, c.b[o:end]...)
		}
		o = end
	}
	return u
}

// wire shows the value of type t at b[o:]; see value.
func (w *writer) wire(t *typ, b []byte, o, depth int) {
	if *w.left--; *w.left < 0 {
		w.add(ellipsis)
		return
	}
	switch t.kind {
	case kBool:
		w.b = strconv.AppendBool(w.b, b[o] == 1)
	case k1:
		w.b = strconv.AppendInt(w.b, int64(int8(b[o])), 10)
	case k2:
		w.b = strconv.AppendInt(w.b, int64(int16(binary.BigEndian.Uint16(b[o:]))), 10)
	case k4:
		n := int32(binary.BigEndian.Uint32(b[o:]))
		w.enum(t, unsafe.Pointer(&n)) // Safety: a t.rt is an int32.
	case k8:
		n := binary.BigEndian.Uint64(b[o:])
		if t.wire == TypeDouble {
			w.b = strconv.AppendFloat(w.b, math.Float64frombits(n), 'g', -1, 64)
			return
		}
		w.b = strconv.AppendInt(w.b, int64(n), 10)
	case kUUID:
		w.add(UUID(b[o:]).String())
	case kString:
		s := b[o+4:][:binary.BigEndian.Uint32(b[o:])]
		w.quote(string(s[:min(len(s), maxQuoted+utf8.UTFMax)]))
	case kBytes:
		w.binary(b[o+4:][:binary.BigEndian.Uint32(b[o:])])
	case kPointer:
		w.wire(t.elem, b, o, depth)
	case kStruct:
		if t.plan.of != nil {
			w.message(t.plan.of, b, o, depth)
			return
		}
		w.message(t.plan, b, o, depth)
	case kUnion:
		w.wireUnion(t, b, o, depth)
	case kList, kPairs:
		w.wireList(t, b, o, depth)
	case kMap:
		w.wireMap(t, b, o, depth)
	}
}

// wireUnion shows the variant that counts, which is the last one.
func (w *writer) wireUnion(t *typ, b []byte, o, depth int) {
	c := checker{b: b}
	var last *variant
	at := 0
	for b[o] != byte(TypeStop) {
		head := binary.BigEndian.Uint32(b[o:]) >> 8
		end, flt := 0, wrongType
		v := t.variant(head)
		if v != nil {
			end, flt = c.value(v.plan.ops[0].t, o+3, math.MaxInt32)
		}
		if flt == fine {
			last, at = v, o+3
		} else {
			end, _ = skip(b, o+3, Type(head>>16), math.MaxInt32)
		}
		o = end
	}
	switch {
	case last == nil:
		w.add("nil")
	case depth <= 0:
		w.add("{" + ellipsis + "}")
	default:
		w.add("{")
		w.name(last.plan.said[0], true)
		w.wire(last.plan.ops[0].t, b, at, depth-1)
		w.add("}")
	}
}

// wireList shows a list, a set or Pairs; see list.
func (w *writer) wireList(t *typ, b []byte, o, depth int) {
	c := checker{b: b}
	if o += 5; t.kind == kPairs {
		o++
	}
	n := int(binary.BigEndian.Uint32(b[o-4:]))
	w.add("[")
	for i := range n {
		if i > 0 {
			w.add(" ")
		}
		if depth <= 0 || w.full() {
			w.add(ellipsis)
			break
		}
		if t.kind == kPairs {
			w.wire(t.key, b, o, depth-1)
			w.add(":")
			o, _ = c.value(t.key, o, math.MaxInt32)
		}
		w.wire(t.elem, b, o, depth-1)
		o, _ = c.value(t.elem, o, math.MaxInt32)
	}
	w.add("]")
}

// wireMap shows a map, by the text of its keys; see entries. Of a key that comes
// twice the last value counts.
func (w *writer) wireMap(t *typ, b []byte, o, depth int) {
	n := int(binary.BigEndian.Uint32(b[o+2:]))
	if n > 0 && depth <= 0 || n > maxEntries {
		w.b = fmt.Appendf(w.b, "{%d entries}", n)
		return
	}
	c := checker{b: b}
	o += 6
	parts, known := []string(nil), map[string]int{}
	for range n {
		one := writer{left: w.left}
		one.wire(t.key, b, o, 0)
		one.add(":")
		end, _ := c.value(t.key, o, math.MaxInt32)
		one.wire(t.elem, b, end, depth-1)
		if i, twice := known[string(b[o:end])]; twice {
			parts[i] = one.text()
		} else {
			known[string(b[o:end])] = len(parts)
			parts = append(parts, one.text())
		}
		o, _ = c.value(t.elem, end, math.MaxInt32)
	}
	slices.Sort(parts)
	w.add("{")
	for i, s := range parts {
		if i > 0 {
			w.add(" ")
		}
		w.add(s)
	}
	w.add("}")
}
