package netio

import "sync/atomic"

// A gate knows who may touch a connection's In, and whether the connection is
// closed or has lost its peer. Atomic.
type gate struct{ word atomic.Uint32 }

const (
	gateInside uint32 = 1 << iota // a Receive runs
	gateClosed                    // Close or Abort has run
	gateLent                      // the last Receive has lent bytes of the In
	gateFreed                     // the In's memory is given back; only after gateClosed
	gateLost                      // the peer's end was noticed outside of Receive
	gateViewed                    // a net.Conn has it: nobody is kicked any more
)

// enter begins a Receive. closed: it must not touch the In.
func (g *gate) enter() (closed bool) {
	w := g.word.Or(gateInside)
	if w&gateInside != 0 {
		panic("netio: two Receives of one connection at a time")
	}
	return w&gateClosed != 0
}

// leave ends a Receive that has lent bytes, or not. free: nothing is lent, the
// connection was closed, and the caller is to give the In's memory back, alone.
// lost: the peer's end was noticed meanwhile.
func (g *gate) leave(lent bool) (free, lost bool) {
	for {
		w := g.word.Load()
		n := w &^ (gateInside | gateLent)
		switch {
		case lent:
			n |= gateLent
		case w&gateClosed != 0:
			n |= gateFreed
		}
		if g.word.CompareAndSwap(w, n) {
			return !lent && w&gateClosed != 0 && w&gateFreed == 0, w&gateLost != 0
		}
	}
}

// close ends the connection. free: the caller is to give the In's memory back,
// alone. Otherwise a Receive runs or has lent some of it, and the memory is the
// next leave's to give back, or the collector's.
func (g *gate) close() (first, free bool) {
	for {
		w := g.word.Load()
		if w&gateClosed != 0 {
			return false, false
		}
		n := w | gateClosed
		if free = w&(gateInside|gateLent) == 0; free {
			n |= gateFreed
		}
		if g.word.CompareAndSwap(w, n) {
			return true, free
		}
	}
}

// viewed reports whether a net.Conn was made of the connection, which then reads for itself.
func (g *gate) viewed() bool { return g.word.Load()&gateViewed != 0 }

// closed reports whether nobody may enter any more.
func (g *gate) closed() bool { return g.word.Load()&gateClosed != 0 }

// lose notes that the peer is gone. alone: no Receive runs that would report it.
func (g *gate) lose() (alone bool) {
	return g.word.Or(gateLost)&gateInside == 0
}
