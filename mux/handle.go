package mux

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

// Handle runs a server's call, interceptors and handler, and gives what the caller
// is to be told; nil is success. An exception that the method declares is put into
// the call's result. See [Guard] for what becomes of panics and of errors that are
// not for the caller. Handle does not return if the
// handler ends its goroutine: who calls it finds that in a deferred call, see [Exited].
func Handle(ctx context.Context, call *rpc.Call, serve rpc.Next, l *slog.Logger) (public *rpc.Error) {
	err := guarded(ctx, call, serve, l)
	if err == nil {
		return nil
	}
	return Public(call, err, l)
}

// Exited logs that the handler of call has ended its goroutine (runtime.Goexit, which
// t.Fatal calls), even without a logger, and gives what the caller is told: Internal,
// with the id that was logged.
func Exited(call *rpc.Call, l *slog.Logger) *rpc.Error {
	e, log := hidden(call, orDefault(l))
	if log != nil {
		log("rpc: a handler has ended its goroutine")
	}
	return e
}

// Chain is [rpc.Chain] for a server: each interceptor sees what became of the call as
// its caller is told, see [Guard].
func Chain(final rpc.Next, l *slog.Logger, interceptors ...rpc.Interceptor) rpc.Next {
	for _, icept := range slices.Backward(interceptors) {
		next := Guard(final, l)
		final = func(ctx context.Context, c *rpc.Call) error { return icept(ctx, c, next) }
	}
	return final
}

// Guard gives next with an outcome as the caller of a server's call is told it: nil, an
// exception that the method declares, or an *rpc.Error of which code, message and
// details are sent.
//
// A panic of next, or of the methods of the error that it returns, such as a nil
// *rpc.Error, fails the call only: it is logged with its stack, even without a
// logger, under an id that the caller is told. So is the text of an error that is not
// for the caller, which the *rpc.Error keeps as its cause, and a handler that returns
// neither a result nor an error. An error because ctx has ended is told as such.
func Guard(next rpc.Next, l *slog.Logger) rpc.Next {
	return func(ctx context.Context, c *rpc.Call) error { return guarded(ctx, c, next, l) }
}

// guarded is Guard at work. Where next ends the goroutine nothing is returned, and
// nothing is logged here: whoever called Handle finds that it has not returned, see [Exited].
func guarded(ctx context.Context, call *rpc.Call, next rpc.Next, l *slog.Logger) (told error) {
	var err error
	returned := false
	defer func() {
		p := recover()
		if p == nil {
			return // all is well, or the goroutine ends
		}
		e, log := hidden(call, orDefault(l))
		told = e
		switch {
		case log == nil:
		case returned:
			logPanic(log, fmt.Sprintf("rpc: panic in a handler's error, a %T", err), p)
		default:
			logPanic(log, "rpc: panic in a handler", p)
		}
	}()
	err = next(ctx, call)
	returned = true
	if err == nil && call.Method.Raise != nil {
		err = call.Method.Raise(rpc.EngineOf(call).Result()) // a declared exception that is there already, or no result at all
	}
	if err == nil {
		return nil
	}
	return asTold(ctx, call, err, l)
}

// asTold is err as the caller is told it.
func asTold(ctx context.Context, call *rpc.Call, err error, l *slog.Logger) error {
	e, public := rpc.Public(err)
	switch {
	case public && error(e) == err, call.Declared(err):
		return err
	case ctx.Err() != nil && rpc.CodeOf(err) == rpc.CodeOf(ctx.Err()):
		// Whatever it came from, such as a call to a further hop: it is what
		// this call has ended with.
		code, msg := rpc.CodeOf(err), "the caller has given the call up"
		if ctx.Err() == context.DeadlineExceeded { //nolint:errorlint // as package context defines it
			msg = "the call's time is over"
		} else if errors.Is(context.Cause(ctx), rpc.ErrDraining) {
			code, msg = rpc.Unavailable, rpc.ErrDraining.Error() // see request.outcome
		}
		return &rpc.Error{Code: code, Msg: msg, Err: withheld{err}}
	}
	x := Public(nil, err, nil)
	if x.Code == rpc.Internal && !public {
		var log func(msg string, attrs ...any)
		if x, log = hidden(call, l); log != nil {
			log("rpc: a handler failed", "err", brief(err))
		}
	}
	x.Err = withheld{err}
	return x
}

// withheld is a cause that is shown on this side and is no more than that: what it
// wraps, such as the code of another hop's error, is not this call's.
type withheld struct{ err error }

// Error implements error. There is no Unwrap: errors.As must not find the cause.
func (w withheld) Error() string { return w.err.Error() }

// orDefault is l, or the process's logger: a panic of user code is logged in any case.
func orDefault(l *slog.Logger) *slog.Logger {
	if l == nil {
		l = slog.Default()
	}
	return l
}

// logPanic logs a panic that is being recovered. Where it came from is part of the
// message, a line for each frame of the handler, the innermost first: as an attribute
// it would be one line of thousands of characters in most logs.
func logPanic(log func(msg string, attrs ...any), msg string, p any) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var b strings.Builder
	b.WriteString(msg)
	b.WriteByte('\n')
	for shown, panicked, more := 0, false, true; more && shown < maxFrames; {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case strings.HasSuffix(f.Function, "mux.guarded"):
			more = false
		case strings.HasPrefix(f.Function, "runtime."):
			panicked = panicked || f.Function == "runtime.gopanic"
		case panicked:
			shown++
			fmt.Fprintf(&b, "\t%s %s:%d\n", f.Function, f.File, f.Line)
		}
	}
	log(b.String(), "panic", brief(fmt.Sprint(p)))
}

// maxLogged is how much is logged of the text of an error or a panic, bytes: handlers
// put into it what their callers have sent.
const maxLogged = 4 << 10

// brief is v as it is logged: itself, or the begin of its text if that is long. What
// panics while it gives its text does so within fmt, which stands it.
func brief(v any) any {
	text := fmt.Sprint(v)
	if len(text) <= maxLogged {
		return v
	}
	return clipped(text, maxLogged)
}

// clipped is text, or of one that is longer than n bytes the begin and how long it was.
func clipped(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:n], ""), len(text))
}

// maxFrames is how much of a panic's stack is logged.
const maxFrames = 16

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

// publicOf is Public for a caller that holds a lock, under which no logger runs, since its
// handler is the user's: log, if not nil, is to be called after the unlock.
func publicOf(call *rpc.Call, err error, l *slog.Logger) (e *rpc.Error, log func()) {
	if err == nil {
		return nil, nil
	}
	if call != nil && call.Method.Except != nil {
		// A call that is refused has no result; what refuses it is no exception of the method.
		if result := rpc.EngineOf(call).Result(); result != nil && call.Method.Except(result, err) {
			return nil, nil
		}
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
	return e, func() { report("rpc: a handler failed", "err", brief(err)) }
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
		if due, left = rpc.HintsOf(call.Method).LogFailure(time.Now()); !due {
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
