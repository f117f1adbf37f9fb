// Package codec is the messages that the codec benchmark encodes and decodes:
// Limosa's in shapes and, for Protobuf, in protoshapes, Apache Thrift's in apache, those of
// Protobuf and vtprotobuf in pb.
package codec

//go:generate go run github.com/limosa-rpc/limosa/gen/limosa-gen -out . shapes.thrift
//go:generate sh -c "cd ../../cmd && go run ./limosa-gen -q -prefix github.com/limosa-rpc/limosa/bench/codec -out ../bench/codec -M shapes.proto=github.com/limosa-rpc/limosa/bench/codec/protoshapes ../bench/codec/pb/shapes.proto"
