package thrift

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

// viewed gives the struct that a generated view shows, nil if rt is no view: the
// view names it by a field of the type [0]struct.
func viewed(rt reflect.Type) reflect.Type {
	if rt.Kind() != reflect.Struct || rt.NumField() != 2 || rt.Field(1).Type != reflect.TypeFor[Lazy]() {
		return nil
	}
	if m := rt.Field(0).Type; m.Kind() == reflect.Array && m.Len() == 0 && m.Elem().Kind() == reflect.Struct {
		return m.Elem()
	}
	return nil
}

// appendLazy is Binary.Append for a view.
func appendLazy(out *buf.Out, msg any) error {
	x := msg.(aLazy).lazy()
	if x.own == nil {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: &TypeError{Type: reflect.TypeOf(msg), Why: shape.WhyNil}}
	}
	if err := x.append(out); err != nil {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: err}
	}
	return nil
}

// decodeLazy is Binary.Decode for a view. What msg had before is given back.
func (pl *plan) decodeLazy(body buf.View, msg any, lim *rpc.Limits) error {
	if lim == nil {
		lim = rpc.Limits{}.WithDefaults()
	}
	// Safety: msg points to a pl.Go.
	return pl.open(pl.decodeView(shape.Data(msg)), body, lim, codec.Budget(lim.DecodeBudget(body.Len())))
}

// lazy appends the message of the view at p.
func (e *encoder) lazy(b []byte, pl *plan, p unsafe.Pointer) []byte {
	// Safety: p points to a view, whose Lazy is at lazyAt.
	x := (*Lazy)(unsafe.Add(p, pl.lazyAt))
	if x.own == nil {
		e.err = &TypeError{Type: pl.Go, Why: shape.WhyNil}
		return b
	}
	e.out.Commit(b)
	e.err = x.append(e.out)
	return e.out.Block()
}

// withViews is structure for one that is a view, or has views within. What came
// before in the same place is given back: nobody else will.
func (d *decoder) withViews(pl *plan, p unsafe.Pointer, o, depth int) (int, raw.Fault) {
	// Safety: p points to a *pl.Go.
	at := (*unsafe.Pointer)(p)
	if *at != nil {
		pl.giveBack(*at)
		*at = nil
	}
	q, ok := d.fresh(pl)
	if !ok {
		return o, raw.TooCostly
	}
	switch {
	case pl.of != nil && d.wire == inCompact:
		*at = q
		return d.compactView(pl.of, pl.viewAt(q), o, depth)
	case pl.of != nil:
		return d.lazy(pl, at, q, o, depth)
	}
	*at = q
	return d.message(pl, q, o, depth)
}

// lazy makes q, a new view, one of the struct at o, and has p point to it.
func (d *decoder) lazy(pl *plan, p *unsafe.Pointer, q unsafe.Pointer, o, depth int) (int, raw.Fault) {
	c := checker{b: d.b}
	end, f := c.fields(pl.of, o, depth, nil)
	if f != raw.Fine {
		return end, f
	}
	if !d.Charge(leaseBytes) {
		return o, raw.TooCostly
	}
	v, mem, lent := d.body, d.Budget, false
	if v.Len() != 0 && !c.odd {
		v, mem, lent = v.Slice(o, end), codec.Budget(d.lim.DecodeBudget(end-o)), true
	} else { // within a container, or a value that is decoded from a message
		if !d.Charge(end - o) {
			return o, raw.TooCostly
		}
		own := bytes.Clone(d.b[o:end])
		raw.Tame(own, 0, raw.TypeStruct)
		v = buf.ViewOf(own)
	}
	// Safety: q points to a view, whose Lazy is at lazyAt.
	*pl.viewAt(q) = Lazy{own: &lease{b: v.Bytes(), calm: true, view: v, mem: mem, lent: lent}, pl: pl.of, level: 1, first: true}
	*p = q
	return end, raw.Fine
}

// giveBack releases what the decoder opened in the struct at p, a view or one with
// views within, when nobody will see it. Views in containers refer to nothing.
func (pl *plan) giveBack(p unsafe.Pointer) {
	if pl.of != nil {
		if x := pl.viewAt(p); x.own != nil && x.own.lent && x.own.b != nil {
			x.Release()
		}
		return
	}
	for i := range pl.Fields {
		f := &pl.Fields[i]
		if f.Kind != shape.Ref || !planAt(f.Type.Struct).views {
			continue
		}
		// Safety: p points to a pl.Go, and offset is that of a pointer to a struct.
		if q := (*unsafe.Pointer)(unsafe.Add(p, f.Offset)); *q != nil {
			planAt(f.Type.Struct).giveBack(*q)
			*q = nil
		}
	}
}

// apart hides the message while a container is decoded, and gives what is to be
// restored: views in it have bytes of their own, since it would take a walk through
// all containers to give them back.
func (d *decoder) apart() (body buf.View) {
	body, d.body = d.body, buf.View{}
	return body
}

// findViews notes which plans have views within that are not in containers. Plans
// may refer to each other in circles.
func findViews(fresh []*shape.Struct) {
	for again := true; again; {
		again = false
		for _, s := range fresh {
			pl := planAt(s)
			for i := range pl.Fields {
				if t := pl.Fields[i].Type; t.Kind == shape.Ref && planAt(t.Struct).views && !pl.views {
					pl.views, again = true, true
				}
			}
		}
	}
}
