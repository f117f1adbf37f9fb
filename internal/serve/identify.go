package serve

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
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
	timer := time.AfterFunc(v.cfg.Limits.FirstBytes, nc.Abort)
	var proto wire.Protocol
	_, err := nc.Receive(false, func(in *buf.In) (more bool, err error) {
		proto, err = v.sniff(in.Peek(min(in.Len(), maxPrefix)))
		return proto == nil, err
	})
	switch intime := timer.Stop(); {
	case !intime:
		err = fmt.Errorf("its protocol was not known after %v", v.cfg.Limits.FirstBytes)
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

// handshake makes nc a TLS connection within the time that the limits give. A
// panic of the user's TLS code, which any stranger may reach, costs nc only.
func (v *serving) handshake(nc netio.Conn) (secure netio.Conn, err error) {
	defer func() {
		if p := recover(); p != nil {
			v.cfg.HandlerLog.Error("rpc: panic in a TLS handshake", "peer", nc.Remote().String(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errors.New("panic in the TLS handshake")
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.conns.Base), v.cfg.Limits.Handshake)
	defer cancel()
	return netio.Server(ctx, nc, v.cfg.TLS)
}
