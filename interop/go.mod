module github.com/limosa-rpc/limosa/interop

go 1.26.0

require github.com/limosa-rpc/limosa v0.0.0

require github.com/apache/thrift v0.25.0

replace github.com/limosa-rpc/limosa => ../
