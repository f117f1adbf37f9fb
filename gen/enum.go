package gen

import (
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// enum writes an enum's type and values, String and Parse. A number that has no
// name is a value too: that of a newer version of the IDL. Of several names for a
// number String gives the first one, and Parse takes all.
//
//	type Color int32
//	const ( ColorRED Color = 1; … )
//	func (x Color) String() string            "RED", or "Color(7)"
//	func ParseColor(s string) (Color, error)  a name, as the IDL has it
func (e *emitter) enum(d *idl.Enum) {
	name := e.name(d, "")
	e.doc(d.Doc, d.Annotations)
	e.p("type %s int32\n", name)
	if len(d.Values) > 0 {
		e.p("const (")
		for _, v := range d.Values {
			e.doc(v.Doc, v.Annotations)
			e.p("%s %s = %d", e.name(v, ""), name, v.Value)
		}
		e.p(")\n")
	}
	e.p("// String gives the name in the IDL.\nfunc (x %s) String() string {\nswitch x {", name)
	seen := map[int32]bool{}
	for _, v := range d.Values {
		if !seen[v.Value] {
			e.p("case %s:\nreturn %q", e.name(v, ""), v.Name)
		}
		seen[v.Value] = true
	}
	e.p("}\nreturn %q + %s.Itoa(int(x)) + \")\"\n}\n", name+"(", e.use("strconv"))
	e.p("// %s finds a value by its name in the IDL.", e.name(d, "parse"))
	e.p("func %s(s string) (%s, error) {\nswitch s {", e.name(d, "parse"), name)
	for _, v := range d.Values {
		e.p("case %q:\nreturn %s, nil", v.Name, e.name(v, ""))
	}
	e.p("}\nreturn 0, %s.Errorf(\"%%q is no %s\", s)\n}\n", e.use("fmt"), name)
}

// enumText writes how an enum stands in JSON and other text: by its name in the
// IDL, and a number without a name by its digits, so that it comes back as it was.
// As keys of maps enums are written so too. It is text and not JSON, so that nothing is
// imported for it, and so that flags, YAML and logs have it as well.
func (e *emitter) enumText(d *idl.Enum) {
	name, parse, strconv := e.name(d, ""), e.name(d, "parse"), e.use("strconv")
	e.p("// MarshalText gives the name in the IDL, or the digits of a number that has none.")
	e.p("func (x %s) MarshalText() ([]byte, error) {", name)
	e.p("if _, err := %s(x.String()); err != nil {\nreturn %s.AppendInt(nil, int64(x), 10), nil\n}\nreturn []byte(x.String()), nil\n}", parse, strconv)
	e.p("// UnmarshalText takes a name in the IDL, or a number.")
	e.p("func (x *%s) UnmarshalText(p []byte) (err error) {", name)
	e.p("if n, bad := %s.ParseInt(string(p), 10, 32); bad == nil {\n*x = %s(n)\nreturn nil\n}", strconv, name)
	e.p("*x, err = %s(string(p))\nreturn err\n}\n", parse)
	if !d.Closed {
		return
	}
	var names []string
	seen := map[int32]bool{}
	for _, v := range d.Values {
		if !seen[v.Value] {
			names = append(names, e.name(v, ""))
		}
		seen[v.Value] = true
	}
	e.p("// Known tells whether a number has a name: others are no values of this enum.")
	e.p("func (x %s) Known() bool {\nswitch x {\ncase %s:\nreturn true\n}\nreturn false\n}\n", name, strings.Join(names, ", "))
}
