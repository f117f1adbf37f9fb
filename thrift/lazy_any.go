package thrift

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
)

// What works on any message, and the codecs besides Binary, take a view for the
// struct that it shows, with what was changed in it. All of them go to its
// bytes; only Compact and masks can do with these, the others decode them first.

// viewAt is the Lazy of the view at p.
//
// Safety: p points to a pl.rt, which is a view.
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
// that a field is missing which is required, or that it takes more than mem.
func (pl *plan) structOf(b []byte, mem budget) (unsafe.Pointer, fault) {
	p := reflect.New(pl.rt).UnsafePointer()
	if f := pl.read(p, b, mem); f != fine {
		return nil, f
	}
	return p, fine
}

// read decodes b, bytes that were checked, into the fresh pl.rt at p.
func (pl *plan) read(p unsafe.Pointer, b []byte, mem budget) (f fault) {
	d := decoder{b: b, budget: mem}
	if pl.made != 0 {
		_, f = d.generated(pl, p, 0, 1<<30)
		return f
	}
	if pl.preset != 0 && !d.defaults(pl, p) {
		return tooCostly
	}
	_, f = d.fields(pl, p, 0, 1<<30)
	return f
}

// plain decodes x; why is why that cannot be done.
func (x *Lazy) plain() (p unsafe.Pointer, why string) {
	if x.own == nil {
		return nil, whyNil
	}
	b, err := x.bytes()
	if err != nil {
		return nil, "has a value that was set and cannot be encoded: " + err.Error()
	}
	p, f := x.pl.structOf(b, *x.own.budget())
	return p, faults[f]
}

// views compares two views. Bytes that are the same say the same.
func (e *equaler) views(pl *plan, x, y *Lazy) bool {
	if x.own == nil || y.own == nil {
		return x.own == y.own
	}
	a, errA := x.bytes()
	b, errB := y.bytes()
	switch {
	case errA != nil || errB != nil:
		return false
	case bytes.Equal(a, b):
		return true
	}
	p, f := pl.of.structOf(a, *x.own.budget())
	if f != fine {
		return false
	}
	q, f := pl.of.structOf(b, *y.own.budget())
	return f == fine && e.fields(pl.of, p, q)
}

// view hashes what x shows.
func (h *hasher) view(x *Lazy) uint64 {
	p, _ := x.plain()
	if p == nil {
		return 0
	}
	return h.fields(x.pl, p)
}

// view makes q a view of a copy of what x shows. It shares nothing with x, and
// with a value that cannot be encoded in it, it cannot be encoded either.
func (c *cloner) view(q, x *Lazy) {
	if x.own == nil {
		return
	}
	b, err := x.bytes()
	*q = viewOf(x.pl, bytes.Clone(b), *x.own.budget())
	q.own.err = err
}

// viewOf is a view of a message of its own, which was checked; decoding it may take mem.
func viewOf(pl *plan, b []byte, mem budget) Lazy {
	return Lazy{own: &lease{b: b, calm: true, view: buf.ViewOf(b), mem: mem}, pl: pl, level: 1, first: true}
}

// view checks the view x.
func (v *validator) view(x *Lazy) *InvalidError {
	if x.own == nil {
		return &InvalidError{Why: whyNil}
	}
	if _, err := x.bytes(); err != nil {
		return &InvalidError{Why: "has a value that was set and cannot be encoded: " + err.Error()}
	}
	return nil
}

// view appends the message of x, by the types on the wire: what the struct does
// not know comes along.
func (e *compactEncoder) view(b []byte, pl *plan, x *Lazy) []byte {
	if x.own == nil {
		e.err = &TypeError{Type: pl.rt, Why: whyNil}
		return b
	}
	p, err := x.bytes()
	if err != nil {
		e.err = err
		return b
	}
	b, _ = e.transcode(b, p, 0, TypeStruct)
	return b
}

// view makes x a view of the struct of pl at d.b[o:], which is rewritten in the
// Binary protocol; what pl does not know comes along.
func (d *compactDecoder) view(pl *plan, x *Lazy, o, depth int) (int, fault) {
	mem, t := d.budget, transcoder{p: d.b, max: int64(d.budget / 2)}
	end, f := t.value(o, compactStruct, depth)
	if f == fine {
		d.budget -= 2 * budget(len(t.b))
		if !d.charge(leaseBytes) {
			return o, tooCostly
		}
		c := checker{b: t.b}
		_, f = c.fields(pl, 0, depth, nil)
	}
	if f == fine {
		*x = viewOf(pl, t.b, mem)
		return end, f
	}
	// The offsets are those of other bytes, and the field is not known. As in
	// refusal, a second look finds both.
	q, ok := d.fresh(pl)
	if !ok {
		return o, tooCostly
	}
	if at, other := d.fields(pl, q, o, depth); other != fine {
		return at, other
	}
	return end, f
}

