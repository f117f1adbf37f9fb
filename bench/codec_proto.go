package main

import (
	"reflect"

	"github.com/limosa-rpc/limosa/bench/codec/protoshapes"
	"github.com/limosa-rpc/limosa/protobuf"
)

// limosaProtoOps is what Limosa's Protobuf codec does with a shape: encode and decode by generated code, or by
// run-time plans.
func limosaProtoOps(s *shape, plan bool) map[string]codecOp {
	switch s.name {
	case "echo":
		return protoShape[protoshapes.Echo](s, plan)
	case "small":
		return protoShape[protoshapes.Small](s, plan)
	case "medium":
		return protoShape[protoshapes.Medium](s, plan)
	case "wide":
		return protoShape[protoshapes.Wide](s, plan)
	case "large":
		return protoShape[protoshapes.Large](s, plan)
	case "numbers":
		return protoShape[protoshapes.Numbers](s, plan)
	case "text":
		return protoShape[protoshapes.Text](s, plan)
	case "maps":
		return protoShape[protoshapes.Maps](s, plan)
	}
	return nil
}

// protoShape copies a shape's message into a struct for Protobuf.
func protoShape[M any](s *shape, plan bool) map[string]codecOp {
	msg := new(M)
	copyFields(reflect.ValueOf(msg).Elem(), reflect.ValueOf(s.msg).Elem())
	return limosaOps(msg, protobuf.Codec{Plan: plan})
}
