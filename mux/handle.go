package mux

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

// Handle runs a server's call, interceptors and handler, and gives what the caller
// is to be told, as [Public] does; nil is success. A panic of theirs, or of the
// methods of the error that they return, such as a nil *rpc.Error, fails the call
// only: it is logged with its stack, even without a logger, under an id that the
// caller is told. An error because ctx has ended is told as such. A handler that
// ends its goroutine (runtime.Goexit, which t.Fatal calls) is logged too; Handle
// does not return then.
func Handle(ctx context.Context, call *rpc.Call, serve rpc.Next, l *slog.Logger) (public *rpc.Error) {
	var err error
	returned := false
	defer func() {
		p := recover()
		if p == nil && returned {
			return
		}
		if l == nil {
			l = slog.Default()
		}
		var log func(msg string, attrs ...any)
		public, log = hidden(call, l)
		switch {
		case log == nil:
		case p == nil:
			log("rpc: a handler has ended its goroutine")
		case returned:
			log(fmt.Sprintf("rpc: panic in a handler's error, a %T", err), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		default:
			log("rpc: panic in a handler", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	err = serve(ctx, call)
	returned = true
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && rpc.CodeOf(err) == rpc.CodeOf(ctx.Err()) {
		// Whatever it came from, such as a call to a further hop: it is what
		// this call has ended with.
		err = rpc.Errorf(rpc.CodeOf(err), "the call has ended")
	}
	return Public(call, err, l)
}

// Begun gives err, with which the caller's side of a stream has ended, as what is
// true of a call that the handler may have begun: it is not safe to repeat, although
// err says so. That is of a message, or of another call that the caller has made.
func Begun(peer string, err error) error {
	if err == nil || !rpc.SentOf(err).Retryable() {
		return err
	}
	return &rpc.Error{Code: rpc.CodeOf(err), Op: "call", Peer: peer, Sent: rpc.Maybe, Err: err}
}

// Public turns the error of a handler into what the caller is told: nil for
// success and for an exception that the method declares, which is put into the
// call's result; the error itself if it was meant for the caller; else Internal
// without its text. With a logger the withheld text is logged under an id that
// the caller is given. call may be nil if none was made.
func Public(call *rpc.Call, err error, l *slog.Logger) *rpc.Error {
	e, log := publicOf(call, err, l)
	if log != nil {
		log()
	}
	return e
}

// publicOf is Public for who holds a lock, under which no logger runs, since its
// handler is the user's: log, if not nil, is to be called after the unlock.
func publicOf(call *rpc.Call, err error, l *slog.Logger) (e *rpc.Error, log func()) {
	if err == nil {
		return nil, nil
	}
	if call != nil && call.Method.Except != nil && call.Method.Except(call.Response(), err) {
		return nil, nil
	}
	if e, ok := rpc.Public(err); ok {
		return &rpc.Error{Code: e.Code, Msg: e.Msg, Details: e.Details, Sent: e.Sent}, nil
	}
	if e, ok := errors.AsType[*rpc.Error](err); ok && !e.Remote && e.Code == rpc.ResourceExhausted {
		// A limit of this side, such as an answer that is too large.
		return &rpc.Error{Code: e.Code, Msg: e.Msg}, nil
	}
	e, report := hidden(call, l)
	if report == nil {
		return e, nil
	}
	return e, func() { report("rpc: a handler failed", "err", err) }
}

// hidden is what the caller is told of a failure whose text is not for it, with the
// id under which log logs the text. log is nil without a logger, and where too many
// were logged lately: callers may make a handler fail as often as they like.
func hidden(call *rpc.Call, l *slog.Logger) (e *rpc.Error, log func(msg string, attrs ...any)) {
	e = &rpc.Error{Code: rpc.Internal, Msg: "internal error"}
	if l == nil {
		return e, nil
	}
	method, left := "unknown", 0
	if call != nil {
		method = call.Method.String()
		var due bool
		if due, left = call.Method.LogFailure(time.Now()); !due {
			return e, nil
		}
	}
	id := rand.Text()[:8]
	e.Msg += " " + id
	return e, func(msg string, attrs ...any) {
		attrs = append([]any{"id", id, "method", method}, attrs...)
		if left > 0 {
			attrs = append(attrs, "unlogged", left)
		}
		l.Error(msg, attrs...)
	}
}
