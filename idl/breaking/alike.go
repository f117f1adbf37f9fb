package breaking

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/limosa-rpc/limosa/idl"
)

// alike says how near two types are to each other.
type alike uint8

const (
	same alike = iota // for all purposes
	// sameBytes: on the wire, but not in code. string and binary are bytes with a
	// length, i32 and an enum four bytes; in containers too. Old programs read new
	// messages as before, but what is generated has another type.
	// In Protobuf those are the types of which its documentation says that they are
	// compatible: a number may lose its upper half then.
	sameBytes
	// other: neither. Widening is no exception in Thrift: an i32 is not read as an i64,
	// since the kind of the type stands in front of the value.
	other
)

// types compares two types, typedefs followed; nil stands for void. Elements are
// compared too: a list of strings and a list of binary have the same bytes. The depth
// is what a reader has let through.
func (c *comparer) types(old, new *idl.Type) alike {
	a, b := old.True(), new.True()
	switch {
	case a == nil || b == nil:
		if a == b {
			return same
		}
		return other
	case a.Kind != b.Kind || a.Word != b.Word:
		if form := formOf(a); form != "" && form == formOf(b) {
			return sameBytes
		}
		return other
	}
	k := [2]*idl.Type{a, b}
	got, known := c.alike[k]
	if known {
		return got
	}
	switch a.Kind {
	case idl.List, idl.Set:
		got = c.types(a.Elem, b.Elem)
	case idl.Map:
		got = max(c.types(a.Key, b.Key), c.types(a.Elem, b.Elem))
	case idl.EnumRef:
		got = c.named(a.Enum, b.Enum)
	case idl.StructRef:
		got = c.named(a.Struct, b.Struct)
	}
	c.alike[k] = got
	return got
}

// formOf tells the types that have the same bytes as each other; "" if a type has those of
// no other one.
func formOf(t *idl.Type) string {
	switch t.Word {
	case "":
		switch t.Kind {
		case idl.String, idl.Binary:
			return "text"
		case idl.I32, idl.EnumRef:
			return "number"
		}
	case "string", "bytes":
		return "text"
	case "int32", "int64", "uint32", "uint64", "bool", "enum":
		return "varint"
	case "sint32", "sint64":
		return "zigzag"
	case "fixed32", "sfixed32":
		return "4 bytes"
	case "fixed64", "sfixed64":
		return "8 bytes"
	}
	return ""
}

// named compares two references. A type that is gone, where one stands that is
// new, was renamed: it is that one from now on. So a struct that only has another
// name harms those who name it in code, and not the wire; what else changed in it is
// found when the two are compared.
func (c *comparer) named(old, new any) alike {
	if c.now[old] == new {
		return same
	}
	a, b := c.old.defs[old], c.new.defs[new]
	if a == nil || b == nil || c.now[old] != nil || c.was[new] != nil {
		return other
	}
	c.tie(a, b)
	c.renamed = append(c.renamed, a)
	return same
}

// enums compares the values: by name, and those whose name is gone by number. Of
// several names for a number the first one is what the number is called.
func (c *comparer) enums(a, b *idl.Enum, from, to *idl.File) {
	if a.Closed != b.Closed {
		word := map[bool]string{true: "closed", false: "open"}
		c.add("enum-openness-changed", place{to, b.Pos, false}, "enum %s was %s and is %s", b.Name, word[a.Closed], word[b.Closed])
	}
	byName, byNumber := map[string]*idl.EnumValue{}, map[int32]*idl.EnumValue{}
	for _, v := range b.Values {
		byName[v.Name] = v
		if byNumber[v.Value] == nil {
			byNumber[v.Value] = v
		}
	}
	for _, v := range a.Values {
		n, m := byName[v.Name], byNumber[v.Value]
		switch {
		case n != nil && n.Value != v.Value:
			c.add("enum-value-changed", place{to, n.Pos, false}, "%s of enum %s was %d and is %d", v.Name, a.Name, v.Value, n.Value)
		case n != nil:
		case m != nil:
			c.add("enum-value-renamed", place{to, m.Pos, false}, "%s = %d of enum %s is %s now", v.Name, v.Value, a.Name, m.Name)
		default:
			c.add("enum-value-removed", place{from, v.Pos, true}, "%s = %d of enum %s is gone", v.Name, v.Value, a.Name)
		}
	}
}

// A digester sums values up, so that two can be compared in time linear in the
// text they were written with: a constant that names another one twice, which
// names a third one twice, and so on, would take for ever otherwise.
//
//	const list<i32>       C0 = [1]
//	const list<list<i32>> C1 = [C0, C0]
//	…
//
// C40 is a value of 2 to the 40th elements, in forty lines.
type digester struct {
	known  map[digestKey]digest
	fields map[*idl.Struct]map[string]*idl.Field // by name
	types  map[*idl.Type]int
	kinds  map[typeKey]int
}

