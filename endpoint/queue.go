package endpoint

import "slices"

// A turn is the place of a call in the queue for a connection of its own, toward a peer
// that carries one call at a time. The first in the queue is woken by whatever may have
// brought it one: a call that ends, a dial that ends, well or not, or another that was
// woken and made nothing of it. A wake-up is never lost: who leaves after it has come
// passes it on.
type turn struct {
	come chan struct{} // closed when the call is to look again
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
