package gen

import (
	"regexp"
	"slices"

	"github.com/limosa-rpc/limosa/idl"
)

// outerCodec writes the methods of arguments or of a result. They are never within
// another message, so that what thrift.Binary calls does all itself: two methods in
// place of four, with the same lines in them as a struct's (encodeFields,
// decodeFields), and what they return handed to the end of the message (ending).
func (e thriftEmitter) outerCodec(name string, ms []member, defaults defaulting) {
	if !worthMethods(ms) {
		return
	}
	t := e.use("impl")
	e.p("func (x *%s) EncodeThrift(to %s.Output, b []byte, depth int) ([]byte, error) {\nvar s %[2]s.Encoder\ne, b := s.Open(to, b)", name, t)
	if height(ms) > 0 {
		e.p("if depth <= 1 {\nreturn e.End(e.Plan(b, x, depth))\n}")
	}
	e.ending("e.End", func() {
		e.encodeFields(ms, room)
		e.p("return append(b, 0)")
	})
	e.p("}\nfunc (x *%s) DecodeThrift(in %s.Input, depth int) %[2]s.Result {\nvar s %[2]s.Decoder\nd, b, depth := s.Begin(in, depth)", name, t)
	e.ending("d.End", func() {
		if height(ms) > 0 {
			e.p("if depth <= 1 {\nreturn d.Whole(x, b, depth)\n}")
		}
		e.decodeFields(ms, defaults)
	})
	e.p("}")
}

// worthMethods tells whether methods are faster than the plan: they are by a fifth
// to a third where there are structs, whose methods are then called directly; with
// nothing but scalars, strings and containers of them they are not. What is not worth
// it is left out: code that nobody runs is read all the same, by the linker too.
func worthMethods(ms []member) bool {
	required := 0
	for _, m := range ms {
		if m.view { // the plan needs the message's block for it
			return false
		}
		if m.need == idl.Required {
			required++
		}
	}
	return required <= 64 && slices.ContainsFunc(ms, func(m member) bool { return m.way() == byStruct || m.way() == byList })
}

// returned is a return in the lines of a body, with what is returned.
var returned = regexp.MustCompile(`(?m)^return (.*)$`)

// ending writes what body does, with what it returns handed to end. body writes lines
// of its own as if it stood in AppendThrift or ReadThrift, where a return is at the
// begin of a line of the unformatted text; "return nil" is one of them, since a
// message that failed has an end too.
func (e thriftEmitter) ending(end string, body func()) {
	before := e.b.String()
	e.b.Reset()
	body()
	text := returned.ReplaceAllString(e.b.String(), "return "+end+"($1)")
	e.b.Reset()
	e.b.WriteString(before)
	e.b.WriteString(text)
}
