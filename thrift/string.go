package thrift

import (
	"encoding/hex"
	"fmt"
	"math"
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
	maxQuoted  = 128  // bytes of a string that are shown
	maxHex     = 16   // bytes of binary that are shown
	maxValues  = 4096 // fields and elements that are looked at
	maxEntries = 64   // a larger map is not gone through, since its order would be another each time
)

// String gives a message as one line for logs: at most 1,024 bytes and eight
// levels, strings cut after 128 bytes, binary as its length and its first 16
// bytes; what is left out shows as "…". Fields that are absent are not shown; names are the
// IDL's. Any value is taken: nil, typed nils, values that refer to themselves, what is
// no message at all (then its type is shown). A lazy view is shown from its bytes, as
// far as the text goes, and as nil after its Release. The form is for people and may change.
func String(m any) string {
	left := maxValues
	w := writer{b: make([]byte, 0, 256), left: &left}
	pl, p, err := planOf(m)
	switch {
	case err == nil:
		w.fields(pl, p, maxNested)
	case m == nil || reflect.ValueOf(m).Kind() == reflect.Pointer && reflect.ValueOf(m).IsNil():
		w.b = append(w.b, "nil"...)
	default:
		w.b = append(w.b, reflect.TypeOf(m).String()...)
	}
	return w.text()
}

// A writer collects text up to the bound.
type writer struct {
	b    []byte
	left *int // values that may still be looked at
}

const ellipsis = "…"

// full tells whether more would be cut off.
func (w *writer) full() bool { return len(w.b) > maxText }

// text is what was collected, cut between characters if it is too long.
func (w *writer) text() string {
	if len(w.b) <= maxText {
		return string(w.b)
	}
	n := maxText - len(ellipsis)
	for n > 0 && !utf8.RuneStart(w.b[n]) {
		n--
	}
	return string(w.b[:n]) + ellipsis
}

func (w *writer) add(s string) { w.b = append(w.b, s...) }

// fields shows the struct at p.
func (w *writer) fields(pl *plan, p unsafe.Pointer, depth int) {
	w.add(pl.rt.Name())
	w.members(pl, p, depth)
}

func (w *writer) members(pl *plan, p unsafe.Pointer, depth int) {
	if pl.of != nil {
		w.view(pl.viewAt(p), depth)
		return
	}
	w.add("{")
	if depth <= 0 {
		w.add(ellipsis + "}")
		return
	}
	first := true
	for i := range pl.ops {
		if w.full() {
			return
		}
		f := &pl.ops[i]
		// Safety: p points to a pl.rt, and offset is that of a field.
		q := unsafe.Add(p, f.offset)
		if skip, _ := f.absent(q); !skip {
			first = w.name(pl.said[f.name], first)
			w.value(f.t, q, depth-1)
		}
	}
	if pl.unknown != 0 && len(*pl.kept(p)) > 0 {
		w.name("unknown", first)
		w.binary(*pl.kept(p))
	}
	w.add("}")
}

// name begins a field, and gives what first is for the next one.
func (w *writer) name(name string, first bool) bool {
	if !first {
		w.add(" ")
	}
	w.add(name)
	w.add(":")
	return false
}

