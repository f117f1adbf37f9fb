package breaking

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// A Change is one finding of Compare. Its place is that of what is
// there now; of what is gone, the place where it was. Its JSON is stable: scripts read
// it.
type Change struct {
	Rule   string  `json:"rule"` // the name of one of Rules
	Harms  Harm    `json:"harms"`
	Path   string  `json:"path"` // of the file, as its schema has it
	Pos    idl.Pos `json:"pos"`
	Old    bool    `json:"old,omitempty"`    // the place is in the old schema
	Msg    string  `json:"msg"`              // what was and what is, without place and rule
	Source string  `json:"source,omitempty"` // the line, without its end
	Was    string  `json:"was,omitempty"`    // of what moved: its file in the old schema, with which Msg ends
}

// String gives "file:line:column: message (rule)".
func (b *Change) String() string {
	return fmt.Sprintf("%s:%d:%d: %s (%s)", b.Path, b.Pos.Line, b.Pos.Col, b.Msg, b.Rule)
}

// How two schemas are compared:
//
//	newCatalog   what each side defines, by node, by place and name, by name
//	pair         which definition became which: the same name in the same file, else
//	             the same name in another file
//	definition   the two of a pair, field by field (fields.go, alike.go); a field's type
//	             that has another name may show that the type was renamed: then the
//	             two are a pair from there on
//	renamed      those pairs are compared too, until no more are found
//	gone         what has no new version
//
// Each definition is compared once. What two types have in common is remembered by
// pairs (comparer.alike), since typedefs may double at each step.

