package dynamic_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/protobuf/dynamic"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// shop has what the messages of other tests have not: proto2's closed enums, extensions, an Any, a message
// without fields, JSON names that no tag could hold.
const shop = `name: "shop.proto" package: "shop" syntax: "proto2"
	enum_type { name: "Color" value { name: "NONE" number: 0 } value { name: "RED" number: 1 } value { name: "ROUGE" number: 1 } value { name: "BLUE" number: -7 } options { allow_alias: true } }
	message_type { name: "Order"
		field { name: "id" number: 1 label: LABEL_REQUIRED type: TYPE_INT64 }
		field { name: "color" number: 2 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".shop.Color" default_value: "BLUE" }
		field { name: "colors" number: 3 label: LABEL_REPEATED type: TYPE_ENUM type_name: ".shop.Color" options { packed: true } }
		field { name: "by_name" number: 4 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".shop.Order.ByNameEntry" }
		field { name: "text" number: 5 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 0 }
		field { name: "tint" number: 6 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".shop.Color" oneof_index: 0 }
		field { name: "next" number: 7 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".shop.Order" oneof_index: 0 }
		field { name: "odd" number: 8 label: LABEL_OPTIONAL type: TYPE_INT32 json_name: "a,\"b\" c" }
		field { name: "raw" number: 9 label: LABEL_OPTIONAL type: TYPE_BYTES }
		nested_type { name: "ByNameEntry" options { map_entry: true }
			field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
			field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".shop.Color" } }
		oneof_decl { name: "what" }
		extension_range { start: 100 end: 200 } }
	message_type { name: "Empty" }
	extension { name: "note" extendee: ".shop.Order" number: 100 label: LABEL_OPTIONAL type: TYPE_STRING }
	extension { name: "more" extendee: ".shop.Order" number: 101 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".shop.Order" }
	service { name: "Shop"
		method { name: "Get" input_type: ".shop.Empty" output_type: ".shop.Order" options { idempotency_level: IDEMPOTENT } }
		method { name: "Put" input_type: ".shop.Order" output_type: ".shop.Empty" client_streaming: true }
		method { name: "All" input_type: ".shop.Empty" output_type: ".shop.Order" server_streaming: true }
		method { name: "Chat" input_type: ".shop.Order" output_type: ".shop.Order" client_streaming: true server_streaming: true } }`

func TestProto2(t *testing.T) {
	types := typesOf(t, schemaText(t, shop))
	for _, c := range []struct{ text, wire, back string }{
		{`{"id":"5","color":"ROUGE"}`, "\x08\x05\x10\x01", `{"id":"5","color":"RED"}`},
		{`{"id":0,"colors":[1,"BLUE"]}`, "\x08\x00\x1a\x0b\x01\xf9\xff\xff\xff\xff\xff\xff\xff\xff\x01", `{"id":"0","colors":["RED","BLUE"]}`},
		{`{"id":1,"byName":{"x":"RED"}}`, "\x08\x01\x22\x05\x0a\x01x\x10\x01", `{"id":"1","byName":{"x":"RED"}}`},
		{`{"id":1,"text":""}`, "\x08\x01\x2a\x00", `{"id":"1","text":""}`},
		{`{"id":1,"next":{"id":2,"next":{"id":3}}}`, "\x08\x01\x3a\x06\x08\x02\x3a\x02\x08\x03", `{"id":"1","next":{"id":"2","next":{"id":"3"}}}`},
		{`{"id":1,"a,\"b\" c":7,"raw":""}`, "\x08\x01\x40\x07\x4a\x00", `{"id":"1","a,\"b\" c":7,"raw":""}`},
		{`{"id":1,"[shop.note]":"n","[shop.more]":[{"id":2,"[shop.note]":"m"}]}`, "\x08\x01\xa2\x06\x01n\xaa\x06\x06\x08\x02\xa2\x06\x01m",
			`{"id":"1","[shop.note]":"n","[shop.more]":[{"id":"2","[shop.note]":"m"}]}`},
	} {
		msg := types.New("shop.Order")
		if err := msg.UnmarshalJSON([]byte(c.text)); err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		b, err := ordered.AppendBytes(nil, msg)
		if string(b) != c.wire || err != nil {
			t.Errorf("%s: %x, want %x, %v", c.text, b, c.wire, err)
		}
		back := types.New("shop.Order")
		if err := protobuf.Unmarshal([]byte(c.wire), back); err != nil || !protobuf.Equal(back, msg) {
			t.Errorf("%x: %v, %v, want %v", c.wire, err, back, msg)
		}
		if text, err := back.MarshalJSON(); string(text) != c.back || err != nil {
			t.Errorf("%s, want %s, %v", text, c.back, err)
		}
	}
}

