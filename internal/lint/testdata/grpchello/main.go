// Command grpchello is the least server of gRPC, for a test of what is linked.
package main

import (
	"context"
	"iter"
	"log"
	"os"
	"os/signal"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/greet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

type greeter struct{}

func (greeter) Greet(_ context.Context, req *greet.GreetRequest) (*greet.GreetResponse, error) {
	return &greet.GreetResponse{Text: "hello " + req.Name}, nil
}

func (g greeter) GreetAll(ctx context.Context, all iter.Seq2[*greet.GreetRequest, error]) iter.Seq2[*greet.GreetResponse, error] {
	return func(yield func(*greet.GreetResponse, error) bool) {
		for req, err := range all {
			if err != nil {
				yield(nil, err)
				return
			}
			if res, err := g.Greet(ctx, req); !yield(res, err) || err != nil {
				return
			}
		}
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := limosa.Listen(":8888")
	if err != nil {
		log.Fatal(err)
	}
	s := &limosa.Server{Services: []rpc.Service{greet.Service(greeter{})}, Protocols: []wire.Protocol{web.Protocol{}}}
	if err := s.Serve(ctx, l); err != nil {
		log.Fatal(err)
	}
}
