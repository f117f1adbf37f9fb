package guide_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/rpc"
)

//guide:begin testing-local
func TestBuy(t *testing.T) {
	c := books.NewClient(limosa.Local(books.Service(newShop())))
	_, err := c.Buy(t.Context(), &books.Order{Book: 1, Copies: 11})
	if soldOut, ok := errors.AsType[*books.SoldOut](err); !ok || soldOut.Left != 10 {
		t.Errorf("Buy = %v", err)
	}
}

//guide:end

//guide:begin testing-server
func TestStrangersAreRefused(t *testing.T) {
	server := limosa.Server{
		Services:     []rpc.Service{books.Service(newShop())},
		Interceptors: []rpc.Interceptor{authenticate},
	}
	c := books.NewClient(server.Caller())
	if _, err := c.Get(t.Context(), 1); !errors.Is(err, rpc.Unauthenticated) {
		t.Errorf("Get = %v", err)
	}
}

//guide:end

//guide:begin testing-fake
type fake struct {
	books.Unimplemented // the other methods fail with rpc.Unimplemented
	err                 error
}

func (f fake) Get(ctx context.Context, id int64) (*books.Book, error) { return nil, f.err }

func TestFrontWithoutABack(t *testing.T) {
	c := books.NewClient(limosa.Local(books.Service(&front{back: fake{err: rpc.Unavailable}})))
	if _, err := c.Get(t.Context(), 1); !errors.Is(err, rpc.Unavailable) {
		t.Errorf("Get = %v", err)
	}
}

//guide:end

//guide:begin testing-time
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no time passes
		c := books.NewClient(limosa.Local(books.Service(&slow{ended: make(chan error, 1)})))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Get(ctx, 1); !errors.Is(err, rpc.DeadlineExceeded) {
			t.Errorf("Get = %v", err)
		}
	})
}

//guide:end

//guide:begin testing-socket
func TestOverTCP(t *testing.T) {
	addr, stop, err := start(&limosa.Server{Services: []rpc.Service{books.Service(newShop())}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := books.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := c.Get(t.Context(), 1); err != nil || b.Title != "Go" {
		t.Errorf("Get = %v, %v", b, err)
	}
	c.Close()
	if err := stop(); err != nil {
		t.Errorf("Serve = %v", err)
	}
}

//guide:end
