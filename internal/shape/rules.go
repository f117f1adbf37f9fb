package shape

import (
	"reflect"
	"unsafe"
)

// Rules are what an IDL and its wire add to Go's types. They are asked while
// types are compiled, which happens under the Memo's lock: no method may use the Memo.
type Rules interface {
	// New makes the description of the struct rt, all zero. It may be the first field
	// of what the codec notes besides.
	New(rt reflect.Type) *Struct
	// View tells whether rt is a view, by the struct that it shows and how it does so;
	// nil: it is a plain struct.
	View(rt reflect.Type) (of reflect.Type, view func(*Struct) View)
	// Field looks at a field of a struct. The error says what is wrong with it.
	Field(f reflect.StructField) (Spec, error)
	// Kind gives what a type is that is laid out as k: k itself, another kind of the same
	// layout (Set and Pairs are List to Go), or None if it cannot be in a message.
	Kind(rt reflect.Type, k Kind) Kind
	// Words are for errors.
	Words() Words
	// Tag makes what the codec finds a field by; it differs between the fields of a struct.
	Tag(id int, t *Type) uint32
	// Complete is called with new structs when all that they refer to is there. With an
	// error, a *TypeError, none of them becomes known.
	Complete(fresh []*Struct) error
	// Whole tells whether kept, what a struct has of unknown fields, can be sent, with
	// so many levels allowed for its values.
	Whole(kept []byte, depth int) bool
	// Most gives the depth that a message may have, the struct itself included, and the longest
	// string and the most elements that can be sent.
	Most() (depth, size int)
}

// Words are what errors call things.
type Words struct {
	IDL   string // what has no type for something, as in "has no Thrift type"
	Pairs string // the Go type to use for keys that Go's maps cannot have
	Kept  string // the type of fields that keep what is unknown
}

// A Spec says what a Go field is.
type Spec struct {
	Is   FieldIs
	ID   int
	Name string // in the IDL; "": that of the Go field
	Rule Rule
	Zero bool // a plain value that is zero is absent, and so is an empty container
}

// FieldIs tells the IDL's fields from others.
type FieldIs uint8

const (
	NoField   FieldIs = iota // none of the IDL's
	IDLField                 // one of them
	KeptField                // a slice of bytes for what is unknown
)

// A View is how walkers see a struct that has no fields and shows another one. All
// pointers are to such a view, unless they are said to be others.
type View interface {
	// Same compares two views without making their structs; known is false if that takes these.
	Same(p, q unsafe.Pointer) (same, known bool)
	// Plain makes the struct that the view at p shows, a Struct.Of; nil if it cannot.
	Plain(p unsafe.Pointer) unsafe.Pointer
	// Clone makes the zero view at q show what the one at p does, and share nothing with it.
	Clone(q, p unsafe.Pointer)
	// Validate says why the view at p cannot be sent; "": it can.
	Validate(p unsafe.Pointer) (why string)
	// Mask makes the view at p show its struct without what the mask unsets.
	Mask(p unsafe.Pointer, n *Node, keep bool)
	// Text shows the view at p; see Writer.
	Text(w *Writer, p unsafe.Pointer, depth int)
}

// A TypeError says why a Go type cannot be a message.
type TypeError struct {
	Type  reflect.Type
	Field string // the Go field, if one is at fault
	Why   string
}

// Error gives all three.
func (e *TypeError) Error() string {
	name := "nil"
	if e.Type != nil {
		name = e.Type.String()
	}
	if e.Field != "" {
		name += "." + e.Field
	}
	return name + ": " + e.Why
}
