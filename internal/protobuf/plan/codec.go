package plan

import (
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/rpc"
)

// DefaultDepth is how deeply a message to be encoded may nest unless something else is said: what
// Protobuf's own libraries take.
const DefaultDepth = 100

// Append encodes msg at the end of out. depth is how deeply it may nest, 0 the default; sorted: maps
// are written in the order of their keys; plain: generated methods are not used.
func Append(out *buf.Out, msg any, depth int, sorted, plain bool) error {
	pl, p := at(Memo.Known(msg)), shape.Data(msg)
	if pl == nil || p == nil {
		var err error
		if pl, p, err = Of(msg); err != nil {
			return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: err}
		}
	}
	if depth == 0 {
		depth = DefaultDepth
	}
	if pl.made != 0 && !plain && depth > 0 {
		b, fine := pl.madeFor(p).EncodeProto(Output{Out: out, Sorted: sorted}, out.Block(), depth)
		if out.Commit(b); fine {
			return nil
		}
		return unmade(out, pl, p, depth, sorted)
	}
	return planned(out, pl, p, depth, sorted, plain)
}

// planned encodes the message at p by its plan.
func planned(out *buf.Out, pl *Plan, p unsafe.Pointer, depth int, sorted, plain bool) error {
	e := Encoder{Out: out, sorted: sorted, plain: plain}
	out.Commit(e.fields(out.Block(), pl, p, depth))
	if e.Err != nil {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: e.Err}
	}
	return nil
}

// unmade gives the error for a message that its generated methods could not encode, which the plan finds once more.
func unmade(out *buf.Out, pl *Plan, p unsafe.Pointer, depth int, sorted bool) error {
	e := Encoder{Out: out, sorted: sorted, plain: true}
	if out.Commit(e.fields(out.Block(), pl, p, depth)); e.Err == nil {
		e.Err = &TypeError{Type: pl.Go, Why: "was changed while it was encoded"}
	}
	return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: e.Err}
}

// Decode replaces what msg holds by what body says. lim may be nil. It gives what the message weighs: the
// memory that it took. plain: generated methods are not used.
func Decode(body buf.View, msg any, lim *rpc.Limits, plain bool) (int, error) {
	pl, p := at(Memo.Known(msg)), shape.Data(msg)
	if pl == nil || p == nil {
		var err error
		if pl, p, err = Of(msg); err != nil {
			return 0, &rpc.Error{Code: rpc.Internal, Op: "decode", Err: err}
		}
	}
	pl.Clear(p)
	if lim == nil {
		lim = rpc.Limits{Depth: DefaultDepth}.WithDefaults()
	}
	if pl.made != 0 && !plain {
		return decodeMade(pl, p, body, lim)
	}
	return decodePlanned(pl, p, body, lim)
}

// decodePlanned decodes the message at p by its plan, and gives the memory that it took.
func decodePlanned(pl *Plan, p unsafe.Pointer, body buf.View, lim *rpc.Limits) (int, error) {
	b := body.Bytes()
	d := Decoder{all: b, Texts: codec.Texts{Frame: codec.NewFrame(body)}, Budget: codec.Budget(lim.DecodeBudget(len(b)))}
	end, f := d.fields(pl, p, b, 0, lim.Depth, 0)
	if end, f = d.judged(pl, p, end, f); f != raw.Fine {
		return 0, failed(len(b), end, f, d.where)
	}
	return lim.DecodeBudget(len(b)) - int(d.Budget), nil
}

// decodeMade decodes the message at p by its generated methods, and gives the memory that it took.
func decodeMade(pl *Plan, p unsafe.Pointer, body buf.View, lim *rpc.Limits) (int, error) {
	b := body.Bytes()
	in := Input{Frame: codec.NewFrame(body), Budget: codec.Budget(lim.DecodeBudget(len(b)))}
	if len(b) > 0 {
		// Safety: nobody writes the message while it is decoded, and what is decoded
		// has copies or refers to the block by its Frame.
		in.B = unsafe.String(&b[0], len(b))
	}
	r := pl.madeFor(p).DecodeProto(in, lim.Depth)
	if r.Code != uint64(len(b))<<8 {
		return 0, failed(len(b), int(r.Code>>8), raw.Fault(r.Code), r.Where)
	}
	return lim.DecodeBudget(len(b)) - int(r.Budget), nil
}

// judged looks, at the end of a message without a fault, whether required fields did not come.
func (d *Decoder) judged(pl *Plan, p unsafe.Pointer, end int, f raw.Fault) (int, raw.Fault) {
	if f == raw.Fine && len(d.lacks) > 0 {
		if x := d.judge(pl, p); x != nil {
			end, f, d.where = x.at, raw.Missing, x.where
		}
	}
	return end, f
}

// failed makes the error for a fault at an offset of a message of n bytes.
func failed(n, end int, f raw.Fault, where string) error {
	return &rpc.Error{Code: rpc.InvalidArgument, Op: "decode", Err: &raw.SyntaxError{Offset: min(end, n), Path: where, Why: f.Why()}}
}
