package gen

import (
	"fmt"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// Bounds of what is encoded or decoded between two looks at the room that is
// left: fields, and for decoding headers that are compared at once.
const (
	maxRun     = 16
	maxSegment = 6
)

// methodNames are the methods that every generated struct has.
var methodNames = []string{"AppendThrift", "ReadThrift", "EncodeThrift", "DecodeThrift"}

// A member is a field of a struct, of arguments or of a result.
type member struct {
	name string // of the Go field
	id   int32
	need idl.Requiredness
	t    *idl.Type // without typedefs
}

func (e *emitter) members(fields []*idl.Field) []member {
	ms := make([]member, len(fields))
	for i, f := range fields {
		ms[i] = member{name: e.name(f, ""), id: f.ID, need: f.Requiredness, t: f.Type.True()}
	}
	return ms
}

// A way is how a member is encoded and decoded.
type way int

const (
	byRun    way = iota // always there: scalars, strings, binary
	byOption            // a pointer to a scalar or string, or binary that may be nil
	byStruct            // a pointer to a struct
	byList              // a slice of such pointers
	byPlan              // by the run-time plan, which is as fast there
)

func (m member) way() way {
	switch {
	case isScalar(m.t) || m.t.Kind == idl.Binary:
		if m.need == idl.Optional {
			return byOption
		}
		return byRun
	case isPointer(m.t):
		return byStruct
	case m.t.Kind == idl.List || m.t.Kind == idl.Set:
		if isPointer(m.t.Elem) {
			return byList
		}
	}
	return byPlan
}

// wire gives the type's byte and, if values always have the same, their size.
func (m member) wire() (typ, size int) {
	switch m.t.Kind {
	case idl.Bool:
		return 2, 1
	case idl.I8:
		return 3, 1
	case idl.Double:
		return 4, 8
	case idl.I16:
		return 6, 2
	case idl.I32, idl.EnumRef:
		return 8, 4
	case idl.I64:
		return 10, 8
	case idl.String, idl.Binary:
		return 11, 0
	case idl.Map:
		return 13, 0
	case idl.Set:
		return 14, 0
	case idl.List:
		return 15, 0
	case idl.UUID:
		return 16, 16
	}
	return 12, 0
}

// head is the field's header as three bytes.
func (m member) head() string {
	t, _ := m.wire()
	return fmt.Sprintf("%d, %d, %d", t, uint16(m.id)>>8, uint8(m.id))
}

// is is the field's header as type and id.
func (m member) is() string {
	t, _ := m.wire()
	return fmt.Sprintf("%d, %d", t, uint16(m.id))
}

// groups cuts members into stretches that are handled together: from index
// [0] up to and without [1].
func groups(ms []member) (all [][2]int) {
	for i := 0; i < len(ms); {
		j, w := i+1, ms[i].way()
		for j < len(ms) && ms[j].way() == w && (w == byRun && j-i < maxRun || w == byPlan) {
			j++
		}
		all = append(all, [2]int{i, j})
		i = j
	}
	return all
}

// codec writes the methods of a struct that encode and decode it.
func (e *emitter) codec(name string, ms []member, defaults bool) {
	t := e.use("thrift")
	need := 0
	for _, m := range ms {
		if m.need == idl.Required {
			need++
		}
	}
	e.p("// The methods that thrift.Binary calls: on a message, and within one.")
	e.p("func (x *%s) EncodeThrift(e %s.Encoder) ([]byte, error) { return e.End(x.AppendThrift(e.Begin())) }\n", name, t)
	e.p("func (x *%s) DecodeThrift(d %s.Decoder) %[2]s.Decoder { return d.End(x.ReadThrift(d.Begin())) }\n", name, t)
	e.p("func (x *%s) AppendThrift(e *%s.Encoder, b []byte, depth int) []byte {", name, t)
	e.encode(ms)
	e.p("}\n\nfunc (x *%s) ReadThrift(d *%s.Decoder, b []byte, depth int) []byte {", name, t)
	if need > 64 { // more than the plan has bits for
		e.p("return d.Whole(x, b, depth)")
	} else {
		e.decode(ms, defaults)
	}
	e.p("}\n")
}

// height is how many levels the containers take that are not left to the plan.
func height(ms []member) int {
	for _, m := range ms {
		if m.way() == byList {
			return 1
		}
	}
	return 0
}

func (e *emitter) encode(ms []member) {
	least := "e.Least"
	if height(ms) > 0 {
		least = "e.Least+1"
	}
	e.p("if x == nil || depth <= %s {\nreturn e.Plan(b, x, depth)\n}", least)
	const room, atEnd = 128, 32 // room is thrift.Room; every struct leaves atEnd
	left := 0
	for _, g := range groups(ms) {
		m := ms[g[0]]
		if w := m.way(); w != byRun && w != byPlan && left < atEnd+8 {
			e.p("if cap(b)-len(b) < thrift.Room {\nb = e.Next(b)\n}")
			left = room
		}
		switch m.way() {
		case byRun:
			e.encodeRun(ms, g[0], g[1])
			left = room
		case byOption:
			left = min(left, room) - 20
			e.p("if x.%s != nil {\n%s\n}", m.name, e.encodeOption(m))
			if _, size := m.wire(); size == 0 {
				left = room
			}
		case byStruct:
			if m.need == idl.Required {
				e.p("if x.%s == nil {\nreturn e.Plan(b, x, depth)\n}", m.name)
				e.p("b = x.%s.AppendThrift(e, append(b, %s), depth-1)", m.name, m.head())
			} else {
				e.p("if x.%s != nil {\nb = x.%[1]s.AppendThrift(e, append(b, %s), depth-1)\n}", m.name, m.head())
			}
			left = atEnd - 1
		case byList:
			if m.need == idl.Optional {
				e.p("if x.%s != nil {", m.name)
			}
			e.p("b = e.Count(append(b, %s, 12), len(x.%s))", m.head(), m.name)
			e.p("for _, v := range x.%s {\nb = v.AppendThrift(e, b, depth-2)\n}", m.name)
			if m.need == idl.Optional {
				e.p("}")
			}
			left = atEnd - 1
		case byPlan:
			e.p("b = e.Fields(b, x, depth, %d, %d)", g[0], g[1])
			left = room
		}
	}
	if left < atEnd-1 {
		e.p("if cap(b)-len(b) < thrift.Room {\nb = e.Next(b)\n}")
	}
	e.p("return append(b, 0)")
}

// encodeRun writes the fields with the indexes i up to and without j, which are
// always there.
func (e *emitter) encodeRun(ms []member, i, j int) {
	size, sum := 128, ""
	for _, m := range ms[i:j] {
		_, n := m.wire()
		size += 3 + n
		if n == 0 {
			size += 4
			sum += " + len(x." + m.name + ")"
		}
	}
	if sum == "" {
		e.p("if cap(b)-len(b) < %d {\nb = e.Next(b)\n}", size)
	} else {
		e.p("if n := %d%s; n > min(cap(b)-len(b), thrift.Whole) {", size, sum)
		e.p("b = e.Fields(b, x, depth, %d, %d)\n} else {", i, j)
	}
	for _, m := range ms[i:j] {
		e.p("b = %s", e.encodeScalar(m, "x."+m.name))
	}
	if sum != "" {
		e.p("}")
	}
}

// encodeScalar is an expression that appends header and value.
func (e *emitter) encodeScalar(m member, v string) string {
	big := func(n int, v string) string {
		return fmt.Sprintf("%s.BigEndian.AppendUint%d(append(b, %s), uint%[2]d(%[4]s))", e.use("binary"), n, m.head(), v)
	}
	switch m.t.Kind {
	case idl.Bool:
		return fmt.Sprintf("append(b, %s, thrift.Bool(%s))", m.head(), v)
	case idl.I8:
		return fmt.Sprintf("append(b, %s, byte(%s))", m.head(), v)
	case idl.I16:
		return big(16, v)
	case idl.I32, idl.EnumRef:
		return big(32, v)
	case idl.I64:
		return big(64, v)
	case idl.Double:
		return fmt.Sprintf("%s.BigEndian.AppendUint64(append(b, %s), %s.Float64bits(%s))", e.use("binary"), m.head(), e.use("math"), v)
	case idl.UUID:
		return fmt.Sprintf("append(append(b, %s), %s[:]...)", m.head(), v)
	}
	return fmt.Sprintf("append(%s, %s...)", big(32, "len("+v+")"), v)
}

func (e *emitter) encodeOption(m member) string {
	switch m.t.Kind {
	case idl.Binary:
		return fmt.Sprintf("b = e.Bytes(append(b, %s), x.%s)", m.head(), m.name)
	case idl.String:
		return fmt.Sprintf("b = e.String(append(b, %s), *x.%s)", m.head(), m.name)
	case idl.UUID:
		return "b = " + e.encodeScalar(m, "x."+m.name)
	}
	return "b = " + e.encodeScalar(m, "*x."+m.name)
}

func (e *emitter) decode(ms []member, defaults bool) {
	e.p("if x == nil || depth <= %d {\nreturn d.Whole(x, b, depth)\n}", height(ms))
	if defaults {
		e.p("x.SetDefaults()")
	}
	for _, g := range groups(ms) {
		if ms[g[0]].way() == byPlan {
			e.p("var done bool")
			break
		}
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
		case byPlan:
			e.p("if b, done = d.Fields(x, b, depth, %d, %d); done {\nreturn b\n}", i, g[1])
		}
	}
	e.p("return d.Stop(x, b, depth, %d)", len(ms))
}

