package gen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// How a message is encoded. AppendProto gets b, the block that is being filled, and gives it back
// with its fields behind it, in the order of their numbers:
//
//	if x == nil || depth <= 0 {                          the plan will say what is wrong
//		return e.Wrong(b)
//	}
//	v1 := x.Text                                         what is measured is what is written
//	n0 := 76 + len(v1)
//	if n0 > cap(b)-len(b) {
//		if b = e.Fresh(b, n0, depth); e.Halt {           the next block, or out of all messages
//			return b
//		}
//	}
//	if n0 > min(cap(b)-len(b), protoimpl.Whole) {
//		if b = e.Fields(b, x, depth, 0, 2); e.Halt {  still no room, or worth a reference: the plan
//			return b
//		}
//	} else {
//		w := protoimpl.End(b)                         a run: one look for all of its fields
//		if x.ID != 0 {
//			w = w.Number(8, uint64(x.ID))
//		}
//		if v1 != "" {
//			w = e.Text(w, 18, v1)
//		}
//		b = w.Upto(b)
//	}
//	if v := x.Inner; v != nil {                          one byte is left for its length
//		at := len(b) + 2
//		b = v.AppendProto(e, append(b, 26, 0), depth-1)
//		if n := len(b) - at; uint(n) < 0x80 {
//			b[at-1] = byte(n)
//		} else if b = e.Close(b, v, at, 1, depth); e.Halt {
//			return b
//		}
//	}
//
// No size is computed: the length is written when the message stands, which moves by a byte or two
// if it is longer than it was taken for. docs/how/protobuf.md tells the other half.

// protoSlack is how many bytes are free behind a run.
const protoSlack = 32

// A protoWay is how a field is encoded and decoded.
type protoWay int

const (
	protoRun      protoWay = iota // numbers, strings, bytes
	protoMessage                  // a pointer to a message
	protoMessages                 // a list of such pointers
	protoNumbers                  // packed numbers
	protoTexts                    // a list of strings that are UTF-8
	protoPlan                     // by the plan, which is as fast there
)

// A protoField is a field of a message, or a oneof.
type protoField struct {
	*idl.Field
	name   string // of the Go field
	t      *idl.Type
	number int32 // of a oneof that of its first member
	way    protoWay
}

// protoFields gives the fields of a message in the order of their numbers, which is that of the plan's
// ops: their indexes are what generated code tells the plan.
func protoFields(e *emitter, s *idl.Struct) []protoField {
	var list []protoField
	for _, f := range s.Fields {
		x := protoField{Field: f, name: e.name(f, ""), t: f.Type.True(), number: f.ID, way: protoPlan}
		if of := oneofOf(f); len(of) > 0 {
			x.number = of[0].ID
		} else {
			x.way = x.chooses()
		}
		list = append(list, x)
	}
	slices.SortStableFunc(list, func(a, b protoField) int { return cmp.Compare(a.number, b.number) })
	return list
}

// chooses gives the way of a field that is no oneof.
func (f protoField) chooses() protoWay {
	if f.number >= 1<<11 { // a tag of more than two bytes
		return protoPlan
	}
	switch {
	case isScalar(f.t) || f.t.Kind == idl.Binary:
		return protoRun
	case isPointer(f.t) && protoType(f.t) == "message":
		return protoMessage
	case f.t.Kind == idl.List:
		elem := f.t.Elem.True()
		switch {
		case isPointer(elem) && protoType(elem) == "message":
			return protoMessages
		case elem.Kind == idl.String && !f.AnyBytes:
			return protoTexts
		case f.Packed && protoForms[protoType(elem)] != "" && !closed(elem):
			return protoNumbers
		}
	}
	return protoPlan
}

func closed(t *idl.Type) bool { return t.Kind == idl.EnumRef && t.Enum.Closed }

// protoForms are the names in package protobuf/impl of how packed numbers are written.
var protoForms = map[string]string{
	"int32": "Int32", "enum": "Int32", "uint32": "Uint32", "sint32": "Sint32", "int64": "Int64", "uint64": "Int64", "sint64": "Sint64",
	"fixed32": "Fixed32", "sfixed32": "Fixed32", "float": "Fixed32", "fixed64": "Fixed64", "sfixed64": "Fixed64", "double": "Fixed64",
}

