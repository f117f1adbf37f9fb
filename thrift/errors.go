package thrift

import "github.com/limosa-rpc/limosa/internal/thrift/raw"

// A SyntaxError says where bytes are not Thrift, or not of the type that they
// are decoded into. rpc.CodeOf of it is rpc.InvalidArgument.
type SyntaxError = raw.SyntaxError
