// Package inproc is the path of calls whose server is in the same process: no
// connection, no frames, and the same answers.
package inproc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
)

// A Path runs the handlers of a server on the goroutine of whoever calls.
// Messages are encoded and decoded as on the wire, so that neither side can
// change what the other holds; metadata, codes and declared exceptions arrive as
// from afar. Its fields are set before the first call, then constant; all methods
// may be called concurrently.
type Path struct {
	Route  mux.Router
	Limits *rpc.Limits  // with all fields set
	Gate   *mux.Gate    // bounds the calls in flight
	Logger *slog.Logger // for panics of handlers and for errors that their callers are not told
}

// Do is rpc.Caller's method.
func (l *Path) Do(ctx context.Context, c *rpc.Call) error {
	c.Peer = localPeer
	if ctx.Err() != nil {
		return &rpc.Error{Code: rpc.CodeOf(ctx.Err()), Op: "call", Peer: localPeer, Sent: rpc.NotSent, Err: context.Cause(ctx)}
	}
	if err := c.Header.Check(l.Limits); err != nil {
		return err
	}
	h, why, ok := l.Route(c.Service, c.Method.Name)
	if !ok {
		return &rpc.Error{Code: rpc.Unimplemented, Peer: localPeer, Msg: why, Sent: rpc.Refused, Remote: true}
	}
	if !l.Gate.Enter() {
		return &rpc.Error{Code: rpc.ResourceExhausted, Peer: localPeer, Msg: "too many calls in flight on this server", Sent: rpc.Refused, Remote: true}
	}
	defer l.Gate.Leave()
	if c.Method.Kind > rpc.Oneway || h.Method.Kind > rpc.Oneway {
		return l.stream(ctx, c, h)
	}
	served, err := l.serve(ctx, c, h)
	if err != nil || c.Method.Kind == rpc.Oneway {
		return err
	}
	if err := served.Trailer.Fits(l.Limits); err != nil {
		return told(mux.Public(nil, err, l.Logger))
	}
	body, err := copyBytes(rpc.EngineOf(served).AppendResponse)
	if err != nil {
		return told(mux.Public(nil, fmt.Errorf("the answer of %v: %w", served.Method, err), l.Logger))
	}
	defer body.Release()
	c.Trailer = trailer(served)
	var declared error
	if err := recovered("decode response", func() (err error) { declared, err = rpc.EngineOf(c).DecodeResponse(body, l.Limits); return err }); err != nil {
		return err
	}
	return declared
}

// trailer is what the caller gets of the metadata that a handler has sent.
func trailer(served *rpc.Call) rpc.Metadata {
	return slices.DeleteFunc(served.Trailer.Clone(), func(p rpc.Pair) bool { return rpc.Reserved(p.Key) })
}

const localPeer = "local"

// serve runs the handler on a call object of its own.
func (l *Path) serve(ctx context.Context, c *rpc.Call, h rpc.Handler) (*rpc.Call, error) {
	rpc.EngineOf(c).SetEncoding(rpc.Native)
	body, err := copyBytes(rpc.EngineOf(c).AppendRequest)
	if err != nil {
		return nil, err
	}
	call := h.Method.New()
	call.Method, call.Service, call.Asked, call.Peer, call.Header = h.Method, h.Service, c.Service, localPeer, c.Header.Clone()
	rpc.EngineOf(call).SetBody(body, l.Limits)
	defer rpc.EngineOf(call).Release()
	deadline, _ := ctx.Deadline()
	serverCtx := rpc.EngineOf(call).Begin(context.Background(), deadline)
	defer rpc.EngineOf(call).End(context.Canceled)
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { rpc.EngineOf(call).End(ctx.Err()) })()
	}
	if public := mux.Handle(serverCtx, call, h.Serve, l.Logger); public != nil && h.Method.Kind != rpc.Oneway {
		return nil, told(public)
	}
	return call, nil
}

// told is an error of a handler, of mux.Public, as its caller gets it.
func told(public *rpc.Error) error {
	public.Peer, public.Remote, public.Sent = localPeer, true, rpc.Processed
	return public
}

// copyBytes encodes a message into memory of its own.
func copyBytes(encode func(*buf.Out) error) (buf.View, error) {
	var out buf.Out
	defer out.Reset()
	start := out.Mark()
	if err := recovered("encode", func() error { return encode(&out) }); err != nil {
		if e, ok := errors.AsType[*rpc.Error](err); ok {
			return buf.View{}, e
		}
		return buf.View{}, &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: err}
	}
	return out.Take(start), nil
}

// recovered runs what calls a codec. Its panic is an error, as on a connection.
func recovered(op string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			if op != "encode" {
				err = &rpc.Error{Code: rpc.Internal, Op: op, Peer: localPeer, Sent: rpc.Processed, Err: err}
			}
		}
	}()
	return f()
}

// Close is rpc.Caller's method; there is nothing to close.
func (l *Path) Close() error { return nil }