// A digestKey is a value as a value of a type: the same text may stand for several.
type digestKey struct {
	t int // see digester.typ
	v *idl.Value
}

// A typeKey is what the digest of a value takes from its type.
type typeKey struct {
	kind      idl.Kind
	of        *idl.Struct
	key, elem int
}

// A digest stands for a value. Two values with one digest are the same, for all that
// a hostile file can do.
type digest [sha256.Size]byte

// newDigester makes digests of one version of a schema, each once.
func newDigester() *digester {

	return &digester{map[digestKey]digest{}, map[*idl.Struct]map[string]*idl.Field{}, map[*idl.Type]int{}, map[typeKey]int{}}

}

// value gives the same for two values that mean the same as a t. A map's
// entries and a set's elements may come in any order. Constants are followed to
// what they stand for, in which no circle is: a reader has seen to it.
func (d *digester) value(t *idl.Type, v *idl.Value) digest {
	if v == nil {
		return digest{}
	}
	t = t.True()
	for range idl.MaxChain + 1 {
		if v.Kind != idl.NameValue || v.Const == nil {
			break
		}
		v = v.Const.Value
	}
	k := digestKey{d.typ(t), v}
	if got, ok := d.known[k]; ok {
		return got
	}
	sum := d.sum(t, v)
	d.known[k] = sum
	return sum
}

// sum makes the digest of a value that is no name: its kind, then what it is made of.
// What has no order is sorted.
func (d *digester) sum(t *idl.Type, v *idl.Value) digest {
	b := []byte{byte(t.Kind)} // a value that is there differs from an absent one
	switch t.Kind {
	case idl.List, idl.Set, idl.Map, idl.StructRef:
		var parts []digest
		for _, x := range v.List {
			parts = append(parts, d.value(t.Elem, x))
		}
		for _, e := range v.Map {
			parts = append(parts, d.entry(t, e))
		}
		if t.Kind != idl.List {
			slices.SortFunc(parts, func(a, b digest) int { return bytes.Compare(a[:], b[:]) })
		}
		for _, p := range parts {
			b = append(b, p[:]...)
		}
	case idl.Double:
		x := float64(v.Int)
		if v.Kind == idl.DoubleValue {
			x, _ = strconv.ParseFloat(v.Text, 64) // fit has looked at it
		}
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(x))
	case idl.UUID:
		id, _ := v.UUID()
		b = append(b, id[:]...)
	case idl.String, idl.Binary:
		b = append(b, v.Text...)
	default:
		n := v.Int
		if v.EnumValue != nil {
			n = int64(v.EnumValue.Value)
		}
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return sha256.Sum256(b)
}

// entry makes the digest of a map's entry, or of a field of a struct's value.
func (d *digester) entry(t *idl.Type, e idl.Entry) digest {
	var key, elem digest
	if t.Kind == idl.Map {
		key, elem = d.value(t.Key, e.Key), d.value(t.Elem, e.Value)
	} else if t.Struct != nil {
		key = sha256.Sum256([]byte(e.Key.Text))
		if f := d.field(t.Struct, e.Key.Text); f != nil {
			elem = d.value(f.Type, e.Value)
		}
	}
	return sha256.Sum256(append(key[:], elem[:]...))
}

// typ numbers types, so that fields whose types are written alike share the digest of a
// constant that all of them have as their default; 0 stands for none.
func (d *digester) typ(t *idl.Type) int {
	if t = t.True(); t == nil {
		return 0
	}
	if n := d.types[t]; n != 0 {
		return n
	}
	k := typeKey{t.Kind, t.Struct, d.typ(t.Key), d.typ(t.Elem)}
	n := d.kinds[k]
	if n == 0 {
		n = len(d.kinds) + 1
		d.kinds[k] = n
	}
	d.types[t] = n
	return n
}

// field finds a field of a struct by its name.
func (d *digester) field(s *idl.Struct, name string) *idl.Field {
	byName := d.fields[s]
	if byName == nil {
		byName = make(map[string]*idl.Field, len(s.Fields))
		for _, f := range s.Fields {
			byName[f.Name] = f
		}
		d.fields[s] = byName
	}
	return byName[name]
}

// brief is a value for a line of text: containers by their size, long texts cut off.
func brief(v *idl.Value) string {
	switch {
	case v == nil:
		return "absent"
	case v.Kind == idl.ListValue || v.Kind == idl.MapValue:
		return fmt.Sprintf("a %s of %d", v.Kind, len(v.List)+len(v.Map))
	}
	const most = 60
	text := v.String()
	if len(text) > most {
		return fmt.Sprintf("%.*s…", most, text)
	}
	return text
}
