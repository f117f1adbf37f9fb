package thrift

import (
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/rpc"
)

// Compact is the codec of Thrift's Compact protocol, for the same structs as
// Binary and with the same rules; it makes the same messages about half as
// long. It has methods for what framings need, as Binary has functions.
//
// The zero value is ready, and safe for concurrent use. It goes by plans that
// are made at run time, for generated structs too.
//
// Source: doc/specs/thrift-compact-protocol.md of Apache Thrift 0.25, and its
// Go library where the page leaves something open.
type Compact struct {
	MaxDepth int // as Binary's
}

var _ rpc.Codec = Compact{}

// Append encodes msg at the end of out, as Binary.Append does.
func (c Compact) Append(out *buf.Out, msg any) error {
	return plan.AppendCompact(out, msg, c.MaxDepth)
}

// Decode fills msg from body, as Binary.Decode does, with one difference: at
// most lim.DecodeBudget of twice the body's length is allocated, since an
// ordinary message takes fewer bytes here for the same memory.
func (c Compact) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	_, err := c.DecodeWeighed(body, msg, lim)
	return err
}

// DecodeWeighed makes Compact an rpc.Weigher.
func (c Compact) DecodeWeighed(body buf.View, msg any, lim *rpc.Limits) (int, error) {
	return plan.DecodeCompact(body, msg, lim)
}

// In gives the codec that writes the same messages in another encoding; it
// makes Binary an rpc.Recoder.
func (c Binary) In(e rpc.Encoding) rpc.Codec {
	if e == rpc.Compact {
		return Compact{MaxDepth: c.MaxDepth}
	}
	return nil
}

var _ rpc.Recoder = Binary{}
