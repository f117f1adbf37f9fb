package lazy

import (
	"bytes"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
)

// What works on any message, and the codecs besides Binary, take a view for the
// struct that it shows, with what was changed in it. All of them go to its
// bytes; only Compact and masks can do with these, the others decode them first.

// A lens is how walkers see a view.
type lens struct{ pl *plan.Plan }

var _ shape.View = lens{}

// at is the Lazy of the view at p.
func (l lens) at(p unsafe.Pointer) *Message { return (*Message)(l.pl.ViewAt(p)) }

// Same implements [shape.View]: bytes that are the same say the same.
func (l lens) Same(p, q unsafe.Pointer) (same, known bool) {
	x, y := l.at(p), l.at(q)
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
	q, _ := l.at(p).plain()
	return q
}

// Clone implements [shape.View]. With a value that cannot be encoded in the original, the
// copy cannot be encoded either.
func (l lens) Clone(q, p unsafe.Pointer) {
	x := l.at(p)
	if x.own == nil {
		return
	}
	b, err := x.bytes()
	y := l.at(q)
	*y = viewOf(x.pl, bytes.Clone(b), *x.own.budget())
	y.own.err = err
}

// Validate implements [shape.View].
func (l lens) Validate(p unsafe.Pointer) (why string) {
	x := l.at(p)
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
	x := l.at(p)
	if x.own == nil || x.own.b == nil {
		w.Add("nil")
		return
	}
	b, _ := x.bytes()
	t := bytesText{w, b}
	t.message(x.pl, 0, depth)
}
