package gen

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// A value of the IDL as a Go expression. Names are followed to what they stand for,
// with two exceptions: a value of an enum keeps its name, and a constant that Go can
// only have as a function is called, so that what is made of many constants does
// not become larger than the IDL is.
//
//	const i32 MAX = 10                   const MAX int32 = 10
//	const list<i32> SOME = [1, MAX]      func SOME() []int32 { return []int32{1, 10} }
//	const list<list<i32>> ALL = [SOME]   func ALL() [][]int32 { return [][]int32{SOME()} }

// constant writes a Go constant, or where Go has none a function that makes a
// fresh value, so that nobody can change it for others.
func (e *emitter) constant(c *idl.Const) {
	e.doc(c.Doc, nil)
	if isConstant(c.Type) {
		e.p("const %s %s = %s\n", e.name(c, ""), e.typ(c.Type), e.value(c.Type, c.Value))
		return
	}
	if c.Doc == "" {
		e.p("// %s makes the constant's value.", e.name(c, ""))
	}
	e.p("func %s() %s {\nreturn %s\n}\n", e.name(c, ""), e.typ(c.Type), e.value(c.Type, c.Value))
}

// isConstant tells the types of which Go has constants.
func isConstant(t *idl.Type) bool { return isScalar(t) && t.True().Kind != idl.UUID }

// fieldValue is value, or a pointer to it where the field is one: new(5) takes its type
// from the expression where that has one, which a plain number has not.
func (e *emitter) fieldValue(f *idl.Field, v *idl.Value) string {
	s := e.value(f.Type, v)
	if !byPointer(f) {
		return s
	}
	switch f.Type.True().Kind {
	case idl.Bool, idl.String, idl.EnumRef, idl.UUID: // their type is seen in the expression
		return "new(" + s + ")"
	}
	return "new(" + e.typ(f.Type) + "(" + s + "))"
}

// value gives a Go expression for v as a t. The reader has seen to it that v fits.
func (e *emitter) value(t *idl.Type, v *idl.Value) string {
	base := t.True()
	if v.Const != nil && !isConstant(t) {
		// A call, not a copy: constants that are made of each other many times
		// stay as small as they were written.
		if sameValue(base, v.Const.Type.True()) {
			return e.at(v.Const.File, v.Const, "") + "()"
		}
	}
	v = last(v)
	switch base.Kind {
	case idl.Bool:
		return strconv.FormatBool(number(v) != 0)
	case idl.I8, idl.I16, idl.I32, idl.I64:
		return strconv.FormatInt(number(v), 10)
	case idl.U32, idl.U64:
		return strconv.FormatUint(uint64(number(v)), 10)
	case idl.Double, idl.Float:
		if s := e.notFinite(base, v); s != "" {
			return s
		}
		return double(v)
	case idl.String:
		return strconv.Quote(v.Text)
	case idl.Binary:
		return "[]byte(" + strconv.Quote(v.Text) + ")"
	case idl.UUID:
		return e.uuid(v)
	case idl.EnumRef:
		return e.at(v.Enum.File, v.EnumValue, "")
	case idl.List, idl.Set:
		return e.list(base, v)
	case idl.Map:
		return e.mapping(base, v)
	}
	return e.structValue(base, v)
}

// last follows a name to the value that it stands for. How many constants may stand
// behind each other is bounded by the reader (idl.MaxChain).
func last(v *idl.Value) *idl.Value {
	for v.Const != nil { // a loaded schema has no circle
		v = v.Const.Value
	}
	return v
}

// sameValue tells whether a constant of one type may be used as the other: a
// uuid or binary constant written as a string may not.
func sameValue(a, b *idl.Type) bool { return a.Kind == b.Kind }

// number is the value of a number, or of a name of an enum.
func number(v *idl.Value) int64 {
	if v.EnumValue != nil {
		return int64(v.EnumValue.Value)
	}
	return v.Int
}

