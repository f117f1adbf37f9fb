package plan

import (
	"bytes"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
)

// A Viewer is what every generated view is, by embedding a Lazy: Views says how codecs
// treat it.
type Viewer interface {
	// ThriftViews does not look at its receiver.
	ThriftViews() Views
}

// Views is what codecs ask of views. Everywhere x is where a view has its Lazy.
type Views interface {
	// Lens is how what works on any message sees views of pl.
	Lens(pl *Plan) shape.View
	// Open makes x a view of a whole message and keeps a reference to its block.
	Open(pl *Plan, x unsafe.Pointer, body buf.View, lim *rpc.Limits) error
	// Append writes what x shows; there is false if it shows nothing.
	Append(x unsafe.Pointer, out *buf.Out) (there bool, err error)
	// Bytes gives what x shows, in the Binary protocol; there is false if it shows nothing.
	Bytes(x unsafe.Pointer) (b []byte, there bool, err error)
	// Plain decodes what x shows; why is why that cannot be done.
	Plain(x unsafe.Pointer) (p unsafe.Pointer, why string)
	// Show makes x show v, a message that was checked, of which decoding may take mem. lent:
	// v has a reference that x is to give back.
	Show(pl *Plan, x unsafe.Pointer, v buf.View, mem codec.Budget, lent bool)
	// Reset makes x show nothing, before something is decoded into it. What it had is given back.
	Reset(x unsafe.Pointer)
	// GiveBack releases what was lent to x and nobody will see.
	GiveBack(x unsafe.Pointer)
}

// LeaseBytes is what a view takes besides itself. A message of one byte can be one, and
// there may be many of them in a container.
const LeaseBytes = 512

// viewed gives the struct that a generated view shows, nil if rt is no view: the
// view names it by a field of the type [0]struct.
//
// The form is asked for in full, so that a struct of the program which embeds a view is
// none.
func viewed(rt reflect.Type) reflect.Type {
	if rt.Kind() != reflect.Struct || rt.NumField() != 2 || !rt.Field(1).Anonymous || !reflect.PointerTo(rt.Field(1).Type).Implements(reflect.TypeFor[Viewer]()) {
		return nil
	}
	if m := rt.Field(0).Type; m.Kind() == reflect.Array && m.Len() == 0 && m.Elem().Kind() == reflect.Struct {
		return m.Elem()
	}
	return nil
}

// ViewAt is where the view at p has its Lazy.
func (pl *Plan) ViewAt(p unsafe.Pointer) unsafe.Pointer {
	// Safety: p points to a pl.Go, which is a view.
	return unsafe.Add(p, pl.lazyAt)
}

// view appends the message of the view at p.
func (e *Encoder) view(b []byte, pl *Plan, p unsafe.Pointer) []byte {
	e.Out.Commit(b)
	there, err := pl.How.Append(pl.ViewAt(p), e.Out)
	if e.Err = err; !there {
		e.Err = &TypeError{Type: pl.Go, Why: shape.WhyNil}
	}
	return e.Out.Block()
}

// compactView appends the message of the view at base, by the types on the wire: what the struct does
// not know comes along.
func (e *Encoder) compactView(b []byte, pl *Plan, base unsafe.Pointer) []byte {
	p, there, err := pl.How.Bytes(pl.ViewAt(base))
	if !there {
		e.Err = &TypeError{Type: pl.Go, Why: shape.WhyNil}
		return b
	}
	if err != nil {
		e.Err = err
		return b
	}
	b, _ = e.transcode(b, p, 0, raw.TypeStruct)
	return b
}

// withViews is structure for one that is a view, or has views within. What came
// before in the same place is given back: nobody else will.
//
// A field that comes twice would otherwise leave the first view's reference with nobody:
// a hostile caller could drain the pool of blocks so.
func (d *Decoder) withViews(pl *Plan, p unsafe.Pointer, o, depth int) (int, raw.Fault) {
	// Safety: p points to a *pl.Go.
	at := (*unsafe.Pointer)(p)
	if *at != nil {
		pl.giveBack(*at)
		*at = nil
	}
	q, ok := d.Fresh(pl)
	if !ok {
		return o, raw.TooCostly
	}
	switch {
	case pl.Shown != nil && d.wire == inCompact:
		*at = q
		return d.compactView(pl, q, o, depth)
	case pl.Shown != nil:
		return d.view(pl, at, q, o, depth)
	}
	*at = q
	return d.Fields(pl, q, o, depth)
}

