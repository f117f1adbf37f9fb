package conntest

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
)

// Two things at once. A Receive has one outcome, and more than one may be due: data and
// a reset, a full socket and a kick, or an error of the step. Full comes first, since
// only with it is the caller the flusher still; nothing of the rest may get lost on the
// way to the next Receive.

// testResetBehindData resets a connection right behind data that its parked
// reader asks for more after: both may come in one event.
func testResetBehindData(t *testing.T, e *env) {
	for i := range e.size(30) {
		a, b := e.pair(t)
		if i%2 == 1 { // the dialing side reads, too
			a, b = b, a
		}
		var seen atomic.Int64
		var g group
		g.Go(func() {
			skip := func(in *buf.In) (bool, error) { seen.Add(int64(in.Skip(in.Len()))); return true, nil }
			if why, _ := b.Receive(false, skip); why != netio.Lost {
				t.Errorf("Receive: %v", why)
			}
		})
		for _, p := range []string{"one", "two"} {
			before := seen.Load()
			if err := send(a, []byte(p)); err != nil {
				t.Error("send:", err)
			}
			eventually(patience, func() bool { return seen.Load() > before })
			for range i % 7 {
				runtime.Gosched()
			}
		}
		send(a, []byte("three")) //nolint:errcheck // the reader tells
		a.Abort()
		g.wait(t, "the reader of a connection that was reset")
		e.close()
	}
}

// fullOwed has a receive with a debt that it cannot pay, after the peer has sent
// p. It gives what the next Receive finds.
func fullOwed(t *testing.T, a, b netio.Conn, p []byte, step netio.Step) {
	t.Helper()
	if len(p) > 0 {
		if err := send(b, p); err != nil {
			t.Fatal(err)
		}
		settle()
	}
	if !queue(a, make([]byte, much)) {
		t.Fatal("not the flusher")
	}
	within(t, "an owed Receive with a full socket", func() {
		if why, err := a.Receive(true, step); why != netio.Full || err != nil {
			t.Errorf("Receive: %v, %v; want Full", why, err)
		}
	})
}

// testLentAfterFull closes a connection while bytes are looked at that were lent
// by a Receive which returned Full.
func testLentAfterFull(t *testing.T, e *env) {
	a, b := e.pair(t)
	want := noise(1, 1000)
	var lent []byte
	fullOwed(t, a, b, want, func(in *buf.In) (bool, error) {
		lent = in.Next(len(want))
		return lent == nil, nil
	})
	if lent == nil { // the data came too late
		a.Abort()
		a.Output().Flush() //nolint:errcheck // gives the role up
		return
	}
	a.Abort()
	// Memory that was given back would be the next one's to use.
	var next [8]buf.In
	for i := range next {
		clear(next[i].Space())
	}
	same(t, "bytes lent before Abort", lent, want)
	for i := range next {
		next[i].Close()
	}
	a.Output().Flush() //nolint:errcheck // gives the role up
	if why, _ := a.Receive(false, none); why != netio.Lost {
		t.Errorf("Receive after Abort: %v", why)
	}
}

// testKickFull has a kick meet a full socket: Full comes first, the kick with
// the next Receive.
func testKickFull(t *testing.T, e *env) {
	a, b := e.pair(t)
	a.Kick()
	fullOwed(t, a, b, nil, none)
	within(t, "the Receive after Full", func() {
		if why, err := a.Receive(false, none); why != netio.Kicked || err != nil {
			t.Errorf("Receive: %v, %v; want Kicked", why, err)
		}
	})
	var g group
	g.Go(func() { receive(b, much) }) //nolint:errcheck // Flush tells
	if err := a.Output().Flush(); err != nil {
		t.Error("Flush:", err)
	}
	g.wait(t, "the peer")
}

// testHandedToKernel resets a connection at every moment: what the peer got was counted
// as handed on before anybody could notice the loss.
func testHandedToKernel(t *testing.T, e *env) {
	for i := range e.size(30) {
		a, b := e.pair(t)
		var got atomic.Int64
		var g group
		g.Go(func() {
			cut := int64(1 + i*7%300)
			take := func(in *buf.In) (bool, error) {
				return got.Add(int64(in.Skip(in.Len()))) < cut, nil
			}
			b.Receive(false, take) //nolint:errcheck // Lost, or enough
			b.Abort()
		})
		g.Go(func() {
			for send(a, make([]byte, 1+i%100)) == nil {
			}
		})
		g.Go(func() {
			for {
				if why, _ := a.Receive(false, none); why == netio.Lost {
					break
				}
			}
			a.Abort()
			if handed := a.Output().HandedToKernel(); int64(handed) < got.Load() {
				t.Errorf("the peer got %d bytes, HandedToKernel says %d", got.Load(), handed)
			}
		})
		g.wait(t, "the reset")
		e.close()
	}
}