// wireType gives the wire type of a field.
func (f protoField) wireType() int32 {
	t := f.t
	if t.Kind == idl.List && !f.Packed {
		t = t.Elem.True()
	}
	switch protoType(t) {
	case "fixed64", "sfixed64", "double":
		if t.Kind != idl.List {
			return 1
		}
	case "fixed32", "sfixed32", "float":
		if t.Kind != idl.List {
			return 5
		}
	case "group":
		return 3
	}
	switch t.Kind {
	case idl.String, idl.Binary, idl.StructRef, idl.List, idl.Map:
		return 2
	}
	return 0
}

// tagBytes are the bytes of a field's tag, in the order of the wire.
func (f protoField) tagBytes() []byte {
	tag := uint32(f.number)<<3 | uint32(f.wireType())
	var b []byte
	for ; tag >= 0x80; tag >>= 7 {
		b = append(b, byte(tag)|0x80)
	}
	return append(b, byte(tag))
}

// fixed is how many bytes a number takes that takes always as many; 0: it is none.
func (f protoField) fixed() int {
	switch f.wireType() {
	case 1:
		return 8
	case 5:
		return 4
	}
	return 0
}

// head is the tag as arguments of append.
func (f protoField) head() string {
	var s []string
	for _, c := range f.tagBytes() {
		s = append(s, fmt.Sprint(c))
	}
	return strings.Join(s, ", ")
}

// low is the tag as a number whose lowest byte is the first on the wire, and its length.
func (f protoField) low() (tag, n int) {
	b := f.tagBytes()
	for i, c := range b {
		tag |= int(c) << (8 * i)
	}
	return tag, len(b)
}

// most is how many bytes a field of a run takes at the most, without the bytes of a string.
func (f protoField) most() int {
	n := len(f.tagBytes())
	switch w := protoType(f.t); {
	case w == "bool":
		return n + 1
	case f.wireType() == 5 || f.wireType() == 2 || w == "uint32" || w == "sint32":
		return n + 5
	case f.wireType() == 1:
		return n + 8
	}
	return n + 10
}

// methods writes the methods of a message that encode and decode it.
func (b *protoBackend) methods(e *emitter, s *idl.Struct) {
	name, t, list := e.name(s, ""), e.use("protoimpl"), protoFields(e, s)
	e.p("func (x *%s) EncodeProto(to %s.Output, b []byte, depth int) ([]byte, bool) {\nvar e %[2]s.Encoder", name, t)
	e.p("return e.End(x.AppendProto(e.Begin(to, b, depth)))\n}")
	e.p("func (x *%s) DecodeProto(in %s.Input, depth int) %[2]s.Result {\nvar d %[2]s.Decoder", name, t)
	e.p("return d.End(x, x.ReadProto(d.Begin(in, depth)))\n}")
	e.p("func (x *%s) AppendProto(e *%s.Encoder, b []byte, depth int) []byte {", name, t)
	e.p("if x == nil || depth <= 0 {\nreturn e.Wrong(b)\n}")
	encodeProto(e, list)
	e.p("if len(x.unknown) > 0 {\nreturn e.Unknown(b, x, depth)\n}\nreturn b\n}")
	e.p("func (x *%s) ReadProto(d *%s.Decoder, b []byte, o, depth int) bool {", name, t)
	decodeProto(e, s)
	e.p("}\n")
}

// encodeProto writes what encodes fields.
func encodeProto(e *emitter, list []protoField) {
	left := 0 // bytes that are known to be free
	for i := 0; i < len(list); {
		f, j := list[i], i+1
		for j < len(list) && list[j].way == f.way && (f.way == protoRun && j-i < maxRun || f.way == protoPlan) {
			j++
		}
		if f.way == protoMessage && left < protoSlack {
			e.p("if cap(b)-len(b) < protoimpl.Room {\nif b = e.Next(b, depth); e.Halt {\nreturn b\n}\n}")
		}
		left = 0
		switch f.way {
		case protoRun:
			encodeProtoRun(e, list, i, j)
			left = protoSlack
		case protoMessage:
			encodeProtoMessage(e, f)
		case protoMessages:
			encodeProtoMessages(e, f)
		case protoNumbers:
			encodeProtoNumbers(e, f, i)
		case protoTexts:
			tag, _ := f.low()
			e.p("if b = e.Texts(b, x, depth, %d, %d, x.%s); e.Halt {\nreturn b\n}", i, tag, f.name)
		case protoPlan:
			encodeProtoPlan(e, list, i, j)
		}
		i = j
	}
}