// value shows a value of type t.
func (w *writer) value(t *typ, p unsafe.Pointer, depth int) {
	if *w.left--; *w.left < 0 {
		w.add(ellipsis)
		return
	}
	// Safety: for all loads below: p points to a t.rt, whose layout kind says.
	switch t.kind {
	case kBool:
		w.b = strconv.AppendBool(w.b, *(*bool)(p))
	case k1:
		w.b = strconv.AppendInt(w.b, int64(*(*int8)(p)), 10)
	case k2:
		w.b = strconv.AppendInt(w.b, int64(*(*int16)(p)), 10)
	case k4:
		w.enum(t, p)
	case k8:
		if t.wire == TypeDouble {
			w.b = strconv.AppendFloat(w.b, math.Float64frombits(*(*uint64)(p)), 'g', -1, 64)
			return
		}
		w.b = strconv.AppendInt(w.b, *(*int64)(p), 10)
	case kUUID:
		w.add((*(*UUID)(p)).String())
	case kString:
		w.quote(*(*string)(p))
	case kBytes:
		w.binary(*(*[]byte)(p))
	case kPointer:
		if q := *(*unsafe.Pointer)(p); q != nil {
			w.value(t.elem, q, depth)
			return
		}
		w.add("nil")
	case kStruct:
		if q := *(*unsafe.Pointer)(p); q != nil {
			w.members(t.plan, q, depth)
			return
		}
		w.add("nil")
	case kUnion:
		f := *(*face)(p)
		if v := t.holds(f); v != nil && f.data != nil {
			w.members(v.plan, f.data, depth)
			return
		}
		w.add("nil")
	case kList, kPairs:
		w.list(t, *(*slice)(p), depth)
	case kMap:
		w.entries(t, p, depth)
	}
}

// enum shows an i32, by its name if its type has a method for that. The method
// is not ours: what it panics with is not shown.
func (w *writer) enum(t *typ, p unsafe.Pointer) {
	// Safety: p points to a t.rt, an int32.
	n := *(*int32)(p)
	if t.rt.Implements(reflect.TypeFor[fmt.Stringer]()) {
		v := reflect.New(t.rt).Elem()
		v.SetInt(int64(n))
		if name, ok := nameOf(v); ok {
			w.add(name[:min(len(name), maxQuoted)])
			return
		}
	}
	w.b = strconv.AppendInt(w.b, int64(n), 10)
}

func nameOf(v reflect.Value) (name string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	s, _ := reflect.TypeAssert[fmt.Stringer](v)
	return s.String(), true
}

func (w *writer) quote(s string) {
	if len(s) <= maxQuoted {
		w.b = strconv.AppendQuote(w.b, s)
		return
	}
	n := maxQuoted
	for n > maxQuoted-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	w.b = strconv.AppendQuote(w.b, s[:n])
	w.add(ellipsis)
}

func (w *writer) binary(p []byte) {
	w.b = strconv.AppendInt(w.b, int64(len(p)), 10)
	w.add(" bytes")
	if len(p) == 0 {
		return
	}
	w.add(" ")
	w.b = hex.AppendEncode(w.b, p[:min(len(p), maxHex)])
	if len(p) > maxHex {
		w.add(ellipsis)
	}
}

func (w *writer) list(t *typ, s slice, depth int) {
	w.add("[")
	for i := range s.len {
		if i > 0 {
			w.add(" ")
		}
		if depth <= 0 || w.full() {
			w.add(ellipsis)
			break
		}
		// Safety: s has s.len elements of that size; a pair's key is its first
		// field, pairAt is where its value is, and 0 for other slices.
		p := unsafe.Add(s.data, i*t.stride())
		if t.kind == kPairs {
			w.value(t.key, p, depth-1)
			w.add(":")
		}
		w.value(t.elem, unsafe.Add(p, t.pairAt), depth-1)
	}
	w.add("]")
}

// entries shows a map, by the text of its keys.
func (w *writer) entries(t *typ, p unsafe.Pointer, depth int) {
	// Safety: p points to a t.rt, which is a map.
	m := reflect.NewAt(t.rt, p).Elem()
	if m.Len() > 0 && depth <= 0 || m.Len() > maxEntries {
		w.b = fmt.Appendf(w.b, "{%d entries}", m.Len())
		return
	}
	k, x := reflect.New(t.key.rt), reflect.New(t.elem.rt)
	var parts []string
	for it := m.MapRange(); it.Next(); {
		one := writer{left: w.left}
		k.Elem().SetIterKey(it)
		x.Elem().SetIterValue(it)
		one.value(t.key, k.UnsafePointer(), 0)
		one.add(":")
		one.value(t.elem, x.UnsafePointer(), depth-1)
		parts = append(parts, one.text())
	}
	slices.Sort(parts)
	w.add("{")
	for i, s := range parts {
		if i > 0 {
			w.add(" ")
		}
		w.add(s)
	}
	w.add("}")
}
