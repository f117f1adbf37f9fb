package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Sent says how far a failed call came, and with it what a retry may do.
type Sent uint8

const (
	// Maybe: bytes of the call may have reached the server. Only an
	// idempotent call may be sent again. The zero value, as the careful one.
	Maybe Sent = iota
	// NotSent: no byte of the call was handed to the kernel.
	NotSent
	// Refused: the server said that it did not start the call.
	Refused
	// Processed: an answer, or the first message of one, arrived.
	Processed
)

var sentNames = [...]string{Maybe: "maybe", NotSent: "not sent", Refused: "refused", Processed: "processed"}

// String names it in words.
func (s Sent) String() string {
	if int(s) < len(sentNames) {
		return sentNames[s]
	}
	return fmt.Sprintf("Sent(%d)", uint8(s))
}

// Retryable reports whether a call that ended so may be sent again although
// its method is not idempotent.
func (s Sent) Retryable() bool { return s == NotSent || s == Refused }

// An Error is how a call fails: what, which call, where, who, why, and what a retry
// may do. It is coded once, at the boundary; further in, errors are wrapped with %w.
// An Error is not changed after it was returned.
//
// A handler fails its call with Errorf, with a bare Code, or to say more with an
// Error of its own, such as &rpc.Error{Code: rpc.NotFound, Msg: "no such user",
// Details: rpc.Metadata{{Key: "user", Value: "7"}}}: its caller gets Code, Msg and
// Details. It leaves Peer, Sent and Remote alone, which are for errors of calls that
// it makes itself; see Public.
type Error struct {
	Code    Code     // what
	Method  string   // which call: Service/Name, if known
	Op      string   // where: the stage, such as "dial", "send", "decode request"; for this side only
	Peer    string   // who: the other side's address, if known
	Msg     string   // why, in words that a peer may read
	Details Metadata // what else the peer said, such as a business status
	Sent    Sent     // how far the call came
	Remote  bool     // the other side said so; false: found on this side
	Err     error    // the cause on this side; never sent to a peer
}

// Error gives the code, which call it was and with whom, the stage and the message:
// "Unavailable: Hello/echo at 10.0.0.7:8888: dial: connection refused".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code.String())
	if e.Method != "" {
		b.WriteString(": ")
		b.WriteString(e.Method)
	}
	if e.Peer != "" {
		if e.Method != "" {
			b.WriteString(" at ")
		} else {
			b.WriteString(": ")
		}
		b.WriteString(e.Peer)
	}
	if e.Op != "" && e.Op != "call" {
		b.WriteString(": ")
		b.WriteString(e.Op)
	}
	if e.Msg != "" {
		b.WriteString(": ")
		b.WriteString(e.Msg)
	}
	if e.Err != nil {
		// A cause that is the code itself, or stands in the message, says nothing more.
		if why := e.Err.Error(); why != e.Code.String() && (e.Msg == "" || !strings.Contains(e.Msg, why)) {
			b.WriteString(": ")
			b.WriteString(why)
		}
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, rpc.NotFound) work, and errors.Is(err,
// context.DeadlineExceeded) for an expired call wherever it expired.
func (e *Error) Is(target error) bool {
	switch target {
	case context.Canceled:
		return e.Code == Canceled
	case context.DeadlineExceeded:
		return e.Code == DeadlineExceeded
	}
	c, ok := target.(Code)
	return ok && c == e.Code
}

// Errorf makes an error for the caller of a method: its text, unlike that of
// any other error, is sent to the peer. A %w in format is kept as the cause on
// this side, and its text goes out as part of the message.
func Errorf(code Code, format string, args ...any) error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Code: code, Msg: wrapped.Error(), Err: errors.Unwrap(wrapped)}
}

// SentOf finds how far a failed call came: Maybe if err does not tell, and
// Processed for nil. An exception of the IDL does not tell, although it is an
// answer: ask for it first.
func SentOf(err error) Sent {
	if err == nil {
		return Processed
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Sent
	}
	return Maybe
}

// Public picks what of a handler's error may be told to the peer: an error of
// Errorf (even wrapped), an Error that a handler has made, and a bare Code as they
// are, the errors of package context as their codes. Anything else gives ok ==
// false: the peer is told Internal, and the text stays on this side. That is an error
// of a call to a further hop, which has a Peer or is Remote, or was not sent; and an
// Internal one that has a cause and no words.
func Public(err error) (e *Error, ok bool) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e, e.Peer == "" && !e.Remote && (e.Sent == Maybe || e.Sent == Refused) &&
			(e.Code != Internal || e.Msg != "" || e.Err == nil)
	}
	if c, ok := errors.AsType[Code](err); ok && c != OK {
		return &Error{Code: c}, true
	}
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{Code: Canceled}, true
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: DeadlineExceeded}, true
	}
	return nil, false
}
