package mux_test

import (
	"bytes"
	"sync"
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
	ends    bool // one worker ends contexts, while another comes to the loop
	work    int
	on      func() // runs in each Yield

	mu     sync.Mutex
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

func (y *yielding) Crowded(work int) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.work += work
	return y.crowded
}

func (y *yielding) Yield() {
	y.mu.Lock()
	y.yields++
	if y.in++; y.in > 1 && !y.ends {
		y.h.t.Error("two workers of one connection yield at a time")
	}
	y.mu.Unlock()
	time.Sleep(time.Millisecond)
	y.note()
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.on != nil {
		y.on()
	}
	y.in--
}

func (y *yielding) note() {
	y.mu.Lock()
	defer y.mu.Unlock()
	runs := y.h.runs.Load()
	y.most = max(y.most, runs-y.runs, y.runs-runs)
	y.runs = runs
}

// end ends what was noted so far, and gives the largest change. From here on one
// worker may end contexts while another comes to the loop.
func (y *yielding) end() (most int32) {
	y.note()
	y.mu.Lock()
	defer y.mu.Unlock()
	most, y.most, y.ends = y.most, 0, true
	return most
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
				if runs, most := h.runs.Load(), y.end(); runs != n || most > c.most {
					t.Errorf("%d of %d handlers run, up to %d of them begun without others going first", runs, n, most)
				}
				h.r.cend.Abort()
				h.r.cend.Receive(false, nil)
				time.Sleep(time.Second)
				if runs, most := h.runs.Load(), y.end(); runs != 0 || most > c.most {
					t.Errorf("%d handlers run after the loss, up to %d of them ended without others going first", runs, most)
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
		y.mu.Lock()
		defer y.mu.Unlock()
		if y.yields < 4000/512 || y.work < 2000 {
			t.Errorf("others went first %d times in 4000 calls, of which %d were told", y.yields, y.work)
		}
	})
}

// So has one whose frames mean nothing, as those of a version to come may: they give no
// events.
func TestFramesThatMeanNothingAreReadInStints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y, h := newYielding(t)
		defer h.end()
		frame := append([]byte{
			0, 0, 0, 30, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 5, // a TTHeader of five words, and no message
			0, 0, 1, 0, 1, 0, 8, // with one string
		}, "limosa-x\x00\x00\x00\x00\x00"...)
		const n = 40_000
		h.raw(bytes.Repeat(frame, n))
		time.Sleep(time.Second)
		y.mu.Lock()
		defer y.mu.Unlock()
		if err := h.r.send.Output().Err(); err != nil || y.yields < n/16/512 || y.work < n/32 {
			t.Errorf("others went first %d times in %d frames, of which %d were told: %v", y.yields, n, y.work, err)
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
		y.mu.Lock()
		defer y.mu.Unlock()
		if y.yields != 0 || y.work != 0 {
			t.Errorf("%d of 1000 lone calls have let others go first, %d were told", y.yields, y.work)
		}
	})
}

// Streams that were not begun when their connection is lost are forgotten with it, also while
// their worker lets others go first: connections reset as fast as possible would each leave
// a thousand behind, which nothing counts any more.
func TestLostStreamsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y, h := newYielding(t)
		y.crowded = true
		y.end()
		var flood sync.WaitGroup
		flood.Go(func() { h.flood(wire.Event{Flags: streamFlags, Method: "chat"}, 150, "x") })
		time.Sleep(5*time.Millisecond + 500*time.Microsecond) // within a Yield
		if n := mux.Opened(h.r.server); n == 0 {
			t.Error("all streams have begun without others going first")
		}
		h.r.cend.Abort()
		time.Sleep(100 * time.Microsecond)
		if n := mux.Opened(h.r.server); n != 0 {
			t.Errorf("%d streams are kept for a worker that waits for its turn", n)
		}
		flood.Wait()
		h.end()
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

// A stream that is opened and reset at once costs its records and little besides: an
// attacker makes as many as it can send.
func TestResetStreamsAllocateLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, h := newYielding(t)
		const n = 200
		got := 0
		run := func() {
			var out buf.Out
			defer out.Reset()
			for range n {
				h.next++
				for _, ev := range []wire.Event{{Flags: wire.Open | wire.Stream, Method: "chat"}, {Flags: wire.Reset | wire.Stream}} {
					ev.ID = h.next
					if err := h.s.End(&out, h.s.Begin(&out, &ev), &ev); err != nil {
						t.Fatal(err)
					}
				}
			}
			h.raw(out.Bytes())
			time.Sleep(time.Second)
		}
		go h.r.cend.Receive(false, func(in *buf.In) (bool, error) { got += in.Skip(in.Len()); return true, nil })
		run()
		if allocs := testing.AllocsPerRun(10, run) / n; allocs > 7.5 { // 12 before
			t.Errorf("%.1f allocations a stream, those of the client's frames included", allocs)
		}
		h.release()
		h.r.cend.Abort()
		<-h.r.finished
	})
}
