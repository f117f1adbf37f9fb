package thrift

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// What works on any message, and the codecs besides Binary, take a view for the
// struct that it shows, with what was changed in it. All of them go to its
// bytes; only Compact and masks can do with these, the others decode them first.

// viewAt is the Lazy of the view at p.
//
// Safety: p points to a pl.Go, which is a view.
func (pl *plan) viewAt(p unsafe.Pointer) *Lazy { return (*Lazy)(unsafe.Add(p, pl.lazyAt)) }

// bytes gives the message of x with its changes, and the error of a value that
// was set and cannot be encoded: the field is missing then.
func (x *Lazy) bytes() ([]byte, error) {
	if x.at == nil || x.own.b == nil {
		x.index()
	}
	if l := x.own; len(l.edits) == 0 {
		return l.b[x.from:x.end], l.err
	}
	var out buf.Out
	defer out.Reset()
	err := x.append(&out)
	return out.Bytes(), err
}

// structOf decodes b, the message of a view of pl, into a new struct. Its fault is
// that a field is missing which is shape.Required, or that it takes more than mem.
func (pl *plan) structOf(b []byte, mem codec.Budget) (unsafe.Pointer, raw.Fault) {
	p := reflect.New(pl.Go).UnsafePointer()
	if f := pl.read(p, b, mem); f != raw.Fine {
		return nil, f
	}
	return p, raw.Fine
}

// read decodes b, bytes that were checked, into the fresh pl.Go at p.
func (pl *plan) read(p unsafe.Pointer, b []byte, mem codec.Budget) (f raw.Fault) {
	d := decoder{b: b, Budget: mem}
	if pl.made != 0 {
		_, f = d.generated(pl, p, 0, 1<<30)
		return f
	}
	if pl.HasPreset() && !d.defaults(pl, p) {
		return raw.TooCostly
	}
	_, f = d.fields(pl, p, 0, 1<<30)
	return f
}

// plain decodes x; why is why that cannot be done.
func (x *Lazy) plain() (p unsafe.Pointer, why string) {
	if x.own == nil {
		return nil, shape.WhyNil
	}
	b, err := x.bytes()
	if err != nil {
		return nil, "has a value that was set and cannot be encoded: " + err.Error()
	}
	p, f := x.pl.structOf(b, *x.own.budget())
	return p, f.Why()
}

// A lens is how walkers see a view.
type lens struct{ pl *plan }

var _ shape.View = lens{}

// Same implements [shape.View]: bytes that are the same say the same.
func (l lens) Same(p, q unsafe.Pointer) (same, known bool) {
	x, y := l.pl.viewAt(p), l.pl.viewAt(q)
	if x.own == nil || y.own == nil {
		return x.own == y.own, true
	}
	a, errA := x.bytes()
	b, errB := y.bytes()
	if errA != nil || errB != nil {
		return false, true
	}
	same = bytes.Equal(a, b)
	return same, same
}

// Plain implements [shape.View].
func (l lens) Plain(p unsafe.Pointer) unsafe.Pointer {
	q, _ := l.pl.viewAt(p).plain()
	return q
}

// Clone implements [shape.View]. With a value that cannot be encoded in the original, the
// copy cannot be encoded either.
func (l lens) Clone(q, p unsafe.Pointer) {
	x := l.pl.viewAt(p)
	if x.own == nil {
		return
	}
	b, err := x.bytes()
	y := l.pl.viewAt(q)
	*y = viewOf(x.pl, bytes.Clone(b), *x.own.budget())
	y.own.err = err
}

// Validate implements [shape.View].
func (l lens) Validate(p unsafe.Pointer) (why string) {
	x := l.pl.viewAt(p)
	if x.own == nil {
		return shape.WhyNil
	}
	if _, err := x.bytes(); err != nil {
		return "has a value that was set and cannot be encoded: " + err.Error()
	}
	return ""
}

// Text implements [shape.View]. A view that was released is shown as nil: whoever
// logs is not to be stopped.
func (l lens) Text(w *shape.Writer, p unsafe.Pointer, depth int) {
	x := l.pl.viewAt(p)
	if x.own == nil || x.own.b == nil {
		w.Add("nil")
		return
	}
	b, _ := x.bytes()
	t := bytesText{w, b}
	t.message(x.pl, 0, depth)
}

// viewOf is a view of a message of its own, which was checked; decoding it may take mem.
func viewOf(pl *plan, b []byte, mem codec.Budget) Lazy {
	return Lazy{own: &lease{b: b, calm: true, view: buf.ViewOf(b), mem: mem}, pl: pl, level: 1, first: true}
}

// compactView appends the message of x, by the types on the wire: what the struct does
// not know comes along.
func (e *encoder) compactView(b []byte, pl *plan, x *Lazy) []byte {
	if x.own == nil {
		e.err = &TypeError{Type: pl.Go, Why: shape.WhyNil}
		return b
	}
	p, err := x.bytes()
	if err != nil {
		e.err = err
		return b
	}
	b, _ = e.transcode(b, p, 0, raw.TypeStruct)
	return b
}

