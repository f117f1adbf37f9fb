package shape

import (
	"reflect"
	"sync/atomic"
	"unsafe"
)

// A Kind says how a Go value is laid out and what it means. It is what loops
// switch on. The order is part of it: what comes before String has a size of its own and
// refers to nothing, what comes before Bytes can be a map's key, and what comes from Ref on may
// have fields or elements.
type Kind uint8

// The kinds.
const (
	None Kind = iota // no type
	Bool
	Int8
	Int16
	Int32 // enums too
	Int64
	Uint32
	Uint64
	Float32
	Float64
	UUID // 16 bytes
	String
	Bytes
	Ref   // a pointer to a struct
	Union // a sealed interface
	List  // a slice
	Set   // a slice whose order means nothing
	Map
	Pairs   // a slice of keys and values, whose order means nothing
	Pointer // to one of Bool to String: a struct's field only
)

// A Presence says when a field is absent.
type Presence uint8

const (
	Always   Presence = iota // never: a plain value, or a container of which nil is an empty one
	Optional                 // when the pointer to its value is nil
	Nilable                  // when it is nil: a pointer to a struct, a union, a container
	Zero                     // when it is zero or empty: an IDL may not tell that from absent
)

// A Rule is what the IDL asks of a field. It is given with it, and no property of Go's types.
type Rule uint8

const (
	Default  Rule = iota // nothing
	Required             // that it is there
	Free                 // that it may be absent; a nil container is
)

// A Field is one field of a struct: 32 bytes, two to a cache line.
type Field struct {
	Tag      uint32 // tells it from the struct's other fields: what the codec's Rules have made of it
	Offset   uint32 // in the struct
	Kind     Kind
	Presence Presence
	Index    uint16 // in Struct.Fields and Struct.Names
	Rule     Rule
	Type     *Type
	Bit      uint64 // of a required field, else 0: one for each of the first 64
}

// A Name is what a field is called.
type Name struct {
	Go, IDL string
	ID      int
}

// A Struct describes a struct type. It is constant once its Memo has given it.
type Struct struct {
	Go     reflect.Type
	Title  string // what texts call it: the name of its Go type or, of a type that was made, of its own
	Size   int
	Fields []Field // in the order of the Go fields
	Names  []Name  // of the fields, by their Index
	Bits   uint64  // all bits of Fields
	Wide   bool    // there are more required fields than bits
	Slab   int     // how many are made at once where many are made
	Slices reflect.Type

	Of   *Struct // of a view: the struct that it shows; such a Struct has no fields
	View View    // and how

	unknown uintptr // one more than the offset of the field that keeps unknown ones; 0: there is none
	preset  uintptr // itab of *struct as a Defaulter; 0: no defaults
	cost    atomic.Int64

	ours  []stretch // where the fields are
	apart bool      // while it is compiled: the last field was none of the IDL's
	rules Rules
}

// A Type is the type of a field or an element.
type Type struct {
	Kind   Kind
	Maps   MapLayout
	Size   int // in Go
	Go     reflect.Type
	Elem   *Type // of lists and pointers; a map's value
	Key    *Type
	Struct *Struct   // of a Ref
	Cases  []Variant // of a Union
	Enum   *Enum     // of an Int32 that is an enum without a Go type of its own

	// Indexes of Cases where there are many of them, else nil.
	byTag  map[uint32]int
	byItab map[uintptr]int

	// Pairs: their element's type and where in it the value is.
	Pair    reflect.Type
	ValueAt uintptr
}

// A Variant is one case of a union: a struct of one field.
type Variant struct {
	Itab   uintptr // of the struct's pointer as the interface
	Struct *Struct
}

// A Face is the layout of an interface with methods.
type Face struct {
	Itab uintptr // itabs are never moved or freed
	Data unsafe.Pointer
}

// A Slice is the layout of every slice.
type Slice struct {
	Data     unsafe.Pointer
	Len, Cap int
}

// Absent tells whether the field at p is absent.
func (f *Field) Absent(p unsafe.Pointer) bool {
	switch f.Presence {
	case Always:
		return false
	case Zero:
		return f.Type.zero(p)
	}
	// Safety: what can be nil begins with a word that is nil exactly if it is: a pointer, a
	// map, a slice's memory, an itab. A union that holds a nil pointer is absent too.
	return *(*unsafe.Pointer)(p) == nil || f.Kind == Union && (*Face)(p).Data == nil
}

