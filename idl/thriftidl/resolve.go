package thriftidl

import (
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// Resolving has five steps, each over all files before the next one begins:
//
//	collect       what each file defines, by name; names that are there twice
//	types         every named type to its definition
//	typedefDepth  typedefs that lead to themselves, or too far
//	parents       every service to the one that it extends; circles
//	services,     methods that are there twice, exceptions that are none;
//	values        every constant and default against its type
//
// and constCycles at the end, since only then it is known what a value refers to.
// What walks along types and parents may count on the steps before it: the first
// three end the resolving if anything was wrong.
//
// The time is linear in the files. What could be more is in a table: names (scope,
// enumIndex, fields, methods), the depth of typedefs, what types are the same (see
// types), which constants were looked at.

// scope has what one file defines, by name. Of two definitions of one name the last
// one counts; the schema is refused anyway.
type scope struct {
	types    map[string]any // *idl.Typedef, *idl.Enum, *idl.Struct
	services map[string]*idl.Service
	consts   map[string]*idl.Const
	includes map[string]*namesakes // by the name that stands before the dot
	places   map[*idl.File]int     // of the files in includes: the index of the first include
}

// include notes what the file includes. A name is looked up here and not in the
// includes, so that many of both do not cost their product: a file of 20,000 includes
// and as many names took most of a minute. A file that is included twice counts once.
func (s *scope) include(list []*idl.Include) {
	s.includes, s.places = map[string]*namesakes{}, map[*idl.File]int{}
	for i, inc := range list {
		f := inc.File
		if _, twice := s.places[f]; f == nil || twice {
			continue
		}
		if s.includes[f.Name] == nil {
			s.includes[f.Name] = &namesakes{}
		}
		s.includes[f.Name].files = append(s.includes[f.Name].files, f)
		s.places[f] = i
	}
}

// resolver ties names to definitions and checks what the grammar cannot. What it
// has to look up often it keeps in tables of its own: the model stays plain data.
type resolver struct {
	found   *findings
	file    *idl.File // whose names are being looked up
	scopes  map[*idl.File]*scope
	enums   map[*idl.Enum]*enumIndex
	fields  map[*idl.Struct]map[string]*idl.Field   // see field
	methods map[*idl.Service]map[string]*idl.Method // see methodsOf
	done    map[*idl.Const]bool                     // see follow
	fitted  map[*idl.Const]bool                     // see constant
	depth   map[*idl.Typedef]int                    // see typedefDepth
	same    *types
}

// enumIndex finds an enum's values. Of several names for a number the first one
// counts; two values of one name are an error.
type enumIndex struct {
	byName   map[string]*idl.EnumValue
	byNumber map[int32]*idl.EnumValue
}

// newResolver makes a resolver for one load.
func newResolver(found *findings) *resolver {
	return &resolver{
		found: found, scopes: map[*idl.File]*scope{}, enums: map[*idl.Enum]*enumIndex{},
		fields: map[*idl.Struct]map[string]*idl.Field{}, methods: map[*idl.Service]map[string]*idl.Method{},
		done: map[*idl.Const]bool{}, fitted: map[*idl.Const]bool{}, depth: map[*idl.Typedef]int{}, same: newTypes(),
	}
}

// resolve runs the steps. Findings are in r.found.
func (r *resolver) resolve(files []*idl.File) {
	for _, f := range files {
		r.collect(f)
	}
	for _, f := range files { // all names of all files before any value
		r.file = f
		r.types(f)
	}
	for _, f := range files {
		for _, d := range f.Typedefs {
			r.typedefDepth(d, 0)
		}
	}
	if len(r.found.errs) > 0 {
		return // what follows walks along resolved types
	}
	for _, f := range files {
		r.file = f
		r.parents(f)
	}
	for _, f := range files {
		r.file = f
		r.services(f)
		r.values(f)
	}
	for _, f := range files {
		r.constCycles(f)
	}
}

// collect puts the definitions of f into its scope. Types and services share one name
// space, since both become types of the target language; constants have another.
func (r *resolver) collect(f *idl.File) {
	own := &scope{types: map[string]any{}, services: map[string]*idl.Service{}, consts: map[string]*idl.Const{}}
	own.include(f.Includes)
	r.scopes[f] = own
	seen := map[string]idl.Pos{}
	once := func(name string, pos idl.Pos, what string) {
		if old, ok := seen[name]; ok {
			r.found.errorf(f, pos, "%s %s: the name is taken in line %d", what, name, old.Line)
			return
		}
		seen[name] = pos
	}
	for _, d := range f.Typedefs {
		own.types[d.Name] = d
	}
	for _, e := range f.Enums {
		own.types[e.Name] = e
		r.enumNames(f, e)
	}
	for _, s := range f.Structs {
		own.types[s.Name] = s
	}
	for _, s := range f.Services {
		own.services[s.Name] = s
	}
	for _, d := range inOrder(f) {
		once(d.name, d.pos, d.what)
	}
	clear(seen) // constants have a name space of their own
	for _, c := range f.Consts {
		once(c.Name, c.Pos, "constant")
		own.consts[c.Name] = c
	}
}

// A named is a definition as an error speaks of it.
type named struct {
	name, what string
	pos        idl.Pos
}

// inOrder lists what shares the name space of types, as it stands in the file: the
// model has it kind by kind, and of two things of one name the second is to blame.
func inOrder(f *idl.File) []named {
	var list []named
	for _, d := range f.Typedefs {
		list = append(list, named{d.Name, "typedef", d.Pos})
	}
	for _, d := range f.Enums {
		list = append(list, named{d.Name, "enum", d.Pos})
	}
	for _, d := range f.Structs {
		list = append(list, named{d.Name, string(d.Kind), d.Pos})
	}
	for _, d := range f.Services {
		list = append(list, named{d.Name, "service", d.Pos})
	}
	sortByPos(list)
	return list
}

// enumNames indexes the values of e. Two names of one number are aliases, and
// allowed; two values of one name are an error.
func (r *resolver) enumNames(f *idl.File, e *idl.Enum) {
	x := &enumIndex{make(map[string]*idl.EnumValue, len(e.Values)), make(map[int32]*idl.EnumValue, len(e.Values))}
	r.enums[e] = x
	for _, v := range e.Values {
		if old := x.byName[v.Name]; old != nil {
			r.found.errorf(f, v.Pos, "enum %s has two values named %s, the first in line %d", e.Name, v.Name, old.Pos.Line)
		}
		x.byName[v.Name] = v
		if x.byNumber[v.Value] == nil {
			x.byNumber[v.Value] = v
		}
	}
}

// types resolves every type that f names. r.file is f: names are looked up as f
// sees them.
func (r *resolver) types(f *idl.File) {
	for _, d := range f.Typedefs {
		r.typ(d.Type)
	}
	for _, c := range f.Consts {
		r.typ(c.Type)
	}
	for _, s := range f.Structs {
		r.fieldTypes(s.Fields)
	}
	for _, s := range f.Services {
		for _, m := range s.Methods {
			if m.Result != nil {
				r.typ(m.Result)
			}
			r.fieldTypes(m.Args)
			r.fieldTypes(m.Throws)
		}
	}
}

// fieldTypes resolves the types of fields, and of what xsd_attrs lists.
func (r *resolver) fieldTypes(list []*idl.Field) {
	for _, f := range list {
		r.typ(f.Type)
		r.fieldTypes(f.XsdAttrs)
	}
}

// typ resolves t and what it is made of, in place. A name with a dot is looked up
// in an included file; the prefix ends at the last dot, since a file's name may
// have dots and a type's may not.
func (r *resolver) typ(t *idl.Type) {
	if t.Key != nil {
		r.typ(t.Key)
	}
	if t.Elem != nil {
		r.typ(t.Elem)
	}
	if t.Kind != idl.Invalid || t.Name == "" {
		return
	}
	f, name := r.file, t.Name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		prefix := name[:i]
		name = name[i+1:]
		if f = r.included(t.Name, t.Pos, prefix, name, func(f *idl.File) bool { return r.scopes[f].types[name] != nil }); f == nil {
			r.found.errorf(r.file, t.Pos, "unknown type %s: nothing named %s is included", t.Name, prefix)
			return
		}
	}
	switch d := r.scopes[f].types[name].(type) {
	case *idl.Typedef:
		t.Kind, t.Typedef = idl.TypedefRef, d
	case *idl.Enum:
		t.Kind, t.Enum = idl.EnumRef, d
	case *idl.Struct:
		t.Kind, t.Struct = idl.StructRef, d
	default:
		if r.scopes[f].services[name] != nil {
			r.found.errorf(r.file, t.Pos, "%s is a service, not a type", t.Name)
			return
		}
		r.found.errorf(r.file, t.Pos, "unknown type %s%s", t.Name, r.hint(f, name))
		return
	}
	t.Name, t.File = name, f.Path
}

