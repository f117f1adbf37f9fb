package stats

import (
	"math/bits"
	"sync/atomic"
)

// Buckets are log-linear: every power of two is cut into 32 of equal width, and
// values below 64 have one each. A value is at most half a width from the middle
// of its bucket, and at least 32 widths from zero: 1/64, 1.6 %, is the largest
// relative error.
const (
	subBits = 5
	sub     = 1 << subBits
	// exponents 0 to 57 for the 63 bits of a value: the first covers 0 to 63.
	buckets = (63-subBits)*sub + sub
)

// A Histogram is a distribution of values from 0 to 2^63-1, in fixed memory of
// 15 KB. Quantiles are exact to 1.6 %. The zero value is ready.
//
// Record may be called from any goroutine, also while others read: a reader
// sees each value wholly or not yet, but values recorded meanwhile may be in one
// answer and not in another.
type Histogram struct {
	// Atomic.
	counts [buckets]atomic.Uint64
	sum    atomic.Int64
	max    atomic.Int64
}

// Record counts v. A negative v, as a clock that was set back may give, counts
// as 0.
func (h *Histogram) Record(v int64) {
	if h == nil {
		return
	}
	v = max(v, 0)
	h.counts[bucketOf(v)].Add(1)
	h.sum.Add(v)
	h.raise(v)
}

// raise lets max be v at least.
func (h *Histogram) raise(v int64) {
	for m := h.max.Load(); v > m; m = h.max.Load() {
		if h.max.CompareAndSwap(m, v) {
			return
		}
	}
}

// Quantile is the value that a share q of all values does not exceed, q from 0
// to 1, exact to 1.6 %. It is 0 if nothing was recorded, and never falls as q
// rises.
func (h *Histogram) Quantile(q float64) int64 {
	if h == nil {
		return 0
	}
	n := h.Count()
	if n == 0 {
		return 0
	}
	// The rank of the value sought, 1 to n. The comparison is false for NaN.
	rank := uint64(1)
	if q > 0 {
		rank = uint64(min(q, 1) * float64(n))
		if float64(rank) < min(q, 1)*float64(n) {
			rank++
		}
		rank = min(max(rank, 1), uint64(n))
	}
	top := h.max.Load()
	var seen uint64
	for i := range h.counts {
		if seen += h.counts[i].Load(); seen >= rank {
			low, high := bounds(i)
			return min(low+(high-low)/2, top)
		}
	}
	return top // Reset came by
}

// Count is how many values were recorded.
func (h *Histogram) Count() int64 {
	if h == nil {
		return 0
	}
	var n uint64
	for i := range h.counts {
		n += h.counts[i].Load()
	}
	return int64(n)
}

// Sum is the exact sum of all values; it wraps around above 2^63-1.
func (h *Histogram) Sum() int64 {
	if h == nil {
		return 0
	}
	return h.sum.Load()
}

// Max is the largest value, exact.
func (h *Histogram) Max() int64 {
	if h == nil {
		return 0
	}
	return h.max.Load()
}

// Mean is the exact average, 0 if nothing was recorded.
func (h *Histogram) Mean() float64 {
	n := h.Count()
	if n == 0 {
		return 0
	}
	return float64(h.Sum()) / float64(n)
}

// Buckets calls f for each bucket that holds values, from low to high: n values
// from low to high, both included.
func (h *Histogram) Buckets(f func(low, high int64, n uint64)) {
	if h == nil {
		return
	}
	for i := range h.counts {
		if n := h.counts[i].Load(); n > 0 {
			low, high := bounds(i)
			f(low, high, n)
		}
	}
}

// Merge adds all values of src, which stays as it is.
func (h *Histogram) Merge(src *Histogram) {
	if h == nil || src == nil {
		return
	}
	for i := range src.counts {
		if n := src.counts[i].Load(); n > 0 {
			h.counts[i].Add(n)
		}
	}
	h.sum.Add(src.sum.Load())
	h.raise(src.max.Load())
}

// Reset forgets all values. Values recorded at the same time may be forgotten in
// part: counted, but not in the sum.
func (h *Histogram) Reset() {
	if h == nil {
		return
	}
	for i := range h.counts {
		h.counts[i].Store(0)
	}
	h.sum.Store(0)
	h.max.Store(0)
}

// bucketOf is the index of v's bucket, v >= 0.
func bucketOf(v int64) int {
	e := max(bits.Len64(uint64(v))-subBits-1, 0)
	return e<<subBits + int(v>>e)
}

// bounds are the lowest and the highest value of bucket i.
func bounds(i int) (low, high int64) {
	e := max(i>>subBits-1, 0)
	low = int64(i-e<<subBits) << e
	return low, low + 1<<e - 1
}
