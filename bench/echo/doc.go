// Package echo is the service that the RPC benchmark calls, as each peer's own
// generator makes it: Protobuf for gRPC, Connect and DRPC here, Thrift for Limosa
// and Apache Thrift in the folders below.
package echo

//go:generate go run ./generate echo.proto protoc-gen-go protoc-gen-go-grpc protoc-gen-go-drpc protoc-gen-connect-go
//go:generate go run github.com/limosa-rpc/limosa/gen/limosa-gen -out limosa echo.thrift
//go:generate go run github.com/limosa-rpc/limosa/cmd/limosa-gen -M echo.proto=github.com/limosa-rpc/limosa/bench/echo/limosa/echopb -out limosa echo.proto
