package netio

import (
	"sync/atomic"

	"github.com/limosa-rpc/limosa/internal/sys"
)

// A handle is a descriptor that is closed once nobody uses it any more: its
// number may be another connection's the moment after.
type handle struct {
	fd   uintptr
	word atomic.Uint32 // users, and handleClosed
}

const handleClosed = 1 << 31

// use begins a system call; done ends it. False: the descriptor is closed.
func (h *handle) use() bool {
	for {
		w := h.word.Load()
		if w&handleClosed != 0 {
			return false
		}
		if h.word.CompareAndSwap(w, w+1) {
			return true
		}
	}
}

// done ends a use. Whoever is the last one behind close closes the descriptor: closed under a system call that
// runs, its number could belong to another file by then.
func (h *handle) done() {
	if h.word.Add(^uint32(0)) == handleClosed {
		sys.Close(h.fd) //nolint:errcheck // there is nothing left to do about it
	}
}

// close is called once.
func (h *handle) close() {
	if h.word.Or(handleClosed) == 0 {
		sys.Close(h.fd) //nolint:errcheck // there is nothing left to do about it
	}
}
