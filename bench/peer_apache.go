package main

import (
	"context"
	"net"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	apache "github.com/limosa-rpc/limosa/bench/echo/apache"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

type apacheEcho struct{ work func() }

func (s apacheEcho) Echo(_ context.Context, m *apache.Message) (*apache.Message, error) {
	s.work()
	return m, nil
}

// serveApache starts the server of Apache Thrift.
func serveApache(_ context.Context, work func()) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	listen := func(net.Addr) (net.Listener, error) { return l, nil }
	socket := thrift.NewTServerSocketFromFactoryTimeout(listen, l.Addr(), 0)
	conf := new(thrift.TConfiguration)
	server := thrift.NewTSimpleServer4(apache.NewEchoProcessor(apacheEcho{work: work}), socket,
		thrift.NewTFramedTransportFactoryConf(thrift.NewTTransportFactory(), conf), thrift.NewTBinaryProtocolFactoryConf(conf))
	go server.Serve()
	return l.Addr().String(), nil
}

// dialApache opens one connection a caller: a client of Apache Thrift carries
// one call at a time and has no pool. It looks at a deadline through the
// socket's timeout only.
func dialApache(_ context.Context, addr string, _ int, _ func()) (*trial.Target, error) {
	conf := &thrift.TConfiguration{ConnectTimeout: time.Second, SocketTimeout: time.Second}
	return &trial.Target{Close: func() {}, Caller: func(_ context.Context, _ int, text string) (trial.Call, error) {
		transport := thrift.NewTFramedTransportConf(thrift.NewTSocketConf(addr, conf), conf)
		if err := transport.Open(); err != nil {
			return nil, err
		}
		protocol := thrift.NewTBinaryProtocolConf(transport, conf)
		client := apache.NewEchoClient(thrift.NewTStandardClient(protocol, protocol))
		req := &apache.Message{Text: text, List: make([]int64, trial.ListLen)}
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