// hint names a type that is written alike: the most common mistake is another case.
// It goes through the whole file, so that it is not asked for errors that nobody sees.
func (r *resolver) hint(f *idl.File, name string) string {
	if len(r.found.errs) >= maxErrors {
		return ""
	}
	for _, d := range inOrder(f) {
		if strings.EqualFold(d.name, name) && d.what != "service" {
			return ": there is " + d.name
		}
	}
	return ""
}

// typedefDepth reports typedefs that lead back to themselves, directly or
// through containers: neither Go nor anyone else can have such a type. Types
// nest at most idl.MaxChain deep through typedefs, so that all that walks along
// them may recurse.
//
// It gives how many typedefs stand behind d, with itself, and takes how many stand
// above it: the recursion here must be bounded before the result is known. r.depth
// remembers it. A typedef that was reported counts as short, so that those that are
// made of it are not reported too.
func (r *resolver) typedefDepth(d *idl.Typedef, above int) int {
	const walking = -1
	switch n := r.depth[d]; {
	case n == walking:
		r.found.errorf(d.File, d.Pos, "typedef %s stands for itself", d.Name)
		return 1
	case n > 0:
		return n
	case above > idl.MaxChain:
		r.found.errorf(d.File, d.Pos, "typedef %s is used through more than %d others", d.Name, idl.MaxChain)
		return 1
	}
	r.depth[d] = walking
	n := 1 + r.typeDepth(d.Type, above+1)
	if n > idl.MaxChain {
		r.found.errorf(d.File, d.Pos, "typedef %s leads through more than %d others", d.Name, idl.MaxChain)
		n = 1
	}
	r.depth[d] = n
	return n
}

