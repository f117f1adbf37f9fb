package shape

import (
	"fmt"
	"reflect"
	"strconv"
	"unsafe"
)

// An Invalid says where a message is not one that can be sent.
//
// It is of the first fault that is found and says nothing about others.
type Invalid struct {
	Path string // such as items[3].price, by the names of the IDL; "" for the message itself
	Why  string
}

// Texts that codecs use as well, so that they say the same.
const (
	WhyNil      = "is nil"
	WhyDeep     = "is nested too deeply, or refers to itself"
	WhyRequired = "is required and nil"
	WhyForeign  = "holds a type that is none of its variants"
)

// Validate finds the first reason why the message at p could not be sent: a required
// field or an element that is nil, a union that holds no variant or something that is
// none, a variant without a value, too deep a nesting, which is also how values end
// that refer to themselves, sizes beyond the Rules', kept fields that are not whole, a
// view that cannot be sent. nil: there is none. The numbers of enums are not looked at.
//
// It allocates for maps, and for messages of more than manySteps structs.
func (s *Struct) Validate(p unsafe.Pointer) *Invalid {
	v := validator{rules: s.rules}
	depth, size := s.rules.Most()
	v.most, v.long = size, "is longer than "+grouped(size)
	return v.fields(s, p, depth)
}

// grouped writes a number with commas.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// A validator is the state of one check.
type validator struct {
	rules Rules
	most  int    // the longest string, and the most elements
	long  string // what is said of longer ones
	steps int
	fine  map[span]int // the depth at which something is right, once there is much
}

// known counts a step and reports whether what is at p was found right, with no
// more levels allowed than depth.
//
// What was right deep down is right further up too, and not the other way round: hence
// the depth.
func (v *validator) known(at span, depth int) bool {
	if v.steps++; v.steps <= manySteps {
		return false
	}
	had, ok := v.fine[at]
	return ok && had <= depth
}

// right notes that what is at p is right.
//
// A value that refers to itself never gets so far with what it is in: it ends at the
// depth.
func (v *validator) right(at span, depth int) {
	if v.steps <= manySteps {
		return
	}
	if v.fine == nil {
		v.fine = map[span]int{}
	}
	v.fine[at] = depth
}

// fields checks the struct at p. depth is how many levels are allowed.
func (v *validator) fields(st *Struct, p unsafe.Pointer, depth int) *Invalid {
	if depth <= 0 {
		return &Invalid{Why: WhyDeep}
	}
	if st.View != nil {
		if why := st.View.Validate(p); why != "" {
			return &Invalid{Why: why}
		}
		return nil
	}
	at := span{p, -1}
	if v.known(at, depth) {
		return nil
	}
	for i := range st.Fields {
		f := &st.Fields[i]
		// Safety: p points to a st.Go, and offset is that of a field.
		q := unsafe.Add(p, f.Offset)
		// Numbers, bools and UUIDs are right whatever they hold, and never absent.
		if f.Kind < String {
			continue
		}
		if f.Absent(q) {
			if f.Rule == Required {
				return &Invalid{st.IDL(f), WhyRequired}
			}
			continue
		}
		if bad := v.value(f.Type, q, depth-1); bad != nil {
			return bad.within(st.IDL(f))
		}
	}
	if st.unknown != 0 && !v.rules.Whole(*st.Kept(p), depth-1) {
		return &Invalid{Why: "has a " + v.rules.Words().Kept + " that does not hold whole fields, or too deep ones"}
	}
	v.right(at, depth)
	return nil
}

// within puts a field's name, or an index in brackets, before the path.
func (e *Invalid) within(name string) *Invalid {
	if e.Path != "" && e.Path[0] != '[' {
		name += "."
	}
	e.Path = name + e.Path
	return e
}

// value checks a value of type t. Scalars have no way to be wrong, and are not asked for.
func (v *validator) value(t *Type, p unsafe.Pointer, depth int) *Invalid {
	// Safety: for all loads below: p points to a t.Go, whose layout kind says.
	switch t.Kind {
	case String:
		if len(*(*string)(p)) > v.most {
			return &Invalid{Why: v.long}
		}
	case Bytes:
		if len(*(*[]byte)(p)) > v.most {
			return &Invalid{Why: v.long}
		}
	case Pointer:
		return v.value(t.Elem, *(*unsafe.Pointer)(p), 0)
	case Ref:
		q := *(*unsafe.Pointer)(p)
		if q == nil {
			return &Invalid{Why: WhyNil}
		}
		return v.fields(t.Struct, q, depth)
	case Union:
		return v.union(t, *(*Face)(p), depth)
	case List, Set, Pairs:
		return v.list(t, *(*Slice)(p), depth)
	case Map:
		return v.entries(t, p, depth)
	}
	return nil
}

