package idl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Harm says whom a change hurts.
type Harm string

// The three harms. Wire is the worst: programs made from the two versions
// misunderstand each other. With Source they understand each other, but code
// that uses what is generated has to be changed. With Behavior both stay as they
// are, and mean something else.
const (
	HarmsWire     Harm = "wire"
	HarmsSource   Harm = "source"
	HarmsBehavior Harm = "behavior"
)

// A BreakingRule is one kind of change that Breaking finds.
type BreakingRule struct {
	Name  string // stable: what configurations and scripts know it by
	Harms Harm
	Text  string // one line
}

// BreakingRules lists all rules, the worst first.
func BreakingRules() []BreakingRule { return slices.Clone(breakingRules) }

var breakingRules = []BreakingRule{
	{"argument-id-changed", HarmsWire, "an argument has another id"},
	{"argument-id-reused", HarmsWire, "an argument's id is that of another one, with another type"},
	{"argument-type-changed", HarmsWire, "an argument has another type"},
	{"enum-value-changed", HarmsWire, "an enum's value has another number"},
	{"enum-value-removed", HarmsWire, "an enum's number has no name any more"},
	{"exception-id-changed", HarmsWire, "a declared exception of a method has another id"},
	{"exception-id-reused", HarmsWire, "a declared exception's id is that of another one, with another type"},
	{"exception-removed", HarmsWire, "a method does not declare an exception any more"},
	{"exception-type-changed", HarmsWire, "a declared exception of a method has another type"},
	{"field-id-changed", HarmsWire, "a field has another id"},
	{"field-id-reused", HarmsWire, "a field's id is that of another field, with another type"},
	{"field-type-changed", HarmsWire, "a field has another type"},
	{"method-removed", HarmsWire, "a service has a method no more, not from a parent either"},
	{"oneway-changed", HarmsWire, "a method became oneway, or ceased to be"},
	{"required-added", HarmsWire, "a field or argument is required that was not, or did not exist"},
	{"required-removed", HarmsWire, "a field or argument is not required any more, or is gone"},
	{"result-type-changed", HarmsWire, "a method has another result"},
	{"service-removed", HarmsWire, "a service is gone"},
	{"stream-changed", HarmsWire, "a method streams where it did not, or the other way round"},
	{"union-changed", HarmsWire, "a struct or exception became a union, or the other way round"},
	{"union-field-removed", HarmsWire, "a union has a variant no more"},

	{"argument-added", HarmsSource, "a method has one more argument"},
	{"argument-removed", HarmsSource, "a method has an argument no more"},
	{"argument-renamed", HarmsSource, "an argument has another name"},
	{"const-removed", HarmsSource, "a constant is gone"},
	{"const-type-changed", HarmsSource, "a constant has another type"},
	{"enum-value-renamed", HarmsSource, "an enum's number has another name"},
	{"exception-renamed", HarmsSource, "a declared exception of a method has another name"},
	{"field-removed", HarmsSource, "a field that is not required is gone"},
	{"field-renamed", HarmsSource, "a field has another name"},
	{"namespace-changed", HarmsSource, "code is generated into another package"},
	{"optional-changed", HarmsSource, "a field became optional, or ceased to be"},
	{"service-base-changed", HarmsSource, "a service extends another one, or none any more"},
	{"type-kind-changed", HarmsSource, "a name stands for another kind of type"},
	{"type-moved", HarmsSource, "a type or service moved to another file"},
	{"type-removed", HarmsSource, "a struct, union, exception, enum or typedef is gone"},
	{"type-renamed", HarmsSource, "a type has another name"},
	{"type-respelled", HarmsSource, "a type has another one's bytes: string and binary, i32 and an enum"},
	{"typedef-changed", HarmsSource, "a typedef stands for another type"},

	{"const-changed", HarmsBehavior, "a constant has another value"},
	{"default-changed", HarmsBehavior, "a default value was changed, added or removed"},
	{"exception-added", HarmsBehavior, "a method declares one more exception, which old callers cannot read"},
	{"union-field-added", HarmsBehavior, "a union has one more variant, which old readers see as none"},
}

// A BreakingChange is one finding of Breaking. Its place is that of what is
// there now; of what is gone, the place where it was.
type BreakingChange struct {
	Rule   string `json:"rule"`
	Harms  Harm   `json:"harms"`
	Path   string `json:"path"`
	Pos    Pos    `json:"pos"`
	Old    bool   `json:"old,omitempty"` // the place is in the old schema
	Msg    string `json:"msg"`
	Source string `json:"source,omitempty"` // the line, without its end
}

