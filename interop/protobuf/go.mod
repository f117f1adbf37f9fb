module github.com/limosa-rpc/limosa/interop/protobuf

go 1.26.0

require (
	github.com/limosa-rpc/limosa v0.0.0
	github.com/limosa-rpc/limosa/cmd v0.0.0
)

replace (
	github.com/limosa-rpc/limosa => ../..
	github.com/limosa-rpc/limosa/cmd => ../../cmd
)
