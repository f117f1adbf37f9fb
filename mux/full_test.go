package mux_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/ttheader"
)

// While all connections together hold what they may, a stream that is open already
// does not add to it without end either.
func TestStreamsOfAFullServer(t *testing.T) {
	for what, size := range map[string]int{"messages": 8 << 10, "large messages": 300 << 10} {
		synctest.Test(t, func(t *testing.T) {
			h := newHolder(t, ttheader.TTHeader)
			h.stream("chat", func(int) string { return "x" }, 1)
			id := h.next
			mux.Count(h.total, 17<<20)
			for range 50 {
				h.more(id, strings.Repeat("x", size))
			}
			if h.most > 32<<10+perBatch/8 {
				t.Errorf("%s: %d bytes are held", what, h.most)
			}
			mux.Count(h.total, -17<<20)
			h.end()
		})
	}
}
