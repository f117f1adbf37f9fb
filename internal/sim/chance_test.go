//go:build !simruntime

package sim

// simExact: without the overlay of .ci/sim-runtime the run time draws by chance,
// and a seed may take another course each time.
const simExact = false

func seedRuntime(uint64) {}