// compactView makes x a view of the struct of pl at d.b[o:], which is rewritten in the
// Binary protocol; what pl does not know comes along.
func (d *decoder) compactView(pl *plan, x *Lazy, o, depth int) (int, raw.Fault) {
	mem, t := d.Budget, raw.Transcoder{P: d.b, Max: int64(d.Budget / 2)}
	end, f := t.Value(o, raw.CompactStruct, depth)
	if f == raw.Fine {
		d.Budget -= 2 * codec.Budget(len(t.B))
		if !d.Charge(leaseBytes) {
			return o, raw.TooCostly
		}
		c := checker{b: t.B}
		_, f = c.fields(pl, 0, depth, nil)
	}
	if f == raw.Fine {
		*x = viewOf(pl, t.B, mem)
		return end, f
	}
	// The offsets are those of other bytes, and the field is not known. As in
	// refusal, a second look finds both.
	q, ok := d.fresh(pl)
	if !ok {
		return o, raw.TooCostly
	}
	if at, other := d.compactFields(pl, q, o, depth); other != raw.Fine {
		return at, other
	}
	return end, f
}

// view appends what x shows.
func (e *jsonEncoder) view(b []byte, pl *plan, x *Lazy, depth int) []byte {
	p, why := x.plain()
	if p == nil {
		e.fail(pl.Go, "", why)
		return b
	}
	return e.fields(b, x.pl, p, depth)
}

// view makes x a view of the struct of pl that comes next.
func (d *jsonDecoder) view(pl *plan, x *Lazy, depth int) error {
	mem := d.mem.Budget
	p, ok := d.mem.fresh(pl)
	if !ok || !d.mem.Charge(leaseBytes) {
		return d.wrong(raw.TooCostly.Why())
	}
	if err := d.fields(pl, p, depth); err != nil {
		return err
	}
	var out buf.Out
	defer out.Reset()
	e := encoder{out: &out}
	if out.Commit(e.structure(out.Block(), pl, p, depth)); e.err != nil {
		return d.wrong("a view cannot show it: " + e.err.Error()) // a union in a list of a variant that is not known
	}
	*x = viewOf(pl, out.Bytes(), mem)
	return nil
}

// A masker applies a mask to the bytes of a view.
type masker struct {
	b    []byte
	mem  codec.Budget // for one value that is decoded
	keep bool
	err  error // of a value that cannot be encoded, or decoded
}

// Mask implements [shape.View]: the view becomes one of the message without what the mask
// unsets, as Mask.Apply says.
func (l lens) Mask(p unsafe.Pointer, n *shape.Node, keep bool) {
	x := l.pl.viewAt(p)
	if x.own == nil {
		return
	}
	if !x.first {
		panic("thrift: a mask for a part of a lazy message: it is applied to the message, with the part in its paths")
	}
	b, err := x.bytes()
	pl, mem := x.pl, *x.own.budget()
	m := masker{b: b, mem: mem, keep: keep, err: err}
	masked, _ := m.fields(make([]byte, 0, len(b)), pl, n, 0)
	x.Release()
	*x = viewOf(pl, masked, mem)
	x.own.err = m.err
}

// fields appends the struct at o without what the mask unsets, and gives its
// end. Of a field that comes twice only the one that counts is left, if the mask
// says anything about it, or if only what it names is kept.
func (m *masker) fields(out []byte, pl *plan, n *shape.Node, o int) ([]byte, int) {
	at := make([]uint32, len(pl.Fields))
	c := checker{b: m.b}
	c.fields(pl, o, 1<<30, at)
	for m.b[o] != byte(raw.TypeStop) {
		head := binary.BigEndian.Uint32(m.b[o:]) >> 8
		end, _ := raw.SkipAt(m.b, o+3, raw.Type(head>>16), 1<<30)
		f, after := pl.find(head)
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
	if pl.HasPreset() {
		out = m.presets(out, pl, n, at)
	}
	return append(out, byte(raw.TypeStop)), o + 1
}

// presets appends those fields that the mask says something about, which are
// not there and would have their defaults with the receiver.
func (m *masker) presets(out []byte, pl *plan, n *shape.Node, at []uint32) []byte {
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
		out, _ = m.fields(out, planAt(f.Type.Struct), next, o)
		return out
	case f.Kind == shape.List && f.Type.Elem.Kind == shape.Ref:
		n := int(binary.BigEndian.Uint32(m.b[o+1:]))
		out, o = append(out, m.b[o:o+5]...), o+5
		for range n {
			out, o = m.fields(out, planAt(f.Type.Elem.Struct), next, o)
		}
		return out
	}
	d, v := decoder{b: m.b, Budget: m.mem}, reflect.New(f.Type.Go)
	// Safety: v is of type f.Type.
	p := v.UnsafePointer()
	end, flt := d.value(f.Type, p, o, 1<<30)
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
	e := encoder{out: &o}
	if o.Commit(e.value(o.Block(), t, p, 1<<30)); e.err != nil && m.err == nil {
		m.err = e.err
	}
	return append(out, o.Bytes()...)
}

// decodeView is how decoding into the view at p begins: what it had before is
// given back.
func (pl *plan) decodeView(p unsafe.Pointer) *Lazy {
	x := pl.viewAt(p)
	if x.first && x.own.b != nil {
		x.Release()
	}
	*x = Lazy{}
	return x
}
