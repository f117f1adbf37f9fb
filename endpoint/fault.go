package endpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/limosa-rpc/limosa/rpc"
)

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

// doubt has the error of a call whose peer has never answered one ask what the
// peer speaks: most say nothing to what they do not understand.
func (e *Endpoint) doubt(err error) error {
	fault, ok := errors.AsType[*rpc.Error](err)
	if !ok || fault.Sent != rpc.Maybe || fault.Code != rpc.Unavailable && fault.Code != rpc.DeadlineExceeded {
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