// Numbers that a closed enum does not name are unknown fields, which are kept in their order.
func TestUnknown(t *testing.T) {
	types := typesOf(t, schemaText(t, shop))
	const wire = "\x08\x01\x10\x05\x1a\x02\x01\x05\x22\x05\x0a\x01x\x10\x05\x30\x05\xf8\x07\x03"
	msg := types.New("shop.Order")
	if err := protobuf.Unmarshal([]byte(wire), msg); err != nil || string(msg.Unknown()) != "\x10\x05\x18\x05\x22\x05\x0a\x01x\x10\x05\x30\x05\xf8\x07\x03" {
		t.Fatalf("%x, %v", msg.Unknown(), err)
	}
	if text, err := msg.MarshalJSON(); string(text) != `{"id":"1","colors":["RED"]}` || err != nil {
		t.Errorf("%s, %v", text, err)
	}
	if got := msg.String(); !strings.HasPrefix(got, "Order{id:1 colors:[RED] unknown:") {
		t.Error(got)
	}
	if b, err := ordered.AppendBytes(nil, msg); string(b) != "\x08\x01\x1a\x01\x01\x10\x05\x18\x05\x22\x05\x0a\x01x\x10\x05\x30\x05\xf8\x07\x03" || err != nil {
		t.Errorf("%x, %v", b, err)
	}
}

