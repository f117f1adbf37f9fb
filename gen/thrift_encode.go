package gen

import (
	"fmt"

	"github.com/limosa-rpc/limosa/idl"
)

// How a struct is encoded. AppendThrift gets b, the block that is being filled, and
// gives it back with its fields behind it. append never writes out of bounds, so
// that a look at the room which is wrong costs a copy, and nothing else:
//
//	if x == nil || depth <= e.Least {         what is not usual is the plan's:
//		return e.Plan(b, x, depth)        nil, too deep, fields that are to be kept
//	}
//	if n := 135 + len(x.Text); n > min(cap(b)-len(b), impl.Whole) {
//		b = e.Fields(b, x, depth, 0, 2)   no room, or worth a reference: the plan
//	} else {
//		…                                 a run: one look for all of its fields
//	}
//	if x.Inner != nil {                       room for its header is there: each run
//		b = x.Inner.AppendThrift(…)       and each struct leaves atEnd bytes
//	}
//	return append(b, 0)
//
// e.Plan encodes the whole struct by the run-time plan, e.Fields some of its fields.
// So each rule of the format, and each error, stands once, in the plan; what is
// generated is the common case. docs/how/thrift.md tells the other half.

// maxRun bounds how many fields are encoded between two looks at the room.
const maxRun = 16

// A member is a field of a struct, of arguments or of a result.
type member struct {
	name string // of the Go field
	id   int32
	need idl.Presence
	t    *idl.Type // without typedefs
	view bool      // it is a view, which only the plan knows
}

// members gives the fields of a struct in the order of the IDL, which is that of the
// plan: their indexes are what generated code tells the plan.
func (e thriftEmitter) members(fields []*idl.Field) []member {
	ms := make([]member, len(fields))
	for i, f := range fields {
		ms[i] = member{name: e.name(f, ""), id: f.ID, need: f.Presence, t: f.Type.True(), view: e.views[f.Type]}
	}
	return ms
}

// A way is how a member is encoded and decoded.
type way int

const (
	byRun       way = iota // always there: scalars, strings, binary
	byOption               // a pointer to a scalar or string, or binary that may be nil
	byStruct               // a pointer to a struct
	byList                 // a slice of such pointers
	byNumbers              // a slice of numbers
	byStrings              // a slice of strings
	byStringMap            // a map of strings
	byPlan                 // by the run-time plan, which is as fast there
)

// way chooses how m is handled. What is left to the plan is as fast there, or rare.
func (m member) way() way {
	switch {
	case m.view:
		return byPlan
	case isScalar(m.t) || m.t.Kind == idl.Binary:
		if m.need == idl.Optional {
			return byOption
		}
		return byRun
	case isPointer(m.t):
		return byStruct
	case m.t.Kind == idl.List || m.t.Kind == idl.Set:
		switch m.t.Elem.True().Kind {
		case idl.I16, idl.I32, idl.EnumRef, idl.I64, idl.Double:
			return byNumbers
		case idl.String:
			return byStrings
		}
		if isPointer(m.t.Elem) {
			return byList
		}
	case m.t.Kind == idl.Map && m.t.Key.True().Kind == idl.String && m.t.Elem.True().Kind == idl.String:
		return byStringMap
	}
	return byPlan
}

// wire gives the type's byte and, if values always have the same, their size. The
// bytes are those of package thrift's Type.
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

// inner is the type of the elements, or those of key and value, as bytes of a list's or
// map's header.
func (m member) inner() string {
	elem, _ := member{t: m.t.Elem.True()}.wire()
	if m.t.Key == nil {
		return fmt.Sprint(elem)
	}
	key, _ := member{t: m.t.Key.True()}.wire()
	return fmt.Sprintf("%d, %d", key, elem)
}

// head is the field's header as three bytes: the type and the id, most significant
// byte first. An id below zero is its two's complement.
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
// [0] up to and without [1]. Neighbours that are always there make a run, neighbours
// of the plan one call of it; everything else stands alone.
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

