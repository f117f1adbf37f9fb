// Package pb is the messages of the codec benchmark in Protobuf, with the
// methods that vtprotobuf generates.
package pb

//go:generate go run ../../echo/generate shapes.proto protoc-gen-go protoc-gen-go-vtproto:features=marshal+unmarshal+size
