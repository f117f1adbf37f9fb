package thrift

import (
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// Unknown is the type of a field, at most one of a struct and without an id,
// that keeps what Binary or Compact passed over while it decoded the struct:
// fields with ids that the struct does not have, and those with another type
// than it has.
//
//	type Order struct {
//		ID   int64 `thrift:"id,1"`
//		Rest thrift.Unknown
//	}
//
// They are whole fields of the Binary protocol, header and value, one behind the
// other in the order in which they came. Both protocols write them back behind the
// known ones, so that a program passes on what only newer ones know, whichever of
// the two it reads and writes. Of Binary's bytes Compact has no place for the types
// of an empty map: that is all that does not come through. A bool that is neither 0 nor
// 1, which says false to some and true to others, becomes 0, which says it to all.
//
// Decode replaces what was there before. What is in an Unknown is checked when it
// is written: anything but whole fields gives a *TypeError. A struct without such a
// field drops what it does not know; so does a union, whose variants have one field
// each.
//
// JSON keeps nothing and writes none of it: it has one name for strings, which are
// text there, and binary, which is base64. Who does not know the field cannot tell
// which of the two it is, and would pass on wrong bytes.
type Unknown []byte

// keep adds the field at d.b[from:to] to the struct at base, and reports
// whether the budget had room for it: twice its length, since append grows by
// doubling.
//
// Safety: base points to a pl.Go.
func (d *decoder) keep(pl *plan, base unsafe.Pointer, from, to int) bool {
	if d.Budget -= 2 * codec.Budget(to-from); d.Budget < 0 {
		return false
	}
	u := pl.Kept(base)
	*u = append(*u, d.b[from:to]...)
	if kept := (*u)[len(*u)-(to-from):]; raw.MayHoldBools(raw.Type(kept[0])) {
		raw.Tame(kept, 3, raw.Type(kept[0]))
	}
	return true
}

// unknown appends what the struct at base kept. depth is what is left for the
// values of its fields.
//
// Safety: base points to a pl.Go.
func (e *encoder) unknown(b []byte, pl *plan, base unsafe.Pointer, depth int) []byte {
	u, err := pl.writable(base, depth)
	if err != nil {
		if e.err == nil {
			e.err = err
		}
		return b
	}
	return e.raw(b, u)
}

// writable gives what the struct at base kept, or why that cannot be written.
//
// Safety: base points to a pl.Go.
func (pl *plan) writable(base unsafe.Pointer, depth int) (Unknown, error) {
	u := Unknown(*pl.Kept(base))
	if len(u) > 0 && !u.whole(depth) {
		return nil, &TypeError{Type: pl.Go, Why: "its thrift.Unknown does not hold whole fields, or too deep ones"}
	}
	return u, nil
}

// whole reports whether u is a sequence of fields. Not to look would let one
// wrong byte break everything behind it.
func (u Unknown) whole(depth int) bool {
	for o := 0; o < len(u); {
		if len(u)-o < 3 {
			return false
		}
		end, f := raw.SkipAt(u, o+3, raw.Type(u[o]), depth)
		if f != raw.Fine {
			return false
		}
		o = end
	}
	return true
}
