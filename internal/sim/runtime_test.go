//go:build simruntime

package sim

import "runtime"

// simExact: a seed takes one course only, on one processor.
const simExact = true

// seedRuntime has the run time draw what it draws by chance from a seed. It is
// there with the overlay that .ci/sim-runtime writes.
func seedRuntime(seed uint64) { runtime.SimSeed(seed) }
