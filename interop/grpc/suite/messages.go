package main

import (
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// The messages of grpc.testing that the cases need, with the numbers of test.proto and
// messages.proto.
type (
	empty struct{}

	payload struct {
		Type int32  `proto:"1,int32"` // of an enum whose only value is COMPRESSABLE, 0
		Body []byte `proto:"2,bytes"`
	}

	// boolean is google.protobuf.BoolValue.
	boolean struct {
		Value bool `proto:"1,bool"`
	}

	echoStatus struct {
		Code    int32  `proto:"1,int32"`
		Message string `proto:"2,string"`
	}

	simpleRequest struct {
		Size       int32       `proto:"2,int32"`
		Payload    *payload    `proto:"3,message"`
		Compressed *boolean    `proto:"6,message"`
		Status     *echoStatus `proto:"7,message"`
		Expects    *boolean    `proto:"8,message"`
	}

	simpleResponse struct {
		Payload *payload `proto:"1,message"`
	}

	inputRequest struct {
		Payload *payload `proto:"1,message"`
		Expects *boolean `proto:"2,message"`
	}

	inputResponse struct {
		Size int32 `proto:"1,int32"`
	}

	parameters struct {
		Size       int32    `proto:"1,int32"`
		Interval   int32    `proto:"2,int32"` // us
		Compressed *boolean `proto:"3,message"`
	}

	outputRequest struct {
		Parameters []*parameters `proto:"2,message"`
		Payload    *payload      `proto:"3,message"`
		Status     *echoStatus   `proto:"7,message"`
	}

	outputResponse struct {
		Payload *payload `proto:"1,message"`
	}
)

// The methods of grpc.testing.TestService; unimplemented and foreign are those that no server has.
var (
	emptyCall = method("TestService", "EmptyCall", rpc.Unary, stub.New[empty, empty])
	unaryCall = method("TestService", "UnaryCall", rpc.Unary, stub.New[simpleRequest, simpleResponse])
	output    = method("TestService", "StreamingOutputCall", rpc.ServerStream, stub.New[outputRequest, outputResponse])
	input     = method("TestService", "StreamingInputCall", rpc.ClientStream, stub.New[inputRequest, inputResponse])
	duplex    = method("TestService", "FullDuplexCall", rpc.Bidi, stub.New[outputRequest, outputResponse])
	missing   = method("TestService", "UnimplementedCall", rpc.Unary, stub.New[empty, empty])
	foreign   = method("UnimplementedService", "UnimplementedCall", rpc.Unary, stub.New[empty, empty])
)

func method(service, name string, kind rpc.Kind, fresh func() *rpc.Call) *rpc.Method {
	return &rpc.Method{Service: "grpc.testing." + service, Name: name, Kind: kind, Codec: protobuf.Codec{}, New: fresh}
}

// body is a payload of n bytes.
func body(n int32) *payload { return &payload{Body: make([]byte, n)} }
