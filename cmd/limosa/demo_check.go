package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/limosa-rpc/limosa/cmd/shop"
)

// A demoMethod makes one call and compares its answer with the one that must
// come; each seq asks for something else, so that answers cannot be swapped
// without being noticed.
type demoMethod struct {
	name string
	call func(ctx context.Context, s *shopClients, want *goods, seq uint64) error
}

// demoMethods are what is called: each kind of answer, exceptions among them, by services
// that answer themselves and by one that asks others.
func demoMethods() []demoMethod {
	return []demoMethod{
		{"Catalog/product", callProduct},
		{"Catalog/product: not found", callMissing},
		{"Storefront/page", callPage},
		{"Storefront/browse", callBrowse},
		{"Storefront/checkout", callCheckout},
		{"Storefront/checkout: sold out", callSoldOut},
	}
}

// someID spreads the calls over all products.
//
// The factor is 2^32 divided by the golden ratio: consecutive numbers land far apart
// (Knuth, The Art of Computer Programming, 6.4).
func someID(seq uint64) int64 { return firstID + int64(seq*2654435761%(lastID-firstID+1)) }

// differs is a wrong answer.
func differs(got, want any) error { return fmt.Errorf("wrong answer: got %+v, want %+v", got, want) }

// callProduct asks for one struct with fields of many kinds.
func callProduct(ctx context.Context, s *shopClients, want *goods, seq uint64) error {
	id := someID(seq)
	got, err := s.catalog.Product(ctx, id)
	if err != nil {
		return err
	}
	if !sameProduct(got, want.product(id)) {
		return differs(got, want.product(id))
	}
	return nil
}

// callMissing asks for what there is not: the answer is a declared exception, which has
// to say what was asked for.
func callMissing(ctx context.Context, s *shopClients, _ *goods, seq uint64) error {
	id := lastID + 1 + int64(seq)
	got, err := s.catalog.Product(ctx, id)
	missing, ok := errors.AsType[*shop.NotFound](err)
	switch {
	case err != nil && !ok:
		return err
	case err == nil:
		return differs(got, "NotFound")
	case missing.ID != id || missing.What != "product":
		return differs(missing, id)
	}
	return nil
}

// callPage asks the storefront, which makes several calls at once for it.
func callPage(ctx context.Context, s *shopClients, want *goods, seq uint64) error {
	id := someID(seq)
	got, err := s.storefront.Page(ctx, id)
	if err != nil {
		return err
	}
	if got == nil || !sameProduct(got.Product, want.product(id)) || !sameOffer(got.Offer, want.offer(id)) {
		return differs(got, id)
	}
	return sameListings(got.Related, relatedTo(id, relatedShown), want)
}

// callBrowse asks for a list; how long it is says the IDL's default, which NewQuery sets.
func callBrowse(ctx context.Context, s *shopClients, want *goods, seq uint64) error {
	q := shop.NewQuery()
	q.Category = shop.Category(seq%categories + 1)
	q.Offset = int32(seq * 7 % 400)
	got, err := s.storefront.Browse(ctx, q)
	if err != nil {
		return err
	}
	ids := found(q)
	// Of the demo itself, not of the services: the default is in the IDL, the offsets here.
	if len(ids) != 50 {
		return fmt.Errorf("the demo expects %d listings, not 50", len(ids))
	}
	return sameListings(got, ids, want)
}

// sameListings holds a list against the listings of ids, in their order.
func sameListings(got []*shop.Listing, ids []int64, want *goods) error {
	if len(got) != len(ids) {
		return differs(len(got), len(ids))
	}
	for i, id := range ids {
		if !sameListing(got[i], want.listing(id)) {
			return differs(got[i], want.listing(id))
		}
	}
	return nil
}

// cartOf fills a cart of two to four lines with products that are in stock.
func cartOf(seq uint64) *shop.Cart {
	cart := &shop.Cart{Customer: fmt.Sprintf("c-%d", seq)}
	for n := range 2 + seq%3 {
		id := someID(seq + n*1000)
		// Its neighbour is in stock: 1002 is not divisible by 7.
		if stockOf(id) == 0 {
			id = firstID + 1
		}
		cart.Lines = append(cart.Lines, &shop.CartLine{ProductID: id, Quantity: int32(1 + (seq+n)%9)})
	}
	return cart
}

// callCheckout sends a list and gets a sum that only the right prices make.
func callCheckout(ctx context.Context, s *shopClients, _ *goods, seq uint64) error {
	cart := cartOf(seq)
	got, err := s.storefront.Checkout(ctx, cart)
	if err != nil {
		return err
	}
	if want := orderOf(cart); !sameOrder(got, want) {
		return differs(got, want)
	}
	return nil
}

// callSoldOut puts into the cart what there is none of: an exception of one service
// passes through another one, and has to arrive with all its fields.
func callSoldOut(ctx context.Context, s *shopClients, _ *goods, seq uint64) error {
	cart := cartOf(seq)
	id := firstID + int64(seq%285)*7 // firstID is divisible by 7, as all are that stockOf has none of
	cart.Lines = append(cart.Lines, &shop.CartLine{ProductID: id, Quantity: 1 + int32(seq%50)})
	got, err := s.storefront.Checkout(ctx, cart)
	none, ok := errors.AsType[*shop.SoldOut](err)
	switch {
	case err != nil && !ok:
		return err
	case err == nil:
		return differs(got, "SoldOut")
	case *none != shop.SoldOut{ProductID: id, Wanted: 1 + int32(seq%50)}:
		return differs(none, id)
	}
	return nil
}

// samePtr compares what two optional fields hold.
func samePtr[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// sameProduct compares field by field, as the functions below do: reflection would take a
// good part of the time that is measured. nil equals nil.
func sameProduct(a, b *shop.Product) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.Sku == b.Sku && a.Name == b.Name && a.Category == b.Category &&
		slices.Equal(a.Tags, b.Tags) && maps.Equal(a.Attributes, b.Attributes) &&
		samePtr(a.WeightKg, b.WeightKg) && samePtr(a.Subtitle, b.Subtitle)
}

// sameOffer compares by hand: the demo checks the codec, and must not trust its Equal for that.
func sameOffer(a, b *shop.Offer) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ProductID == b.ProductID && samePtr(a.Price, b.Price) && a.InStock == b.InStock && samePtr(a.DaysToShip, b.DaysToShip)
}

// sameListing compares by hand; see sameOffer.
func sameListing(a, b *shop.Listing) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ProductID == b.ProductID && a.Name == b.Name && a.Category == b.Category && samePtr(a.Price, b.Price) && a.Available == b.Available
}

// sameOrder compares by hand; see sameOffer.
func sameOrder(a, b *shop.Order) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Number == b.Number && a.Customer == b.Customer && samePtr(a.Total, b.Total) &&
		slices.EqualFunc(a.Lines, b.Lines, func(a, b *shop.OrderLine) bool {
			return a.ProductID == b.ProductID && a.Quantity == b.Quantity && samePtr(a.Price, b.Price)
		})
}
