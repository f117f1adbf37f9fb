// Package inproc is the path of calls whose server is in the same process: no
// connection, no frames, and the same answers.
//
// It is the one path of calls that does not go through mux.Conn, so it has to keep by
// itself what a connection keeps. What is the same, and by what:
//
//   - Messages are copied, by the method's codec there and back, which also applies
//     Depth and the budget of the decode; MessageBytes, HeaderBytes and HeaderEntries are
//     compared here.
//   - Handlers run under mux.Handle, and refused calls pass the interceptors: one truth of
//     an outcome, one form of log.
//   - CallsPerServer counts calls of both ways in one gate.
//   - Deadlines and cancellation reach the handler's context, which has none of its
//     caller's values: from afar it would not have them either. Metadata are what passes.
//   - Errors say Remote and how far the call came, so that a retry decides alike.
//
// What differs: there is no queue and so no QueueTime, nothing is held for a peer that
// does not read but laneBytes of a stream, and a call of one message runs on its caller's
// goroutine. A handler that does not look at its context holds its caller up, where a
// client would have left it behind: a goroutine for each call would cost all of them
// for the sake of those. What it says then is dropped all the same: the caller is told
// that its time is over. limosa.Local says so.
package inproc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

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
	Chain  func(final rpc.Next) rpc.Next // the interceptors, for calls that are refused; nil: none
	Limits *rpc.Limits                   // with all fields set
	Gate   *mux.Gate                     // bounds the calls in flight

	// Timeout is what a call of one message has without a deadline of its own; 0: no
	// bound.
	Timeout time.Duration

	Logger *slog.Logger // for panics of handlers and for errors that their callers are not told
}

// Do is rpc.Caller's method.
//
// It returns when the handler has, whatever becomes of ctx: see the package. Errors are
// those of a call from afar, with Peer "local".
func (l *Path) Do(ctx context.Context, c *rpc.Call) error {
	c.Peer = localPeer
	if ctx.Err() != nil {
		return &rpc.Error{Code: rpc.CodeOf(ctx.Err()), Op: "call", Peer: localPeer, Sent: rpc.NotSent, Err: context.Cause(ctx)}
	}
	if err := c.Header.Check(l.Limits); err != nil {
		return err
	}
	// In the order of mux's ServerConn: what no server could serve before what this one
	// has no room for.
	h, why, ok := l.Route(c.Service, c.Method.Name)
	if !ok {
		return l.refuse(ctx, c, h, &rpc.Error{Code: rpc.Unimplemented, Msg: why})
	}
	if wrong := mux.Mismatch(h.Method, c.Method.Kind > rpc.Oneway); wrong != nil {
		return l.refuse(ctx, c, h, wrong)
	}
	if !l.Gate.Enter() {
		return l.refuse(ctx, c, h, &rpc.Error{Code: rpc.ResourceExhausted, Msg: "too many calls in flight on this server"})
	}
	defer l.Gate.Leave()
	if c.Method.Kind > rpc.Oneway {
		return l.stream(ctx, c, h)
	}
	served, err := l.serve(ctx, c, h)
	if c.Method.Kind == rpc.Oneway {
		return err
	}
	if ended := ctx.Err(); ended != nil && rpc.CodeOf(err) != rpc.CodeOf(ended) {
		// Its caller would have left by now; what the handler says comes too late.
		return &rpc.Error{Code: rpc.CodeOf(ended), Op: "call", Peer: localPeer, Sent: rpc.Maybe, Err: context.Cause(ctx)}
	}
	if err != nil {
		if served != nil && served.Trailer.Fits(l.Limits) == nil {
			c.Trailer = trailer(served)
		}
		return err
	}
	if err := served.Trailer.Fits(l.Limits); err != nil {
		return told(mux.Public(nil, err, l.Logger))
	}
	c.Trailer = trailer(served) // also behind an answer that cannot be encoded
	body, err := copyBytes(rpc.EngineOf(served).AppendResponse, l.Limits)
	if err != nil {
		return told(mux.Public(nil, fmt.Errorf("the answer of %v: %w", served.Method, err), l.Logger))
	}
	defer body.Release()
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
//
// The call that the handler sees is another one than the caller's, so that neither sees
// what the other changes in its own.
func (l *Path) serve(ctx context.Context, c *rpc.Call, h rpc.Handler) (*rpc.Call, error) {
	rpc.EngineOf(c).SetEncoding(rpc.Native)
	body, err := copyBytes(rpc.EngineOf(c).AppendRequest, l.Limits)
	if err != nil {
		return nil, err
	}
	call := h.Method.New()
	call.Method, call.Service, call.Asked, call.Peer, call.Header = h.Method, h.Service, c.Service, localPeer, c.Header.Clone()
	rpc.EngineOf(call).SetBody(body, l.Limits)
	defer rpc.EngineOf(call).Release()
	// Not ctx: its values are the caller's, and a handler must not come to need them.
	serverCtx := rpc.EngineOf(call).Begin(context.Background(), l.deadline(ctx))
	defer rpc.EngineOf(call).End(context.Canceled)
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { rpc.EngineOf(call).End(ctx.Err()) })()
	}
	if public := l.handle(serverCtx, call, h.Serve); public != nil && h.Method.Kind != rpc.Oneway {
		return call, told(public)
	}
	return call, nil
}

