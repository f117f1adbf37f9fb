package mux_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// A yielding is a connection whose Yield returns when nothing else in the world
// can run any more. It notes by how much the number of handlers that wait has
// changed meanwhile, since it was noted last.
type yielding struct {
	netio.Conn
	h       *holder
	rests   uint32
	resting bool // each Receive has found nothing at first
	crowded bool
	on      func() // runs in each Yield

	in     int // Yields that run
	yields int
	runs   int32 // when it was noted last
	most   int32 // the largest change
}

func (y *yielding) Receive(owed bool, step netio.Step) (netio.Outcome, error) {
	if y.resting {
		y.rests++
	}
	return y.Conn.Receive(owed, step)
}

func (y *yielding) Rests() uint32 { return y.rests }
func (y *yielding) Crowded() bool { return y.crowded }

func (y *yielding) Yield() {
	y.yields++
	if y.in++; y.in > 1 {
		y.h.t.Error("two workers of one connection yield at a time")
	}
	time.Sleep(time.Millisecond)
	y.note()
	if y.on != nil {
		y.on()
	}
	y.in--
}

func (y *yielding) note() {
	runs := y.h.runs.Load()
	y.most = max(y.most, runs-y.runs, y.runs-runs)
	y.runs = runs
}

// newYielding gives a server in its own bubble, and the raw client.
func newYielding(t *testing.T) (*yielding, *holder) {
	y := new(yielding)
	h := newHolderOver(t, ttheader.TTHeader, func(nc netio.Conn) netio.Conn { y.Conn = nc; return y })
	y.h = h
	return y, h
}

// flood sends n frames like ev at once, each with an id of its own.
func (h *holder) flood(ev wire.Event, n int, body string) {
	var out buf.Out
	defer out.Reset()
	for range n {
		h.next++
		ev.ID = h.next
		m := h.s.Begin(&out, &ev)
		out.AppendString(body)
		if err := h.s.End(&out, m, &ev); err != nil {
			h.t.Fatal(err)
		}
	}
	h.raw(out.Bytes())
	time.Sleep(time.Second)
}

const (
	callFlags   = wire.Open | wire.Message | wire.End | wire.Unordered
	streamFlags = wire.Open | wire.Message | wire.Stream
)

// Many calls or streams that come together begin in stints, between which others
// go first; so do their handlers end when the peer has gone. Nothing is lost by that.
func TestHandlersBeginInStints(t *testing.T) {
	for _, c := range []struct {
		name    string
		ev      wire.Event
		crowded bool
		most    int32
	}{
		{"calls", wire.Event{Flags: callFlags, Method: "pause"}, false, 33},
		{"streams", wire.Event{Flags: streamFlags, Method: "chat"}, false, 33},
		{"calls while others wait", wire.Event{Flags: callFlags, Method: "pause"}, true, 5},
		{"streams while others wait", wire.Event{Flags: streamFlags, Method: "chat"}, true, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y, h := newYielding(t)
				y.crowded = c.crowded
				const n = 150
				h.flood(c.ev, n, "x")
				y.note()
				if runs := h.runs.Load(); runs != n || y.most > c.most {
					t.Errorf("%d of %d handlers run, up to %d of them begun without others going first", runs, n, y.most)
				}
				y.most = 0
				h.r.cend.Abort()
				h.r.cend.Receive(false, nil)
				time.Sleep(time.Second)
				y.note()
				if runs := h.runs.Load(); runs != 0 || y.most > c.most {
					t.Errorf("%d handlers run after the loss, up to %d of them ended without others going first", runs, y.most)
				}
				<-h.r.finished
			})
		})
	}
}

// A peer that always has more to be read has others go first, though no handler runs.
func TestFloodsAreReadInStints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y, h := newYielding(t)
		defer h.end()
		h.flood(wire.Event{Flags: callFlags, Method: "nothing"}, 4000, "")
		if y.yields < 4000/512 {
			t.Errorf("others went first %d times in 4000 calls", y.yields)
		}
	})
}

// Who waits for each of its answers does not have to let others go first.
func TestLoneCallsDoNotYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y, h := newYielding(t)
		defer h.end()
		y.resting = true
		for range 1000 {
			h.call("echo", "x")
		}
		if y.yields != 0 {
			t.Errorf("%d of 1000 lone calls have let others go first", y.yields)
		}
	})
}

// Requests that were taken in before the server was full, and for whose handlers
// there is no room now, are refused.
func TestQueuedRequestsMeetAFullServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ev := range []wire.Event{{Flags: callFlags, Method: "pause"}, {Flags: streamFlags, Method: "chat"}} {
			y, h := newYielding(t)
			y.on = func() {
				if y.yields == 2 {
					mux.Count(h.total, 32<<20)
				}
			}
			const n = 150
			h.flood(ev, n, "x")
			runs := int(h.runs.Load())
			if refused := h.total.Refused(); runs == 0 || runs > 100 || refused != n-runs {
				t.Errorf("%s: %d handlers run, %d calls refused, of %d", ev.Method, runs, refused, n)
			}
			mux.Count(h.total, -32<<20)
			h.end()
		}
	})
}