// What an Any holds need not be in the schema if everybody knows it.
func TestAny(t *testing.T) {
	types := typesOf(t, schemaText(t, shop))
	for _, text := range []string{
		`{"@type":"x/shop.Order","id":"1","[shop.note]":"n"}`, `{"@type":"x/google.protobuf.Duration","value":"1.500s"}`,
		`{"@type":"x/google.protobuf.Value","value":[null,1,"a",{"b":true}]}`, `{"@type":"x/google.protobuf.Int64Value","value":"7"}`,
		`{"@type":"x/google.protobuf.Any","value":{"@type":"x/google.protobuf.FieldMask","value":"a.bC,d"}}`, `{}`, `{"@type":"x/shop.Empty"}`,
	} {
		msg := types.New("google.protobuf.Any")
		if err := msg.UnmarshalJSON([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got, err := msg.MarshalJSON(); string(got) != text || err != nil {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	if err := types.New("google.protobuf.Any").UnmarshalJSON([]byte(`{"@type":"x/shop.None"}`)); rpc.CodeOf(err) != rpc.InvalidArgument {
		t.Error(err)
	}
}

// Errors name the place and what would be right.
func TestTexts(t *testing.T) {
	types := typesOf(t, schemaText(t, shop))
	for text, want := range map[string]string{
		`{"id":1,"colour":"RED"}`:                   `protobuf: Order has no field "colour"; known are id, color, colors, byName, text, tint, next, a,"b" c, raw at offset 8`,
		`{"id":1,"color":"GREEN"}`:                  `protobuf: the enum shop.Color has no value "GREEN"; known are BLUE, NONE, RED, ROUGE in color at offset 16`,
		`{"id":1,"next":{"id":2,"colors":[1,"x"]}}`: `protobuf: the enum shop.Color has no value "x"; known are BLUE, NONE, RED, ROUGE in next.colors[1] at offset 35`,
		`{"id":1,"byName":{"a":"RED","b":true}}`:    `protobuf: the enum shop.Color has no value true; known are BLUE, NONE, RED, ROUGE in byName["b"] at offset 32`,
		`{"id":"x"}`:                                `protobuf: invalid value for int64: the string "x" in id at offset 6`,
		`{}`:                                        `protobuf: required field is missing: id at offset 2`,
		`{"id":1,"text":"a","tint":"RED"}`:          `protobuf: the field "tint" or its oneof comes twice at offset 19`,
		`{"id":1,"[shop.none]":1}`:                  `protobuf: Order has no field "[shop.none]"; known are id, color, colors, byName, text, tint, next, a,"b" c, raw at offset 8`,
		`{"id":1} 2`:                                `protobuf: bytes after the end at offset 9`,
	} {
		err := types.New("shop.Order").UnmarshalJSON([]byte(text))
		syntax, ok := errors.AsType[*protobuf.SyntaxError](err)
		if !ok || syntax.Error() != want {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
	if err := protobuf.Unmarshal([]byte("\x08"), types.New("shop.Order")); err == nil || !strings.HasSuffix(err.Error(), "truncated in Order.id at offset 1") {
		t.Error(err)
	}
	_, err := protobuf.Marshal(types.New("shop.Order"))
	if bad, ok := errors.AsType[*protobuf.TypeError](err); !ok || bad.Error() != "protobuf: shop.Order.id: is required and nil" {
		t.Error(err)
	}
}

// Depth and memory are bounded as for static types.
func TestLimits(t *testing.T) {
	types := typesOf(t, schemaText(t, shop))
	deep := "{\"id\":1}"
	var wire []byte
	for range 200 {
		deep = `{"id":1,"next":` + deep + "}"
		wire = append(append([]byte("\x08\x01\x3a"), protobufLength(len(wire))...), wire...)
	}
	if err := types.New("shop.Order").UnmarshalJSON([]byte(deep)); rpc.CodeOf(err) != rpc.InvalidArgument {
		t.Error(err)
	}
	if err := protobuf.Unmarshal(wire, types.New("shop.Order")); rpc.CodeOf(err) != rpc.InvalidArgument {
		t.Error(err)
	}
	many := []byte("\x08\x01" + strings.Repeat("\xaa\x06\x00", 1<<20)) // of a message that extends it: unknown, and cheap
	if err := protobuf.Unmarshal(many, types.New("shop.Order")); err != nil && rpc.CodeOf(err) != rpc.InvalidArgument {
		t.Error(err)
	}
}

func protobufLength(n int) (b []byte) {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// Messages of other types, of none, and of another codec are no mistakes that memory pays for.
func TestMixed(t *testing.T) {
	types, other := typesOf(t, schemaText(t, shop)), typesOf(t, schemaText(t, shop))
	order, empty := types.New("shop.Order"), types.New("shop.Empty")
	switch {
	case types.New("shop.None") != nil, order.Name() != "shop.Order":
		t.Error("names")
	case protobuf.Equal(order, empty), protobuf.Equal(order, other.New("shop.Order")), protobuf.Equal(order, new(prototest.Leaf)), protobuf.Equal(order, new(dynamic.Message)):
		t.Error("messages of different types are equal")
	case !protobuf.Equal(order, types.New("shop.Order")):
		t.Error("equal messages are not")
	}
	if err := order.UnmarshalJSON([]byte(`{"id":7,"next":{"id":8}}`)); err != nil {
		t.Fatal(err)
	}
	clone := protobuf.Clone(order)
	if err := order.UnmarshalJSON([]byte(`{"id":9}`)); err != nil || clone.String() != `Order{id:7 what:{next:{id:8}}}` {
		t.Errorf("%v, %v", clone, err)
	}
	var none dynamic.Message
	for _, err := range []error{
		protobuf.Unmarshal(nil, &none), none.UnmarshalJSON([]byte("{}")), protobuf.Unmarshal(nil, (*dynamic.Message)(nil)),
		func() error { _, err := protobuf.Marshal(&none); return err }(),
		func() error { _, err := thrift.Marshal(order); return err }(),
	} {
		if rpc.CodeOf(err) != rpc.Internal {
			t.Error(err)
		}
	}
	if err := order.UnmarshalJSON([]byte(`{"id":9}`)); err != nil { // what was asked of the one above is not remembered for all
		t.Error(err)
	}
	if none.Name() != "" || none.Unknown() != nil || protobuf.Clone(&none) == nil {
		t.Error("a message of no type")
	}
}

// A schema may come from a server that means it ill.
func TestForgedKnownType(t *testing.T) {
	for _, text := range []string{
		`name: "a.proto" package: "google.protobuf" syntax: "proto3" message_type { name: "Timestamp" field { name: "seconds" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING } }`,
		`name: "a.proto" package: "google.protobuf" syntax: "proto3" message_type { name: "Any" }`,
		`name: "a.proto" package: "google.protobuf" syntax: "proto3" message_type { name: "ListValue" field { name: "values" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".google.protobuf.ListValue" } }`,
	} {
		if _, err := dynamic.New(schemaText(t, text)); err == nil || !strings.Contains(err.Error(), "is not the message of that name") {
			t.Error(err)
		}
	}
}

// Schemas that no reader makes are refused.
func TestBadSchema(t *testing.T) {
	for i, edit := range []func(s *idl.Schema){
		func(s *idl.Schema) { s.Files[0].Structs[0].Fields[0].ID = 2 },
		func(s *idl.Schema) { s.Files[0].Structs[0].Fields[0].ID = 0 },
		func(s *idl.Schema) { s.Files[0].Structs[0].Fields[0].Type.Word = "int" },
		func(s *idl.Schema) { s.Files[0].Structs = s.Files[0].Structs[1:] },
		func(s *idl.Schema) { s.Files[0].Structs[0].Fields[0].Name = "a,b" },
		func(s *idl.Schema) { s.Files[0].Structs[0].Fields[0].Name = "ä" },
		func(s *idl.Schema) {
			f := s.Files[0].Structs[0].Fields
			for n := range 1 << 16 {
				x := *f[0]
				x.ID = int32(n + 20000)
				x.Name = fmt.Sprint("f", n)
				s.Files[0].Structs[0].Fields = append(s.Files[0].Structs[0].Fields, &x)
			}
		},
	} {
		s := schemaText(t, shop)
		edit(s)
		if _, err := dynamic.New(s); err == nil {
			t.Errorf("%d: taken", i)
		}
	}
}

func TestMethods(t *testing.T) {
	schema := schemaText(t, shop)
	types, svc := typesOf(t, schema), schema.Files[0].Services[0]
	for i, want := range []struct {
		kind    rpc.Kind
		in, out string
	}{{rpc.Unary, "shop.Empty", "shop.Order"}, {rpc.ClientStream, "shop.Order", "shop.Empty"}, {rpc.ServerStream, "shop.Empty", "shop.Order"}, {rpc.Bidi, "shop.Order", "shop.Order"}} {
		m, err := types.Method(svc, svc.Methods[i])
		if err != nil || m.RPC.Kind != want.kind || m.In != want.in || m.Out != want.out || m.RPC.Service != "shop.Shop" || m.RPC.Idempotent != (i == 0) ||
			m.Request().Name() != want.in || m.Answer().Name() != want.out || m.RPC.New() == nil {
			t.Errorf("%+v, %v", m, err)
		}
	}
	none := &idl.Method{Name: "X"}
	if _, err := types.Method(svc, none); err == nil {
		t.Error("a method without messages")
	}
	if _, err := typesOf(t, &idl.Schema{}).Method(svc, svc.Methods[0]); err == nil {
		t.Error("a method of another schema")
	}
	var out buf.Out
	defer out.Reset()
	if err := (protobuf.Codec{}).Append(&out, types.New("shop.Empty")); err != nil || out.Len() != 0 {
		t.Error(err)
	}
}