// handle is mux.Handle for a handler on the caller's goroutine. One that ends it ends
// its caller too, as a function that is called does; nobody is left to be told.
func (l *Path) handle(ctx context.Context, call *rpc.Call, serve rpc.Next) *rpc.Error {
	exits := true
	defer func() {
		if exits {
			mux.Exited(call, l.Logger)
		}
	}()
	public := mux.Handle(ctx, call, serve, l.Logger)
	exits = false
	return public
}

// deadline is that of a call of one message.
//
// Of the caller's and the server's the earlier one counts, as on a connection.
func (l *Path) deadline(ctx context.Context) time.Time {
	t, ok := ctx.Deadline()
	bound := func(d time.Duration) {
		if by := time.Now().Add(d); d > 0 && (!ok || by.Before(t)) {
			t, ok = by, true
		}
	}
	if !ok {
		bound(l.Timeout)
	}
	bound(l.Limits.CallTime)
	return t
}

// refuse has the interceptors see a call that is not served, and gives what its caller
// is told: why, or what they say instead. They cannot make it succeed.
func (l *Path) refuse(ctx context.Context, c *rpc.Call, h rpc.Handler, why *rpc.Error) error {
	if l.Chain != nil {
		m := h.Method
		if m == nil {
			m = &rpc.Method{Service: c.Service, Name: c.Method.Name}
		}
		var own rpc.ServerCall
		call := own.Init(nil, nil)
		call.Method, call.Service, call.Asked, call.Peer, call.Header = m, h.Service, c.Service, localPeer, c.Header.Clone()
		rpc.EngineOf(call).Refuse(why)
		serverCtx := rpc.EngineOf(call).Begin(context.Background(), l.deadline(ctx))
		defer rpc.EngineOf(call).End(context.Canceled)
		if said := l.handle(serverCtx, call, l.Chain(func(context.Context, *rpc.Call) error { return why })); said != nil {
			why = said
		}
	}
	return &rpc.Error{Code: why.Code, Msg: why.Msg, Details: why.Details, Peer: localPeer, Sent: rpc.Refused, Remote: true}
}

// told is an error of a handler, of mux.Public, as its caller gets it.
func told(public *rpc.Error) error {
	public.Peer, public.Remote, public.Sent = localPeer, true, rpc.Processed
	return public
}

// copyBytes encodes a message into memory of its own. One that no connection would
// carry is refused in the same words: what works here is to work from afar. There is
// no frame here, so it is the message alone that counts.
func copyBytes(encode func(*buf.Out) error, lim *rpc.Limits) (buf.View, error) {
	var out buf.Out
	defer out.Reset()
	start := out.Mark()
	if err := recovered("encode", func() error { return encode(&out) }); err != nil {
		if e, ok := errors.AsType[*rpc.Error](err); ok {
			return buf.View{}, e
		}
		return buf.View{}, &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: err}
	}
	if n := out.Since(start); n > lim.MessageBytes {
		return buf.View{}, &rpc.Error{Code: rpc.ResourceExhausted, Op: "encode", Sent: rpc.NotSent,
			Msg: fmt.Sprintf("message of %d bytes, Limits.MessageBytes is %d", n, lim.MessageBytes)}
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
