package load

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

// takes makes a Call that lasts d, in the virtual time of a bubble.
func takes(d time.Duration) func(context.Context, int, uint64) error {
	return func(ctx context.Context, _ int, _ uint64) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func mustRun(t *testing.T, c Config) *Result {
	t.Helper()
	res, err := Run(t.Context(), c)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return res
}

func near(t *testing.T, what string, got, want, slack float64) {
	t.Helper()
	if got < want-slack || got > want+slack {
		t.Errorf("%s = %v, want %v within %v", what, got, want, slack)
	}
}

func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended int
		res := mustRun(t, Config{
			Call: takes(time.Millisecond), Callers: 4, Warmup: 100 * time.Millisecond, Duration: time.Second,
			Begin: func() { begun++ }, End: func() { ended++ },
		})
		near(t, "Calls", float64(res.Calls), 4000, 8)
		near(t, "PerSecond", res.PerSecond(), 4000, 8)
		near(t, "p50 ms", res.Latency.Quantile(.5).Seconds()*1e3, 1, .01)
		if res.Elapsed != time.Second || res.Errors != 0 || res.ByCode != nil || begun != 1 || ended != 1 {
			t.Errorf("elapsed %v, errors %d, begun %d, ended %d", res.Elapsed, res.Errors, begun, ended)
		}
	})
}

// A stall of one second must show in the latency of all calls that were due
// meanwhile: in an open loop it is half the window, in a closed one a call.
func TestOpenLoopShowsStalls(t *testing.T) {
	for _, c := range []struct {
		rate        float64
		p75AtLeast  time.Duration
		p75BelowMax time.Duration
	}{
		{100, 400 * time.Millisecond, 600 * time.Millisecond},
		{0, 0, 2 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			var stalled atomic.Bool
			res := mustRun(t, Config{
				Rate: c.rate, Duration: 2 * time.Second,
				Call: func(ctx context.Context, worker int, seq uint64) error {
					if stalled.CompareAndSwap(false, true) {
						return takes(time.Second)(ctx, worker, seq)
					}
					return takes(time.Millisecond)(ctx, worker, seq)
				},
			})
			if p := res.Latency.Quantile(.75); p < c.p75AtLeast || p > c.p75BelowMax {
				t.Errorf("rate %v: p75 %v, want from %v to %v", c.rate, p, c.p75AtLeast, c.p75BelowMax)
			}
			if c.rate > 0 {
				near(t, "Calls", float64(res.Calls), c.rate*2, 2)
				near(t, "largest lag s", res.Lag.Max().Seconds(), .99, .01)
			}
		})
	}
}

func TestOpenLoopKeepsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := make(map[uint64]bool)
		res := mustRun(t, Config{
			Rate: 50, Warmup: time.Second, Duration: 2 * time.Second, Callers: 8,
			Call: func(_ context.Context, _ int, seq uint64) error {
				mu.Lock()
				defer mu.Unlock()
				if seen[seq] {
					t.Errorf("number %d given twice", seq)
				}
				seen[seq] = true
				return nil
			},
		})
		near(t, "Calls", float64(res.Calls), 100, 1)
		if res.Unfinished > 1 || res.Lag.Max() != 0 {
			t.Errorf("unfinished %d, lag %v", res.Unfinished, res.Lag.Max())
		}
	})
}

// A rate beyond what the callers can do must end, and say what was left out.
func TestOpenLoopOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		res := mustRun(t, Config{Rate: 10_000, Duration: time.Second, Call: takes(10 * time.Millisecond)})
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("took %v", took)
		}
		if total := res.Calls + res.Errors + res.Unfinished; total != 10_000 || res.Unfinished < 9_000 {
			t.Errorf("%d calls, %d errors, %d unfinished; want 10000 in all", res.Calls, res.Errors, res.Unfinished)
		}
	})
}

func TestErrorsByCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := mustRun(t, Config{Duration: 300 * time.Millisecond, Timeout: 50 * time.Millisecond,
			Call: func(ctx context.Context, worker int, seq uint64) error {
				switch seq % 3 {
				case 0:
					return takes(time.Hour)(ctx, worker, seq)
				case 1:
					return rpc.NotFound
				}
				return takes(50*time.Millisecond-1)(ctx, worker, seq)
			}})
		if res.ByCode[rpc.DeadlineExceeded] != 3 || res.ByCode[rpc.NotFound] != 3 || res.Errors != 6 {
			t.Errorf("codes %v, errors %d", res.ByCode, res.Errors)
		}
		if !errors.Is(res.First, context.DeadlineExceeded) {
			t.Errorf("first error %v", res.First)
		}
	})
}

