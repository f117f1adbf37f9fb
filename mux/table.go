package mux

import "math/rand/v2"

// A table finds the requests of a connection by their ids, from the moment that
// they are cut until they are answered. The ids are the peer's choice, so it
// spreads them by a multiplier that the peer does not know: chains stay short
// whatever it chooses. The links are in the requests; a call allocates nothing.
//
// A request whose id is in use is not found by it: its peer has lost count, or
// is one that numbers at will, which awaits its answers in order.
type table struct {
	chains []*request // linked by chained; their number is a power of two
	shift  uint       // leaves the top bits of a product, which say the chain
	mult   uint64     // odd, random
	found  int        // requests in chains
	first  *request   // list of all requests, in chains or not
	n      int        // its length
}

const (
	tableLeast = 3   // the first chains, as a power of two
	tableKeep  = 256 // chains that an empty table keeps
)

// chain is the place of id: the top bits of its product with mult, which depend on all of
// its bits (multiplicative hashing; Knuth, The Art of Computer Programming 3, 6.4).
func (t *table) chain(id uint64) **request { return &t.chains[id*t.mult>>t.shift] }

// find gives the request with that id, or nil.
func (t *table) find(id uint64) *request {
	if t.found == 0 {
		return nil
	}
	r := *t.chain(id)
	for r != nil && r.id != id {
		r = r.chained
	}
	return r
}

// add takes r in.
func (t *table) add(r *request) {
	t.n++
	if r.next = t.first; r.next != nil {
		r.next.prev = r
	}
	t.first = r
	if t.find(r.id) != nil {
		return
	}
	if t.found == len(t.chains) {
		t.grow()
	}
	t.found++
	at := t.chain(r.id)
	r.chained, r.tabled = *at, true
	*at = r
}

// remove takes r out.
func (t *table) remove(r *request) {
	t.n--
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		t.first = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	}
	r.prev, r.next = nil, nil
	if !r.tabled {
		return
	}
	at := t.chain(r.id)
	for *at != r {
		at = &(*at).chained
	}
	*at = r.chained
	r.chained, r.tabled = nil, false
	if t.found--; t.found == 0 && len(t.chains) > tableKeep {
		t.chains = nil
	}
}

// grow doubles the chains. A table that was empty begins with 1<<tableLeast of them,
// and with a multiplier of its own: what a peer finds out about one connection says
// nothing of another.
func (t *table) grow() {
	was := t.chains
	if was == nil {
		t.mult, t.shift = rand.Uint64()|1, 64-tableLeast+1
		was = make([]*request, 1<<(tableLeast-1))
	}
	t.shift--
	t.chains = make([]*request, 2*len(was))
	for _, r := range was {
		for r != nil {
			next, at := r.chained, t.chain(r.id)
			r.chained, *at = *at, r
			r = next
		}
	}
}
