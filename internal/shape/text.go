package shape

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// Bounds of String.
const (
	maxText    = 1024 // bytes of a whole text
	maxNested  = 8    // levels that are shown
	MaxQuoted  = 128  // bytes of a string that are shown
	maxHex     = 16   // bytes of binary that are shown
	maxValues  = 4096 // fields and elements that are looked at
	maxEntries = 64   // a larger map is not gone through, since its order would be another each time
)

// Text gives a message as one line for logs: at most 1,024 bytes and eight
// levels, strings cut after 128 bytes, binary as its length and its first 16
// bytes; what is left out shows as "…". Fields that are absent are not shown; names are the
// IDL's. Any value is taken: nil, typed nils, values that refer to themselves, what is
// no message at all (then its type is shown). The form is for people and may change.
func (m *Memo) Text(msg any) string {
	left := maxValues
	w := Writer{b: make([]byte, 0, 256), left: &left}
	st, p, err := m.Of(msg)
	switch {
	case err == nil:
		w.fields(st, p, maxNested)
	case msg == nil || reflect.ValueOf(msg).Kind() == reflect.Pointer && reflect.ValueOf(msg).IsNil():
		w.b = append(w.b, "nil"...)
	default:
		w.b = append(w.b, reflect.TypeOf(msg).String()...)
	}
	return w.Text()
}

// A Writer collects text up to the bound.
//
// left is shared by the writers of one text: an entry of a map is written apart, so that
// entries can be sorted, and counts like everything else.
type Writer struct {
	b    []byte
	left *int // values that may still be looked at
}

// Ellipsis stands for what is left out.
const Ellipsis = "…"

// Full tells whether more would be cut off.
func (w *Writer) Full() bool { return len(w.b) > maxText }

// Text is what was collected, cut between characters if it is too long.
func (w *Writer) Text() string {
	if len(w.b) <= maxText {
		return string(w.b)
	}
	n := maxText - len(Ellipsis)
	for n > 0 && !utf8.RuneStart(w.b[n]) {
		n--
	}
	return string(w.b[:n]) + Ellipsis
}

// Add adds s as it is.
func (w *Writer) Add(s string) { w.b = append(w.b, s...) }

// fields shows the struct at p.
func (w *Writer) fields(st *Struct, p unsafe.Pointer, depth int) {
	w.Add(st.Title)
	w.members(st, p, depth)
}

// members shows what is in a struct, without its name: within a message the field says
// what it is.
func (w *Writer) members(st *Struct, p unsafe.Pointer, depth int) {
	if st.View != nil {
		st.View.Text(w, p, depth)
		return
	}
	w.Add("{")
	if depth <= 0 {
		w.Add(Ellipsis + "}")
		return
	}
	first := true
	for i := range st.Fields {
		if w.Full() {
			return
		}
		f := &st.Fields[i]
		// Safety: p points to a st.Go, and offset is that of a field.
		q := unsafe.Add(p, f.Offset)
		if !f.Absent(q) {
			first = w.Name(st.IDL(f), first)
			w.Value(f.Type, q, depth-1)
		}
	}
	if st.unknown != 0 && len(*st.Kept(p)) > 0 {
		w.Name("unknown", first)
		w.Binary(*st.Kept(p))
	}
	w.Add("}")
}

// Name begins a field, and gives what first is for the next one.
func (w *Writer) Name(name string, first bool) bool {
	if !first {
		w.Add(" ")
	}
	w.Add(name)
	w.Add(":")
	return false
}

// Step counts a value that is looked at; false: there were too many, which is shown.
//
// It bounds the time where the bound of the text does not: a list of a million empty
// structs within a map is a text that is thrown away.
func (w *Writer) Step() bool {
	if *w.left--; *w.left < 0 {
		w.Add(Ellipsis)
		return false
	}
	return true
}

// Value shows a value of type t.
//
// It has a case for each kind of a line or two; in two halves neither would be easier to
// read.
func (w *Writer) Value(t *Type, p unsafe.Pointer, depth int) {
	if !w.Step() {
		return
	}
	// Safety: for all loads below: p points to a t.Go, whose layout kind says.
	switch t.Kind {
	case Bool:
		w.b = strconv.AppendBool(w.b, *(*bool)(p))
	case Int8:
		w.b = strconv.AppendInt(w.b, int64(*(*int8)(p)), 10)
	case Int16:
		w.b = strconv.AppendInt(w.b, int64(*(*int16)(p)), 10)
	case Int32:
		w.enum(t, *(*int32)(p))
	case Int64:
		w.b = strconv.AppendInt(w.b, *(*int64)(p), 10)
	case Uint32:
		w.b = strconv.AppendUint(w.b, uint64(*(*uint32)(p)), 10)
	case Uint64:
		w.b = strconv.AppendUint(w.b, *(*uint64)(p), 10)
	case Float32:
		w.b = strconv.AppendFloat(w.b, float64(*(*float32)(p)), 'g', -1, 32)
	case Float64:
		w.b = strconv.AppendFloat(w.b, *(*float64)(p), 'g', -1, 64)
	case UUID:
		w.Add(UUIDText(*(*[16]byte)(p)))
	case String:
		w.Quote(*(*string)(p))
	case Bytes:
		w.Binary(*(*[]byte)(p))
	case Pointer:
		if q := *(*unsafe.Pointer)(p); q != nil {
			w.Value(t.Elem, q, depth)
			return
		}
		w.Add("nil")
	case Ref:
		if q := *(*unsafe.Pointer)(p); q != nil {
			w.members(t.Struct, q, depth)
			return
		}
		w.Add("nil")
	case Union:
		f := *(*Face)(p)
		if v := t.Holds(f); v != nil && f.Data != nil {
			w.members(v.Struct, f.Data, depth)
			return
		}
		w.Add("nil")
	case List, Set, Pairs:
		w.list(t, *(*Slice)(p), depth)
	case Map:
		w.entries(t, p, depth)
	}
}

