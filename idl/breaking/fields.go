package breaking

import (
	"fmt"

	"github.com/limosa-rpc/limosa/idl"
)

// Fields, arguments and declared exceptions are all lists of fields with ids, and are
// compared by one piece of code. The rules' names tell them apart, and so does what
// harms whom:
//
//	            gone      new        another presence
//	field       source    —          source, wire where required comes or goes
//	variant     wire      behavior   there is none
//	argument    source    source     as of a field
//	exception   wire      behavior   it has none

// A fieldList is the fields of a struct or union, the arguments of a method, or
// its declared exceptions, in both versions.
type fieldList struct {
	role     string // the rules' prefix: field, argument, exception
	of       string // what a text says behind the field's name
	union    bool
	from, to *idl.File
}

// structs compares two structs, unions or exceptions. A union's bytes are a struct's,
// but a reader of one takes a message with two fields for wrong.
func (c *comparer) structs(a, b *idl.Struct, from, to *idl.File) {
	at := place{to, b.Pos, false}
	switch {
	case a.Kind == b.Kind:
	case a.Kind == idl.Union || b.Kind == idl.Union:
		c.add("union-changed", at, "%s was %s and is %s", b.Name, a.Kind, b.Kind)
	default:
		c.add("type-kind-changed", at, "%s was %s and is %s", b.Name, a.Kind, b.Kind)
	}
	l := &fieldList{"field", fmt.Sprintf("%s %s", b.Kind, b.Name), a.Kind == idl.Union && b.Kind == idl.Union, from, to}
	old, was := flat(a.Fields)
	new, is := flat(b.Fields)
	c.fields(l, old, new)
	byName := map[string]*idl.Field{}
	for _, n := range new {
		byName[n.Name] = n
	}
	for _, f := range old {
		if n := byName[f.Name]; n != nil && n.ID == f.ID && was[f] != is[n] {
			c.add("oneof-changed", place{to, n.Pos, false}, "field %s of %s was %s and is %s", n.Name, l.of, was[f], is[n])
		}
	}
}

// flat gives the fields of a struct as the wire has them, the members of oneofs among
// them, and says of each where it stands.
func flat(fields []*idl.Field) (all []*idl.Field, in map[*idl.Field]string) {
	in = map[*idl.Field]string{}
	for _, f := range fields {
		s := f.Type.True().Struct
		if s == nil || !s.Oneof {
			all = append(all, f)
			in[f] = "in no oneof"
			continue
		}
		all = append(all, s.Fields...)
		for _, member := range s.Fields {
			in[member] = "in oneof " + f.Name
		}
	}
	return all, in
}

// extensions compares what two versions of a file add to structs, struct by struct. An
// extension is a field.
func (c *comparer) extensions(old, new *idl.File) {
	was, names := extensionsOf(old)
	is, _ := extensionsOf(new)
	for _, name := range names {
		c.fields(&fieldList{role: "field", of: "extensions of " + name, from: old, to: new}, was[name], is[name])
	}
}

// extensionsOf gives the fields that f adds, by the struct and with their whole names,
// and the structs in the order of the file.
func extensionsOf(f *idl.File) (fields map[string][]*idl.Field, structs []string) {
	fields = map[string][]*idl.Field{}
	for _, x := range f.Extensions {
		field := *x.Field
		field.Name = x.Name
		if fields[x.Struct.Name] == nil {
			structs = append(structs, x.Struct.Name)
		}
		fields[x.Struct.Name] = append(fields[x.Struct.Name], &field)
	}
	return fields, structs
}

