package load

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

func TestRunNeedsACall(t *testing.T) {
	if res, err := Run(t.Context(), Config{Callers: 1}); err == nil || res != nil {
		t.Errorf("Run = %v, %v", res, err)
	}
}

// A Config with nothing but Call is one caller for a second.
func TestZeroConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := mustRun(t, Config{Call: func(ctx context.Context, worker int, seq uint64) error {
			if _, has := ctx.Deadline(); has || worker != 0 {
				t.Errorf("call %d by worker %d, with a deadline: %v", seq, worker, has)
			}
			return takes(10*time.Millisecond)(ctx, worker, seq)
		}})
		near(t, "Calls", float64(res.Calls), 100, 1)
		if res.Elapsed != time.Second || res.Waits != 0 || res.Lag.Count() != 0 {
			t.Errorf("elapsed %v, %d waits, %d lags", res.Elapsed, res.Waits, res.Lag.Count())
		}
	})
}

// Timeout is each call's own; what it ends is counted under its code, and is no
// latency. In an open loop as well.
func TestTimeout(t *testing.T) {
	for _, rate := range []float64{0, 10} {
		synctest.Test(t, func(t *testing.T) {
			res := mustRun(t, Config{Rate: rate, Callers: 2, Timeout: 50 * time.Millisecond, Duration: time.Second,
				Call: func(ctx context.Context, worker int, seq uint64) error {
					if seq%2 == 0 {
						return takes(time.Hour)(ctx, worker, seq)
					}
					return takes(time.Millisecond)(ctx, worker, seq)
				}})
			if res.Errors == 0 || res.ByCode[rpc.DeadlineExceeded] != res.Errors || !errors.Is(res.First, context.DeadlineExceeded) {
				t.Errorf("rate %v: %d errors, %v, the first %v", rate, res.Errors, res.ByCode, res.First)
			}
			if res.Latency.Count() != res.Calls || res.Latency.Max() > 2*time.Millisecond {
				t.Errorf("rate %v: %d latencies of %d calls, up to %v", rate, res.Latency.Count(), res.Calls, res.Latency.Max())
			}
		})
	}
}

// A run whose context ends in the warm-up has a window of no length, and says
// why it ended; no rate is made of that.
func TestEndsWhileWarming(t *testing.T) {
	for _, rate := range []float64{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			why := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
			res, err := Run(ctx, Config{Rate: rate, Call: takes(time.Millisecond), Warmup: time.Minute})
			if !errors.Is(err, why) || res == nil {
				t.Fatalf("rate %v: %v, %v", rate, res, err)
			}
			if res.Elapsed != 0 || res.PerSecond() != 0 || res.Errors != 0 {
				t.Errorf("rate %v: %v long, %v calls a second, %d errors", rate, res.Elapsed, res.PerSecond(), res.Errors)
			}
		})
	}
}

// What nothing was measured of is zero, not a division by it.
func TestEmptyResult(t *testing.T) {
	var r Result
	if r.PerSecond() != 0 || r.CPUPerCall() != 0 || r.Latency.Quantile(.99) != 0 || r.Latency.Mean() != 0 {
		t.Errorf("%v a second, %v a call, p99 %v", r.PerSecond(), r.CPUPerCall(), r.Latency.Quantile(.99))
	}
}

// Buckets go up, hold everything once, and a merged histogram has the sum.
func TestBuckets(t *testing.T) {
	var a, b Histogram
	for i := range 1000 {
		a.Record(time.Duration(i*i) * time.Microsecond)
		b.Record(time.Duration(i) * time.Millisecond)
	}
	a.Merge(&b)
	var highs []time.Duration
	total := uint64(0)
	a.Buckets(func(high time.Duration, n uint64) {
		highs, total = append(highs, high), total+n
	})
	if !slices.IsSorted(highs) || total != 2000 || a.Count() != 2000 || highs[len(highs)-1] < a.Max() {
		t.Errorf("%d of %d values in %d buckets up to %v, the largest is %v", total, a.Count(), len(highs), highs[len(highs)-1], a.Max())
	}
}
