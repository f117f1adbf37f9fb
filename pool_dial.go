package limosa

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A dialer makes a connection; it is netio.Dial but in simulations.
type dialer func(ctx context.Context, network, addr string, cfg *netio.Config) (netio.Conn, error)

// A flight is a dial that calls wait for: one for all, or each its own.
type flight struct {
	done chan struct{} // closed when the dial is over

	// Set before done is closed, then constant.
	err error
	pc  *pooled // of a call's own; counted in

	left bool // guarded by pool.mu: the call that it was for does not wait any more
}

// restedLocked is the error of a call that comes too soon after a failed dial.
func (p *pool) restedLocked() error {
	if left := time.Until(p.mu.resume); left > 0 && p.mu.why != nil {
		return p.mu.why
	}
	return nil
}

// launchLocked starts the dial that others wait for.
func (p *pool) launchLocked() *flight {
	f := &flight{done: make(chan struct{})}
	p.mu.flight = f
	p.work.Go(func() {
		pc, err := p.connect(&search{})
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

// spare counts out the call that pc was dialled for, and that it does not carry.
func (p *pool) spare(pc *pooled, bytes int) {
	p.mu.Lock()
	pc.used = false
	p.mu.Unlock()
	p.release(pc, bytes, false)
}

// dialLocked starts the dial of one call. If the call does not wait for its end
// the dial goes on, and the connection is there for others: calls that have less
// time than a dial takes would never get one.
func (p *pool) dialLocked(q *search) *flight {
	p.mu.own++
	want := *q
	f := &flight{done: make(chan struct{})}
	p.work.Go(func() {
		pc, err := p.connect(&want)
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
func (p *pool) await(ctx context.Context, f *flight) (*pooled, error) {
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

// connect dials a connection for a call, and counts it in.
func (p *pool) connect(q *search) (*pooled, error) {
	p.dials.Inc()
	dialing, cancel := context.WithTimeout(p.dialing, dialTimeout)
	defer cancel()
	nc, err := p.network(dialing, p.target.network, p.target.addr, &netio.Config{WriteStall: p.lim.WriteStall})
	op := "dial"
	if err == nil && p.tls != nil {
		op = "TLS handshake"
		nc, err = p.secure(nc)
	}
	pc := &pooled{opens: q.opens, used: true}
	pc.enter(q.bytes)
	if err == nil {
		proto := p.proto
		if q.opens && p.known() == exclusive {
			proto = p.plain
		}
		pc.conn = mux.NewConn(nc, proto.Open(wire.Client, p.lim), mux.Config{Limits: p.lim, Logger: p.log, Total: p.total, Notify: func() { p.changed(pc) }})
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
		return nil, p.failedLocked(op, err)
	}
	p.mu.pause, p.mu.why = 0, nil
	p.mu.all[pc] = struct{}{}
	p.open.Inc()
	p.settleLocked(pc)
	return pc, nil
}

// closedErr is the error of a call that comes after Close.
func (p *pool) closedErr() error { return p.fault(rpc.Unavailable, "the client is closed", nil) }

func (p *pool) known() kind {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.kind
}

// secure makes a connection one of TLS, within the time that the limits give.
func (p *pool) secure(plain netio.Conn) (netio.Conn, error) {
	ctx, cancel := context.WithTimeout(p.dialing, p.lim.Handshake)
	defer cancel()
	nc, err := netio.Client(ctx, plain, p.tlsConfig())
	if err != nil {
		discard(plain)
		return nil, err
	}
	return nc, nil
}

// tlsConfig names the server after the target where the user did not.
func (p *pool) tlsConfig() *tls.Config {
	cfg := p.tls
	if cfg.ServerName == "" && !cfg.InsecureSkipVerify {
		cfg = cfg.Clone()
		cfg.ServerName, _, _ = net.SplitHostPort(p.target.addr)
	}
	return cfg
}

// failedLocked notes a failed dial. The pause before the next one doubles,
// and varies so that the clients of a restarted server do not come at once.
func (p *pool) failedLocked(op string, err error) error {
	p.failed.Inc()
	p.mu.pause = min(max(2*p.mu.pause, firstPause), lastPause)
	p.mu.resume = time.Now().Add(p.mu.pause/2 + rand.N(p.mu.pause/2+1))
	e := p.fault(rpc.Unavailable, "", err)
	e.Op = op
	p.mu.why = e
	return e
}

func (p *pool) fault(code rpc.Code, msg string, cause error) *rpc.Error {
	if msg == "" && cause == nil {
		msg = fmt.Sprintf("no connection to %s", p.target.addr)
	}
	return &rpc.Error{Code: code, Op: "call", Peer: p.target.addr, Msg: msg, Sent: rpc.NotSent, Err: cause}
}

// interrupted is the error of a call whose ctx ended before it had a
// connection; it names what the last dial failed with, if one did.
func (p *pool) interrupted(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.interruptedLocked(ctx)
}

func (p *pool) interruptedLocked(ctx context.Context) error {
	e := p.fault(rpc.CodeOf(ctx.Err()), "", context.Cause(ctx))
	e.Op = "connect"
	if p.mu.why != nil {
		e.Msg = "last attempt: " + p.mu.why.Error()
	}
	return e
}