// fields compares two lists. A field is the same if its name is; where a name
// is gone and its id has a name that is new, with the same type, it was renamed. With
// another type its id was used again, which is what breaks most silently: old bytes
// are read as something that they are not.
func (c *comparer) fields(l *fieldList, old, new []*idl.Field) {
	byName, byID, known := map[string]*idl.Field{}, map[int32]*idl.Field{}, map[string]bool{}
	for _, f := range new {
		byName[f.Name], byID[f.ID] = f, f
	}
	for _, f := range old {
		known[f.Name] = true
	}
	taken := map[*idl.Field]bool{}
	for _, f := range old {
		n, m := byName[f.Name], byID[f.ID]
		switch {
		case n != nil:
			if n.ID != f.ID {
				c.add(l.role+"-id-changed", place{l.to, n.Pos, false}, "%s %s of %s had id %d and has %d", l.role, f.Name, l.of, f.ID, n.ID)
			}
			c.field(l, f, n)
		case m == nil || known[m.Name]:
			c.removed(l, f)
		default:
			taken[m] = true
			if c.types(f.Type, m.Type) == other {
				c.add(l.role+"-id-reused", place{l.to, m.Pos, false}, "id %d of %s was that of %s %s and is that of %s %s", f.ID, l.of, f.Type, f.Name, m.Type, m.Name)
				continue
			}
			c.add(l.role+"-renamed", place{l.to, m.Pos, false}, "%s %d of %s was named %s and is %s", l.role, f.ID, l.of, f.Name, m.Name)
			c.field(l, f, m)
		}
	}
	for _, f := range new {
		if !known[f.Name] && !taken[f] {
			c.added(l, f)
		}
	}
}

// field compares two versions of one field: its type, its default if the type is the
// same, its presence. The presence of a declared exception says nothing.
func (c *comparer) field(l *fieldList, a, b *idl.Field) {
	at := place{l.to, b.Pos, false}
	switch c.types(a.Type, b.Type) {
	case other:
		c.add(l.role+"-type-changed", at, "%s %s of %s was %s and is %s", l.role, b.Name, l.of, a.Type, b.Type)
	case sameBytes:
		c.add("type-respelled", at, "%s %s of %s was %s and is %s, which have the same bytes", l.role, b.Name, l.of, a.Type, b.Type)
	case same:
		if c.digests.value(a.Type, a.Default) != c.digests.value(b.Type, b.Default) {
			c.add("default-changed", at, "the default of %s %s of %s was %s and is %s", l.role, b.Name, l.of, brief(a.Default), brief(b.Default))
		}
	}
	if a.JSONName != b.JSONName && a.Name == b.Name {
		c.add("json-name-changed", at, "%s %s of %s was %q in JSON and is %q", l.role, b.Name, l.of, a.JSONName, b.JSONName)
	}
	switch {
	case a.Presence == b.Presence || l.role == "exception":
	case b.Presence == idl.Required:
		c.add("required-added", at, "%s %s of %s is required and was not", l.role, b.Name, l.of)
	case a.Presence == idl.Required:
		c.add("required-removed", at, "%s %s of %s was required and is not", l.role, b.Name, l.of)
	case b.Presence == idl.Optional:
		c.add("optional-changed", at, "%s %s of %s is optional and was not", l.role, b.Name, l.of)
	default:
		c.add("optional-changed", at, "%s %s of %s was optional and is not", l.role, b.Name, l.of)
	}
}

// removed reports a field that has no new version, at its old place.
func (c *comparer) removed(l *fieldList, f *idl.Field) {
	rule, what := l.role+"-removed", l.role
	switch {
	case l.union:
		rule = "union-field-removed"
	case f.Presence == idl.Required && l.role != "exception":
		rule, what = "required-removed", "required "+l.role
	}
	c.add(rule, place{l.from, f.Pos, true}, "%s %s (id %d) of %s is gone", what, f.Name, f.ID, l.of)
}

// added reports a new field where somebody stumbles over it. A struct may have one
// more field that is not required: that is what ids are for.
func (c *comparer) added(l *fieldList, f *idl.Field) {
	at := place{l.to, f.Pos, false}
	switch {
	case l.union:
		c.add("union-field-added", at, "%s is new in %s: old readers will see no variant", f.Name, l.of)
	case l.role == "exception":
		c.add("exception-added", at, "exception %s of %s is new: old callers will see an answer without a result", f.Name, l.of)
	case f.Presence == idl.Required:
		c.add("required-added", at, "required %s %s of %s is new", l.role, f.Name, l.of)
	case l.role == "argument":
		c.add("argument-added", at, "argument %s of %s is new", f.Name, l.of)
	}
}

