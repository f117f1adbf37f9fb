package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/cmd/protoparse"
	"github.com/limosa-rpc/limosa/protobuf/dynamic"
	"github.com/limosa-rpc/limosa/reflection"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

const testProto = `syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/any.proto";
// One order.
message Order {
  enum State { OPEN = 0; PAID = 1; }
  message Item { string sku = 1; uint32 count_of = 2; }
  int64 id = 1;
  State state = 2;
  repeated Item items = 3;
  map<string, sint32> stock = 4;
  oneof paid { string card = 5; bool cash = 6; }
  optional double weight = 7;
  google.protobuf.Timestamp at = 8;
  google.protobuf.Any extra = 9;
  Order parent = 10;
}
service Shop {
  // Gives the order back.
  rpc Echo(Order) returns (Order);
  rpc Fail(Order) returns (Order);
  rpc Items(Order) returns (stream Order.Item);
  rpc Count(stream Order) returns (Order);
  rpc Chat(stream Order) returns (stream Order);
}
`

// serveProto serves testProto's service, which tells its descriptors, and gives the address and the file.
func serveProto(t *testing.T) (addr, file string) {
	t.Helper()
	svc, file := protoService(t)
	return serveAll(t, &limosa.Server{Services: reflection.With(svc)}), file
}

// protoService is testProto's service, and the file.
func protoService(t *testing.T) (svc rpc.Service, file string) {
	t.Helper()
	file = writeFile(t, "shop.proto", testProto)
	schema, err := protoparse.Reader{}.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	types, err := dynamic.New(schema)
	if err != nil {
		t.Fatal(err)
	}
	f := schema.Files[len(schema.Files)-1]
	svc = rpc.Service{Name: "shop.v1.Shop"}
	for _, m := range f.Services[0].Methods {
		x, err := types.Method(f.Services[0], m)
		if err != nil {
			t.Fatal(err)
		}
		svc.Methods = append(svc.Methods, rpc.Handler{Method: x.RPC, Serve: protoHandler(m.Name, types)})
	}
	for _, f := range schema.Files {
		n, head := len(f.Compiled), []byte{'\n'}
		for ; n >= 0x80; n >>= 7 {
			head = append(head, byte(n)|0x80)
		}
		svc.IDL += string(append(append(head, byte(n)), f.Compiled...))
	}
	return svc, file
}

// protoHandler serves one method.
func protoHandler(name string, types *dynamic.Types) rpc.Next {
	item := func(sku string) *dynamic.Message {
		m := types.New("shop.v1.Order.Item")
		if err := m.UnmarshalJSON([]byte(`{"sku":"` + sku + `"}`)); err != nil {
			panic(err)
		}
		return m
	}
	switch name {
	case "Echo":
		return func(_ context.Context, c *rpc.Call) error {
			req, err := stub.Args[dynamic.Message](c)
			if err == nil {
				*stub.Result[dynamic.Message](c) = *req
			}
			return err
		}
	case "Fail":
		return func(context.Context, *rpc.Call) error { return rpc.Errorf(rpc.NotFound, "no such order") }
	}
	return func(_ context.Context, c *rpc.Call) error {
		s := rpc.EngineOf(c).Stream()
		for {
			req := types.New("shop.v1.Order")
			switch err := s.Receive(req); {
			case err == io.EOF && name == "Count":
				return s.Send(types.New("shop.v1.Order"))
			case err == io.EOF:
				return nil
			case err != nil:
				return err
			}
			switch name {
			case "Items":
				for _, sku := range []string{"a", "b", "c"} {
					if err := s.Send(item(sku)); err != nil {
						return err
					}
				}
			case "Chat":
				if err := s.Send(req); err != nil {
					return err
				}
			}
		}
	}
}

const (
	shopListed = `shop.v1.Shop
  rpc Echo(Order) returns (Order)
  rpc Fail(Order) returns (Order)
  rpc Items(Order) returns (stream Order.Item)
  rpc Count(stream Order) returns (Order)
  rpc Chat(stream Order) returns (stream Order)
`
	orderText = `message Order {
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
`
	orderTypes = orderText + `
enum Order.State {
  OPEN = 0;
  PAID = 1;
}

message Order.Item {
  string sku = 1;
  uint32 count_of = 2;
}
`
	orderSample = `{
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
}`
)

