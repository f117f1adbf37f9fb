package mux

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// loneCalls and loneTime bound a batch that runs on the goroutine that has
	// read it, without a spare worker: so many calls, so much time by estimate.
	loneCalls = 64
	loneTime  = 100 * time.Microsecond
	// clockEvery calls of such a batch, the clock is looked at.
	// watchEvery is how often lone batches are looked at; restAfter is how many
	// looks without one it takes until nobody looks any more.
	clockEvery = 8 // calls of a batch
	watchEvery = time.Millisecond
	restAfter  = 20
)

// A lone batch is small and was quick so far, so it runs without a spare
// worker: nobody needs to be woken. Should a handler block all the same, the
// Watch starts the spare a moment later.
type lone struct {
	// Guarded by the output lock.
	left int // requests of the batch that nobody has begun

	// Atomic: odd while a lone request runs, changed with each.
	seq atomic.Uint32

	// Atomic: the Watch looks at the connection. It is written under its lock.
	listed atomic.Bool

	// Owned by the Watch, under its lock.
	seen  uint32
	still int // looks without a change
}

func (l *lone) fits(n int, cost time.Duration) bool {
	return n <= loneCalls && cost <= loneTime
}

// begin makes the queue of c, n requests, a lone batch.
func (l *lone) begin(c *ServerConn, n int) {
	l.left = n
	c.cfg.Watch.look(c)
}

// next counts a request in; false: it is none of a lone batch.
func (l *lone) next() bool {
	if l.left == 0 {
		return false
	}
	l.left--
	l.seq.Add(1)
	return true
}

// done counts it out. A batch that takes much longer than was thought is one no
// more: the clock is read now and then.
func (l *lone) done(arrived time.Time) {
	l.seq.Add(1)
	if l.left%clockEvery == clockEvery-1 && time.Since(arrived) > 2*loneTime {
		l.left = 0
	}
}

// A Watch looks after the lone batches of a server's connections. The zero
// value is ready; Close joins its goroutine, which runs only while there are
// such batches.
type Watch struct {
	work sync.WaitGroup
	mu   struct {
		sync.Mutex
		conns  []*ServerConn
		closed bool
		stop   chan struct{} // nil while nobody looks
	}
}

// look takes c in, unless it is there.
func (w *Watch) look(c *ServerConn) {
	if c.lone.listed.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.lone.listed.Load() || w.mu.closed {
		return
	}
	c.lone.listed.Store(true)
	c.lone.still = 0
	w.mu.conns = append(w.mu.conns, c)
	if w.mu.stop == nil {
		w.mu.stop = make(chan struct{})
		stop := w.mu.stop
		w.work.Go(func() { w.run(stop) })
	}
}

// run looks each millisecond, as long as there is something to look at.
func (w *Watch) run(stop chan struct{}) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for w.round() {
		select {
		case <-tick.C:
		case <-stop:
			return
		}
	}
}

// round looks once at every connection; those that have been quiet are let
// go. It reports whether any is left.
func (w *Watch) round() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.mu.conns[:0]
	for _, c := range w.mu.conns {
		l := &c.lone
		switch seq := l.seq.Load(); {
		case seq != l.seen:
			l.seen, l.still = seq, 0
		case seq&1 == 1:
			c.rescue()
			l.still = 0
		default:
			l.still++
		}
		if l.still < restAfter {
			kept = append(kept, c)
		} else {
			l.listed.Store(false)
		}
	}
	clear(w.mu.conns[len(kept):])
	w.mu.conns = kept
	if len(kept) == 0 {
		w.mu.stop = nil
	}
	return len(kept) > 0
}

// rescue starts the spare that a lone batch went without: its handler takes
// longer than it used to.
func (c *ServerConn) rescue() {
	c.out.Lock()
	c.lone.left = 0
	if r := c.running; r != nil && r.h.Method != nil {
		r.h.Method.NoteCost(watchEvery) // at least; it is not timed each time
	}
	c.spareLocked()
	c.unlock()
}

// Close ends the Watch and joins its goroutine. Lone batches that run still
// are left alone: their connections are to be ended before.
func (w *Watch) Close() {
	w.mu.Lock()
	w.mu.closed = true
	if w.mu.stop != nil {
		close(w.mu.stop)
	}
	w.mu.Unlock()
	w.work.Wait()
}
