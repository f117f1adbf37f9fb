package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/cmd/protoparse"
	grpcreflection "github.com/limosa-rpc/limosa/grpc/reflection"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/readers"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
	"github.com/limosa-rpc/limosa/reflection"
	"github.com/limosa-rpc/limosa/rpc"
)

// schemaFlags say where the IDL is.
func schemaFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "idl", Usage: "IDL FILE that has the service; if not given the server is asked, then ./idl/* is read"},
		&cli.StringSliceFlag{Name: "I", Usage: "directory to search for included files; may be repeated"},
	}
}

// A schema is what is known of a server's services.
type schema struct {
	*idl.Schema
	// served has the names that the server gave, nil if a file was read.
	served []rpc.Service
	// asked is why the server, which was asked first, did not give it; nil: it did, or
	// was not asked.
	asked error
}

// findSchema reads the file that is named, or asks the server, or reads what
// lies in the project here. server may be nil: there is none to ask.
//
// The server comes before the project, because what it serves is what will be
// called. If it cannot be reached the project's IDL is good enough: the call
// itself will say what is wrong with the server.
func findSchema(ctx context.Context, c *cli.Command, server *link) (*schema, error) {
	include := c.StringSlice("I")
	if file := c.String("idl"); file != "" {
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			return nil, usagef("-idl %s is a directory; name one file in it", file)
		}
		return loadIDL([]string{file}, include)
	}
	var asked error
	if server != nil {
		var s *schema
		if s, asked = askSchema(ctx, server); asked == nil {
			return s, nil
		}
	}
	files := idls().In("idl")
	switch {
	case len(files) > 0:
		s, err := loadIDL(files, include)
		if s != nil {
			s.asked = asked
		}
		return s, err
	case asked == nil:
		return nil, usagef("which IDL? give -idl FILE, or run where idl/* lies")
	case rpc.CodeOf(asked) == rpc.Unimplemented && server.grpc:
		return nil, usagef("the server at %s has no reflection of gRPC (grpc/reflection.With in a Limosa server's main.go adds it, reflection.Register in one of grpc-go); give -idl FILE, or run where idl/* lies", server.client.Target)
	case rpc.CodeOf(asked) == rpc.Unimplemented:
		return nil, usagef("the server at %s does not tell its IDL (reflection.With in its main.go would); give -idl FILE, or run where idl/* lies", server.client.Target)
	}
	return nil, notTold(asked)
}

// notTold is the error of a command that needs the IDL of a server which could not be asked.
//
// It advises only what can help: with a server that cannot be reached the call itself would
// fail next, and one that lets in only whom it knows may well describe itself to those.
func notTold(asked error) error {
	advice := " (give -idl FILE to do without)"
	switch code := rpc.CodeOf(asked); {
	case code == rpc.Unauthenticated || code == rpc.PermissionDenied:
		advice = " (give what it asks of callers by -H key=value or -cert, or -idl FILE to do without)"
	case code == rpc.Unavailable && rpc.SentOf(asked) == rpc.NotSent:
		advice = ""
	}
	return fmt.Errorf("asking the server for its IDL%s: %w", advice, asked)
}

// maxTold is how much IDL of a server is read, in bytes: many times what a large program
// has. What is made of it takes up to two hundred times as much memory.
const maxTold = 4 << 20

// askSchema asks the server, with the metadata of the calls to come: a server
// that lets in only callers with a token asks for it here too. Services of one
// file have one IDL, and Unpack takes a file that comes twice once. By gRPC it is
// asked as everybody asks.
//
// The text is somebody else's: Unpack trusts it no more than any other file.
func askSchema(ctx context.Context, server *link) (*schema, error) {
	for _, p := range server.header {
		if p.Scope == rpc.Persistent {
			ctx = limosa.With(ctx, limosa.Persistent(p.Key, p.Value))
		} else {
			ctx = limosa.With(ctx, limosa.Header(p.Key, p.Value))
		}
	}
	ask := reflection.Services
	if server.grpc {
		ask = grpcreflection.Services
	}
	served, err := ask(ctx, server.client)
	if err != nil {
		return nil, err
	}
	s := &schema{served: served}
	if s.Schema, err = told(served); err != nil {
		return nil, err
	}
	return s, nil
}

// told makes a schema of what a server says of its services: Thrift's IDL as text, of Protobuf's services
// descriptors.
func told(served []rpc.Service) (*idl.Schema, error) {
	var packed strings.Builder
	var descriptors []string
	texts, total := map[string]bool{}, 0
	for _, s := range served {
		if texts[s.IDL] { // else a short message could name a long text ever so often
			continue
		}
		texts[s.IDL] = true
		if total += len(s.IDL); strings.HasPrefix(s.IDL, "\n") {
			descriptors = append(descriptors, s.IDL)
		} else {
			packed.WriteString(s.IDL)
		}
	}
	if total > maxTold {
		return nil, fmt.Errorf("the server's IDL has %d bytes; %d are read", total, maxTold)
	}
	all, err := new(idl.Schema), error(nil)
	if packed.Len() > 0 {
		all, err = thriftidl.Unpack(packed.String())
	}
	if err == nil && len(descriptors) > 0 {
		var more *idl.Schema
		if more, err = unpackProto(descriptors); err == nil {
			all.Files = append(all.Files, more.Files...)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the server's IDL cannot be read: %w", err)
	}
	return all, nil
}

// idls are the IDLs that limosa reads, those of the two limosa-gen: for what is generated
// or compared.
func idls() readers.Set { return protoparse.Readers() }

// loadIDL reads files. Of several faults the first is told and the others are
// counted: errors of this tool are one line, and limosa gen shows them all.
func loadIDL(files, include []string) (*schema, error) {
	s, err := idls().Load(readers.Source{Include: include}, files...)
	found, ok := errors.AsType[idl.Errors](err)
	if !ok {
		return &schema{Schema: s}, err
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
