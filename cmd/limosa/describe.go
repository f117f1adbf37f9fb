package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/limosa-rpc/limosa/idl"
)

// A description is what describe -o json tells.
type description struct {
	Service   string          `json:"service,omitempty"`
	Signature string          `json:"signature,omitempty"` // of a method
	Request   json.RawMessage `json:"request,omitempty"`   // an example of it
	Types     []string        `json:"types,omitempty"`     // definitions, as an IDL has them
}

// describeCommand takes a name, or an address and a name. An address alone is told by its
// colon.
func (a *app) describeCommand() *cli.Command {
	return &cli.Command{
		Name: "describe", Usage: "show a method with its types and a request to fill in, or a type",
		UsageText: "limosa describe [ADDR] Service/Method | Service | Type",
		Description: `Where the IDL comes from is told at limosa list. The request has every field;
what is left out of it has its default.

Example:
  limosa describe :8888 Hello/Echo`,
		Flags: slices.Concat(schemaFlags(), linkFlags(), []cli.Flag{timeoutFlag(), outputFlag()}),
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := nargs(c, 1, 2, "[ADDR] Service/Method"); err != nil {
				return err
			}
			addr, what := "", c.Args().First()
			// No name of an IDL has a colon, and every address has one.
			if c.NArg() == 1 && strings.Contains(what, ":") {
				return usagef("want Service/Method, Service or Type behind %s (limosa list %[1]s shows what there is)", what)
			}
			if c.NArg() == 2 {
				addr, what = what, c.Args().Get(1)
			}
			s, end, err := a.schemaOf(ctx, c, addr)
			if err != nil {
				return err
			}
			defer end()
			return a.describe(s, addr, what, c.String("o") == "json")
		},
	}
}

// describe shows what a name stands for. A service comes before a type of the
// same name.
//
// Names are found in any case if none is exact, as for call.
func (a *app) describe(s *schema, addr, what string, asJSON bool) error {
	if strings.Contains(what, "/") {
		return a.describeMethod(s, addr, what, asJSON)
	}
	if svc, known := findNamed(s, what, func(f *idl.File) []*idl.Service { return f.Services }, func(s *idl.Service) string { return s.Name }); svc != nil {
		// A schema of that service alone, for list to print.
		one := &schema{Schema: &idl.Schema{Files: []*idl.File{{Listed: true, Services: []*idl.Service{svc}}}}}
		return a.list(one, asJSON)
	} else if text, others := definition(s, what); text == "" {
		if known += others; known == "" {
			known = "nothing"
		}
		known = strings.Trim(known, ", ")
		return usagef("the IDL has no service or type %q%s; it has %s", what, didYouMean(what, strings.Split(known, ", ")), known)
	} else if asJSON {
		return a.printLine(description{Types: []string{text}})
	} else {
		_, err := io.WriteString(a.stdout, text+"\n")
		return err
	}
}

// describeMethod shows a method as its IDL has it, then all types that its
// messages are made of, then a command that works as it stands: a shell takes
// the request as one word, whatever is in it.
func (a *app) describeMethod(s *schema, addr, what string, asJSON bool) error {
	svc, m, err := findMethod(s.Schema, what)
	if err != nil {
		return err
	}
	d := description{Service: serviceName(svc), Signature: signature(svc, m), Types: typesOf(m)}
	request := sampleRequest(svc, m)
	if asJSON {
		if request != "" {
			d.Request = json.RawMessage(request)
		}
		return a.printLine(d)
	}
	var b strings.Builder
	for line := range strings.Lines(m.Doc) {
		b.WriteString(a.faint("// "+strings.TrimRight(line, "\n")) + "\n")
	}
	b.WriteString(a.bold(d.Signature) + "\n")
	for _, t := range d.Types {
		b.WriteString("\n" + t + "\n")
	}
	to := "ADDR"
	if addr != "" {
		to = shellWord(addr)
	}
	fmt.Fprintf(&b, "\n%s\nlimosa call %s %s/%s", a.faint("# a request to fill in"), to, serviceName(svc), m.Name)
	if request != "" {
		b.WriteString(" '" + strings.ReplaceAll(request, "'", `'\''`) + "'")
	}
	b.WriteByte('\n')
	_, err = io.WriteString(a.stdout, b.String())
	return err
}

// findNamed looks a definition up by its name, or gives the names that there are.
func findNamed[T any](s *schema, name string, in func(*idl.File) []*T, nameOf func(*T) string) (*T, string) {
	var all []*T
	for _, f := range s.Files {
		all = append(all, in(f)...)
	}
	found, known := pick(all, nameOf, name)
	if known == "none" {
		known = ""
	}
	return found, known
}

