package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

// targetFlags are those of the commands that call a service.
func targetFlags() []cli.Flag { return slices.Concat(schemaFlags(), linkFlags()) }

// A target is a method at an address, ready to be called.
type target struct {
	*link
	service *idl.Service // the one that was named
	method  *idl.Method  // of it, or of one that it extends
	rpc     *rpc.Method  // the same, for calls with dynamic.Args and dynamic.Result
}

// streams reports whether messages go either way one after the other.
func (t *target) streams() bool { return t.method.ClientStream || t.method.ServerStream }

// openTarget makes the client and finds the method in the IDL, for which the
// server may be asked. Whoever gets a target closes its client.
func openTarget(ctx context.Context, c *cli.Command, addr, path string) (*target, error) {
	l, err := openLink(c, addr)
	if err != nil {
		return nil, err
	}
	t := &target{link: l}
	if err := t.find(ctx, c, path); err != nil {
		_ = l.client.Close() // no call is under way
		return nil, err
	}
	return t, nil
}

// find finds the method in the schema that the flags or the server give. The
// path's form is looked at first: what is no path needs no server to be refused.
func (t *target) find(ctx context.Context, c *cli.Command, path string) error {
	if service, method, ok := strings.Cut(path, "/"); !ok || service == "" || method == "" {
		return usagef("%q is not Service/Method", path)
	}
	s, err := findSchema(ctx, c, t.link)
	if err != nil {
		return err
	}
	return t.of(s.Schema, path)
}

// of makes it the target of a method of a schema.
func (t *target) of(s *idl.Schema, path string) (err error) {
	if t.service, t.method, err = findMethod(s, path); err != nil {
		return err
	}
	if t.grpc && !isProto(t.service) {
		return usagef("%s is of Thrift, whose messages gRPC does not carry; leave protocol=grpc out of the address", t.service.Name)
	}
	if isProto(t.service) {
		t.rpc, err = protoMethod(s, t.service, t.method, t.client.Thrift)
		return err
	}
	if t.rpc, err = dynamic.Method(t.service, t.method); err == nil {
		t.rpc.Codec = recoder{t.rpc.Codec}
	}
	return err
}

// findMethod looks Service/Method up, by their exact names or else whatever
// the case. A file that was named comes before those that it includes; the
// name of a file or of one of its namespaces may stand before a dot.
//
// The method may be one of a service that this one extends; the call goes to the one that
// was named.
func findMethod(schema *idl.Schema, path string) (*idl.Service, *idl.Method, error) {
	service, name, _ := strings.Cut(path, "/")
	within := ""
	if i := strings.LastIndexByte(service, '.'); i >= 0 {
		within, service = service[:i], service[i+1:]
	}
	var all []*idl.Service
	for _, listed := range []bool{true, false} {
		for _, f := range schema.Files {
			if f.Listed == listed && (within == "" || called(f, within)) {
				all = append(all, f.Services...)
			}
		}
	}
	if within != "" && len(all) == 0 {
		return nil, nil, usagef("the IDL has no services in a file or namespace %q", within)
	}
	s, known := pick(all, func(s *idl.Service) string { return s.Name }, service)
	if s == nil {
		return nil, nil, usagef("no service %q in the IDL%s; it has %s", service, didYouMean(service, namesOf(all, func(s *idl.Service) string { return s.Name })), known)
	}
	var methods []*idl.Method
	for of := s; of != nil; of = of.Parent {
		methods = append(methods, of.Methods...)
	}
	m, known := pick(methods, func(m *idl.Method) string { return m.Name }, name)
	if m == nil {
		return nil, nil, usagef("service %s has no method %q%s; it has %s", s.Name, name, didYouMean(name, namesOf(methods, func(m *idl.Method) string { return m.Name })), known)
	}
	return s, m, nil
}

// called reports whether a file or one of its namespaces has a name.
func called(f *idl.File, name string) bool {
	return f.Name == name || f.Package == name || slices.ContainsFunc(f.Namespaces, func(n idl.Namespace) bool { return n.Name == name })
}

// pick gives the item of a name, exact before whatever the case, or else the
// names that there are, for an error's text: at most twenty, as an IDL may have
// hundreds and the error is one line.
func pick[T any](items []*T, nameOf func(*T) string, name string) (*T, string) {
	same := func(eq func(a, b string) bool) *T {
		if i := slices.IndexFunc(items, func(x *T) bool { return eq(nameOf(x), name) }); i >= 0 {
			return items[i]
		}
		return nil
	}
	if x := same(func(a, b string) bool { return a == b }); x != nil {
		return x, ""
	}
	if x := same(strings.EqualFold); x != nil {
		return x, ""
	}
	names := namesOf(items, nameOf)
	if len(names) == 0 {
		return nil, "none"
	}
	const most = 20
	if extra := len(names) - most; extra > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", extra))
	}
	return nil, strings.Join(names, ", ")
}

// namesOf gives the names in the order of the IDL.
func namesOf[T any](items []*T, nameOf func(*T) string) (names []string) {
	for _, x := range items {
		names = append(names, nameOf(x))
	}
	return names
}
