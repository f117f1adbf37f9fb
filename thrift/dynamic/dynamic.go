// Package dynamic makes Thrift calls from an IDL that is known only at run
// time: messages are JSON text on this side and Thrift's Binary protocol on the
// wire, and are turned from the one into the other without anything in between.
//
// Method gives what an rpc.Caller needs for a call; tools fill Args with JSON
// and find JSON in Result. The package is for tools and gateways.
//
// How values look in JSON:
//
//	bool                 true, false
//	i8 … i64             numbers; decimal strings are taken too, for tools that round above 2^53
//	double               numbers; "NaN", "Infinity", "-Infinity"
//	string               strings; bytes that are not UTF-8 become U+FFFD
//	binary               base64, with or without padding; the URL alphabet is taken too
//	uuid                 "00112233-4455-6677-8899-aabbccddeeff"
//	enum                 the name; a number if it has none, and numbers are taken
//	list, set            arrays
//	map                  objects with the key as text; with structs and containers as keys
//	                     arrays of {"key": …, "value": …}, which are taken for every map
//	struct, exception    objects by field name
//	union                objects with one member
//
// null stands for an absent field. A name that the IDL does not have is an
// error, and so is a required field that is missing. Defaults of the IDL are
// filled in on both ways.
package dynamic

import (
	"errors"
	"fmt"
	"slices"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// Args are the arguments of a call: a JSON object by their names. For a method
// with streams they are one message to the server, whose fields they hold
// without the argument's name. Empty text stands for {}.
type Args struct {
	JSON []byte // owned by whoever made it; Decode sets fresh memory
}

// A Result is the outcome of a call; for a method with streams, one message from
// the server, whose Field is "success".
type Result struct {
	Field string // "success", the name of a declared exception, or "" for none (void)
	JSON  []byte // that field's value
}

// A Message is one struct of any type; see Struct.
type Message struct {
	JSON []byte
}

// An Exception is a declared exception of a method. It is what a call of Method
// returns, and what a server's handler may return.
type Exception struct {
	Field string // its name in the throws clause
	Type  string // of the IDL
	JSON  []byte // its fields
}

// Error gives the type and the fields.
func (e *Exception) Error() string { return e.Type + " " + string(e.JSON) }

// An Error says where JSON does not fit the IDL. rpc.CodeOf of it is
// rpc.InvalidArgument.
type Error struct {
	Path   string // such as req.items[3].name
	Offset int    // in the JSON text: where what is wrong begins
	Why    string
}

// Error gives path and reason.
func (e *Error) Error() string {
	if e.Path == "" {
		return "dynamic: " + e.Why
	}
	return "dynamic: " + e.Path + ": " + e.Why
}

// Unwrap gives the code.
func (e *Error) Unwrap() error { return rpc.InvalidArgument }

// A Codec turns Args and Result of one method, or a Message of one type, into
// Thrift's Binary protocol and back. It is made by Struct or Method and safe
// for concurrent use.
//
// It does not keep the schema that it was made from, nor look at it again.
type Codec struct {
	// MaxBytes is how long an encoded message may become; 0: 16 MiB.
	MaxBytes int

	args, result, message *shape
	stream                bool // args and result are messages, not argument lists
}

var _ rpc.Codec = &Codec{}

// How deep JSON may nest: the default of rpc.Limits, since an encode has no Limits. One
// level is a struct, list, set or map; the struct that is encoded is at level 1.
const maxDepth = 64

// Struct makes a codec for Messages of one type.
//
// All types that the struct refers to are compiled too. An error says which default is
// too large, or which type has no form in Thrift.
func Struct(s *idl.Struct) (*Codec, error) {
	c := newCompiler()
	sh := c.structure(s)
	return &Codec{message: sh}, c.finish()
}

// Method describes a method of an IDL for calls with Args and Result. svc is
// the service that is called; m may be one of its parents'. Calls of a method with
// streams go through rpc.Converse, whose stream sends Args and receives Results;
// each is on the wire the struct alone, and what the method throws means nothing.
func Method(svc *idl.Service, m *idl.Method) (*rpc.Method, error) {
	c := newCompiler()
	codec := &Codec{stream: m.ClientStream || m.ServerStream}
	if codec.stream {
		if len(m.Args) != 1 || m.Args[0].Type.True().Kind != idl.StructRef || m.Result == nil || m.Result.True().Kind != idl.StructRef {
			return nil, fmt.Errorf("dynamic: %s.%s: a stream has one struct on each side", svc.Name, m.Name)
		}
		codec.args, codec.result = c.structure(m.Args[0].Type.True().Struct), c.structure(m.Result.True().Struct)
	} else {
		codec.args = c.fields(m.Name+"'s arguments", m.Args)
		codec.result = c.results(m)
	}
	if err := c.finish(); err != nil {
		return nil, err
	}
	r := &rpc.Method{Service: svc.Name, Name: m.Name, Kind: kindOf(m), Codec: codec, New: stub.New[Args, Result]}
	if !codec.stream {
		r.Except, r.Raise = codec.except, codec.raise
	}
	return r, nil
}

// kindOf is the shape of a method by its IDL.
func kindOf(m *idl.Method) rpc.Kind {
	switch {
	case m.Oneway:
		return rpc.Oneway
	case m.ClientStream && m.ServerStream:
		return rpc.Bidi
	case m.ClientStream:
		return rpc.ClientStream
	case m.ServerStream:
		return rpc.ServerStream
	}
	return rpc.Unary
}

// except puts a declared exception into a result.
//
// A field that the method does not declare is none of it: then the error goes out as any
// other.
func (c *Codec) except(result any, err error) bool {
	x, ok := errors.AsType[*Exception](err)
	if !ok || x.Field == success || c.result.find(x.Field) == nil {
		return false
	}
	*result.(*Result) = Result{Field: x.Field, JSON: x.JSON}
	return true
}

// raise gives the exception that a result holds, or an error if there should
// be a result and is none.
func (c *Codec) raise(result any) error {
	r := result.(*Result)
	switch {
	case r.Field == "" && c.result.find(success) != nil:
		return raw.NoResult()
	case r.Field == "" || r.Field == success:
		return nil
	}
	return &Exception{Field: r.Field, Type: c.result.find(r.Field).t.shape.name, JSON: r.JSON}
}

// Append writes the Thrift form of a *Args, *Result or *Message at the end of
// out, all of it copied; with an error out is as it was. Errors wrap an *Error and have the code rpc.InvalidArgument.
func (c *Codec) Append(out *buf.Out, msg any) error {
	sh, text, err := c.source(msg)
	if err != nil {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Err: err}
	}
	if err := newWriter(out, text, c.MaxBytes).message(sh, msg); err != nil {
		return &rpc.Error{Code: rpc.InvalidArgument, Op: "encode", Err: err}
	}
	return nil
}

