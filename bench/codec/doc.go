// Package codec is the messages that the codec benchmark encodes and decodes:
// Limosa's in shapes, Apache Thrift's in apache, those of Protobuf and
// vtprotobuf in pb.
package codec

//go:generate go run github.com/limosa-rpc/limosa/gen/limosa-gen -out . shapes.thrift
