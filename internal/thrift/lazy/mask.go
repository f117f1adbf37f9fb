package lazy

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// A masker applies a mask to the bytes of a view.
type masker struct {
	b    []byte
	mem  codec.Budget // for one value that is decoded
	left codec.Budget // for all defaults that are added
	keep bool
	err  error // of a value that cannot be encoded, or decoded
}

// Mask implements [shape.View]: the view becomes one of the message without what the mask
// unsets, as Mask.Apply says.
func (l lens) Mask(p unsafe.Pointer, n *shape.Node, keep bool) {
	x := l.at(p)
	if x.own == nil {
		return
	}
	if !x.first {
		panic("thrift: a mask for a part of a lazy message: it is applied to the message, with the part in its paths")
	}
	b, err := x.bytes()
	pl, mem := x.pl, *x.own.budget()
	m := masker{b: b, mem: mem, left: mem, keep: keep, err: err}
	masked, _ := m.fields(make([]byte, 0, len(b)), pl, n, 0)
	x.Release()
	*x = viewOf(pl, masked, mem)
	x.own.err = m.err
}

// fields appends the struct at o without what the mask unsets, and gives its
// end. Of a field that comes twice only the one that counts is left, if the mask
// says anything about it, or if only what it names is kept.
func (m *masker) fields(out []byte, pl *plan.Plan, n *shape.Node, o int) ([]byte, int) {
	at := make([]uint32, len(pl.Fields))
	c := plan.Checker{B: m.b}
	c.Fields(pl, o, 1<<30, at)
	for m.b[o] != byte(raw.TypeStop) {
		head := binary.BigEndian.Uint32(m.b[o:]) >> 8
		end, _ := raw.SkipAt(m.b, o+3, raw.Type(head>>16), 1<<30)
		f, after := pl.Find(head)
		if f == nil {
			if !m.keep {
				out = append(out, m.b[o:end]...)
			}
			o = end
			continue
		}
		next, counts := n.Of(head), int(at[after-1]) == o+3
		switch {
		case n.Unsets(f, m.keep):
		case next == nil || next.Whole():
			if counts || !m.keep {
				out = append(out, m.b[o:end]...)
			}
		case counts:
			out = m.field(out, f, next, o)
		}
		o = end
	}
	if pl.HasPreset() && m.left >= 0 {
		before := len(out)
		out = m.presets(out, pl, n, at)
		// Twice, since append grows by doubling. A list of structs of one byte each would
		// make the defaults of all of them for nothing.
		if m.left -= 2 * codec.Budget(len(out)-before); m.left < 0 && m.err == nil {
			m.err = raw.TooCostly.At(o) // the view cannot be sent
		}
	}
	return append(out, byte(raw.TypeStop)), o + 1
}

// presets appends those fields that the mask says something about, which are
// not there and would have their defaults with the receiver.
func (m *masker) presets(out []byte, pl *plan.Plan, n *shape.Node, at []uint32) []byte {
	q := reflect.New(pl.Go).UnsafePointer()
	pl.Preset(q)
	n.Apply(&pl.Struct, q, m.keep)
	for i := range pl.Fields {
		f := &pl.Fields[i]
		unset := n.Unsets(f, m.keep)
		if at[i] != 0 && !unset || n.Of(f.Tag) == nil && !unset {
			continue
		}
		// Safety: q points to a pl.Go, which f is a field of.
		p := unsafe.Add(q, f.Offset)
		if !f.Absent(p) {
			out = m.encode(append(out, byte(f.Tag>>16), byte(f.Tag>>8), byte(f.Tag)), f.Type, p)
		}
	}
	return out
}

// field appends the field at o, which next says something about.
func (m *masker) field(out []byte, f *shape.Field, next *shape.Node, o int) []byte {
	before := len(out)
	out, o = append(out, m.b[o:o+3]...), o+3
	switch {
	case f.Kind == shape.Ref:
		out, _ = m.fields(out, plan.At(f.Type.Struct), next, o)
		return out
	case f.Type.Structs():
		n := int(binary.BigEndian.Uint32(m.b[o+1:]))
		out, o = append(out, m.b[o:o+5]...), o+5
		for range n {
			out, o = m.fields(out, plan.At(f.Type.Elem.Struct), next, o)
		}
		return out
	}
	d, v := plan.Decoder{B: m.b, Budget: m.mem}, reflect.New(f.Type.Go)
	// Safety: v is of type f.Type.
	p := v.UnsafePointer()
	end, flt := d.Value(f.Type, p, o, 1<<30)
	if flt == raw.TooCostly { // the field is gone, and the view cannot be sent
		if m.err == nil {
			m.err = flt.At(end)
		}
		return out[:before]
	}
	if next.Value(f.Type, p, m.keep) && f.Rule == shape.Required {
		return append(out, m.b[o:end]...)
	}
	if f.Absent(p) {
		return out[:before]
	}
	return m.encode(out, f.Type, p)
}

// encode appends the value of type t at p.
func (m *masker) encode(out []byte, t *shape.Type, p unsafe.Pointer) []byte {
	var o buf.Out
	defer o.Reset()
	e := plan.Encoder{Out: &o}
	if o.Commit(e.Value(o.Block(), t, p, 1<<30)); e.Err != nil && m.err == nil {
		m.err = e.Err
	}
	return append(out, o.Bytes()...)
}
