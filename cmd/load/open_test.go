package load

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// begun runs an open loop in virtual time and gives when its calls began, in
// order.
func begun(t *testing.T, c Config) (at []time.Duration, res *Result) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		start := time.Now()
		call := c.Call
		c.Call = func(ctx context.Context, worker int, seq uint64) error {
			mu.Lock()
			at = append(at, time.Since(start))
			mu.Unlock()
			return call(ctx, worker, seq)
		}
		res = mustRun(t, c)
	})
	slices.Sort(at)
	return at, res
}

// Gaps of a Poisson process have the mean 1/rate, and so has their deviation;
// one in e is longer than the mean, whatever came before.
func TestPoissonGaps(t *testing.T) {
	const rate = 2000
	at, res := begun(t, Config{Rate: rate, Poisson: true, Seed: 7, Callers: 32, Duration: 10 * time.Second, Call: takes(time.Millisecond)})
	var sum, squares, after float64
	long, longTwice := 0, 0
	for i := 1; i < len(at); i++ {
		gap := (at[i] - at[i-1]).Seconds() * rate
		sum += gap
		squares += gap * gap
		if after > 1 && gap > 1 {
			longTwice++
		}
		if gap > 1 {
			long++
		}
		after = gap
	}
	n := float64(len(at) - 1)
	mean := sum / n
	// Three standard errors of 20,000 gaps.
	near(t, "mean gap", mean, 1, .022)
	near(t, "deviation of the gaps", math.Sqrt(squares/n-mean*mean), 1, .03)
	near(t, "share of long gaps", float64(long)/n, 1/math.E, .011)
	near(t, "share of long gaps behind long ones", float64(longTwice)/float64(long), 1/math.E, .02)
	near(t, "calls", float64(res.Calls), 10*rate, 3*math.Sqrt(10*rate))
	if res.Lag.Max() != 0 || res.Unfinished != 0 || res.Waits < res.Calls-1 {
		t.Errorf("lag %v, unfinished %d, %d waits for %d calls: nothing is late in virtual time", res.Lag.Max(), res.Unfinished, res.Waits, res.Calls)
	}
}

func TestPoissonSeed(t *testing.T) {
	run := func(seed uint64) []time.Duration {
		at, _ := begun(t, Config{Rate: 300, Poisson: true, Seed: seed, Callers: 8, Duration: time.Second, Call: takes(time.Millisecond)})
		return at
	}
	first := run(1)
	if !slices.Equal(first, run(1)) {
		t.Error("the same seed drew other times")
	}
	if slices.Equal(first, run(2)) {
		t.Error("another seed drew the same times")
	}
}

// Who became free last makes the next call.
func TestOpenLoopTakesTheWarmCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		workers := map[int]bool{}
		mustRun(t, Config{Rate: 100, Callers: 50, Duration: 5 * time.Second, Call: func(ctx context.Context, worker int, seq uint64) error {
			mu.Lock()
			workers[worker] = true
			mu.Unlock()
			return takes(time.Millisecond)(ctx, worker, seq)
		}})
		if len(workers) > 2 {
			t.Errorf("%d callers made calls, of which one at a time is under way", len(workers))
		}
	})
}

// When all callers were busy, calls are late, none is left out, and the clock
// wakes nobody for them.
func TestOpenLoopCatchesUp(t *testing.T) {
	stalled := false
	at, res := begun(t, Config{Rate: 100, Duration: 2 * time.Second, Call: func(ctx context.Context, worker int, seq uint64) error {
		if !stalled {
			stalled = true
			return takes(time.Second)(ctx, worker, seq)
		}
		return nil
	}})
	// The call that is due when the window ends may belong to it or not.
	near(t, "calls", float64(res.Calls), 200, 1)
	if uint64(len(at)) != res.Calls || res.Unfinished != 0 {
		t.Errorf("%d calls begun, %d counted, %d unfinished", len(at), res.Calls, res.Unfinished)
	}
	near(t, "waits", float64(res.Waits), 100, 2)
}

// What the run cuts off is no failure of the target.
func TestOpenLoopCutsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := mustRun(t, Config{Rate: 100, Callers: 10, Duration: time.Second, Call: takes(time.Hour)})
		near(t, "unfinished", float64(res.Unfinished), 100, 1)
		if res.Calls != 0 || res.Errors != 0 {
			t.Errorf("%d calls, %d errors", res.Calls, res.Errors)
		}
	})
}

// The precise clock wakes who waits, at once too, and again afterwards.
func TestPreciseAlarm(t *testing.T) {
	a := newPrecise()
	if a == nil {
		t.Skip("skipped: there is no clock here that can be waited for")
	}
	defer a.close()
	for _, after := range []time.Duration{0, 20 * time.Millisecond, -time.Second, time.Nanosecond, 0, 20 * time.Millisecond} {
		woken := make(chan struct{})
		go func() {
			a.wait()
			close(woken)
		}()
		start := time.Now()
		a.set(after)
		select {
		case <-woken:
		case <-time.After(10 * time.Second):
			t.Fatalf("set(%v) did not wake", after)
		}
		if took := time.Since(start); took < after {
			t.Errorf("set(%v) woke after %v", after, took)
		}
	}
}

// A run by the precise clock calls as often as it should, and ends.
func TestPreciseRun(t *testing.T) {
	res := mustRun(t, Config{Rate: 2000, Poisson: true, Precise: true, Seed: 3, Callers: 64, Duration: 200 * time.Millisecond,
		Call: func(context.Context, int, uint64) error { return nil }})
	near(t, "calls", float64(res.Calls+res.Unfinished), 400, 60)
	if res.Errors != 0 || res.Waits == 0 {
		t.Errorf("%d errors, %d waits", res.Errors, res.Waits)
	}
}
