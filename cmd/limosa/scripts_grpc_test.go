package main

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa"
	grpcreflection "github.com/limosa-rpc/limosa/grpc/reflection"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// grpcScripts are scripts as those of TestScripts. ADDR is a server of gRPC that describes itself, its service of
// testProto and one of testIDL's; MUTE one that does not; SAFE one that speaks TLS; GONE an address at which nobody
// listens; FILE is testProto, HELLO testIDL.
var grpcScripts = map[string]string{
	"walk": `$ list ADDR?protocol=grpc
Hello
  rpc Echo(Hello_Echo_args) returns (Response)
  rpc add(Hello_add_args) returns (Hello_add_result)
  rpc twice(Hello_twice_args) returns (Hello_twice_result)
  rpc note(Hello_note_args) returns (Hello_note_result)
  rpc ping(Base_ping_args) returns (Base_ping_result)

grpc.reflection.v1.ServerReflection
  rpc ServerReflectionInfo(stream ServerReflectionRequest) returns (stream ServerReflectionResponse)

grpc.reflection.v1alpha.ServerReflection
  rpc ServerReflectionInfo(stream ServerReflectionRequest) returns (stream ServerReflectionResponse)

shop.v1.Shop
  rpc Echo(Order) returns (Order)
  rpc Fail(Order) returns (Order)
  rpc Items(Order) returns (stream Order.Item)
  rpc Count(stream Order) returns (Order)
  rpc Chat(stream Order) returns (stream Order)
[0]
$ list ADDR?protocol=grpc -o json
{"service":"Hello","methods":["rpc Echo(Hello_Echo_args) returns (Response)","rpc add(Hello_add_args) returns (Hello_add_result)","rpc twice(Hello_twice_args) returns (Hello_twice_result)","rpc note(Hello_note_args) returns (Hello_note_result)","rpc ping(Base_ping_args) returns (Base_ping_result)"]}
{"service":"grpc.reflection.v1.ServerReflection","methods":["rpc ServerReflectionInfo(stream ServerReflectionRequest) returns (stream ServerReflectionResponse)"]}
{"service":"grpc.reflection.v1alpha.ServerReflection","methods":["rpc ServerReflectionInfo(stream ServerReflectionRequest) returns (stream ServerReflectionResponse)"]}
{"service":"shop.v1.Shop","methods":["rpc Echo(Order) returns (Order)","rpc Fail(Order) returns (Order)","rpc Items(Order) returns (stream Order.Item)","rpc Count(stream Order) returns (Order)","rpc Chat(stream Order) returns (stream Order)"]}
[0]
$ describe ADDR?protocol=grpc Shop
shop.v1.Shop
  rpc Echo(Order) returns (Order)
  rpc Fail(Order) returns (Order)
  rpc Items(Order) returns (stream Order.Item)
  rpc Count(stream Order) returns (Order)
  rpc Chat(stream Order) returns (stream Order)
[0]
$ describe ADDR?protocol=grpc Order.Item
message Order.Item {
  string sku = 1;
  uint32 count_of = 2;
}
[0]
$ describe ADDR?protocol=grpc shop.v1.Shop/Items
rpc Items(Order) returns (stream Order.Item)

message Order {
  int64 id = 1;
  Order.State state = 2;
  repeated Order.Item items = 3;
  map<string, sint32> stock = 4;
  oneof paid {
    string card = 5;
    bool cash = 6;
  }
  optional double weight = 7;
  google.protobuf.Timestamp at = 8;
  google.protobuf.Any extra = 9;
  Order parent = 10;
}

enum Order.State {
  OPEN = 0;
  PAID = 1;
}

message Order.Item {
  string sku = 1;
  uint32 count_of = 2;
}

# a request to fill in
limosa call 'ADDR?protocol=grpc' shop.v1.Shop/Items '{
  "id": 0,
  "state": "OPEN",
  "items": [{
    "sku": "",
    "countOf": 0
  }],
  "stock": {"": 0},
  "card": "",
  "weight": 0,
  "at": "1970-01-01T00:00:00Z",
  "extra": {}
}'
[0]
$ call ADDR?protocol=grpc shop.v1.Shop/Echo {"id":7,"state":"PAID","at":"2026-01-02T03:04:05Z"}
{
  "id": "7",
  "state": "PAID",
  "at": "2026-01-02T03:04:05Z"
}
[0]
$ call ADDR?protocol=grpc shop/echo {"id":7} -H tenant=acme -o json
{"result":{"id":"7"},"took_us":0,"peer":"ADDR","metadata":{"seen":["acme"]}}
[0]
$ call ADDR?protocol=grpc Shop/Echo {"id":7} -H token-bin=a,b -o json
{"result":{"id":"7"},"took_us":0,"peer":"ADDR","metadata":{"seen":[""]}}
[0]
$ call ADDR?protocol=grpc Shop/Fail
limosa call: NotFound: shop.v1.Shop/Fail at ADDR: no such order
[1]
$ call ADDR?protocol=grpc Shop/Fail -o json
{"error":{"code":"NotFound","message":"NotFound: shop.v1.Shop/Fail at ADDR: no such order","sent":"processed"},"took_us":0,"peer":"ADDR","metadata":{"seen":[""]}}
[1]
$ call ADDR?protocol=grpc Shop/Items
{"sku":"a"}
{"sku":"b"}
{"sku":"c"}
[0]
$ call ADDR?protocol=grpc Shop/Count {"id":1}{"id":2} -o json
{"result":{},"took_us":0,"peer":"ADDR","metadata":{"seen":[""]},"messages_sent":2}
[0]
$ call ADDR?protocol=grpc Shop/Chat
< {"id":1}\n{"id":"2"}\n
{"id":"1"}
{"id":"2"}
[0]
$ call ADDR?protocol=grpc Shop/Echo {"idd":7}
limosa call: the request does not fit Shop/Echo: Order has no field "idd"; known are id, state, items, stock, card, cash, weight, at, extra, parent
[2]
$ call ADDR?protocol=grpc hello/ping
limosa call: Unimplemented: Hello/ping at ADDR: Hello/ping is a method of Thrift, which gRPC does not carry
[1]
$ call ADDR?protocol=grpc hello/Echo {"req":{"message":"hi"}}
limosa call: Unimplemented: Hello/Echo at ADDR: Hello/Echo is a method of Thrift, which gRPC does not carry
[1]
$ describe ADDR?protocol=grpc Hello/add
rpc add(Hello_add_args) returns (Hello_add_result)

message Hello_add_args {
  optional int64 a = 1;
  optional int64 b = 2;
}

message Hello_add_result {
  optional int64 success = 1;
}

# a request to fill in
limosa call 'ADDR?protocol=grpc' Hello/add '{
  "a": 0,
  "b": 0
}'
[0]
$ call ADDR?protocol=grcp Shop/Echo
limosa call: unknown ?protocol=grcp in the address (did you mean "grpc"?); it is thrift or grpc
[2]
$ call SAFE?protocol=grpc Shop/Echo {"id":7} -insecure
{
  "id": "7"
}
[0]
`,
	"without reflection": `$ list MUTE?protocol=grpc
limosa list: the server at MUTE?protocol=grpc has no reflection of gRPC (grpc/reflection.With in a Limosa server's main.go adds it, reflection.Register in one of grpc-go); give -idl FILE, or run where idl/* lies
[2]
$ call MUTE?protocol=grpc Shop/Echo
limosa call: the server at MUTE?protocol=grpc has no reflection of gRPC (grpc/reflection.With in a Limosa server's main.go adds it, reflection.Register in one of grpc-go); give -idl FILE, or run where idl/* lies
[2]
$ call MUTE?protocol=grpc Shop/Echo {"id":7} -idl FILE
{
  "id": "7"
}
[0]
$ call MUTE?protocol=grpc Shop/Items -idl FILE
{"sku":"a"}
{"sku":"b"}
{"sku":"c"}
[0]
$ call MUTE?protocol=grpc Hello/add {"a":1,"b":2} -idl HELLO
limosa call: Hello is of Thrift, whose messages gRPC does not carry; leave protocol=grpc out of the address
[2]
$ call ADDR?protocol=thrift Shop/Echo {"id":7} -idl FILE
{
  "id": "7"
}
[0]
$ bench MUTE?protocol=grpc Shop/Fail {} -d 50ms -idl FILE
limosa bench: the first call failed: NotFound: shop.v1.Shop/Fail at MUTE: no such order
[1]
`,
	"wrong addresses and flags": `$ list GONE?protocol=grpc
limosa list: asking the server for its IDL: Unavailable: grpc.reflection.v1.ServerReflection/ServerReflectionInfo at GONE: dial: connect: connection refused
[1]
$ call GONE?protocol=grpc Shop/Echo -idl FILE
limosa call: Unavailable: shop.v1.Shop/Echo at GONE: dial: connect: connection refused
[1]
$ call ADDR?protocol=grpc Shop/Echo -transport framed
limosa call: -transport is for Thrift, and the address asks for gRPC
[2]
$ call ADDR?protocol=grpc Shop/Echo -multiplexed
limosa call: -multiplexed is for Thrift, and the address asks for gRPC
[2]
$ call ADDR?protocol=grpc Shop/Echo -P a=b
limosa call: -P a: gRPC has no metadata that servers pass on; give it with -H
[2]
$ call ADDR?protocol=grpc Shop/Echo -H user-agent=me
limosa call: -H user-agent: that name belongs to HTTP and gRPC themselves
[2]
$ call ADDR?protocol=grpc Shop/Echo -H grpc-timeout=1S
limosa call: InvalidArgument: metadata: key "grpc-timeout" has a reserved prefix
[2]
$ call ADDR?protocol=grpc&thrift=framed Shop/Echo
limosa call: InvalidArgument: target: "ADDR?protocol=grpc&thrift=framed": thrift and multiplexed are for Thrift, the protocol is grpc
[2]
`,
}

