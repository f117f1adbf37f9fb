package guide_test

import (
	"fmt"

	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/grpc/health"
	grpcreflection "github.com/limosa-rpc/limosa/grpc/reflection"
)

func Example_tools() {
	impl := newShop()
	//guide:begin tools
	var states health.Health
	services := grpcreflection.With(states.With(books.Service(impl))...)
	states.Set("Books", health.NotServing) // until the stock is read
	//guide:end
	for _, s := range services {
		fmt.Println(s.Name)
	}
	// Output:
	// Books
	// grpc.health.v1.Health
	// grpc.reflection.v1.ServerReflection
	// grpc.reflection.v1alpha.ServerReflection
}
