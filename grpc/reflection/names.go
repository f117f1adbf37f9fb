package reflection

import (
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// identifier is a name of Thrift, or a path, with what Protobuf's names have: letters,
// digits and underscores.
func identifier(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// unique takes a name that is not in names yet: this one, or with underscores behind it.
func unique(names map[string]bool, name string) string {
	for names[name] {
		name += "_"
	}
	names[name] = true
	return name
}

// entryName is how Protobuf names the message of a map's entries, after its field.
func entryName(field string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(field, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String() + "Entry"
}

// label is a type as a part of a message's name.
func label(t *idl.Type) string {
	t = t.True()
	switch {
	case t.Kind == idl.List, t.Kind == idl.Set:
		return "List_" + label(t.Elem)
	case t.Kind == idl.Map:
		return "Map_" + label(t.Key) + "_" + label(t.Elem)
	case t.Kind == idl.StructRef:
		return identifier(t.Struct.File.Name) + "_" + identifier(t.Struct.Name)
	case t.Kind == idl.EnumRef:
		return identifier(t.Enum.File.Name) + "_" + identifier(t.Enum.Name)
	}
	return t.Kind.String()
}

// exact is a type as no other one is written.
func exact(t *idl.Type) string {
	t = t.True()
	switch t.Kind {
	case idl.List, idl.Set:
		return "list<" + exact(t.Elem) + ">"
	case idl.Map:
		return "map<" + exact(t.Key) + "," + exact(t.Elem) + ">"
	case idl.StructRef:
		return t.Struct.File.Path + "\x00" + t.Struct.Name
	case idl.EnumRef:
		return t.Enum.File.Path + "\x00" + t.Enum.Name
	}
	return t.Kind.String()
}

const (
	reservedFirst = 19000 // of Protobuf's own implementation, up to reservedLast
	reservedLast  = 19999
)

// number is the number of a field that has an id of Thrift. None comes twice.
func number(id int32) int32 {
	switch {
	case id < 1:
		return 100_000 - id
	case id >= reservedFirst && id <= reservedLast:
		return 200_000 + id
	}
	return id
}
