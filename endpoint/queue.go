package endpoint

import (
	"context"
	"slices"
	"time"
)

// A turn is the place of a call in the queue for a connection of its own, toward a peer
// that carries one call at a time. The first in the queue is woken by whatever may have
// brought it one: a call that ends, a dial that ends, well or not, or another that was
// woken and made nothing of it. A wake-up is never lost: who leaves after it has come
// passes it on.
type turn struct {
	come chan struct{} // closed when the call is to look again
}

// A place is that of a call in the line, which waits since all connections that carry many
// are full: their peer takes no more calls at once. Whatever makes room gives it to the
// first in the line, under the same lock, so that nobody who comes later takes it: while
// there is a line, all those connections are full. The calls of any one may never end, so
// nobody waits for one of them.
type place struct {
	ctx  context.Context // the call's, for its dialer
	want search

	given chan struct{} // closed when pc is set, or the call is to look again: no connection carries many any more
	pc    *pooled       // set before given is closed: it is counted in; nil: look again
}

// queueLocked makes a turn at the end of the queue; who has waited for one
// already comes first.
func (e *Endpoint) queueLocked(had *turn) *turn {
	t := &turn{come: make(chan struct{})}
	if had != nil {
		e.mu.queue = slices.Insert(e.mu.queue, 0, t)
	} else {
		e.mu.queue = append(e.mu.queue, t)
	}
	return t
}

// passLocked has the first in the queue look: a connection is idle, a dial is
// over, or one who looked found nothing for itself.
func (e *Endpoint) passLocked() {
	if len(e.mu.queue) > 0 {
		close(e.mu.queue[0].come)
		e.mu.queue[0] = nil
		e.mu.queue = e.mu.queue[1:]
	}
}

// pass gives a place that has become free to the next call in the queue.
func (e *Endpoint) pass() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.passLocked()
}

// leave gives up the turn of a call whose context has ended.
func (e *Endpoint) leave(t *turn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.Index(e.mu.queue, t); i >= 0 {
		e.mu.queue = slices.Delete(e.mu.queue, i, i+1)
		return
	}
	e.passLocked() // it had come
}

// dialled ends a dial of a call's own.
func (e *Endpoint) dialled() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.own--
	e.passLocked()
}

// lineUpLocked makes a place at the end of the line.
func (e *Endpoint) lineUpLocked(ctx context.Context, q *search) *place {
	t := &place{ctx: ctx, want: *q, given: make(chan struct{})}
	e.mu.line = append(e.mu.line, t)
	e.growLocked(ctx)
	return t
}

// inLine waits for the connection of a call that is in the line; nil: it is to look again.
func (e *Endpoint) inLine(ctx context.Context, t *place) (*pooled, error) {
	e.settle()
	select {
	case <-t.given:
		return t.pc, nil
	case <-ctx.Done():
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.Index(e.mu.line, t)
	if i < 0 {
		return t.pc, nil // who makes the call finds that its time is over
	}
	e.mu.line = slices.Delete(e.mu.line, i, i+1)
	return nil, e.interruptedLocked(ctx)
}

// seatLocked gives those in the line the room that there is, first come first served. It is
// called wherever there may be some: a call has ended, a connection was made or has gone,
// a peer has said what it takes, a dial is over.
func (e *Endpoint) seatLocked() {
	for len(e.mu.line) > 0 {
		t := e.mu.line[0]
		pc := e.leastLocked()
		if pc == nil {
			e.scatterLocked()
			return
		}
		if pc.full() {
			pc = e.idleLocked(t.want.stream)
		}
		if pc == nil {
			e.growLocked(t.ctx)
			return
		}
		pc.enter(t.want.bytes)
		t.pc = pc
		e.callLocked()
	}
}

// seat is seatLocked for a caller without the lock.
func (e *Endpoint) seat() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seatLocked()
}

// scatterLocked has all that are in the line look again.
func (e *Endpoint) scatterLocked() {
	for len(e.mu.line) > 0 {
		e.callLocked()
	}
}

// callLocked takes the first out of the line.
func (e *Endpoint) callLocked() {
	close(e.mu.line[0].given)
	e.mu.line[0] = nil
	e.mu.line = e.mu.line[1:]
}

// growLocked dials another connection for those in the line, with the dialer of ctx, if
// one is allowed: at once, or when the pause is over. A connection of which it is not
// known yet what it carries may have room for all that wait.
func (e *Endpoint) growLocked(ctx context.Context) {
	if e.mu.closed || e.mu.flight != nil || len(e.mu.all) >= mostWhenFull {
		return
	}
	for pc := range e.mu.all {
		if !pc.known || pc.settles {
			return
		}
	}
	switch {
	case e.restedLocked() == nil:
		e.launchLocked(ctx)
	case e.mu.redial == nil:
		e.mu.redial = time.AfterFunc(time.Until(e.mu.resume), func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.mu.redial = nil
			e.seatLocked()
		})
	}
}

// settle has peers say how many calls they take at once, if there is a line that waits
// for that: of the call that each has it may be that it sends nothing.
func (e *Endpoint) settle() {
	var silent []*pooled
	e.mu.Lock()
	if len(e.mu.line) > 0 {
		for pc := range e.mu.all {
			if pc.settles {
				silent = append(silent, pc)
			}
		}
	}
	e.mu.Unlock()
	for _, pc := range silent {
		pc.conn.Settle()
	}
}
