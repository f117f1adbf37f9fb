package sys

import (
	"math"
	"runtime/debug"
)

// Budget is what a server's or a client's connections may hold together, in
// bytes, unless its limits say it: a quarter of the memory that the process may
// have, and no less than 256 MiB. 0: it is not known.
func Budget() int {
	most := debug.SetMemoryLimit(-1) // only asks
	if own := Memory(); own > 0 {
		most = min(most, own)
	}
	if most == math.MaxInt64 {
		return 0
	}
	return int(max(most/4, 256<<20))
}