// Compare compares two versions of a schema and gives what a program or a
// programmer who knows the old one would stumble over, sorted by file and line;
// within a line as it was found. Files are the same if their paths are; a
// definition that moved to another file is found there by its name. What was only
// added is no finding unless somebody stumbles over it. Neither schema is
// changed. The time is linear in what the files have.
func Compare(old, new *idl.Schema) []*Change {
	c := &comparer{old: newCatalog(old), new: newCatalog(new), now: map[any]any{}, was: map[any]any{}, alike: map[[2]*idl.Type]alike{}, lines: map[*idl.File][]string{}, digests: newDigester(), scopes: map[*idl.File]map[string]idl.Pos{}}
	c.pair()
	for _, f := range old.Files {
		if g := c.new.files[f.Path]; g != nil {
			c.namespaces(f, g)
			c.extensions(f, g)
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
	slices.SortStableFunc(c.found, func(a, b *Change) int {
		return cmp.Or(order[a.Path]-order[b.Path], a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col)
	})
	return c.found
}

// A definition is a typedef, enum, struct, service or constant of a file.
type definition struct {
	node any    // the *idl.Struct and so on: what references to it point to
	what string // such as "struct", for texts
	name string
	pos  idl.Pos // of its name
	file *idl.File
}

// place is where it is defined.
func (d *definition) place() place { return place{d.file, d.pos, false} }

// definitions lists what f defines, kind by kind.
func definitions(f *idl.File) []*definition {
	var list []*definition
	for _, d := range f.Typedefs {
		list = append(list, &definition{d, "typedef", d.Name, d.Pos, f})
	}
	for _, d := range f.Enums {
		list = append(list, &definition{d, "enum", d.Name, d.Pos, f})
	}
	for _, d := range f.Structs {
		if !d.Oneof { // whose members are fields of the struct that has it
			list = append(list, &definition{d, string(d.Kind), d.Name, d.Pos, f})
		}
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
// service is no type. Its words begin the names of the rules for what is gone.
func (d *definition) group() string {
	switch d.what {
	case "service", "const":
		return d.what
	}
	return "type"
}

// key is what it is looked up by in the other version before anything cleverer is tried.
func (d *definition) key() [3]string { return [3]string{d.group(), d.file.Path, d.name} }

// A catalog finds the definitions of one schema.
type catalog struct {
	files  map[string]*idl.File        // by path
	all    []*definition               // in the order of the files
	defs   map[any]*definition         // by node
	exact  map[[3]string]*definition   // by group, path and name
	byName map[[2]string][]*definition // by group and name
}

// newCatalog lists what a schema defines.
func newCatalog(s *idl.Schema) *catalog {
	c := &catalog{files: map[string]*idl.File{}, defs: map[any]*definition{}, exact: map[[3]string]*definition{}, byName: map[[2]string][]*definition{}}
	for _, f := range s.Files {
		c.files[f.Path] = f
		for _, d := range definitions(f) {
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
	now, was map[any]any                      // the definitions that belong together, both ways
	renamed  []*definition                    // old ones, that were paired by their use; see named
	alike    map[[2]*idl.Type]alike           // what was found out: typedefs can double at each step
	lines    map[*idl.File][]string           // see line
	digests  *digester                        // of both sides: many fields may have one large default
	scopes   map[*idl.File]map[string]idl.Pos // see namespacePos
	found    []*Change
}

// A place is where a finding is shown: in the new version if it is still there.
type place struct {
	file *idl.File
	pos  idl.Pos
	old  bool // the file is the old one
}

// add notes a finding. rule is the name of one of the rules, which says whom it harms.
func (c *comparer) add(rule string, at place, format string, args ...any) {
	b := &Change{Rule: rule, Path: at.file.Path, Pos: at.pos, Old: at.old, Msg: fmt.Sprintf(format, args...), Source: c.line(at)}
	for _, r := range rules {
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
	return idl.SourceLine(lines[at.pos.Line-1], 1)
}

// pair finds for each old definition the new one: of the same name in the same
// file, else of the same name in another file that did not have it before. Each
// definition is in one pair at most, so that a copy in another file is something
// new and no move.
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
				c.found[len(c.found)-1].Was = d.file.Path
				break
			}
		}
	}
}

// tie makes two definitions versions of each other, for good.
func (c *comparer) tie(old, new *definition) { c.now[old.node], c.was[new.node] = new.node, old.node }

// gone reports what has no new version. A file that is only included, and now
// by nobody, may still exist: it is not judged. It comes last, since comparing may
// still find that something was renamed.
func (c *comparer) gone() {
	for _, d := range c.old.all {
		if c.now[d.node] == nil && (d.file.Listed || c.new.files[d.file.Path] != nil) {
			c.add(d.group()+"-removed", place{d.file, d.pos, true}, "%s %s is gone", d.what, d.name)
		}
	}
}

// namespaces compares where code is generated to, for each language that the old file
// names. A namespace for "*" that takes the place of one for a language changes
// nothing for it.
func (c *comparer) namespaces(old, new *idl.File) {
	if old.Package != new.Package {
		c.add("package-changed", place{new, c.namespacePos(new, ""), false}, "the package was %q and is %q, and with it the names of services", old.Package, new.Package)
	}
	before, after := byScope(old), byScope(new)
	seen := map[string]bool{}
	for _, n := range old.Namespaces {
		was, is := before[n.Scope], after["*"]
		if own, has := after[n.Scope]; has {
			is = own
		}
		if seen[n.Scope] || was == is {
			continue
		}
		seen[n.Scope] = true
		file, text := new, is
		if is == "" {
			file, text = old, "gone"
		}
		c.add("namespace-changed", place{file, c.namespacePos(file, n.Scope), file == old}, "the namespace for %s was %s and is %s", n.Scope, was, text)
	}
}

// byScope is [idl.File.Namespace] for many languages.
func byScope(f *idl.File) map[string]string {
	names := map[string]string{}
	for _, n := range f.Namespaces {
		names[n.Scope] = n.Name // of several the last one counts
	}
	return names
}

// namespacePos finds the line of a namespace, which the model does not keep, in the
// text; the file's begin where there is no such line, as in IDLs that have none. A file is
// gone through once: there may be as many namespaces as lines.
func (c *comparer) namespacePos(f *idl.File, scope string) idl.Pos {
	found, known := c.scopes[f]
	if !known {
		found = map[string]idl.Pos{}
		n := 0
		for line := range strings.Lines(f.Text) {
			n++
			w := strings.Fields(line)
			if len(w) < 2 {
				continue
			}
			for _, scope := range scopesOf(w[0], w[1]) {
				if _, again := found[scope]; !again {
					found[scope] = idl.Pos{Line: n, Col: strings.Index(line, w[0]) + 1}
				}
			}
		}
		c.scopes[f] = found
	}
	if at, there := found[scope]; there {
		return at
	}
	return idl.Pos{Line: 1, Col: 1}
}

// scopesOf tells which languages a line is about that begins with these words.
func scopesOf(first, second string) (scopes []string) {
	if first == "namespace" {
		scopes = append(scopes, second)
	}
	for scope, words := range protoWords {
		if first == words || first+" "+second == words {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// protoWords begin the line of a .proto file that has the namespace of a language; of ""
// that of the package.
var protoWords = map[string]string{
	"": "package", "go": "option go_package", "java": "option java_package", "csharp": "option csharp_namespace",
	"php": "option php_namespace", "rb": "option ruby_package",
}

// definition compares two definitions that belong together. They are of one group, so
// that a service meets a service and a constant a constant; types may have become
// other kinds of types.
func (c *comparer) definition(old, new *definition) {
	switch a := old.node.(type) {
	case *idl.Struct:
		if b, ok := new.node.(*idl.Struct); ok {
			c.structs(a, b, old.file, new.file)
			return
		}
	case *idl.Enum:
		if b, ok := new.node.(*idl.Enum); ok {
			c.enums(a, b, old.file, new.file)
			return
		}
	case *idl.Typedef:
		if b, ok := new.node.(*idl.Typedef); ok {
			if c.types(a.Type, b.Type) != same {
				c.add("typedef-changed", new.place(), "typedef %s was %s and is %s", a.Name, a.Type, b.Type)
			}
			return
		}
	case *idl.Service:
		c.services(a, new.node.(*idl.Service), old.file, new.file)
		return
	case *idl.Const:
		c.consts(a, new.node.(*idl.Const), new.place())
		return
	}
	c.add("type-kind-changed", new.place(), "%s was %s and is %s", new.name, old.what, new.what)
}

// consts compares two versions of a constant: its type first, since a value means
// nothing without it.
func (c *comparer) consts(a, b *idl.Const, at place) {
	if c.types(a.Type, b.Type) != same {
		c.add("const-type-changed", at, "constant %s was of type %s and is of %s", a.Name, a.Type, b.Type)
	} else if c.digests.value(a.Type, a.Value) != c.digests.value(b.Type, b.Value) {
		c.add("const-changed", at, "constant %s was %s and is %s", a.Name, brief(a.Value), brief(b.Value))
	}
}
