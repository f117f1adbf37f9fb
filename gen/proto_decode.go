package gen

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/limosa-rpc/limosa/idl"
)

// How a message is decoded. ReadProto gets the message up to its own end, and reads from b[o:]. It looks for
// the fields in the order of their numbers, which is how all writers write them; any may be absent:
//
//	if depth <= 0 {                                    the plan says what is wrong
//		return d.Plan(x, b, o, depth)
//	}
//	if protoimpl.Is(b, o, 8) {
//		v, end := uint64(b[o+1]), o+2
//		if v >= 0x80 {
//			if v, end = protoimpl.Number(b, o+1); end < 0 {
//				return d.Plan(x, b, o, depth)
//			}
//		}
//		x.ID, o = int64(v), end
//	}
//	…
//	return o == len(b) || d.Plan(x, b, o, depth)       something else comes
//
// d.Plan decodes the rest of the message by the run-time plan: other orders, fields that come
// again, unknown ones, and whatever is wrong. So each error stands once, in the plan.

// decodeProto writes the body of ReadProto. Which required fields came is noted by the plan, which reads
// messages that have some as a whole.
func decodeProto(e *emitter, s *idl.Struct) {
	if slices.ContainsFunc(s.Fields, func(f *idl.Field) bool { return f.Presence == idl.Required }) {
		e.p("return d.Plan(x, b, o, depth)")
		return
	}
	e.p("if depth <= 0 {\nreturn d.Plan(x, b, o, depth)\n}")
	for i, f := range protoMembers(e, s) {
		if f.number < 1<<11 {
			decodeProtoField(e, f, i)
		}
	}
	e.p("return o == len(b) || d.Plan(x, b, o, depth)")
}

// protoMembers gives the fields of a message, those of oneofs among them, in the order of their numbers,
// which is that of the plan's fields.
func protoMembers(e *emitter, s *idl.Struct) []protoField {
	var list []protoField
	for _, f := range s.Fields {
		of := oneofOf(f)
		for _, m := range of {
			list = append(list, protoField{Field: m, t: m.Type.True(), number: m.ID, way: protoPlan})
		}
		if len(of) == 0 {
			x := protoField{Field: f, name: e.name(f, ""), t: f.Type.True(), number: f.ID}
			x.way = x.chooses()
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b protoField) int { return cmp.Compare(a.number, b.number) })
	return list
}

// decodeProtoField writes what decodes the field with index i, if it comes next.
func decodeProtoField(e *emitter, f protoField, i int) {
	tag, n := f.low()
	is := "Is"
	if n == 2 {
		is = "Is2"
	}
	const plan = "return d.Plan(x, b, o, depth)"
	e.p("if protoimpl.%s(b, o, %d) {", is, tag)
	switch f.way {
	case protoRun:
		decodeProtoValue(e, f, i, n)
	case protoMessage:
		e.p("at, end := protoimpl.Length(b, o+%d)\nif end < 0 {\n%s\n}", n, plan)
		e.p("v := protoimpl.New[%s](d)\nif v == nil {\n%s\n}\nx.%s = v", e.bare(f.t), plan, f.name)
		e.p("if !v.ReadProto(d, b[:end], at, depth-1) {\nreturn d.In(x, %d)\n}\no = end", i)
	case protoMessages:
		e.p("list, more := protoimpl.List(d, x.%s, b, o+%d, %d, %d)\nif more < 0 {\n%s\n}", f.name, n, tag, n, plan)
		e.p("var slab protoimpl.Slab[%s]\nfor ; more > 0; more-- {\no += %d", e.bare(f.t.Elem.True()), n)
		e.p("v := slab.Next(d, more)\nif v == nil {\nreturn d.Costly(x, o, %d)\n}", i)
		e.p("at, end := protoimpl.Length(b, o)\nif end < 0 {\nreturn d.Cut(x, b, o, %d)\n}", i)
		e.p("if !v.ReadProto(d, b[:end], at, depth-1) {\nreturn d.In(x, %d)\n}\nlist, o = append(list, v), end\n}\nx.%s = list", i, f.name)
	case protoNumbers:
		e.p("end := protoimpl.Numbers(d, &x.%s, b, o+%d, protoimpl.%s)\nif end < 0 {\n%s\n}\no = end", f.name, n, protoForms[protoType(f.t)], plan)
	default:
		e.p("if o = d.Field(x, b, o, %d, depth, %d); o < 0 {\nreturn false\n}", n, i)
	}
	e.p("}")
}

// decodeProtoValue writes what decodes a number, a string or bytes.
func decodeProtoValue(e *emitter, f protoField, i, n int) {
	const plan = "return d.Plan(x, b, o, depth)"
	if closed(f.t) {
		e.p("if o = d.Field(x, b, o, %d, depth, %d); o < 0 {\nreturn false\n}", n, i)
		return
	}
	place := "x." + f.name
	read := ""
	switch w := protoType(f.t); {
	case w == "string" && !f.AnyBytes:
		read = "d.Text(&%s, b, o+%d)"
	case w == "string":
		read = "d.AnyText(&%s, b, o+%d)"
	case w == "bytes":
		read = "d.Bytes(&%s, b, o+%d)"
	}
	if read != "" {
		if byPointer(f.Field) {
			e.p("var v string")
			place = "v"
		}
		e.p("end := "+read+"\nif end < 0 {\n%s\n}", place, n, plan)
		if byPointer(f.Field) {
			e.p("p := protoimpl.New[string](d)\nif p == nil {\n%s\n}\n*p = v\nx.%s = p", plan, f.name)
		}
		e.p("o = end")
		return
	}
	value := decodeProtoNumber(e, f, n)
	if byPointer(f.Field) {
		e.p("p := protoimpl.New[%s](d)\nif p == nil {\n%s\n}\n*p = %s\nx.%s, o = p, end", e.bare(f.t), plan, value, f.name)
		return
	}
	e.p("x.%s, o = %s, end", f.name, value)
}

// decodeProtoNumber writes what reads a number behind a tag of n bytes, and gives the expression for it.
func decodeProtoNumber(e *emitter, f protoField, n int) string {
	const plan = "return d.Plan(x, b, o, depth)"
	word := protoType(f.t)
	if w := f.wireType(); w != 0 {
		size := 8
		if w == 5 {
			size = 4
		}
		e.p("end := o + %d\nif end > len(b) {\n%s\n}", n+size, plan)
		v := fmt.Sprintf("%s.LittleEndian.Uint%d(b[o+%d:])", e.use("binary"), 8*size, n)
		if word == "float" || word == "double" {
			return fmt.Sprintf("%s.Float%dfrombits(%s)", e.use("math"), 8*size, v)
		}
		return fmt.Sprintf("%s(%s)", e.bare(f.t), v)
	}
	e.p("v, end := uint64(b[o+%d]), o+%d\nif v >= 0x80 {\nif v, end = protoimpl.Number(b, o+%d); end < 0 {\n%s\n}\n}", n, n+1, n, plan)
	switch word {
	case "bool":
		return "v != 0"
	case "sint64":
		return "protoimpl.Unzigzag(v)"
	case "sint32":
		return "int32(protoimpl.Unzigzag(uint64(uint32(v))))"
	}
	return fmt.Sprintf("%s(v)", e.bare(f.t))
}
