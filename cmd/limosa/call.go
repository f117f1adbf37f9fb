package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

// maxBody bounds what is read as a request, from a file or from stdin.
const maxBody = 64 << 20

// A callReport is what call -o json tells; with streams in its last line.
type callReport struct {
	Result       json.RawMessage     `json:"result,omitempty"`
	Exception    string              `json:"exception,omitempty"` // its type; then value holds it
	Value        json.RawMessage     `json:"value,omitempty"`
	Error        *callError          `json:"error,omitempty"`
	TookUs       float64             `json:"took_us"`
	Peer         string              `json:"peer,omitempty"`
	Metadata     map[string][]string `json:"metadata,omitempty"`      // of the reply
	Messages     *int                `json:"messages,omitempty"`      // of a server's stream
	MessagesSent *int                `json:"messages_sent,omitempty"` // of a client's
}

// A callError is the failure of a call. Code is the name of an rpc.Code, which a script
// may compare; Message is for people and may change.
type callError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Sent    string `json:"sent"` // how far the call came
}

// callOptions are flags of call that say how its outcome is told.
type callOptions struct {
	verbose, asJSON bool
	limit           int // messages of a server's stream; 0: all
}

// callCommand is long for its help, and since the order of its steps is what a user sees:
// flags are found wrong before the server is asked, and the request before it is called.
func (a *app) callCommand() *cli.Command {
	return &cli.Command{
		Name: "call", Usage: "make one call, JSON in and JSON out",
		UsageText: "limosa call ADDR Service/Method [JSON | @FILE | -]",
		Description: `ADDR is host:port, :port, tls://host:port or unix:///path; with ?protocol=grpc
behind it any server of gRPC is called. The IDL is that of -idl; without it the server is asked, then ./idl/* is read. limosa
describe ADDR Service/Method shows a request to fill in. The JSON is an object with the
arguments by name; a method with one argument takes that argument itself as
well. Names of services and methods may be written in any case. - reads the
JSON from stdin. The exit code is 1 if the call failed or the method answered
with one of its exceptions, which is printed as JSON.

Streams: each message of a server's is printed as one line, when it arrives. A
client's are JSON values one after the other, from stdin if nothing is given;
each is sent once it was read. -timeout is for the whole call.

Example:
  limosa call :8888 Hello/Echo '{"message":"hi"}'
  limosa call ':50051?protocol=grpc' helloworld.Greeter/SayHello '{"name":"you"}'
  limosa call -idl idl/hello.thrift :8888 Hello/Count '{"n":1000}' -limit 3`,
		Flags: append(targetFlags(),
			timeoutFlag(),
			&cli.IntFlag{Name: "limit", Usage: "end a server's stream after this many messages; all if not given"},
			&cli.BoolFlag{Name: "v", Usage: "tell timing, the reply's metadata and the number of messages on stderr"},
			outputFlag(),
		),
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := nargs(c, 2, 3, "ADDR Service/Method [JSON]"); err != nil {
				return err
			}
			o, err := parseCallOptions(c)
			if err != nil {
				return err
			}
			// It bounds the question for the IDL as well: who gives a second wants to wait for no
			// longer, whatever it is that takes the time.
			ctx, cancel, err := withTimeout(ctx, c) // of all, with asking the server for its IDL
			if err != nil {
				return err
			}
			defer cancel()
			t, err := openTarget(ctx, c, c.Args().Get(0), c.Args().Get(1))
			if err != nil {
				return err
			}
			defer t.client.Close()
			// Only the IDL tells which methods have streams; so this comes after it.
			if o.limit > 0 && !t.method.ServerStream {
				return usagef("-limit counts the messages of a server's stream, and %s/%s sends none", t.service.Name, t.method.Name)
			}
			if t.streams() {
				return a.callStream(ctx, t, c.Args().Get(2), c.NArg() > 2, o)
			}
			body, err := a.body(c.Args().Get(2))
			if err != nil {
				return err
			}
			args, _, err := t.arguments(body)
			if err != nil {
				return err
			}
			return a.call(ctx, t, args, o)
		},
	}
}

// parseCallOptions checks the flags.
//
// A limit of zero is refused rather than taken for all: it is seldom what was meant.
func parseCallOptions(c *cli.Command) (callOptions, error) {
	o := callOptions{verbose: c.Bool("v"), asJSON: c.String("o") == "json", limit: c.Int("limit")}
	if c.IsSet("limit") && o.limit <= 0 {
		return o, usagef("-limit %d: want a number of messages, above zero", o.limit)
	}
	return o, nil
}

// body gives the JSON that an argument stands for: the argument itself, a
// file's or stdin's text, {} for nothing. It is checked here, with the place of
// the fault, since what reads it later knows only values that are JSON.
//
// It is read whole, and refused once it is a byte longer than maxBody.
func (a *app) body(arg string) ([]byte, error) {
	var text []byte
	var err error
	switch name, isFile := strings.CutPrefix(arg, "@"); {
	case arg == "":
		return []byte("{}"), nil
	case arg == "-":
		// One byte more than is allowed, to tell a text that is too long from one that just fits.
		text, err = io.ReadAll(io.LimitReader(a.stdin, maxBody+1))
	case isFile:
		if text, err = os.ReadFile(name); err != nil {
			return nil, fileError(err)
		}
	default:
		text = []byte(arg)
	}
	if err != nil {
		return nil, err
	}
	if len(text) > maxBody {
		return nil, usagef("the request is longer than %d bytes", maxBody)
	}
	// Into a raw message: only whether it is JSON is asked, and numbers stay as they are.
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		if at, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, usagef("the request is no JSON: %w at byte %d", err, at.Offset)
		}
		return nil, usagef("the request is no JSON: %w", err)
	}
	return text, nil
}

