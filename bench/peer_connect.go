package main

import (
	"context"
	"io"
	"net"
	"net/http"

	"connectrpc.com/connect"

	"github.com/limosa-rpc/limosa/bench/echo"
	"github.com/limosa-rpc/limosa/bench/echo/echoconnect"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

type connectEcho struct{ work func() }

func (s connectEcho) Echo(_ context.Context, r *connect.Request[echo.Message]) (*connect.Response[echo.Message], error) {
	s.work()
	return connect.NewResponse(r.Msg), nil
}

func (s connectEcho) Exchange(_ context.Context, stream *connect.BidiStream[echo.Message, echo.Message]) error {
	for {
		m, err := stream.Receive()
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

// cleartextHTTP2 is the one protocol that both sides speak: many calls on one
// connection, as gRPC does it.
func cleartextHTTP2() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

// serveConnect starts connect-go over HTTP/2 without TLS.
func serveConnect(_ context.Context, work func()) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.Handle(echoconnect.NewEchoHandler(connectEcho{work: work}))
	server := &http.Server{Handler: mux, Protocols: cleartextHTTP2()}
	go server.Serve(l)
	return l.Addr().String(), nil
}

// dialConnect makes a client with n connections.
func dialConnect(_ context.Context, addr string, n int, _ func()) (*trial.Target, error) {
	var clients []echoconnect.EchoClient
	var transports []*http.Transport
	for range max(n, 1) {
		t := &http.Transport{Protocols: cleartextHTTP2()}
		transports = append(transports, t)
		clients = append(clients, echoconnect.NewEchoClient(&http.Client{Transport: t}, "http://"+addr))
	}
	closeAll := func() {
		for _, t := range transports {
			t.CloseIdleConnections()
		}
	}
	return &trial.Target{Close: closeAll, Caller: func(_ context.Context, worker int, text string) (trial.Call, error) {
		client := clients[worker%len(clients)]
		req := &echo.Message{Text: text, List: make([]int64, trial.ListLen)}
		return func(ctx context.Context, id int64) error {
			req.Id = id
			trial.Fill(req.List, id)
			r, err := client.Echo(ctx, connect.NewRequest(req))
			if err != nil {
				return err
			}
			return trial.Verify(id, text, r.Msg.Id, r.Msg.Text, r.Msg.List)
		}, nil
	}}, nil
}
