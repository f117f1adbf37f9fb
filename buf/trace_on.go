//go:build invariants

package buf

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/invariant"
	"github.com/limosa-rpc/limosa/internal/sys"
)

const (
	// The quarantine holds so many released blocks, and bytes, out of use
	// before their memory is used again.
	quarantineBlocks = 256
	quarantineBytes  = 64 << 20
)

// A trace tells who took a block and who released it last.
type trace struct {
	// Set on acquire, then constant.
	acquired invariant.Stack
	guarded  bool // the memory comes from sys.MapGuarded

	// Set before done.
	released invariant.Stack
	kept     bool
	done     atomic.Bool
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

// warden is where debugging builds keep their blocks. It is package state, as
// it replaces the pools, which are package state too.
var warden struct {
	sync.Mutex
	live       int64
	blocks     map[*byte]*Block // guarded memory -> the last block over it
	quarantine []*Block         // released, protected; oldest first
	bytes      int              // in quarantine
	free       [classes][][]byte
}

// traceAcquire makes a block that knows who has acquired it, and is never used again.
func traceAcquire(n int) *Block {
	b := &Block{trace: &trace{acquired: invariant.Here(1)}}
	b.word.Store(1<<genShift | 1)
	warden.Lock()
	defer warden.Unlock()
	warden.live++
	if n <= MaxBlock {
		b.mem = guardedLocked(n)
	}
	if b.mem == nil {
		b.mem = make([]byte, n)
		return b
	}
	b.trace.guarded = true
	if warden.blocks == nil {
		warden.blocks = make(map[*byte]*Block)
	}
	warden.blocks[&b.mem[0]] = b
	return b
}

// guardedLocked is nil where there is no guarded memory, or no more of it.
func guardedLocked(n int) []byte {
	if free := &warden.free[class(n)]; len(*free) > 0 {
		mem := (*free)[len(*free)-1]
		*free = (*free)[:len(*free)-1]
		return mem
	}
	mem, err := sys.MapGuarded(n)
	if err != nil {
		return nil
	}
	// At the end of its pages, where those are larger than the block.
	return mem[len(mem)-n:]
}

// traceRelease takes b's memory out of use. Kept memory stays as it is for
// ever: strings alias it, and the collector does not know about them.
func traceRelease(b *Block, kept bool) {
	b.trace.released, b.trace.kept = invariant.Here(1), kept
	b.trace.done.Store(true)
	warden.Lock()
	defer warden.Unlock()
	warden.live--
	if kept {
		return
	}
	if !b.trace.guarded {
		mangle(b.mem)
		return
	}
	if err := sys.Protect(b.mem); err != nil {
		panic(err)
	}
	warden.quarantine = append(warden.quarantine, b)
	warden.bytes += len(b.mem)
	for len(warden.quarantine) > quarantineBlocks || warden.bytes > quarantineBytes {
		old := warden.quarantine[0].mem
		warden.quarantine = warden.quarantine[1:]
		warden.bytes -= len(old)
		if err := sys.Unprotect(old); err != nil {
			panic(err)
		}
		mangle(old)
		c := class(len(old))
		warden.free[c] = append(warden.free[c], old)
	}
}

// mangle overwrites released memory, so that who still reads it sees that.
func mangle(p []byte) {
	for i := range p {
		p[i] = 0xCC
	}
}

// Live is the number of blocks that were taken and not yet released. It is
// counted under the build tag invariants only, and 0 otherwise.
func Live() int64 {
	warden.Lock()
	defer warden.Unlock()
	return warden.live
}

// Unreleased tells who took each block up to MaxBlock that is not released, for
// the message of a leak. It knows something under the build tag invariants only.
func Unreleased() string {
	warden.Lock()
	defer warden.Unlock()
	s := ""
	for _, b := range warden.blocks {
		if !b.trace.done.Load() {
			s += fmt.Sprintf("a block of %d bytes%v", len(b.mem), b.trace)
		}
	}
	return s
}

// Explain tells about the block that holds the address addr, for example of a
// fault caught with debug.SetPanicOnFault: its size, whether it was released,
// and who took and released it. It knows something under the build tag
// invariants only, and is "" otherwise or if the address is no block's.
func Explain(addr uintptr) string {
	warden.Lock()
	defer warden.Unlock()
	page := uintptr(os.Getpagesize())
	for first, b := range warden.blocks {
		// Safety: addresses are compared only.
		start := uintptr(unsafe.Pointer(first))
		end := start + uintptr(len(b.mem))
		if addr < start-page || addr >= end+page {
			continue
		}
		where := fmt.Sprintf("byte %d", addr-start)
		switch {
		case addr < start:
			where = fmt.Sprintf("%d bytes before the start", start-addr)
		case addr >= end:
			where = fmt.Sprintf("%d bytes behind the end", addr-end)
		}
		state := "in use"
		if b.trace.done.Load() {
			state = "released"
			if b.trace.kept {
				state = "released and kept"
			}
		}
		return fmt.Sprintf("buf: %#x is %s of a block of %d bytes, %s%s", addr, where, len(b.mem), state, b.trace)
	}
	return ""
}
