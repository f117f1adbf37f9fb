package reflection_test

import (
	"context"
	"fmt"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/reflection"
)

// A server that tells its services, and what a tool that asks it gets.
func ExampleWith() {
	services := reflection.With(books.Service(books.Unimplemented{}))
	all, err := reflection.Services(context.Background(), limosa.Local(services...))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(all[0].Name, all[0].IDL != "")
	// Output: Books true
}
