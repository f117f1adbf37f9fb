package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/cmd/shop"
	"github.com/limosa-rpc/limosa/rpc"
)

// The three services of the demo. Handlers give their tables' own objects
// away: encoding only reads them.

// A catalogServer has all products in memory.
type catalogServer struct{ goods *goods }

// Product answers with the declared exception for an id that is not known.
func (s *catalogServer) Product(_ context.Context, id int64) (*shop.Product, error) {
	if !known(id) {
		return nil, &shop.NotFound{What: "product", ID: id}
	}
	return s.goods.product(id), nil
}

// Search refuses a call without a query by a code: that is a fault of the program that
// calls, for which no IDL has an exception.
func (s *catalogServer) Search(_ context.Context, q *shop.Query) ([]*shop.Product, error) {
	if q == nil {
		return nil, rpc.Errorf(rpc.InvalidArgument, "no query")
	}
	ids := found(q)
	products := make([]*shop.Product, len(ids))
	for i, id := range ids {
		products[i] = s.goods.product(id)
	}
	return products, nil
}

// Related gives ids alone, at most 100.
func (s *catalogServer) Related(_ context.Context, id int64, limit int32) ([]int64, error) {
	return relatedTo(id, min(max(limit, 0), 100)), nil
}

// An inventoryServer has all offers in memory. The demo never runs out of
// stock: what must come has to stay the same from call to call.
type inventoryServer struct{ goods *goods }

// Offers leaves out what is not known: a page that lacks an offer is better than none.
func (s *inventoryServer) Offers(_ context.Context, ids []int64) (map[int64]*shop.Offer, error) {
	offers := make(map[int64]*shop.Offer, len(ids))
	for _, id := range ids {
		if known(id) {
			offers[id] = s.goods.offer(id)
		}
	}
	return offers, nil
}

// Reserve takes nothing off the stock; see the type.
func (s *inventoryServer) Reserve(_ context.Context, id int64, quantity int32) (*shop.Money, error) {
	if !known(id) {
		return nil, &shop.NotFound{What: "offer", ID: id}
	}
	o := s.goods.offer(id)
	if o.InStock < quantity {
		return nil, &shop.SoldOut{ProductID: id, Wanted: quantity, InStock: o.InStock}
	}
	return o.Price, nil
}

// A storefrontServer knows nothing itself; it asks the two others.
type storefrontServer struct {
	catalog   shop.Catalog
	inventory shop.Inventory
}

// together runs functions at the same time and gives the first error in their
// order, so that the outcome does not hang on who was faster.
func together(each ...func() error) error {
	errs := make([]error, len(each))
	var wg sync.WaitGroup
	// All but the first, which runs here: a goroutine less for each.
	for i, f := range each[1:] {
		wg.Go(func() { errs[i+1] = f() })
	}
	errs[0] = each[0]()
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Page makes the calls at once that do not depend on each other: three, and then five for
// what the first have named.
func (s *storefrontServer) Page(ctx context.Context, id int64) (*shop.Page, error) {
	page := &shop.Page{}
	var ids []int64
	var offers map[int64]*shop.Offer
	err := together(
		func() (err error) { page.Product, err = s.catalog.Product(ctx, id); return err },
		func() (err error) { offers, err = s.inventory.Offers(ctx, []int64{id}); return err },
		func() (err error) { ids, err = s.catalog.Related(ctx, id, relatedShown); return err },
	)
	if err != nil {
		return nil, err
	}
	page.Offer = offers[id]
	products := make([]*shop.Product, len(ids))
	each := []func() error{func() (err error) { offers, err = s.inventory.Offers(ctx, ids); return err }}
	for i, id := range ids {
		each = append(each, func() (err error) { products[i], err = s.catalog.Product(ctx, id); return err })
	}
	if err := together(each...); err != nil {
		return nil, err
	}
	page.Related = listings(products, offers)
	return page, nil
}

// Browse makes two calls, the second for the ids that the first has found.
func (s *storefrontServer) Browse(ctx context.Context, q *shop.Query) ([]*shop.Listing, error) {
	products, err := s.catalog.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(products))
	for i, p := range products {
		ids[i] = p.ID
	}
	offers, err := s.inventory.Offers(ctx, ids)
	if err != nil {
		return nil, err
	}
	return listings(products, offers), nil
}

// listings joins products with their offers; one that has none is not available.
func listings(products []*shop.Product, offers map[int64]*shop.Offer) []*shop.Listing {
	list := make([]*shop.Listing, len(products))
	for i, p := range products {
		l := &shop.Listing{ProductID: p.ID, Name: p.Name, Category: p.Category}
		if o := offers[p.ID]; o != nil {
			l.Price, l.Available = o.Price, o.InStock > 0
		}
		list[i] = l
	}
	return list
}

