package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/limosa-rpc/limosa/internal/hook"
	"github.com/limosa-rpc/limosa/internal/secure"
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
func (e *Endpoint) launchLocked(ctx context.Context) *flight {
	f := &flight{done: make(chan struct{})}
	e.mu.flight = f
	e.work.Go(func() {
		pc, err := e.connect(ctx, &search{spare: true})
		if err == nil {
			e.spare(pc, 0) // before the others look for it
		}
		e.mu.Lock()
		e.mu.flight = nil
		f.err = err
		close(f.done)
		e.seatLocked()
		e.mu.Unlock()
		e.settle()
	})
	return f
}

// dialLocked starts the dial of one call. If the call does not wait for its end
// the dial goes on, and the connection is there for others: calls that have less
// time than a dial takes would never get one.
func (e *Endpoint) dialLocked(ctx context.Context, q *search) *flight {
	e.mu.own++
	want := *q
	f := &flight{done: make(chan struct{})}
	e.work.Go(func() {
		pc, err := e.connect(ctx, &want)
		e.mu.Lock()
		f.pc, f.err = pc, err
		left := f.left
		close(f.done)
		e.mu.Unlock()
		if left && err == nil {
			e.spare(pc, want.bytes)
		}
		e.dialled()
		e.settle()
	})
	return f
}

// await waits for the dial of a call.
func (e *Endpoint) await(ctx context.Context, f *flight) (*pooled, error) {
	select {
	case <-f.done:
		return f.pc, f.err
	case <-ctx.Done():
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-f.done:
		return f.pc, f.err // who makes the call finds that its time is over
	default:
	}
	f.left = true
	return nil, e.interruptedLocked(ctx)
}

// connect dials a connection for a call of ctx, whose end does not end the dial,
// and counts it in.
func (e *Endpoint) connect(ctx context.Context, q *search) (*pooled, error) {
	e.dials.Inc()
	begun := time.Now()
	dialing, cancel := context.WithTimeout(e.dialing, dialTimeout)
	defer cancel()
	nc, err := hook.DialerOf(ctx, e.cfg.Dial)(dialing, e.cfg.Network, e.cfg.Addr, &netio.Config{WriteStall: e.cfg.Limits.WriteStall})
	op := "dial"
	if err == nil && e.cfg.TLS != nil {
		op = "TLS handshake"
		nc, err = e.secure(nc)
	}
	pc := &pooled{streams: q.stream, used: !q.spare}
	pc.enter(q.bytes)
	if err == nil {
		proto := e.cfg.Protocol
		if q.stream && e.known() == exclusive {
			proto = e.cfg.WithoutOffer
		}
		pc.conn = mux.NewConn(nc, proto.Open(wire.Client, e.cfg.Limits), mux.Config{Limits: e.cfg.Limits, Logger: e.cfg.Logger, Total: e.total, Notify: func() { e.changed(pc) }})
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err == nil && e.mu.closed:
		e.mu.Unlock()
		pc.conn.Close()
		e.mu.Lock() // for the deferred unlock
		return nil, e.closedErr()
	case e.mu.closed:
		return nil, e.closedErr()
	case err != nil:
		return nil, e.failedLocked(op, err, begun)
	}
	e.mu.why, pc.made = nil, time.Now() // the pause stays until the peer is heard
	e.mu.all[pc] = struct{}{}
	e.open.Inc()
	e.settleLocked(pc)
	return pc, nil
}

// secure makes a connection one of TLS, within the time that the limits give.
func (e *Endpoint) secure(plain netio.Conn) (netio.Conn, error) {
	ctx, cancel := context.WithTimeout(e.dialing, e.cfg.Limits.Handshake)
	defer cancel()
	var log func(msg string, args ...any)
	if e.cfg.Logger != nil {
		log = e.cfg.Logger.Error
	}
	nc, err := secure.Handshake(e.cfg.Addr, log, func() (netio.Conn, error) { return netio.Client(ctx, plain, e.tlsConfig()) })
	if err == nil {
		return nc, nil
	}
	secure.Discard(plain)
	var head tls.RecordHeaderError
	switch {
	case errors.As(err, &head):
		err = fmt.Errorf("the peer does not speak TLS: %w", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		err = fmt.Errorf("the peer has ended the connection; does it speak TLS? %w", err)
	}
	return nil, err
}

// tlsConfig names the server after the target where the user did not.
func (e *Endpoint) tlsConfig() *tls.Config {
	cfg := e.cfg.TLS
	if n, ok := e.cfg.Protocol.(wire.Named); ok {
		cfg = secure.Ask(cfg, n.ALPN())
	}
	if cfg.ServerName == "" && !cfg.InsecureSkipVerify {
		cfg = cfg.Clone()
		cfg.ServerName, _, _ = net.SplitHostPort(e.cfg.Addr)
	}
	return cfg
}
