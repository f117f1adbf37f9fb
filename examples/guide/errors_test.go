package guide_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/rpc"
)

//guide:begin errors-caller
func order(ctx context.Context, c books.Books, o *books.Order) string {
	receipt, err := c.Buy(ctx, o)
	if soldOut, ok := errors.AsType[*books.SoldOut](err); ok { // an exception of the IDL
		return fmt.Sprintf("only %d left", soldOut.Left)
	}
	if errors.Is(err, rpc.NotFound) { // a code
		return "we do not sell that"
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d cents", receipt.Cents)
}

//guide:end

func Example_errors() {
	addr, stop := running(&limosa.Server{Services: []rpc.Service{books.Service(newShop())}})
	defer stop()
	c, err := books.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println(order(context.Background(), c, &books.Order{Book: 1, Copies: 2}))
	fmt.Println(order(context.Background(), c, &books.Order{Book: 2, Copies: 2}))
	fmt.Println(order(context.Background(), c, &books.Order{Book: 3, Copies: 2}))
	// Output:
	// 8000 cents
	// only 0 left
	// we do not sell that
}

// A broken shop fails with an error that is not for its callers.
type broken struct{ books.Unimplemented }

//guide:begin errors-internal
func (broken) Get(ctx context.Context, id int64) (*books.Book, error) {
	return nil, errors.New("dial tcp 10.0.0.9:5432: connection refused")
}

//guide:end

func Example_internalErrors() {
	var log bytes.Buffer
	server := limosa.Server{
		Services: []rpc.Service{books.Service(broken{})},
		Logger:   slog.New(slog.NewTextHandler(&log, nil)),
	}
	addr, stop := running(&server)
	c, err := books.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.Get(context.Background(), 1)
	fmt.Println("is Internal:", errors.Is(err, rpc.Internal))
	id := regexp.MustCompile(`internal error (\w+)`).FindStringSubmatch(err.Error())
	c.Close()
	stop()
	fmt.Println("the log has the error:", bytes.Contains(log.Bytes(), []byte("connection refused")))
	fmt.Println("and the caller's id:", len(id) == 2 && bytes.Contains(log.Bytes(), []byte(id[1])))
	// Output:
	// is Internal: true
	// the log has the error: true
	// and the caller's id: true
}

// A detailed shop says more than a text.
type detailed struct{ books.Unimplemented }

//guide:begin errors-details
func (detailed) Get(ctx context.Context, id int64) (*books.Book, error) {
	e := &rpc.Error{Code: rpc.ResourceExhausted, Msg: "too many requests"}
	e.Details.Set("retry-after", "2s")
	return nil, e
}

//guide:end

func Example_errorDetails() {
	addr, stop := running(&limosa.Server{Services: []rpc.Service{books.Service(detailed{})}})
	defer stop()
	c, err := books.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	//guide:begin errors-read-details
	_, err = c.Get(context.Background(), 1)
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		fmt.Println(e.Code, e.Msg, e.Details.Get("retry-after"))
	}
	//guide:end
	// Output: ResourceExhausted too many requests 2s
}

func Example_sent() {
	c, err := books.Dial("127.0.0.1:1") // nobody listens there
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	//guide:begin errors-sent
	_, err = c.Buy(context.Background(), &books.Order{Book: 1, Copies: 1})
	switch rpc.SentOf(err) {
	case rpc.NotSent, rpc.Refused:
		fmt.Println("nothing was bought: order again")
	case rpc.Maybe:
		fmt.Println("ask before you order again")
	case rpc.Processed:
		fmt.Println("the server has answered:", err)
	}
	//guide:end
	// Output: nothing was bought: order again
}
