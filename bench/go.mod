module github.com/limosa-rpc/limosa/bench

go 1.26.0

replace (
	github.com/limosa-rpc/limosa => ../
	github.com/limosa-rpc/limosa/cmd => ../cmd
)

require (
	connectrpc.com/connect v1.21.1
	github.com/apache/thrift v0.25.0
	github.com/bufbuild/protocompile v0.14.1
	github.com/cloudwego/netpoll v0.7.2
	github.com/google/pprof v0.0.0-20240727154555-813a5fbdbec8
	github.com/limosa-rpc/limosa v0.0.0
	github.com/limosa-rpc/limosa/cmd v0.0.0
	github.com/planetscale/vtprotobuf v0.6.1-0.20240319094008-0393e58bdf10
	golang.org/x/sys v0.49.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
	storj.io/drpc v1.0.0
)

require (
	github.com/bytedance/gopkg v0.1.1 // indirect
	github.com/cloudwego/gopkg v0.1.4 // indirect
	github.com/zeebo/errs v1.2.2 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/grpc/cmd/protoc-gen-go-grpc v1.6.2 // indirect
)

tool (
	connectrpc.com/connect/cmd/protoc-gen-connect-go
	github.com/planetscale/vtprotobuf/cmd/protoc-gen-go-vtproto
	google.golang.org/grpc/cmd/protoc-gen-go-grpc
	google.golang.org/protobuf/cmd/protoc-gen-go
	storj.io/drpc/cmd/protoc-gen-go-drpc
)
