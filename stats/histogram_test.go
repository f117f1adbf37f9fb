package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

const maxError = 0.02

func TestBucketsTileAllValues(t *testing.T) {
	next := int64(0)
	for i := range buckets {
		low, high := bounds(i)
		if low != next || high < low {
			t.Fatalf("bucket %d is %d to %d; want it to start at %d", i, low, high, next)
		}
		for _, v := range []int64{low, high, low + (high-low)/2} {
			if got := bucketOf(v); got != i {
				t.Fatalf("%d is in bucket %d; want %d", v, got, i)
			}
		}
		mid := low + (high-low)/2
		for _, v := range []int64{low, high} {
			if e := math.Abs(float64(mid-v)) / max(float64(v), 1); e > maxError {
				t.Fatalf("bucket %d: %d shows as %d, off by %.2f %%", i, v, mid, 100*e)
			}
		}
		next = high + 1 // wraps after the last
	}
	if next != math.MinInt64 {
		t.Errorf("buckets end at %d; want 2^63-1", next-1)
	}
}

func TestQuantilesAgainstSorting(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() int64{
		"constant":    func() int64 { return 12345 },
		"small":       func() int64 { return rnd.Int64N(10) },
		"uniform":     func() int64 { return rnd.Int64N(1_000_000) },
		"exponential": func() int64 { return int64(rnd.ExpFloat64() * 50_000) },
		"all scales":  func() int64 { return rnd.Int64() >> rnd.IntN(63) },
		"two modes":   func() int64 { return 100 + rnd.Int64N(2)*9_999_900 },
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 100, 10_000} {
				var h Histogram
				all := make([]int64, n)
				sum := int64(0)
				for i := range all {
					all[i] = draw()
					sum += all[i]
					h.Record(all[i])
				}
				slices.Sort(all)
				if h.Count() != int64(n) || h.Sum() != sum || h.Max() != all[n-1] {
					t.Fatalf("count %d, sum %d, max %d; want %d, %d, %d", h.Count(), h.Sum(), h.Max(), n, sum, all[n-1])
				}
				last := int64(0)
				for q := 0.0; q <= 1; q += 1.0 / 512 {
					got := h.Quantile(q)
					want := all[max(0, int(math.Ceil(q*float64(n)))-1)]
					if e := math.Abs(float64(got-want)) / max(float64(want), 1); e > maxError {
						t.Fatalf("%d values: quantile %v is %d; want %d, off by %.2f %%", n, q, got, want, 100*e)
					}
					if got < last || got > h.Max() {
						t.Fatalf("%d values: quantile %v is %d after %d, max %d", n, q, got, last, h.Max())
					}
					last = got
				}
			}
		})
	}
}

func TestHistogramEdges(t *testing.T) {
	var h Histogram
	if h.Quantile(.5) != 0 || h.Count() != 0 || h.Mean() != 0 || h.Max() != 0 {
		t.Error("an empty histogram is not zero")
	}
	h.Record(-5)
	if h.Count() != 1 || h.Sum() != 0 || h.Quantile(1) != 0 {
		t.Error("a negative value is not 0")
	}
	h.Record(math.MaxInt64)
	if got := h.Quantile(1); float64(got) < .98*math.MaxInt64 {
		t.Errorf("the largest value shows as %d", got)
	}
	for q, want := range map[float64]int64{-1: 0, 0: 0, .5: 0, 2: h.Quantile(1)} {
		if got := h.Quantile(q); got != want {
			t.Errorf("quantile %v is %d; want %d", q, got, want)
		}
	}
	if got := h.Quantile(math.NaN()); got != 0 {
		t.Errorf("quantile NaN is %d", got)
	}
	h.Reset()
	h.Record(10)
	h.Record(20)
	if h.Mean() != 15 || h.Max() != 20 || h.Count() != 2 {
		t.Errorf("after Reset: mean %v, max %d, count %d", h.Mean(), h.Max(), h.Count())
	}
	var got [][3]int64
	h.Buckets(func(low, high int64, n uint64) { got = append(got, [3]int64{low, high, int64(n)}) })
	if !slices.Equal(got, [][3]int64{{10, 10, 1}, {20, 20, 1}}) {
		t.Errorf("buckets %v", got)
	}
}

func TestMergeIsRecordingBoth(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var a, b, both Histogram
	for i := range 10_000 {
		v := int64(rnd.ExpFloat64() * 1e6)
		both.Record(v)
		if i%3 == 0 {
			a.Record(v)
		} else {
			b.Record(v)
		}
	}
	a.Merge(&b)
	a.Merge(nil)
	if a.Sum() != both.Sum() || a.Max() != both.Max() || a.Count() != both.Count() {
		t.Error("sum, max or count differ")
	}
	for i := range a.counts {
		if a.counts[i].Load() != both.counts[i].Load() {
			t.Fatalf("bucket %d differs", i)
		}
	}
	if b.Count() >= both.Count() || b.Count() == 0 {
		t.Error("the source of Merge has changed")
	}
}

func TestHistogramFromManyGoroutines(t *testing.T) {
	var h Histogram
	const workers, each = 8, 5000
	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if p50, p99 := h.Quantile(.5), h.Quantile(1); p50 > each+100 || p99 > each+100 {
					t.Errorf("impossible quantiles %d, %d", p50, p99)
					return
				}
			}
		}
	})
	for range workers {
		writers.Go(func() {
			for v := range int64(each) {
				h.Record(v + 1)
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if h.Count() != workers*each || h.Sum() != workers*each*(each+1)/2 || h.Max() != each {
		t.Errorf("count %d, sum %d, max %d: values were lost", h.Count(), h.Sum(), h.Max())
	}
}

func BenchmarkRecord(b *testing.B) {
	var h Histogram
	b.Run("alone", func(b *testing.B) {
		v := int64(0)
		for b.Loop() {
			v += 977
			h.Record(v & 0xfffff)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for v := int64(0); pb.Next(); v += 977 {
				h.Record(v & 0xfffff)
			}
		})
	})
}