// source finds the type and the text of what is to be encoded.
//
// That it is another type is a mistake of the program, not of the peer: hence the code
// Internal.
func (c *Codec) source(msg any) (*shape, []byte, error) {
	switch m := msg.(type) {
	case *Args:
		if c.args != nil {
			return c.args, m.JSON, nil
		}
	case *Result:
		if c.result != nil {
			return c.result, m.JSON, nil
		}
	case *Message:
		if c.message != nil {
			return c.message, m.JSON, nil
		}
	}
	return nil, nil, fmt.Errorf("dynamic: %T is not what this codec was made for", msg)
}

// Decode fills a *Args, *Result or *Message from body, all of which is copied.
// Depth is bounded by lim, the text by four times lim's budget for decoding
// (names take room in JSON). Errors wrap a *thrift.SyntaxError and have the code
// rpc.InvalidArgument.
func (c *Codec) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	_, err := c.DecodeWeighed(body, msg, lim)
	return err
}

// DecodeWeighed makes a Codec an rpc.Weigher: the text is what a message takes.
//
// Unlike the plans it counts what was made, not what was charged on the way.
func (c *Codec) DecodeWeighed(body buf.View, msg any, lim *rpc.Limits) (int, error) {
	sh, _, err := c.source(msg)
	if err != nil {
		return 0, &rpc.Error{Code: rpc.Internal, Op: "decode", Err: err}
	}
	if lim == nil {
		lim = rpc.Limits{}.WithDefaults()
	}
	r := reader{p: body.Bytes(), max: 4 * lim.DecodeBudget(body.Len())}
	r.out = make([]byte, 0, 2*body.Len()+64) // text takes a little more than bytes
	r.members, r.last = make([]member, 0, 16), make([]int, 0, 64)
	r.decode(sh, lim.Depth)
	if r.err != nil {
		return 0, &rpc.Error{Code: rpc.InvalidArgument, Op: "decode", Err: r.err}
	}
	switch m := msg.(type) {
	case *Args:
		m.JSON = r.out
	case *Message:
		m.JSON = r.out
	case *Result:
		if c.stream {
			*m = Result{Field: success, JSON: r.out}
			return cap(r.out), nil
		}
		*m = Result{}
		if r.field != nil {
			*m = Result{Field: r.field.name, JSON: slices.Clone(r.value)}
		}
	}
	return cap(r.out), nil
}