// union checks that a variant is chosen and has a value: one without would arrive as no
// variant at all.
func (v *validator) union(t *Type, f Face, depth int) *Invalid {
	if f.Itab == 0 || f.Data == nil {
		return &Invalid{Why: WhyNil}
	}
	c := t.Holds(f)
	if c == nil {
		return &Invalid{Why: WhyForeign}
	}
	o := &c.Struct.Fields[0]
	// Safety: data points to the variant's struct, whose only field o is.
	if o.Absent(unsafe.Add(f.Data, o.Offset)) {
		return &Invalid{c.Struct.Names[0].IDL, WhyNil}
	}
	return v.fields(c.Struct, f.Data, depth)
}

// list checks a list, a set or Pairs. Scalars need no look.
//
// Elements and their indexes are named in the path, keys of Pairs as .key.
func (v *validator) list(t *Type, s Slice, depth int) *Invalid {
	if depth <= 0 {
		return &Invalid{Why: WhyDeep}
	}
	if s.Len > v.most {
		return &Invalid{Why: v.long}
	}
	if t.Elem.Kind < String && (t.Key == nil || t.Key.Kind < String) {
		return nil
	}
	at := span{s.Data, s.Len}
	if t.Nested() && v.known(at, depth) {
		return nil
	}
	for i := range s.Len {
		// Safety: s has s.Len elements of that size; a pair's key is its first
		// field, ValueAt is where its value is, and 0 for other slices.
		p := unsafe.Add(s.Data, i*t.Stride())
		var bad *Invalid
		if t.Kind == Pairs {
			if bad = v.value(t.Key, p, depth-1); bad != nil {
				return bad.within("key").within("[" + strconv.Itoa(i) + "]")
			}
		}
		if bad = v.value(t.Elem, unsafe.Add(p, t.ValueAt), depth-1); bad != nil {
			return bad.within("[" + strconv.Itoa(i) + "]")
		}
	}
	if t.Nested() {
		v.right(at, depth)
	}
	return nil
}

// entries checks a map. Of several faults it finds any: a map has no first entry.
func (v *validator) entries(t *Type, p unsafe.Pointer, depth int) *Invalid {
	if depth <= 0 {
		return &Invalid{Why: WhyDeep}
	}
	// Safety: p points to a t.Go, which is a map.
	m := reflect.NewAt(t.Go, p).Elem()
	if m.Len() > v.most {
		return &Invalid{Why: v.long}
	}
	if t.Elem.Kind < String && t.Key.Kind < String {
		return nil
	}
	at := span{m.UnsafePointer(), -1}
	if t.Nested() && v.known(at, depth) {
		return nil
	}
	k, x := reflect.New(t.Key.Go), reflect.New(t.Elem.Go)
	for it := m.MapRange(); it.Next(); {
		k.Elem().SetIterKey(it)
		x.Elem().SetIterValue(it)
		bad := v.value(t.Key, k.UnsafePointer(), depth-1)
		if bad == nil {
			bad = v.value(t.Elem, x.UnsafePointer(), depth-1)
		}
		if bad != nil {
			return bad.within("[" + briefKey(k.Elem()) + "]")
		}
	}
	if t.Nested() {
		v.right(at, depth)
	}
	return nil
}

// briefKey is a map's key for a path.
//
// It is cut to 40 characters: paths go into errors, and errors into logs.
func briefKey(k reflect.Value) string {
	if k.Kind() == reflect.String {
		return fmt.Sprintf("%.40q", k.String())
	}
	switch k.Kind() {
	case reflect.Array:
		return UUIDText([16]byte(k.Bytes()))
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64: // not an enum's String: that is the user's
		return strconv.FormatInt(k.Int(), 10)
	}
	return fmt.Sprint(k.Interface())
}
