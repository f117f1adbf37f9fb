package gen

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// The Go type of a value. A struct is held by a pointer, a union by its interface;
// both are nil where they are absent, as containers are. Scalars have no such value, so
// that an optional one is held by a pointer: it may be absent, and zero if it is there.
//
//	IDL                  Go            optional
//	bool, i8 … i64       bool, int8 …  *bool, *int8 …
//	u32, u64, float      uint32, …     *uint32, …
//	double, string       float64, …    *float64, …
//	enum E               E             *E
//	binary               []byte        []byte
//	list<T>, map<K, V>   []T, map[K]V  the same
//	struct S             *S            *S
//	union U              U             U
//	typedef T            T, an alias   as what it stands for
//
// What only one IDL has (Thrift's uuid and set) is its backend's.

// isScalar tells the types that an optional field holds by a pointer, and that
// may be the key of a Go map.
func isScalar(t *idl.Type) bool {
	switch t.True().Kind {
	case idl.Bool, idl.I8, idl.I16, idl.I32, idl.I64, idl.Double, idl.String, idl.UUID, idl.EnumRef,
		idl.U32, idl.U64, idl.Float:
		return true
	}
	return false
}

// isContainer tells the types whose zero value is nil and whose empty value is not.
func isContainer(t *idl.Type) bool {
	switch t.True().Kind {
	case idl.List, idl.Set, idl.Map, idl.Binary:
		return true
	}
	return false
}

// isPointer tells the types that are structs, and no unions.
func isPointer(t *idl.Type) bool {
	s := t.True().Struct
	return s != nil && s.Kind != idl.Union
}

// scalarNames are the types that Go has.
var scalarNames = map[idl.Kind]string{
	idl.Bool: "bool", idl.I8: "int8", idl.I16: "int16", idl.I32: "int32", idl.I64: "int64",
	idl.Double: "float64", idl.String: "string", idl.Binary: "[]byte",
	idl.U32: "uint32", idl.U64: "uint64", idl.Float: "float32",
}

// typ gives the Go type of a value.
func (e *emitter) typ(t *idl.Type) string {
	name := e.bare(t)
	if isPointer(t) {
		return "*" + name
	}
	return name
}

// bare is typ without the star of structs: what is declared, made by new, or stands
// for a type parameter.
func (e *emitter) bare(t *idl.Type) string {
	if own := e.back.typ(e, t); own != "" {
		return own
	}
	switch t.Kind {
	case idl.List:
		return "[]" + e.typ(t.Elem)
	case idl.Map:
		return "map[" + e.typ(t.Key) + "]" + e.typ(t.Elem)
	case idl.EnumRef:
		return e.at(t.Enum.File, t.Enum, "")
	case idl.StructRef:
		return e.at(t.Struct.File, t.Struct, "")
	case idl.TypedefRef:
		return e.at(t.Typedef.File, t.Typedef, "")
	}
	return scalarNames[t.Kind]
}

// fieldType is typ, or a pointer where an optional field needs one.
func (e *emitter) fieldType(f *idl.Field) string {
	if byPointer(f) {
		return "*" + e.typ(f.Type)
	}
	return e.typ(f.Type)
}

// byPointer tells the fields whose Go field is a pointer for no other reason than
// that they may be absent.
func byPointer(f *idl.Field) bool { return f.Presence == idl.Optional && isScalar(f.Type) }

// tag is a struct field's tag: the codec's, the name in JSON, and what go.tag adds.
//
// The name in JSON is that of the IDL. What is absent is left out: of containers that
// may be absent that is nil (omitzero), since an empty one is there; for pointers and
// interfaces both words say the same, and omitempty is the one that all JSON libraries
// know.
func (e *emitter) tag(f *idl.Field) string {
	zero := f.Presence != idl.Optional && (f.Presence == idl.Required || e.back.traits().zeros)
	switch {
	case zero:
		return e.tagWith(f, "")
	case isContainer(f.Type) && f.Presence == idl.Optional:
		return e.tagWith(f, ",omitzero")
	}
	return e.tagWith(f, ",omitempty")
}

// tagWith is tag, with what follows the name in JSON.
func (e *emitter) tagWith(f *idl.Field, omit string) string {
	s := e.back.tag(f)
	extra, ok := f.Annotations.Find("go.tag")
	ok = ok && strconv.CanBackquote(extra)
	if _, own := reflect.StructTag(extra).Lookup("json"); !ok || !own {
		s += fmt.Sprintf(" json:%q", jsonTag(f)+omit)
	}
	if ok {
		s += " " + extra
	}
	return "`" + s + "`"
}

// jsonTag is a field's name in JSON: what the IDL says, if a struct's tag can say it, else
// its name.
func jsonTag(f *idl.Field) string {
	odd := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(",\"'`\\", r) }
	if f.JSONName == "" || f.JSONName == "-" || strings.ContainsFunc(f.JSONName, odd) {
		return f.Name
	}
	return f.JSONName
}

// zero is the zero value of a scalar.
func (e *emitter) zero(t *idl.Type) string {
	switch t.True().Kind {
	case idl.Bool:
		return "false"
	case idl.String:
		return `""`
	case idl.UUID:
		return e.bare(t) + "{}"
	}
	return "0"
}