// view appends what x shows.
func (e *jsonEncoder) view(b []byte, pl *plan, x *Lazy, depth int) []byte {
	p, why := x.plain()
	if p == nil {
		e.fail(pl.rt, "", why)
		return b
	}
	return e.fields(b, x.pl, p, depth)
}

// view makes x a view of the struct of pl that comes next.
func (d *jsonDecoder) view(pl *plan, x *Lazy, depth int) error {
	mem := d.mem.budget
	p, ok := d.mem.fresh(pl)
	if !ok || !d.mem.charge(leaseBytes) {
		return d.wrong(faults[tooCostly])
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
	mem  budget // for one value that is decoded
	keep bool
	err  error // of a value that cannot be encoded, or decoded
}

// view makes x one of the message without what the mask unsets, as Apply says.
func (n *maskNode) view(x *Lazy, keep bool) {
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
func (m *masker) fields(out []byte, pl *plan, n *maskNode, o int) ([]byte, int) {
	at := make([]uint32, len(pl.ops))
	c := checker{b: m.b}
	c.fields(pl, o, 1<<30, at)
	for m.b[o] != byte(TypeStop) {
		head := binary.BigEndian.Uint32(m.b[o:]) >> 8
		end, _ := skip(m.b, o+3, Type(head>>16), 1<<30)
		f, after := pl.find(head)
		if f == nil {
			if !m.keep {
				out = append(out, m.b[o:end]...)
			}
			o = end
			continue
		}
		next, counts := n.fields[head], int(at[after-1]) == o+3
		switch {
		case n.unsets(f, m.keep):
		case next == nil || next.whole:
			if counts || !m.keep {
				out = append(out, m.b[o:end]...)
			}
		case counts:
			out = m.field(out, f, next, o)
		}
		o = end
	}
	if pl.preset != 0 {
		out = m.presets(out, pl, n, at)
	}
	return append(out, byte(TypeStop)), o + 1
}

// presets appends those fields that the mask says something about, which are
// not there and would have their defaults with the receiver.
func (m *masker) presets(out []byte, pl *plan, n *maskNode, at []uint32) []byte {
	q := reflect.New(pl.rt).UnsafePointer()
	pl.setDefaults(q)
	n.apply(pl, q, m.keep)
	for i := range pl.ops {
		f := &pl.ops[i]
		unset := n.unsets(f, m.keep)
		if at[i] != 0 && !unset || n.fields[f.head] == nil && !unset {
			continue
		}
		// Safety: q points to a pl.rt, which f is a field of.
		p := unsafe.Add(q, f.offset)
		if skip, _ := f.absent(p); !skip {
			out = m.encode(append(out, byte(f.head>>16), byte(f.head>>8), byte(f.head)), f.t, p)
		}
	}
	return out
}

// field appends the field at o, which next says something about.
func (m *masker) field(out []byte, f *op, next *maskNode, o int) []byte {
	before := len(out)
	out, o = append(out, m.b[o:o+3]...), o+3
	switch {
	case f.kind == kStruct:
		out, _ = m.fields(out, f.t.plan, next, o)
		return out
	case f.kind == kList && f.t.elem.kind == kStruct:
		n := int(binary.BigEndian.Uint32(m.b[o+1:]))
		out, o = append(out, m.b[o:o+5]...), o+5
		for range n {
			out, o = m.fields(out, f.t.elem.plan, next, o)
		}
		return out
	}
	d, v := decoder{b: m.b, budget: m.mem}, reflect.New(f.t.rt)
	// Safety: v is of type f.t.
	p := v.UnsafePointer()
	end, flt := d.value(f.t, p, o, 1<<30)
	if flt == tooCostly { // the field is gone, and the view cannot be sent
		if m.err == nil {
			m.err = flt.at(end)
		}
		return out[:before]
	}
	if next.value(f.t, p, m.keep) && f.need == required {
		return append(out, m.b[o:end]...)
	}
	if skip, _ := f.absent(p); skip {
		return out[:before]
	}
	return m.encode(out, f.t, p)
}

// encode appends the value of type t at p.
func (m *masker) encode(out []byte, t *typ, p unsafe.Pointer) []byte {
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
