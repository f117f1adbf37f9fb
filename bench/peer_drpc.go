package main

import (
	"context"
	"net"

	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcpool"
	"storj.io/drpc/drpcserver"

	"github.com/limosa-rpc/limosa/bench/echo"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

type drpcEcho struct{ work func() }

func (s drpcEcho) Echo(_ context.Context, m *echo.Message) (*echo.Message, error) {
	s.work()
	return m, nil
}

func (s drpcEcho) Exchange(stream echo.DRPCEcho_ExchangeStream) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		s.work()
		if err := stream.Send(m); err != nil {
			return err
		}
	}
}

// serveDRPC starts drpc's server.
func serveDRPC(ctx context.Context, work func()) (string, error) {
	mux := drpcmux.New()
	if err := echo.DRPCRegisterEcho(mux, drpcEcho{work: work}); err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go drpcserver.New(mux).Serve(ctx, l)
	return l.Addr().String(), nil
}

// dialDRPC uses DRPC's own pool: one of its connections carries one call at a
// time. A number of connections cannot be set.
func dialDRPC(ctx context.Context, addr string, _ int, _ func()) (*trial.Target, error) {
	pool := drpcpool.New[string, drpcpool.Conn](drpcpool.Options{})
	conn := pool.Get(ctx, addr, func(ctx context.Context, addr string) (drpcpool.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return drpcconn.New(nc), nil
	})
	closeAll := func() {
		conn.Close()
		pool.Close()
	}
	return &trial.Target{Close: closeAll, Caller: func(_ context.Context, _ int, text string) (trial.Call, error) {
		client := echo.NewDRPCEchoClient(conn)
		req := &echo.Message{Text: text, List: make([]int64, trial.ListLen)}
		return func(ctx context.Context, id int64) error {
			req.Id = id
			trial.Fill(req.List, id)
			m, err := client.Echo(ctx, req)
			if err != nil {
				return err
			}
			return trial.Verify(id, text, m.Id, m.Text, m.List)
		}, nil
	}}, nil
}
