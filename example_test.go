package limosa_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/examples/guide/gen/hello"
	"github.com/limosa-rpc/limosa/rpc"
)

// A greeter implements hello.Hello, the interface that was generated from
//
//	service Hello {
//	  Response echo(1: Request req)
//	  stream<Number> count(1: Number to)
//	}
type greeter struct{}

func (greeter) Echo(ctx context.Context, req *hello.Request) (*hello.Response, error) {
	if req == nil || req.Message == "" {
		return nil, rpc.Errorf(rpc.InvalidArgument, "say something")
	}
	return &hello.Response{Message: req.Message}, nil
}

func (greeter) Count(ctx context.Context, to *hello.Number) iter.Seq2[*hello.Number, error] {
	return func(yield func(*hello.Number, error) bool) {
		for i := range to.N {
			if !yield(&hello.Number{N: i}, nil) {
				return // the client has gone
			}
		}
	}
}

// A program serves until its context ends. Most have signal.NotifyContext give
// them that.
func ExampleServe() {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer stop()
	fmt.Println(limosa.Serve(ctx, "127.0.0.1:0", hello.Service(greeter{})))
	// Output: <nil>
}

// A Server has more settings than Serve, and serves on several listeners.
func ExampleServer() {
	server := limosa.Server{
		Services: []rpc.Service{hello.Service(greeter{})},
		Limits:   rpc.Limits{MessageBytes: 1 << 20},
		Drain:    20 * time.Second,
	}
	l, err := limosa.Listen("127.0.0.1:0") // or unix:///run/hello.sock
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()

	c, err := hello.Dial(l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := c.Echo(context.Background(), &hello.Request{Message: "hi"})
	fmt.Println(res, err)
	c.Close()
	stop()
	fmt.Println(<-served)
	// Output:
	// Response{message:"hi"} <nil>
	// <nil>
}

// Dial checks the target; the first call connects.
func ExampleDial() {
	client, err := limosa.Dial("127.0.0.1:1?thrift=framed")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	_, err = hello.NewClient(client).Echo(context.Background(), &hello.Request{Message: "hi"})
	fmt.Println(rpc.CodeOf(err), rpc.SentOf(err))
	_, err = limosa.Dial("localhost")
	fmt.Println(err)
	// Output:
	// Unavailable not sent
	// InvalidArgument: target: "localhost": want host:port or unix:///path
}

// Local calls a service without a socket, as tests do.
func ExampleLocal() {
	c := hello.NewClient(limosa.Local(hello.Service(greeter{})))
	res, err := c.Echo(context.Background(), &hello.Request{Message: "hi"})
	fmt.Println(res, err)
	// Output: Response{message:"hi"} <nil>
}

// Codes and declared exceptions arrive as Go errors.
func ExampleLocal_errors() {
	c := hello.NewClient(limosa.Local(hello.Service(greeter{})))
	_, err := c.Echo(context.Background(), &hello.Request{})
	fmt.Println(errors.Is(err, rpc.InvalidArgument))
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		fmt.Println(e.Code, e.Msg)
	}
	// Output:
	// true
	// InvalidArgument say something
}

// A stream is an iterator. Leaving the loop ends the call.
func ExampleLocal_stream() {
	c := hello.NewClient(limosa.Local(hello.Service(greeter{})))
	for n, err := range c.Count(context.Background(), &hello.Number{N: 1000}) {
		if err != nil {
			fmt.Println(err) // at most once, last
			break
		}
		fmt.Println(n.N)
		if n.N == 2 {
			break
		}
	}
	// Output:
	// 0
	// 1
	// 2
}

// Interceptors see every call, before its request is decoded.
func ExampleServer_Caller() {
	server := limosa.Server{
		Services: []rpc.Service{hello.Service(greeter{})},
		Interceptors: []rpc.Interceptor{func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
			if c.Header.Get("token") != "s3cret" {
				return rpc.Unauthenticated
			}
			return next(ctx, c)
		}},
	}
	c := hello.NewClient(server.Caller())
	_, err := c.Echo(context.Background(), &hello.Request{Message: "hi"})
	fmt.Println(rpc.CodeOf(err))
	ctx := limosa.With(context.Background(), limosa.Header("token", "s3cret"))
	res, err := c.Echo(ctx, &hello.Request{Message: "hi"})
	fmt.Println(res, err)
	// Output:
	// Unauthenticated
	// Response{message:"hi"} <nil>
}

// Options hold for all calls made with a context.
func ExampleWith() {
	show := func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
		_, limited := ctx.Deadline()
		fmt.Println(c.Header.Get("tenant"), c.Header.Get("trace"), limited)
		return next(ctx, c)
	}
	server := limosa.Server{Services: []rpc.Service{hello.Service(greeter{})}, Interceptors: []rpc.Interceptor{show}}
	ctx := limosa.With(context.Background(),
		limosa.Timeout(time.Second),
		limosa.Header("tenant", "t1"),        // to the next service
		limosa.Persistent("trace", "4bf92f")) // and on from there
	_, err := hello.NewClient(server.Caller()).Echo(ctx, &hello.Request{Message: "hi"})
	fmt.Println(err)
	// Output:
	// t1 4bf92f true
	// <nil>
}

// A till adds up what is delivered to it.
type till struct{ books.Unimplemented }

func (till) Restock(ctx context.Context, deliveries iter.Seq2[*books.Order, error]) (*books.Receipt, error) {
	sum := new(books.Receipt)
	for o, err := range deliveries {
		if err != nil {
			return nil, err
		}
		sum.Copies += o.Copies
	}
	return sum, nil
}

// A method that takes a stream is given an iterator; Values makes one of a slice's.
func ExampleValues() {
	c := books.NewClient(limosa.Local(books.Service(till{})))
	deliveries := []*books.Order{{Book: 1, Copies: 2}, {Book: 2, Copies: 3}}
	sum, err := c.Restock(context.Background(), limosa.Values(slices.Values(deliveries)))
	fmt.Println(sum.Copies, err)
	// Output: 5 <nil>
}
