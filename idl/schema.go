// Package idl is the model of interface definitions: what a file of an IDL says,
// as plain data, whichever language it is written in.
//
//	.thrift ── idl/thriftidl ──┐                 ┌── gen            Go source
//	                           ├── idl.Schema ───┼── thrift/dynamic calls without code
//	.proto  ── idl/protoidl ───┘                 └── idl/breaking   what a change breaks
//
// A reader makes a [Schema]; everybody else knows the Schema alone. The model
// knows neither of them: no syntax, no Go names, no wire format. A reader hands a
// schema on only when all names in it are resolved, all values fit their types, and
// nothing in it leads back to itself where that would have no meaning (see
// [MaxChain]). What a reader needs on the way it keeps in tables of its own.
//
// A Schema marshals to stable JSON, which is what a plug-in of limosa-gen is
// given: what is reached through a pointer that JSON leaves out stands beside it
// by name and file.
//
// docs/how/idl.md tells more, and what a .proto file becomes.
package idl

// A Schema is a set of files with all that they include. It is not changed
// after Load has returned it and may then be read concurrently.
type Schema struct {
	// Files has every file once, an included one before those that include it.
	Files []*File `json:"files"`
	// Warnings are findings that do not keep the schema from being used.
	Warnings []*Error `json:"warnings,omitempty"`
}

// A Language is an interface definition language.
type Language string

// The languages that have a reader: Thrift has package idl/thriftidl, Protobuf
// idl/protoidl, which is given descriptors.
const (
	Thrift   Language = "thrift"
	Protobuf Language = "protobuf"
)

// A File is one file of definitions.
type File struct {
	Path       string       `json:"path"` // as it was given or found
	Language   Language     `json:"language"`
	Name       string       `json:"name"`             // the prefix under which includers see it: the base name without its ending
	Import     string       `json:"import,omitempty"` // the path by which all others include it, where there is one: Protobuf's
	Listed     bool         `json:"listed,omitempty"` // named in the call of Load, not only included
	Doc        string       `json:"doc,omitempty"`
	Package    string       `json:"package,omitempty"` // Protobuf's package; empty for Thrift
	Namespaces []Namespace  `json:"namespaces,omitempty"`
	Includes   []*Include   `json:"includes,omitempty"`
	CppInclude []string     `json:"cpp_includes,omitempty"`
	Consts     []*Const     `json:"consts,omitempty"`
	Typedefs   []*Typedef   `json:"typedefs,omitempty"`
	Enums      []*Enum      `json:"enums,omitempty"`
	Structs    []*Struct    `json:"structs,omitempty"`
	Services   []*Service   `json:"services,omitempty"`
	Extensions []*Extension `json:"extensions,omitempty"`
	Text       string       `json:"text"` // the file itself; empty where only its compiled form is known
	// Compiled is the file as its language's tools hand it on, nil if they have no
	// such form: of Protobuf a FileDescriptorProto without comments and places.
	Compiled []byte `json:"compiled,omitempty"`
}

// A Namespace is a package name for one target language, or for "*": all
// others.
type Namespace struct {
	Scope       string      `json:"scope"`
	Name        string      `json:"name"`
	Annotations Annotations `json:"annotations,omitempty"`
}

// Namespace gives the namespace for a language such as "go", else the one for
// "*", else "". Of several the last one counts, as in Apache's compiler.
func (f *File) Namespace(lang string) string {
	own, all, has := "", "", false
	for _, n := range f.Namespaces {
		switch n.Scope {
		case lang:
			own, has = n.Name, true
		case "*":
			all = n.Name
		}
	}
	if has {
		return own
	}
	return all
}

// An Include names another file.
type Include struct {
	Path string `json:"path"` // as written
	File *File  `json:"-"`    // what was found
	Pos  Pos    `json:"pos"`
}

// A Pos is a place in a file: line and column from 1, the column in bytes.
type Pos struct {
	Line int `json:"line"`
	Col  int `json:"col"`
}

// Annotations are the pairs in round brackets, in the order of the file. A key
// may repeat.
type Annotations []Annotation

// An Annotation without a value has the value "1", as in Apache's compiler.
type Annotation struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Pos   Pos    `json:"pos"`
}

// Find gives the last value of a key.
func (a Annotations) Find(key string) (value string, ok bool) {
	for _, x := range a {
		if x.Key == key {
			value, ok = x.Value, true
		}
	}
	return value, ok
}

// A Const is a named value.
type Const struct {
	Name  string `json:"name"`
	Type  *Type  `json:"type"`
	Value *Value `json:"value"`
	Doc   string `json:"doc,omitempty"`
	Pos   Pos    `json:"pos"`
	File  *File  `json:"-"`
}

// A Typedef is another name for a type.
type Typedef struct {
	Name        string      `json:"name"`
	Type        *Type       `json:"type"`
	Annotations Annotations `json:"annotations,omitempty"`
	Doc         string      `json:"doc,omitempty"`
	Pos         Pos         `json:"pos"`
	File        *File       `json:"-"`
}

// An Enum is a set of named 32-bit numbers. Several names may have one number.
type Enum struct {
	Name   string       `json:"name"`
	Values []*EnumValue `json:"values"`
	// Closed: a number without a name is no value, and is kept with what a reader does
	// not know. Thrift's enums are open, as most of Protobuf's.
	Closed      bool        `json:"closed,omitempty"`
	Annotations Annotations `json:"annotations,omitempty"`
	Doc         string      `json:"doc,omitempty"`
	Pos         Pos         `json:"pos"`
	File        *File       `json:"-"`
}

