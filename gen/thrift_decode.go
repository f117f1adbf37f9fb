package gen

import (
	"fmt"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// How a struct is decoded. ReadThrift gets b, what is left of the message, and gives
// what is left behind the struct, nil if there was an error, which the decoder keeps.
// It expects what most programs send: the fields in the order of the IDL.
//
//	if len(b) < 15 || impl.Miss(b, 8, 1)|impl.Miss(b[7:], 10, 2) != 0 {
//		return d.Plan(x, b, depth, 0)     another order, a new field, a broken
//	}                                         message: the plan from field 0 on
//	x.N = int32(binary.BigEndian.Uint32(b[3:]))
//	…
//	if impl.Has(b, 7, 11, 3) {              an optional field: there, or not
//		…
//	}
//	return d.Stop(x, b, depth, 3)             a stop, else the plan for the rest
//
// Headers are compared without branches, several at once (maxSegment): Miss gives 0
// for the right one. Lengths are checked before anything is read, and before anything
// is allocated by what reads it; b is never kept.

// maxSegment bounds how many headers are compared at once.
const maxSegment = 6

// decode writes the body of ReadThrift. d.Whole decodes, or refuses, what has no depth
// left for its containers.
func (e thriftEmitter) decode(ms []member, defaults defaulting) {
	e.p("if x == nil || depth <= %d {\nreturn d.Whole(x, b, depth)\n}", height(ms))
	e.decodeFields(ms, defaults)
}

// decodeFields writes what sets the defaults, decodes members and takes the stop
// behind them.
func (e thriftEmitter) decodeFields(ms []member, defaults defaulting) {
	switch defaults {
	case plainDefaults:
		e.p("x.SetDefaults()")
	case largeDefaults: // which the decoder takes from its budget before
		e.p("if !d.Defaults(x, b) {\nreturn nil\n}")
	}
	ways := map[way]bool{}
	for _, m := range ms {
		ways[m.way()] = true
	}
	if ways[byPlan] {
		e.p("var done bool")
	}
	if ways[byNumbers] || ways[byStrings] || ways[byStringMap] {
		e.p("var ok bool")
	}
	for _, g := range groups(ms) {
		i, m := g[0], ms[g[0]]
		switch m.way() {
		case byRun:
			e.decodeRun(ms, i, g[1])
		case byOption:
			e.decodeOption(m, i)
		case byStruct:
			e.decodeStruct(m, i)
		case byList:
			e.decodeList(m, i)
		case byNumbers, byStrings, byStringMap:
			e.decodeWhole(m, i)
		case byPlan:
			e.p("if b, done = d.Fields(x, b, depth, %d, %d); done {\nreturn b\n}", i, g[1])
		}
	}
	e.p("return d.Stop(x, b, depth, %d)", len(ms))
}

// decodeRun reads the fields with the indexes i up to and without j, in
// stretches that end with a string: one look at the length, one at all headers. Behind
// a string nobody knows where the next field is before its length is read.
func (e thriftEmitter) decodeRun(ms []member, i, j int) {
	for i < j {
		size, k := 0, i
		var tests, lines []string
		for text := false; k < j && k-i < maxSegment && !text; k++ {
			m := ms[k]
			at := fmt.Sprintf("b[%d:]", size)
			if size == 0 {
				at = "b"
			}
			tests = append(tests, fmt.Sprintf("impl.Miss(%s, %s)", at, m.is()))
			_, n := m.wire()
			if text = n == 0; text {
				read := "String"
				if m.t.Kind == idl.Binary {
					read = "Bytes"
				}
				lines = append(lines, fmt.Sprintf("if b = d.%s(&x.%s, b[%d:]); b == nil {\nreturn d.In(x, %d)\n}", read, m.name, size+3, k))
				size += 7
				continue
			}
			lines = append(lines, fmt.Sprintf("x.%s = %s", m.name, e.decodeScalar(m, size+3)))
			size += 3 + n
			if k+1 == j || k+1-i == maxSegment {
				lines = append(lines, fmt.Sprintf("b = b[%d:]", size))
			}
		}
		e.p("if len(b) < %d || %s != 0 {\nreturn d.Plan(x, b, depth, %d)\n}", size, strings.Join(tests, "|"), i)
		e.p("%s", strings.Join(lines, "\n"))
		i = k
	}
}

// decodeScalar is an expression for the value at offset o of b, whose length was
// looked at. Only 1 is true, as for the plan.
func (e thriftEmitter) decodeScalar(m member, o int) string {
	big := func(n int) string { return fmt.Sprintf("%s.BigEndian.Uint%d(b[%d:])", e.use("binary"), n, o) }
	switch m.t.Kind {
	case idl.Bool:
		return fmt.Sprintf("b[%d] == 1", o)
	case idl.I8:
		return fmt.Sprintf("int8(b[%d])", o)
	case idl.I16:
		return "int16(" + big(16) + ")"
	case idl.I32:
		return "int32(" + big(32) + ")"
	case idl.I64:
		return "int64(" + big(64) + ")"
	case idl.Double:
		return e.use("math") + ".Float64frombits(" + big(64) + ")"
	case idl.UUID:
		return fmt.Sprintf("%s.UUID(b[%d:])", e.use("thrift"), o)
	}
	return e.typ(m.t) + "(" + big(32) + ")"
}

// decodeOption reads a field that may be absent. The value is allocated by a call,
// which takes it from the budget.
func (e thriftEmitter) decodeOption(m member, i int) {
	_, size := m.wire()
	if size == 0 {
		size = 4
	}
	read := fmt.Sprintf("impl.Optional(d, &x.%s, b)", m.name)
	switch m.t.Kind {
	case idl.Binary:
		read = fmt.Sprintf("d.Bytes(&x.%s, b[3:])", m.name)
	case idl.String:
		read = fmt.Sprintf("d.OptionalString(&x.%s, b)", m.name)
	}
	e.p("if impl.Has(b, %d, %s) {\nif b = %s; b == nil {\nreturn d.In(x, %d)\n}\n}", 3+size, m.is(), read, i)
}

// decodeStruct reads a struct into a new one. One that is required and does not come
// next is the plan's to find, or to miss.
func (e thriftEmitter) decodeStruct(m member, i int) {
	read := fmt.Sprintf("x.%s = impl.New[%s](d)\nif b = x.%[1]s.ReadThrift(d, b[3:], depth-1); b == nil {\nreturn d.In(x, %[3]d)\n}",
		m.name, e.bare(m.t), i)
	if m.need == idl.Required {
		e.p("if !impl.Has(b, 4, %s) {\nreturn d.Plan(x, b, depth, %d)\n}\n%s", m.is(), i, read)
	} else {
		e.p("if impl.Has(b, 4, %s) {\n%s\n}", m.is(), read)
	}
}

// decodeWhole reads a container that is one call: numbers are read in bulk, strings
// packed. The call says ok if it has read the field, and the plan goes on otherwise.
func (e thriftEmitter) decodeWhole(m member, i int) {
	var read string
	switch m.way() {
	case byNumbers:
		read = fmt.Sprintf("impl.ReadNumbers(d, &x.%s, b, %s, %s)", m.name, m.is(), m.inner())
	case byStrings:
		read = fmt.Sprintf("impl.ReadStrings(d, &x.%s, b, %s)", m.name, m.is())
	default:
		read = fmt.Sprintf("d.StringMap(&x.%s, b, %d)", m.name, uint16(m.id))
	}
	read = fmt.Sprintf("if b, ok = %s; !ok {\nreturn d.Plan(x, b, depth, %d)\n}", read, i)
	if m.need == idl.Optional {
		read = fmt.Sprintf("if impl.Has(b, 4, %s) {\n%s\n}", m.is(), read)
	}
	e.p("%s", read)
}

// decodeList reads a list of structs. Their memory comes in slabs, which grow as
// elements do come: a length that is announced allocates pointers at most.
func (e thriftEmitter) decodeList(m member, i int) {
	elem := e.bare(m.t.Elem.True())
	if m.need == idl.Optional {
		e.p("if impl.Has(b, 4, %s) {", m.is())
	}
	e.p("if s, rest := impl.List[%s](d, b, %s); rest == nil {\nreturn d.Plan(x, b, depth, %d)\n} else {\nx.%s, b = s, rest\n}", elem, m.is(), i, m.name)
	e.p("for i, slab := 0, new(impl.Slab[%s]); i < len(x.%s); i++ {\nx.%[2]s[i] = slab.Next(d, len(x.%[2]s)-i)", elem, m.name)
	e.p("if b = x.%s[i].ReadThrift(d, b, depth-2); b == nil {\nreturn d.In(x, %d)\n}\n}", m.name, i)
	if m.need == idl.Optional {
		e.p("}")
	}
}
