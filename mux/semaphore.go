package mux

import "sync"

// A semaphore bounds what large requests may become while they are decoded: how much
// that is, is known and counted only behind it, and requests that come together would
// all begin while nothing is held. Who comes first enters first. The zero semaphore is
// free. It counts bytes.
type semaphore struct {
	mu struct {
		sync.Mutex
		taken int
		queue []*entrant
	}
}

// An entrant waits for n bytes of a semaphore.
type entrant struct {
	n    int
	come chan struct{} // closed once they are its own
}

// enter waits until n bytes, or all, of limit are free, and takes them. It returns
// how many leave has to give back.
func (m *semaphore) enter(n, limit int) int {
	n = min(n, limit)
	m.mu.Lock()
	if len(m.mu.queue) == 0 && m.mu.taken+n <= limit {
		m.mu.taken += n
		m.mu.Unlock()
		return n
	}
	e := &entrant{n, make(chan struct{})}
	m.mu.queue = append(m.mu.queue, e)
	m.mu.Unlock()
	<-e.come
	return n
}

// leave gives n bytes back, and has those enter, in their order, for which there is room
// now. The first of them holds up smaller ones behind it: else it might wait for ever.
func (m *semaphore) leave(n, limit int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.taken -= n
	for len(m.mu.queue) > 0 && m.mu.taken+m.mu.queue[0].n <= limit {
		e := m.mu.queue[0]
		m.mu.queue[0] = nil
		m.mu.queue = m.mu.queue[1:]
		m.mu.taken += e.n
		close(e.come)
	}
}

// enter has a request that may become n bytes wait until it may, in the share
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
