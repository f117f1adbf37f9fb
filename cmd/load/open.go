package load

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// An agenda says when the calls of an open loop are due, one after the other.
type agenda struct {
	rate float64
	rnd  *rand.Rand // of the gaps; nil: they are even

	seq uint64        // the next call
	at  time.Duration // when it is due, after the start
}

// newAgenda makes the times at which calls are due, at even distances or as independent callers would come.
func newAgenda(c *Config) agenda {
	a := agenda{rate: c.Rate}
	if c.Poisson {
		a.rnd = rand.New(rand.NewPCG(c.Seed, 0))
		a.at = a.gap()
	}
	return a
}

// gap draws the time between two calls of a Poisson process.
func (a *agenda) gap() time.Duration {
	return time.Duration(a.rnd.ExpFloat64() / a.rate * float64(time.Second))
}

// next takes the call that is due next.
func (a *agenda) next() (seq uint64, at time.Duration) {
	seq, at = a.seq, a.at
	a.seq++
	if a.rnd != nil {
		a.at += a.gap()
	} else {
		a.at = time.Duration(float64(a.seq) / a.rate * float64(time.Second))
	}
	return seq, at
}

// turns has the callers of an open loop make calls as they fall due. One of
// the free callers is next: it waits for its alarm. When that rings it sets the
// alarm of the caller that is next then, and makes its own call. So a call
// begins on the goroutine that the clock woke, as a service's calls begin on the
// goroutine that a request woke, and nobody else is woken for the schedule's
// sake: a goroutine that paces and hands calls to others has the runtime wake a
// second thread where the process is idle.
//
// Who became free last is next: its stack is warm, as that of a goroutine that
// is started for a request would be.
type turns struct {
	mu struct {
		sync.Mutex
		agenda agenda
		next   alarm   // of the caller that waits for the next call; nil: none is free
		free   []alarm // of those that wait behind it
		over   bool
		waits  uint64 // calls of the window that the clock was waited for
	}
}

// nextLocked makes a caller the next one.
func (r *run) nextLocked(a alarm) {
	mu := &r.turns.mu
	mu.next = a
	after := mu.agenda.at - time.Since(r.start)
	a.set(after)
	if from := r.from.Load(); after > 0 && from != 0 && int64(mu.agenda.at) >= from-1 {
		mu.waits++
	}
}

// take waits until a call is due that is this caller's to make; ok is false if
// there are no more.
func (r *run) take(ctx context.Context, own alarm) (seq uint64, after time.Duration, ok bool) {
	mu := &r.turns.mu
	mu.Lock()
	defer mu.Unlock()
	if mu.over {
		return 0, 0, false
	}
	if mu.next != nil || mu.agenda.at > time.Since(r.start) {
		if mu.next == nil {
			r.nextLocked(own)
		} else {
			mu.free = append(mu.free, own)
		}
		mu.Unlock()
		own.wait()
		mu.Lock()
		if mu.over {
			return 0, 0, false
		}
	}
	if r.doneLocked(ctx) {
		mu.next = nil
		r.endLocked()
		return 0, 0, false
	}
	seq, after = mu.agenda.next()
	if last := len(mu.free) - 1; last >= 0 {
		r.nextLocked(mu.free[last])
		mu.free = mu.free[:last]
	} else {
		mu.next = nil
	}
	return seq, after, true
}

// doneLocked reports whether no further call belongs to the window.
func (r *run) doneLocked(ctx context.Context) bool {
	until := r.until.Load()
	return until != 0 && int64(r.turns.mu.agenda.at) >= until || ctx.Err() != nil
}

// endLocked tells all callers that there are no further calls.
func (r *run) endLocked() {
	mu := &r.turns.mu
	mu.over = true
	if mu.next != nil {
		mu.next.set(0)
	}
	for _, a := range mu.free {
		a.set(0)
	}
	mu.next, mu.free = nil, nil
}

// endTurns ends an open loop once the window is over, unless calls are due in
// it that nobody was free for: who takes them will.
func (r *run) endTurns(ctx context.Context) {
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	if r.doneLocked(ctx) {
		r.endLocked()
	}
}

// open makes calls that are due. Whoever is free takes the next one, so that a
// slow answer delays the others only when every caller is busy. A call counts
// if it was due in the window, however late it ends.
func (r *run) open(ctx context.Context, id int) {
	w := &r.workers[id]
	own := r.newAlarm(id)
	defer own.close()
	for {
		seq, after, ok := r.take(ctx, own)
		if !ok {
			return
		}
		at := r.start.Add(after)
		lag := time.Since(at)
		err := r.call(ctx, id, seq)
		took := time.Since(at)
		w.ended.Add(1)
		if err != nil {
			w.failed.Add(1)
		}
		if from := r.from.Load(); from == 0 || int64(after) < from-1 {
			continue
		}
		if err != nil && ctx.Err() != nil {
			w.unfinished++ // the run has cut it off
			continue
		}
		w.lag.Record(lag)
		r.count(w, took, err)
	}
}

// untaken is how many calls were due in the window that nobody was free for. It
// ends the agenda.
func (r *run) untaken() (n uint64) {
	from, until := r.from.Load()-1, r.until.Load()
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	for int64(r.turns.mu.agenda.at) < until {
		if _, at := r.turns.mu.agenda.next(); int64(at) >= from {
			n++
		}
	}
	return n
}
