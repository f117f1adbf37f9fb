package stats_test

import (
	"fmt"

	"github.com/limosa-rpc/limosa/stats"
)

// A Set is passed to who counts, and walked by who shows.
func ExampleSet() {
	set := stats.NewSet()
	set.Counter("calls", "Calls made.").Add(3)
	set.Gauge("open", "Connections.").Set(2)
	took := set.Histogram("call_us", "What a call took.", "us")
	for us := range 100 {
		took.Record(int64(us))
	}
	set.Each(func(m stats.Metric) {
		if m.Kind == stats.KindHistogram {
			fmt.Println(m.Name, m.Unit, m.Histogram.Count(), m.Histogram.Quantile(0.5))
			return
		}
		fmt.Println(m.Name, m.Kind, m.Value)
	})
	// Output:
	// call_us us 100 49
	// calls counter 3
	// open gauge 2
}

// Nil metrics count nothing, so that code need not ask whether anybody listens.
func ExampleCounter() {
	var none *stats.Set
	none.Counter("calls", "Calls made.").Inc()
	fmt.Println(none.Counter("calls", "Calls made.").Value())
	// Output: 0
}
