package mux

import (
	"context"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// awaitTurn waits until no other large request is on its way in pieces: the peer has
// to gather all that are begun.
func (c *Conn) awaitTurn(ctx context.Context) error {
	select {
	case c.large <- struct{}{}:
		return nil
	case <-ctx.Done():
		return c.interrupted(ctx, rpc.NotSent)
	}
}

// sendRest sends what is left of a request in pieces; it is its turn, which ends
// here. It ends early if the call has ended; who waits for it learns why. An error is
// that of a piece that could not be framed: what is with the peer will never be whole.
func (c *Conn) sendRest(ctx context.Context, r registered) error {
	defer func() { <-c.large }()
	ev := wire.Event{ID: r.id, Total: r.total}
	answered := func() bool { return r.slot.word.Load() != word(r.id, waiting) }
	over := func() bool { return c.life.door == dead || answered() }
	for r.private.Len() > 0 {
		c.out.Lock()
		next := c.mix.goOn()
		c.unlock()
		if c.awaitPiece(ctx, next, over) != nil {
			return nil
		}
		if answered() { // with an error, most likely
			c.tellReset(r.id)
			return nil
		}
		if ev.Flags = 0; next.beside {
			ev.Flags = wire.Credit
		}
		n := describe(&ev, r.private, next.size)
		if err := c.append(&ev, func(out *buf.Out) error { out.MovePart(r.private, n); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// unsendable is the error of a call of which something was sent and something
// else could not be encoded or framed: the peer may have begun it.
func unsendable(peer string, err error) error {
	e := *coded(err, rpc.Internal, "encode")
	e.Peer, e.Sent = peer, rpc.Maybe
	return &e
}

// tellReset tells the peer to forget a call, if it understands that.
func (c *Conn) tellReset(id uint64) {
	c.append(&wire.Event{Flags: wire.Reset, ID: id}, nil) // a peer that cannot be told frames nothing
}

// append frames one event besides the first of a call.
func (c *Conn) append(ev *wire.Event, body func(*buf.Out) error) error {
	c.out.Lock()
	err := c.appendLocked(ev, body)
	c.unlock()
	return err
}

// appendLocked is append for a caller with the lock, which also sees to the flush. What
// could not be framed has left nothing behind.
func (c *Conn) appendLocked(ev *wire.Event, body func(*buf.Out) error) error {
	out := c.out.Out()
	before := out.Len()
	err := encode(out, c.sess, ev, body)
	if err == nil {
		c.appended += uint64(out.Len() - before)
		c.watchKeptLocked()
	}
	return err
}
