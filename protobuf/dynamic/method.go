package dynamic

import (
	"fmt"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
)

// A Method is a method whose messages are Messages.
type Method struct {
	// RPC describes it for an rpc.Caller, with protobuf.Codec: calls have a *Message of In and one of Out. A
	// server's handler gets such, too.
	RPC *rpc.Method
	In  string // the full name of the request's type
	Out string // of the answer's

	types *Types
}

// Method finds what calls of a method of the schema need. m is one of svc's.
func (t *Types) Method(svc *idl.Service, m *idl.Method) (*Method, error) {
	if len(m.Args) != 1 || m.Args[0].Type.True().Kind != idl.StructRef || m.Result == nil || m.Result.True().Kind != idl.StructRef {
		return nil, fmt.Errorf("dynamic: %s.%s: a method has one message on each side", svc.Name, m.Name)
	}
	in, out := m.Args[0].Type.True().Struct, m.Result.True().Struct
	x := &Method{In: fullName(in.File, in.Name), Out: fullName(out.File, out.Name), types: t}
	for _, name := range []string{x.In, x.Out} {
		if t.messages[name] == nil {
			return nil, fmt.Errorf("dynamic: %s.%s: the schema has no message %s", svc.Name, m.Name, name)
		}
	}
	_, idempotent := m.Annotations.Find("idempotent")
	x.RPC = &rpc.Method{Service: fullName(svc.File, svc.Name), Name: m.Name, Kind: kindOf(m), Idempotent: idempotent, Codec: protobuf.Codec{}, New: x.serve}
	return x, nil
}

// Request makes an empty request.
func (x *Method) Request() *Message { return x.types.New(x.In) }

// Answer makes an empty answer.
func (x *Method) Answer() *Message { return x.types.New(x.Out) }

// serve makes a server's call.
func (x *Method) serve() *rpc.Call { return new(rpc.ServerCall).Init(x.Request(), x.Answer()) }

// kindOf is how many messages a method has each way. None of Protobuf is oneway.
func kindOf(m *idl.Method) rpc.Kind {
	switch {
	case m.ClientStream && m.ServerStream:
		return rpc.Bidi
	case m.ClientStream:
		return rpc.ClientStream
	case m.ServerStream:
		return rpc.ServerStream
	}
	return rpc.Unary
}
