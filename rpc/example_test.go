package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/rpc"
)

// A library has one book, and lends it twice.
type library struct {
	books.Unimplemented
	lent int32
}

func (l *library) Get(ctx context.Context, id int64) (*books.Book, error) {
	if id != 1 {
		return nil, rpc.Errorf(rpc.NotFound, "no book %d", id)
	}
	return &books.Book{ID: id, Title: "Go"}, nil
}

func (l *library) Buy(ctx context.Context, o *books.Order) (*books.Receipt, error) {
	if l.lent++; l.lent > 2 {
		return nil, &books.SoldOut{Book: o.Book, Left: 0}
	}
	rpc.FromContext(ctx).Trailer.Set("shelf", "7")
	return &books.Receipt{Book: o.Book, Copies: 1}, nil
}

// A handler's Errorf is what its caller gets: code and text.
func ExampleErrorf() {
	c := books.NewClient(limosa.Local(books.Service(new(library))))
	_, err := c.Get(context.Background(), 2)
	fmt.Println(errors.Is(err, rpc.NotFound), rpc.CodeOf(err))
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		fmt.Println(e.Msg)
	}
	// Output:
	// true NotFound
	// no book 2
}

// CodeOf knows every error; exceptions of an IDL have no code.
func ExampleCodeOf() {
	fmt.Println(rpc.CodeOf(nil))
	fmt.Println(rpc.CodeOf(fmt.Errorf("while paying: %w", rpc.Errorf(rpc.FailedPrecondition, "no money"))))
	fmt.Println(rpc.CodeOf(context.DeadlineExceeded))
	fmt.Println(rpc.CodeOf(&books.SoldOut{}))
	// Output:
	// OK
	// FailedPrecondition
	// DeadlineExceeded
	// Unknown
}

// SentOf says what may be done again.
func ExampleSentOf() {
	c, err := books.Dial("127.0.0.1:1") // nobody listens there
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, err = c.Buy(context.Background(), &books.Order{Book: 1})
	fmt.Println(rpc.CodeOf(err), rpc.SentOf(err))
	// Output: Unavailable not sent
}

// An interceptor that makes a call again is one loop.
func ExampleInterceptor() {
	again := func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
		for c.Attempt = 0; ; c.Attempt++ {
			err := next(ctx, c)
			if rpc.CodeOf(err) != rpc.Aborted || c.Attempt == 2 {
				return err
			}
		}
	}
	failing := 2
	server := limosa.Server{
		Services: []rpc.Service{books.Service(new(library))},
		Interceptors: []rpc.Interceptor{again, func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
			if failing--; failing >= 0 {
				return rpc.Aborted
			}
			fmt.Println(c.Method, "attempt", c.Attempt)
			return next(ctx, c)
		}},
	}
	b, err := books.NewClient(server.Caller()).Get(context.Background(), 1)
	fmt.Println(b, err)
	// Output:
	// Books/get attempt 2
	// Book{id:1 title:"Go"} <nil>
}

// The handler's context knows its call: who calls, with what, and what goes back.
func ExampleFromContext() {
	server := limosa.Server{
		Services: []rpc.Service{books.Service(new(library))},
		Interceptors: []rpc.Interceptor{func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
			err := next(ctx, c)
			fmt.Println(c.Trailer.Get("shelf"))
			return err
		}},
	}
	c := books.NewClient(server.Caller())
	_, err := c.Buy(context.Background(), &books.Order{Book: 1})
	fmt.Println(err)
	fmt.Println(rpc.FromContext(context.Background()) == nil) // outside of a handler
	// Output:
	// 7
	// <nil>
	// true
}

// A feed sends until its server drains.
type feed struct{ books.Unimplemented }

func (feed) Search(ctx context.Context, like *books.Book) iter.Seq2[*books.Book, error] {
	return func(yield func(*books.Book, error) bool) {
		for id := int64(1); ; id++ {
			select {
			case <-time.After(time.Millisecond):
				if !yield(&books.Book{ID: id}, nil) {
					return // the client has gone
				}
			case <-rpc.Draining(ctx):
				yield(nil, rpc.Errorf(rpc.Unavailable, "moving"))
				return
			}
		}
	}
}

func ExampleDraining() {
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, drain := context.WithCancel(context.Background())
	defer drain()
	served := make(chan error, 1)
	server := limosa.Server{Services: []rpc.Service{books.Service(feed{})}}
	go func() { served <- server.Serve(ctx, l) }()
	c, err := books.Dial(l.Addr().String())
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
		if b.ID == 3 {
			drain()
		}
	}
	fmt.Println(<-served)
	// Output:
	// Unavailable
	// <nil>
}

func ExampleMetadata() {
	var m rpc.Metadata
	m.Add("accept", "text")
	m.Add("accept", "json")
	fmt.Println(m.Get("accept"), m.Has("token")) // the last one
	for v := range m.Values("accept") {
		fmt.Println(v)
	}
	// Output:
	// json false
	// text
	// json
}
