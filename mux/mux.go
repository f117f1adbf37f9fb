// Package mux is the call engine: the calls of one connection, on both sides,
// for every protocol. It knows connections, goroutines and time; a
// wire.Session knows bytes.
//
// A Conn is the client's half: slots for calls in flight, a reader that
// matches answers to them, and the combined output of netio. A ServerConn is
// the server's half: it cuts requests, runs handlers, and answers in the order
// that the protocol asks for.
//
// The mutex of netio.Output is the one lock of a connection. It guards the
// slots and counters here as well: fields named so below.
package mux

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// lost makes the error of a call that ended with its connection.
func lost(peer string, sent rpc.Sent, cause error) *rpc.Error {
	msg := "connection lost"
	if cause == nil || errors.Is(cause, io.EOF) {
		msg = "the peer closed the connection"
	}
	return &rpc.Error{Code: rpc.Unavailable, Op: "call", Peer: peer, Msg: msg, Sent: sent, Err: cause}
}

// errPieces is how encodeUpTo refuses a message that is to go in pieces.
var errPieces = errors.New("mux: a message for pieces")

// encode appends one frame for ev to out: its head, the body that body
// appends, and its end. Whatever fails or panics is taken back. The output
// lock is held.
func encode(out *buf.Out, s wire.Session, ev *wire.Event, body func(*buf.Out) error) (err error) {
	return encodeUpTo(out, s, ev, body, math.MaxInt, nil)
}

// encodeUpTo is encode for a frame of which it is not known how large it will
// be: one with more than most bytes before its end is errPieces.
//
// A body that is a user's may end the goroutine (runtime.Goexit), which nothing can
// stop. exitsUnlocks is called then, on that goroutine, in the place of the caller: it
// sees to the lock, and to whatever else the caller would have.
func encodeUpTo(out *buf.Out, s wire.Session, ev *wire.Event, body func(*buf.Out) error, most int, exitsUnlocks func()) (err error) {
	start := out.Mark()
	err = errExits // until something is returned
	defer func() {
		if p := recover(); p != nil {
			err = &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
		if err != nil {
			out.Truncate(start)
		}
		if err == errExits && exitsUnlocks != nil {
			exitsUnlocks()
		}
	}()
	m := s.Begin(out, ev)
	if body != nil {
		if err := body(out); err != nil {
			return coded(err, rpc.Internal, "encode")
		}
		if out.Since(start) > most {
			return errPieces
		}
	}
	return s.End(out, m, ev)
}

// errExits is never returned: it stands for what a goroutine would have returned that
// ends meanwhile.
var errExits = errors.New("mux: the goroutine ends")

// coded gives err as an *rpc.Error, with code if it has none of its own.
func coded(err error, code rpc.Code, op string) *rpc.Error {
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		return e
	}
	if c := rpc.CodeOf(err); c != rpc.Unknown {
		code = c
	}
	return &rpc.Error{Code: code, Op: op, Sent: rpc.NotSent, Err: err}
}

// encodePrivate encodes a body into an Out of its own, without the lock: so a
// large message holds nobody up while it is encoded, and is then moved in. A body
// that panics is an error. out is the caller's to Reset, nil with an error. If body
// ends the goroutine, exits is called on it, unless it is nil. The blocks are the
// connection's: what is moved into its output is not copied again by its transport.
func (h *half) encodePrivate(body func(*buf.Out) error, exits func()) (out *buf.Out, err error) {
	out = buf.NewOut(h.out.Source())
	err = errExits // until something is returned
	defer func() {
		if p := recover(); p != nil {
			err = &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
		if err != nil {
			out.Reset()
			out = nil
		}
		if err == errExits && exits != nil {
			exits()
		}
	}()
	if err := body(out); err != nil {
		return out, coded(err, rpc.Internal, "encode")
	}
	return out, nil
}
