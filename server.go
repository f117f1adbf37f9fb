package limosa

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/endpoint"
	"github.com/limosa-rpc/limosa/internal/route"
	"github.com/limosa-rpc/limosa/internal/secure"
	"github.com/limosa-rpc/limosa/internal/serve"
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
	t, err := endpoint.ParseTarget(addr)
	if err == nil && len(t.Settings) > 0 {
		err = t.Bad("a listener takes no settings: it finds out what each connection speaks")
	}
	if err == nil && t.TLS {
		err = t.Bad("a listener has no certificate: listen on host:port, and set Server.TLS")
	}
	if err != nil {
		return nil, err
	}
	return netio.Listen(t.Network, t.Addr, nil)
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
//
// Interceptors see every call with its outcome as the caller is told it: panics and
// errors that are not for the caller are Internal, with an id that is logged, an
// exception that the method declares is itself (rpc.Call's Declared). They see calls
// of methods that are not here too, whose Method says what was asked for, and calls
// for which CallsPerServer leaves no room; what they return instead of that refusal is
// what the caller is told, but nil. Calls that are refused for want of memory, while
// their connection ends, or that make no sense pass no interceptor.
type Server struct {
	Services     []rpc.Service
	Interceptors []rpc.Interceptor // around every call, the first one outermost
	Limits       rpc.Limits        // the zero value is the defaults
	TLS          *tls.Config       // not nil: TCP connections must speak TLS
	Logger       *slog.Logger      // nil: slog.Default, for panics of handlers and for errors that their callers are not told, and nothing else
	Stats        *stats.Set        // where the server counts what it holds and whom it refuses; may be nil

	// Protocols is what a connection may speak, in the order in which its first bytes
	// are compared; nil: every form of Thrift, which is ttheader.Protocol{}. Who wants
	// gRPC beside them names both: {ttheader.Protocol{}, web.Protocol{}}.
	Protocols []wire.Protocol

	// ExactServices refuses calls that name a service which is not here. Without
	// it they are for the first service that has the method, as those are that name
	// none: Thrift peers often name services as they like. Two Servers with the same
	// services, one with it, serve two kinds of peers on a listener each.
	ExactServices bool

	// Timeout is the deadline of calls of one message whose callers give them none; 0:
	// none. Limits.CallTime is the longest that such a call may have, whatever its
	// caller says. At its end the context of the handler is done. A stream has the
	// deadline of its caller.
	Timeout time.Duration

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

const defaultDrain = 30 * time.Second

// gate bounds the calls in flight, whichever way they came.
func (s *Server) gate() *mux.Gate {
	s.once.Do(func() { s.calls = mux.NewGate(s.Limits.CallsPerServer, s.Stats) })
	return s.calls
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
	protocols, config := s.spoken(routes)
	return serve.Run(ctx, serve.Config{
		Route: routes.Find, Chain: s.chain(), Timeout: s.Timeout, Limits: s.Limits.WithDefaults(), TLS: config, TLSAsks: secure.Asks(s.TLS), Protocols: protocols,
		Handlers: s.Handlers, Gate: s.gate(), Drain: cmp.Or(s.Drain, defaultDrain),
		HandlerLog: s.handlerLog(), ConnLog: s.Logger, Stats: s.Stats,
	}, listeners)
}

// spoken gives the protocols, those that have to know the methods with what is in
// routes, and the TLS configuration that offers by name those which have one.
func (s *Server) spoken(routes *route.Table) (protocols []wire.Protocol, config *tls.Config) {
	protocols, config = slices.Clone(s.Protocols), s.TLS
	if protocols == nil {
		protocols = []wire.Protocol{ttheader.Protocol{}}
	}
	for i, p := range protocols {
		if n, ok := p.(wire.Named); ok {
			config = secure.Offer(config, n.ALPN())
		}
		if r, ok := p.(wire.Router); ok {
			protocols[i] = r.Serving(routes.Exact)
		}
	}
	return protocols, config
}

// check tells what is wrong with the server before anything of it begins.
func (s *Server) check(listeners []*netio.Listener) (*route.Table, error) {
	bad := func(msg string) (*route.Table, error) { return nil, wrong(msg) }
	switch {
	case s.Drain < 0:
		return bad(fmt.Sprintf("Drain is %v, below zero", s.Drain))
	case s.Handlers > Goroutines:
		return bad(fmt.Sprintf("Handlers is %d: it is Spare, Inline or Goroutines", s.Handlers))
	case s.TLS != nil && len(s.TLS.Certificates) == 0 && s.TLS.GetCertificate == nil && s.TLS.GetConfigForClient == nil:
		return bad("TLS has no certificate: set Certificates or GetCertificate")
	case s.Protocols != nil && len(s.Protocols) == 0:
		return bad("Protocols is empty, so that nobody can speak; nil stands for every form of Thrift")
	case slices.Contains(s.Protocols, nil):
		return bad("a protocol is nil")
	case len(listeners) == 0:
		return bad("no listener; limosa.Listen makes one")
	case slices.Contains(listeners, nil):
		return bad("a listener is nil: was the error of Listen looked at?")
	}
	return s.routes()
}

// wrong is the error of a server that is set up wrongly.
func wrong(msg string) error { return &rpc.Error{Code: rpc.InvalidArgument, Op: "serve", Msg: msg} }

// routes checks what holds for calls whichever way they come, the services, interceptors
// and limits, and builds every chain of interceptors.
func (s *Server) routes() (*route.Table, error) {
	if err := s.Limits.Check(); err != nil {
		return nil, err
	}
	switch {
	case s.Timeout < 0:
		return nil, wrong("Timeout is below zero; zero is none")
	case slices.ContainsFunc(s.Interceptors, func(x rpc.Interceptor) bool { return x == nil }):
		return nil, wrong("an interceptor is nil")
	case len(s.Services) == 0:
		return nil, wrong("no service: nobody could call anything; generated code makes one, such as hello.Service(impl)")
	}
	return route.New(s.Services, s.chain(), s.ExactServices)
}

// chain puts the interceptors around what serves or refuses a call; nil: there are none.
func (s *Server) chain() func(final rpc.Next) rpc.Next {
	if len(s.Interceptors) == 0 {
		return nil
	}
	return func(final rpc.Next) rpc.Next { return mux.Chain(final, s.handlerLog(), s.Interceptors...) }
}

// handlerLog is where the errors of handlers go that are kept from their callers:
// they must be found somewhere.
func (s *Server) handlerLog() *slog.Logger {
	if s.Logger == nil {
		return slog.Default()
	}
	return s.Logger
}
