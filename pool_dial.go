package limosa

import (
	"cmp"
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

// A flight is one dial that several calls wait for.
type flight struct {
	done chan struct{} // closed when err is set
	err  error
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
		pc, err := p.open(p.dials, false, 0)
		if err == nil {
			p.mu.Lock()
			pc.used = false
			p.mu.Unlock()
			p.release(pc, 0) // before the others look for it
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.mu.flight = nil
		f.err = err
		close(f.done)
	})
	return f
}

// open dials a connection and counts one call of so many bytes into it, or with
// opens a stream.
func (p *pool) open(ctx context.Context, opens bool, bytes int) (*pooled, error) {
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	defer context.AfterFunc(p.dials, cancel)()
	nc, err := p.network(dialing, p.target.network, p.target.addr, &netio.Config{WriteStall: p.lim.WriteStall})
	op := "dial"
	if err == nil && p.tls != nil {
		op = "TLS handshake"
		plain := nc
		if nc, err = netio.Client(dialing, plain, p.tlsConfig()); err != nil {
			plain.Abort()
		}
	}
	pc := &pooled{opens: opens, used: true}
	pc.enter(bytes)
	if err == nil {
		proto := p.proto
		if opens && p.known() == exclusive {
			proto = p.plain
		}
		pc.conn = mux.NewConn(nc, proto.Open(wire.Client, p.lim), mux.Config{Limits: p.lim, Logger: p.log, Total: p.total, Notify: func() { p.changed(pc) }})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && p.mu.closed {
		p.mu.Unlock()
		pc.conn.Close()
		p.mu.Lock() // for the deferred unlock
		return nil, p.fault(rpc.Unavailable, "the client is closed", nil)
	}
	if err != nil {
		if over(ctx) && p.dials.Err() == nil {
			return nil, p.interruptedLocked(ctx) // the caller's end says nothing of the peer
		}
		return nil, p.failedLocked(op, err)
	}
	p.mu.pause, p.mu.why = 0, nil
	p.mu.all[pc] = struct{}{}
	p.settleLocked(pc)
	return pc, nil
}

func (p *pool) known() kind {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.kind
}

// over reports whether ctx has ended, or is about to: what waits for its
// deadline by a timer of its own may be a moment early.
func over(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && time.Until(deadline) <= time.Millisecond
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
	err := cmp.Or(ctx.Err(), context.DeadlineExceeded)
	e := p.fault(rpc.CodeOf(err), "", cmp.Or(context.Cause(ctx), err))
	e.Op = "connect"
	if p.mu.why != nil {
		e.Msg = "last attempt: " + p.mu.why.Error()
	}
	return e
}
