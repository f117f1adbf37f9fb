package mux

import (
	"context"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/wire"
)

// sendPieces sends all but the last piece of a large answer; that one goes the
// way of every answer. It waits for its turn, since the peer has to gather all that
// are begun, and for room, so a spare worker has to stand by.
func (c *ServerConn) sendPieces(r *request) {
	reply, turn := &r.ev, false
	defer func() {
		if turn {
			<-c.large
		}
	}()
	for {
		c.out.Lock()
		if r.is(givenUp) {
			c.unlock()
			r.failed = givenUp.err() // nobody waits for the rest; an answer ends the pieces
			return
		}
		if !c.sess.Caps().Pieces || r.ordered || c.cfg.Handlers == Inline {
			c.unlock()
			return
		}
		var next pieces
		if reply.Total == 0 {
			next = c.mix.begin(r.private.Len())
		} else {
			next = c.mix.goOn()
		}
		if r.beside = next.beside; next.size == 0 || r.private.Len() <= next.size {
			c.unlock()
			return
		}
		if c.cfg.Handlers == Spare {
			c.lone.left = 0
			c.spareLocked()
		}
		c.unlock()

		if !turn {
			c.large <- struct{}{}
			turn = true
		}
		over := func() bool { return c.input != inputOpen || r.is(givenUp) || c.account.fullLocked() }
		if c.awaitPiece(context.Background(), next, over) != nil || c.sendPiece(r, reply, next.size) != nil {
			return
		}
	}
}

// spendLocked has the next piece of r's answer take credit, if it has to and
// there is any. There may be none for the last piece, which does not wait, for
// those of a call that was given up, since nobody may be reading them, or granting
// anything, and while the account is full: what is granted may not be read then.
func (c *ServerConn) spendLocked(r *request) {
	if r.beside && c.sess.Credit(0) > 0 {
		r.ev.Flags |= wire.Credit
	}
}

// sendPiece queues the next n bytes of r's answer. After an error behind the first piece
// nothing can be said any more: the answer ends with the connection.
func (c *ServerConn) sendPiece(r *request, reply *wire.Event, n int) (err error) {
	c.out.Lock()
	defer c.unlock()
	reply.Flags, reply.Header, reply.Timeout, reply.Err = 0, nil, 0, nil
	reply.Trailer = r.call.Trailer
	c.spendLocked(r)
	n = describe(reply, r.private, n)
	c.chargeLocked(r, -n) // it is in the output now
	if err = encode(c.out.Out(), c.sess, reply, func(out *buf.Out) error { out.MovePart(r.private, n); return nil }); err != nil && reply.Offset == 0 {
		r.failed = err // nothing of it is with the peer: an error can be sent instead
	}
	return err
}
