package limosa

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// Serve listens on addr and serves until ctx ends; it returns after the drain,
// with nil if nothing went wrong. addr is host:port, tcp://host:port or
// unix:///path.
func Serve(ctx context.Context, addr string, services ...rpc.Service) error {
	l, err := Listen(addr)
	if err != nil {
		return err
	}
	s := Server{Services: services}
	return s.Serve(ctx, l)
}

// Listen opens an address that Server.Serve takes: host:port,
// tcp://host:port or unix:///path. The socket file that a dead process left
// behind is replaced.
//
// For very many connections that are mostly idle, have event loops hold them
// (Linux): netio.Listen("tcp", addr, &netio.Config{Loops: 2}). An idle
// connection then has no goroutine; and Inline handlers run on the loops, where
// one that blocks holds up many connections.
func Listen(addr string) (*netio.Listener, error) {
	t, err := parseTarget(addr)
	if err != nil {
		return nil, err
	}
	return netio.Listen(t.network, t.addr, nil)
}

// Handlers says on which goroutines handlers run; see mux.Handlers.
type Handlers = mux.Handlers

// The ways to run handlers.
const (
	Spare      = mux.Spare      // the default: handlers may block
	Inline     = mux.Inline     // on the reader: for handlers that never block
	Goroutines = mux.Goroutines // a goroutine for each call
)

// A Server serves its services on any number of listeners, every protocol on
// each of them. Its fields are not changed once Serve or Caller was called.
type Server struct {
	Services     []rpc.Service
	Interceptors []rpc.Interceptor // around every call, the first one outermost
	Limits       rpc.Limits        // the zero value is the defaults
	TLS          *tls.Config       // not nil: TCP connections must speak TLS
	Logger       *slog.Logger      // nil: nothing but panics of handlers is logged

	// Protocols is what a connection may speak, in the order in which its
	// first bytes are compared; nil: all that Limosa knows.
	Protocols []wire.Protocol

	// Handlers says on which goroutines handlers run; the default lets them
	// block.
	Handlers Handlers

	// Drain is the time that calls have to end once ctx is done; 0 stands for
	// 30 s. After it their contexts are cancelled.
	Drain time.Duration
}

const defaultDrain = 30 * time.Second

// serving is one run of Serve.
type serving struct {
	// Set by Serve, then constant.
	s         *Server
	lim       *rpc.Limits
	protocols []wire.Protocol
	cfg       *mux.ServerConfig
	places    chan struct{} // a token per connection that may be open

	work sync.WaitGroup // connections

	mu struct {
		sync.Mutex
		draining bool
		young    map[netio.Conn]struct{} // protocol not known yet
		conns    map[*mux.ServerConn]struct{}
	}
}

// Serve serves on all listeners, which it closes, until ctx ends or one of
// them fails. Then it drains: no new connections, peers are told to go, calls
// may end within Drain. It returns when everything is joined; nil after ctx.
func (s *Server) Serve(ctx context.Context, listeners ...*netio.Listener) error {
	defer func() {
		for _, l := range listeners {
			l.Close()
		}
	}()
	routes, err := s.routes()
	if err != nil {
		return err
	}
	v := &serving{s: s, lim: s.Limits.WithDefaults(), protocols: s.Protocols}
	if v.protocols == nil {
		v.protocols = []wire.Protocol{ttheader.Protocol{}}
	}
	v.places = make(chan struct{}, v.lim.Conns)
	v.mu.young, v.mu.conns = map[netio.Conn]struct{}{}, map[*mux.ServerConn]struct{}{}
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	v.cfg = &mux.ServerConfig{
		Config: mux.Config{Limits: v.lim, Logger: s.Logger},
		Route:  routes.find, Base: base, Gate: mux.NewGate(v.lim.CallsPerServer), Watch: new(mux.Watch), Handlers: s.Handlers,
	}
	defer v.cfg.Watch.Close()
	accepting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var accepts sync.WaitGroup
	for _, l := range listeners {
		accepts.Go(func() { stop(v.accept(accepting, l)) })
	}
	<-accepting.Done()
	for _, l := range listeners {
		l.Close()
	}
	accepts.Wait()
	v.drain(context.WithoutCancel(ctx))
	v.work.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(accepting)
}

