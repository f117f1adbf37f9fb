package thrift

import (
	"fmt"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/limosa-rpc/limosa/rpc"
)

// An InvalidError says where a message is not one that can be sent. rpc.CodeOf
// of it is rpc.InvalidArgument.
type InvalidError struct {
	Path string // such as items[3].price, by the names of the IDL; "" for the message itself
	Why  string
}

// Error gives both.
func (e *InvalidError) Error() string {
	if e.Path == "" {
		return "thrift: the message " + e.Why
	}
	return "thrift: " + e.Path + " " + e.Why
}

// Unwrap gives the code.
func (e *InvalidError) Unwrap() error { return rpc.InvalidArgument }

// Validate finds the first reason why a message could not be encoded: a required
// field or an element that is nil, a union that holds no variant or something that is
// none, a variant without a value, nesting beyond 64, which is also how values end
// that refer to themselves, sizes of 2 GB and more, an Unknown that does not hold whole
// fields, a lazy view that holds nothing or a value that cannot be encoded. It is nil exactly if Binary{}.Append would succeed. The numbers of enums are
// not looked at: numbers without a name are what newer programs send.
//
// The error is an *InvalidError, or a *TypeError if m is no message.
func Validate(m any) error {
	pl, p, err := planOf(m)
	if err != nil {
		return err
	}
	v := validator{}
	if bad := v.fields(pl, p, defaultDepth); bad != nil {
		return bad
	}
	return nil
}

// A validator is the state of one check.
type validator struct {
	steps int
	fine  map[span]int // the depth at which something is right, once there is much
}

// known counts a step and reports whether what is at p was found right, with no
// more levels allowed than depth.
func (v *validator) known(at span, depth int) bool {
	if v.steps++; v.steps <= manySteps {
		return false
	}
	had, ok := v.fine[at]
	return ok && had <= depth
}

// right notes that what is at p is right.
func (v *validator) right(at span, depth int) {
	if v.steps <= manySteps {
		return
	}
	if v.fine == nil {
		v.fine = map[span]int{}
	}
	v.fine[at] = depth
}

const whyLong = "is longer than 2,147,483,647"

// fields checks the struct at p. depth is how many levels are allowed.
func (v *validator) fields(pl *plan, p unsafe.Pointer, depth int) *InvalidError {
	if depth <= 0 {
		return &InvalidError{Why: whyDeep}
	}
	if pl.of != nil {
		return v.view(pl.viewAt(p))
	}
	at := span{p, -1}
	if v.known(at, depth) {
		return nil
	}
	for i := range pl.ops {
		f := &pl.ops[i]
		// Safety: p points to a pl.rt, and offset is that of a field.
		q := unsafe.Add(p, f.offset)
		skip, why := f.absent(q)
		switch {
		case why != "":
			return &InvalidError{pl.said[f.name], why}
		case skip || f.kind < kString:
			continue
		}
		if bad := v.value(f.t, q, depth-1); bad != nil {
			return bad.within(pl.said[f.name])
		}
	}
	if pl.unknown != 0 && !pl.kept(p).whole(depth-1) {
		return &InvalidError{Why: "has a thrift.Unknown that does not hold whole fields, or too deep ones"}
	}
	v.right(at, depth)
	return nil
}

// within puts a field's name, or an index in brackets, before the path.
func (e *InvalidError) within(name string) *InvalidError {
	if e.Path != "" && e.Path[0] != '[' {
		name += "."
	}
	e.Path = name + e.Path
	return e
}