// zero tells whether the value at p is all zero or, if it can be longer, empty.
func (t *Type) zero(p unsafe.Pointer) bool {
	// Safety: p points to a t.Go, whose layout kind says; a map's number of entries does not
	// depend on its type.
	switch t.Kind {
	case Bool, Int8:
		return *(*uint8)(p) == 0
	case Int16:
		return *(*uint16)(p) == 0
	case Int32, Uint32, Float32:
		return *(*uint32)(p) == 0
	case Int64, Uint64, Float64:
		return *(*uint64)(p) == 0
	case UUID:
		return *(*[16]byte)(p) == [16]byte{}
	case String:
		return *(*string)(p) == ""
	case Bytes, List, Set, Pairs:
		return (*Slice)(p).Len == 0
	case Map:
		return len(*(*map[string]string)(p)) == 0
	}
	return *(*unsafe.Pointer)(p) == nil
}

// Fixed tells whether values of kind k have a size of their own and refer to nothing.
func (k Kind) Fixed() bool { return k < String }

// Float tells whether values of kind k are floating-point numbers.
func (k Kind) Float() bool { return k == Float64 || k == Float32 }

// Nested reports whether the elements of a list or a map may lead back to it.
func (t *Type) Nested() bool {
	return t.Elem.Kind >= Ref || t.Key != nil && t.Key.Kind >= Ref
}

// Structs tells whether t is a list or a set of structs.
func (t *Type) Structs() bool { return (t.Kind == List || t.Kind == Set) && t.Elem.Kind == Ref }

// Stride is the size of an element of a slice: of Pairs, key and value.
func (t *Type) Stride() int {
	if t.Kind == Pairs {
		return int(t.Pair.Size())
	}
	return t.Elem.Size
}

// manyCases is how many variants of a union are gone through one by one.
const manyCases = 8

// indexCases makes the variants of a union findable if they are many.
func (t *Type) indexCases() {
	if len(t.Cases) <= manyCases {
		return
	}
	t.byTag, t.byItab = map[uint32]int{}, map[uintptr]int{}
	for i, v := range t.Cases {
		t.byTag[v.Struct.Fields[0].Tag], t.byItab[v.Itab] = i, i
	}
}

// Variant finds the case of a union by its field's tag; nil: there is none.
func (t *Type) Variant(tag uint32) *Variant {
	if t.byTag != nil {
		if i, ok := t.byTag[tag]; ok {
			return &t.Cases[i]
		}
		return nil
	}
	for i := range t.Cases {
		if t.Cases[i].Struct.Fields[0].Tag == tag {
			return &t.Cases[i]
		}
	}
	return nil
}

// Holds finds the variant that a union holds, nil if that is none of it.
func (t *Type) Holds(f Face) *Variant {
	if t.byItab != nil {
		if i, ok := t.byItab[f.Itab]; ok {
			return &t.Cases[i]
		}
		return nil
	}
	for i := range t.Cases {
		if t.Cases[i].Itab == f.Itab {
			return &t.Cases[i]
		}
	}
	return nil
}

// IDL is what the IDL calls the field f.
func (s *Struct) IDL(f *Field) string { return s.Names[f.Index].IDL }

// HasKept tells whether the struct has a field that keeps what is unknown.
func (s *Struct) HasKept() bool { return s.unknown != 0 }

// Kept is the field of the struct at p that keeps what is unknown; there is one.
func (s *Struct) Kept(p unsafe.Pointer) *[]byte {
	// Safety: p points to an s.Go, and the offset is that of its field, a slice of bytes.
	return (*[]byte)(unsafe.Add(p, s.unknown-1))
}

// New makes a struct that is zero.
func (s *Struct) New() unsafe.Pointer { return reflect.New(s.Go).UnsafePointer() }

// A Defaulter is a generated struct whose fields have default values in the IDL.
// It is asked of new structs, before they are decoded into.
type Defaulter interface {
	// SetDefaults gives the fields that have one in the IDL their default value.
	SetDefaults()
}

// HasPreset tells whether the struct has default values.
func (s *Struct) HasPreset() bool { return s.preset != 0 }

// Preset sets the defaults of the fresh struct at p; it has some.
func (s *Struct) Preset(p unsafe.Pointer) {
	f := Face{s.preset, p}
	// Safety: p points to an s.Go, and preset is the itab of *s.Go for Defaulter.
	(*(*Defaulter)(unsafe.Pointer(&f))).SetDefaults()
}
