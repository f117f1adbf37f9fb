package mux_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
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

// While all connections together hold what they may, a peer that reads nothing has
// little waiting for it, whatever that is: thousands of them would hold much.
func TestUnreadOutputOfAFullServer(t *testing.T) {
	for what, fill := range map[string]func(h *holder){
		"answers":  func(h *holder) { h.call("echo", strings.Repeat("x", 1<<10)) },
		"refusals": func(h *holder) { h.call("nothing", "") },
		"in order": func(h *holder) {
			h.send(&wire.Event{Flags: wire.Open | wire.Message | wire.End, Method: "nothing"}, "")
		},
		"pongs":    func(h *holder) { h.send(&wire.Event{Flags: wire.Ping}, "") },
		"messages": func(h *holder) { h.stream("pour", func(int) string { return "x" }, 1) },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHolder(t, ttheader.TTHeader)
				h.r.send.Stall(true)
				mux.Count(h.total, 17<<20)
				for range 3000 {
					fill(h)
				}
				if h.most > 64<<10 {
					t.Errorf("%d bytes are held", h.most)
				}
				mux.Count(h.total, -17<<20)
				h.end()
			})
		})
	}
}