// An EnumValue is one name of an Enum. Numbers without a name are values too, in
// messages of newer programs; no constant can have one.
type EnumValue struct {
	Name        string      `json:"name"`
	Value       int32       `json:"value"`
	Annotations Annotations `json:"annotations,omitempty"`
	Doc         string      `json:"doc,omitempty"`
	Pos         Pos         `json:"pos"`
}

// StructKind tells the three kinds of composite types apart.
type StructKind string

// The kinds of composite types.
const (
	PlainStruct StructKind = "struct"
	Union       StructKind = "union"
	Exception   StructKind = "exception"
)

// A Struct is a struct, a union or an exception. Where definitions stand within each
// other its name has those of the outer ones in front: Order.Item.
type Struct struct {
	Name   string     `json:"name"`
	Kind   StructKind `json:"kind"`
	Fields []*Field   `json:"fields"`
	// Oneof: of a union, that its fields are fields of the one struct that has a field
	// of this type, with ids of that struct. The field itself has none then.
	Oneof bool `json:"oneof,omitempty"`
	// Extendable: other files may add fields to it, in ranges of ids that it names.
	Extendable  bool        `json:"extendable,omitempty"`
	XsdAll      bool        `json:"xsd_all,omitempty"`
	Annotations Annotations `json:"annotations,omitempty"`
	Doc         string      `json:"doc,omitempty"`
	Pos         Pos         `json:"pos"`
	File        *File       `json:"-"`
}

// Presence says whether a field may be absent, which is one notion for all IDLs:
// it decides what Go code sees, and what a codec has to check. Whether a zero
// value of an Implicit field is written is the codec's rule, not the schema's.
type Presence string

// The three presences.
const (
	// Implicit fields always have a value, and nobody can tell a zero from an
	// absent one: Thrift's fields without a word (always written, not missed when
	// reading), Protobuf's proto3 fields without a label (zeros are not written).
	Implicit Presence = "implicit"
	// Required fields have to be there: the word in Thrift, the label in proto2.
	Required Presence = "required"
	// Optional fields know whether they are there: the word in Thrift; the label in
	// Protobuf, its messages, and features.field_presence = EXPLICIT. All fields of a
	// union are Optional: one of them is set.
	Optional Presence = "optional"
)

// A Field is a member of a Struct, an argument, or a declared exception.
type Field struct {
	ID          int32       `json:"id"`
	AutoID      bool        `json:"auto_id,omitempty"` // no usable id was written: counted down from -1
	Name        string      `json:"name"`
	Type        *Type       `json:"type"`
	Presence    Presence    `json:"presence"`
	Reference   bool        `json:"reference,omitempty"` // written with &
	Default     *Value      `json:"default,omitempty"`
	JSONName    string      `json:"json_name,omitempty"` // in JSON, where the IDL has a say in it
	Packed      bool        `json:"packed,omitempty"`    // numbers of a list stand in one piece
	AnyBytes    bool        `json:"any_bytes,omitempty"` // of a string: it need not be UTF-8
	XsdOptional bool        `json:"xsd_optional,omitempty"`
	XsdNillable bool        `json:"xsd_nillable,omitempty"`
	XsdAttrs    []*Field    `json:"xsd_attrs,omitempty"`
	Annotations Annotations `json:"annotations,omitempty"`
	Doc         string      `json:"doc,omitempty"`
	Pos         Pos         `json:"pos"` // of its name
}

// An Extension is a field that a file adds to a struct of another one.
type Extension struct {
	Name   string `json:"name"`   // with the names of the structs that it stands within
	Struct *Type  `json:"struct"` // that it extends
	Field  *Field `json:"field"`
	Pos    Pos    `json:"pos"`
	File   *File  `json:"-"`
}

// A Service is a set of methods. A method that came from Extends is not
// repeated.
type Service struct {
	Name        string      `json:"name"`
	Extends     string      `json:"extends,omitempty"` // as written
	ExtendsPos  Pos         `json:"extends_pos,omitzero"`
	Parent      *Service    `json:"-"`
	ParentFile  string      `json:"extends_file,omitempty"` // path of the file that has it
	Methods     []*Method   `json:"methods"`
	Annotations Annotations `json:"annotations,omitempty"`
	Doc         string      `json:"doc,omitempty"`
	Pos         Pos         `json:"pos"`
	File        *File       `json:"-"`
}

// A Method is one call of a Service. With ClientStream the only argument, with
// ServerStream the result stands for any number of messages, whether the file
// says so by stream<T> or by Kitex's streaming.mode.
type Method struct {
	Name         string      `json:"name"`
	Oneway       bool        `json:"oneway,omitempty"`
	ClientStream bool        `json:"client_stream,omitempty"`
	ServerStream bool        `json:"server_stream,omitempty"`
	Result       *Type       `json:"result,omitempty"` // nil for void
	Args         []*Field    `json:"args"`
	Throws       []*Field    `json:"throws,omitempty"`
	Annotations  Annotations `json:"annotations,omitempty"`
	Doc          string      `json:"doc,omitempty"`
	Pos          Pos         `json:"pos"`
	StreamPos    Pos         `json:"stream_pos,omitzero"` // where it says that it streams
}
