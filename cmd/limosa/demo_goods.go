package main

import (
	"fmt"

	"github.com/limosa-rpc/limosa/cmd/shop"
)

// The goods of the demo's shop. All that the services answer follows from a
// product's id, so that whoever asks can tell what must come.

const (
	firstID    = 1001
	lastID     = 3000
	categories = 4
)

// known tells whether there is a product with that id.
func known(id int64) bool { return id >= firstID && id <= lastID }

// categoryOf, and the functions below, make goods of their ids: client and server agree without sharing anything.
func categoryOf(id int64) shop.Category { return shop.Category(id%categories + 1) }

// inCategory gives the n-th id of a category, from 0.
func inCategory(c shop.Category, n int64) int64 {
	// The first id that leaves the remainder which categoryOf gives the category for.
	first := firstID + ((int64(c)-1-firstID%categories)+categories)%categories
	return first + n*categories
}

// Names are made of these. Two have letters beyond ASCII, so that such travel too.
var nouns = [...]string{"kettle", "trowel", "almanac", "mandolin", "whisk", "atlas", "lantern", "metronome"}
var makers = [...]string{"Aldgate", "Bramble & Sons", "Corvid", "Dürer Werk", "Étoile"}

// productOf makes a product. Some have no weight and some no subtitle: what is optional
// is there and not there.
func productOf(id int64) *shop.Product {
	noun, maker := nouns[id%int64(len(nouns))], makers[id%int64(len(makers))]
	p := &shop.Product{
		ID: id, Sku: fmt.Sprintf("LM-%06d-%c", id*7919%1_000_000, 'A'+rune(id%26)),
		Name: fmt.Sprintf("%s %s no. %d", maker, noun, id), Category: categoryOf(id),
		Tags:       []string{noun, maker, fmt.Sprintf("season-%d", id%4)},
		Attributes: map[string]string{"maker": maker, "origin": "EU", "warranty": fmt.Sprintf("%d months", id%36)},
	}
	if id%3 != 0 {
		p.WeightKg = new(float64(id%500) / 8)
	}
	if id%5 == 0 {
		p.Subtitle = new("the " + noun + " that outlasts its owner")
	}
	return p
}

// priceOf is in cents.
func priceOf(id int64) *shop.Money {
	return &shop.Money{Currency: "EUR", Minor: 199 + id*37%20_000}
}

// stockOf is how many there are; of every seventh product none, so that the exception is seen.
func stockOf(id int64) int32 {
	if id%7 == 0 {
		return 0 // sold out
	}
	return int32(10 + id%90)
}

// offerOf says when it ships only of what there is.
func offerOf(id int64) *shop.Offer {
	o := &shop.Offer{ProductID: id, Price: priceOf(id), InStock: stockOf(id)}
	if o.InStock > 0 {
		o.DaysToShip = new(int32(1 + id%5))
	}
	return o
}

// listingOf joins what the storefront asks two services for.
func listingOf(id int64) *shop.Listing {
	return &shop.Listing{ProductID: id, Name: productOf(id).Name, Category: categoryOf(id), Price: priceOf(id), Available: stockOf(id) > 0}
}

// goods are tables of all of that, made once: the demo measures calls, not
// how fast a product is made up.
type goods struct {
	products []*shop.Product
	offers   []*shop.Offer
	listings []*shop.Listing
}

// newGoods makes all products once. They are read only from then on.
func newGoods() *goods {
	g := &goods{}
	for id := int64(firstID); id <= lastID; id++ {
		g.products = append(g.products, productOf(id))
		g.offers = append(g.offers, offerOf(id))
		g.listings = append(g.listings, listingOf(id))
	}
	return g
}

// These three want an id that is known.

// product gives the product with that id, which is among them.
func (g *goods) product(id int64) *shop.Product { return g.products[id-firstID] }
func (g *goods) offer(id int64) *shop.Offer     { return g.offers[id-firstID] }
func (g *goods) listing(id int64) *shop.Listing { return g.listings[id-firstID] }

// relatedTo gives ids that go with one: its neighbours in the category.
func relatedTo(id int64, limit int32) []int64 {
	ids := make([]int64, 0, limit)
	for n := int64(1); n <= int64(limit); n++ {
		next := id + n*categories
		if next > lastID {
			// The number of products is a multiple of the categories, so that it stays in its own.
			next -= (lastID - firstID + 1)
		}
		ids = append(ids, next)
	}
	return ids
}

// relatedShown is how many related products a page has.
const relatedShown = 4

// found are the ids that a query asks for: none beyond the last product.
func found(q *shop.Query) []int64 {
	var ids []int64
	from, to := int64(q.Offset), int64(q.Offset)+int64(max(q.Limit, 0))
	// Of 64 bits, so that an offset and a limit at the end of their range do not wrap around.
	for n := max(from, 0); n < to; n++ {
		id := inCategory(q.Category, n)
		if id > lastID {
			break // however many are asked for
		}
		if known(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// orderOf is what checkout must answer when nothing is sold out.
func orderOf(cart *shop.Cart) *shop.Order {
	o := &shop.Order{Number: orderNumber(cart), Customer: cart.Customer, Total: &shop.Money{Currency: "EUR"}}
	for _, l := range cart.Lines {
		o.Lines = append(o.Lines, &shop.OrderLine{ProductID: l.ProductID, Quantity: l.Quantity, Price: priceOf(l.ProductID)})
		o.Total.Minor += priceOf(l.ProductID).Minor * int64(l.Quantity)
	}
	return o
}

// orderNumber tells carts apart by what is in them, and in which order.
func orderNumber(cart *shop.Cart) string {
	sum := int64(len(cart.Customer))
	for _, l := range cart.Lines {
		sum = sum*31 + l.ProductID*int64(l.Quantity)
	}
	return fmt.Sprintf("O-%s-%08x", cart.Customer, uint32(sum))
}
