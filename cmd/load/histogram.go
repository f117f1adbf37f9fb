package load

import (
	"math/bits"
	"time"
)

// subBits is the precision of a histogram: 2^subBits buckets for each power of
// two, so a value is off by at most one part in 128.
const subBits = 7

const (
	subBuckets = 1 << subBits
	// maxExp bounds what is told apart: values from 2^maxExp ns, which is 18
	// minutes, fall into the last bucket. Max stays exact.
	maxExp  = 40
	buckets = (maxExp - subBits + 1) * subBuckets
)

// A Histogram counts durations in buckets whose width grows with the value.
// The zero value is empty. One goroutine at a time may use it.
type Histogram struct {
	groups [maxExp - subBits + 1]*[subBuckets]uint32 // made on demand: a caller's latencies span few powers of two
	count  uint64
	sum    time.Duration
	max    time.Duration
}

// Record counts one duration; a negative one counts as zero.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	i := bucketOf(uint64(d))
	g := h.groups[i>>subBits]
	if g == nil {
		g = new([subBuckets]uint32)
		h.groups[i>>subBits] = g
	}
	g[i&(subBuckets-1)]++
	h.count++
	h.sum += d
	h.max = max(h.max, d)
}

// Merge adds what o has counted.
func (h *Histogram) Merge(o *Histogram) {
	for i, g := range o.groups {
		if g == nil {
			continue
		}
		if h.groups[i] == nil {
			h.groups[i] = new([subBuckets]uint32)
		}
		for j, n := range g {
			h.groups[i][j] += n
		}
	}
	h.count += o.count
	h.sum += o.sum
	h.max = max(h.max, o.max)
}

// Count is the number of durations recorded.
func (h *Histogram) Count() uint64 { return h.count }

// Max is the largest duration recorded, exactly.
func (h *Histogram) Max() time.Duration { return h.max }

// Mean is the arithmetic mean, exactly; zero for an empty histogram.
func (h *Histogram) Mean() time.Duration {
	if h.count == 0 {
		return 0
	}
	return h.sum / time.Duration(h.count)
}

// Quantile gives the duration that the part q, from 0 to 1, of what was
// recorded does not exceed; the upper end of its bucket, never above Max.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.count == 0 {
		return 0
	}
	// Of n values the rank counts from 1: the median of one value is that value.
	rank := max(uint64(q*float64(h.count)+0.999999), 1)
	seen := uint64(0)
	for i, g := range h.groups {
		if g == nil {
			continue
		}
		for j, n := range g {
			if seen += uint64(n); seen >= rank {
				return min(time.Duration(upperOf(i<<subBits|j)), h.max)
			}
		}
	}
	return h.max
}

// bucketOf gives the bucket of v: values below subBuckets have one each, then
// every power of two has subBuckets of them.
func bucketOf(v uint64) int {
	exp := bits.Len64(v) - subBits - 1
	if exp <= 0 {
		return int(v) // the first two groups are exact and run together
	}
	return min((exp+1)<<subBits|int(v>>exp)&(subBuckets-1), buckets-1)
}

// upperOf gives the largest value that falls into bucket i.
func upperOf(i int) uint64 {
	if i < 2*subBuckets {
		return uint64(i)
	}
	exp := i>>subBits - 1
	return uint64(subBuckets|i&(subBuckets-1))<<exp + 1<<exp - 1
}
