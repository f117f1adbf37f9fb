package endpoint

import "slices"

// A turn is the place of a call in the queue for a connection of its own.
type turn struct {
	come chan struct{} // closed when the call is to look again
}

// queueLocked makes a turn at the end of the queue; who has waited for one
// already comes first.
func (p *Endpoint) queueLocked(had *turn) *turn {
	t := &turn{come: make(chan struct{})}
	if had != nil {
		p.mu.queue = slices.Insert(p.mu.queue, 0, t)
	} else {
		p.mu.queue = append(p.mu.queue, t)
	}
	return t
}

// passLocked has the first in the queue look: a connection is idle, a dial is
// over, or one who looked found nothing for itself.
func (p *Endpoint) passLocked() {
	if len(p.mu.queue) > 0 {
		close(p.mu.queue[0].come)
		p.mu.queue[0] = nil
		p.mu.queue = p.mu.queue[1:]
	}
}

func (p *Endpoint) pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passLocked()
}

// leave gives up the turn of a call whose context has ended.
func (p *Endpoint) leave(t *turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.mu.queue, t); i >= 0 {
		p.mu.queue = slices.Delete(p.mu.queue, i, i+1)
		return
	}
	p.passLocked() // it had come
}

// dialled ends a dial of a call's own.
func (p *Endpoint) dialled() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.own--
	p.passLocked()
}
