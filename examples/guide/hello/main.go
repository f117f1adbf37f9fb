// Command hello is the server of the guide's first page.
package main

import (
	"context"
	"flag"
	"iter"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/hello"
)

//guide:begin server
type server struct{}

func (server) Echo(ctx context.Context, req *hello.Request) (*hello.Response, error) {
	return &hello.Response{Message: req.Message}, nil
}

func (server) Count(ctx context.Context, to *hello.Number) iter.Seq2[*hello.Number, error] {
	return func(yield func(*hello.Number, error) bool) {
		for i := range to.N {
			if !yield(&hello.Number{N: i}, nil) {
				return // the client has gone
			}
		}
	}
}

//guide:end

//guide:begin main
func main() {
	addr := flag.String("addr", ":8888", "where to serve: host:port or unix:///path")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := limosa.Serve(ctx, *addr, hello.Service(server{})); err != nil {
		log.Fatal(err)
	}
}

//guide:end
