// Protobuf is what the runner of Protobuf's conformance suite tests: it reads requests on stdin, each a message in
// one format, and answers with the same message in another one. Without arguments the messages are generated
// code; with paths of .proto files they are of types made at run time.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/cmd/protoparse"
	"github.com/limosa-rpc/limosa/interop/protobuf/gen/conformance"
	"github.com/limosa-rpc/limosa/interop/protobuf/gen/protobuf_test_messages/editions"
	ed2 "github.com/limosa-rpc/limosa/interop/protobuf/gen/protobuf_test_messages/editions/proto2"
	ed3 "github.com/limosa-rpc/limosa/interop/protobuf/gen/protobuf_test_messages/editions/proto3"
	"github.com/limosa-rpc/limosa/interop/protobuf/gen/protobuf_test_messages/proto2"
	"github.com/limosa-rpc/limosa/interop/protobuf/gen/protobuf_test_messages/proto3"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/protobuf/dynamic"
	"github.com/limosa-rpc/limosa/protobuf/known"
)

func main() {
	t, err := newTestee(os.Args[1:])
	if err == nil {
		err = t.serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A testee makes messages by their full names. json knows the same.
type testee struct {
	fresh func(name string) any
	json  protobuf.JSON
}

// newTestee is one of generated code or, with files, of types made of them.
func newTestee(files []string) (*testee, error) {
	if len(files) > 0 {
		schema, err := protoparse.Reader{}.Load(files...)
		if err != nil {
			return nil, err
		}
		types, err := dynamic.New(schema)
		if err != nil {
			return nil, err
		}
		json := types.JSON()
		return &testee{fresh: json.Any, json: json}, nil
	}
	types := map[string]reflect.Type{}
	for _, m := range []known.Message{
		new(proto3.TestAllTypesProto3), new(proto2.TestAllTypesProto2), new(editions.TestAllTypesEdition2023), new(ed2.TestAllTypesProto2),
		new(ed3.TestAllTypesProto3), new(known.Timestamp), new(known.Duration), new(known.FieldMask), new(known.Struct), new(known.Value),
		new(known.ListValue), new(known.Any), new(known.Empty), new(known.Int32Value), new(known.Int64Value), new(known.UInt32Value),
		new(known.UInt64Value), new(known.FloatValue), new(known.DoubleValue), new(known.BoolValue), new(known.StringValue), new(known.BytesValue),
	} {
		types[m.ProtoName()] = reflect.TypeOf(m).Elem()
	}
	fresh := func(name string) any {
		if t := types[name]; t != nil {
			return reflect.New(t).Interface()
		}
		return nil
	}
	return &testee{fresh: fresh, json: protobuf.JSON{Any: fresh, Extensions: extensions}}, nil
}

// extensions are those of the suite's messages.
func extensions(name string) []any {
	switch name {
	case "protobuf_test_messages.proto2.TestAllTypesProto2":
		return []any{new(proto2.TestMessagesProto2TestAllTypesProto2Extensions)}
	case "protobuf_test_messages.editions.proto2.TestAllTypesProto2":
		return []any{new(ed2.TestMessagesProto2EditionsTestAllTypesProto2Extensions)}
	}
	return nil
}

// serve answers requests until there are no more: each with its length before it, in four bytes.
func (t *testee) serve(in io.Reader, out io.Writer) error {
	for {
		var n [4]byte
		if _, err := io.ReadFull(in, n[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		b := make([]byte, binary.LittleEndian.Uint32(n[:]))
		if _, err := io.ReadFull(in, b); err != nil {
			return err
		}
		req, resp := new(conformance.ConformanceRequest), new(conformance.ConformanceResponse)
		if err := protobuf.Unmarshal(b, req); err != nil {
			return err
		}
		resp.Result = t.answer(req)
		b, err := protobuf.Marshal(resp)
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint32(n[:], uint32(len(b)))
		if _, err := out.Write(append(n[:], b...)); err != nil {
			return err
		}
	}
}

// answer does what a request asks for. Formats that Limosa does not have are skipped.
func (t *testee) answer(req *conformance.ConformanceRequest) conformance.ConformanceResponseResult {
	if req.MessageType == "conformance.FailureSet" { // what is expected to fail: nothing
		return &conformance.ConformanceResponseResultProtobufPayload{}
	}
	msg := t.fresh(req.MessageType)
	if msg == nil {
		return &conformance.ConformanceResponseResultSkipped{Skipped: "no type " + req.MessageType}
	}
	json := t.json
	json.Discard = req.TestCategory == conformance.TestCategoryJSON_IGNORE_UNKNOWN_PARSING_TEST
	var err error
	switch p := req.Payload.(type) {
	case *conformance.ConformanceRequestPayloadProtobufPayload:
		err = protobuf.Unmarshal(p.ProtobufPayload, msg)
	case *conformance.ConformanceRequestPayloadJSONPayload:
		err = json.Decode(buf.ViewOf([]byte(p.JSONPayload)), msg, nil)
	default:
		return &conformance.ConformanceResponseResultSkipped{Skipped: "input"}
	}
	if err != nil {
		return &conformance.ConformanceResponseResultParseError{ParseError: err.Error()}
	}
	var out buf.Out
	defer out.Reset()
	switch req.RequestedOutputFormat {
	case conformance.WireFormatPROTOBUF:
		if err = (protobuf.Codec{}).Append(&out, msg); err == nil {
			return &conformance.ConformanceResponseResultProtobufPayload{ProtobufPayload: out.Bytes()}
		}
	case conformance.WireFormatJSON:
		if err = json.Append(&out, msg); err == nil {
			return &conformance.ConformanceResponseResultJSONPayload{JSONPayload: string(out.Bytes())}
		}
	default:
		return &conformance.ConformanceResponseResultSkipped{Skipped: "output"}
	}
	return &conformance.ConformanceResponseResultSerializeError{SerializeError: err.Error()}
}
