// Package echo is the echo service as Limosa has it.
package echo

import (
	"context"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

const _ = limosa.Gen1

// Message is what is sent and sent back.
type Message struct {
	ID   int64   `thrift:"id,1"`
	Text string  `thrift:"text,2"`
	List []int64 `thrift:"list,3"`
}

// Echo is the service, for servers and clients.
type Echo interface {
	Echo(ctx context.Context, msg *Message) (*Message, error)
}

type echoEchoArgs struct {
	Msg *Message `thrift:"msg,1"`
}

type echoEchoResult struct {
	Success *Message `thrift:"success,0,optional"`
}

var echoEcho = rpc.Method{Service: "Echo", Name: "echo", Codec: thrift.Binary{}, New: rpc.New[echoEchoArgs, echoEchoResult], Raise: func(result any) error {
	if result.(*echoEchoResult).Success == nil {
		return rpc.Errorf(rpc.Internal, "Echo/echo: no result")
	}
	return nil
}}

// Service binds impl to the service's methods.
func Service(impl Echo) rpc.Service {
	return rpc.Service{Name: "Echo", Methods: []rpc.Handler{
		{Method: &echoEcho, Serve: func(ctx context.Context, c *rpc.Call) error {
			args, err := rpc.Args[echoEchoArgs](c)
			if err != nil {
				return err
			}
			res, err := impl.Echo(ctx, args.Msg)
			if err != nil {
				return err
			}
			rpc.Result[echoEchoResult](c).Success = res
			return nil
		}},
	}}
}

// Client calls the service. It implements Echo.
type Client struct{ caller rpc.Caller }

// NewClient makes a client that calls through c.
func NewClient(c rpc.Caller) *Client { return &Client{caller: c} }

// Echo calls Echo/echo.
func (c *Client) Echo(ctx context.Context, msg *Message) (*Message, error) {
	x := rpc.NewCall[echoEchoArgs, echoEchoResult](&echoEcho, "Echo")
	x.Args.Msg = msg
	if err := c.caller.Do(ctx, &x.Call); err != nil {
		return nil, err
	}
	return x.Result.Success, nil
}