// encodeProtoNumbers writes what encodes packed numbers, the field with index i.
func encodeProtoNumbers(e *emitter, f protoField, i int) {
	tag, n := f.low()
	form, list := protoForms[protoType(f.t)], "x."+f.name
	if form == "Int64" && n == 1 {
		e.p("if v := %s; protoimpl.Few(b, v) {\nb = protoimpl.Int64s(b, %d, v)\n} else", list, tag)
		list = "v"
	}
	e.p("if b = protoimpl.Packed(e, b, x, depth, %d, %d, protoimpl.%s, %s); e.Halt {\nreturn b\n}", i, tag, form, list)
}

// encodeProtoPlan leaves fields to the plan, unless all of them are absent.
func encodeProtoPlan(e *emitter, list []protoField, i, j int) {
	var there []string
	for _, f := range list[i:j] {
		switch {
		case f.t.Kind == idl.List || f.t.Kind == idl.Map:
			there = append(there, fmt.Sprintf("len(x.%s) > 0", f.name))
		case f.t.Kind == idl.StructRef && f.Presence != idl.Required:
			there = append(there, fmt.Sprintf("x.%s != nil", f.name))
		default:
			there = nil
		}
		if there == nil {
			break
		}
	}
	fields := fmt.Sprintf("if b = e.Fields(b, x, depth, %d, %d); e.Halt {\nreturn b\n}", i, j)
	if len(there) == j-i {
		fields = "if " + strings.Join(there, " || ") + " {\n" + fields + "\n}"
	}
	e.p("%s", fields)
}

// encodeProtoMessage writes what encodes a message within.
func encodeProtoMessage(e *emitter, f protoField) {
	if f.Presence == idl.Required {
		e.p("if x.%s == nil {\nreturn e.Wrong(b)\n}", f.name)
	}
	n := len(f.tagBytes())
	e.p("if v := x.%s; v != nil {\nat := len(b) + %d\nb = v.AppendProto(e, append(b, %s, 0), depth-1)", f.name, n+1, f.head())
	e.p("if n := len(b) - at; uint(n) < 0x80 {\nb[at-1] = byte(n)\n} else if b = e.Close(b, v, at, 1, depth); e.Halt {\nreturn b\n}\n}")
}

// encodeProtoMessages writes what encodes a list of messages: the length of one is likely to take as many bytes
// as that of the one before.
func encodeProtoMessages(e *emitter, f protoField) {
	n := len(f.tagBytes())
	wide := "wide" + f.name
	e.p("%s := 1", wide)
	e.p("for _, v := range x.%s {", f.name)
	e.p("if cap(b)-len(b) < protoimpl.Room || %s > 1 {\nif b = e.Between(b, depth); e.Halt {\nreturn b\n}\n}", wide)
	e.p("at := len(b) + %d + %s", n, wide)
	e.p("b = v.AppendProto(e, append(b, %s)[:at], depth-1)", f.head())
	e.p("if n := len(b) - at; uint(n) < 0x80 && %s == 1 {\nb[at-1] = byte(n)\n} else {", wide)
	e.p("if b = e.Close(b, v, at, %s, depth); e.Halt {\nreturn b\n}\n%[1]s = e.Wide\n}\n}", wide)
}

