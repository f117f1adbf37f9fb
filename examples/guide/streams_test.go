package guide_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/annotated"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/rpc"
)

//guide:begin streams-server
func (s *shop) Search(ctx context.Context, like *books.Book) iter.Seq2[*books.Book, error] {
	return func(yield func(*books.Book, error) bool) {
		for id := int64(1); ; id++ {
			b, err := s.Get(ctx, id)
			if errors.Is(err, rpc.NotFound) {
				return // the end
			}
			if !yield(b, err) || err != nil {
				return // the client has gone, or was told the error
			}
		}
	}
}

//guide:end

//guide:begin streams-client
func (s *shop) Restock(ctx context.Context, deliveries iter.Seq2[*books.Order, error]) (*books.Receipt, error) {
	sum := new(books.Receipt)
	for o, err := range deliveries {
		if err != nil {
			return nil, err // the client has gone, or its iterator failed
		}
		s.mu.Lock()
		s.stock[o.Book] += o.Copies
		s.mu.Unlock()
		sum.Copies += o.Copies
	}
	return sum, nil
}

//guide:end

//guide:begin streams-both
func (s *shop) Checkout(ctx context.Context, orders iter.Seq2[*books.Order, error]) iter.Seq2[*books.Receipt, error] {
	return func(yield func(*books.Receipt, error) bool) {
		for o, err := range orders {
			if err != nil {
				yield(nil, err)
				return
			}
			r, err := s.Buy(ctx, o)
			if err != nil {
				err = rpc.Errorf(rpc.FailedPrecondition, "order of book %d: %w", o.Book, err)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

//guide:end

func Example_streams() {
	addr, stop := running(&limosa.Server{Services: []rpc.Service{books.Service(newShop())}})
	defer stop()
	c, err := books.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx := context.Background()

	//guide:begin streams-receive
	for b, err := range c.Search(ctx, &books.Book{}) {
		if err != nil {
			fmt.Println(err) // at most once, last
			break
		}
		fmt.Println("found", b.ID)
	}
	//guide:end
	//guide:begin streams-send
	deliveries := []*books.Order{{Book: 1, Copies: 5}, {Book: 2, Copies: 7}}
	sum, err := c.Restock(ctx, limosa.Values(slices.Values(deliveries)))
	//guide:end
	fmt.Println(sum.Copies, err)
	//guide:begin streams-exchange
	orders := []*books.Order{{Book: 1, Copies: 1}, {Book: 2, Copies: 100}, {Book: 1, Copies: 1}}
	for r, err := range c.Checkout(ctx, limosa.Values(slices.Values(orders))) {
		if err != nil {
			fmt.Println(rpc.CodeOf(err))
			break
		}
		fmt.Println(r.Cents)
	}
	//guide:end
	// Output:
	// found 1
	// found 2
	// 12 <nil>
	// 4000
	// FailedPrecondition
}

// An endless shop streams until its server drains.
type endless struct {
	books.Unimplemented
	news chan *books.Book
}

//guide:begin streams-draining
func (e *endless) Search(ctx context.Context, like *books.Book) iter.Seq2[*books.Book, error] {
	return func(yield func(*books.Book, error) bool) {
		for {
			select {
			case b := <-e.news:
				if !yield(b, nil) {
					return
				}
			case <-rpc.Draining(ctx): // the server is about to go
				yield(nil, rpc.Errorf(rpc.Unavailable, "moving"))
				return
			case <-ctx.Done(): // the client has gone
				return
			}
		}
	}
}

//guide:end

func Example_draining() {
	e := &endless{news: make(chan *books.Book, 1)}
	e.news <- &books.Book{ID: 1}
	addr, stop := running(&limosa.Server{Services: []rpc.Service{books.Service(e)}})
	c, err := books.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for b, err := range c.Search(context.Background(), &books.Book{}) {
		if err != nil {
			fmt.Println(rpc.CodeOf(err))
			break
		}
		fmt.Println(b.ID)
		go stop()
	}
	// Output:
	// 1
	// Unavailable
}

// The annotations make the same Go as stream<T>.
var _ interface {
	Search(context.Context, *annotated.Book) iter.Seq2[*annotated.Book, error]
	Restock(context.Context, iter.Seq2[*annotated.Book, error]) (*annotated.Receipt, error)
	Checkout(context.Context, iter.Seq2[*annotated.Book, error]) iter.Seq2[*annotated.Receipt, error]
} = annotated.Books(nil)
