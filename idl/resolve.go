package idl

import "strings"

// scope has what one file defines, by name.
type scope struct {
	types    map[string]any // *Typedef, *Enum, *Struct
	services map[string]*Service
	consts   map[string]*Const
}

// resolver ties names to definitions and checks what the grammar cannot.
type resolver struct {
	found *findings
	file  *File
	done  map[*Const]bool  // see follow
	depth map[*Typedef]int // see typedefDepth
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
	seen := map[string]Pos{}
	for _, v := range e.Values {
		if old, ok := seen[v.Name]; ok {
			r.found.errorf(f, v.Pos, "enum %s has two values named %s, the first in line %d", e.Name, v.Name, old.Line)
		}
		seen[v.Name] = v.Pos
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
		if f = included(r.file, name[:i]); f == nil {
			r.found.errorf(r.file, t.Pos, "unknown type %s: nothing named %s is included", t.written, name[:i])
			return
		}
		name = name[i+1:]
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

// included finds the file that f includes under a name.
func included(f *File, name string) *File {
	for _, inc := range f.Includes {
		if inc.File != nil && inc.File.Name == name {
			return inc.File
		}
	}
	return nil
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
		f, name = included(r.file, name[:i]), name[i+1:]
	}
	if f == nil || f.scope.services[name] == nil {
		r.found.errorf(r.file, s.extendsPos, "service %s extends the unknown service %s", s.Name, s.Extends)
		return
	}
	p := f.scope.services[name]
	for up := p; up != nil; up = up.Parent {
		if up == s {
			r.found.errorf(r.file, s.extendsPos, "service %s extends itself", s.Name)
			return
		}
	}
	s.Parent, s.ParentFile = p, f.Path
}

func (r *resolver) methodNames(s *Service) {
	seen := map[string]Pos{}
	for _, m := range s.Methods {
		if old, ok := seen[m.Name]; ok {
			r.found.errorf(r.file, m.Pos, "service %s has two methods %s, the first in line %d", s.Name, m.Name, old.Line)
			continue
		}
		seen[m.Name] = m.Pos
		for up := s.Parent; up != nil; up = up.Parent {
			for _, old := range up.Methods {
				if old.Name == m.Name {
					r.found.errorf(r.file, m.Pos, "method %s: %s has one of this name from service %s", m.Name, s.Name, up.Name)
				}
			}
		}
	}
}
