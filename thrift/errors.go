package thrift

import (
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// A SyntaxError says where bytes are not Thrift, or not of the type that they
// are decoded into. rpc.CodeOf of it is rpc.InvalidArgument.
type SyntaxError = raw.SyntaxError

// A TypeError says why a Go type, or a value of it, cannot be a message. The
// codecs give it inside of an *rpc.Error with rpc.Internal.
type TypeError = plan.TypeError
