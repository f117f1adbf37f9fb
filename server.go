package limosa

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/sys"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// Serve listens on addr and serves until ctx ends; it returns after the drain,
// with nil if nothing went wrong. addr is host:port, tcp://host:port or
// unix:///path. A Server has more settings: limits, interceptors, a log.
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
	if err == nil && t.hasThrift {
		err = badTarget(addr, "a listener takes no settings: it finds out what each connection speaks")
	}
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
	Logger       *slog.Logger      // nil: slog.Default, for panics of handlers and for errors that their callers are not told, and nothing else
	Stats        *stats.Set        // where the server counts what it holds and whom it refuses; may be nil

	// Protocols is what a connection may speak, in the order in which its
	// first bytes are compared; nil: all that Limosa knows.
	Protocols []wire.Protocol

	// ExactServices refuses calls that name a service which is not here. Without
	// it they are for the first service that has the method, as those are that name
	// none: Thrift peers often name services as they like. Two Servers with the same
	// services, one with it, serve two kinds of peers on a listener each.
	ExactServices bool

	// Handlers says on which goroutines handlers run; the default lets them
	// block.
	Handlers Handlers

	// Drain is the time that calls have to end, and their answers to leave, once
	// ctx is done; 0 stands for 30 s. Handlers can learn of its beginning
	// (rpc.Draining); at its end their contexts are cancelled, and two or three
	// seconds later Serve returns, whether they have returned or not.
	Drain time.Duration

	once  sync.Once
	calls *mux.Gate // set once, then constant: of Serve and all Callers together
}

// gate bounds the calls in flight, whichever way they came.
func (s *Server) gate() *mux.Gate {
	s.once.Do(func() { s.calls = mux.NewGate(s.Limits.CallsPerServer, s.Stats) })
	return s.calls
}

const defaultDrain = 30 * time.Second

// serving is one run of Serve.
type serving struct {
	// Set by Serve, then constant.
	s         *Server
	lim       *rpc.Limits
	protocols []wire.Protocol
	cfg       *mux.ServerConfig
	drains    context.CancelCauseFunc // tells handlers that the drain begins
	door      *door

	work sync.WaitGroup // connections
}

