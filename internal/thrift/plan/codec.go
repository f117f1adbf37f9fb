package plan

import (
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
)

// AppendBinary encodes msg at the end of out in the Binary protocol. depth is how deeply it may
// nest, 0 the default; plain: by plans alone, without generated methods.
//
// msg is a pointer to a struct and is only read; nothing of it is kept but strings of
// buf.RefMin and more, to which out refers, since they cannot change. After an error out
// may hold a part of the message: the caller truncates it to its own mark. The error is
// an *rpc.Error with rpc.Internal, since a message that cannot be sent is the program's
// fault.
func AppendBinary(out *buf.Out, msg any, depth int, plain bool) error {
	pl, p, err := Of(msg)
	if err != nil {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: err}
	}
	if depth == 0 {
		depth = DefaultDepth
	}
	// A message that is a view itself forwards its bytes and has no fields to go through.
	e := Encoder{Out: out, plain: plain}
	if pl.Shown != nil {
		there, err := pl.How.Append(pl.ViewAt(p), out)
		if !there {
			err = &TypeError{Type: reflect.TypeOf(msg), Why: shape.WhyNil}
		}
		if err != nil {
			return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: err}
		}
		return nil
	}
	if pl.made != 0 && !plain {
		out.Commit(e.generated(out.Block(), pl, p, depth))
	} else {
		out.Commit(e.Fields(out.Block(), pl, p, depth))
	}
	if e.Err != nil {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: Placed(pl, p, e.Err)}
	}
	return nil
}

// AppendCompact is AppendBinary for the Compact protocol, in which generated methods are not
// used: they write Binary only.
func AppendCompact(out *buf.Out, msg any, depth int) error {
	pl, p, err := Of(msg)
	if err != nil {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: err}
	}
	if depth == 0 {
		depth = DefaultDepth
	}
	e := Encoder{Out: out, wire: inCompact}
	out.Commit(e.compactFields(out.Block(), pl, p, depth))
	if e.Err != nil {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: Placed(pl, p, e.Err)}
	}
	return nil
}

// DecodeBinary replaces what msg holds by what body says, in the Binary protocol, and gives
// what that weighs; plain: by plans alone. lim may be nil.
//
// body is borrowed: strings that are kept may hold on to its memory by a Frame, which is
// counted there, and views keep a reference each. After an error msg holds what was
// decoded so far, but no view: their references are given back. The error is an
// *rpc.Error with rpc.InvalidArgument if the peer is at fault, with rpc.Internal if the
// type is.
func DecodeBinary(body buf.View, msg any, lim *rpc.Limits, plain bool) (int, error) {
	pl, p, err := Of(msg)
	if err != nil {
		return 0, &rpc.Error{Code: rpc.Internal, Op: "decode", Err: err}
	}
	if lim == nil {
		lim = rpc.Limits{}.WithDefaults()
	}
	if pl.Shown != nil {
		return 0, pl.How.Open(pl, pl.ViewAt(p), body, lim)
	}
	if pl.made != 0 && !plain && !pl.HasViews {
		pl.Clear(p)
		return decodeGenerated(pl, p, body, lim)
	}
	b := body.Bytes()
	d := Decoder{B: b, Texts: codec.Texts{Frame: codec.NewFrame(body)}, Budget: codec.Budget(lim.DecodeBudget(len(b)))}
	if pl.HasViews {
		d.body, d.lim = body, lim
	}
	if !plain {
		d.hand = lim.Depth - 1 // what has no methods, such as arguments made by hand, may hold structs that do
	}
	end, f := 0, raw.TooCostly
	if d.Begin(pl, p) {
		end, f = d.Fields(pl, p, 0, lim.Depth)
	}
	if f == raw.Fine && end != len(b) {
		f = raw.Trailing
	}
	if f != raw.Fine {
		if pl.HasViews {
			pl.giveBack(p)
		}
		return 0, d.Failed(end, f)
	}
	return lim.DecodeBudget(len(b)) - int(d.Budget), nil
}

// DecodeCompact is DecodeBinary for the Compact protocol. The budget is that of a message of
// twice the length, since the same message is shorter here than in Binary. Strings are always
// copied: there is no Frame that long ones could refer to.
//
// A message that is a view, or has views, is rewritten into Binary for them, since views
// read Binary only; the budget covers that too.
func DecodeCompact(body buf.View, msg any, lim *rpc.Limits) (int, error) {
	pl, p, err := Of(msg)
	if err != nil {
		return 0, &rpc.Error{Code: rpc.Internal, Op: "decode", Err: err}
	}
	if lim == nil {
		lim = rpc.Limits{}.WithDefaults()
	}
	b := body.Bytes()
	d := Decoder{B: b, wire: inCompact, Budget: codec.Budget(lim.DecodeBudget(2 * len(b)))}
	end, f := 0, raw.TooCostly
	if pl.Shown != nil {
		pl.How.Reset(pl.ViewAt(p))
		end, f = d.compactView(pl, p, 0, lim.Depth)
	} else if d.Begin(pl, p) {
		end, f = d.compactFields(pl, p, 0, lim.Depth)
	}
	if f == raw.Fine && end != len(b) {
		f = raw.Trailing
	}
	if f != raw.Fine {
		return 0, &rpc.Error{Code: rpc.InvalidArgument, Op: "decode", Err: &raw.SyntaxError{Offset: min(end, len(b)), Path: d.Where, Why: f.Why()}}
	}
	return lim.DecodeBudget(2*len(b)) - int(d.Budget), nil
}

// Placed gives err, with which encoding msg has failed, its place in the message at p, where the
// encoder knew none: it looks for it only now.
//
// To carry a path along would cost every encode that succeeds. The walk that finds it may
// come upon another fault first, such as one in a field that the encode had not reached;
// then the error stays without a place rather than getting a wrong one.
func Placed(pl *Plan, p unsafe.Pointer, err error) error {
	e, ok := err.(*TypeError)
	if !ok || e.Field != "" {
		return err
	}
	bad := pl.Validate(p)
	if bad == nil || bad.Why != e.Why {
		return err
	}
	x := *e
	x.Path = bad.Path
	return &x
}
