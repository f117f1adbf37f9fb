package guide_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/rpc"
)

func Example_limits() {
	//guide:begin limits
	server := limosa.Server{
		Services: []rpc.Service{books.Service(newShop())},
		Limits: rpc.Limits{ // what is not set has its default
			MessageBytes:   4 << 20,
			CallsPerServer: 2000,
			QueueTime:      2 * time.Second,
		},
	}
	//guide:end
	addr, stop := running(&server)
	defer stop()
	c, err := books.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	//guide:begin limits-met
	for _, err := range c.Search(context.Background(), &books.Book{Title: strings.Repeat("x", 5<<20)}) {
		fmt.Println(rpc.CodeOf(err), rpc.SentOf(err))
	}
	//guide:end
	// Output:
	// ResourceExhausted refused
}

func Example_wrongLimits() {
	//guide:begin limits-wrong
	server := limosa.Server{Limits: rpc.Limits{MessageBytes: -1}}
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(server.Serve(context.Background(), l))
	//guide:end
	// Output: InvalidArgument: limits: Limits.MessageBytes is -1, below zero
}
