package mux

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

const (
	// loneCalls and loneTime bound a batch that runs on the goroutine that has
	// read it, without a spare worker: so many calls, so much time by estimate.
	loneCalls = 64
	loneTime  = 100 * time.Microsecond
	// clockEvery: after so many calls of such a batch the clock is looked at.
	clockEvery = 8
	// watchEvery is how often lone batches are looked at, and watchSoon how soon
	// again after a handler was seen to run: only one that is seen twice is
	// stuck. A look a millisecond cost a server of sparse calls a fifth of its CPU.
	watchEvery = 16 * time.Millisecond
	watchSoon  = time.Millisecond
	// forgetAfter is how many looks without a lone batch it takes until nobody
	// looks any more.
	forgetAfter = 4
)

// A lone batch is small and was quick so far, so it runs without a spare
// worker: nobody needs to be woken. Should a handler block all the same, the
// StallWatch starts the spare a moment later.
type lone struct {
	// Guarded by the output lock.
	left int         // requests of the batch that nobody has begun
	last *rpc.Method // of the one that was begun last

	// Atomic: odd while a lone request runs that nobody was rescued from, and its turn
	// then; changed with each.
	seq atomic.Uint32

	// Atomic: the StallWatch looks at the connection. It is written under its lock.
	listed atomic.Bool

	// Owned by the StallWatch, under its lock.
	seen  uint32
	still int // looks without a change
}

// fits reports whether n requests that take cost, all together and by estimate, are few
// and quick enough to do without a spare.
func (l *lone) fits(n int, cost time.Duration) bool {
	return n <= loneCalls && cost <= loneTime
}

// begin makes the queue of c, n requests, a lone batch.
func (l *lone) begin(c *ServerConn, n int) {
	l.left = n
	c.cfg.Watch.watch(c)
}

// next counts a request of m in, and gives its turn; 0: it is none of a lone batch.
func (l *lone) next(m *rpc.Method) (turn uint32) {
	if l.left == 0 {
		return 0
	}
	l.left--
	l.last = m
	for {
		was := l.seq.Load()
		if turn = (was + 1) | 1; l.seq.CompareAndSwap(was, turn) {
			return turn
		}
	}
}

// over ends a turn, 0 for none, unless that was done before: a handler that was rescued
// from may return while another runs.
func (l *lone) over(turn uint32) {
	if turn != 0 {
		l.seq.CompareAndSwap(turn, turn+1)
	}
}

// done ends the turn of a request that was answered. A batch that takes much longer
// than was thought is one no more: the clock is read now and then.
func (l *lone) done(turn uint32, arrived time.Time) {
	l.over(turn)
	if l.left%clockEvery == clockEvery-1 && time.Since(arrived) > 2*loneTime {
		l.left = 0
	}
}

// A StallWatch looks after the lone batches of a server's connections. The zero
// value is ready; Close joins its goroutine, which runs only while there are
// such batches.
type StallWatch struct {
	work sync.WaitGroup
	mu   struct {
		sync.Mutex
		conns  []*ServerConn
		closed bool
		stop   chan struct{} // nil while nobody looks
	}
}

// watch takes c in, unless it is there.
func (w *StallWatch) watch(c *ServerConn) {
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

// run looks as long as there is something to look at.
func (w *StallWatch) run(stop chan struct{}) {
	timer := time.NewTimer(watchEvery)
	defer timer.Stop()
	for {
		next := w.round()
		if next == 0 {
			return
		}
		timer.Reset(next)
		select {
		case <-timer.C:
		case <-stop:
			return
		}
	}
}

// round looks once at every connection; those that have been quiet are let
// go. It says when to look next, 0: none is left.
func (w *StallWatch) round() (next time.Duration) {
	w.mu.Lock()
	type stall struct {
		c    *ServerConn
		turn uint32
	}
	var stuck []stall
	kept := w.mu.conns[:0]
	next = watchEvery
	for _, c := range w.mu.conns {
		l := &c.lone
		seq := l.seq.Load()
		if seq&1 == 1 {
			next = watchSoon
		}
		switch {
		case seq != l.seen:
			l.seen, l.still = seq, 0
		case seq&1 == 1:
			stuck = append(stuck, stall{c, seq})
			l.still = 0
		default:
			l.still++
		}
		if l.still < forgetAfter {
			kept = append(kept, c)
		} else {
			l.listed.Store(false)
		}
	}
	clear(w.mu.conns[len(kept):])
	w.mu.conns = kept
	if len(kept) == 0 {
		w.mu.stop, next = nil, 0
	}
	w.mu.Unlock()
	for _, s := range stuck {
		s.c.rescue(s.turn) // takes the lock of a connection, which nobody is to wait for under w's
	}
	return next
}

// rescue starts the spare that a lone batch went without: its handler takes
// longer than it used to. The turn is over then: the next lone batch has its own.
func (c *ServerConn) rescue(turn uint32) {
	c.out.Lock()
	c.lone.over(turn)
	c.lone.left = 0
	if m := c.lone.last; m != nil {
		rpc.HintsOf(m).NoteCost(watchSoon) // at least; it is not timed each time
	}
	c.spareLocked()
	c.unlock()
}

// Close ends the StallWatch and joins its goroutine. Lone batches that run still
// are left alone: their connections are to be ended before.
func (w *StallWatch) Close() {
	w.mu.Lock()
	w.mu.closed = true
	if w.mu.stop != nil {
		close(w.mu.stop)
	}
	w.mu.Unlock()
	w.work.Wait()
}