// Serve serves on all listeners, which it closes, until ctx ends or one of
// them fails. Then it drains: no new connections, peers are told to go, calls
// and their answers have the time of Drain. It returns when everything is
// joined, with nil after ctx; or soon after Drain, with an error that names the
// methods of calls that do not end although their contexts have.
func (s *Server) Serve(ctx context.Context, listeners ...*netio.Listener) error {
	defer func() {
		for _, l := range listeners {
			if l != nil {
				l.Close()
			}
		}
	}()
	routes, err := s.check(listeners)
	if err != nil {
		return err
	}
	v := &serving{s: s, lim: s.Limits.WithDefaults(), protocols: s.Protocols}
	if v.protocols == nil {
		v.protocols = []wire.Protocol{ttheader.Protocol{}}
	}
	v.door = newDoor(v.lim, cmp.Or(v.lim.HeldPerServer, heldByDefault()), s.Stats)
	var base context.Context
	base, v.drains = context.WithCancelCause(context.WithoutCancel(ctx))
	defer v.drains(nil)
	v.cfg = &mux.ServerConfig{
		Config: mux.Config{Limits: v.lim, Logger: s.handlerLog()},
		Route:  routes.find, Base: base, Gate: s.gate(), Watch: new(mux.Watch), Rush: new(mux.Rush), Handlers: s.Handlers,
		Total: v.door.total, Zlib: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
	}
	defer v.cfg.Watch.Close()
	defer v.cfg.Rush.Close()
	accepting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var accepts sync.WaitGroup
	for _, l := range listeners {
		accepts.Go(func() { stop(v.accept(accepting, l)) })
	}
	accepts.Go(func() { v.sweep(accepting) })
	<-accepting.Done()
	for _, l := range listeners {
		l.Close()
	}
	accepts.Wait()
	v.drain(context.WithoutCancel(ctx))
	if err := v.join(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(accepting)
}

// check tells what is wrong with the server before anything of it begins.
func (s *Server) check(listeners []*netio.Listener) (*routes, error) {
	bad := func(msg string) (*routes, error) {
		return nil, &rpc.Error{Code: rpc.InvalidArgument, Op: "serve", Msg: msg}
	}
	if err := s.Limits.Check(); err != nil {
		return nil, err
	}
	switch {
	case s.Drain < 0:
		return bad(fmt.Sprintf("Drain is %v, below zero", s.Drain))
	case len(listeners) == 0:
		return bad("no listener; limosa.Listen makes one")
	case slices.Contains(listeners, nil):
		return bad("a listener is nil: was the error of Listen looked at?")
	}
	return s.routes()
}

// handlerLog is where the errors of handlers go that are kept from their callers:
// they must be found somewhere.
func (s *Server) handlerLog() *slog.Logger {
	if s.Logger == nil {
		return slog.Default()
	}
	return s.Logger
}

// heldByDefault is what the connections of a server may hold together, unless
// its limits say it: a quarter of the memory that the process may have.
func heldByDefault() int {
	most := debug.SetMemoryLimit(-1) // only asks
	if own := sys.Memory(); own > 0 {
		most = min(most, own)
	}
	if most == math.MaxInt64 {
		return 0 // neither is known
	}
	return int(max(most/4, 256<<20))
}

// accept takes connections off l until ctx ends.
func (v *serving) accept(ctx context.Context, l *netio.Listener) error {
	for {
		nc, err := l.Accept(ctx)
		if err != nil {
			return err
		}
		if err := v.door.enter(nc); err != nil {
			discard(nc)
			v.debug("rpc: connection refused", nc, err)
			continue
		}
		if !v.place(ctx) {
			discard(nc)
			v.door.forget(nc)
			return ctx.Err()
		}
		v.work.Go(func() { v.serve(nc) })
	}
}

// discard ends a connection that nobody serves.
func discard(nc netio.Conn) {
	nc.Abort()
	nc.Receive(false, nil) // gives back the memory of what was lent
}

var errExit = errors.New("the TLS handshake has ended its goroutine")

// serve is the goroutine of one connection: it finds the protocol, then reads.
func (v *serving) serve(plain netio.Conn) {
	nc, err, known := plain, errExit, false
	defer func() { // also when TLS code ends the goroutine
		if !known {
			discard(nc)
			v.door.leave(plain)
			v.debug("rpc: connection closed", plain, err)
		}
	}()
	var proto wire.Protocol
	if nc, proto, err = v.identify(plain); err != nil {
		return
	}
	known = true
	c := mux.NewServerConn(nc, proto.Open(wire.Server, v.lim), v.cfg)
	v.door.promote(plain, c)
	v.work.Add(1)
	c.Run(func(err error) {
		defer v.work.Done()
		v.door.leave(plain)
		v.debug("rpc: connection ended", plain, err)
	})
}

func (v *serving) debug(msg string, nc netio.Conn, err error) {
	if v.s.Logger != nil {
		v.s.Logger.Debug(msg, "peer", nc.Remote().String(), "err", err)
	}
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
	timer := time.AfterFunc(v.lim.FirstBytes, nc.Abort)
	var proto wire.Protocol
	_, err := nc.Receive(false, func(in *buf.In) (more bool, err error) {
		proto, err = v.sniff(in.Peek(min(in.Len(), maxPrefix)))
		return proto == nil, err
	})
	switch intime := timer.Stop(); {
	case !intime:
		err = fmt.Errorf("its protocol was not known after %v", v.lim.FirstBytes)
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
	for _, p := range v.protocols {
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
			v.cfg.Logger.Error("rpc: panic in a TLS handshake", "peer", nc.Remote().String(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errors.New("panic in the TLS handshake")
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.cfg.Base), v.lim.Handshake)
	defer cancel()
	return netio.Server(ctx, nc, v.s.TLS)
}

// drain ends every connection, each with the same time for its calls.
func (v *serving) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(v.s.Drain, defaultDrain))
	defer cancel()
	v.drains(rpc.ErrDraining)
	var each sync.WaitGroup
	for _, g := range v.door.guests() {
		each.Go(func() {
			if c := v.door.seen(g, youngGrace); c != nil {
				c.Drain(ctx)
			}
		})
	}
	each.Wait()
}

// youngGrace is how long a drain waits for the first bytes of a connection that
// was accepted before it: a request may be on its way, and can only be refused
// in the words of its protocol.
const youngGrace = time.Second

// joinGrace is how long Serve waits, after the drain, for handlers whose
// connections are gone already.
const joinGrace = time.Second

// join waits until nothing runs any more; what does not end is named.
func (v *serving) join() error {
	joined := make(chan struct{})
	go func() { // ends with the last handler, perhaps after Serve
		v.work.Wait()
		close(joined)
	}()
	timer := time.NewTimer(joinGrace)
	defer timer.Stop()
	select {
	case <-joined:
		return nil
	case <-timer.C:
	}
	running := map[string]int{}
	for _, c := range v.door.all() {
		for _, m := range c.Running() {
			running[m]++
		}
	}
	var names []string
	for m, n := range running {
		names = append(names, fmt.Sprintf("%s (%d)", m, n))
	}
	slices.Sort(names)
	msg := "calls still run after the drain: " + strings.Join(names, ", ")
	if names == nil {
		msg = "connections have not ended after the drain: no handler runs on them; it may be TLS code that does not return"
	}
	return &rpc.Error{Code: rpc.DeadlineExceeded, Op: "serve", Msg: msg}
}
