package lazy

import (
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/rpc"
)

// ThriftViews is for codecs: how views are treated.
func (x *Message) ThriftViews() plan.Views { return views{} }

// views is what codecs ask of a Lazy.
type views struct{}

var _ plan.Views = views{}

// at is the Lazy that x points to.
func (views) at(x unsafe.Pointer) *Message { return (*Message)(x) }

// Lens implements [Views].
func (views) Lens(pl *plan.Plan) shape.View { return lens{pl} }

// Open implements [Views]. What x had before is given back.
func (v views) Open(pl *plan.Plan, x unsafe.Pointer, body buf.View, lim *rpc.Limits) error {
	v.Reset(x)
	return v.at(x).open(pl, body, lim, codec.Budget(lim.DecodeBudget(body.Len())))
}

// Append implements [Views].
func (v views) Append(x unsafe.Pointer, out *buf.Out) (there bool, err error) {
	if v.at(x).own == nil {
		return false, nil
	}
	return true, v.at(x).append(out)
}

// Bytes implements [Views].
func (v views) Bytes(x unsafe.Pointer) (b []byte, there bool, err error) {
	if v.at(x).own == nil {
		return nil, false, nil
	}
	b, err = v.at(x).bytes()
	return b, true, err
}

// Plain implements [Views].
func (v views) Plain(x unsafe.Pointer) (p unsafe.Pointer, why string) { return v.at(x).plain() }

// Show implements [Views].
func (v views) Show(pl *plan.Plan, x unsafe.Pointer, body buf.View, mem codec.Budget, lent bool) {
	*v.at(x) = Message{own: &lease{b: body.Bytes(), calm: true, view: body, mem: mem, lent: lent}, pl: pl.Shown, level: 1, first: true}
}

// Reset implements [Views].
func (v views) Reset(x unsafe.Pointer) {
	if y := v.at(x); y.first && y.own.b != nil {
		y.Release()
	}
	*v.at(x) = Message{}
}

// GiveBack implements [Views].
func (v views) GiveBack(x unsafe.Pointer) {
	if y := v.at(x); y.own != nil && y.own.lent && y.own.b != nil {
		y.Release()
	}
}

// bytes gives the message of x with its changes, and the error of a value that
// was set and cannot be encoded: the field is missing then.
func (x *Message) bytes() ([]byte, error) {
	if x.end == 0 || x.own.b == nil {
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

// plain decodes x; why is why that cannot be done.
func (x *Message) plain() (p unsafe.Pointer, why string) {
	if x.own == nil {
		return nil, shape.WhyNil
	}
	b, err := x.bytes()
	if err != nil {
		return nil, "has a value that was set and cannot be encoded: " + err.Error()
	}
	p, f := x.pl.Make(b, *x.own.budget())
	return p, f.Why()
}

// viewOf is a view of a message of its own, which was checked; decoding it may take mem.
func viewOf(pl *plan.Plan, b []byte, mem codec.Budget) Message {
	return Message{own: &lease{b: b, calm: true, view: buf.ViewOf(b), mem: mem}, pl: pl, level: 1, first: true}
}