func (v *validator) value(t *typ, p unsafe.Pointer, depth int) *InvalidError {
	// Safety: for all loads below: p points to a t.rt, whose layout kind says.
	switch t.kind {
	case kString:
		if len(*(*string)(p)) > maxSize {
			return &InvalidError{Why: whyLong}
		}
	case kBytes:
		if len(*(*[]byte)(p)) > maxSize {
			return &InvalidError{Why: whyLong}
		}
	case kPointer:
		return v.value(t.elem, *(*unsafe.Pointer)(p), 0)
	case kStruct:
		q := *(*unsafe.Pointer)(p)
		if q == nil {
			return &InvalidError{Why: whyNil}
		}
		return v.fields(t.plan, q, depth)
	case kUnion:
		return v.union(t, *(*face)(p), depth)
	case kList, kPairs:
		return v.list(t, *(*slice)(p), depth)
	case kMap:
		return v.entries(t, p, depth)
	}
	return nil
}

func (v *validator) union(t *typ, f face, depth int) *InvalidError {
	if f.itab == 0 || f.data == nil {
		return &InvalidError{Why: whyNil}
	}
	c := t.holds(f)
	if c == nil {
		return &InvalidError{Why: "holds a type that is none of its variants"}
	}
	o := &c.plan.ops[0]
	// Safety: data points to the variant's struct, whose only field o is.
	if skip, _ := o.absent(unsafe.Add(f.data, o.offset)); skip {
		return &InvalidError{c.plan.said[0], whyNil}
	}
	return v.fields(c.plan, f.data, depth)
}

// list checks a list, a set or Pairs. Scalars need no look.
func (v *validator) list(t *typ, s slice, depth int) *InvalidError {
	if depth <= 0 {
		return &InvalidError{Why: whyDeep}
	}
	if s.len > maxSize {
		return &InvalidError{Why: whyLong}
	}
	if t.elem.kind < kString && (t.key == nil || t.key.kind < kString) {
		return nil
	}
	at := span{s.data, s.len}
	if t.nested() && v.known(at, depth) {
		return nil
	}
	for i := range s.len {
		// Safety: s has s.len elements of that size; a pair's key is its first
		// field, pairAt is where its value is, and 0 for other slices.
		p := unsafe.Add(s.data, i*t.stride())
		var bad *InvalidError
		if t.kind == kPairs {
			if bad = v.value(t.key, p, depth-1); bad != nil {
				return bad.within("key").within("[" + strconv.Itoa(i) + "]")
			}
		}
		if bad = v.value(t.elem, unsafe.Add(p, t.pairAt), depth-1); bad != nil {
			return bad.within("[" + strconv.Itoa(i) + "]")
		}
	}
	if t.nested() {
		v.right(at, depth)
	}
	return nil
}

func (v *validator) entries(t *typ, p unsafe.Pointer, depth int) *InvalidError {
	if depth <= 0 {
		return &InvalidError{Why: whyDeep}
	}
	// Safety: p points to a t.rt, which is a map.
	m := reflect.NewAt(t.rt, p).Elem()
	if m.Len() > maxSize {
		return &InvalidError{Why: whyLong}
	}
	if t.elem.kind < kString && t.key.kind < kString {
		return nil
	}
	at := span{m.UnsafePointer(), -1}
	if t.nested() && v.known(at, depth) {
		return nil
	}
	k, x := reflect.New(t.key.rt), reflect.New(t.elem.rt)
	for it := m.MapRange(); it.Next(); {
		k.Elem().SetIterKey(it)
		x.Elem().SetIterValue(it)
		bad := v.value(t.key, k.UnsafePointer(), depth-1)
		if bad == nil {
			bad = v.value(t.elem, x.UnsafePointer(), depth-1)
		}
		if bad != nil {
			return bad.within("[" + briefKey(k.Elem()) + "]")
		}
	}
	if t.nested() {
		v.right(at, depth)
	}
	return nil
}

// briefKey is a map's key for a path.
func briefKey(k reflect.Value) string {
	if k.Kind() == reflect.String {
		return fmt.Sprintf("%.40q", k.String())
	}
	if u, ok := reflect.TypeAssert[UUID](k); ok {
		return u.String()
	}
	switch k.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64: // not an enum's String: that is the user's
		return strconv.FormatInt(k.Int(), 10)
	}
	return fmt.Sprint(k.Interface())
}
