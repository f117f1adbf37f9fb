package thrift

import (
	"bytes"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
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

// view completes the plan of a view.
func (c *compiler) view(pl *plan, of reflect.Type) (err error) {
	pl.lazyAt, pl.views = pl.rt.Field(1).Offset, true
	pl.of, err = c.plan(of)
	return err
}

// appendLazy is Binary.Append for a view.
func appendLazy(out *buf.Out, msg any) error {
	x := msg.(aLazy).lazy()
	if x.own == nil {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: &TypeError{Type: reflect.TypeOf(msg), Why: whyNil}}
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
	// Safety: msg points to a pl.rt.
	return pl.open(pl.decodeView((*words)(unsafe.Pointer(&msg)).data), body, lim.Depth)
}

// notInside refuses views as elements, keys and values.
func notInside(t *typ) error {
	if t.plan != nil && t.plan.of != nil {
		return unmappable("a view can only be a message or a field, not " + t.rt.String() + " in a container")
	}
	return nil
}

// lazy appends the message of the view at p.
func (e *encoder) lazy(b []byte, pl *plan, p unsafe.Pointer) []byte {
	// Safety: p points to a view, whose Lazy is at lazyAt.
	x := (*Lazy)(unsafe.Add(p, pl.lazyAt))
	if x.own == nil {
		e.err = &TypeError{Type: pl.rt, Why: whyNil}
		return b
	}
	e.out.Commit(b)
	e.err = x.append(e.out)
	return e.out.Block()
}

// lazy makes q, a new view, one of the struct at o, and has p point to it.
func (d *decoder) lazy(pl *plan, p, q unsafe.Pointer, o, depth int) (int, fault) {
	c := checker{b: d.b}
	end, f := c.fields(pl.of, o, depth, nil)
	if f != fine {
		return end, f
	}
	v := d.body
	if v.Len() != 0 {
		v = v.Slice(o, end)
	} else { // within a value that is decoded from a message
		v = buf.ViewOf(bytes.Clone(d.b[o:end]))
	}
	// Safety: q points to a view, whose Lazy is at lazyAt, and p to a pointer to one.
	*(*Lazy)(unsafe.Add(q, pl.lazyAt)) = Lazy{own: &lease{b: v.Bytes(), calm: true, view: v}, pl: pl.of, level: 1, first: true}
	*(*unsafe.Pointer)(p) = q
	return end, fine
}