// String gives "file:line:column: message (rule)".
func (b *BreakingChange) String() string {
	return fmt.Sprintf("%s:%d:%d: %s (%s)", b.Path, b.Pos.Line, b.Pos.Col, b.Msg, b.Rule)
}

// Breaking compares two versions of a schema and gives what a program or a
// programmer who knows the old one would stumble over, sorted by file and line;
// within a line as it was found. Files are the same if their paths are; a
// definition that moved to another file is found there by its name. What was only
// added is no finding unless somebody stumbles over it. Neither schema is
// changed. The time is linear in what the files have.
func Breaking(old, new *Schema) []*BreakingChange {
	c := &comparer{old: newCatalog(old), new: newCatalog(new), now: map[any]any{}, was: map[any]any{}, alike: map[[2]*Type]alike{}, lines: map[*File][]string{}}
	c.pair()
	for _, f := range old.Files {
		if g := c.new.files[f.Path]; g != nil {
			c.namespaces(f, g)
		}
	}
	for _, d := range c.old.all {
		if to := c.now[d.node]; to != nil {
			c.definition(d, c.new.defs[to])
		}
	}
	// Comparing fields finds types that were renamed, which have fields.
	for i := 0; i < len(c.renamed); i++ {
		d := c.renamed[i]
		to := c.new.defs[c.now[d.node]]
		c.add("type-renamed", to.place(), "%s %s is %s now", d.what, d.name, to.name)
		c.definition(d, to)
	}
	c.gone()
	order := map[string]int{}
	for _, f := range slices.Concat(new.Files, old.Files) {
		if _, ok := order[f.Path]; !ok {
			order[f.Path] = len(order)
		}
	}
	slices.SortStableFunc(c.found, func(a, b *BreakingChange) int {
		return cmp.Or(order[a.Path]-order[b.Path], a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col)
	})
	return c.found
}

// A definition is a typedef, enum, struct, service or constant of a file.
type definition struct {
	node any
	what string // such as "struct"
	name string
	pos  Pos
	file *File
}

func (d *definition) place() place { return place{d.file, d.pos, false} }

// definitions lists what f defines, kind by kind.
func (f *File) definitions() []*definition {
	var list []*definition
	for _, d := range f.Typedefs {
		list = append(list, &definition{d, "typedef", d.Name, d.Pos, f})
	}
	for _, d := range f.Enums {
		list = append(list, &definition{d, "enum", d.Name, d.Pos, f})
	}
	for _, d := range f.Structs {
		list = append(list, &definition{d, string(d.Kind), d.Name, d.Pos, f})
	}
	for _, d := range f.Services {
		list = append(list, &definition{d, "service", d.Name, d.Pos, f})
	}
	for _, d := range f.Consts {
		list = append(list, &definition{d, "const", d.Name, d.Pos, f})
	}
	return list
}

// group tells the name spaces apart: a constant may have a type's name, and a
// service is no type.
func (d *definition) group() string {
	switch d.what {
	case "service", "const":
		return d.what
	}
	return "type"
}

func (d *definition) key() [3]string { return [3]string{d.group(), d.file.Path, d.name} }

// A catalog finds the definitions of one schema.
type catalog struct {
	files  map[string]*File
	all    []*definition
	defs   map[any]*definition // by node
	exact  map[[3]string]*definition
	byName map[[2]string][]*definition
}

func newCatalog(s *Schema) *catalog {
	c := &catalog{files: map[string]*File{}, defs: map[any]*definition{}, exact: map[[3]string]*definition{}, byName: map[[2]string][]*definition{}}
	for _, f := range s.Files {
		c.files[f.Path] = f
		for _, d := range f.definitions() {
			c.all = append(c.all, d)
			c.defs[d.node] = d
			c.exact[d.key()] = d
			k := [2]string{d.group(), d.name}
			c.byName[k] = append(c.byName[k], d)
		}
	}
	return c
}

// A comparer is the state of one comparison.
type comparer struct {
	old, new *catalog
	now, was map[any]any // the definitions that belong together, both ways
	renamed  []*definition
	alike    map[[2]*Type]alike // what was found out: typedefs can double at each step
	lines    map[*File][]string
	found    []*BreakingChange
}

type place struct {
	file *File
	pos  Pos
	old  bool
}

