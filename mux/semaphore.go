package mux

import "sync"

// A room bounds what large requests may become while they are decoded: how much that
// is, is known and counted only behind it, and requests that come together would all
// begin while nothing is held. Who comes first enters first. The zero room is empty.
type room struct {
	mu struct {
		sync.Mutex
		taken int
		queue []*entrant
	}
}

// An entrant waits for n bytes of a room.
type entrant struct {
	n    int
	come chan struct{} // closed once they are its own
}

// enter waits until n bytes, or all, of limit are free, and takes them. It returns
// how many leave has to give back.
func (r *room) enter(n, limit int) int {
	n = min(n, limit)
	r.mu.Lock()
	if len(r.mu.queue) == 0 && r.mu.taken+n <= limit {
		r.mu.taken += n
		r.mu.Unlock()
		return n
	}
	e := &entrant{n, make(chan struct{})}
	r.mu.queue = append(r.mu.queue, e)
	r.mu.Unlock()
	<-e.come
	return n
}

func (r *room) leave(n, limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.taken -= n
	for len(r.mu.queue) > 0 && r.mu.taken+r.mu.queue[0].n <= limit {
		e := r.mu.queue[0]
		r.mu.queue[0] = nil
		r.mu.queue = r.mu.queue[1:]
		r.mu.taken += e.n
		close(e.come)
	}
}

// enter has a request that may become n bytes wait for its room, in the share
// first. leave gives it back.
func (t *Total) enter(n int) (leave func()) {
	leave = func() {}
	for ; t != nil; t = t.of {
		if limit := int(t.limit); limit > 0 {
			here, before, took := t, leave, t.decoding.enter(n, limit)
			leave = func() { here.decoding.leave(took, limit); before() }
		}
	}
	return leave
}