// Checkout reserves all lines at once; of several that cannot be had the first in the
// cart is the answer.
func (s *storefrontServer) Checkout(ctx context.Context, cart *shop.Cart) (*shop.Order, error) {
	if cart == nil || len(cart.Lines) == 0 {
		return nil, rpc.Errorf(rpc.InvalidArgument, "the cart is empty")
	}
	order := &shop.Order{Number: orderNumber(cart), Customer: cart.Customer, Total: &shop.Money{Currency: "EUR"}}
	prices := make([]*shop.Money, len(cart.Lines))
	each := make([]func() error, len(cart.Lines))
	for i, l := range cart.Lines {
		each[i] = func() (err error) {
			prices[i], err = s.inventory.Reserve(ctx, l.ProductID, l.Quantity)
			return err
		}
	}
	if err := together(each...); err != nil {
		return nil, err
	}
	for i, l := range cart.Lines {
		order.Lines = append(order.Lines, &shop.OrderLine{ProductID: l.ProductID, Quantity: l.Quantity, Price: prices[i]})
		order.Total.Minor += prices[i].Minor * int64(l.Quantity)
	}
	return order, nil
}

// shopClients is a shop that is open: its clients, and how to close it.
type shopClients struct {
	storefront shop.Storefront
	catalog    shop.Catalog

	callers []rpc.Caller
	stop    context.CancelFunc
	serving sync.WaitGroup
	failed  chan error // what servers ended with
	dir     string     // of the sockets, to be removed
}

// demoPaths are the ways between programs of one host, and the one within a program.
func demoPaths() []string { return []string{"tcp", "unix", "inproc"} }

// openShop starts the three services on a path; the storefront reaches the
// others on the same one.
//
// It does not end with ctx: an interrupt ends the calls, and close the shop, so that none
// fails because its server was gone first.
func openShop(ctx context.Context, path string, all *goods) (*shopClients, error) {
	// Values of ctx stay, its end does not.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	// Room for what each of three servers ends with: none waits for close to read it.
	s := &shopClients{stop: stop, failed: make(chan error, 3)}
	ok := false
	defer func() {
		if !ok {
			_ = s.close()
		}
	}()
	catalog, err := s.start(ctx, path, shop.CatalogService(&catalogServer{all}))
	if err != nil {
		return nil, err
	}
	inventory, err := s.start(ctx, path, shop.InventoryService(&inventoryServer{all}))
	if err != nil {
		return nil, err
	}
	s.catalog = shop.NewCatalogClient(catalog)
	front := &storefrontServer{catalog: s.catalog, inventory: shop.NewInventoryClient(inventory)}
	storefront, err := s.start(ctx, path, shop.StorefrontService(front))
	if err != nil {
		return nil, err
	}
	s.storefront = shop.NewStorefrontClient(storefront)
	ok = true
	return s, nil
}

// start serves one service on a path and gives a caller to it.
func (s *shopClients) start(ctx context.Context, path string, service rpc.Service) (rpc.Caller, error) {
	caller, err := s.reach(ctx, path, service)
	if err == nil {
		s.callers = append(s.callers, caller)
	}
	return caller, err
}

// reach makes the caller, and the server unless the path needs none. The system chooses
// the port, and sockets lie in a fresh folder, so that two demos do not meet.
func (s *shopClients) reach(ctx context.Context, path string, service rpc.Service) (rpc.Caller, error) {
	var addr string
	switch path {
	case "inproc":
		return limosa.Local(service), nil
	case "tcp":
		addr = "127.0.0.1:0"
	case "unix":
		if s.dir == "" {
			dir, err := os.MkdirTemp("", "limosa-")
			if err != nil {
				return nil, err
			}
			s.dir = dir
		}
		// Short, because some systems bound the path of a socket to 104 bytes.
		addr = "unix://" + filepath.ToSlash(filepath.Join(s.dir, fmt.Sprint(len(s.callers))))
	default:
		return nil, fmt.Errorf("unknown path %q", path)
	}
	l, err := limosa.Listen(addr)
	if err != nil {
		return nil, err
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		addr = tcp.String()
	}
	server := &limosa.Server{Services: []rpc.Service{service}}
	s.serving.Go(func() { s.failed <- server.Serve(ctx, l) })
	return limosa.Dial(addr)
}

// close ends the shop and waits for it; the error is the first of all.
func (s *shopClients) close() error {
	var errs []error
	// Clients before servers: a server that drains has nobody to send away then.
	for _, c := range s.callers {
		errs = append(errs, c.Close())
	}
	s.stop()
	s.serving.Wait()
	// No server writes any more: all have returned.
	close(s.failed)
	for err := range s.failed {
		errs = append(errs, err)
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