// A service of a .proto file is listed, described and called as Thrift's are, by the file or by what the server tells.
func TestProto(t *testing.T) {
	addr, file := serveProto(t)
	t.Chdir(t.TempDir()) // no ./idl here
	const full = `{"id":"7","state":"PAID","items":[{"sku":"a","countOf":4294967295}],"stock":{"x":-1},"cash":true,"weight":0,"at":"2026-01-02T03:04:05Z","extra":{"@type":"x/shop.v1.Order.Item","sku":"b"},"parent":{}}`
	for _, c := range []struct{ args, stdin, want string }{
		{"list " + addr, "", shopListed + "\nLimosaReflection\n  Description limosaDescribe()\n"},
		{"list -idl " + file, "", shopListed},
		{"describe " + addr + " Shop", "", shopListed},
		{"describe " + addr + " Order", "", orderText},
		{"describe " + addr + " order.item", "", "message Order.Item {\n  string sku = 1;\n  uint32 count_of = 2;\n}\n"},
		{"describe -idl " + file + " shop.v1.Shop/echo", "",
			"// Gives the order back.\nrpc Echo(Order) returns (Order)\n\n" + orderTypes + "\n# a request to fill in\nlimosa call ADDR shop.v1.Shop/Echo '" + orderSample + "'\n"},
		{"call -idl " + file + " -o raw " + addr + " Shop/Echo -", full, full},
		{"call " + addr + " shop.v1.Shop/echo -", full, full},
		{"call " + addr + " Shop/Echo -", orderSample, `{"stock":{"":0},"items":[{}],"card":"","weight":0,"at":"1970-01-01T00:00:00Z","extra":{}}`},
		{"call " + addr + " Shop/Echo {}", "", `{}`},
		{"call " + addr + " Shop/Items {}", "", `{"sku":"a"}{"sku":"b"}{"sku":"c"}`},
		{"call " + addr + " Shop/Items {} -limit 2", "", `{"sku":"a"}{"sku":"b"}`},
		{"call " + addr + " Shop/Count", `{"id":1} {"id":2}`, `{}`},
		{"call " + addr + " Shop/Chat", `{"id":1} {"id":"2"}`, `{"id":"1"}{"id":"2"}`},
	} {
		args := strings.Fields(strings.Replace(c.args, "-o raw ", "", 1))
		code, out, errs := runTool(t, c.stdin, args...)
		if code != 0 || !sameText(args[0], out, c.want) {
			t.Errorf("limosa %s: %d\n%s%s\nwant\n%s", c.args, code, out, errs, c.want)
		}
	}
}

// sameText compares what was printed; of a call, whatever its layout, and in any order of members.
func sameText(command, got, want string) bool {
	if command != "call" {
		return got == want
	}
	squeeze := func(s string) string {
		parts := strings.Split(strings.NewReplacer(" ", "", "\n", "").Replace(s), ",")
		slices.Sort(parts)
		return strings.Join(parts, ",")
	}
	return squeeze(strings.Trim(got, "{} \n")) == squeeze(strings.Trim(want, "{} \n"))
}

// What does not fit the file is said with its place, before anything is sent.
func TestProtoErrors(t *testing.T) {
	addr, file := serveProto(t)
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args, stdin string
		code        int
		want        string
	}{
		{`call ` + addr + ` Shop/Echo {"idd":1}`, "", 2, `the request does not fit Shop/Echo: Order has no field "idd"; known are id, state, items, stock, card, cash, weight, at, extra, parent`},
		{`call ` + addr + ` Shop/Echo {"items":[{},{"sku":1}]}`, "", 2, `the request does not fit Shop/Echo: items[1].sku: invalid value for string: the number 1`},
		{`call ` + addr + ` Shop/Echo {"state":"PAYED"}`, "", 2, `state: the enum shop.v1.Order.State has no value "PAYED"; known are OPEN, PAID`},
		{`call ` + addr + ` Shop/Echo {"extra":{"@type":"x/y.Z"}}`, "", 2, `extra: an Any of "x/y.Z": the message is not known`},
		{`call ` + addr + ` Shop/Chat`, `{"id":1} {"id":true}`, 2, `message 2 does not fit Shop/Chat: id: invalid value for int64: true (at byte 16)`},
		{`call ` + addr + ` Shop/Ecko {}`, "", 2, `service Shop has no method "Ecko" (did you mean "Echo"?); it has Echo, Fail, Items, Count, Chat`},
		{`call ` + addr + ` Shop/Fail {}`, "", 1, ": no such order"},
		{`call -transport framed -idl ` + file + ` ` + addr + ` Shop/Echo {}`, "", 2, `shop.v1.Shop is of Protobuf, whose messages travel in ttheader frames, not in framed`},
		{`describe ` + addr + ` Ordr`, "", 2, `the IDL has no service or type "Ordr" (did you mean "Order"?)`},
	} {
		code, out, errs := runTool(t, c.stdin, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("limosa %s: %d\n%s%s\nwant %d, %s", c.args, code, out, errs, c.code, c.want)
		}
	}
}

// A load is made of messages that are encoded once.
func TestProtoBench(t *testing.T) {
	addr, file := serveProto(t)
	for _, args := range [][]string{{"Shop/Echo", `{"id":1}`}, {"Shop/Items", "{}"}, {"Shop/Count", `{"id":1} {"id":2}`}} {
		code, out, errs := runTool(t, "", append([]string{"bench", "-c", "2", "-d", "100ms", "-warmup", "0s", "-idl", file, addr}, args...)...)
		if code != 0 {
			t.Errorf("limosa bench %s: %d\n%s%s", args, code, out, errs)
		}
	}
}
