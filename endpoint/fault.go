package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
)

// fault is the error of a call that was not sent.
func (e *Endpoint) fault(code rpc.Code, msg string, cause error) *rpc.Error {
	if msg == "" && cause == nil {
		msg = fmt.Sprintf("no connection to %s", e.cfg.Addr)
	}
	return &rpc.Error{Code: code, Op: "call", Peer: e.cfg.Addr, Msg: msg, Sent: rpc.NotSent, Err: cause}
}

// interrupted is the error of a call whose ctx ended before it had a
// connection; it names what the last dial failed with, if one did.
func (e *Endpoint) interrupted(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.interruptedLocked(ctx)
}

// interruptedLocked is what a call fails with whose time is over while it waits for a connection: with the last
// cause of a failed dial, which is what its caller can do something about. The lock is held.
func (e *Endpoint) interruptedLocked(ctx context.Context) error {
	fault := e.fault(rpc.CodeOf(ctx.Err()), "", context.Cause(ctx))
	fault.Op = "connect"
	if e.mu.why != nil {
		fault.Msg = "last attempt: " + e.mu.why.Error()
	}
	return fault
}

// closedErr is the error of a call that comes after Close.
func (e *Endpoint) closedErr() error { return e.fault(rpc.Unavailable, "the client is closed", nil) }

// A stage is the error of a dial or a handshake without what the rpc.Error around it
// says already: "dial tcp 10.0.0.7:8888: connect: connection refused" at that peer is
// "connect: connection refused". An address that is not the target's stays, such as
// the one that a name was resolved to.
type stage struct {
	whole  *netio.Error
	target string
}

// Error gives what has gone wrong.
func (s stage) Error() string {
	if s.whole.Addr == "" || s.whole.Addr == s.target {
		return s.whole.Err.Error()
	}
	return s.whole.Addr + ": " + s.whole.Err.Error()
}

// Unwrap gives the whole error.
func (s stage) Unwrap() error { return s.whole }

// atStage is err, of the stage op, without a repetition of that.
func (e *Endpoint) atStage(op string, err error) error {
	if o, ok := err.(*netio.Error); ok && strings.HasSuffix(op, o.Op) { //nolint:errorlint // what is wrapped stands in the text of its wrapper
		return stage{o, e.cfg.Addr}
	}
	return err
}

// silent reports whether cause, of a lost connection, says nothing of why: the peer
// has closed it, or did not answer. Where there are words, such as an alert of TLS,
// it is those that help.
func silent(cause error) bool {
	return cause == nil || slices.ContainsFunc([]error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, context.DeadlineExceeded, os.ErrDeadlineExceeded,
	}, func(e error) bool { return errors.Is(cause, e) })
}

// doubt has the error of a call whose peer has never answered one ask what the
// peer speaks: most say nothing to what they do not understand.
func (e *Endpoint) doubt(err error) error {
	fault, ok := errors.AsType[*rpc.Error](err)
	if !ok || fault.Sent != rpc.Maybe || fault.Code != rpc.Unavailable && fault.Code != rpc.DeadlineExceeded || !silent(fault.Err) {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.heard || e.mu.kind == multiplex {
		return err
	}
	x := *fault
	x.Msg = strings.TrimPrefix(x.Msg+"; no call to this peer was answered yet: does it speak "+e.cfg.Protocol.Name()+"?", "; ")
	return &x
}
