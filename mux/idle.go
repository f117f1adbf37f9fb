package mux

import (
	"time"

	"github.com/limosa-rpc/limosa/wire"
)

// listenAfter is how long a client's connection may not be read whose peer wants answers
// also while nothing is called, to pings for example.
const listenAfter = time.Second

// listenLocked sees to it that somebody reads soon, if nobody does now.
func (c *Conn) listenLocked() {
	if p := &c.hark; c.listens && !p.armed && c.life.role == nobody && c.life.door == open {
		p.seen = c.peek.batches
		if !p.again(listenAfter) {
			p.start(listenAfter, c.listen)
		}
	}
}

// A hark is a look at what comes on a connection that carries nothing.
type hark struct {
	alarm
	seen uint32 // batches when the alarm was set
}

// listen starts a reader, which reads until something has come. A connection that is
// called now and then is read by its callers.
func (c *Conn) listen() {
	p := &c.hark
	c.out.Lock()
	var fx effects
	p.armed = false
	switch {
	case c.life.role != nobody || c.life.door != open: // who reads then sets the alarm anew
	case p.seen != c.peek.batches:
		c.listenLocked()
	default:
		fx = c.life.read()
	}
	c.unlock()
	c.carryOut(fx)
}

// A keeping watches what waits in the session for room at the peer: it is not in the
// output, which would notice a peer that takes nothing. Guarded by the output lock.
type keeping struct {
	alarm
	by    wire.Keeper // nil: the session keeps nothing
	bytes int         // that wait, which the account is charged
	moved uint64      // at the last look
}

// watchKeptLocked is called after each frame and whatever else may leave something with
// the session, or take it away, and charges it: while anything waits, some of it has to
// leave within Limits.WriteStall. It returns how many bytes more wait than before: of a
// frame that is as much a part as what is in the output.
func (h *half) watchKeptLocked() (more int) {
	k := &h.keeping
	if k.by == nil {
		return 0
	}
	n, moved := k.by.Kept()
	if more = n - k.bytes; more != 0 {
		k.bytes = n
		h.account.keepLocked(more)
	}
	if n == 0 || k.armed {
		return more
	}
	if k.moved = moved; !k.again(h.lim.WriteStall) {
		k.start(h.lim.WriteStall, h.lookKept)
	}
	return more
}

// lookKept ends a connection whose peer has granted nothing for too long.
func (h *half) lookKept() {
	k := &h.keeping
	h.out.Lock()
	n, moved := k.by.Kept()
	stalled := n > 0 && moved == k.moved && h.out.Err() == nil
	k.armed = false
	if n > 0 && !stalled && h.out.Err() == nil {
		k.moved = moved
		k.again(h.lim.WriteStall)
	}
	h.out.Unlock()
	if stalled {
		h.nc.Abort()
	}
}

// keeps reports whether anything waits in the session for room at the peer.
func (h *half) keeps() bool {
	h.out.Lock()
	defer h.unlock()
	return h.keeping.bytes > 0
}
