package mux

import (
	"context"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

const (
	// chunkFrom is the size of a body from which it goes in pieces of
	// chunkBytes, if the peer can gather them: a small call then waits for one
	// piece at most, not for a whole message.
	chunkFrom  = 256 << 10
	chunkBytes = 128 << 10
	// chunkRoom is what may still be queued when the next piece is: enough for
	// the socket never to run dry.
	chunkRoom = chunkBytes / 2
)

// piece describes the next piece of a body of which rest is left, and ev's
// Offset and Total the state before it. It returns the size.
func piece(ev *wire.Event, rest *buf.Out) int {
	ev.Flags |= wire.Message | wire.Part
	ev.Flags &^= wire.End
	if ev.Total == 0 {
		ev.Total = rest.Len()
	}
	ev.Offset = ev.Total - rest.Len()
	n := min(rest.Len(), chunkBytes)
	if n == rest.Len() {
		ev.Flags |= wire.End
	}
	return n
}

// A mix tells whether a large message has small ones beside it: then what is on
// its way is bounded by the peer's credit, so that they overtake it. Guarded by
// the output lock.
type mix struct{ small, then uint32 }

// beside reports whether small messages were framed since the last large one.
func (m *mix) beside() bool {
	was := m.then
	m.then = m.small
	return was != m.small
}

// awaitRoom waits until may says that the next piece may be sent; granted is
// signalled when it may say otherwise than before. A peer that grants nothing
// for stall is one that takes nothing.
func awaitRoom(ctx context.Context, granted <-chan struct{}, stall time.Duration, may func() bool) error {
	if may() {
		return nil
	}
	timer := time.NewTimer(stall)
	defer timer.Stop()
	for {
		select {
		case <-granted:
			timer.Reset(stall)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return netio.ErrStalled
		}
		if may() {
			return nil
		}
	}
}

// signal signals c, of capacity 1.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sendRest sends what is left of a request in pieces, one at a time of all
// that this connection's callers send. It ends early if the call has ended; who
// waits for it learns why.
func (c *Conn) sendRest(ctx context.Context, r registered) {
	ev := wire.Event{ID: r.id, Total: r.total}
	if r.beside {
		ev.Flags = wire.Credit
	}
	over := func() bool { return r.slot.word.Load() != word(r.id, waiting) }
	may := func() bool {
		c.out.Lock()
		defer c.unlock(false)
		return c.s.Room(0) > 0 || c.err != nil || over()
	}
	for r.rest.Len() > 0 {
		select {
		case c.large <- struct{}{}:
		case <-ctx.Done():
			return
		}
		err := c.out.Wait(ctx, chunkRoom)
		if err == nil && r.beside {
			if err = awaitRoom(ctx, c.granted, c.lim.WriteStall, may); err == netio.ErrStalled {
				c.nc.Abort()
			}
		}
		if err == nil && over() {
			err = rpc.Canceled // answered already: with an error, most likely
			c.tellReset(r.id)
		}
		if err == nil {
			n := piece(&ev, r.rest)
			err = c.append(&ev, func(out *buf.Out) error { out.MovePart(r.rest, n); return nil })
		}
		<-c.large
		if err != nil {
			return
		}
	}
}

// tellReset tells the peer to forget a call, if it understands that.
func (c *Conn) tellReset(id uint64) {
	c.append(&wire.Event{Flags: wire.Reset, ID: id}, nil) // a peer that cannot be told frames nothing
}

// append frames one event besides the first of a call.
func (c *Conn) append(ev *wire.Event, body func(*buf.Out) error) error {
	c.out.Lock()
	out := c.out.Out()
	before := out.Len()
	err := encode(out, c.s, ev, body)
	if err == nil {
		c.appended += uint64(out.Len() - before)
	}
	c.unlock(false)
	return err
}

// sendPieces sends all but the last piece of a large answer; that one goes the
// way of every answer. It waits for room, so a spare worker has to stand by.
func (c *ServerConn) sendPieces(r *request) {
	reply := &r.ev
	for r.private.Len() > chunkBytes {
		c.out.Lock()
		if !c.s.Caps().Chunks || r.ordered || c.cfg.Handlers == Inline {
			c.unlock()
			return
		}
		if reply.Total == 0 {
			r.beside = c.mix.beside()
		}
		if c.cfg.Handlers == Spare {
			c.lone.left = 0
			c.spareLocked()
		}
		c.unlock()

		c.large <- struct{}{}
		err := c.out.Wait(context.Background(), chunkRoom)
		if err == nil && r.beside {
			may := func() bool {
				c.out.Lock()
				defer c.unlock()
				return c.s.Room(0) > 0 || c.lost || r.left
			}
			if err = awaitRoom(context.Background(), c.granted, c.cfg.Limits.WriteStall, may); err == netio.ErrStalled {
				c.nc.Abort()
			}
		}
		if err == nil {
			err = c.sendPiece(r, reply)
		}
		<-c.large
		if err != nil {
			return
		}
	}
}

// spendLocked has the next piece of r's answer take credit, if it has to and
// there is any. There may be none for the last piece, which does not wait, and
// for those of a call that was given up: nobody may be reading them, or
// granting anything.
func (c *ServerConn) spendLocked(r *request) {
	if r.beside && c.s.Room(0) > 0 {
		r.ev.Flags |= wire.Credit
	}
}

func (c *ServerConn) sendPiece(r *request, reply *wire.Event) (err error) {
	c.out.Lock()
	defer c.unlock()
	reply.Flags, reply.Header, reply.Timeout, reply.Err = 0, nil, 0, nil
	reply.Trailer = r.call.Trailer
	c.spendLocked(r)
	n := piece(reply, r.private)
	if err = encode(c.out.Out(), c.s, reply, func(out *buf.Out) error { out.MovePart(r.private, n); return nil }); err != nil && reply.Offset == 0 {
		r.failed = err // nothing of it is with the peer: an error can be sent instead
	}
	return err
}
