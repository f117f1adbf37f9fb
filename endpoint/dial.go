package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime/debug"
	"time"

	"github.com/limosa-rpc/limosa/internal/hook"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A flight is a dial that calls wait for: one for all, or each its own.
type flight struct {
	done chan struct{} // closed when the dial is over

	// Set before done is closed, then constant.
	err error
	pc  *pooled // of a call's own; counted in

	left bool // guarded by Endpoint.mu: the call that it was for does not wait any more
}

// A patience is what an endpoint has of a peer that cannot be reached. Guarded by
// Endpoint.mu; zero once the peer was heard.
type patience struct {
	pause   time.Duration
	last    time.Time // when something failed last
	resume  time.Time // no dial before it
	why     error     // what the last dial failed with; nil: it has not
	unheard int       // connections in a row that were lost before their peer said anything
}

// fail makes the pause before the next dial twice as long, varied so that the
// clients of a restarted server do not come at once. What has begun before the
// last failure has failed together with that: it counts once.
func (p *patience) fail(begun time.Time) {
	if begun.Before(p.last) {
		return
	}
	p.last = time.Now()
	p.pause = min(max(2*p.pause, firstPause), lastPause)
	p.resume = p.last.Add(p.pause/2 + rand.N(p.pause/2+1))
}

// restedLocked is the error of a call that comes too soon after a failed dial.
func (p *Endpoint) restedLocked() error {
	if left := time.Until(p.mu.resume); left > 0 && p.mu.why != nil {
		return p.mu.why
	}
	return nil
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

// untouchedMost is how long after its dial a connection may carry its first call. A
// server ends one on which nothing came, after a second if it drains, and has no
// words for a call that crosses that: it does not know what the connection speaks.
const untouchedMost = 500 * time.Millisecond

// stale reports whether pc was dialled a while ago and nothing was sent on it.
func (pc *pooled) stale() bool {
	return pc.conn.Untouched() && time.Since(pc.made) > untouchedMost
}

// spare counts out the call that pc was dialled for, and that it does not carry.
func (p *Endpoint) spare(pc *pooled, bytes int) {
	p.mu.Lock()
	pc.used = false
	p.mu.Unlock()
	p.release(pc, bytes, false)
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

// closedErr is the error of a call that comes after Close.
func (p *Endpoint) closedErr() error { return p.fault(rpc.Unavailable, "the client is closed", nil) }

func (p *Endpoint) known() kind {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.kind
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

// failedLocked notes a failed dial.
func (p *Endpoint) failedLocked(op string, err error, begun time.Time) error {
	p.failed.Inc()
	p.mu.fail(begun)
	e := p.fault(rpc.Unavailable, "", err)
	e.Op = op
	p.mu.why = e
	return e
}

// hearLocked ends the patience with a peer that was heard on pc. Those made before the
// last failure say nothing of the next one.
func (p *Endpoint) hearLocked(pc *pooled) {
	if (p.mu.pause > 0 || p.mu.unheard > 0) && !pc.made.Before(p.mu.last) && pc.conn.Heard() {
		p.mu.patience = patience{}
	}
}

// unheardLocked notes that pc was lost, if that was before its peer said anything. A peer, or
// what stands before it, that accepts and closes is as good as one that refuses;
// but what may be chance, as often as a call is tried, costs no pause.
func (p *Endpoint) unheardLocked(pc *pooled) {
	if p.mu.closed || pc.conn.Heard() || pc.made.Before(p.mu.last) || time.Since(pc.made) > lastPause {
		return // or lost with others, or as an idle one
	}
	if p.mu.unheard++; p.mu.unheard < attempts {
		p.mu.last = time.Now()
		return
	}
	p.mu.fail(pc.made)
	p.mu.why = p.fault(rpc.Unavailable, fmt.Sprintf("the last %d connections were lost before their peer said anything; does it speak %s?", p.mu.unheard, p.cfg.Protocol.Name()), nil)
}

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

// discard ends a connection that nobody uses.
func discard(nc netio.Conn) {
	nc.Abort()
	nc.Receive(false, nil) // gives back the memory of what was lent
}

var errExit = errors.New("the TLS handshake has ended its goroutine")
