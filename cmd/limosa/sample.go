package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// A sampler writes an example of a message as JSON: every field once, with
// default or an empty value, one element in each container, the first variant
// of a union. What comes back to a struct that is open is left out, and what would be
// more than anybody fills in: structs within structs multiply, and the IDL may be a
// server's that means it ill.
type sampler struct {
	b     strings.Builder
	depth int
	open  []*idl.Struct
}

// maxSample is about how long an example becomes, in bytes.
const maxSample = 64 << 10

// sampleRequest gives JSON that call takes for the method, over several lines;
// empty for a method without arguments. The only argument stands there without its name,
// unless it is a struct that has a field of that name: call would take that for the
// argument (target.byName).
func sampleRequest(svc *idl.Service, m *idl.Method) string {
	if len(m.Args) == 0 {
		return ""
	}
	var s sampler
	arg := m.Args[0].Type.True()
	switch {
	case len(m.Args) == 1 && (isProto(svc) || m.ClientStream || m.ServerStream || arg.Kind != idl.StructRef || !hasField(arg.Struct, m.Args[0].Name)):
		if def, simple := literal(arg, m.Args[0].Default); simple {
			return def
		}
		s.value(m.Args[0].Type)
	default:
		s.object(m.Args)
	}
	return s.b.String()
}

// line begins a new line, indented as deep as objects are open.
func (s *sampler) line() {
	s.b.WriteByte('\n')
	s.b.WriteString(strings.Repeat("  ", s.depth))
}

// object writes fields that end. One whose default is no single value is left
// out: the server sets it, and an empty value in its place would override it.
func (s *sampler) object(fields []*idl.Field) {
	s.b.WriteByte('{')
	s.depth++
	first := true
	for _, f := range fields {
		// Between fields, so that what was begun is whole: the text stays JSON.
		if s.b.Len() > maxSample {
			break
		}
		if f = s.held(f); f == nil {
			continue
		}
		def, simple := literal(f.Type.True(), f.Default)
		if s.endless(f.Type) || f.Default != nil && !simple {
			continue
		}
		if !first {
			s.b.WriteByte(',')
		}
		first = false
		s.line()
		s.text(sampleName(f))
		s.b.WriteString(": ")
		if simple {
			s.b.WriteString(def)
			continue
		}
		s.value(f.Type)
	}
	s.depth--
	if !first {
		s.line()
	}
	s.b.WriteByte('}')
}

// endless reports types that lead back to a struct that is open, or too deep.
func (s *sampler) endless(t *idl.Type) bool {
	t = t.True()
	return t.Kind == idl.StructRef && (slices.Contains(s.open, t.Struct) || len(s.open) > 8)
}

// value writes an example of a type: zero, or the least that is valid, so that
// what is not filled in does no harm.
func (s *sampler) value(t *idl.Type) {
	t = t.True()
	switch t.Kind {
	case idl.Bool:
		s.b.WriteString("false")
	case idl.I8, idl.I16, idl.I32, idl.I64, idl.Double, idl.U32, idl.U64, idl.Float:
		s.b.WriteString("0")
	case idl.UUID:
		s.text("00000000-0000-0000-0000-000000000000")
	case idl.EnumRef:
		if len(t.Enum.Values) == 0 {
			s.b.WriteString("0")
			return
		}
		// The first one: where there is a zero it is mostly that.
		s.text(t.Enum.Values[0].Name)
	case idl.List, idl.Set:
		s.b.WriteByte('[')
		if !s.endless(t.Elem) {
			s.value(t.Elem)
		}
		s.b.WriteByte(']')
	case idl.Map:
		s.pairs(t)
	case idl.StructRef:
		s.structure(t.Struct)
	default:
		s.text("")
	}
}

// pairs writes a map with one entry; with keys that cannot be names of an
// object as a list of pairs.
func (s *sampler) pairs(t *idl.Type) {
	key, none := t.Key.True(), s.endless(t.Key) || s.endless(t.Elem)
	listed := key.Kind == idl.StructRef || key.Kind == idl.List || key.Kind == idl.Set || key.Kind == idl.Map
	switch {
	case none && listed:
		s.b.WriteString("[]")
	case none:
		s.b.WriteString("{}")
	case listed:
		s.b.WriteString(`[{"key": `)
		s.value(t.Key)
		s.b.WriteString(`, "value": `)
		s.value(t.Elem)
		s.b.WriteString("}]")
	default:
		// A sampler of its own: keys are scalars, and are names in quotes whatever they are.
		k := sampler{}
		k.value(t.Key)
		name := k.b.String()
		if !strings.HasPrefix(name, `"`) {
			name = `"` + name + `"`
		}
		s.b.WriteString("{" + name + ": ")
		s.value(t.Elem)
		s.b.WriteByte('}')
	}
}

// structure writes a struct, or of a union the first variant that ends. A union
// all of whose variants lead back to it has no finite example.
func (s *sampler) structure(d *idl.Struct) {
	if text := knownType(d); text != "" {
		s.b.WriteString(text)
		return
	}
	s.open = append(s.open, d)
	defer func() { s.open = s.open[:len(s.open)-1] }()
	fields := d.Fields
	if d.Kind == idl.Union {
		i := slices.IndexFunc(fields, func(f *idl.Field) bool { return !s.endless(f.Type) })
		if i < 0 {
			s.b.WriteString("{}")
			return
		}
		fields = fields[i : i+1]
	}
	s.object(fields)
}

// text writes v as JSON writes strings.
func (s *sampler) text(v string) {
	text, _ := json.Marshal(v) // a string always can be
	s.b.Write(text)
}

// maxLiteral is how long a default is shown, in bytes of JSON: many fields may have one
// constant.
const maxLiteral = 1 << 10

// literal gives a default of one value as JSON, if it is not too long.
func literal(t *idl.Type, v *idl.Value) (text string, ok bool) {
	for range 64 { // constants that stand for one another
		if v == nil || v.Const == nil {
			break
		}
		v = v.Const.Value
	}
	switch {
	case v == nil || len(v.Text) > maxLiteral:
		return "", false
	case v.EnumValue != nil:
		return strconv.Quote(v.EnumValue.Name), true
	case v.Kind == idl.IntValue && t.Kind == idl.Bool:
		return strconv.FormatBool(v.Int != 0), true
	case v.Kind == idl.IntValue:
		return strconv.FormatInt(v.Int, 10), true
	case v.Kind == idl.DoubleValue && json.Valid([]byte(v.Text)):
		return v.Text, true
	case v.Kind == idl.StringValue && (t.Kind == idl.String || t.Kind == idl.UUID):
		quoted, err := json.Marshal(v.Text)
		return string(quoted), err == nil
	}
	return "", false
}
