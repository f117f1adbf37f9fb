package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

// A Config says what to drive and how. Call is all that must be set.
type Config struct {
	// Call makes one call and checks its answer; an error counts under its
	// code. It runs on Callers goroutines at once. worker is that goroutine's
	// number from 0; seq is a number that no other call of this run has.
	Call func(ctx context.Context, worker int, seq uint64) error

	Callers  int           // goroutines that make calls; 1 if zero. In an open loop: how many calls may be under way
	Rate     float64       // calls due a second, over all callers; 0: closed loop
	Poisson  bool          // in an open loop: calls come as those of many users do, with random gaps; otherwise evenly
	Seed     uint64        // of the gaps
	Warmup   time.Duration // load before the measured window
	Duration time.Duration // the measured window; 1 s if zero
	Timeout  time.Duration // deadline of each call; 0: none

	// Begin and End are called at the edges of the measured window, while the
	// load goes on: the place to read what else is to be measured, such as
	// the CPU time of a server. nil is fine.
	Begin, End func()

	// Progress is told what has happened, every Tick (500 ms if zero) and at
	// the end. Calls of it never overlap. nil is fine.
	Progress func(Snapshot)
	Tick     time.Duration

	// Precise paces an open loop by the kernel's clock, where there is one that
	// can be waited for. The runtime's timers cost less and are up to a
	// millisecond late in a quiet process, so that the calls of a millisecond
	// come at once; Lag shows it.
	Precise bool
}

// A Snapshot is the state of a run under way.
type Snapshot struct {
	Warming bool          // the measured window has not begun
	Elapsed time.Duration // since the start of the window, or of the warm-up while Warming
	Calls   uint64        // ended since the start, the warm-up included
	Errors  uint64        // of these, failed
	Rate    float64       // calls a second that ended since the last snapshot
}

// A Result is what the measured window showed.
type Result struct {
	Elapsed time.Duration // length of the window
	Calls   uint64        // that succeeded
	Errors  uint64        // that failed
	// ByCode counts the failed calls by their codes; nil if there are none.
	ByCode map[rpc.Code]uint64
	// First is the first error seen in the window.
	First error
	// Latency of calls that succeeded: of those that ended in the window
	// (closed loop), of those that were due in it (open loop).
	Latency Histogram
	// Lag is how late calls of an open loop were begun. A large one says that
	// all callers were busy, or that this machine had no CPU to spare.
	Lag Histogram
	// Waits counts the calls of an open loop that were not overdue already when
	// a caller was free for them: the clock had to wake it.
	Waits uint64
	// Unfinished counts calls that this Result leaves out: those under way
	// when the window ended (closed loop), those that were due in it and were
	// cut off at the end of the run, or could not even be begun because all
	// callers were busy (open loop).
	Unfinished uint64
	// CPU is the user and system time of this whole process over the window.
	CPU time.Duration
}

// PerSecond is the rate of calls that succeeded.
func (r *Result) PerSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Calls) / r.Elapsed.Seconds()
}

// CPUPerCall is the CPU time of this process for each call that succeeded.
func (r *Result) CPUPerCall() time.Duration {
	if r.Calls == 0 {
		return 0
	}
	return r.CPU / time.Duration(r.Calls)
}

// Run drives the load until the window is over or ctx ends, and waits for the
// calls that are under way then; what has not ended after the longer of Timeout
// and a second is cancelled. When ctx ends early the Result covers the time until then and the
// error is ctx's cause; otherwise the error is nil, however many calls failed.
func Run(ctx context.Context, c Config) (*Result, error) {
	if c.Call == nil {
		return nil, errors.New("load: Config.Call is nil")
	}
	c.Callers = max(c.Callers, 1)
	if c.Duration <= 0 {
		c.Duration = time.Second
	}
	if c.Tick <= 0 {
		c.Tick = 500 * time.Millisecond
	}
	r := &run{Config: c, workers: make([]worker, c.Callers)}
	r.turns.mu.agenda = newAgenda(&c)
	return r.do(ctx)
}

// The phases of a run; each caller looks at it between calls.
const (
	warming int32 = iota
	measuring
	over
)

// A run is one load: its settings, when it began, and what each worker has seen.
type run struct {
	Config
	start   time.Time // set before the callers start, then constant
	workers []worker

	turns turns // of an open loop

	phase atomic.Int32
	seq   atomic.Uint64
	first atomic.Pointer[error]
	from  atomic.Int64 // start of the window, ns after start, plus 1; 0 while warming
	until atomic.Int64 // its end; 0 until it is over

	// Owned by the goroutine of Run: what Progress was told last, and when.
	last   Snapshot
	lastAt time.Time
}

