package idl

import "strings"

// scope has what one file defines, by name.
type scope struct {
	types    map[string]any // *Typedef, *Enum, *Struct
	services map[string]*Service
	consts   map[string]*Const
	includes map[string][]*File // by the name that stands before the dot, each once
	places   map[*File]int      // of the files in includes: the index of the first include
}

// include notes what the file includes. A name is looked up here and not in the
// includes, so that many of both do not cost their product.
func (s *scope) include(list []*Include) {
	s.includes, s.places = map[string][]*File{}, map[*File]int{}
	for i, inc := range list {
		f := inc.File
		if _, twice := s.places[f]; f != nil && !twice {
			s.includes[f.Name], s.places[f] = append(s.includes[f.Name], f), i
		}
	}
}

// resolver ties names to definitions and checks what the grammar cannot.
type resolver struct {
	found  *findings
	file   *File
	done   map[*Const]bool  // see follow
	fitted map[*Const]bool  // see constant
	depth  map[*Typedef]int // see typedefDepth
	same   *types
}

func (r *resolver) resolve(files []*File) {
	for _, f := range files {
		r.collect(f)
	}
	for _, f := range files { // all names of all files before any value
		r.file = f
		r.types(f)
	}
	r.depth = map[*Typedef]int{}
	for _, f := range files {
		for _, d := range f.Typedefs {
			r.typedefDepth(d, 0)
		}
	}
	if len(r.found.errs) > 0 {
		return // what follows walks along resolved types
	}
	r.same, r.fitted = newTypes(), map[*Const]bool{}
	for _, f := range files {
		r.file = f
		r.parents(f)
	}
	for _, f := range files {
		r.file = f
		r.services(f)
		r.values(f)
	}
	r.done = map[*Const]bool{}
	for _, f := range files {
		r.constCycles(f)
	}
}

// collect puts the definitions of f into its scope.
func (r *resolver) collect(f *File) {
	f.scope = &scope{types: map[string]any{}, services: map[string]*Service{}, consts: map[string]*Const{}}
	f.scope.include(f.Includes)
	seen := map[string]Pos{}
	once := func(name string, pos Pos, what string) {
		if old, ok := seen[name]; ok {
			r.found.errorf(f, pos, "%s %s: the name is taken in line %d", what, name, old.Line)
			return
		}
		seen[name] = pos
	}
	for _, d := range f.Typedefs {
		f.scope.types[d.Name] = d
	}
	for _, e := range f.Enums {
		f.scope.types[e.Name] = e
		r.enumNames(f, e)
	}
	for _, s := range f.Structs {
		f.scope.types[s.Name] = s
	}
	for _, s := range f.Services {
		f.scope.services[s.Name] = s
	}
	for _, d := range inOrder(f) {
		once(d.name, d.pos, d.what)
	}
	clear(seen) // constants have a name space of their own
	for _, c := range f.Consts {
		once(c.Name, c.Pos, "constant")
		f.scope.consts[c.Name] = c
	}
}

type named struct {
	name, what string
	pos        Pos
}

