package limosa

import (
	"context"

	"github.com/limosa-rpc/limosa/internal/inproc"
	"github.com/limosa-rpc/limosa/rpc"
)

// Local gives a caller that runs services in this process, without a
// connection. See Server.Caller.
func Local(services ...rpc.Service) rpc.Caller {
	return (&Server{Services: services}).Caller()
}

// Caller gives a caller that runs the server's handlers in this process,
// through its interceptors, on the goroutine of whoever calls. Messages are
// encoded and decoded as on the wire, so that neither side can change what the
// other holds; metadata, codes and declared exceptions arrive as from afar. A
// handler that does not look at its context holds its caller up; when the call's time is
// over meanwhile, its answer is dropped and the error is that of a deadline, or of a cancel.
// Where Serve would refuse the server's services, limits or Timeout, every call fails.
func (s *Server) Caller() rpc.Caller {
	routes, err := s.routes()
	path := &inproc.Path{
		Route: routes.Find, Chain: s.chain(), Limits: s.Limits.WithDefaults(), Gate: s.gate(), Logger: s.handlerLog(),
		Timeout: s.Timeout,
	}
	return &local{err: err, call: named(path.Do)}
}

// local is the in-process path with the options of contexts.
type local struct {
	err  error // of what the server is set up with
	call rpc.Next
}

// Do is rpc.Caller's method.
func (l *local) Do(ctx context.Context, c *rpc.Call) error {
	if l.err != nil {
		return l.err
	}
	return made(ctx, c, 0, l.call)
}

// Close is rpc.Caller's method; there is nothing to close.
func (l *local) Close() error { return nil }
