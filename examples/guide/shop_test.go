package guide_test

import (
	"context"
	"sync"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/rpc"
)

// A shop is the bookshop that the pages' programs call.
//
//guide:begin shop
type shop struct {
	books.Unimplemented // for the methods that this shop does not have

	mu    sync.Mutex
	stock map[int64]int32 // copies by book
}

func (s *shop) Get(ctx context.Context, id int64) (*books.Book, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.stock[id]; !ok {
		return nil, rpc.Errorf(rpc.NotFound, "no book %d", id)
	}
	return &books.Book{ID: id, Title: "Go"}, nil
}

func (s *shop) Buy(ctx context.Context, o *books.Order) (*books.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left, ok := s.stock[o.Book]
	switch {
	case !ok:
		return nil, rpc.Errorf(rpc.NotFound, "no book %d", o.Book)
	case left < o.Copies:
		return nil, &books.SoldOut{Book: o.Book, Left: left}
	}
	s.stock[o.Book] -= o.Copies
	return &books.Receipt{Book: o.Book, Copies: o.Copies, Cents: 4000 * int64(o.Copies)}, nil
}

//guide:end

func newShop() *shop { return &shop{stock: map[int64]int32{1: 10, 2: 0}} }

// start serves s on a port that is free; stop ends it and waits for its drain.
//
//guide:begin start
func start(s *limosa.Server) (addr string, stop func() error, err error) {
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	return l.Addr().String(), func() error { cancel(); return <-done }, nil
}

//guide:end

// running is start for an Example, which has nobody to tell of errors.
func running(s *limosa.Server) (addr string, stop func()) {
	addr, end, err := start(s)
	if err != nil {
		panic(err)
	}
	return addr, func() {
		if err := end(); err != nil {
			panic(err)
		}
	}
}
