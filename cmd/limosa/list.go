package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/rpc"
)

// askTime bounds what is waited for a server's IDL, unless -timeout says otherwise.
const askTime = 10 * time.Second

// timeoutFlag is -timeout of the commands that ask a server once.
func timeoutFlag() cli.Flag {
	return &cli.DurationFlag{Name: "timeout", Value: askTime, Usage: "give up after this time (10s if not given); 0: never"}
}

// withTimeout bounds ctx by -timeout.
func withTimeout(ctx context.Context, c *cli.Command) (context.Context, context.CancelFunc, error) {
	switch timeout := c.Duration("timeout"); {
	case timeout < 0:
		return ctx, func() {}, usagef("-timeout %v: want a time above zero, or 0 for none", timeout)
	case timeout > 0:
		ctx, cancel := context.WithTimeout(ctx, timeout)
		return ctx, cancel, nil
	}
	return ctx, func() {}, nil
}

// A listedService is a line of list -o json.
type listedService struct {
	Service string   `json:"service"`
	Methods []string `json:"methods,omitempty"` // as the IDL has them; missing if the server has no IDL of it
	Omitted int      `json:"omitted,omitempty"` // how many more it inherits, which are not shown again
}

// maxInherited is how many methods are shown at the services that inherit them, in all.
// A parent is shown itself: of a server's IDL that means ill there are services by the
// thousand, each with the thousands of methods of one.
const maxInherited = 10_000

// listCommand needs no name, so it is what a user tries first at an unknown server.
func (a *app) listCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "show the services and methods of a server or of an IDL file",
		UsageText: "limosa list [ADDR | -idl FILE]",
		Description: `Asks the server at ADDR, or reads the IDL: -idl FILE, or ./idl/* if
there is neither. A server answers if its program says so, with reflection.With.
With ?protocol=grpc behind ADDR it is any server of gRPC, asked by gRPC's own
reflection.

Example:
  limosa list :8888
  limosa list ':50051?protocol=grpc'`,
		Flags: slices.Concat(schemaFlags(), linkFlags(), []cli.Flag{timeoutFlag(), outputFlag()}),
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := nargs(c, 0, 1, "at most one ADDR"); err != nil {
				return err
			}
			s, end, err := a.schemaOf(ctx, c, c.Args().First())
			if err != nil {
				return err
			}
			defer end()
			return a.list(s, c.String("o") == "json")
		},
	}
}

// schemaOf gives the schema of the server at addr, or of files if it is empty.
// end gives back the connection.
//
// What is shown is what the server serves. The project's files stand in for it if it does
// not tell, which is said; not for a server that could not be asked.
func (a *app) schemaOf(ctx context.Context, c *cli.Command, addr string) (s *schema, end func(), err error) {
	end = func() {}
	ctx, cancel, err := withTimeout(ctx, c)
	if err != nil {
		return nil, end, err
	}
	defer cancel()
	var l *link
	if addr != "" {
		if l, err = openLink(c, addr); err != nil {
			return nil, end, err
		}
		end = func() { _ = l.client.Close() } // nothing is under way
	}
	s, err = findSchema(ctx, c, l)
	if err == nil && s.asked != nil {
		if rpc.CodeOf(s.asked) != rpc.Unimplemented {
			err = notTold(s.asked)
		} else {
			fmt.Fprintf(a.stderr, "limosa %s: the server at %s does not tell its IDL; this is what idl/* says\n", c.Name, addr)
		}
	}
	if err != nil {
		end()
	}
	return s, end, err
}

// list prints services: those that the server gave, in its order and with those
// it has no IDL of, or those of the files that were named, without what these
// include.
func (a *app) list(s *schema, asJSON bool) error {
	known := map[string]*idl.Service{}
	var names []string
	for _, f := range s.Files {
		for _, svc := range f.Services {
			if name := serviceName(svc); known[name] == nil {
				known[name] = svc
				if s.served == nil && f.Listed {
					names = append(names, name)
				}
			}
		}
	}
	told := map[string]bool{}
	for _, svc := range s.served {
		if !told[svc.Name] { // a server may say a name ever so often
			told[svc.Name] = true
			names = append(names, svc.Name)
		}
	}
	room := maxInherited
	for i, name := range names {
		svc := known[name]
		methods, omitted := methodsOf(svc, &room)
		if asJSON {
			l := listedService{Service: name, Omitted: omitted}
			for _, m := range methods {
				l.Methods = append(l.Methods, signature(svc, m))
			}
			if err := a.printLine(l); err != nil {
				return err
			}
			continue
		}
		var b strings.Builder
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(a.bold(name) + "\n")
		for _, m := range methods {
			b.WriteString("  " + signature(svc, m) + "\n")
		}
		if omitted > 0 {
			fmt.Fprintf(&b, "  (and %d methods of %s)\n", omitted, svc.Parent.Name)
		}
		if svc == nil {
			b.WriteString("  (the server has no IDL of it)\n")
		}
		if _, err := io.WriteString(a.stdout, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// methodsOf gives a service's methods and, if there is room for as many, which they take,
// those that it inherits; else omitted is how many these are.
//
// Its own come first. s may be nil, which has none.
func methodsOf(s *idl.Service, room *int) (methods []*idl.Method, omitted int) {
	if s == nil {
		return nil, 0
	}
	for p := s.Parent; p != nil; p = p.Parent {
		omitted += len(p.Methods)
	}
	if omitted > *room {
		return s.Methods, omitted
	}
	*room -= omitted
	for ; s != nil; s = s.Parent {
		methods = append(methods, s.Methods...)
	}
	return methods, 0
}

// signature writes a method as an IDL has it.
func signature(svc *idl.Service, m *idl.Method) string {
	if isProto(svc) {
		return protoSignature(m)
	}
	var b strings.Builder
	if m.Oneway {
		b.WriteString("oneway ")
	}
	b.WriteString(streamed(m.Result, m.ServerStream) + " " + m.Name + "(")
	for i, f := range m.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d: %s %s", f.ID, streamed(f.Type, m.ClientStream), f.Name)
	}
	b.WriteByte(')')
	for i, f := range m.Throws {
		sep := ", "
		if i == 0 {
			sep = " throws ("
		}
		fmt.Fprintf(&b, "%s%d: %v %s", sep, f.ID, f.Type, f.Name)
	}
	if len(m.Throws) > 0 {
		b.WriteByte(')')
	}
	return b.String()
}

// streamed writes a type as it stands in a method's signature.
func streamed(t *idl.Type, stream bool) string {
	if stream {
		return "stream<" + t.String() + ">"
	}
	return t.String()
}
