package main

import (
	"context"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/limosa-rpc/limosa/bench/echo"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

type grpcEcho struct {
	echo.UnimplementedEchoServer
	work func()
}

func (s grpcEcho) Echo(_ context.Context, m *echo.Message) (*echo.Message, error) {
	s.work()
	return m, nil
}

func (s grpcEcho) Exchange(stream grpc.BidiStreamingServer[echo.Message, echo.Message]) error {
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		s.work()
		if err := stream.Send(m); err != nil {
			return err
		}
	}
}

// serveGRPC starts grpc-go's server.
func serveGRPC(_ context.Context, work func()) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := grpc.NewServer()
	echo.RegisterEchoServer(server, grpcEcho{work: work})
	go server.Serve(l)
	return l.Addr().String(), nil
}

// grpcConns opens the connections of one client process.
func grpcConns(addr string, n int) (conns []*grpc.ClientConn, closeAll func(), err error) {
	closeAll = func() {
		for _, c := range conns {
			c.Close()
		}
	}
	for range max(n, 1) {
		c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		conns = append(conns, c)
	}
	return conns, closeAll, nil
}

// dialGRPC makes a client with n connections.
func dialGRPC(_ context.Context, addr string, n int, _ func()) (*trial.Target, error) {
	conns, closeAll, err := grpcConns(addr, n)
	if err != nil {
		return nil, err
	}
	return &trial.Target{Close: closeAll, Caller: func(_ context.Context, worker int, text string) (trial.Call, error) {
		client := echo.NewEchoClient(conns[worker%len(conns)])
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

// dialGRPCStream opens one stream a caller and exchanges messages on it. Its
// deadline is the stream's: gRPC has none for a message.
func dialGRPCStream(_ context.Context, addr string, n int, _ func()) (*trial.Target, error) {
	conns, closeAll, err := grpcConns(addr, n)
	if err != nil {
		return nil, err
	}
	return &trial.Target{Close: closeAll, Caller: func(ctx context.Context, worker int, text string) (trial.Call, error) {
		stream, err := echo.NewEchoClient(conns[worker%len(conns)]).Exchange(ctx)
		if err != nil {
			return nil, err
		}
		req := &echo.Message{Text: text, List: make([]int64, trial.ListLen)}
		return func(_ context.Context, id int64) error {
			req.Id = id
			trial.Fill(req.List, id)
			if err := stream.Send(req); err != nil {
				return err
			}
			m, err := stream.Recv()
			if err != nil {
				return err
			}
			return trial.Verify(id, text, m.Id, m.Text, m.List)
		}, nil
	}}, nil
}
