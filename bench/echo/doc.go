// Package echo is the service that the RPC benchmark calls, as each peer's own
// generator makes it: Protobuf for gRPC, Connect and DRPC here, Thrift in the
// folders below.
package echo

//go:generate go run ./generate
