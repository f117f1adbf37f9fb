// Command prices shows a stream that is meant to last: the server sends prices
// until it drains, and the client goes on at another server.
package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log"
	"os"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/prices/gen/prices"
	"github.com/limosa-rpc/limosa/rpc"
)

//go:generate go run github.com/limosa-rpc/limosa/gen/limosa-gen -out gen prices.thrift

// An exchange gives a new price each millisecond.
type exchange struct{ name string }

// Watch sends prices until its caller leaves or its server drains. A server waits for its calls when it
// drains, so a stream without an end has to look at that.
func (e exchange) Watch(ctx context.Context, of *prices.Price) iter.Seq2[*prices.Price, error] {
	return func(yield func(*prices.Price, error) bool) {
		for cents := of.Cents; ; {
			select {
			case <-time.After(time.Millisecond):
				cents++
				if !yield(&prices.Price{Symbol: e.name + ":" + of.Symbol, Cents: cents}, nil) {
					return // the client has gone
				}
			case <-rpc.Draining(ctx):
				yield(nil, rpc.Errorf(rpc.Unavailable, "%s closes", e.name))
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run watches one exchange until it closes, and goes on at another one from the last price that it saw: a stream
// is not tried again by itself, since nobody else knows where it was.
func run(out io.Writer) error {
	last, err := watch(out, "first", &prices.Price{Symbol: "TEA", Cents: 100})
	if err != nil {
		return err
	}
	_, err = watch(out, "second", last) // goes on where the first one ended
	return err
}

// watch serves an exchange, watches three of its prices, and has it drain.
func watch(out io.Writer, name string, from *prices.Price) (last *prices.Price, err error) {
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, drain := context.WithCancel(context.Background())
	defer drain()
	server := limosa.Server{Services: []rpc.Service{prices.Service(exchange{name})}, Drain: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()

	c, err := prices.Dial(l.Addr().String())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	seen := 0
	for p, err := range c.Watch(context.Background(), from) {
		if err != nil { // once, last
			fmt.Fprintln(out, rpc.CodeOf(err))
			break
		}
		last = &prices.Price{Symbol: from.Symbol, Cents: p.Cents}
		if seen++; seen == 3 {
			fmt.Fprintln(out, p.Symbol, "rises:", p.Cents > from.Cents)
			drain() // the stream is told, and ends before Serve returns
		}
	}
	return last, <-served
}
