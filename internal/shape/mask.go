package shape

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// A Mask chooses fields of messages of one type. It may be applied any number of times,
// and is safe for concurrent use.
//
// It is a tree of names, independent of the messages that it is applied to.
type Mask struct {
	keep bool
	root *Node
	of   *Struct // what it was made for
}

// A MaskError says which path of a mask does not fit the messages.
//
// Paths often come from a client (a field mask of a request), so that it names what was
// asked for and nothing of the message.
type MaskError struct {
	Path string // as far as it is wrong
	Why  string
}

// NewMask makes a mask that keeps the fields that the paths name and unsets all others or,
// without keep, the other way round. Paths are separated by commas, names within them, which
// are the IDL's, by dots: "user.name, items.price". A path leads through lists, sets and
// the values of maps and Pairs to what their elements have, and through a union to its
// variants. Whoever names a field means all of it. Required fields are kept without being
// named, and cannot be dropped.
//
// Time and memory are in proportion to the text: a path is not followed into types that
// refer to themselves any further than it says.
func (s *Struct) NewMask(paths string, keep bool) (*Mask, *MaskError) {
	m := &Mask{keep: keep, root: &Node{}, of: s}
	for path := range strings.SplitSeq(paths, ",") {
		if path = strings.TrimSpace(path); path == "" && strings.TrimSpace(paths) == "" {
			break // no path at all
		}
		if err := m.root.add(s, path, keep); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Apply unsets fields of the message at p, an s.Go, in place: a field becomes nil, or zero
// if it cannot be. An element that is a union of a variant that is not kept is taken
// out of its list or map. What is kept of unknown fields goes with a mask that keeps, unless
// all of its struct is kept. A required union stays, whatever it holds. What the message
// refers to is changed, wherever else it is referred to.
func (m *Mask) Apply(s *Struct, p unsafe.Pointer) { m.root.Apply(s, p, m.keep) }

// ApplyTo is Apply for msg, a pointer to a struct of the type that the mask was made for;
// of nil it makes nothing.
func (m *Mask) ApplyTo(msg any) {
	if p := Data(msg); p != nil {
		m.Apply(m.of, p)
	}
}

// A Node is what a mask says about one struct: its chosen fields.
//
// Fields are known by their tags, which are the same in a struct and in the view of it.
type Node struct {
	whole  bool // chosen with all that is in it
	fields map[uint32]*Node
}

// Of is what the mask says about the field with that tag; nil: nothing.
func (n *Node) Of(tag uint32) *Node { return n.fields[tag] }

// Whole tells whether the mask means all of what n is about.
func (n *Node) Whole() bool { return n.whole }

// structOf follows containers to the struct or union that is in them; nil if
// there is none. A container may be one of itself: the bound is larger than any
// other chain.
func structOf(t *Type) *Type {
	for range 1 << 16 {
		switch t.Kind {
		case Ref, Union:
			return t
		case List, Set, Map, Pairs:
			t = t.Elem
		default:
			return nil
		}
	}
	return nil
}

// add enters one path.
//
// Of two paths of which one goes further than the other, the shorter one counts: "user"
// means all of "user.name".
func (n *Node) add(st *Struct, path string, keep bool) *MaskError {
	union := (*Type)(nil)
	done := ""
	for rest := path; ; {
		if st != nil && st.View != nil {
			st = st.Of
		}
		name, more, deeper := strings.Cut(rest, ".")
		done = strings.TrimPrefix(done+"."+name, ".")
		f := findField(st, union, name)
		switch {
		case f == nil && st == nil && union == nil:
			return &MaskError{done, "there are no fields in what is before the last dot"}
		case f == nil:
			return &MaskError{done, "there is no field " + fmt.Sprintf("%.40q", name)}
		case !keep && !deeper && f.Rule == Required:
			return &MaskError{done, "a required field cannot be dropped"}
		}
		if n.fields == nil {
			n.fields = map[uint32]*Node{}
		}
		next := n.fields[f.Tag]
		if next == nil {
			next = &Node{}
			n.fields[f.Tag] = next
		}
		if !deeper {
			next.whole = true
			return nil
		}
		n, rest = next, more
		st, union = nil, nil
		if t := structOf(f.Type); t != nil && t.Kind == Ref {
			st = t.Struct
		} else if t != nil {
			union = t
		}
	}
}

// findField finds a field by its name in a struct or among a union's variants.
func findField(st *Struct, union *Type, name string) *Field {
	var plans []*Struct
	if st != nil {
		plans = append(plans, st)
	} else if union != nil {
		for _, v := range union.Cases {
			plans = append(plans, v.Struct)
		}
	}
	for _, st := range plans {
		for i := range st.Fields {
			if st.Names[i].IDL == name {
				return &st.Fields[i]
			}
		}
	}
	return nil
}

// Apply changes the struct at p.
func (n *Node) Apply(st *Struct, p unsafe.Pointer, keep bool) {
	if st.View != nil {
		st.View.Mask(p, n, keep)
		return
	}
	for i := range st.Fields {
		f := &st.Fields[i]
		// Safety: p points to a st.Go, and offset is that of a field of f.Type.Go.
		q := unsafe.Add(p, f.Offset)
		if n.Unsets(f, keep) {
			reflect.NewAt(f.Type.Go, q).Elem().SetZero()
			continue
		}
		next := n.fields[f.Tag]
		switch {
		case next == nil || next.whole:
		case f.Kind == Union && f.Rule == Required:
			// Safety: q points to an interface with methods.
			if held := *(*Face)(q); next.Value(f.Type, q, keep) {
				*(*Face)(q) = held
			}
		default:
			next.Value(f.Type, q, keep)
		}
	}
	if keep && st.unknown != 0 {
		*st.Kept(p) = nil
	}
}

// Unsets tells whether a field goes as a whole.
// What is within a field that is kept or dropped in part is for Value.
func (n *Node) Unsets(f *Field, keep bool) bool {
	next := n.fields[f.Tag]
	if keep {
		return next == nil && f.Rule != Required
	}
	return next != nil && next.whole
}

// Value changes what is in the value of type t at p. It reports whether the
// value has to go: a union of a variant that is not kept.
func (n *Node) Value(t *Type, p unsafe.Pointer, keep bool) (gone bool) {
	// Safety: for all loads and stores below: p points to a t.Go, whose layout
	// kind says.
	switch t.Kind {
	case Ref:
		if q := *(*unsafe.Pointer)(p); q != nil {
			n.Apply(t.Struct, q, keep)
		}
	case Union:
		f := *(*Face)(p)
		v := t.Holds(f)
		if v == nil || f.Data == nil {
			return false
		}
		o := &v.Struct.Fields[0]
		next := n.fields[o.Tag]
		if keep && next == nil || !keep && next != nil && next.whole {
			*(*Face)(p) = Face{}
			return true
		}
		if next != nil && !next.whole {
			// A variant without a value cannot be sent: it goes as well.
			if next.Value(o.Type, unsafe.Add(f.Data, o.Offset), keep) {
				*(*Face)(p) = Face{}
				return true
			}
		}
	case List, Set, Pairs:
		n.list(t, p, keep)
	case Map:
		n.entries(t, p, keep)
	}
	return false
}

// list changes the elements of the slice at p, and closes the gaps of those
// that are gone.
func (n *Node) list(t *Type, p unsafe.Pointer, keep bool) {
	// Safety: p points to a t.Go, a slice of elements of that size; ValueAt is
	// where a pair's value is, and 0 for other slices. The slice is gone through
	// by a copy of its header: an element may lead back to the field, and unset it.
	held := *(*Slice)(p)
	s := reflect.NewAt(t.Go, unsafe.Pointer(&held)).Elem()
	left, data := 0, held.Data
	for i := range s.Len() {
		q := unsafe.Add(data, i*t.Stride())
		if n.Value(t.Elem, unsafe.Add(q, t.ValueAt), keep) {
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
	if s.SetLen(left); (*Slice)(p).Data == data {
		*(*Slice)(p) = held
	}
}

// entries changes the values of the map at p, and deletes those that are gone.
func (n *Node) entries(t *Type, p unsafe.Pointer, keep bool) {
	// Safety: p points to a t.Go, which is a map and therefore a pointer. It is
	// copied: a value may lead back to the field, and unset it.
	held := *(*unsafe.Pointer)(p)
	m := reflect.NewAt(t.Go, unsafe.Pointer(&held)).Elem()
	x := reflect.New(t.Elem.Go)
	if t.Elem.Kind == Ref || t.Elem.Kind == Map || m.Len() == 0 {
		for it := m.MapRange(); it.Next(); {
			x.Elem().SetIterValue(it)
			n.Value(t.Elem, x.UnsafePointer(), keep)
		}
		return
	}
	// Other values may become shorter, or go. A key that is no number is never
	// found again: its entry can only be put into another map.
	to, double := m, t.Key.Kind.Float()
	if double {
		to = reflect.MakeMapWithSize(t.Go, m.Len())
	}
	for it := m.MapRange(); it.Next(); {
		x.Elem().SetIterValue(it)
		if gone := n.Value(t.Elem, x.UnsafePointer(), keep); !gone {
			to.SetMapIndex(it.Key(), x.Elem())
		} else if !double {
			m.SetMapIndex(it.Key(), reflect.Value{})
		}
	}
	if double && *(*unsafe.Pointer)(p) == held {
		*(*unsafe.Pointer)(p) = to.UnsafePointer()
	}
}