// view makes q, a new view, one of the struct at o, and has p point to it.
//
// It counts against the budget for what it takes itself; what its struct would take when
// it is decoded is charged then, against a budget of the size of its bytes, which Show
// hands on.
func (d *Decoder) view(pl *Plan, p *unsafe.Pointer, q unsafe.Pointer, o, depth int) (int, raw.Fault) {
	c := Checker{B: d.B}
	end, f := c.Fields(pl.Shown, o, depth, nil)
	if f != raw.Fine {
		return end, f
	}
	if !d.Charge(LeaseBytes) {
		return o, raw.TooCostly
	}
	v, mem, lent := d.body, d.Budget, false
	if v.Len() != 0 && !c.Odd {
		v, mem, lent = v.Slice(o, end), codec.Budget(d.lim.DecodeBudget(end-o)), true
	} else { // within a container, or a value that is decoded from a message
		if !d.Charge(end - o) {
			return o, raw.TooCostly
		}
		own := bytes.Clone(d.B[o:end])
		raw.Tame(own, 0, raw.TypeStruct)
		v = buf.ViewOf(own)
	}
	pl.How.Show(pl, pl.ViewAt(q), v, mem, lent)
	*p = q
	return end, raw.Fine
}

// compactView makes the view at p one of the struct at d.b[o:], which is rewritten in the
// Binary protocol; what the struct does not know comes along.
func (d *Decoder) compactView(pl *Plan, p unsafe.Pointer, o, depth int) (int, raw.Fault) {
	mem, t := d.Budget, raw.Transcoder{P: d.B, Max: int64(d.Budget / 2)}
	end, f := t.Value(o, raw.CompactStruct, depth)
	if f == raw.Fine {
		d.Budget -= 2 * codec.Budget(len(t.B))
		if !d.Charge(LeaseBytes) {
			return o, raw.TooCostly
		}
		c := Checker{B: t.B}
		_, f = c.Fields(pl.Shown, 0, depth, nil)
	}
	if f == raw.Fine {
		pl.How.Show(pl, pl.ViewAt(p), buf.ViewOf(t.B), mem, false)
		return end, f
	}
	// The offsets are those of other bytes, and the field is not known. As in
	// a refusal of Binary's, a second look finds both.
	q, ok := d.Fresh(pl.Shown)
	if !ok {
		return o, raw.TooCostly
	}
	if at, other := d.compactFields(pl.Shown, q, o, depth); other != raw.Fine {
		return at, other
	}
	return end, f
}

// giveBack releases what the decoder opened in the struct at p, a view or one with
// views within, when nobody will see it. Views in containers refer to nothing.
func (pl *Plan) giveBack(p unsafe.Pointer) {
	if pl.Shown != nil {
		pl.How.GiveBack(pl.ViewAt(p))
		return
	}
	for i := range pl.Fields {
		f := &pl.Fields[i]
		if f.Kind != shape.Ref || !At(f.Type.Struct).HasViews {
			continue
		}
		// Safety: p points to a pl.Go, and offset is that of a pointer to a struct.
		if q := (*unsafe.Pointer)(unsafe.Add(p, f.Offset)); *q != nil {
			At(f.Type.Struct).giveBack(*q)
			*q = nil
		}
	}
}

// apart hides the message while a container is decoded, and gives what is to be
// restored: views in it have bytes of their own, since it would take a walk through
// all containers to give them back.
func (d *Decoder) apart() (body buf.View) {
	body, d.body = d.body, buf.View{}
	return body
}

// findViews notes which plans have views within that are not in containers. Plans
// may refer to each other in circles.
func findViews(fresh []*shape.Struct) {
	for again := true; again; {
		again = false
		for _, s := range fresh {
			pl := At(s)
			for i := range pl.Fields {
				if t := pl.Fields[i].Type; t.Kind == shape.Ref && At(t.Struct).HasViews && !pl.HasViews {
					pl.HasViews, again = true, true
				}
			}
		}
	}
}

// Make decodes b, the message of a view of pl, into a new struct. Its fault is
// that a field is missing which is required, or that it takes more than mem.
//
// mem is what was left when the message was opened: laziness does not get round the
// budget.
func (pl *Plan) Make(b []byte, mem codec.Budget) (unsafe.Pointer, raw.Fault) {
	p := reflect.New(pl.Go).UnsafePointer()
	if f := pl.Read(p, b, mem); f != raw.Fine {
		return nil, f
	}
	return p, raw.Fine
}

// Read decodes b, bytes that were checked, into the fresh pl.Go at p.
//
// The depth is not bounded again: the check has held it against the limit.
func (pl *Plan) Read(p unsafe.Pointer, b []byte, mem codec.Budget) (f raw.Fault) {
	d := Decoder{B: b, Budget: mem}
	if pl.made != 0 {
		_, f = d.generated(pl, p, 0, 1<<30)
		return f
	}
	if pl.HasPreset() && !d.Defaults(pl, p) {
		return raw.TooCostly
	}
	_, f = d.Fields(pl, p, 0, 1<<30)
	return f
}