// call makes the call and prints what came of it: a result to stdout, also if
// it is an exception that the IDL declares, for it is an answer; a failure to
// stderr. With -o json all three are one line on stdout, so that a script reads
// one place.
//
// The exit code is that of a failure for an exception too: a script that asks whether the
// call did what it should need not read the answer.
func (a *app) call(ctx context.Context, t *target, args *dynamic.Args, o callOptions) error {
	var result dynamic.Result
	c := stub.Make(t.rpc, t.rpc.Service, args, &result)
	c.Header = t.header.Clone()
	start := time.Now()
	err := t.client.Do(ctx, c)
	var report callReport
	a.finished(t, c, time.Since(start), o.verbose, "", &report)
	// A declared exception comes as an error and is none: the method has answered.
	x, declared := errors.AsType[*dynamic.Exception](err)
	switch {
	case declared:
		report.Exception, report.Value = x.Type, x.JSON
	case err != nil:
		report.Error = &callError{Code: rpc.CodeOf(err).String(), Message: oneLine(err.Error()), Sent: rpc.SentOf(err).String()}
	// void is null, so that a line of -o json has a result unless something failed. A oneway
	// call has none at all: nobody knows whether it was carried out.
	case !t.method.Oneway && t.method.Result == nil:
		report.Result = json.RawMessage("null")
	case !t.method.Oneway:
		report.Result = result.JSON
	}
	switch {
	case o.asJSON:
		if printed := a.printLine(report); printed != nil {
			return printed
		}
		if err != nil {
			return codeError(exitFailed)
		}
		return nil
	case declared:
		if err := writeJSON(a.stdout, x.JSON); err != nil {
			return err
		}
		return fmt.Errorf("%s/%s answered with its exception %s", t.service.Name, t.method.Name, x.Type)
	case err != nil:
		return err
	case report.Result == nil:
		return nil
	}
	return writeJSON(a.stdout, report.Result)
}

// finished puts into a report what every call has, and tells it with -v; more
// ends the line.
//
// It goes to stderr: stdout has the result alone.
func (a *app) finished(t *target, c *rpc.Call, took time.Duration, verbose bool, more string, report *callReport) {
	report.TookUs, report.Peer = float64(took)/1e3, c.Peer
	if verbose {
		fmt.Fprintf(a.stderr, "%s/%s at %s took %v%s\n", t.service.Name, t.method.Name, c.Peer, took.Round(time.Microsecond), more)
	}
	// Of a failed call too: a server says there why, or when to come again.
	for _, p := range c.Trailer {
		if report.Metadata == nil {
			report.Metadata = make(map[string][]string)
		}
		report.Metadata[p.Key] = append(report.Metadata[p.Key], p.Value)
		if verbose {
			fmt.Fprintf(a.stderr, "  %s: %s\n", p.Key, p.Value)
		}
	}
}

// writeJSON prints indented.
//
// Nothing is parsed: members stay in the order of the message, and numbers as long as
// they are.
func writeJSON(w io.Writer, text json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// arguments gives the arguments of a call, as JSON and as they go out. What
// does not fit the IDL is an error of usage.
//
// The bytes are a part of a buffer that is given back: whoever keeps them copies.
func (t *target) arguments(body []byte) (*dynamic.Args, []byte, error) {
	named, err := t.byName(body)
	if err != nil {
		return nil, nil, err
	}
	args := &dynamic.Args{JSON: named}
	var out buf.Out
	defer out.Reset()
	if err := t.rpc.Codec.Append(&out, args); err != nil {
		// Without the code and the stage that a call would have: no call was made.
		if inner, ok := errors.AsType[*dynamic.Error](err); ok {
			err = inner
		}
		return nil, nil, usagef("the request does not fit %s/%s: %s", t.service.Name, t.method.Name, strings.TrimPrefix(err.Error(), "dynamic: "))
	}
	return args, out.Bytes(), nil
}

// byName gives body as an object of arguments by name: a method with one
// argument takes that argument itself as well. A stream's message has no name, and Protobuf's have none.
//
// The two forms are told apart by the argument's name. An object with that name
// alone is the arguments, unless the argument is a struct that has a field of
// the same name: then it is the arguments only if an object stands behind the
// name. An empty object is an empty struct or map, and no argument for others.
func (t *target) byName(body []byte) ([]byte, error) {
	if len(t.method.Args) != 1 || t.streams() || isProto(t.service) {
		return body, nil
	}
	arg := t.method.Args[0]
	var fields map[string]json.RawMessage
	// null is no object, though it can be read into a map.
	isObject := json.Unmarshal(body, &fields) == nil && fields != nil
	inner, named := fields[arg.Name]
	typ := arg.Type.True()
	switch {
	case isObject && len(fields) == 0 && typ.Kind != idl.StructRef && typ.Kind != idl.Map:
		return body, nil // not given: its default, or zero
	case isObject && named && len(fields) == 1 && !(typ.Kind == idl.StructRef && hasField(typ.Struct, arg.Name) && !isJSONObject(inner)):
		return body, nil
	}
	return json.Marshal(map[string]json.RawMessage{arg.Name: body})
}

// hasField tells whether a struct has a field of that name.
func hasField(s *idl.Struct, name string) bool {
	for _, f := range s.Fields {
		if f.Name == name {
			return true
		}
	}
	return false
}

// isJSONObject looks at the first character: that the text is JSON was checked before.
func isJSONObject(text json.RawMessage) bool {
	return strings.HasPrefix(strings.TrimSpace(string(text)), "{")
}
