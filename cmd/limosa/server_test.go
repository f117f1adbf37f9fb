package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/thrift"
)

// The service of testIDL, written by hand: what is under test here is the
// tool, which knows the service from the IDL alone.

type request struct {
	Message string `thrift:"message,1"`
}

type oops struct {
	Why string `thrift:"why,1"`
}

func (o *oops) Error() string { return "oops: " + o.Why }

type (
	echoArgs struct {
		Req *request `thrift:"req,1"`
	}
	echoResult struct {
		Success *request `thrift:"success,0,optional"`
		Oops    *oops    `thrift:"oops,1,optional"`
	}
	addArgs struct {
		A int64 `thrift:"a,1"`
		B int64 `thrift:"b,2"`
	}
	twiceArgs struct {
		N int64 `thrift:"n,1"`
	}
	i64Result struct {
		Success *int64 `thrift:"success,0,optional"`
	}
	noteArgs struct {
		Text string `thrift:"text,1"`
	}
	empty struct{}
)

// testServer is what the service has seen.
type testServer struct {
	notes chan string
	calls atomic.Int64
	seen  func(calls int64) // told of each Echo; may be nil
}

func handler[A, R any](name string, kind rpc.Kind, except func(any, error) bool, serve func(context.Context, *rpc.Call, *A, *R) error) rpc.Handler {
	return rpc.Handler{
		Method: &rpc.Method{Service: "Hello", Name: name, Kind: kind, Codec: thrift.Binary{}, New: stub.New[A, R], Except: except},
		Serve: func(ctx context.Context, c *rpc.Call) error {
			args, err := stub.Args[A](c)
			if err != nil {
				return err
			}
			return serve(ctx, c, args, stub.Result[R](c))
		},
	}
}

func (s *testServer) service() rpc.Service {
	except := func(result any, err error) bool {
		o, ok := errors.AsType[*oops](err)
		result.(*echoResult).Oops = o
		return ok
	}
	return rpc.Service{Name: "Hello", Methods: []rpc.Handler{
		handler("Echo", rpc.Unary, except, func(ctx context.Context, c *rpc.Call, a *echoArgs, r *echoResult) error {
			if n := s.calls.Add(1); s.seen != nil {
				s.seen(n)
			}
			if a.Req == nil {
				return rpc.Errorf(rpc.InvalidArgument, "no request")
			}
			switch a.Req.Message {
			case "oops":
				return &oops{Why: "asked for"}
			case "denied":
				return rpc.Errorf(rpc.PermissionDenied, "not you")
			case "slow":
				<-ctx.Done()
				return ctx.Err()
			}
			c.Trailer.Add("seen", c.Header.Get("tenant"))
			r.Success = a.Req
			return nil
		}),
		handler("add", rpc.Unary, nil, func(_ context.Context, _ *rpc.Call, a *addArgs, r *i64Result) error {
			r.Success = new(a.A + a.B)
			return nil
		}),
		handler("twice", rpc.Unary, nil, func(_ context.Context, _ *rpc.Call, a *twiceArgs, r *i64Result) error {
			r.Success = new(2 * a.N)
			return nil
		}),
		handler("note", rpc.Oneway, nil, func(_ context.Context, _ *rpc.Call, a *noteArgs, _ *empty) error {
			s.notes <- a.Text
			return nil
		}),
		handler("ping", rpc.Unary, nil, func(context.Context, *rpc.Call, *empty, *empty) error { return nil }),
	}}
}

// serve starts the service and gives its address.
func (s *testServer) serve(t *testing.T) string {
	t.Helper()
	s.notes = make(chan string, 1)
	return serveAll(t, &limosa.Server{Services: []rpc.Service{s.service()}})
}

// serveAll serves until the test ends, and gives the address.
func serveAll(t *testing.T, server *limosa.Server) string {
	t.Helper()
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	server.Drain = time.Second
	go func() { ended <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}