// typeDepth is the depth of the deepest typedef within t, 0 if there is none.
func (r *resolver) typeDepth(t *idl.Type, above int) int {
	switch {
	case t == nil:
		return 0
	case t.Typedef != nil:
		return r.typedefDepth(t.Typedef, above)
	}
	return max(r.typeDepth(t.Key, above), r.typeDepth(t.Elem, above))
}

// parents ties the services of f to those that they extend.
func (r *resolver) parents(f *idl.File) {
	for _, s := range f.Services {
		if s.Extends != "" {
			r.parent(s)
		}
	}
}

// services checks the methods of f's services. All parents are known by now, of
// services of other files too.
func (r *resolver) services(f *idl.File) {
	for _, s := range f.Services {
		for _, m := range s.Methods {
			for _, x := range m.Throws {
				if t := x.Type.True(); t.Struct == nil || t.Struct.Kind != idl.Exception {
					r.found.errorf(f, x.Type.Pos, "method %s throws %s, which is no exception", m.Name, x.Type)
				}
			}
		}
		r.methodNames(s)
	}
}

// parent finds the service that s extends. The services above it are gone through,
// so that no circle is made: the one that would close it is told, and stays without
// a parent.
func (r *resolver) parent(s *idl.Service) {
	f, name := r.file, s.Extends
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		prefix := name[:i]
		name = name[i+1:]
		f = r.included(s.Extends, s.ExtendsPos, prefix, name, func(f *idl.File) bool { return r.scopes[f].services[name] != nil })
	}
	if f == nil || r.scopes[f].services[name] == nil {
		r.found.errorf(r.file, s.ExtendsPos, "service %s extends the unknown service %s", s.Name, s.Extends)
		return
	}
	p, steps := r.scopes[f].services[name], 0
	for up := p; up != nil; up = up.Parent {
		switch steps++; {
		case up == s:
			r.found.errorf(r.file, s.ExtendsPos, "service %s extends itself", s.Name)
			return
		case steps > idl.MaxChain:
			r.tooManyParents(s)
			return
		}
	}
	s.Parent, s.ParentFile = p, f.Path
}

// tooManyParents reports a service that has more parents than may stand behind each
// other, where it names the first of them.
func (r *resolver) tooManyParents(s *idl.Service) {
	r.found.errorf(s.File, s.ExtendsPos, "service %s extends more than %d others", s.Name, idl.MaxChain)
}

// methodNames reports names that s has twice, those of its parents included: on the
// wire a method is its name, and a server could not tell which one is meant.
func (r *resolver) methodNames(s *idl.Service) {
	steps := 0
	for up := s.Parent; up != nil; up = up.Parent {
		if steps++; steps > idl.MaxChain { // its parents were found after it was
			r.tooManyParents(s)
			return
		}
		r.methodsOf(up)
	}
	own := r.methodsOf(s)
	for _, m := range s.Methods {
		if old := own[m.Name]; old != m {
			r.found.errorf(r.file, m.Pos, "service %s has two methods %s, the first in line %d", s.Name, m.Name, old.Pos.Line)
			continue
		}
		for up := s.Parent; up != nil; up = up.Parent {
			if r.methodsOf(up)[m.Name] != nil {
				r.found.errorf(r.file, m.Pos, "method %s: %s has one of this name from service %s", m.Name, s.Name, up.Name)
			}
		}
	}
}

// methodsOf finds the methods of s by their names, those of its parents not
// among them; of two methods of one name the first one counts.
func (r *resolver) methodsOf(s *idl.Service) map[string]*idl.Method {
	byName := r.methods[s]
	if byName == nil {
		byName = make(map[string]*idl.Method, len(s.Methods))
		for _, m := range s.Methods {
			if byName[m.Name] == nil {
				byName[m.Name] = m
			}
		}
		r.methods[s] = byName
	}
	return byName
}