// encodeProtoRun writes what encodes the fields from i up to and without j, with one look at the room for
// all of them. Strings and bytes are held in variables: what is written is what was measured, even if somebody
// changes the message meanwhile.
func encodeProtoRun(e *emitter, list []protoField, i, j int) {
	size := protoSlack
	var texts, more []string
	for k, f := range list[i:j] {
		size += f.most()
		switch {
		case f.wireType() != 2:
		case byPointer(f.Field):
			more = append(more, fmt.Sprintf("var v%d string\nif x.%s != nil {\nv%[1]d = *x.%[2]s\nn%[3]d += len(v%[1]d)\n}", i+k, f.name, i))
		default:
			e.p("v%d := x.%s", i+k, f.name)
			texts = append(texts, fmt.Sprintf(" + len(v%d)", i+k))
		}
	}
	e.p("n%d := %d%s", i, size, strings.Join(texts, ""))
	for _, line := range more {
		e.p("%s", line)
	}
	e.p("if n%d > cap(b)-len(b) {\nif b = e.Fresh(b, n%[1]d, depth); e.Halt {\nreturn b\n}\n}", i)
	e.p("if n%d > min(cap(b)-len(b), protoimpl.Whole) {", i)
	e.p("if b = e.Fields(b, x, depth, %d, %d); e.Halt {\nreturn b\n}\n} else {\nw := protoimpl.End(b)", i, j)
	for k, f := range list[i:j] {
		encodeProtoValue(e, f, i+k)
	}
	e.p("b = w.Upto(b)\n}")
}

// encodeProtoValue writes what encodes a field of a run, the one with index i.
func encodeProtoValue(e *emitter, f protoField, i int) {
	v := "x." + f.name
	there := ""
	if f.wireType() == 2 && !byPointer(f.Field) {
		v = fmt.Sprintf("v%d", i)
	}
	switch {
	case byPointer(f.Field):
		there, v = v+" != nil", "*"+v
		if f.wireType() == 2 {
			v = fmt.Sprintf("v%d", i)
		}
	case f.t.Kind == idl.Binary && f.Presence == idl.Optional:
		there = v + " != nil"
	case f.t.Kind == idl.Binary && f.Presence == idl.Required:
		e.p("if %s == nil {\nreturn e.Wrong(b)\n}", v)
	case f.Presence == idl.Required:
	case f.t.Kind == idl.Binary:
		there = "len(" + v + ") > 0"
	case f.t.Kind == idl.String:
		there = v + ` != ""`
	case f.t.Kind == idl.Bool:
		there = v
	case f.t.Kind == idl.Double || f.t.Kind == idl.Float:
		e.use("math")
		there = fmt.Sprintf("math.Float%dbits(%s) != 0", map[idl.Kind]int{idl.Float: 32, idl.Double: 64}[f.t.Kind], v)
	default:
		there = v + " != 0"
	}
	line := "w = " + protoWrite(e, f, v)
	if there != "" {
		line = "if " + there + " {\n" + line + "\n}"
	}
	e.p("%s", line)
}

// protoWrite is the expression for pen w behind tag and value v.
func protoWrite(e *emitter, f protoField, v string) string {
	b := f.tagBytes()
	pen := "w"
	for _, c := range b[:len(b)-1] {
		pen += fmt.Sprintf(".Byte(%d)", c)
	}
	tag := b[len(b)-1]
	as := func(method, format string, args ...any) string {
		return fmt.Sprintf("%s.%s(%d, %s)", pen, method, tag, fmt.Sprintf(format, args...))
	}
	switch w := protoType(f.t); {
	case w == "string" && !f.AnyBytes:
		return fmt.Sprintf("e.Text(%s, %d, %s)", pen, tag, v)
	case w == "string":
		return as("AnyText", "%s", v)
	case w == "bytes":
		return as("Bytes", "%s", v)
	case w == "bool" && f.Presence == idl.Implicit:
		return as("Bool", "1")
	case w == "bool":
		return as("Bool", "protoimpl.Bool(%s)", v)
	case w == "float" || w == "double":
		bits := 8 * f.fixed()
		return as(fmt.Sprintf("Fixed%d", bits), "%s.Float%dbits(%s)", e.use("math"), bits, v)
	case f.fixed() != 0:
		bits := 8 * f.fixed()
		return as(fmt.Sprintf("Fixed%d", bits), "uint%d(%s)", bits, v)
	case w == "sint32" || w == "sint64":
		return as("Number", "protoimpl.Zigzag(int64(%s))", v)
	default:
		return as("Number", "uint64(%s)", v)
	}
}
