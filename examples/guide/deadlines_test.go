package guide_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/rpc"
)

// A slow shop looks for a book for as long as its caller waits.
type slow struct {
	books.Unimplemented
	ended chan error
}

//guide:begin deadlines-handler
func (s *slow) Get(ctx context.Context, id int64) (*books.Book, error) {
	if d, ok := ctx.Deadline(); ok && time.Until(d) < 10*time.Millisecond { // the caller's, over the network too
		return nil, rpc.Errorf(rpc.DeadlineExceeded, "too late to look for book %d", id)
	}
	select {
	case <-time.After(time.Minute): // work
		return &books.Book{ID: id}, nil
	case <-ctx.Done(): // its time is over, or the caller has gone
		s.ended <- ctx.Err()
		return nil, ctx.Err()
	}
}

//guide:end

func Example_deadlines() {
	s := &slow{ended: make(chan error, 1)}
	addr, stop := running(&limosa.Server{Services: []rpc.Service{books.Service(s)}})
	defer stop()
	c, err := books.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	//guide:begin deadlines-caller
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err = c.Get(ctx, 1)
	fmt.Println(rpc.CodeOf(err), errors.Is(err, context.DeadlineExceeded))
	//guide:end
	// Output:
	// DeadlineExceeded true
}

func Example_timeouts() {
	s := &slow{ended: make(chan error, 1)}
	addr, stop := running(&limosa.Server{Services: []rpc.Service{books.Service(s)}})
	defer stop()
	//guide:begin deadlines-client
	client := &limosa.Client{Target: addr, Timeout: 500 * time.Millisecond} // for each call
	defer client.Close()
	c := books.NewClient(client)
	ctx := limosa.With(context.Background(), limosa.Timeout(50*time.Millisecond)) // for each call with ctx
	_, err := c.Get(ctx, 1)
	//guide:end
	fmt.Println(rpc.CodeOf(err))
	// Output:
	// DeadlineExceeded
}

func Example_cancel() {
	s, begun := &slow{ended: make(chan error, 1)}, make(chan struct{})
	first := func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
		close(begun)
		return next(ctx, c)
	}
	addr, stop := running(&limosa.Server{Services: []rpc.Service{books.Service(s)}, Interceptors: []rpc.Interceptor{first}})
	defer stop()
	c, err := books.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	//guide:begin deadlines-cancel
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-begun // the handler runs
		cancel()
	}()
	_, err = c.Get(ctx, 1)
	fmt.Println(rpc.CodeOf(err), rpc.SentOf(err)) // Canceled maybe
	//guide:end
	fmt.Println("the handler:", <-s.ended)
	// Output:
	// Canceled maybe
	// the handler: context canceled
}

func Example_serverTimeouts() {
	s := &slow{ended: make(chan error, 1)}
	//guide:begin deadlines-server
	server := limosa.Server{
		Services: []rpc.Service{books.Service(s)},
		Timeout:  50 * time.Millisecond,             // for calls that bring no deadline
		Limits:   rpc.Limits{CallTime: time.Minute}, // for those that do
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
	_, err = c.Get(context.Background(), 1)
	fmt.Println(rpc.CodeOf(err))
	// Output: DeadlineExceeded
}
