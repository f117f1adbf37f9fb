package main

import (
	"encoding/binary"
	"fmt"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
)

// A rawBody is a request and its answer as bytes: under load a request is
// encoded once and an answer is looked at only as far as it takes.
//
// A caller has one and uses it again for each call.
type rawBody struct {
	sent []byte // arguments, encoded
	got  []byte // result, encoded; memory of its own
}

// rawCodec sends and keeps bytes.
type rawCodec struct{}

// Append sends the arguments.
func (rawCodec) Append(out *buf.Out, msg any) error {
	raw, ok := msg.(*rawBody)
	if !ok {
		return fmt.Errorf("message is %T", msg)
	}
	out.Append(raw.sent)
	return nil
}

// Decode keeps the result.
func (rawCodec) Decode(body buf.View, msg any, _ *rpc.Limits) error {
	raw, ok := msg.(*rawBody)
	if !ok {
		return fmt.Errorf("message is %T", msg)
	}
	raw.got = append(raw.got[:0], body.Bytes()...)
	return nil
}

// rawMethod describes the method for calls with *rawBody on both sides.
func (t *target) rawMethod() *rpc.Method {
	var codec rpc.Codec = recoder{rawCodec{}}
	if isProto(t.service) {
		codec = rawCodec{}
	}
	return &rpc.Method{Service: t.rpc.Service, Name: t.method.Name, Kind: t.rpc.Kind, Codec: codec}
}

// outcome tells from the first field of an encoded result whether it is what
// the method promises: field 0, nothing for void, else a declared exception.
//
// It looks no further: a load is to measure the stack, not this tool's decoder.
func (t *target) outcome(result []byte) error {
	switch {
	case t.method.Oneway, isProto(t.service): // of Protobuf, whatever comes without an error is a message
		return nil
	case len(result) == 0:
		return &rpc.Error{Code: rpc.DataLoss, Op: "result", Sent: rpc.Processed, Msg: "the answer is empty"}
	case result[0] == byte(raw.TypeStop) && t.method.Result == nil:
		return nil
	case result[0] == byte(raw.TypeStop) || len(result) < 3:
		return raw.NoResult()
	}
	id := int32(int16(binary.BigEndian.Uint16(result[1:])))
	if id == 0 {
		return nil
	}
	name := fmt.Sprintf("in field %d, which the IDL does not have", id)
	for _, x := range t.method.Throws {
		if x.ID == id {
			name = x.Type.True().String()
		}
	}
	return &rpc.Error{Code: rpc.Unknown, Op: "result", Sent: rpc.Processed, Remote: true, Msg: "exception " + name}
}
