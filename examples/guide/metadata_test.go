package guide_test

import (
	"context"
	"fmt"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/rpc"
)

// A front passes what it is asked on to another shop.
type front struct {
	books.Unimplemented
	back books.Books
}

//guide:begin metadata-handler
func (f *front) Get(ctx context.Context, id int64) (*books.Book, error) {
	call := rpc.FromContext(ctx)
	fmt.Println("front:", call.Header.Get("tenant"), call.Header.Get("trace"))
	call.Trailer.Set("served-by", "front")
	return f.back.Get(ctx, id) // the persistent pairs of this call go along
}

//guide:end

// A back is the second hop.
type back struct{ books.Unimplemented }

func (back) Get(ctx context.Context, id int64) (*books.Book, error) {
	call := rpc.FromContext(ctx)
	fmt.Printf("back: %q %q\n", call.Header.Get("tenant"), call.Header.Get("trace"))
	return &books.Book{ID: id}, nil
}

func Example_metadata() {
	backAddr, stopBack := running(&limosa.Server{Services: []rpc.Service{books.Service(back{})}})
	defer stopBack()
	toBack, err := books.Dial(backAddr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer toBack.Close()
	addr, stop := running(&limosa.Server{Services: []rpc.Service{books.Service(&front{back: toBack})}})
	defer stop()

	c, err := books.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	//guide:begin metadata-caller
	ctx := limosa.With(context.Background(),
		limosa.Header("tenant", "t1"),        // to the next hop
		limosa.Persistent("trace", "4bf92f")) // to every hop from there on
	_, err = c.Get(ctx, 1)
	//guide:end
	fmt.Println(err)
	//guide:begin metadata-trailer
	var answer rpc.Metadata
	_, err = c.Get(limosa.With(ctx, limosa.Trailer(&answer)), 1)
	fmt.Println("served by", answer.Get("served-by"))
	//guide:end
	fmt.Println(err)
	// Output:
	// front: t1 4bf92f
	// back: "" "4bf92f"
	// <nil>
	// front: t1 4bf92f
	// back: "" "4bf92f"
	// served by front
	// <nil>
}