// enum shows an i32, by its name if its type has a method for that. The method
// is not ours: what it panics with is not shown.
func (w *Writer) enum(t *Type, n int32) {
	if t.Enum != nil && t.Enum.Names[n] != "" {
		w.Add(begin(t.Enum.Names[n]))
		return
	}
	if t.Go.Implements(reflect.TypeFor[fmt.Stringer]()) {
		v := reflect.New(t.Go).Elem()
		v.SetInt(int64(n))
		if name, ok := nameOf(v); ok {
			w.Add(begin(name))
			if len(name) > MaxQuoted {
				w.Add(Ellipsis)
			}
			return
		}
	}
	w.b = strconv.AppendInt(w.b, int64(n), 10)
}

// nameOf asks the type's own String, which is the user's code.
func nameOf(v reflect.Value) (name string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	s, _ := reflect.TypeAssert[fmt.Stringer](v)
	return s.String(), true
}

// Quote shows a string in quotes, its begin if it is long.
func (w *Writer) Quote(s string) {
	w.b = strconv.AppendQuote(w.b, begin(s))
	if len(s) > MaxQuoted {
		w.Add(Ellipsis)
	}
}

// begin is what is shown of a text: at most MaxQuoted bytes, to the end of a character. Bytes
// that are no characters are cut anywhere.
func begin(s string) string {
	if len(s) <= MaxQuoted {
		return s
	}
	n := MaxQuoted
	for n > MaxQuoted-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Binary shows how long p is, and its begin.
func (w *Writer) Binary(p []byte) {
	w.b = strconv.AppendInt(w.b, int64(len(p)), 10)
	w.Add(" bytes")
	if len(p) == 0 {
		return
	}
	w.Add(" ")
	w.b = hex.AppendEncode(w.b, p[:min(len(p), maxHex)])
	if len(p) > maxHex {
		w.Add(Ellipsis)
	}
}

// list shows a list, a set or Pairs up to the bounds.
func (w *Writer) list(t *Type, s Slice, depth int) {
	w.Add("[")
	for i := range s.Len {
		if i > 0 {
			w.Add(" ")
		}
		if depth <= 0 || w.Full() {
			w.Add(Ellipsis)
			break
		}
		// Safety: s has s.Len elements of that size; a pair's key is its first
		// field, ValueAt is where its value is, and 0 for other slices.
		p := unsafe.Add(s.Data, i*t.Stride())
		if t.Kind == Pairs {
			w.Value(t.Key, p, depth-1)
			w.Add(":")
		}
		w.Value(t.Elem, unsafe.Add(p, t.ValueAt), depth-1)
	}
	w.Add("]")
}

// entries shows a map, by the text of its keys.
func (w *Writer) entries(t *Type, p unsafe.Pointer, depth int) {
	// Safety: p points to a t.Go, which is a map.
	m := reflect.NewAt(t.Go, p).Elem()
	if w.Many(m.Len(), depth) {
		return
	}
	k, x := reflect.New(t.Key.Go), reflect.New(t.Elem.Go)
	var parts []string
	for it := m.MapRange(); it.Next(); {
		one := w.Part()
		k.Elem().SetIterKey(it)
		x.Elem().SetIterValue(it)
		one.Value(t.Key, k.UnsafePointer(), 0)
		one.Add(":")
		one.Value(t.Elem, x.UnsafePointer(), depth-1)
		parts = append(parts, one.Text())
	}
	w.Parts(parts)
}

// Many shows a map of n entries by their number if it is too deep, or too large for its
// order to be worth anything, and reports whether it did.
func (w *Writer) Many(n, depth int) bool {
	if n == 0 || depth > 0 && n <= maxEntries {
		return false
	}
	w.b = fmt.Appendf(w.b, "{%d entries}", n)
	return true
}

// Part begins the text of one entry of a map.
func (w *Writer) Part() Writer { return Writer{left: w.left} }

// Parts adds the entries of a map, in the order of their text.
//
// By text, since Go's maps come in another order each time, and one line of a log is
// compared with another one.
func (w *Writer) Parts(parts []string) {
	slices.Sort(parts)
	w.Add("{")
	for i, s := range parts {
		if i > 0 {
			w.Add(" ")
		}
		w.Add(s)
	}
	w.Add("}")
}
