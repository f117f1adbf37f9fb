// Command orders shows what a call can carry and how it can fail: declared
// exceptions, codes, deadlines, metadata, and an interceptor around all of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/orders/gen/orders"
	"github.com/limosa-rpc/limosa/rpc"
)

//go:generate go run github.com/limosa-rpc/limosa/gen/limosa-gen -out gen orders.thrift

// A shop sells what it has. Its methods run concurrently, as those of each implementation do.
type shop struct{}

// Place ends in each of the ways that a call has: an answer, an error with a code, an exception that the IDL
// declares, and a deadline that the caller has set.
func (shop) Place(ctx context.Context, l *orders.Line) (*orders.Confirmation, error) {
	switch {
	case l == nil || l.Count < 1:
		return nil, rpc.Errorf(rpc.InvalidArgument, "how many?") // a code, and a text for the caller
	case l.Item == "globe":
		return nil, &orders.OutOfStock{Item: l.Item, Left: 2} // an exception of the IDL
	case l.Item == "map":
		<-ctx.Done() // being drawn: the caller's deadline ends this
		return nil, ctx.Err()
	}
	number := rpc.FromContext(ctx).Header.Get("customer") + "-1"
	return &orders.Confirmation{Number: number, Cents: 250 * int64(l.Count)}, nil
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves a shop and buys from it: client and server are in one program here, and talk over TCP.
func run(out io.Writer) error {
	logged := func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
		err := next(ctx, c)
		fmt.Fprintf(out, "%v for %s: %v\n", c.Method, c.Header.Get("customer"), rpc.CodeOf(err))
		return err
	}
	server := limosa.Server{Services: []rpc.Service{orders.Service(shop{})}, Interceptors: []rpc.Interceptor{logged}}
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()

	c, err := orders.Dial(l.Addr().String())
	if err != nil {
		return err
	}
	// What is in a context goes for all calls that are made with it: here who buys, and how long each may take.
	calls := limosa.With(context.Background(), limosa.Header("customer", "ada"), limosa.Timeout(time.Second))
	for _, line := range []*orders.Line{{Item: "pen", Count: 4}, {Item: "pen"}, {Item: "globe", Count: 3}, {Item: "map", Count: 1}} {
		sold, err := c.Place(calls, line)
		// An exception is found among errors by its type, whatever was wrapped around it.
		if none, ok := errors.AsType[*orders.OutOfStock](err); ok {
			fmt.Fprintf(out, "  only %d of %s\n", none.Left, none.Item)
		} else if err != nil {
			fmt.Fprintf(out, "  %v, deadline: %v\n", rpc.CodeOf(err), errors.Is(err, context.DeadlineExceeded))
		} else {
			fmt.Fprintf(out, "  %s: %d cents\n", sold.Number, sold.Cents)
		}
	}
	c.Close()
	stop() // Serve drains and returns
	return <-served
}
