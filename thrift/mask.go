package thrift

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// A Mask chooses fields of messages of type M. It is made once by Keep or Drop, may
// be applied any number of times, and is safe for concurrent use.
type Mask[M any] struct {
	keep bool
	root *maskNode
}

// A MaskError says which path of a mask does not fit the messages.
type MaskError struct {
	Path string // as far as it is wrong
	Why  string
}

// Error gives both.
func (e *MaskError) Error() string { return "thrift: mask " + e.Path + ": " + e.Why }

// Keep makes a mask that keeps the fields that the paths name and unsets all
// others. Paths are separated by commas, names within them, which are the IDL's, by
// dots: "user.name, items.price". A path leads through lists, sets and the values of maps
// and Pairs to what their elements have, and through a union to its variants. Whoever
// names a field means all of it. Required fields are kept without being named.
//
// The error is a *MaskError for a path that does not fit, or a *TypeError if M
// cannot be a message.
func Keep[M any](paths string) (*Mask[M], error) { return newMask[M](paths, true) }

// Drop makes a mask that unsets the fields that the paths name and keeps all
// others; see Keep. A required field cannot be dropped.
func Drop[M any](paths string) (*Mask[M], error) { return newMask[M](paths, false) }

func newMask[M any](paths string, keep bool) (*Mask[M], error) {
	pl, _, err := planOf(new(M))
	if err != nil {
		return nil, err
	}
	m := &Mask[M]{keep: keep, root: &maskNode{}}
	for path := range strings.SplitSeq(paths, ",") {
		if path = strings.TrimSpace(path); path == "" && strings.TrimSpace(paths) == "" {
			break // no path at all
		}
		if err := m.root.add(pl, path, keep); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Apply unsets fields of m, which may be nil, in place: a field becomes nil, or zero
// if it cannot be. An element that is a union of a variant that is not kept is taken
// out of its list or map. With Keep, what a field of type Unknown holds goes too, unless
// all of its struct is kept. A required union stays, whatever it holds. What m
// refers to is changed, wherever else it is referred to.
//
// A lazy view becomes one of a copy of its bytes without what goes, as if it had been
// released and opened anew: views and lists of what was inside must not be used any
// more. Fields that it does not know go with Keep and stay with Drop; where a path
// leads through a union, a map or a list of lists they go from that. A view
// of a part of a message cannot be masked: Apply panics.
func (k *Mask[M]) Apply(m *M) {
	if m == nil {
		return
	}
	pl, p, err := planOf(m)
	if err != nil {
		return // newMask has seen that there is none
	}
	k.root.apply(pl, p, k.keep)
}

// A maskNode is what a mask says about one struct: its chosen fields.
type maskNode struct {
	whole  bool // chosen with all that is in it
	fields map[uint32]*maskNode
}

// structOf follows containers to the struct or union that is in them; nil if
// there is none. A container may be one of itself: the bound is larger than any
// other chain.
func structOf(t *typ) *typ {
	for range 1 << 16 {
		switch t.kind {
		case kStruct, kUnion:
			return t
		case kList, kMap, kPairs:
			t = t.elem
		default:
			return nil
		}
	}
	return nil
}

// add enters one path.
func (n *maskNode) add(pl *plan, path string, keep bool) error {
	union := (*typ)(nil)
	done := ""
	for rest := path; ; {
		if pl != nil && pl.of != nil {
			pl = pl.of
		}
		name, more, deeper := strings.Cut(rest, ".")
		done = strings.TrimPrefix(done+"."+name, ".")
		f := findField(pl, union, name)
		switch {
		case f == nil && pl == nil && union == nil:
			return &MaskError{done, "there are no fields in what is before the last dot"}
		case f == nil:
			return &MaskError{done, "there is no field " + fmt.Sprintf("%.40q", name)}
		case !keep && !deeper && f.need == required:
			return &MaskError{done, "a required field cannot be dropped"}
		}
		if n.fields == nil {
			n.fields = map[uint32]*maskNode{}
		}
		next := n.fields[f.head]
		if next == nil {
			next = &maskNode{}
			n.fields[f.head] = next
		}
		if !deeper {
			next.whole = true
			return nil
		}
		n, rest = next, more
		pl, union = nil, nil
		if t := structOf(f.t); t != nil && t.kind == kStruct {
			pl = t.plan
		} else if t != nil {
			union = t
		}
	}
}

// findField finds a field by its name in a struct or among a union's variants.
func findField(pl *plan, union *typ, name string) *op {
	var plans []*plan
	if pl != nil {
		plans = append(plans, pl)
	} else if union != nil {
		for _, v := range union.cases {
			plans = append(plans, v.plan)
		}
	}
	for _, pl := range plans {
		for i := range pl.ops {
			if pl.said[pl.ops[i].name] == name {
				return &pl.ops[i]
			}
		}
	}
	return nil
}

// apply changes the struct at p.
func (n *maskNode) apply(pl *plan, p unsafe.Pointer, keep bool) {
	if pl.of != nil {
		n.view(pl.viewAt(p), keep)
		return
	}
	for i := range pl.ops {
		f := &pl.ops[i]
		// Safety: p points to a pl.rt, and offset is that of a field of f.t.rt.
		q := unsafe.Add(p, f.offset)
		if n.unsets(f, keep) {
			reflect.NewAt(f.t.rt, q).Elem().SetZero()
			continue
		}
		next := n.fields[f.head]
		switch {
		case next == nil || next.whole:
		case f.kind == kUnion && f.need == required:
			// Safety: q points to an interface with methods.
			if held := *(*face)(q); next.value(f.t, q, keep) {
				*(*face)(q) = held
			}
		default:
			next.value(f.t, q, keep)
		}
	}
	if keep && pl.unknown != 0 {
		*pl.kept(p) = nil
	}
}

// unsets tells whether a field goes as a whole.
func (n *maskNode) unsets(f *op, keep bool) bool {
	next := n.fields[f.head]
	if keep {
		return next == nil && f.need != required
	}
	return next != nil && next.whole
}

// value changes what is in the value of type t at p. It reports whether the
// value has to go: a union of a variant that is not kept.
func (n *maskNode) value(t *typ, p unsafe.Pointer, keep bool) (gone bool) {
	// Safety: for all loads and stores below: p points to a t.rt, whose layout
	// kind says.
	switch t.kind {
	case kStruct:
		if q := *(*unsafe.Pointer)(p); q != nil {
			n.apply(t.plan, q, keep)
		}
	case kUnion:
		f := *(*face)(p)
		v := t.holds(f)
		if v == nil || f.data == nil {
			return false
		}
		o := &v.plan.ops[0]
		next := n.fields[o.head]
		if keep && next == nil || !keep && next != nil && next.whole {
			*(*face)(p) = face{}
			return true
		}
		if next != nil && !next.whole {
			// A variant without a value cannot be sent: it goes as well.
			if next.value(o.t, unsafe.Add(f.data, o.offset), keep) {
				*(*face)(p) = face{}
				return true
			}
		}
	case kList, kPairs:
		n.list(t, p, keep)
	case kMap:
		n.entries(t, p, keep)
	}
	return false
}

// list changes the elements of the slice at p, and closes the gaps of those
// that are gone.
func (n *maskNode) list(t *typ, p unsafe.Pointer, keep bool) {
	// Safety: p points to a t.rt, a slice of elements of that size; pairAt is
	// where a pair's value is, and 0 for other slices. The slice is gone through
	// by a copy of its header: an element may lead back to the field, and unset it.
	held := *(*slice)(p)
	s := reflect.NewAt(t.rt, unsafe.Pointer(&held)).Elem()
	left, data := 0, held.data
	for i := range s.Len() {
		q := unsafe.Add(data, i*t.stride())
		if n.value(t.elem, unsafe.Add(q, t.pairAt), keep) {
			continue
		}
		if left < i {
			s.Index(left).Set(s.Index(i))
		}
		left++
	}
	for i := left; i < s.Len(); i++ {
		s.Index(i).SetZero()
	}
	if s.SetLen(left); (*slice)(p).data == data {
		*(*slice)(p) = held
	}
}

// entries changes the values of the map at p, and deletes those that are gone.
func (n *maskNode) entries(t *typ, p unsafe.Pointer, keep bool) {
	// Safety: p points to a t.rt, which is a map and therefore a pointer. It is
	// copied: a value may lead back to the field, and unset it.
	held := *(*unsafe.Pointer)(p)
	m := reflect.NewAt(t.rt, unsafe.Pointer(&held)).Elem()
	x := reflect.New(t.elem.rt)
	if t.elem.kind == kStruct || t.elem.kind == kMap || m.Len() == 0 {
		for it := m.MapRange(); it.Next(); {
			x.Elem().SetIterValue(it)
			n.value(t.elem, x.UnsafePointer(), keep)
		}
		return
	}
	// Other values may become shorter, or go. A key that is no number is never
	// found again: its entry can only be put into another map.
	to, double := m, t.key.wire == TypeDouble
	if double {
		to = reflect.MakeMapWithSize(t.rt, m.Len())
	}
	for it := m.MapRange(); it.Next(); {
		x.Elem().SetIterValue(it)
		if gone := n.value(t.elem, x.UnsafePointer(), keep); !gone {
			to.SetMapIndex(it.Key(), x.Elem())
		} else if !double {
			m.SetMapIndex(it.Key(), reflect.Value{})
		}
	}
	if double && *(*unsafe.Pointer)(p) == held {
		*(*unsafe.Pointer)(p) = to.UnsafePointer()
	}
}