// accept takes connections off l until ctx ends.
func (v *serving) accept(ctx context.Context, l *netio.Listener) error {
	for {
		select {
		case v.places <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		nc, err := l.Accept(ctx)
		if err != nil {
			<-v.places
			return err
		}
		v.work.Go(func() { v.serve(nc) })
	}
}

// serve is the goroutine of one connection: it finds the protocol, then reads.
func (v *serving) serve(nc netio.Conn) {
	if !v.enter(nc) {
		nc.Abort()
		<-v.places
		return
	}
	timer := time.AfterFunc(v.lim.FirstBytes, nc.Abort)
	nc, proto, err := v.identify(nc)
	timer.Stop()
	if err != nil {
		v.leave(nc)
		nc.Abort()
		nc.Receive(false, nil) // gives back the memory of what was lent
		<-v.places
		if v.s.Logger != nil {
			v.s.Logger.Debug("rpc: connection closed", "peer", nc.Remote().String(), "err", err)
		}
		return
	}
	c := mux.NewServerConn(nc, proto.Open(wire.Server, v.lim), v.cfg)
	if !v.promote(nc, c) {
		nc.Abort()
	}
	v.work.Add(1)
	c.Run(func(err error) {
		defer v.work.Done()
		v.mu.Lock()
		delete(v.mu.conns, c)
		v.mu.Unlock()
		<-v.places
		if v.s.Logger != nil {
			v.s.Logger.Debug("rpc: connection ended", "peer", nc.Remote().String(), "err", err)
		}
	})
}

// identify finds out what the peer speaks. The connection that it returns is
// nc, or the TLS connection upon it.
func (v *serving) identify(nc netio.Conn) (netio.Conn, wire.Protocol, error) {
	if v.s.TLS != nil && nc.Remote().Network() != "unix" {
		secure, err := v.handshake(nc)
		if err != nil {
			return nc, nil, err
		}
		nc = secure
	}
	var proto wire.Protocol
	_, err := nc.Receive(false, func(in *buf.In) (more bool, err error) {
		proto, err = v.sniff(in.Peek(min(in.Len(), maxPrefix)))
		return proto == nil, err
	})
	if err == nil && proto == nil {
		err = errors.New("closed before the protocol was known")
	}
	return nc, proto, err
}

// maxPrefix is more than any protocol needs to recognise itself.
const maxPrefix = 256

// sniff asks the protocols in order. A prefix that may still become one waits,
// even if a later protocol would take it: ambiguity is decided by the order.
func (v *serving) sniff(prefix []byte) (wire.Protocol, error) {
	for _, p := range v.protocols {
		switch p.Sniff(prefix).Verdict {
		case wire.Yes:
			return p, nil
		case wire.More:
			return nil, nil
		}
	}
	return nil, fmt.Errorf("no protocol begins with % x", prefix[:min(len(prefix), 8)])
}

// handshake makes nc a TLS connection within the time that the limits give.
func (v *serving) handshake(nc netio.Conn) (netio.Conn, error) {
	ctx, cancel := context.WithTimeout(v.cfg.Base, v.lim.Handshake)
	defer cancel()
	return netio.Server(ctx, nc, v.s.TLS)
}

func (v *serving) enter(nc netio.Conn) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mu.draining {
		return false
	}
	v.mu.young[nc] = struct{}{}
	return true
}

func (v *serving) leave(nc netio.Conn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.mu.young, nc)
}

// promote makes a connection whose protocol is known part of the next drain.
func (v *serving) promote(nc netio.Conn, c *mux.ServerConn) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.mu.young, nc)
	v.mu.conns[c] = struct{}{}
	return !v.mu.draining
}

// drain ends every connection, each with the same time for its calls.
func (v *serving) drain(ctx context.Context) {
	wait := v.s.Drain
	if wait == 0 {
		wait = defaultDrain
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	v.mu.Lock()
	v.mu.draining = true
	for nc := range v.mu.young {
		nc.Abort()
	}
	conns := make([]*mux.ServerConn, 0, len(v.mu.conns))
	for c := range v.mu.conns {
		conns = append(conns, c)
	}
	v.mu.Unlock()
	var each sync.WaitGroup
	for _, c := range conns {
		each.Go(func() { c.Drain(ctx) })
	}
	each.Wait()
}