// A call that never ends by itself must not hang the run, and a run that is
// cancelled says so.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := mustRun(t, Config{Callers: 3, Duration: time.Second, Call: takes(time.Hour)})
		if res.Unfinished != 3 || res.Calls != 0 {
			t.Errorf("unfinished %d, calls %d", res.Unfinished, res.Calls)
		}
		why := errors.New("interrupted")
		for _, rate := range []float64{0, 70} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
			res, err := Run(ctx, Config{Duration: time.Hour, Rate: rate, Call: takes(7 * time.Millisecond)})
			if !errors.Is(err, why) || res.Elapsed != 100*time.Millisecond || res.Errors != 0 || res.Calls == 0 {
				t.Errorf("rate %v: Run = %v after %v with %d calls and %d errors", rate, err, res.Elapsed, res.Calls, res.Errors)
			}
		}
	})
	if _, err := Run(t.Context(), Config{}); err == nil {
		t.Error("a Config without Call was taken")
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []Snapshot
		mustRun(t, Config{Callers: 2, Warmup: time.Second, Duration: time.Second, Tick: 300 * time.Millisecond,
			Call: takes(time.Millisecond), Progress: func(s Snapshot) { all = append(all, s) }})
		if len(all) != 7 || !all[2].Warming || all[3].Warming {
			t.Fatalf("snapshots %+v", all)
		}
		for i, s := range all[:6] {
			near(t, "Rate", s.Rate, 2000, 30)
			if i == 3 && s.Elapsed != 300*time.Millisecond {
				t.Errorf("elapsed %v in the window", s.Elapsed)
			}
		}
	})
}

func TestHistogramAgainstSorted(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 10, 1000, 50_000} {
		var h, a, b Histogram
		var all []time.Duration
		for i := range n {
			d := time.Duration(rnd.Uint64N(1 << rnd.UintN(41)))
			all = append(all, d)
			h.Record(d)
			if i%2 == 0 {
				a.Record(d)
			} else {
				b.Record(d)
			}
		}
		a.Merge(&b)
		slices.Sort(all)
		for _, q := range []float64{0, .01, .5, .9, .99, .999, 1} {
			want := all[max(int(q*float64(n)+0.999999), 1)-1]
			got := h.Quantile(q)
			if off := math.Abs(float64(got - want)); off > float64(want)/60+1 {
				t.Errorf("n %d: quantile %v = %d, want %d", n, q, got, want)
			}
			if a.Quantile(q) != got {
				t.Errorf("n %d: merged quantile %v = %v, want %v", n, q, a.Quantile(q), got)
			}
		}
		if h.Max() != all[n-1] || h.Count() != uint64(n) || a.Count() != uint64(n) || a.Mean() != h.Mean() {
			t.Errorf("n %d: max %v, count %d", n, h.Max(), h.Count())
		}
	}
}

func TestHistogramEdges(t *testing.T) {
	var h Histogram
	if h.Quantile(.5) != 0 || h.Mean() != 0 {
		t.Error("an empty histogram is not zero")
	}
	h.Record(-5)
	h.Record(100 * time.Hour)
	if h.Quantile(.5) != 0 || h.Max() != 100*time.Hour || h.Quantile(1) > h.Max() {
		t.Errorf("p50 %v, max %v, p100 %v", h.Quantile(.5), h.Max(), h.Quantile(1))
	}
}

func TestCPUTime(t *testing.T) {
	before := CPUTime()
	x := uint64(1)
	for CPUTime() == before {
		for range 1000 {
			x = x*6364136223846793005 + 1
		}
	}
	if CPUTime() < before || x == 0 {
		t.Error("CPU time went back")
	}
}

func BenchmarkRecord(b *testing.B) {
	var h Histogram
	for i := 0; b.Loop(); i++ {
		h.Record(time.Duration(i & 0xfffff))
	}
}

func TestNap(t *testing.T) {
	start := time.Now()
	// A signal may cut one nap short, not twenty.
	for range 20 {
		Nap(time.Millisecond)
	}
	if took := time.Since(start); took < 10*time.Millisecond {
		t.Errorf("20 naps of 1 ms took %v", took)
	}
}
