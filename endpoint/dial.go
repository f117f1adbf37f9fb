package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	"github.com/limosa-rpc/limosa/internal/hook"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/wire"
)

// dialTimeout bounds one dial.
const dialTimeout = 5 * time.Second

// A flight is a dial that calls wait for: one for all, or each its own.
type flight struct {
	done chan struct{} // closed when the dial is over

	// Set before done is closed, then constant.
	err error
	pc  *pooled // of a call's own; counted in

	left bool // guarded by Endpoint.mu: the call that it was for does not wait any more
}

// launchLocked starts the dial that others wait for.
func (p *Endpoint) launchLocked(ctx context.Context) *flight {
	f := &flight{done: make(chan struct{})}
	p.mu.flight = f
	p.work.Go(func() {
		pc, err := p.connect(ctx, &search{spare: true})
		if err == nil {
			p.spare(pc, 0) // before the others look for it
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.mu.flight = nil
		f.err = err
		close(f.done)
	})
	return f
}

// dialLocked starts the dial of one call. If the call does not wait for its end
// the dial goes on, and the connection is there for others: calls that have less
// time than a dial takes would never get one.
func (p *Endpoint) dialLocked(ctx context.Context, q *search) *flight {
	p.mu.own++
	want := *q
	f := &flight{done: make(chan struct{})}
	p.work.Go(func() {
		pc, err := p.connect(ctx, &want)
		p.mu.Lock()
		f.pc, f.err = pc, err
		left := f.left
		close(f.done)
		p.mu.Unlock()
		if left && err == nil {
			p.spare(pc, want.bytes)
		}
		p.dialled()
	})
	return f
}

// await waits for the dial of a call.
func (p *Endpoint) await(ctx context.Context, f *flight) (*pooled, error) {
	select {
	case <-f.done:
		return f.pc, f.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-f.done:
		return f.pc, f.err // who makes the call finds that its time is over
	default:
	}
	f.left = true
	return nil, p.interruptedLocked(ctx)
}

// connect dials a connection for a call of ctx, whose end does not end the dial,
// and counts it in.
func (p *Endpoint) connect(ctx context.Context, q *search) (*pooled, error) {
	p.dials.Inc()
	begun := time.Now()
	dialing, cancel := context.WithTimeout(p.dialing, dialTimeout)
	defer cancel()
	nc, err := hook.DialerOf(ctx, p.cfg.Dial)(dialing, p.cfg.Network, p.cfg.Addr, &netio.Config{WriteStall: p.cfg.Limits.WriteStall})
	op := "dial"
	if err == nil && p.cfg.TLS != nil {
		op = "TLS handshake"
		nc, err = p.secure(nc)
	}
	pc := &pooled{opens: q.opens, used: !q.spare}
	pc.enter(q.bytes)
	if err == nil {
		proto := p.cfg.Protocol
		if q.opens && p.known() == exclusive {
			proto = p.cfg.Plain
		}
		pc.conn = mux.NewConn(nc, proto.Open(wire.Client, p.cfg.Limits), mux.Config{Limits: p.cfg.Limits, Logger: p.cfg.Logger, Total: p.total, Notify: func() { p.changed(pc) }})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil && p.mu.closed:
		p.mu.Unlock()
		pc.conn.Close()
		p.mu.Lock() // for the deferred unlock
		return nil, p.closedErr()
	case p.mu.closed:
		return nil, p.closedErr()
	case err != nil:
		return nil, p.failedLocked(op, err, begun)
	}
	p.mu.why, pc.made = nil, time.Now() // the pause stays until the peer is heard
	p.mu.all[pc] = struct{}{}
	p.open.Inc()
	p.settleLocked(pc)
	return pc, nil
}

// secure makes a connection one of TLS, within the time that the limits give. A
// panic of the user's TLS code, or the end of its goroutine, costs this dial only:
// nobody could recover it here, and others wait for the dial.
func (p *Endpoint) secure(plain netio.Conn) (nc netio.Conn, err error) {
	ctx, cancel := context.WithTimeout(p.dialing, p.cfg.Limits.Handshake)
	defer cancel()
	err = errExit
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() {
			if x := recover(); x != nil {
				err = fmt.Errorf("panic in the TLS handshake: %v", x)
				if p.cfg.Logger != nil {
					p.cfg.Logger.Error("rpc: panic in a TLS handshake", "peer", p.cfg.Addr, "panic", fmt.Sprint(x), "stack", string(debug.Stack()))
				}
			}
		}()
		nc, err = netio.Client(ctx, plain, p.tlsConfig())
	}()
	if <-over; err != nil {
		discard(plain)
		return nil, err
	}
	return nc, nil
}

// tlsConfig names the server after the target where the user did not.
func (p *Endpoint) tlsConfig() *tls.Config {
	cfg := p.cfg.TLS
	if cfg.ServerName == "" && !cfg.InsecureSkipVerify {
		cfg = cfg.Clone()
		cfg.ServerName, _, _ = net.SplitHostPort(p.cfg.Addr)
	}
	return cfg
}

// discard ends a connection that nobody uses.
func discard(nc netio.Conn) {
	nc.Abort()
	nc.Receive(false, nil) // gives back the memory of what was lent
}

var errExit = errors.New("the TLS handshake has ended its goroutine")