// decodeRun reads the fields with the indexes i up to and without j, in
// stretches that end with a string: one look at the length, one at all headers.
func (e *emitter) decodeRun(ms []member, i, j int) {
	for i < j {
		size, k := 0, i
		var tests, lines []string
		for text := false; k < j && k-i < maxSegment && !text; k++ {
			m := ms[k]
			at := fmt.Sprintf("b[%d:]", size)
			if size == 0 {
				at = "b"
			}
			tests = append(tests, fmt.Sprintf("thrift.Miss(%s, %s)", at, m.is()))
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

// decodeScalar is an expression for the value at offset o of b.
func (e *emitter) decodeScalar(m member, o int) string {
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
		return fmt.Sprintf("thrift.UUID(b[%d:])", o)
	}
	return e.typ(m.t) + "(" + big(32) + ")"
}

// decodeOption reads a field that may be absent.
func (e *emitter) decodeOption(m member, i int) {
	_, size := m.wire()
	if size == 0 {
		size = 4
	}
	read := fmt.Sprintf("thrift.Optional(d, &x.%s, b)", m.name)
	switch m.t.Kind {
	case idl.Binary:
		read = fmt.Sprintf("d.Bytes(&x.%s, b[3:])", m.name)
	case idl.String:
		read = fmt.Sprintf("d.OptionalString(&x.%s, b)", m.name)
	}
	e.p("if thrift.Has(b, %d, %s) {\nif b = %s; b == nil {\nreturn d.In(x, %d)\n}\n}", 3+size, m.is(), read, i)
}

func (e *emitter) decodeStruct(m member, i int) {
	read := fmt.Sprintf("x.%s = thrift.New[%s](d)\nif b = x.%[1]s.ReadThrift(d, b[3:], depth-1); b == nil {\nreturn d.In(x, %[3]d)\n}",
		m.name, e.bare(m.t), i)
	if m.need == idl.Required {
		e.p("if !thrift.Has(b, 4, %s) {\nreturn d.Plan(x, b, depth, %d)\n}\n%s", m.is(), i, read)
	} else {
		e.p("if thrift.Has(b, 4, %s) {\n%s\n}", m.is(), read)
	}
}

func (e *emitter) decodeList(m member, i int) {
	elem := e.bare(m.t.Elem.True())
	if m.need == idl.Optional {
		e.p("if thrift.Has(b, 4, %s) {", m.is())
	}
	e.p("if s, rest := thrift.List[%s](d, b, %s); rest == nil {\nreturn d.Plan(x, b, depth, %d)\n} else {\nx.%s, b = s, rest\n}", elem, m.is(), i, m.name)
	e.p("for i, slab := 0, new(thrift.Slab[%s]); i < len(x.%s); i++ {\nx.%[2]s[i] = slab.Next(d, len(x.%[2]s)-i)", elem, m.name)
	e.p("if b = x.%s[i].ReadThrift(d, b, depth-2); b == nil {\nreturn d.In(x, %d)\n}\n}", m.name, i)
	if m.need == idl.Optional {
		e.p("}")
	}
}
