package guide_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
)

//guide:begin interceptors-log
func logging(log *slog.Logger) rpc.Interceptor {
	return func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
		begin := time.Now()
		err := next(ctx, c)
		log.InfoContext(ctx, "call", "method", c.Method, "peer", c.Peer, "took", time.Since(begin), "code", rpc.CodeOf(err))
		return err
	}
}

//guide:end

//guide:begin interceptors-auth
func authenticate(ctx context.Context, c *rpc.Call, next rpc.Next) error {
	if c.Header.Get("authorization") != "Bearer s3cret" {
		return rpc.Unauthenticated // codes are errors; the request is not even decoded
	}
	return next(ctx, c)
}

//guide:end

//guide:begin interceptors-measure
func measure(set *stats.Set) rpc.Interceptor {
	return func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
		begin := time.Now()
		err := next(ctx, c)
		code := rpc.CodeOf(err)
		if c.Declared(err) {
			code = rpc.OK // an exception of the IDL is an answer
		}
		set.Histogram("call_us", "What a call took.", "us").Record(time.Since(begin).Microseconds())
		set.Counter("calls_"+code.String(), "Calls by code.").Inc()
		return err
	}
}

//guide:end

//guide:begin interceptors-message
func showOrders(ctx context.Context, c *rpc.Call, next rpc.Next) error {
	if c.Method.Name != "buy" {
		return next(ctx, c)
	}
	msg, err := c.Request() // decodes it
	if err != nil {
		return err
	}
	switch m := msg.(type) {
	case *books.Order:
		fmt.Println(c.Method, "of", m.Copies, "copies")
	}
	err = next(ctx, c)
	if r, ok := c.Response().(*books.Receipt); ok {
		fmt.Println("for", r.Cents, "cents")
	}
	return err
}

//guide:end

//guide:begin interceptors-args
func showAll(ctx context.Context, c *rpc.Call, next rpc.Next) error {
	args, err := c.Args()
	if err != nil {
		return err
	}
	for name, v := range args {
		fmt.Printf("%v: %s = %v\n", c.Method, name, v)
	}
	return next(ctx, c)
}

//guide:end

func Example_interceptorArgs() {
	server := limosa.Server{Services: []rpc.Service{books.Service(newShop())}, Interceptors: []rpc.Interceptor{showAll}}
	c := books.NewClient(server.Caller())
	c.Get(context.Background(), 1)
	c.Buy(context.Background(), &books.Order{Book: 1, Copies: 2})
	// Output:
	// Books/get: id = 1
	// Books/buy: order = Order{book:1 copies:2}
}

func Example_interceptors() {
	set := stats.NewSet()
	//guide:begin interceptors-use
	server := limosa.Server{
		Services:     []rpc.Service{books.Service(newShop())},
		Interceptors: []rpc.Interceptor{measure(set), authenticate, showOrders}, // the first one is outermost
	}
	//guide:end
	addr, stop := running(&server)
	defer stop()
	//guide:begin interceptors-client
	token := func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
		c.Header.Set("authorization", "Bearer s3cret")
		return next(ctx, c)
	}
	client := &limosa.Client{Target: addr, Interceptors: []rpc.Interceptor{logging(slog.New(slog.DiscardHandler)), token}}
	//guide:end
	defer client.Close()
	known := books.NewClient(client)
	_, err := known.Buy(context.Background(), &books.Order{Book: 1, Copies: 2})
	fmt.Println(err)

	stranger, err := books.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stranger.Close()
	_, err = stranger.Get(context.Background(), 1)
	fmt.Println(rpc.CodeOf(err))
	//guide:begin interceptors-show
	set.Each(func(m stats.Metric) {
		if m.Kind == stats.KindCounter {
			fmt.Println(m.Name, m.Value)
		}
	})
	//guide:end
	// Output:
	// Books/buy of 2 copies
	// for 8000 cents
	// <nil>
	// Unauthenticated
	// calls_OK 1
	// calls_Unauthenticated 1
}
