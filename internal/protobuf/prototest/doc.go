// Package prototest has messages for tests of the Protobuf codec. Those of package pb below it are
// the same ones as the official generator makes them, those of package made as Limosa's does.
package prototest

//go:generate sh -c "cd ../../../cmd && go run ./limosa-gen -q -prefix github.com/limosa-rpc/limosa/internal/protobuf/prototest -out ../internal/protobuf/prototest -M all.proto=github.com/limosa-rpc/limosa/internal/protobuf/prototest/made -M old.proto=github.com/limosa-rpc/limosa/internal/protobuf/prototest/made ../internal/protobuf/prototest/pb/all.proto ../internal/protobuf/prototest/pb/old.proto"
