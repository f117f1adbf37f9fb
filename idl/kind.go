package idl

import "fmt"

// A Kind is the kind of a Type.
type Kind uint8

// The kinds of types. A type that is named has one of the last three; the name
// leads on to the definition.
const (
	Invalid Kind = iota
	Bool
	I8
	I16
	I32
	I64
	Double
	String
	Binary
	UUID
	List
	Set
	Map
	EnumRef
	StructRef
	TypedefRef
	U32 // Protobuf has these, Thrift has not
	U64
	Float // of 32 bits
)

var kindNames = [...]string{
	"invalid", "bool", "i8", "i16", "i32", "i64", "double", "string", "binary", "uuid",
	"list", "set", "map", "enum", "struct", "typedef", "u32", "u64", "float",
}

// String gives Thrift's word for it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// MarshalText makes JSON show the word.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the word.
func (k *Kind) UnmarshalText(p []byte) error {
	for i, name := range kindNames {
		if name == string(p) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("idl: unknown kind %q", p)
}

// MaxChain is how many typedefs, constants or parents of a service may stand
// behind each other in a schema that a reader has accepted. So whatever walks
// along them may recurse, and may count on an end.
const MaxChain = 256

// A Type is what a field, an argument, a constant or a typedef is made of.
type Type struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name,omitempty"` // of a named type: in the file that defines it
	File string `json:"file,omitempty"` // of a named type: path of the file that defines it
	Key  *Type  `json:"key,omitempty"`  // of a map
	Elem *Type  `json:"elem,omitempty"` // of a list, a set; a map's value
	// Word is the IDL's own word, where it has several for one kind that differ on
	// the wire: Protobuf's scalars (int32, sint32 and sfixed32 are all I32), "enum", and
	// "group" for a message that is written as one.
	Word        string      `json:"word,omitempty"`
	CppType     string      `json:"cpp_type,omitempty"`
	Annotations Annotations `json:"annotations,omitempty"`
	Pos         Pos         `json:"pos"`

	// One of these is set for a named type.
	Enum    *Enum    `json:"-"`
	Struct  *Struct  `json:"-"`
	Typedef *Typedef `json:"-"`
}

// True follows typedefs to the type that they stand for.
func (t *Type) True() *Type {
	// Cycles are reported when a schema is loaded; the bound keeps code that
	// is given an unfinished one from hanging.
	for range MaxChain + 1 {
		if t == nil || t.Kind != TypedefRef || t.Typedef == nil {
			break
		}
		t = t.Typedef.Type
	}
	return t
}

// String gives the type as a file would write it, without annotations.
func (t *Type) String() string {
	switch {
	case t == nil:
		return "void"
	case t.Kind == List || t.Kind == Set:
		return t.Kind.String() + "<" + t.Elem.String() + ">"
	case t.Kind == Map:
		return "map<" + t.Key.String() + "," + t.Elem.String() + ">"
	case t.Name != "":
		return t.Name
	case t.Word != "":
		return t.Word
	}
	return t.Kind.String()
}