// inOrder lists what shares the name space of types, as it stands in the file.
func inOrder(f *File) []named {
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

func (r *resolver) enumNames(f *File, e *Enum) {
	e.byName, e.byNumber = make(map[string]*EnumValue, len(e.Values)), make(map[int32]*EnumValue, len(e.Values))
	for _, v := range e.Values {
		if old := e.byName[v.Name]; old != nil {
			r.found.errorf(f, v.Pos, "enum %s has two values named %s, the first in line %d", e.Name, v.Name, old.Pos.Line)
		}
		e.byName[v.Name] = v
		if e.byNumber[v.Value] == nil {
			e.byNumber[v.Value] = v
		}
	}
}

// types resolves every type that f names.
func (r *resolver) types(f *File) {
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

func (r *resolver) fieldTypes(list []*Field) {
	for _, f := range list {
		r.typ(f.Type)
		r.fieldTypes(f.XsdAttrs)
	}
}

func (r *resolver) typ(t *Type) {
	if t.Key != nil {
		r.typ(t.Key)
	}
	if t.Elem != nil {
		r.typ(t.Elem)
	}
	if t.written == "" {
		return
	}
	f, name := r.file, t.written
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		prefix := name[:i]
		name = name[i+1:]
		if f = r.included(t.written, t.Pos, prefix, func(f *File) bool { return f.scope.types[name] != nil }); f == nil {
			r.found.errorf(r.file, t.Pos, "unknown type %s: nothing named %s is included", t.written, prefix)
			return
		}
	}
	t.Name, t.File = name, f.Path
	switch d := f.scope.types[name].(type) {
	case *Typedef:
		t.Kind, t.Typedef = TypedefRef, d
	case *Enum:
		t.Kind, t.Enum = EnumRef, d
	case *Struct:
		t.Kind, t.Struct = StructRef, d
	default:
		if f.scope.services[name] != nil {
			r.found.errorf(r.file, t.Pos, "%s is a service, not a type", t.written)
			return
		}
		r.found.errorf(r.file, t.Pos, "unknown type %s%s", t.written, r.hint(f, name))
	}
}

// hint names a type that is written alike.
func (r *resolver) hint(f *File, name string) string {
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

// included finds the file that is meant by the prefix of a name as written: of
// those that are included under it the one that has the name, else the first.
// nil: there is no such include.
func (r *resolver) included(written string, pos Pos, prefix string, has func(*File) bool) *File {
	var first, found *File
	for _, f := range r.file.scope.includes[prefix] {
		if first == nil {
			first = f
		}
		switch {
		case !has(f):
		case found != nil:
			r.found.errorf(r.file, pos, "%s is in %s and in %s, which are included under one name", written, found.Path, f.Path)
			return found
		default:
			found = f
		}
	}
	if found == nil {
		return first
	}
	return found
}

// typedefDepth reports typedefs that lead back to themselves, directly or
// through containers: neither Go nor anyone else can have such a type. Types
// nest at most maxChain deep through typedefs, so that all that walks along
// them may recurse.
func (r *resolver) typedefDepth(d *Typedef, above int) int {
	const walking = -1
	switch n := r.depth[d]; {
	case n == walking:
		r.found.errorf(d.File, d.Pos, "typedef %s stands for itself", d.Name)
		return 1
	case n > 0:
		return n
	case above > maxChain:
		r.found.errorf(d.File, d.Pos, "typedef %s is used through more than %d others", d.Name, maxChain)
		return 1
	}
	r.depth[d] = walking
	n := 1 + r.typeDepth(d.Type, above+1)
	if n > maxChain {
		r.found.errorf(d.File, d.Pos, "typedef %s leads through more than %d others", d.Name, maxChain)
		n = 1
	}
	r.depth[d] = n
	return n
}

func (r *resolver) typeDepth(t *Type, above int) int {
	switch {
	case t == nil:
		return 0
	case t.Typedef != nil:
		return r.typedefDepth(t.Typedef, above)
	}
	return max(r.typeDepth(t.Key, above), r.typeDepth(t.Elem, above))
}

func (r *resolver) parents(f *File) {
	for _, s := range f.Services {
		if s.Extends != "" {
			r.parent(s)
		}
	}
}

// services checks methods.
func (r *resolver) services(f *File) {
	for _, s := range f.Services {
		for _, m := range s.Methods {
			for _, x := range m.Throws {
				if t := x.Type.True(); t.Struct == nil || t.Struct.Kind != Exception {
					r.found.errorf(f, x.Type.Pos, "method %s throws %s, which is no exception", m.Name, x.Type)
				}
			}
		}
		r.methodNames(s)
	}
}

func (r *resolver) parent(s *Service) {
	f, name := r.file, s.Extends
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		prefix := name[:i]
		name = name[i+1:]
		f = r.included(s.Extends, s.extendsPos, prefix, func(f *File) bool { return f.scope.services[name] != nil })
	}
	if f == nil || f.scope.services[name] == nil {
		r.found.errorf(r.file, s.extendsPos, "service %s extends the unknown service %s", s.Name, s.Extends)
		return
	}
	p, steps := f.scope.services[name], 0
	for up := p; up != nil; up = up.Parent {
		switch steps++; {
		case up == s:
			r.found.errorf(r.file, s.extendsPos, "service %s extends itself", s.Name)
			return
		case steps > maxChain:
			r.tooManyParents(s)
			return
		}
	}
	s.Parent, s.ParentFile = p, f.Path
}

func (r *resolver) tooManyParents(s *Service) {
	r.found.errorf(s.File, s.extendsPos, "service %s extends more than %d others", s.Name, maxChain)
}

// methodNames reports names that s has twice, those of its parents included.
func (r *resolver) methodNames(s *Service) {
	steps := 0
	for up := s.Parent; up != nil; up = up.Parent {
		if steps++; steps > maxChain { // its parents were found after it was
			r.tooManyParents(s)
			return
		}
		up.nameMethods()
	}
	s.nameMethods()
	for _, m := range s.Methods {
		if old := s.byName[m.Name]; old != m {
			r.found.errorf(r.file, m.Pos, "service %s has two methods %s, the first in line %d", s.Name, m.Name, old.Pos.Line)
			continue
		}
		for up := s.Parent; up != nil; up = up.Parent {
			if up.byName[m.Name] != nil {
				r.found.errorf(r.file, m.Pos, "method %s: %s has one of this name from service %s", m.Name, s.Name, up.Name)
			}
		}
	}
}

// nameMethods sets byName; of two methods of one name the first one counts.
func (s *Service) nameMethods() {
	if s.byName != nil {
		return
	}
	s.byName = make(map[string]*Method, len(s.Methods))
	for _, m := range s.Methods {
		if s.byName[m.Name] == nil {
			s.byName[m.Name] = m
		}
	}
}
