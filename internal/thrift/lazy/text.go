package lazy

import (
	"encoding/binary"
	"math"
	"reflect"
	"unicode/utf8"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// String shows a view from its bytes and stops where the text is full: a kilobyte
// of text is not worth decoding a message for. The text is that of the struct.

// A bytesText writes what values at b are, which were checked.
type bytesText struct {
	*shape.Writer
	b []byte
}

// message shows the struct at b[o:]; see Writer.
func (w bytesText) message(pl *plan.Plan, o, depth int) {
	w.Add("{")
	if depth <= 0 {
		w.Add(shape.Ellipsis + "}")
		return
	}
	at := make([]uint32, len(pl.Fields))
	c := plan.Checker{B: w.b}
	c.Fields(pl, o, math.MaxInt32, at) // of a value that cannot be encoded the rest is shown
	var absent unsafe.Pointer
	first := true
	for i := range pl.Fields {
		if w.Full() {
			return
		}
		f := &pl.Fields[i]
		if at[i] != 0 {
			if w.hollow(f, int(at[i])) {
				continue
			}
			first = w.Name(pl.IDL(f), first)
			w.wire(f.Type, int(at[i]), depth-1)
			continue
		}
		if absent == nil {
			if absent = reflect.New(pl.Go).UnsafePointer(); pl.HasPreset() {
				pl.Preset(absent)
			}
		}
		// Safety: absent points to a pl.Go, and offset is that of a field.
		p := unsafe.Add(absent, f.Offset)
		if !f.Absent(p) {
			first = w.Name(pl.IDL(f), first)
			w.Value(f.Type, p, depth-1)
		}
	}
	if pl.HasKept() {
		if u := strange(&c, pl, o); len(u) > 0 {
			w.Name("unknown", first)
			w.Binary(u)
		}
	}
	w.Add("}")
}

// strange collects the fields of the struct at o that an Unknown would have.
func strange(c *plan.Checker, pl *plan.Plan, o int) (u []byte) {
	for c.B[o] != byte(raw.TypeStop) {
		head := binary.BigEndian.Uint32(c.B[o:]) >> 8
		end, flt := 0, raw.WrongType
		if f, _ := pl.Find(head); f != nil {
			end, flt = c.Value(f.Type, o+3, math.MaxInt32)
		}
		if flt == raw.WrongType {
			end, _ = raw.SkipAt(c.B, o+3, raw.Type(head>>16), math.MaxInt32)
			u = append(u, c.B[o:end]...)
		}
		o = end
	}
	return u
}

// wire shows the value of type t at b[o:]; see Writer.Value.
func (w bytesText) wire(t *shape.Type, o, depth int) {
	b := w.b
	if t.Kind.Fixed() {
		var v [2]uint64
		d := plan.Decoder{B: b}
		// Safety: v is as large and as aligned as any value of fixed size.
		d.Value(t, unsafe.Pointer(&v), o, 0)
		w.Value(t, unsafe.Pointer(&v), depth)
		return
	}
	if !w.Step() {
		return
	}
	switch t.Kind {
	case shape.String:
		s := b[o+4:][:binary.BigEndian.Uint32(b[o:])]
		w.Quote(string(s[:min(len(s), shape.MaxQuoted+utf8.UTFMax)]))
	case shape.Bytes:
		w.Binary(b[o+4:][:binary.BigEndian.Uint32(b[o:])])
	case shape.Pointer:
		w.wire(t.Elem, o, depth)
	case shape.Ref:
		if pl := plan.At(t.Struct); pl.Shown != nil {
			w.message(pl.Shown, o, depth)
			return
		}
		w.message(plan.At(t.Struct), o, depth)
	case shape.Union:
		w.wireUnion(t, o, depth)
	case shape.List, shape.Set, shape.Pairs:
		w.wireList(t, o, depth)
	case shape.Map:
		w.wireMap(t, o, depth)
	}
}

// hollow reports a union at b[o:] of which no variant is known: decoded it is nil, and
// a field with that is not shown.
func (w bytesText) hollow(f *shape.Field, o int) bool {
	if f.Type.Kind != shape.Union {
		return false
	}
	var none [2]uint64
	v, _ := w.variant(f.Type, o)
	// Safety: none is as large and as aligned as an interface, and a nil one.
	return v == nil && f.Absent(unsafe.Pointer(&none))
}

// variant finds the one of the union at b[o:] that counts, which is the last one, and
// where its value is; nil: there is none that is known.
func (w bytesText) variant(t *shape.Type, o int) (last *shape.Variant, at int) {
	b := w.b
	c := plan.Checker{B: b}
	for b[o] != byte(raw.TypeStop) {
		head := binary.BigEndian.Uint32(b[o:]) >> 8
		end, flt := 0, raw.WrongType
		v := t.Variant(head)
		if v != nil {
			end, flt = c.Value(v.Struct.Fields[0].Type, o+3, math.MaxInt32)
		}
		if flt == raw.Fine {
			last, at = v, o+3
		} else {
			end, _ = raw.SkipAt(b, o+3, raw.Type(head>>16), math.MaxInt32)
		}
		o = end
	}
	return last, at
}

// wireUnion shows the variant that counts.
func (w bytesText) wireUnion(t *shape.Type, o, depth int) {
	last, at := w.variant(t, o)
	switch {
	case last == nil:
		w.Add("nil")
	case depth <= 0:
		w.Add("{" + shape.Ellipsis + "}")
	default:
		w.Add("{")
		w.Name(last.Struct.Names[0].IDL, true)
		w.wire(last.Struct.Fields[0].Type, at, depth-1)
		w.Add("}")
	}
}

// wireList shows a list, a set or Pairs; see list.
func (w bytesText) wireList(t *shape.Type, o, depth int) {
	b := w.b
	c := plan.Checker{B: b}
	if o += 5; t.Kind == shape.Pairs {
		o++
	}
	n := int(binary.BigEndian.Uint32(b[o-4:]))
	w.Add("[")
	for i := range n {
		if i > 0 {
			w.Add(" ")
		}
		if depth <= 0 || w.Full() {
			w.Add(shape.Ellipsis)
			break
		}
		if t.Kind == shape.Pairs {
			w.wire(t.Key, o, depth-1)
			w.Add(":")
			o, _ = c.Value(t.Key, o, math.MaxInt32)
		}
		w.wire(t.Elem, o, depth-1)
		o, _ = c.Value(t.Elem, o, math.MaxInt32)
	}
	w.Add("]")
}

// wireMap shows a map, by the text of its keys; see entries. Of a key that comes
// twice the last value counts.
func (w bytesText) wireMap(t *shape.Type, o, depth int) {
	b := w.b
	n := int(binary.BigEndian.Uint32(b[o+2:]))
	if w.Many(n, depth) {
		return
	}
	c := plan.Checker{B: b}
	o += 6
	parts, known := []string(nil), map[string]int{}
	for range n {
		text := w.Part()
		one := bytesText{&text, b}
		one.wire(t.Key, o, 0)
		one.Add(":")
		end, _ := c.Value(t.Key, o, math.MaxInt32)
		one.wire(t.Elem, end, depth-1)
		if i, twice := known[string(b[o:end])]; twice {
			parts[i] = one.Text()
		} else {
			known[string(b[o:end])] = len(parts)
			parts = append(parts, one.Text())
		}
		o, _ = c.Value(t.Elem, end, math.MaxInt32)
	}
	w.Parts(parts)
}
