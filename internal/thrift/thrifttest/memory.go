package thrifttest

import (
	"math"
	"runtime"
)

// Allocated gives how many bytes f allocates, which it calls several times. The run time
// counts all goroutines, and the first time makes plans: the least is what f itself does.
func Allocated(f func()) int {
	least := math.MaxInt
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, int(after.TotalAlloc-before.TotalAlloc))
	}
	return least
}
