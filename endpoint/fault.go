package endpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/limosa-rpc/limosa/rpc"
)

func (p *Endpoint) fault(code rpc.Code, msg string, cause error) *rpc.Error {
	if msg == "" && cause == nil {
		msg = fmt.Sprintf("no connection to %s", p.cfg.Addr)
	}
	return &rpc.Error{Code: code, Op: "call", Peer: p.cfg.Addr, Msg: msg, Sent: rpc.NotSent, Err: cause}
}

// interrupted is the error of a call whose ctx ended before it had a
// connection; it names what the last dial failed with, if one did.
func (p *Endpoint) interrupted(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.interruptedLocked(ctx)
}

func (p *Endpoint) interruptedLocked(ctx context.Context) error {
	e := p.fault(rpc.CodeOf(ctx.Err()), "", context.Cause(ctx))
	e.Op = "connect"
	if p.mu.why != nil {
		e.Msg = "last attempt: " + p.mu.why.Error()
	}
	return e
}

// closedErr is the error of a call that comes after Close.
func (p *Endpoint) closedErr() error { return p.fault(rpc.Unavailable, "the client is closed", nil) }

// doubt has the error of a call whose peer has never answered one ask what the
// peer speaks: most say nothing to what they do not understand.
func (p *Endpoint) doubt(err error) error {
	e, ok := errors.AsType[*rpc.Error](err)
	if !ok || e.Sent != rpc.Maybe || e.Code != rpc.Unavailable && e.Code != rpc.DeadlineExceeded {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.heard || p.mu.kind == multiplex {
		return err
	}
	x := *e
	x.Msg = strings.TrimPrefix(x.Msg+"; no call to this peer was answered yet: does it speak "+p.cfg.Protocol.Name()+"?", "; ")
	return &x
}
