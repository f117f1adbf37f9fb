package netio

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/limosa-rpc/limosa/stats"
)

// However many count at a time, the gauge is exact once nothing is queued.
func TestSumIsExactInTheEnd(t *testing.T) {
	var g stats.Gauge
	for range 200 {
		s := sum{gauges: []*stats.Gauge{&g}}
		var queued atomic.Int64
		var work sync.WaitGroup
		for i := range 4 {
			work.Go(func() {
				for range 100 {
					queued.Add(int64(i+1) * 50 << 10)
					s.tell(&queued)
					queued.Add(-int64(i+1) * 50 << 10)
					s.tell(&queued)
				}
			})
		}
		work.Wait()
		if g.Value() != 0 {
			t.Fatalf("%d bytes are left", g.Value())
		}
	}
}
