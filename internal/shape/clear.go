package shape

import (
	"reflect"
	"unsafe"
)

// A stretch is a part of a struct in which there are only fields of the IDL's.
//
// The program's own fields, which are to stay, lie between them.
type stretch struct {
	from, to uintptr
	words    int // of eight bytes that it begins with, if it is aligned for them
}

// addStretch notes a field of the Go struct; the fields come in their order. ours:
// it is one of the IDL's.
//
// Padding has no meaning and may have any bytes: at worst Clear stores zeros that were
// there.
func (st *Struct) addStretch(f reflect.StructField, ours bool) {
	from, to := f.Offset, f.Offset+f.Type.Size()
	switch n := len(st.ours); {
	case !ours:
		st.apart = true
		return
	case n > 0 && !st.apart:
		st.ours[n-1].to = to // padding in between counts with them
	default:
		st.ours, st.apart = append(st.ours, stretch{from: from, to: to}), false
	}
	if s := &st.ours[len(st.ours)-1]; s.from%8 == 0 {
		s.words = int(s.to-s.from) / 8
	}
}

// Clear makes the fields of the message at p zero. Most messages are fresh, and
// looking costs less than storing.
//
// It stores field by field, as reflection does, and not as one block: fields have
// pointers, which the collector has to be told of.
func (st *Struct) Clear(p unsafe.Pointer) {
	var any uint64
	for i := range st.ours {
		s := &st.ours[i]
		// Safety: the stretch lies within the st.Go at p.
		q, n := unsafe.Add(p, s.from), int(s.to-s.from)
		at := 0
		for ; at+32 <= 8*s.words; at += 32 {
			w := (*[4]uint64)(unsafe.Add(q, at))
			any |= w[0] | w[1] | w[2] | w[3]
		}
		for ; at < 8*s.words; at += 8 {
			any |= *(*uint64)(unsafe.Add(q, at))
		}
		for ; at < n; at++ {
			any |= uint64(*(*byte)(unsafe.Add(q, at)))
		}
	}
	if any != 0 {
		st.clearSlow(p)
	}
}

// clearSlow stays out of clear. Other fields than the IDL's are left as they are.
//
//go:noinline
func (st *Struct) clearSlow(p unsafe.Pointer) {
	for i := range st.Fields {
		f := &st.Fields[i]
		// Safety: p points to a st.Go, and offset is that of a field of f.Type.Go.
		reflect.NewAt(f.Type.Go, unsafe.Add(p, f.Offset)).Elem().SetZero()
	}
	if st.unknown != 0 {
		*st.Kept(p) = nil
	}
}