// definition gives a type by its name, or else the names of those that there are.
//
// Typedefs are found and not listed among the names: they are many, and seldom asked for.
func definition(s *schema, name string) (text, known string) {
	if d, names := findNamed(s, name, structsOf, func(d *idl.Struct) string { return d.Name }); d != nil {
		return structText(d), ""
	} else if known += ", " + names; names == "" {
		known = ""
	}
	if d, names := findNamed(s, name, func(f *idl.File) []*idl.Enum { return f.Enums }, func(d *idl.Enum) string { return d.Name }); d != nil {
		return enumText(d), ""
	} else if names != "" {
		known += ", " + names
	}
	if d, _ := findNamed(s, name, func(f *idl.File) []*idl.Typedef { return f.Typedefs }, func(d *idl.Typedef) string { return d.Name }); d != nil {
		return "typedef " + d.Type.String() + " " + d.Name, ""
	}
	return "", known
}

// structsOf are a file's structs, without the oneofs of its messages.
func structsOf(f *idl.File) []*idl.Struct {
	return slices.DeleteFunc(slices.Clone(f.Structs), func(s *idl.Struct) bool { return s.Oneof })
}

// typesOf gives the definitions that a method's messages are made of, each
// once, in the order in which they are met.
//
// A struct that leads back to itself stands there once.
func typesOf(m *idl.Method) (texts []string) {
	seen := map[any]bool{}
	var add func(t *idl.Type)
	fields := func(list []*idl.Field) {
		for _, f := range list {
			add(f.Type)
		}
	}
	add = func(t *idl.Type) {
		if t == nil {
			return
		}
		// Before what it stands for: a reader meets the new name first.
		if t.Kind == idl.TypedefRef && t.Typedef != nil && !seen[t.Typedef] {
			seen[t.Typedef] = true
			texts = append(texts, "typedef "+t.Typedef.Type.String()+" "+t.Typedef.Name)
		}
		switch t = t.True(); {
		case t.Kind == idl.EnumRef && !seen[t.Enum]:
			seen[t.Enum] = true
			texts = append(texts, enumText(t.Enum))
		// A oneof has no definition of its own in the file; its variants' types do.
		case t.Kind == idl.StructRef && t.Struct.Oneof:
			fields(t.Struct.Fields)
		// Well-known types have a form of their own in JSON, which their fields would hide.
		case t.Kind == idl.StructRef && knownType(t.Struct) != "":
		case t.Kind == idl.StructRef && !seen[t.Struct]:
			seen[t.Struct] = true
			texts = append(texts, structText(t.Struct))
			fields(t.Struct.Fields)
		}
		add(t.Key)
		add(t.Elem)
	}
	fields(m.Args)
	add(m.Result)
	fields(m.Throws)
	return texts
}

// structText writes a struct, union or exception as an IDL has it. Variants of a
// union are optional by nature, which an IDL does not say. A default that is no
// single value is shortened: the request to fill in leaves it out, too.
func structText(d *idl.Struct) string {
	if d.File != nil && d.File.Language == idl.Protobuf {
		return protoText(d)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s {\n", d.Kind, d.Name)
	for _, f := range d.Fields {
		fmt.Fprintf(&b, "  %d: ", f.ID)
		if f.Presence != idl.Implicit && d.Kind != idl.Union {
			b.WriteString(string(f.Presence) + " ")
		}
		fmt.Fprintf(&b, "%v %s", f.Type, f.Name)
		if text, ok := literal(f.Type.True(), f.Default); ok {
			if name, ok := strings.CutPrefix(text, `"`); ok && f.Type.True().Kind == idl.EnumRef {
				text = f.Type.True().Enum.Name + "." + strings.TrimSuffix(name, `"`) // JSON has the value's name alone
			}
			b.WriteString(" = " + text)
		} else if f.Default != nil {
			b.WriteString(" = …")
		}
		b.WriteByte('\n')
	}
	return b.String() + "}"
}

// enumText writes an enum as an IDL has it, with all numbers: they are what goes
// over the wire.
func enumText(d *idl.Enum) string {
	var b strings.Builder
	end := ""
	if d.File != nil && d.File.Language == idl.Protobuf {
		end = ";"
	}
	fmt.Fprintf(&b, "enum %s {\n", d.Name)
	for _, v := range d.Values {
		fmt.Fprintf(&b, "  %s = %d%s\n", v.Name, v.Value, end)
	}
	return b.String() + "}"
}
