package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"

	"thriftpeer/thrifttest"
)

// runServer serves ThriftTest and SecondService until ctx ends, and then says
// how much was asked for. Transport and protocol are not looked at: a Limosa
// server tells them from the first bytes.
func runServer(ctx context.Context, l link) error {
	ln, err := limosa.Listen(net.JoinHostPort("127.0.0.1", strconv.Itoa(l.port)))
	if err != nil {
		return err
	}
	count := counter{service: "ThriftTest"}
	srv := limosa.Server{
		Services:     []rpc.Service{thrifttest.ThriftTestService(handler{}), thrifttest.SecondServiceService(second{})},
		Interceptors: []rpc.Interceptor{count.intercept},
	}
	if err := srv.Serve(ctx, ln); err != nil {
		return err
	}
	fmt.Println(count.String())
	return nil
}

// A counter counts the calls of each method of one service.
type counter struct {
	service string // Set when made, then constant.
	mu      struct {
		sync.Mutex
		calls map[string]int
	}
}

func (n *counter) intercept(ctx context.Context, c *rpc.Call, next rpc.Next) error {
	if c.Method.Service == n.service {
		n.mu.Lock()
		if n.mu.calls == nil {
			n.mu.calls = make(map[string]int)
		}
		n.mu.calls[c.Method.Name]++
		n.mu.Unlock()
	}
	return next(ctx, c)
}

// String is the line that the runner of the tests reads.
func (n *counter) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all int
	for _, calls := range n.mu.calls {
		all += calls
	}
	return fmt.Sprintf("served %d methods, %d calls", len(n.mu.calls), all)
}
