package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

// targetFlags are those of the commands that call a service.
func targetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "idl", Usage: "IDL file that has the service; ./idl/*.thrift if not given"},
		&cli.StringSliceFlag{Name: "I", Usage: "directory to search for included files; may be repeated"},
		&cli.StringSliceFlag{Name: "H", Usage: "metadata to send, as key=value; may be repeated"},
		&cli.StringFlag{Name: "transport", Value: "ttheader", Usage: "framing: ttheader, theader, framed or buffered (ttheader if not given)"},
		&cli.BoolFlag{Name: "multiplexed", Usage: "send Service:Method as the method's name, as Apache's TMultiplexedProtocol does"},
	}
}

// A target is a method at an address, ready to be called.
type target struct {
	client  *limosa.Client
	service *idl.Service // the one that was named
	method  *idl.Method  // of it, or of one that it extends
	rpc     *rpc.Method  // the same, for calls with dynamic.Args and dynamic.Result
	header  rpc.Metadata
}

// streams reports whether messages go either way one after the other.
func (t *target) streams() bool { return t.method.ClientStream || t.method.ServerStream }

// openTarget reads the IDL, finds the method and makes the client; it does not
// connect.
func openTarget(c *cli.Command, addr, path string) (*target, error) {
	form, err := parseForm(c.String("transport"))
	if err != nil {
		return nil, err
	}
	if strings.Contains(addr, "?") && c.IsSet("transport") {
		return nil, usagef("-transport and ?thrift= in the address: give one of them")
	}
	t := &target{}
	if t.header, err = parseHeader(c.StringSlice("H")); err != nil {
		return nil, err
	}
	if bare := strings.Contains(addr, "?thrift=framed") || strings.Contains(addr, "?thrift=buffered"); len(t.header) > 0 && (bare || form == limosa.Framed || form == limosa.Buffered) {
		return nil, usagef("-H needs ttheader or theader: framed and buffered messages have no place for metadata")
	}
	schema, err := loadIDL(c.String("idl"), c.StringSlice("I"))
	if err != nil {
		return nil, err
	}
	if t.service, t.method, err = findMethod(schema, path); err != nil {
		return nil, err
	}
	if t.rpc, err = dynamic.Method(t.service, t.method); err != nil {
		return nil, err
	}
	// Dial tells at once what is wrong with an address.
	probe, err := limosa.Dial(addr)
	if err != nil {
		return nil, usageError{err}
	}
	_ = probe.Close() // it has no connection that could fail to close
	t.client = &limosa.Client{Target: addr, Thrift: form, Multiplexed: c.Bool("multiplexed")}
	return t, nil
}

func parseForm(s string) (limosa.Form, error) {
	forms := []limosa.Form{limosa.TTHeader, limosa.THeader, limosa.Framed, limosa.Buffered}
	i := slices.IndexFunc(forms, func(f limosa.Form) bool { return f.String() == s })
	if i < 0 {
		return 0, usagef("unknown -transport %q; it is ttheader, theader, framed or buffered", s)
	}
	return forms[i], nil
}

func parseHeader(pairs []string) (rpc.Metadata, error) {
	var m rpc.Metadata
	for _, p := range pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, usagef("-H %q is not key=value", p)
		}
		m.Add(key, value)
	}
	if err := m.Check(rpc.Limits{}.WithDefaults()); err != nil {
		return nil, usageError{err}
	}
	return m, nil
}

// loadIDL reads the file that is named, or those of a project that lies here.
func loadIDL(file string, include []string) (*idl.Schema, error) {
	files := []string{file}
	if file == "" {
		files, _ = filepath.Glob(filepath.Join("idl", "*.thrift")) // the pattern is right
		if len(files) == 0 {
			return nil, usagef("which IDL? give -idl FILE, or run where idl/*.thrift lies")
		}
	}
	schema, err := idl.Thrift{Include: include}.Load(files...)
	found, ok := errors.AsType[idl.Errors](err)
	if !ok {
		return schema, err
	}
	text := found[0].Head()
	if more := len(found) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more; limosa gen tells all)", more)
	}
	if found[0].Pos.Line == 0 && errors.Is(found[0], fs.ErrNotExist) {
		return nil, usagef("%s", text)
	}
	return nil, errors.New(text)
}

// findMethod looks Service/Method up, by their exact names or else whatever
// the case. A file that was named comes before those that it includes; the
// name of a file or of one of its namespaces may stand before a dot.
func findMethod(schema *idl.Schema, path string) (*idl.Service, *idl.Method, error) {
	service, name, ok := strings.Cut(path, "/")
	if !ok || service == "" || name == "" {
		return nil, nil, usagef("%q is not Service/Method", path)
	}
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
	s, known := pick(all, func(s *idl.Service) string { return s.Name }, service)
	if s == nil {
		return nil, nil, usagef("no service %q in the IDL; it has %s", service, known)
	}
	var methods []*idl.Method
	for of := s; of != nil; of = of.Parent {
		methods = append(methods, of.Methods...)
	}
	m, known := pick(methods, func(m *idl.Method) string { return m.Name }, name)
	if m == nil {
		return nil, nil, usagef("service %s has no method %q; it has %s", s.Name, name, known)
	}
	return s, m, nil
}

// called reports whether a file or one of its namespaces has a name.
func called(f *idl.File, name string) bool {
	return f.Name == name || slices.ContainsFunc(f.Namespaces, func(n idl.Namespace) bool { return n.Name == name })
}

// pick gives the item of a name, exact before whatever the case, or else the
// names that there are.
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
	var names []string
	for _, x := range items {
		names = append(names, nameOf(x))
	}
	if len(names) == 0 {
		return nil, "none"
	}
	const most = 20
	if extra := len(names) - most; extra > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", extra))
	}
	return nil, strings.Join(names, ", ")
}
