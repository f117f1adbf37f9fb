module github.com/limosa-rpc/limosa/interop

go 1.26.0

require github.com/limosa-rpc/limosa v0.0.0

require (
	github.com/apache/thrift v0.25.0
	golang.org/x/net v0.62.0
)

require (
	connectrpc.com/connect v1.21.1
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/limosa-rpc/limosa => ../
