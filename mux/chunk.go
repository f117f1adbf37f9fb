package mux

import (
	"context"

	"github.com/limosa-rpc/limosa/buf"
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

// sendRest sends what is left of a request in pieces, one at a time of all
// that this connection's callers send. It ends early if the call has ended; who
// waits for it learns why.
func (c *Conn) sendRest(ctx context.Context, r registered) {
	ev := wire.Event{ID: r.id, Total: r.total}
	for r.rest.Len() > 0 {
		select {
		case c.large <- struct{}{}:
		case <-ctx.Done():
			return
		}
		err := c.out.Wait(ctx, chunkRoom)
		if err == nil && r.slot.word.Load() != word(r.id, waiting) {
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
		if c.cfg.Handlers == Spare {
			c.lone.left = 0
			c.spareLocked()
		}
		c.unlock()

		c.large <- struct{}{}
		err := c.out.Wait(context.Background(), chunkRoom)
		if err == nil {
			err = c.sendPiece(r, reply)
		}
		<-c.large
		if err != nil {
			return
		}
	}
}

func (c *ServerConn) sendPiece(r *request, reply *wire.Event) (err error) {
	c.out.Lock()
	defer c.unlock()
	reply.Flags, reply.Header, reply.Timeout, reply.Err = 0, nil, 0, nil
	reply.Trailer = r.call.Trailer
	n := piece(reply, r.private)
	if err = encode(c.out.Out(), c.s, reply, func(out *buf.Out) error { out.MovePart(r.private, n); return nil }); err != nil && reply.Offset == 0 {
		r.failed = err // nothing of it is with the peer: an error can be sent instead
	}
	return err
}