// TestScriptsOfGRPC is TestScripts for addresses that ask for gRPC.
func TestScriptsOfGRPC(t *testing.T) {
	t.Chdir(t.TempDir()) // no ./idl here
	svc, file := protoService(t)
	hello := writeFile(t, "hello.thrift", testIDL)
	cert, _, _ := testCertificate(t)
	runScripts(t, grpcScripts, [][2]string{
		{"ADDR", serveGRPC(t, nil, grpcreflection.With(svc, describedThrift(t))...)}, {"MUTE", serveGRPC(t, nil, svc)},
		{"SAFE", serveGRPC(t, &tls.Config{Certificates: []tls.Certificate{cert}}, grpcreflection.With(svc)...)},
		{"FILE", file}, {"HELLO", hello}, {"GONE", "127.0.0.1:1"},
	})
}

// Streams are ended by this side, a message that does not fit cancels its call, and a server of Thrift alone is
// reported as one that cannot be asked.
func TestCallGRPC(t *testing.T) {
	t.Chdir(t.TempDir())
	svc, file := protoService(t)
	addr, thrift := serveGRPC(t, nil, svc)+"?protocol=grpc", new(testServer).serve(t)+"?protocol=grpc"
	for _, c := range []struct {
		args, stdin string
		code        int
		out, errs   string // stdout without white space; a part of stderr
	}{
		{"call -idl " + file + " " + addr + " Shop/Items {} -limit 2", "", 0, `{"sku":"a"}{"sku":"b"}`, ""},
		{"call -idl " + file + " " + addr + " Shop/Count", `{"id":1} {"id":true}`, 2, "", "message 2 does not fit Shop/Count: id: invalid value for int64: true (at byte 16)"},
		{"list " + thrift, "", 1, "", "asking the server for its IDL (give -idl FILE to do without): Unavailable: "},
		{"bench -idl " + file + " " + addr + " Shop/Echo {} -c 2 -d 50ms -warmup 0s -o json", "", 0, "", ""},
	} {
		code, out, errs := runTool(t, c.stdin, strings.Fields(c.args)...)
		got := strings.Join(strings.Fields(out), "")
		if code != c.code || !strings.Contains(errs, c.errs) || !strings.HasPrefix(c.args, "bench") && got != c.out {
			t.Errorf("limosa %s: %d\n%s%s\nwant %d, %s %s", c.args, code, out, errs, c.code, c.out, c.errs)
		}
	}
}

// serveGRPC serves Thrift and gRPC.
func serveGRPC(t *testing.T, config *tls.Config, services ...rpc.Service) string {
	t.Helper()
	return serveAll(t, &limosa.Server{Services: services, TLS: config, Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}},
		Interceptors: []rpc.Interceptor{func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
			c.Trailer.Add("seen", c.Header.Get("tenant"))
			return next(ctx, c)
		}}})
}