// double is a Go constant for a double. What Go cannot write, which is too large for
// it, the reader has refused; -0.0 is 0, since Go's constants have one zero.
func double(v *idl.Value) string {
	if v.Kind != idl.DoubleValue {
		return strconv.FormatInt(number(v), 10)
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || math.IsInf(f, 0) { // the schema was checked
		return "0"
	}
	if f == 0 {
		return "0"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// notFinite is an expression for an infinity or for what is no number, which Go has no
// constants for; "" for any other value.
func (e *emitter) notFinite(t *idl.Type, v *idl.Value) string {
	var s string
	switch {
	case v.Kind != idl.DoubleValue:
	case v.Text == "inf":
		s = e.use("math") + ".Inf(1)"
	case v.Text == "-inf":
		s = e.use("math") + ".Inf(-1)"
	case v.Text == "nan":
		s = e.use("math") + ".NaN()"
	}
	if s != "" && t.Kind == idl.Float {
		return "float32(" + s + ")"
	}
	return s
}

// uuid writes the bytes: a function that parses would have to be called each time.
func (e *emitter) uuid(v *idl.Value) string {
	id, _ := v.UUID()
	parts := make([]string, len(id))
	for i, b := range id {
		parts[i] = fmt.Sprintf("%#02x", b)
	}
	return e.use("thrift") + ".UUID{" + strings.Join(parts, ", ") + "}"
}

// composite joins elements into a literal, one to a line if they are long: go/format
// breaks no lines.
func composite(typ string, elems []string) string {
	line := strings.Join(elems, ", ")
	if len(elems) == 0 || len(typ)+len(line) <= 90 && !strings.Contains(line, "\n") {
		return typ + "{" + line + "}"
	}
	return typ + "{\n" + strings.Join(elems, ",\n") + ",\n}"
}

// list writes a slice. What a set has twice it has once.
func (e *emitter) list(t *idl.Type, v *idl.Value) string {
	var elems []string
	seen := map[string]bool{}
	for _, x := range v.List {
		s := e.value(t.Elem, x)
		if t.Kind == idl.Set && seen[s] {
			continue
		}
		seen[s] = true
		elems = append(elems, s)
	}
	return composite(e.bare(t), elems)
}

// mapping writes a map, or its pairs where the key is none of a Go map. Of two keys
// that mean the same the last one counts: Go refuses a literal that has both.
func (e *emitter) mapping(t *idl.Type, v *idl.Value) string {
	var elems []string
	at := map[string]int{}
	scalar := isScalar(t.Key)
	for _, x := range v.Map {
		k, val := e.value(t.Key, x.Key), e.value(t.Elem, x.Value)
		s := k + ": " + val
		if !scalar {
			s = "{Key: " + k + ", Value: " + val + "}"
		}
		// Keys may be written differently and mean the same, such as 1 and 1.0.
		if t.Key.True().Kind == idl.EnumRef {
			k = strconv.FormatInt(number(last(x.Key)), 10)
		}
		if i, twice := at[k]; twice {
			elems[i] = s
			continue
		}
		at[k] = len(elems)
		elems = append(elems, s)
	}
	return composite(e.bare(t), elems)
}

// structValue writes a struct's value. One with defaults is made by its function, in
// which fields that the value does not name have theirs; of a union it is a variant.
func (e *emitter) structValue(t *idl.Type, v *idl.Value) string {
	s := t.Struct
	if s.Kind == idl.Union {
		for _, x := range v.Map {
			f := fieldNamed(s, x.Key.Text)
			variant := e.at(s.File, f, "variant")
			return composite("&"+variant, []string{e.name(f, "") + ": " + e.value(f.Type, x.Value)})
		}
		return "nil"
	}
	if e.g.presets(s) { // what the value does not name has its default
		var b strings.Builder
		fmt.Fprintf(&b, "func() *%s {\nx := %s()\n", e.bare(t), e.at(s.File, s, "new"))
		for _, x := range v.Map {
			f := fieldNamed(s, x.Key.Text)
			fmt.Fprintf(&b, "x.%s = %s\n", e.name(f, ""), e.fieldValue(f, x.Value))
		}
		return b.String() + "return x\n}()"
	}
	var elems []string
	for _, x := range v.Map {
		f := fieldNamed(s, x.Key.Text)
		elems = append(elems, e.name(f, "")+": "+e.fieldValue(f, x.Value))
	}
	return composite("&"+e.bare(t), elems)
}

// fieldNamed finds a field by its name in the IDL; a checked value names no others.
func fieldNamed(s *idl.Struct, name string) *idl.Field {
	for _, f := range s.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}