func (c *comparer) add(rule string, at place, format string, args ...any) {
	b := &BreakingChange{Rule: rule, Path: at.file.Path, Pos: at.pos, Old: at.old, Msg: fmt.Sprintf(format, args...), Source: c.line(at)}
	for _, r := range breakingRules {
		if r.Name == rule {
			b.Harms = r.Harms
		}
	}
	c.found = append(c.found, b)
}

// line gives the text at a place. A file is cut into lines once: there may be
// as many findings as lines.
func (c *comparer) line(at place) string {
	lines, ok := c.lines[at.file]
	if !ok {
		lines = strings.Split(at.file.Text, "\n")
		c.lines[at.file] = lines
	}
	if at.pos.Line < 1 || at.pos.Line > len(lines) {
		return ""
	}
	return sourceLine(lines[at.pos.Line-1], 1)
}

// pair finds for each old definition the new one: of the same name in the same
// file, else of the same name in another file that did not have it before.
func (c *comparer) pair() {
	for _, d := range c.old.all {
		if to := c.new.exact[d.key()]; to != nil {
			c.tie(d, to)
		}
	}
	for _, d := range c.old.all {
		if c.now[d.node] != nil {
			continue
		}
		for _, to := range c.new.byName[[2]string{d.group(), d.name}] {
			if c.was[to.node] == nil && to.file.Path != d.file.Path {
				c.tie(d, to)
				c.add("type-moved", to.place(), "%s %s was in %s", d.what, d.name, d.file.Path)
				break
			}
		}
	}
}

func (c *comparer) tie(old, new *definition) { c.now[old.node], c.was[new.node] = new.node, old.node }

// gone reports what has no new version. A file that is only included, and now
// by nobody, may still exist: it is not judged.
func (c *comparer) gone() {
	for _, d := range c.old.all {
		if c.now[d.node] == nil && (d.file.Listed || c.new.files[d.file.Path] != nil) {
			c.add(d.group()+"-removed", place{d.file, d.pos, true}, "%s %s is gone", d.what, d.name)
		}
	}
}

func (c *comparer) namespaces(old, new *File) {
	seen := map[string]bool{}
	for _, n := range old.Namespaces {
		was, is := old.Namespace(n.Scope), new.Namespace(n.Scope)
		if seen[n.Scope] || was == is {
			continue
		}
		seen[n.Scope] = true
		at, text := place{new, namespacePos(new, n.Scope), false}, is
		if is == "" {
			at, text = place{old, namespacePos(old, n.Scope), true}, "gone"
		}
		c.add("namespace-changed", at, "the namespace for %s was %s and is %s", n.Scope, was, text)
	}
}

// namespacePos finds the line of a namespace, which the model does not keep.
func namespacePos(f *File, scope string) Pos {
	n := 0
	for line := range strings.Lines(f.Text) {
		n++
		if w := strings.Fields(line); len(w) > 1 && w[0] == "namespace" && w[1] == scope {
			return Pos{n, strings.Index(line, "namespace") + 1}
		}
	}
	return Pos{1, 1}
}

// definition compares two definitions that belong together.
func (c *comparer) definition(old, new *definition) {
	switch a := old.node.(type) {
	case *Struct:
		if b, ok := new.node.(*Struct); ok {
			c.structs(a, b, old.file, new.file)
			return
		}
	case *Enum:
		if b, ok := new.node.(*Enum); ok {
			c.enums(a, b, old.file, new.file)
			return
		}
	case *Typedef:
		if b, ok := new.node.(*Typedef); ok {
			if c.types(a.Type, b.Type) != same {
				c.add("typedef-changed", new.place(), "typedef %s was %s and is %s", a.Name, a.Type, b.Type)
			}
			return
		}
	case *Service:
		c.services(a, new.node.(*Service), old.file, new.file)
		return
	case *Const:
		c.consts(a, new.node.(*Const), new.place())
		return
	}
	c.add("type-kind-changed", new.place(), "%s was %s and is %s", new.name, old.what, new.what)
}

func (c *comparer) consts(a, b *Const, at place) {
	if c.types(a.Type, b.Type) != same {
		c.add("const-type-changed", at, "constant %s was of type %s and is of %s", a.Name, a.Type, b.Type)
	} else if newDigester().value(a.Type, a.Value) != newDigester().value(b.Type, b.Value) {
		c.add("const-changed", at, "constant %s was %s and is %s", a.Name, brief(a.Value), brief(b.Value))
	}
}
