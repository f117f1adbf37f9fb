// Package reflection tells tools of gRPC what a server serves, so that grpcurl, buf curl
// and the like need no IDL: grpc.reflection.v1.ServerReflection, and v1alpha beside it.
//
//	limosa.Serve(ctx, ":8888", reflection.With(hello.Service(impl))...)
//
// It is the program's choice: whoever can reach the server can then read the names and
// types of the services that were given. Comments of the IDL are not sent. Interceptors
// see its calls like all others. Limosa's own tools ask package limosa/reflection instead;
// a server may have both.
//
// # Protobuf
//
// Services of .proto files are described by the descriptors that generated code carries.
//
// # Thrift
//
// Services of Thrift are described as if they were of Protobuf, which lets tools list and
// show them. It does not let them be called: the messages of Thrift that a handler is given
// are none of Protobuf's, and calls to it over gRPC are Unimplemented.
//
//	Thrift                          described as
//	a.thrift in a folder b          file "b/a.thrift", package thrift.b_a, proto2
//	service S                       S, in a file "b/a.thrift/S" without a package, methods of its parents among its own
//	arguments of S.m                message S_m_args in the package of S's file; of a stream of messages, these themselves
//	a result that is a struct       that message
//	any other result, or none       message S_m_result with the field success, or none
//	struct, exception               message; required and optional as they are, others are optional
//	union                           message with one oneof
//	enum E { A }                    enum E { E_A }, since Protobuf's names are not the enum's own
//	bool, i64, double, string       the same, binary is bytes, uuid is string
//	i8, i16, i32                    int32
//	list<T>, set<T>                 repeated T
//	map<K, V>                       map<K, V>; of what Protobuf has no maps of, repeated messages of key and value
//	list, set, map in one of these  a message around it, such as List_i32 or Map_string_i32, with the field items
//	typedef                         the type that it stands for
//	field n                         field n; below 1: 100000-n; of Protobuf's own 19000 to 19999: 200000+n
//
// Names in JSON are those of the IDL. Exceptions are not tied to their methods.
package reflection

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/limosa-rpc/limosa/grpc/reflection/internal/reflectpb"
	"github.com/limosa-rpc/limosa/rpc"
)

//go:generate sh -c "cd ../../cmd && go run ./limosa-gen -q -M grpc/reflection/v1/reflection.proto=github.com/limosa-rpc/limosa/grpc/reflection/internal/reflectpb -prefix github.com/limosa-rpc/limosa/grpc/reflection -out ../grpc/reflection -I ../grpc/reflection/internal/idl ../grpc/reflection/internal/idl"

const (
	// streamsMost is how many tools may ask at once, over all connections.
	streamsMost = 100
	// nameMost is how long a name may be that is asked for, bytes.
	nameMost = 1024
)

// With gives the services and, behind them, those that describe them and themselves: version
// v1 and v1alpha, which older tools ask for.
func With(services ...rpc.Service) []rpc.Service {
	a := &answers{}
	v1 := reflectpb.Service(a)
	all := append(slices.Clip(services), v1, alpha(v1))
	a.index = sync.OnceValue(func() *index { return newIndex(all) })
	return all
}

// alpha is v1 under its older name. The messages are the same.
func alpha(v1 rpc.Service) rpc.Service {
	s := rpc.Service{Name: alphaPackage + ".ServerReflection", IDL: alphaIDL(v1.IDL)}
	for _, h := range v1.Methods {
		m := h.Method
		h.Method = &rpc.Method{Service: s.Name, Name: m.Name, Kind: m.Kind, Idempotent: m.Idempotent, Codec: m.Codec, New: m.New}
		s.Methods = append(s.Methods, h)
	}
	return s
}

// answers is the implementation of both services.
type answers struct {
	index   func() *index // made by the first question
	streams atomic.Int32
}

// ServerReflectionInfo implements grpc.reflection.v1.ServerReflection.
func (a *answers) ServerReflectionInfo(_ context.Context, asked iter.Seq2[*reflectpb.ServerReflectionRequest, error]) iter.Seq2[*reflectpb.ServerReflectionResponse, error] {
	return func(yield func(*reflectpb.ServerReflectionResponse, error) bool) {
		defer a.streams.Add(-1)
		if a.streams.Add(1) > streamsMost {
			yield(nil, rpc.Errorf(rpc.ResourceExhausted, "%d tools ask already", streamsMost))
			return
		}
		sent := map[string]bool{}
		for req, err := range asked {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(a.index().answer(req, sent), nil) {
				return
			}
		}
	}
}

// answer answers one question; sent are the files that its stream was given.
func (x *index) answer(req *reflectpb.ServerReflectionRequest, sent map[string]bool) *reflectpb.ServerReflectionResponse {
	res := &reflectpb.ServerReflectionResponse{ValidHost: req.Host}
	name, f, known := "", (*file)(nil), true
	switch q := req.MessageRequest.(type) {
	case *reflectpb.ServerReflectionRequestMessageRequestListServices:
		res.MessageResponse = &reflectpb.ServerReflectionResponseMessageResponseListServicesResponse{ListServicesResponse: x.list()}
	case *reflectpb.ServerReflectionRequestMessageRequestFileByFilename:
		name = q.FileByFilename
		f = x.files[name]
	case *reflectpb.ServerReflectionRequestMessageRequestFileContainingSymbol:
		name = q.FileContainingSymbol
		f = x.symbol(name)
	case *reflectpb.ServerReflectionRequestMessageRequestFileContainingExtension:
		if e := q.FileContainingExtension; e != nil {
			name = e.ContainingType
			f = x.extensions[plain(name)][e.ExtensionNumber]
		}
	case *reflectpb.ServerReflectionRequestMessageRequestAllExtensionNumbersOfType:
		name = q.AllExtensionNumbersOfType
		if n := x.numbers(name); n != nil {
			res.MessageResponse = &reflectpb.ServerReflectionResponseMessageResponseAllExtensionNumbersResponse{AllExtensionNumbersResponse: n}
		}
	default:
		known = false
	}
	switch {
	case len(name) > nameMost, len(req.Host) > nameMost: // which is not sent back
		res = &reflectpb.ServerReflectionResponse{MessageResponse: failed(rpc.InvalidArgument, "a name of more than 1,024 bytes")}
		return res
	case !known:
		res.MessageResponse = failed(rpc.InvalidArgument, "a question that is none of this version's")
	case f != nil:
		res.MessageResponse = &reflectpb.ServerReflectionResponseMessageResponseFileDescriptorResponse{
			FileDescriptorResponse: &reflectpb.FileDescriptorResponse{FileDescriptorProto: x.with(f, sent)}}
	case res.MessageResponse == nil:
		res.MessageResponse = failed(rpc.NotFound, "not found: "+name)
	}
	res.OriginalRequest = req
	return res
}

// failed is the answer to a question that has none.
func failed(code rpc.Code, why string) *reflectpb.ServerReflectionResponseMessageResponseErrorResponse {
	return &reflectpb.ServerReflectionResponseMessageResponseErrorResponse{ErrorResponse: &reflectpb.ErrorResponse{ErrorCode: int32(code), ErrorMessage: why}}
}
