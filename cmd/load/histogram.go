package load

import (
	"time"

	"github.com/limosa-rpc/limosa/stats"
)

// A Histogram counts durations; it is stats.Histogram in other units, and as
// exact. The zero value is empty; it may be used concurrently and not copied.
type Histogram struct{ ns stats.Histogram }

// Record counts one duration; a negative one counts as zero.
func (h *Histogram) Record(d time.Duration) { h.ns.Record(int64(max(d, 0))) }

// Merge adds what o has counted.
func (h *Histogram) Merge(o *Histogram) { h.ns.Merge(&o.ns) }

// Count is the number of durations recorded.
func (h *Histogram) Count() uint64 { return uint64(h.ns.Count()) }

// Max is the largest duration recorded, exactly.
func (h *Histogram) Max() time.Duration { return time.Duration(h.ns.Max()) }

// Mean is the arithmetic mean; zero for an empty histogram.
func (h *Histogram) Mean() time.Duration { return time.Duration(h.ns.Mean()) }

// Buckets calls f for each range of durations that was recorded, from low to
// high: n durations up to high.
func (h *Histogram) Buckets(f func(high time.Duration, n uint64)) {
	h.ns.Buckets(func(_, high int64, n uint64) { f(time.Duration(high), n) })
}

// Quantile gives the duration that the part q, from 0 to 1, of what was
// recorded does not exceed.
func (h *Histogram) Quantile(q float64) time.Duration { return time.Duration(h.ns.Quantile(q)) }
