package plan

import (
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// keep adds the field at d.b[from:to] to the struct at base, and reports
// whether the budget had room for it: twice its length, since append grows by
// doubling.
//
// Safety: base points to a pl.Go.
func (d *Decoder) keep(pl *Plan, base unsafe.Pointer, from, to int) bool {
	if d.Budget -= 2 * codec.Budget(to-from); d.Budget < 0 {
		return false
	}
	// Appending goes to what came before: fields that are not known keep their order.
	u := pl.Kept(base)
	*u = append(*u, d.B[from:to]...)
	if kept := (*u)[len(*u)-(to-from):]; raw.MayHoldBools(raw.Type(kept[0])) {
		raw.Tame(kept, 3, raw.Type(kept[0]))
	}
	return true
}

// unknown appends what the struct at base kept. depth is what is left for the
// values of its fields.
//
// Safety: base points to a pl.Go.
func (e *Encoder) unknown(b []byte, pl *Plan, base unsafe.Pointer, depth int) []byte {
	// Everything after the first error is left out, so that later ones do not hide it.
	u, err := pl.writable(base, depth)
	if err != nil {
		if e.Err == nil {
			e.Err = err
		}
		return b
	}
	return e.raw(b, u)
}

// writable gives what the struct at base kept, or why that cannot be written.
//
// Safety: base points to a pl.Go.
func (pl *Plan) writable(base unsafe.Pointer, depth int) ([]byte, error) {
	u := *pl.Kept(base)
	if len(u) > 0 && !whole(u, depth) {
		return nil, &TypeError{Type: pl.Go, Why: "its thrift.Unknown does not hold whole fields, or too deep ones"}
	}
	return u, nil
}
