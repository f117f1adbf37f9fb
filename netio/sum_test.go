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

// A sum is never far behind: what many connections have queued, each a little,
// is not overlooked.
func TestSumIsNeverFarBehind(t *testing.T) {
	var g stats.Gauge
	s := sum{gauges: []*stats.Gauge{&g}}
	var queued atomic.Int64
	for _, step := range []int64{1 << 10, 3 << 10, -3 << 10, -1 << 10} {
		for range 50 {
			n := queued.Add(step)
			s.tell(&queued)
			if d := n - g.Value(); max(d, -d) > max(4<<10, g.Value()/8) {
				t.Fatalf("%d bytes are queued, %d are counted", n, g.Value())
			}
		}
	}
	if g.Value() != 0 {
		t.Errorf("%d bytes are left", g.Value())
	}
}
