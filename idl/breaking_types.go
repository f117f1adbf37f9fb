package idl

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// alike says how near two types are to each other.
type alike uint8

const (
	same      alike = iota // for all purposes
	sameBytes              // on the wire, but not in code
	other
)

// types compares two types, typedefs followed; nil stands for void.
func (c *comparer) types(old, new *Type) alike {
	a, b := old.True(), new.True()
	switch {
	case a == nil || b == nil:
		if a == b {
			return same
		}
		return other
	case a.Kind != b.Kind:
		if isText(a.Kind) && isText(b.Kind) || isNumber(a.Kind) && isNumber(b.Kind) {
			return sameBytes
		}
		return other
	}
	k := [2]*Type{a, b}
	got, known := c.alike[k]
	if known {
		return got
	}
	switch a.Kind {
	case List, Set:
		got = c.types(a.Elem, b.Elem)
	case Map:
		got = max(c.types(a.Key, b.Key), c.types(a.Elem, b.Elem))
	case EnumRef:
		got = c.named(a.Enum, b.Enum)
	case StructRef:
		got = c.named(a.Struct, b.Struct)
	}
	c.alike[k] = got
	return got
}

func isText(k Kind) bool   { return k == String || k == Binary }
func isNumber(k Kind) bool { return k == I32 || k == EnumRef }

// named compares two references. A type that is gone, where one stands that is
// new, was renamed: it is that one from now on.
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

// enums compares the values.
func (c *comparer) enums(a, b *Enum, from, to *File) {
	byName, byNumber := map[string]*EnumValue{}, map[int32]*EnumValue{}
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
type digester struct {
	known map[digestKey]digest
}

type digestKey struct {
	t *Type
	v *Value
}

type digest [sha256.Size]byte

func newDigester() *digester { return &digester{map[digestKey]digest{}} }

// value gives the same for two values that mean the same as a t. A map's
// entries and a set's elements may come in any order.
func (d *digester) value(t *Type, v *Value) digest {
	if v == nil {
		return digest{}
	}
	t = t.True()
	for range maxChain + 1 {
		if v.Kind != NameValue || v.Const == nil {
			break
		}
		v = v.Const.Value
	}
	k := digestKey{t, v}
	if got, ok := d.known[k]; ok {
		return got
	}
	sum := d.sum(t, v)
	d.known[k] = sum
	return sum
}

func (d *digester) sum(t *Type, v *Value) digest {
	b := []byte{byte(t.Kind)} // a value that is there differs from an absent one
	switch t.Kind {
	case List, Set, Map, StructRef:
		var parts []digest
		for _, x := range v.List {
			parts = append(parts, d.value(t.Elem, x))
		}
		for _, e := range v.Map {
			parts = append(parts, d.entry(t, e))
		}
		if t.Kind != List {
			slices.SortFunc(parts, func(a, b digest) int { return bytes.Compare(a[:], b[:]) })
		}
		for _, p := range parts {
			b = append(b, p[:]...)
		}
	case Double:
		x := float64(v.Int)
		if v.Kind == DoubleValue {
			x, _ = strconv.ParseFloat(v.Text, 64) // fit has looked at it
		}
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(x))
	case UUID:
		id, _ := v.UUID()
		b = append(b, id[:]...)
	case String, Binary:
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

func (d *digester) entry(t *Type, e Entry) digest {
	var key, elem digest
	if t.Kind == Map {
		key, elem = d.value(t.Key, e.Key), d.value(t.Elem, e.Value)
	} else if t.Struct != nil {
		key = sha256.Sum256([]byte(e.Key.Text))
		for _, f := range t.Struct.Fields {
			if f.Name == e.Key.Text {
				elem = d.value(f.Type, e.Value)
			}
		}
	}
	return sha256.Sum256(append(key[:], elem[:]...))
}

// brief is a value for a line of text.
func brief(v *Value) string {
	switch {
	case v == nil:
		return "absent"
	case v.Kind == ListValue || v.Kind == MapValue:
		return fmt.Sprintf("a %s of %d", v.Kind, len(v.List)+len(v.Map))
	}
	const most = 60
	text := v.String()
	if len(text) > most {
		return fmt.Sprintf("%.*s…", most, text)
	}
	return text
}
