package main

import (
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// A recoder is a codec of Thrift's Binary protocol that has its messages in the
// Compact protocol too. The IDL's codec and that of raw bytes know only Binary;
// what they write is rewritten from type to type, as the fields are that a
// struct does not know.
type recoder struct{ rpc.Codec }

// In makes it an rpc.Recoder.
func (c recoder) In(e rpc.Encoding) rpc.Codec {
	if e == rpc.Compact {
		return compact{c.Codec}
	}
	return nil
}

var _ rpc.Recoder = recoder{}

// compact writes and reads in Compact what a codec has in Binary.
//
// A pass over the bytes for each message is its price, which is a part of bench's CPU
// time.
type compact struct{ binary rpc.Codec }

// fields holds a message's fields in Binary, without the byte that ends them.
type fields struct{ All thrift.Unknown }

// Append implements [rpc.Codec].
func (c compact) Append(out *buf.Out, msg any) error {
	var written buf.Out
	defer written.Reset()
	if err := c.binary.Append(&written, msg); err != nil {
		return err
	}
	text := written.Bytes()
	return thrift.Compact{}.Append(out, &fields{text[:len(text)-1]})
}

// Decode implements [rpc.Codec].
func (c compact) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	var read fields
	if err := (thrift.Compact{}).Decode(body, &read, lim); err != nil {
		return err
	}
	return c.binary.Decode(buf.ViewOf(append(read.All, byte(raw.TypeStop))), msg, lim)
}
