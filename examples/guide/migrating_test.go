package guide_test

import (
	"context"
	"fmt"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/rpc"
)

func Example_forms() {
	addr, stop := running(&limosa.Server{Services: []rpc.Service{books.Service(newShop())}})
	defer stop()
	//guide:begin forms
	for _, form := range []string{"", "?thrift=framed", "?thrift=buffered", "?thrift=theader", "?thrift=framed-compact"} {
		c, err := books.Dial(addr + form)
		if err != nil {
			fmt.Println(err)
			continue
		}
		b, err := c.Get(context.Background(), 1)
		fmt.Println(form, b, err)
		c.Close()
	}
	//guide:end
	// Output:
	// Book{id:1 title:"Go"} <nil>
	// ?thrift=framed Book{id:1 title:"Go"} <nil>
	// ?thrift=buffered Book{id:1 title:"Go"} <nil>
	// ?thrift=theader Book{id:1 title:"Go"} <nil>
	// ?thrift=framed-compact Book{id:1 title:"Go"} <nil>
}

func Example_multiplexed() {
	addr, stop := running(&limosa.Server{Services: []rpc.Service{books.Service(newShop())}})
	defer stop()
	//guide:begin multiplexed
	client := &limosa.Client{Target: addr + "?thrift=framed&multiplexed=true"} // for a TMultiplexedProcessor
	defer client.Close()
	b, err := books.NewClient(client).Get(context.Background(), 1)
	//guide:end
	fmt.Println(b, err)
	// Output: Book{id:1 title:"Go"} <nil>
}
