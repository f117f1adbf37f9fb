package main

import (
	"context"
	"iter"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/bench/echo/limosa/echopb"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
	"github.com/limosa-rpc/limosa/endpoint"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// limosaEchoPB is the service of echo.proto, as grpc-go's peer has it.
type limosaEchoPB struct{ work func() }

func (s limosaEchoPB) Echo(_ context.Context, m *echopb.Message) (*echopb.Message, error) {
	s.work()
	return m, nil
}

func (s limosaEchoPB) Exchange(_ context.Context, in iter.Seq2[*echopb.Message, error]) iter.Seq2[*echopb.Message, error] {
	return func(yield func(*echopb.Message, error) bool) {
		for m, err := range in {
			if err == nil {
				s.work()
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

func serveLimosaGRPC(ctx context.Context, work func()) (string, error) {
	return serveLimosa(ctx, "127.0.0.1:0", &limosa.Server{
		Services: []rpc.Service{echopb.Service(limosaEchoPB{work})}, Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}},
	})
}

func dialLimosaGRPC(_ context.Context, addr string, n int, _ func()) (*trial.Target, error) {
	return dialLimosaHTTP2(web.Protocol{Authority: addr}, n)
}

// dialLimosaConnect speaks Connect with the same server.
func dialLimosaConnect(_ context.Context, addr string, n int, _ func()) (*trial.Target, error) {
	return dialLimosaHTTP2(web.Protocol{Authority: addr, Connect: true}, n)
}

// dialLimosaHTTP2 makes a client with n connections.
func dialLimosaHTTP2(speaks web.Protocol, n int) (*trial.Target, error) {
	var clients []*endpoint.Endpoint
	for range max(n, 1) {
		clients = append(clients, http2Endpoint(speaks))
	}
	closeAll := func() {
		for _, c := range clients {
			c.Close()
		}
	}
	return &trial.Target{Close: closeAll, Caller: func(_ context.Context, worker int, text string) (trial.Call, error) {
		client := echopb.NewClient(clients[worker%len(clients)])
		req := &echopb.Message{Text: text, List: make([]int64, trial.ListLen)}
		return func(ctx context.Context, id int64) error {
			req.ID = id
			trial.Fill(req.List, id)
			m, err := client.Echo(ctx, req)
			if err != nil {
				return err
			}
			return trial.Verify(id, text, m.ID, m.Text, m.List)
		}, nil
	}}, nil
}

// grpcEndpoint speaks gRPC with addr.
func grpcEndpoint(addr string) *endpoint.Endpoint {
	return http2Endpoint(web.Protocol{Authority: addr})
}

// http2Endpoint calls the address that is its authority.
func http2Endpoint(speaks web.Protocol) *endpoint.Endpoint {
	return endpoint.New(endpoint.Config{Network: "tcp", Addr: speaks.Authority, Protocol: speaks, WithoutOffer: speaks, Limits: rpc.Limits{}.WithDefaults()})
}
