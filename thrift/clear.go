package thrift

import (
	"reflect"
	"unsafe"
)

// begin makes the message at p ready to be decoded into: what it held is gone, so
// that a message that is used again does not keep what the new one leaves out, and
// its defaults are set. false: there is not enough memory for these.
func (d *decoder) begin(pl *plan, p unsafe.Pointer) bool {
	pl.clear(p)
	return pl.preset == 0 || d.defaults(pl, p)
}

// A stretch is a part of a struct in which there are only fields of Thrift's.
type stretch struct {
	from, to uintptr
	words    int // of eight bytes that it begins with, if it is aligned for them
}

// addStretch notes a field of the Go struct; the fields come in their order. ours:
// it is one of Thrift's.
func (pl *plan) addStretch(f reflect.StructField, ours bool) {
	from, to := f.Offset, f.Offset+f.Type.Size()
	switch n := len(pl.ours); {
	case !ours:
		pl.apart = true
		return
	case n > 0 && !pl.apart:
		pl.ours[n-1].to = to // padding in between counts with them
	default:
		pl.ours, pl.apart = append(pl.ours, stretch{from: from, to: to}), false
	}
	if s := &pl.ours[len(pl.ours)-1]; s.from%8 == 0 {
		s.words = int(s.to-s.from) / 8
	}
}

// clear makes the fields of the message at p zero. Most messages are fresh, and
// looking costs less than storing.
func (pl *plan) clear(p unsafe.Pointer) {
	var any uint64
	for i := range pl.ours {
		s := &pl.ours[i]
		// Safety: the stretch lies within the pl.rt at p.
		q, n := unsafe.Add(p, s.from), int(s.to-s.from)
		for at := 0; at < 8*s.words; at += 8 {
			any |= *(*uint64)(unsafe.Add(q, at))
		}
		for at := 8 * s.words; at < n; at++ {
			any |= uint64(*(*byte)(unsafe.Add(q, at)))
		}
	}
	if any != 0 {
		pl.clearSlow(p)
	}
}

// clearSlow stays out of clear. Other fields than Thrift's are left as they are.
//
//go:noinline
func (pl *plan) clearSlow(p unsafe.Pointer) {
	for i := range pl.ops {
		f := &pl.ops[i]
		// Safety: p points to a pl.rt, and offset is that of a field of f.t.rt.
		reflect.NewAt(f.t.rt, unsafe.Add(p, f.offset)).Elem().SetZero()
	}
	if pl.unknown != 0 {
		*pl.kept(p) = nil
	}
}
