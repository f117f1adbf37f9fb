package plan

import (
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/rpc"
)

// DefaultDepth is how deeply a message to be encoded may nest unless something else is said: what
// Protobuf's own libraries take.
const DefaultDepth = 100

// Append encodes msg at the end of out. depth is how deeply it may nest, 0 the default; sorted: maps
// are written in the order of their keys.
func Append(out *buf.Out, msg any, depth int, sorted bool) error {
	pl, p, err := Of(msg)
	if err != nil {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: err}
	}
	if depth == 0 {
		depth = DefaultDepth
	}
	e := Encoder{Out: out, sorted: sorted}
	out.Commit(e.fields(out.Block(), pl, p, depth))
	if e.Err != nil {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: e.Err}
	}
	return nil
}

// Decode replaces what msg holds by what body says. lim may be nil. It gives what the message weighs: the
// memory that it took.
func Decode(body buf.View, msg any, lim *rpc.Limits) (int, error) {
	pl, p, err := Of(msg)
	if err != nil {
		return 0, &rpc.Error{Code: rpc.Internal, Op: "decode", Err: err}
	}
	pl.Clear(p)
	if lim == nil {
		lim = rpc.Limits{Depth: DefaultDepth}.WithDefaults()
	}
	b := body.Bytes()
	d := Decoder{all: b, texts: codec.Texts{Frame: codec.NewFrame(body)}, Budget: codec.Budget(lim.DecodeBudget(len(b)))}
	end, f := d.fields(pl, p, b, 0, lim.Depth, 0)
	if f == raw.Fine && len(d.lacks) > 0 {
		if x := d.judge(pl, p); x != nil {
			end, f, d.where = x.at, raw.Missing, x.where
		}
	}
	if f != raw.Fine {
		return 0, &rpc.Error{Code: rpc.InvalidArgument, Op: "decode", Err: &raw.SyntaxError{Offset: min(end, len(b)), Path: d.where, Why: f.Why()}}
	}
	return lim.DecodeBudget(len(b)) - int(d.Budget), nil
}
