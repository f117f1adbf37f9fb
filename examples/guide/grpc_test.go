package guide_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/greet"
	"github.com/limosa-rpc/limosa/grpc/health"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

//guide:begin grpc-impl
type greeter struct{}

func (greeter) Greet(_ context.Context, req *greet.GreetRequest) (*greet.GreetResponse, error) {
	if req.Name == "" {
		return nil, rpc.Errorf(rpc.InvalidArgument, "whom?")
	}
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

//guide:end

// newGreeter is a server of gRPC, and of Limosa's own protocol beside it.
func newGreeter() *limosa.Server {
	//guide:begin grpc-server
	server := &limosa.Server{
		Services:  health.With(greet.Service(greeter{})),
		Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}}, // on each of its ports
	}
	//guide:end
	return server
}

func Example_grpc() {
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- newGreeter().Serve(ctx, l) }()
	addr := l.Addr().String()

	//guide:begin grpc-client
	speaks := func(c *limosa.Client) { c.Protocols = []wire.Protocol{web.Protocol{}} }
	client, err := greet.Dial(addr+"?protocol=grpc", speaks)
	//guide:end
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := client.Greet(ctx, &greet.GreetRequest{Name: "Limosa"})
	fmt.Println(res.Text, err)
	_, err = client.Greet(ctx, &greet.GreetRequest{})
	fmt.Println(rpc.CodeOf(err))
	for res, err := range client.GreetAll(ctx, func(yield func(*greet.GreetRequest, error) bool) {
		_ = yield(&greet.GreetRequest{Name: "one"}, nil) && yield(&greet.GreetRequest{Name: "all"}, nil)
	}) {
		fmt.Println(res.Text, err)
	}
	fmt.Println(client.Close())
	stop()
	fmt.Println(<-served)
	// Output:
	// hello Limosa <nil>
	// InvalidArgument
	// hello one <nil>
	// hello all <nil>
	// <nil>
	// <nil>
}
