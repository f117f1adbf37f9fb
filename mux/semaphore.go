package mux

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A semaphore sets room aside in a Total for what is not there yet, and so not counted:
// what large requests become while they are decoded, and what large answers weigh
// while they are made. All that come together would begin else while nothing is held.
// Who comes first enters first. The zero semaphore is free. It counts bytes.
type semaphore struct {
	taken atomic.Int64
	waits atomic.Int32 // entrants in queue
	mu    struct {
		sync.Mutex
		queue []*entrant
	}
}

// An entrant waits for n bytes of a semaphore.
type entrant struct {
	n    int
	come chan struct{} // closed once they are its own
}

// try takes n bytes if of limit so many are free, or there is room and nothing of it is taken,
// and nobody waits.
func (m *semaphore) try(n, limit int) bool { return m.waits.Load() == 0 && m.take(n, limit) }

// take is try whoever waits.
func (m *semaphore) take(n, limit int) bool {
	for {
		have := m.taken.Load()
		if have+int64(n) > int64(limit) && (have > 0 || limit <= 0) {
			return false
		}
		if m.taken.CompareAndSwap(have, have+int64(n)) {
			return true
		}
	}
}

// enter waits until it can take n bytes. limit is asked again now and then, since it
// may change. So is unwanted, nil for never, whose error ends the wait.
func (m *semaphore) enter(n int, limit func() int, unwanted func() error) error {
	if m.try(n, limit()) {
		return nil
	}
	e := &entrant{n, make(chan struct{})}
	m.mu.Lock()
	m.mu.queue = append(m.mu.queue, e)
	m.waits.Add(1)
	m.admitLocked(limit()) // who has left before looked at nobody
	m.mu.Unlock()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-e.come:
			return nil
		case <-look.C:
		}
		var err error
		if unwanted != nil {
			err = unwanted()
		}
		m.mu.Lock()
		if err != nil {
			if i := slices.Index(m.mu.queue, e); i >= 0 {
				m.mu.queue = slices.Delete(m.mu.queue, i, i+1)
				m.waits.Add(-1)
			}
		}
		m.admitLocked(limit())
		m.mu.Unlock()
		if err != nil {
			select {
			case <-e.come: // meanwhile
				m.leave(n, limit())
			default:
			}
			return err
		}
	}
}

// leave gives n bytes back, and has those enter, in their order, for which there is room now.
func (m *semaphore) leave(n, limit int) {
	m.taken.Add(-int64(n))
	if m.waits.Load() > 0 {
		m.mu.Lock()
		m.admitLocked(limit)
		m.mu.Unlock()
	}
}

// admitLocked has those enter for whom there is room. The first for whom there is none
// holds up smaller ones behind it: else it might wait for ever.
func (m *semaphore) admitLocked(limit int) {
	for len(m.mu.queue) > 0 && m.take(m.mu.queue[0].n, limit) {
		e := m.mu.queue[0]
		m.mu.queue = slices.Delete(m.mu.queue, 0, 1)
		m.waits.Add(-1)
		close(e.come)
	}
}

// enter has a request that may become n bytes wait until it may, in the share
// first. leave gives it back.
func (t *Total) enter(n int) (leave func()) {
	leave = func() {}
	for ; t != nil; t = t.of {
		if limit := int(t.limit); limit > 0 {
			here, before := t, leave
			t.decoding.enter(n, func() int { return limit }, nil) //nolint:errcheck // nothing ends it
			leave = func() { here.decoding.leave(n, limit); before() }
		}
	}
	return leave
}

// room is what t may hold besides what it holds.
func (t *Total) room() int { return int(t.limit - t.held.Value()) }

// promise sets n bytes aside for an answer that is to be made, in the share first, if
// there is room now.
func (t *Total) promise(n int) bool {
	for at := t; at != nil; at = at.of {
		if at.limit > 0 && !at.promised.try(n, at.room()) {
			t.redeemTo(at, n)
			return false
		}
	}
	return true
}

// awaitPromise is promise that waits for room, until unwanted says why it is not to wait any more.
func (t *Total) awaitPromise(n int, unwanted func() error) error {
	for at := t; at != nil; at = at.of {
		if at.limit == 0 {
			continue
		}
		if err := at.promised.enter(n, at.room, unwanted); err != nil {
			t.redeemTo(at, n)
			return err
		}
	}
	return nil
}

// redeem gives back what was set aside: the answer is counted now, or there is none.
func (t *Total) redeem(n int) { t.redeemTo(nil, n) }

// redeemTo is redeem of what is promised by t, up to and without end.
func (t *Total) redeemTo(end *Total, n int) {
	for ; t != end; t = t.of {
		if t.limit > 0 {
			t.promised.leave(n, t.room())
		}
	}
}
