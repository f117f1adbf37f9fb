// Command kitex is the peers kitex-* of the RPC benchmark: Kitex, a Go RPC
// framework of CloudWeGo, with the code of its own generator (see ../generate).
// The command bench builds and starts it.
package main

import (
	"context"
	"io"
	"net"
	"os"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/connpool"
	"github.com/cloudwego/kitex/pkg/klog"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	"github.com/limosa-rpc/limosa/bench/peers/kitex/kitex_gen/protobuf"
	protobufecho "github.com/limosa-rpc/limosa/bench/peers/kitex/kitex_gen/protobuf/echo"
	"github.com/limosa-rpc/limosa/bench/peers/kitex/kitex_gen/thrift"
	thriftecho "github.com/limosa-rpc/limosa/bench/peers/kitex/kitex_gen/thrift/echo"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

func main() {
	klog.SetOutput(io.Discard) // a line for each server that starts
	// One connection a caller from a pool with room for all of them: the default
	// keeps ten, and would dial for most calls of a hundred callers.
	pool := client.WithLongConnection(connpool.IdleConfig{MaxIdlePerAddress: 4096, MaxIdleTimeout: time.Minute})
	os.Exit(trial.Program(
		overThrift("kitex-ttheader", nil, func(int) []client.Option {
			return []client.Option{pool, client.WithTransportProtocol(transport.TTHeader)}
		}),
		overThrift("kitex-framed", nil, func(int) []client.Option {
			return []client.Option{pool, client.WithTransportProtocol(transport.Framed)}
		}),
		overThrift("kitex-mux", []server.Option{server.WithMuxTransport()}, func(conns int) []client.Option {
			return []client.Option{client.WithMuxConnection(max(conns, 1))}
		}),
		overGRPC("kitex-grpc"),
	))
}

// listening is where a server is told to serve.
func listening() (l net.Listener, opts []server.Option, err error) {
	l, err = net.Listen("tcp", "127.0.0.1:0")
	return l, []server.Option{server.WithListener(l)}, err
}

type thriftEcho struct{ work func() }

func (s *thriftEcho) Echo(_ context.Context, m *thrift.Message) (*thrift.Message, error) {
	s.work()
	return m, nil
}

// overThrift is a peer that speaks Thrift. on gives a client's options for a
// number of connections; 0 is Kitex's own choice.
func overThrift(name string, serving []server.Option, on func(conns int) []client.Option) *trial.Peer {
	return &trial.Peer{
		Name: name,
		Serve: func(_ context.Context, work func()) (string, error) {
			l, opts, err := listening()
			if err != nil {
				return "", err
			}
			go thriftecho.NewServer(&thriftEcho{work}, append(opts, serving...)...).Run()
			return l.Addr().String(), nil
		},
		Dial: func(_ context.Context, addr string, conns int, _ func()) (*trial.Target, error) {
			c, err := thriftecho.NewClient("echo", append(on(conns), client.WithHostPorts(addr))...)
			if err != nil {
				return nil, err
			}
			return &trial.Target{Close: func() {}, Caller: func(_ context.Context, _ int, text string) (trial.Call, error) {
				req := &thrift.Message{Text: text, List: make([]int64, trial.ListLen)}
				return func(ctx context.Context, id int64) error {
					req.Id = id
					trial.Fill(req.List, id)
					m, err := c.Echo(ctx, req)
					if err != nil {
						return err
					}
					return trial.Verify(id, text, m.Id, m.Text, m.List)
				}, nil
			}}, nil
		},
	}
}

type protobufEcho struct{ work func() }

func (s *protobufEcho) Echo(_ context.Context, m *protobuf.Message) (*protobuf.Message, error) {
	s.work()
	return m, nil
}

// overGRPC is Kitex on both ends of gRPC, over as many connections as it makes
// by itself.
func overGRPC(name string) *trial.Peer {
	return &trial.Peer{
		Name: name,
		Serve: func(_ context.Context, work func()) (string, error) {
			l, opts, err := listening()
			if err != nil {
				return "", err
			}
			go protobufecho.NewServer(&protobufEcho{work}, opts...).Run()
			return l.Addr().String(), nil
		},
		Dial: func(_ context.Context, addr string, conns int, _ func()) (*trial.Target, error) {
			opts := []client.Option{client.WithHostPorts(addr), client.WithTransportProtocol(transport.GRPC)}
			if conns > 0 {
				opts = append(opts, client.WithGRPCConnPoolSize(uint32(conns)))
			}
			c, err := protobufecho.NewClient("echo", opts...)
			if err != nil {
				return nil, err
			}
			return &trial.Target{Close: func() {}, Caller: func(_ context.Context, _ int, text string) (trial.Call, error) {
				req := &protobuf.Message{Text: text, List: make([]int64, trial.ListLen)}
				return func(ctx context.Context, id int64) error {
					req.Id = id
					trial.Fill(req.List, id)
					m, err := c.Echo(ctx, req)
					if err != nil {
						return err
					}
					return trial.Verify(id, text, m.Id, m.Text, m.List)
				}, nil
			}}, nil
		},
	}
}
