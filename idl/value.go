package idl

import (
	"fmt"
	"strconv"
	"strings"
)

// A ValueKind is the kind of a Value, as it is written.
type ValueKind string

// The kinds of values. true and false are the integers 1 and 0.
const (
	IntValue    ValueKind = "int"
	DoubleValue ValueKind = "double"
	StringValue ValueKind = "string"
	NameValue   ValueKind = "name"
	ListValue   ValueKind = "list"
	MapValue    ValueKind = "map"
)

// A Value is a constant as it is written. What it means depends on the type
// that it is for; checkValue has made sure that it fits.
type Value struct {
	Kind ValueKind `json:"kind"`
	Int  int64     `json:"int,omitempty"`  // of a U64 its 64 bits
	Text string    `json:"text,omitempty"` // a string's bytes, a double's (also inf, -inf, nan) or a name's spelling
	List []*Value  `json:"list,omitempty"`
	Map  []Entry   `json:"map,omitempty"` // also a struct's fields by name
	Pos  Pos       `json:"pos"`

	// What a name stands for; EnumValue also for a number of an enum.
	Const     *Const     `json:"-"`
	EnumValue *EnumValue `json:"-"`
	Enum      *Enum      `json:"-"`
}

// An Entry is one pair of a map value.
type Entry struct {
	Key   *Value `json:"key"`
	Value *Value `json:"value"`
}

// UUID reads a uuid's text, with or without curly brackets.
func (v *Value) UUID() (id [16]byte, ok bool) {
	s := v.Text
	if v.Kind != StringValue {
		return id, false
	}
	if len(s) == 38 && s[0] == '{' && s[37] == '}' {
		s = s[1:37]
	}
	if len(s) != 36 {
		return id, false
	}
	n := 0
	for i := 0; i < 36; i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return id, false
			}
			continue
		}
		b, err := strconv.ParseUint(s[i:i+1], 16, 8)
		if err != nil {
			return id, false
		}
		id[n/2] |= byte(b) << (4 * (1 - n%2))
		n++
	}
	return id, true
}

// String gives the value roughly as a file would write it.
func (v *Value) String() string {
	switch v.Kind {
	case IntValue:
		return strconv.FormatInt(v.Int, 10)
	case StringValue:
		return strconv.Quote(v.Text)
	case ListValue:
		parts := make([]string, len(v.List))
		for i, x := range v.List {
			parts[i] = x.String()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case MapValue:
		parts := make([]string, len(v.Map))
		for i, e := range v.Map {
			parts[i] = fmt.Sprintf("%s: %s", e.Key, e.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return v.Text
}
