package guide_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/reflection"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
)

//guide:begin serving
func serve(ctx context.Context, impl books.Books, addr, socket string, set *stats.Set) error {
	server := limosa.Server{
		Services: reflection.With(books.Service(impl)), // tools may ask for the IDL
		Logger:   slog.Default(),
		Stats:    set,
		Drain:    20 * time.Second,
	}
	tcp, err := limosa.Listen(addr)
	if err != nil {
		return err
	}
	unix, err := limosa.Listen("unix://" + socket)
	if err != nil {
		tcp.Close()
		return err
	}
	return server.Serve(ctx, tcp, unix) // until ctx ends, and through the drain
}

//guide:end

func Example_serving() {
	dir, err := os.MkdirTemp("", "guide")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	socket, set := filepath.Join(dir, "s"), stats.NewSet()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- serve(ctx, newShop(), "127.0.0.1:0", socket, set) }()

	c, err := books.Dial("unix://" + socket)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := c.Get(limosa.With(ctx, limosa.Timeout(10*time.Second)), 1)
	for err != nil && rpc.SentOf(err) == rpc.NotSent { // it does not listen yet
		b, err = c.Get(ctx, 1)
	}
	fmt.Println(b, err)
	//guide:begin serving-stats
	set.Each(func(m stats.Metric) {
		if m.Name == "rpc_server_conns" {
			fmt.Println(m.Name, m.Value)
		}
	})
	//guide:end
	c.Close()
	stop()
	fmt.Println(<-served)
	// Output:
	// Book{id:1 title:"Go"} <nil>
	// rpc_server_conns 1
	// <nil>
}
