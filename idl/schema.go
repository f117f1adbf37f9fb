// Package idl reads interface definitions and gives them as one schema: the
// language of Apache Thrift 0.25, with Kitex's streams.
//
// Package gen turns a Schema into Go; thrift/dynamic makes calls from one. The
// package knows nothing of either: no Go names, no wire format. A Schema is
// plain data and marshals to stable JSON, which is what a plug-in is given.
//
// Sources: compiler/cpp/src/thrift/thriftl.ll, thrifty.yy and parse/ of Apache
// Thrift 0.25. docs/how/idl.md tells where this reader is stricter or laxer.
package idl

// A Schema is a set of files with all that they include. It is not changed
// after Load has returned it and may then be read concurrently.
type Schema struct {
	// Files has every file once, an included one before those that include it.
	Files []*File `json:"files"`
	// Warnings are findings that do not keep the schema from being used.
	Warnings []*Error `json:"warnings,omitempty"`
}

// A File is one file of definitions.
type File struct {
	Path       string      `json:"path"`             // as it was given or found
	Name       string      `json:"name"`             // the prefix under which includers see it: the base name without its ending
	Listed     bool        `json:"listed,omitempty"` // named in the call of Load, not only included
	Doc        string      `json:"doc,omitempty"`
	Package    string      `json:"package,omitempty"` // Protobuf's package; empty for Thrift
	Namespaces []Namespace `json:"namespaces,omitempty"`
	Includes   []*Include  `json:"includes,omitempty"`
	CppInclude []string    `json:"cpp_includes,omitempty"`
	Consts     []*Const    `json:"consts,omitempty"`
	Typedefs   []*Typedef  `json:"typedefs,omitempty"`
	Enums      []*Enum     `json:"enums,omitempty"`
	Structs    []*Struct   `json:"structs,omitempty"`
	Services   []*Service  `json:"services,omitempty"`
	Text       string      `json:"text"` // the file itself

	scope *scope // names defined here; set while loading
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
	Name        string       `json:"name"`
	Values      []*EnumValue `json:"values"`
	Annotations Annotations  `json:"annotations,omitempty"`
	Doc         string       `json:"doc,omitempty"`
	Pos         Pos          `json:"pos"`
	File        *File        `json:"-"`

	byName   map[string]*EnumValue // set while loading, as byNumber is
	byNumber map[int32]*EnumValue  // of several names the first one
}

// An EnumValue is one name of an Enum.
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

// A Struct is a struct, a union or an exception.
type Struct struct {
	Name        string      `json:"name"`
	Kind        StructKind  `json:"kind"`
	Fields      []*Field    `json:"fields"`
	XsdAll      bool        `json:"xsd_all,omitempty"`
	Annotations Annotations `json:"annotations,omitempty"`
	Doc         string      `json:"doc,omitempty"`
	Pos         Pos         `json:"pos"`
	File        *File       `json:"-"`

	byName map[string]*Field // set when a value is first checked
}

// Requiredness says whether a field may be absent. Fields of a union are
// always Optional.
type Requiredness string

// The three kinds of fields. Default is Apache's "opt-in, req-out": always
// written, and not missed when reading.
const (
	Default  Requiredness = "default"
	Required Requiredness = "required"
	Optional Requiredness = "optional"
)

// A Field is a member of a Struct, an argument, or a declared exception.
type Field struct {
	ID           int32        `json:"id"`
	Implicit     bool         `json:"implicit_id,omitempty"` // no usable id was written: counted down from -1
	Name         string       `json:"name"`
	Type         *Type        `json:"type"`
	Requiredness Requiredness `json:"requiredness"`
	Reference    bool         `json:"reference,omitempty"` // written with &
	Default      *Value       `json:"default,omitempty"`
	XsdOptional  bool         `json:"xsd_optional,omitempty"`
	XsdNillable  bool         `json:"xsd_nillable,omitempty"`
	XsdAttrs     []*Field     `json:"xsd_attrs,omitempty"`
	Annotations  Annotations  `json:"annotations,omitempty"`
	Doc          string       `json:"doc,omitempty"`
	Pos          Pos          `json:"pos"` // of its name
}

// A Service is a set of methods. A method that came from Extends is not
// repeated.
type Service struct {
	Name        string      `json:"name"`
	Extends     string      `json:"extends,omitempty"` // as written
	Parent      *Service    `json:"-"`
	ParentFile  string      `json:"extends_file,omitempty"` // path of the file that has it
	Methods     []*Method   `json:"methods"`
	Annotations Annotations `json:"annotations,omitempty"`
	Doc         string      `json:"doc,omitempty"`
	Pos         Pos         `json:"pos"`
	File        *File       `json:"-"`

	extendsPos Pos
	byName     map[string]*Method // without those of parents; set while loading
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
