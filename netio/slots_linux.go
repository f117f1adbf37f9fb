package netio

import "github.com/limosa-rpc/limosa/internal/sys"

// A table gives connections places that events name, together with the place's
// generation, so that an event of a former owner is told apart. Its user locks.
type table[T any] struct {
	places []place[T]
	free   []uint32
}

// A place is one slot of a table. gen tells its holders apart, so that an event for the one before is known as late.
type place[T any] struct {
	c   *T // nil while free
	gen uint32
}

// A ticket names a place and its holder; epoll carries it.
type ticket = sys.Tag

// put gives c a place.
func (t *table[T]) put(c *T) (k ticket) {
	if n := len(t.free); n > 0 {
		k.Slot = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		k.Slot = uint32(len(t.places))
		t.places = append(t.places, place[T]{})
	}
	p := &t.places[k.Slot]
	p.c, k.Gen = c, p.gen
	return k
}

// drop takes the place back.
func (t *table[T]) drop(k ticket) {
	p := &t.places[k.Slot]
	p.c = nil
	p.gen++
	t.free = append(t.free, k.Slot)
}

// at is who has the place, nil if its owner has gone.
func (t *table[T]) at(k ticket) *T {
	if uint64(k.Slot) < uint64(len(t.places)) { // the doorbell's slot is no int of 32 bits
		if p := t.places[k.Slot]; p.gen == k.Gen {
			return p.c
		}
	}
	return nil
}
