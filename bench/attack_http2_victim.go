package main

import (
	"context"
	"strings"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/bench/echo/limosa/echopb"
	"github.com/limosa-rpc/limosa/grpc/health"
	grpcreflection "github.com/limosa-rpc/limosa/grpc/reflection"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/reflection"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// victimServer is the server that is attacked, with all defaults; with grpc it speaks that, too, with
// the services that come with it, and HTTP/1.1.
func victimServer(grpc bool) *limosa.Server {
	if !grpc {
		return &limosa.Server{Services: reflection.With(victimService())}
	}
	return &limosa.Server{
		Services:  grpcreflection.With(health.With(echopb.Service(limosaEchoPB{func() {}}), attackedOverHTTP2())...),
		Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}, web.HTTP1{}},
	}
}

// attackedOverHTTP2 is victimService for gRPC: a method for each way in which a handler may behave.
func attackedOverHTTP2() rpc.Service {
	const service = "limosa.bench.Attacked"
	unary := func(name string, f func(ctx context.Context, m *echopb.Message) (*echopb.Message, error)) rpc.Handler {
		return rpc.Handler{
			Method: &rpc.Method{Service: service, Name: name, ReadOnly: true, Codec: protobuf.Codec{}, New: stub.New[echopb.Message, echopb.Message]},
			Serve: func(ctx context.Context, c *rpc.Call) error {
				m, err := stub.Args[echopb.Message](c)
				if err != nil {
					return err
				}
				res, err := f(ctx, m)
				return stub.Fill(c, res, err)
			},
		}
	}
	stream := func(name string, f func(ctx context.Context, c *rpc.Call) error) rpc.Handler {
		return rpc.Handler{
			Method: &rpc.Method{Service: service, Name: name, Kind: rpc.Bidi, Codec: protobuf.Codec{}, New: stub.New[echopb.Message, echopb.Message]},
			Serve:  f,
		}
	}
	pours := &echopb.Message{Text: strings.Repeat("x", 32<<10)}
	return rpc.Service{Name: service, Methods: []rpc.Handler{
		unary("Echo", func(_ context.Context, m *echopb.Message) (*echopb.Message, error) { return m, nil }),
		// Answer answers with as many bytes as its id says.
		unary("Answer", func(_ context.Context, m *echopb.Message) (*echopb.Message, error) {
			return &echopb.Message{Text: strings.Repeat("x", int(min(m.ID, 8<<20)))}, nil
		}),
		// Wait ends with its caller.
		unary("Wait", func(ctx context.Context, _ *echopb.Message) (*echopb.Message, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}),
		// Hold receives nothing.
		stream("Hold", func(ctx context.Context, _ *rpc.Call) error {
			<-ctx.Done()
			return ctx.Err()
		}),
		// Pour sends until its caller has gone.
		stream("Pour", func(_ context.Context, c *rpc.Call) error {
			for {
				if err := rpc.EngineOf(c).Stream().Send(pours); err != nil {
					return err
				}
			}
		}),
	}}
}

// A songbook is how a canary calls: it gives what it was answered.
type songbook func(ctx context.Context, id int64) (int64, string, error)

// overHTTP2 calls a server by gRPC.
func overHTTP2(addr string) (sing songbook, end func()) {
	e := grpcEndpoint(addr)
	return overEcho(e, func() { e.Close() })
}

// overHTTP2TLS is overHTTP2 over TLS.
func overHTTP2TLS(addr string) (sing songbook, end func()) {
	c := &limosa.Client{Target: addr, Protocols: []wire.Protocol{web.Protocol{}}, TLS: trustAll()}
	return overEcho(c, func() { c.Close() })
}

// overEcho calls by the service of echo.proto; end ends c.
func overEcho(c rpc.Caller, end func()) (songbook, func()) {
	client := echopb.NewClient(c)
	return func(ctx context.Context, id int64) (int64, string, error) {
		m, err := client.Echo(ctx, &echopb.Message{ID: id, Text: "canary"})
		if err != nil {
			return 0, "", err
		}
		return m.ID, m.Text, nil
	}, end
}