// codec writes the methods of a struct that encode and decode it. The two that the run
// time calls on a message begin the state on their own stack: through an interface it
// would be allocated. More required fields than the plan has bits for are the plan's.
func (e thriftEmitter) codec(name string, ms []member, defaults defaulting) {
	t := e.use("impl")
	need := 0
	for _, m := range ms {
		if m.need == idl.Required {
			need++
		}
	}
	e.p("func (x *%s) EncodeThrift(to %s.Output, b []byte, depth int) ([]byte, error) {\nvar e %[2]s.Encoder", name, t)
	e.p("return e.End(x.AppendThrift(e.Begin(to, b, depth)))\n}")
	e.p("func (x *%s) DecodeThrift(in %s.Input, depth int) %[2]s.Result {\nvar d %[2]s.Decoder", name, t)
	e.p("return d.End(x.ReadThrift(d.Begin(in, depth)))\n}")
	e.p("func (x *%s) AppendThrift(e *%s.Encoder, b []byte, depth int) []byte {", name, t)
	e.encode(ms)
	e.p("}\nfunc (x *%s) ReadThrift(d *%s.Decoder, b []byte, depth int) []byte {", name, t)
	if need > 64 { // more than the plan has bits for
		e.p("return d.Whole(x, b, depth)")
	} else {
		e.decode(ms, defaults)
	}
	e.p("}")
}

// height is how many levels the containers take that are not left to the plan: the
// depth that is left has to suffice for them before they are begun.
func height(ms []member) int {
	for _, m := range ms {
		switch m.way() {
		case byList, byNumbers, byStrings, byStringMap:
			return 1
		}
	}
	return 0
}

// Bytes of the current block that are free: after a look at it, and behind every
// struct, so that its stop and the header of what follows need no look of their own.
const room, atEnd = 128, 32 // room is impl.Room; every struct leaves atEnd

// encode writes the body of AppendThrift.
func (e thriftEmitter) encode(ms []member) {
	least := "e.Least"
	if height(ms) > 0 {
		least = "e.Least+1"
	}
	e.p("if x == nil || depth <= %s {\nreturn e.Plan(b, x, depth)\n}", least)
	if e.encodeFields(ms, 0) < atEnd-1 {
		e.p("if cap(b)-len(b) < impl.Room {\nb = e.Next(b)\n}")
	}
	e.p("return append(b, 0)")
}

// encodeFields writes what encodes members, where left bytes of room are known to
// be left, and gives how many are left then. Counting them here saves most of the looks
// there: only what is followed by something of unknown size needs one.
func (e thriftEmitter) encodeFields(ms []member, left int) int {
	for _, g := range groups(ms) {
		m := ms[g[0]]
		if w := m.way(); w != byRun && w != byPlan && left < atEnd+8 {
			e.p("if cap(b)-len(b) < impl.Room {\nb = e.Next(b)\n}")
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
		case byNumbers, byStrings, byStringMap:
			line := "b = " + map[way]string{byNumbers: "impl.Numbers(e, ", byStrings: "e.Strings(", byStringMap: "e.StringMap("}[m.way()]
			line += fmt.Sprintf("append(b, %s, %s), x.%s)", m.head(), m.inner(), m.name)
			if m.need == idl.Optional {
				line = fmt.Sprintf("if x.%s != nil {\n%s\n}", m.name, line)
			}
			e.p("%s", line)
			left = room
		case byPlan:
			e.p("b = e.Fields(b, x, depth, %d, %d)", g[0], g[1])
			left = room
		}
	}
	return left
}

// encodeRun writes the fields with the indexes i up to and without j, which are
// always there. The room is looked at once, for the largest that they can take besides
// their texts, and for atEnd and the header of what follows: 128.
func (e thriftEmitter) encodeRun(ms []member, i, j int) {
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
		e.p("if n := %d%s; n > min(cap(b)-len(b), impl.Whole) {", size, sum)
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
func (e thriftEmitter) encodeScalar(m member, v string) string {
	big := func(n int, v string) string {
		return fmt.Sprintf("%s.BigEndian.AppendUint%d(append(b, %s), uint%[2]d(%[4]s))", e.use("binary"), n, m.head(), v)
	}
	switch m.t.Kind {
	case idl.Bool:
		return fmt.Sprintf("append(b, %s, impl.Bool(%s))", m.head(), v)
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

// encodeOption is a line that appends header and value of a field that is there. The
// pointer was looked at; texts go through the encoder, which may refer to them.
func (e thriftEmitter) encodeOption(m member) string {
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
