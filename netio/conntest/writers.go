package conntest

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
)

// Any number of goroutines write at a time, under the output lock, and one of them sends
// for all. Nothing bounds what they queue but themselves: Wait is how they are told to
// stop, and it costs nothing while there is room. It ends with room, the connection, or
// its context, each with an error of its own.

// exchange writes out, then reads want bytes, as an engine does: with a debt
// in Receive, and by handing the read role over at Full.
func exchange(t *testing.T, c netio.Conn, out []byte, want int) (got []byte) {
	step := func(in *buf.In) (bool, error) {
		got = append(got, in.Next(min(want-len(got), in.Len()))...)
		return len(got) < want, nil
	}
	read := func(owed bool) (full bool) {
		for len(got) < want {
			why, err := c.Receive(owed, step)
			switch {
			case why == netio.Full:
				return true
			case why == netio.Lost:
				t.Error("Receive:", err)
				return false
			}
			owed = false
		}
		return false
	}
	if read(queue(c, out)) {
		var g group
		g.Go(func() { read(false) })
		if err := c.Output().Flush(); err != nil {
			t.Error("Flush:", err)
		}
		g.Wait()
	}
	return got
}

// testBothWriteFirst has both sides write more than the connection holds before
// they read: it hangs if anybody parks in a write while holding the read role.
func testBothWriteFirst(t *testing.T, e *env) {
	a, b := e.pair(t)
	pa, pb := noise(1, much), noise(2, much)
	var g group
	g.Go(func() { same(t, "to a", exchange(t, a, pa, len(pb)), pb) })
	g.Go(func() { same(t, "to b", exchange(t, b, pb, len(pa)), pa) })
	g.wait(t, "both sides")
}

// testWriters has many writers: frames never mix, and each writer's stay in order.
func testWriters(t *testing.T, e *env) {
	a, b := e.pair(t)
	const writers = 8
	count := e.size(2000)
	var g group
	for w := range writers {
		g.Go(func() {
			for i := range count {
				p := noise(uint64(w), 8+(i*37)%300)
				p[0] = byte(w)
				binary.BigEndian.PutUint32(p[1:], uint32(i))
				if err := a.Output().Wait(t.Context(), 1<<20); err != nil {
					t.Error("Wait:", err)
					return
				}
				if err := send(a, appendFrame(nil, p)); err != nil {
					t.Error("send:", err)
					return
				}
			}
		})
	}
	g.Go(func() {
		var next [writers]uint32
		total := 0
		step := frames(func(p []byte) bool {
			w, i := p[0], binary.BigEndian.Uint32(p[1:])
			if int(w) >= writers || next[w] != i || len(p) != 8+(int(i)*37)%300 {
				t.Errorf("frame %d of writer %d, want %d", i, w, next[min(int(w), writers-1)])
				return false
			}
			next[w]++
			total++
			return total < writers*count
		})
		for total < writers*count && !t.Failed() {
			if why, err := b.Receive(false, step); why == netio.Lost {
				t.Error("Receive:", err)
				return
			}
		}
	})
	g.wait(t, "writers")
}

// testWaitRoom waits without cost while there is room, and until there is.
func testWaitRoom(t *testing.T, e *env) {
	a, b := e.pair(t)
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { a.Output().Wait(ctx, 1) }); n != 0 {
		t.Errorf("Wait with room: %v allocations", n)
	}
	var g group
	g.Go(func() { send(a, make([]byte, much)) }) //nolint:errcheck // the receive tells
	eventually(patience, func() bool { return a.Output().Queued() > 1<<20 })
	for _, below := range []int{1 << 20, 1, 1 << 10, 1 << 20} {
		g.Go(func() {
			if err := a.Output().Wait(ctx, below); err != nil {
				t.Error("Wait:", err)
			}
		})
	}
	settle()
	g.Go(func() {
		if _, err := receive(b, much); err != nil {
			t.Error("receive:", err)
		}
	})
	g.wait(t, "waiting for room")
}

// testWaitCancel ends a wait by its context.
func testWaitCancel(t *testing.T, e *env) {
	a, _ := e.pair(t)
	var g group
	g.Go(func() { send(a, make([]byte, much)) }) //nolint:errcheck // Abort ends it
	eventually(patience, func() bool { return a.Output().Queued() > 1<<20 })
	cause := errors.New("changed my mind")
	ctx, cancel := context.WithCancelCause(t.Context())
	g.Go(func() {
		if err := a.Output().Wait(ctx, 1); err != cause {
			t.Errorf("Wait: %v, want the cause", err)
		}
	})
	settle()
	cancel(cause)
	settle()
	g.Go(func() { is(t, "Wait", a.Output().Wait(t.Context(), 1), net.ErrClosed) })
	settle()
	a.Abort()
	g.wait(t, "Wait")
}

// testNeverReads writes to a peer that never reads: who waits for room queues
// no more than it asked for.
func testNeverReads(t *testing.T, e *env) {
	a, _ := e.pair(t)
	const below, piece = 4 << 20, 64 << 10
	var g group
	p := make([]byte, piece)
	ctx := soon(t, 5*time.Second)
	for {
		wait, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		err := a.Output().Wait(wait, below)
		cancel()
		if err != nil {
			is(t, "Wait", err, context.DeadlineExceeded)
			break
		}
		if queue(a, p) {
			g.Go(func() {
				if err := a.Output().Flush(); err == nil {
					// The peer's buffers may still grow: the next one flushes.
					return
				}
			})
		}
		if n := a.Output().Queued(); n > below+piece+piece/100 { // over TLS a few records' heads besides
			t.Fatalf("%d bytes are queued", n)
		}
	}
	if ctx.Err() != nil {
		t.Error("the peer took more and more")
	}
	if n := a.Output().Queued(); n < below {
		t.Errorf("%d bytes are queued, want at least %d", n, below)
	}
	a.Abort()
	g.wait(t, "the flush of an aborted connection")
	if n := a.Output().Queued(); n != 0 {
		t.Errorf("%d bytes are queued after Abort", n)
	}
}