// A worker is what one caller owns. Only the two counters are read by others.
type worker struct {
	ended, failed atomic.Uint64

	latency, lag Histogram
	calls        uint64
	byCode       map[rpc.Code]uint64
	unfinished   uint64

	_ [64]byte // the next worker's counters stay off this cache line
}

// do starts the callers, waits for all of them, and adds up. The end of parent ends the run and no call.
func (r *run) do(parent context.Context) (*Result, error) {
	// The end of parent ends the run, not the calls that are under way: they
	// would be counted as failed.
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	defer cancel()
	r.start = time.Now()
	r.lastAt = r.start
	var callers sync.WaitGroup
	for i := range r.workers {
		callers.Go(func() {
			if r.Rate > 0 {
				r.open(ctx, i)
			} else {
				r.closed(ctx, i)
			}
		})
	}

	r.pause(parent, r.Warmup)
	if r.Begin != nil {
		r.Begin()
	}
	cpu := CPUTime()
	from := time.Now()
	r.from.Store(int64(from.Sub(r.start)) + 1)
	r.phase.Store(measuring)
	r.pause(parent, r.Duration)
	r.phase.Store(over)
	until := time.Now()
	cpu = CPUTime() - cpu
	r.until.Store(int64(until.Sub(r.start)))
	if r.End != nil {
		r.End()
	}
	r.endTurns(ctx)
	// A call without a deadline must not hang the run: it is cancelled after
	// a grace in which any healthy call ends.
	grace := time.AfterFunc(max(r.Timeout, time.Second), cancel)
	callers.Wait()
	grace.Stop()

	r.tell()
	res := r.result(until.Sub(from), cpu)
	if err := context.Cause(parent); err != nil {
		return res, err
	}
	return res, nil
}

// closed makes calls back to back.
func (r *run) closed(ctx context.Context, id int) {
	w := &r.workers[id]
	for r.phase.Load() != over && ctx.Err() == nil {
		began := time.Now()
		err := r.call(ctx, id, r.seq.Add(1)-1)
		took := time.Since(began)
		w.ended.Add(1)
		if err != nil {
			w.failed.Add(1)
		}
		switch r.phase.Load() {
		case measuring:
			r.count(w, took, err)
		case over:
			w.unfinished++
		}
	}
}

// call makes one call with the timeout of the run.
func (r *run) call(ctx context.Context, id int, seq uint64) error {
	if r.Timeout <= 0 {
		return r.Call(ctx, id, seq)
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	return r.Call(ctx, id, seq)
}

// count notes how one call of w went. Failed calls have no latency: they would make it look better.
func (r *run) count(w *worker, took time.Duration, err error) {
	if err == nil {
		w.calls++
		w.latency.Record(took)
		return
	}
	if w.byCode == nil {
		w.byCode = make(map[rpc.Code]uint64)
	}
	w.byCode[rpc.CodeOf(err)]++
	if r.first.Load() == nil {
		first := err // a copy, so that err need not live on the heap for each call
		r.first.CompareAndSwap(nil, &first)
	}
}

// pause lets d pass, telling Progress every Tick; it returns early if ctx ends.
func (r *run) pause(ctx context.Context, d time.Duration) {
	end := time.NewTimer(d)
	defer end.Stop()
	ticker := time.NewTicker(r.Tick)
	defer ticker.Stop()
	for {
		select {
		case <-end.C:
			return
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.tell()
		}
	}
}

// tell reports to Progress what has happened since it was told last.
func (r *run) tell() {
	if r.Progress == nil {
		return
	}
	now := time.Now()
	s := Snapshot{Warming: r.phase.Load() == warming, Elapsed: now.Sub(r.start)}
	if !s.Warming {
		s.Elapsed -= time.Duration(r.from.Load() - 1)
	}
	for i := range r.workers {
		s.Calls += r.workers[i].ended.Load()
		s.Errors += r.workers[i].failed.Load()
	}
	if since := now.Sub(r.lastAt); since > 0 {
		s.Rate = float64(s.Calls-r.last.Calls) / since.Seconds()
	}
	r.last, r.lastAt = s, now
	r.Progress(s)
}

// result adds the workers up. They have ended.
func (r *run) result(elapsed, cpu time.Duration) *Result {
	res := &Result{Elapsed: elapsed, CPU: cpu}
	for i := range r.workers {
		w := &r.workers[i]
		res.Calls += w.calls
		res.Unfinished += w.unfinished
		res.Latency.Merge(&w.latency)
		res.Lag.Merge(&w.lag)
		for code, n := range w.byCode {
			if res.ByCode == nil {
				res.ByCode = make(map[rpc.Code]uint64)
			}
			res.ByCode[code] += n
			res.Errors += n
		}
	}
	if r.Rate > 0 {
		res.Unfinished += r.untaken()
		res.Waits = r.turns.mu.waits
	}
	if p := r.first.Load(); p != nil {
		res.First = *p
	}
	return res
}
