package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/secure"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// identify finds out what the peer speaks. The connection that it returns is
// nc, or the TLS connection upon it.
func (v *serving) identify(nc netio.Conn) (netio.Conn, wire.Protocol, error) {
	if v.cfg.TLS != nil && nc.Remote().Network() != "unix" {
		secure, err := v.handshake(nc)
		if err != nil {
			return nc, nil, err
		}
		nc = secure
	}
	// The bytes are looked at where they lie: the protocol's session takes them off
	// the same connection, from the first on.
	timer := time.AfterFunc(v.cfg.Limits.FirstBytes, nc.Abort)
	var proto wire.Protocol
	var unknown error
	_, err := nc.Receive(false, func(in *buf.In) (more bool, err error) {
		proto, unknown = v.sniff(in.Peek(min(in.Len(), maxPrefix)))
		return proto == nil && unknown == nil, nil
	})
	switch intime := timer.Stop(); {
	case !intime:
		err = fmt.Errorf("its protocol was not known after %v", v.cfg.Limits.FirstBytes)
	case unknown != nil:
		err = unknown
		part(nc)
	case err == nil && proto == nil:
		err = errors.New("closed before the protocol was known")
	}
	return nc, proto, err
}

// maxPrefix is more than any protocol needs to recognise itself.
const maxPrefix = 256

// sniff asks the protocols in order. A prefix that may still become one waits,
// even if a later protocol would take it: ambiguity is decided by the order.
func (v *serving) sniff(prefix []byte) (wire.Protocol, error) {
	for _, p := range v.cfg.Protocols {
		switch p.Sniff(prefix).Verdict {
		case wire.Yes:
			return p, nil
		case wire.More:
			return nil, nil
		}
	}
	return nil, fmt.Errorf("no protocol begins with %q", prefix[:min(len(prefix), 32)])
}

// handshake makes nc a TLS connection within the time that the limits give. Any
// stranger may reach the user's TLS code: what that does costs nc only.
func (v *serving) handshake(nc netio.Conn) (netio.Conn, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.conns.Base), v.cfg.Limits.Handshake)
	defer cancel()
	if err := v.hello(ctx, nc); err != nil {
		return nil, err
	}
	return secure.Handshake(nc.Remote().String(), v.panicked, func() (netio.Conn, error) { return netio.ServerAsking(ctx, nc, v.cfg.TLS, v.cfg.TLSAsks) })
}

// panicked logs a panic of the user's TLS code, as sparsely as one of a handler: with
// the name that it asks for, any stranger may bring it about again and again.
func (v *serving) panicked(msg string, args ...any) {
	due, left := rpc.HintsOf(&v.handshakes).LogFailure(time.Now())
	if !due || v.cfg.HandlerLog == nil {
		return
	}
	if left > 0 {
		args = append(args, "unlogged", left)
	}
	v.cfg.HandlerLog.Error(msg, args...)
}

// recordHandshake is the first byte of all that speak TLS.
const recordHandshake = 22

// alertVersion is the alert protocol_version as a record of TLS 1.0 that is not
// encrypted. Who does not speak TLS and knows it can say what is wrong.
const alertVersion = "\x15\x03\x01\x00\x02\x02\x46"

// hello waits for the first byte, and tells a peer that does not speak TLS that this
// side does.
func (v *serving) hello(ctx context.Context, nc netio.Conn) error {
	stop := context.AfterFunc(ctx, nc.Abort)
	speaks := false
	why, err := nc.Receive(false, func(in *buf.In) (more bool, err error) {
		if in.Len() > 0 {
			speaks = in.Peek(1)[0] == recordHandshake
		}
		return in.Len() == 0, nil
	})
	switch {
	case !stop():
		return fmt.Errorf("no TLS handshake began within %v", v.cfg.Limits.Handshake)
	case why == netio.Lost:
		return err
	case speaks:
		return nil
	}
	out := nc.Output()
	out.Lock()
	out.Out().AppendString(alertVersion)
	if out.Unlock() {
		out.TryFlush() //nolint:errcheck // it is told or not
	}
	part(nc)
	return errors.New("the peer does not speak TLS")
}

// part ends what this side has to say to a peer that is not served. A close with bytes
// unread would be a reset, which overtakes what was said.
func part(nc netio.Conn) {
	defer time.AfterFunc(partTime, nc.Abort).Stop()
	if nc.CloseWrite() != nil {
		return
	}
	for lost := false; !lost; {
		why, _ := nc.Receive(false, func(in *buf.In) (bool, error) { in.Skip(in.Len()); return true, nil })
		lost = why == netio.Lost
	}
}

// partTime is what a peer that is not served has to read why.
const partTime = 100 * time.Millisecond
