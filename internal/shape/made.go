package shape

import (
	"reflect"
	"unsafe"
)

// A Struct can be made of a description that is known at run time only, without a Go type of its own that
// a Memo could compile. Its Go type is put together by reflection then. Reflection cannot make types that refer to
// each other; so an unsafe.Pointer stands where they would, which the collector and the codecs see no
// difference in, and an empty interface is what a union is.

// Begin describes rt, such a type, that has no fields yet. name is what texts call it.
func Begin(rules Rules, rt reflect.Type, name string) *Struct {
	s := rules.New(rt)
	s.Go, s.Size, s.Slices, s.rules, s.Title = rt, int(rt.Size()), reflect.SliceOf(rt), rules, name
	s.Slab = SlabOf(s.Size)
	return s
}

// Add adds a field, the next one of s.Go. t is nil for what keeps unknown fields.
func (s *Struct) Add(f reflect.StructField, spec Spec, t *Type) {
	s.addStretch(f, true)
	if spec.Is == KeptField {
		s.unknown = f.Offset + 1
		return
	}
	s.add(f, spec, s.rules.Tag(spec.ID, t), t)
}

// An Enum is an enum that has no Go type: it is an int32.
type Enum struct {
	Title   string
	Names   map[int32]string
	Numbers map[string]int32
}

// MadeType describes the type of a field of such a struct, or of an element: of is what an unsafe.Pointer in it
// points to, and e says what its int32s mean, if they are those of an enum.
func MadeType(rt reflect.Type, of *Struct, e *Enum) *Type {
	t := &Type{Go: rt, Size: int(rt.Size()), Kind: kindOf(rt)}
	switch rt.Kind() {
	case reflect.UnsafePointer:
		t.Kind, t.Struct = Ref, of
	case reflect.Pointer:
		t.Kind, t.Elem = Pointer, MadeType(rt.Elem(), of, e)
	case reflect.Map:
		t.Key, t.Elem = MadeType(rt.Key(), nil, nil), MadeType(rt.Elem(), of, e)
		t.Maps = mapLayout(t.Key, t.Elem)
	case reflect.Int32:
		t.Enum = e
	}
	if t.Kind == List {
		t.Elem = MadeType(rt.Elem(), of, e)
	}
	return t
}

// MadeUnion describes an empty interface that holds a pointer to one of these structs, which have their one
// field.
func MadeUnion(of []*Struct) *Type {
	t := &Type{Kind: Union, Go: reflect.TypeFor[any]()}
	t.Size = int(t.Go.Size())
	for _, s := range of {
		x := reflect.Zero(reflect.PointerTo(s.Go)).Interface()
		// Safety: the first word of an empty interface is its type, and types that reflection
		// has made are kept for ever. That x is another kind of interface than a sealed one
		// makes no difference to who compares first words.
		t.Cases = append(t.Cases, Variant{Itab: uintptr((*words)(unsafe.Pointer(&x)).typ), Struct: s})
	}
	t.indexCases()
	return t
}

// A Held is a message with the Struct that was made for it.
type Held struct {
	Struct *Struct
	At     unsafe.Pointer // a Struct.Go
}

// Hold makes a message that is zero.
func (s *Struct) Hold() Held { return Held{s, s.New()} }

// Clone gives a copy that shares no memory with it that can be written to.
func (h Held) Clone() Held { return Held{h.Struct, h.Struct.Clone(h.At)} }

// A Made is a message whose Struct was made. Any Memo with the same Rules takes it.
type Made interface {
	Made() Held // without a Struct if there is no message
}

// made gives what a Made is, which is not what its Go type says.
func (m *Memo) made(x Made) (*Struct, unsafe.Pointer, error) {
	h := x.Made()
	if h.Struct == nil || h.Struct.rules != m.Rules {
		return nil, nil, &TypeError{Type: reflect.TypeOf(x), Why: "is no message of " + m.Rules.Words().IDL}
	}
	return h.Struct, h.At, nil
}
