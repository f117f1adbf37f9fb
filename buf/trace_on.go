//go:build invariants

package buf

import (
	"fmt"
	"sync/atomic"

	"github.com/limosa-rpc/limosa/internal/invariant"
)

// A trace tells who took a block and who released it last.
type trace struct {
	acquired, released invariant.Stack
	done               atomic.Bool // released is set
}

// String is appended to the message of a panic.
func (t *trace) String() string {
	if t == nil {
		return ""
	}
	s := fmt.Sprintf("\nacquired at\n%v", t.acquired)
	if t.done.Load() {
		s += fmt.Sprintf("released at\n%v", t.released)
	}
	return s
}

var live atomic.Int64

func traceAcquire(n int) *Block {
	b := &Block{mem: make([]byte, n), trace: &trace{acquired: invariant.Here(1)}}
	b.word.Store(1<<genShift | 1)
	live.Add(1)
	return b
}

func traceRelease(b *Block, kept bool) {
	live.Add(-1)
	b.trace.released = invariant.Here(1)
	b.trace.done.Store(true)
	if !kept {
		for i := range b.mem {
			b.mem[i] = 0xCC
		}
	}
}

// Live is the number of blocks that were taken and not yet released.
func Live() int64 { return live.Load() }

// Explain tells about the block that holds the address addr.
func Explain(addr uintptr) string { return "" }
