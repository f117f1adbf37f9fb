package main

import (
	"context"
	"strings"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/bench/echo/limosa/echopb"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/reflection"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// victimServer is the server that is attacked, with all defaults; with grpc it speaks that, too.
func victimServer(grpc bool) *limosa.Server {
	if !grpc {
		return &limosa.Server{Services: reflection.With(victimService())}
	}
	return &limosa.Server{
		Services:  []rpc.Service{echopb.Service(limosaEchoPB{func() {}}), attackedOverHTTP2()},
		Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}},
	}
}

// attackedOverHTTP2 is victimService for gRPC: a method for each way in which a handler may behave.
func attackedOverHTTP2() rpc.Service {
	const service = "limosa.bench.Attacked"
	unary := func(name string, f func(ctx context.Context, m *echopb.Message) (*echopb.Message, error)) rpc.Handler {
		return rpc.Handler{
			Method: &rpc.Method{Service: service, Name: name, Codec: protobuf.Codec{}, New: stub.New[echopb.Message, echopb.Message]},
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
	client := echopb.NewClient(e)
	return func(ctx context.Context, id int64) (int64, string, error) {
		m, err := client.Echo(ctx, &echopb.Message{ID: id, Text: "canary"})
		if err != nil {
			return 0, "", err
		}
		return m.ID, m.Text, nil
	}, func() { e.Close() }
}
