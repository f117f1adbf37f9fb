//go:build !invariants

package buf

// trace has nothing to tell without the tag.
type trace struct{}

func (*trace) String() string { return "" }

func traceAcquire(int) *Block   { panic("buf: traceAcquire without the invariants tag") }
func traceRelease(*Block, bool) { panic("buf: traceRelease without the invariants tag") }

// Live is the number of blocks that were taken and not yet released. It is
// counted under the build tag invariants only, and 0 otherwise.
func Live() int64 { return 0 }

// Unreleased tells who took each block up to MaxBlock that is not released, for
// the message of a leak. It knows something under the build tag invariants only.
func Unreleased() string { return "" }

// Explain tells about the block that holds the address addr, for example of a
// fault caught with debug.SetPanicOnFault: its size, whether it was released,
// and who took and released it. It knows something under the build tag
// invariants only, and is "" otherwise or if the address is no block's.
func Explain(addr uintptr) string { return "" }
