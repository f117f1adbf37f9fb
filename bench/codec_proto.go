package main

import (
	"reflect"

	"github.com/limosa-rpc/limosa/bench/codec/protoshapes"
	"github.com/limosa-rpc/limosa/protobuf"
)

// limosaProtoOps is what Limosa's Protobuf codec does with a shape: encode and decode by run-time plans.
func limosaProtoOps(s *shape) map[string]codecOp {
	switch s.name {
	case "echo":
		return protoShape[protoshapes.Echo](s)
	case "small":
		return protoShape[protoshapes.Small](s)
	case "medium":
		return protoShape[protoshapes.Medium](s)
	case "wide":
		return protoShape[protoshapes.Wide](s)
	case "large":
		return protoShape[protoshapes.Large](s)
	case "numbers":
		return protoShape[protoshapes.Numbers](s)
	case "text":
		return protoShape[protoshapes.Text](s)
	case "maps":
		return protoShape[protoshapes.Maps](s)
	}
	return nil
}

// protoShape copies a shape's message into a struct for Protobuf.
func protoShape[M any](s *shape) map[string]codecOp {
	msg := new(M)
	copyFields(reflect.ValueOf(msg).Elem(), reflect.ValueOf(s.msg).Elem())
	return limosaOps(msg, protobuf.Codec{})
}