// methodsOf gives all methods of a service by their names, those of its parents too,
// with the service that declares them: of two of one name the one that is nearer to s.
func methodsOf(s *idl.Service) map[string]*methodOf {
	all := map[string]*methodOf{}
	for range idl.MaxChain { // loading has refused circles
		if s == nil {
			break
		}
		for _, m := range s.Methods {
			if all[m.Name] == nil {
				all[m.Name] = &methodOf{m, s}
			}
		}
		s = s.Parent
	}
	return all
}

// A methodOf is a method with the service that declares it, which may be a parent of
// the one that has it.
type methodOf struct {
	*idl.Method
	of *idl.Service
}

// services compares two versions of a service. A method is the same wherever among a
// service and its parents it is declared: on the wire it is its name. Methods of
// parents are compared here only if the service extends another one now; otherwise
// they are compared where they are declared.
func (c *comparer) services(a, b *idl.Service, from, to *idl.File) {
	now := methodsOf(b)
	for _, m := range a.Methods {
		n := now[m.Name]
		if n == nil {
			c.add("method-removed", place{from, m.Pos, true}, "method %s of service %s is gone", m.Name, a.Name)
			continue
		}
		c.method(m, n, from, b.Name)
	}
	if a.Parent == nil || c.now[a.Parent] == any(b.Parent) {
		return
	}
	is := "extends " + b.Extends
	if b.Parent == nil {
		is = "extends none"
	}
	c.add("service-base-changed", place{to, b.Pos, false}, "service %s extended %s and %s", b.Name, a.Extends, is)
	// The parents are gone through in their order, for findings in a fixed one.
	for up := a.Parent; up != nil; up = up.Parent {
		for _, m := range up.Methods {
			if n := now[m.Name]; n == nil {
				c.add("method-removed", place{to, b.Pos, false}, "method %s of service %s, which %s has, is gone", m.Name, b.Name, up.Name)
			} else if c.now[up] != any(n.of) {
				c.method(m, n, up.File, b.Name)
			}
		}
	}
}

// method compares two versions of a method: what it is called in a text is what users
// call it by, the service that has it now and not the one that declares it. from is
// the file of the old one.
func (c *comparer) method(a *idl.Method, n *methodOf, from *idl.File, service string) {
	b, to := n.Method, n.of.File
	of, at := "method "+service+"."+b.Name, place{to, b.Pos, false}
	if a.Oneway != b.Oneway {
		word := map[bool]string{true: "oneway", false: "answered"}
		c.add("oneway-changed", at, "%s was %s and is %s", of, word[a.Oneway], word[b.Oneway])
	}
	if a.ClientStream != b.ClientStream || a.ServerStream != b.ServerStream {
		c.add("stream-changed", at, "%s was %s and is %s", of, streams(a), streams(b))
	}
	switch c.types(a.Result, b.Result) {
	case other:
		c.add("result-type-changed", at, "the result of %s was %s and is %s", of, a.Result, b.Result)
	case sameBytes:
		c.add("type-respelled", at, "the result of %s was %s and is %s, which have the same bytes", of, a.Result, b.Result)
	}
	c.fields(&fieldList{role: "argument", of: of, from: from, to: to}, a.Args, b.Args)
	c.fields(&fieldList{role: "exception", of: of, from: from, to: to}, a.Throws, b.Throws)
}

// streams says which ways a method streams.
func streams(m *idl.Method) string {
	switch {
	case m.ClientStream && m.ServerStream:
		return "a stream in both directions"
	case m.ClientStream:
		return "a client's stream"
	case m.ServerStream:
		return "a server's stream"
	}
	return "without streams"
}
