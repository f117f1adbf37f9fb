package conntest

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
)

// A kick makes the Receive that runs, or the next one, return: to look at a context that
// has ended, or to hand the read role over. Kicks are not counted and may be stale, so
// that whoever kicks need not know whether anybody receives; a stale one costs one turn
// of a loop. None may get lost: a caller would not leave when its time is over.

// testKickBefore kicks the next Receive.
func testKickBefore(t *testing.T, e *env) {
	_, b := e.pair(t)
	b.Kick()
	within(t, "Receive", func() {
		if why, err := b.Receive(false, none); why != netio.Kicked || err != nil {
			t.Errorf("Receive: %v, %v; want Kicked", why, err)
		}
	})
}

// testKickStale kicks several times: it costs a loop at most, and no data.
func testKickStale(t *testing.T, e *env) {
	a, b := e.pair(t)
	for i := range 50 {
		for range 1 + i%3 {
			b.Kick()
		}
		if err := send(a, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		within(t, "receive", func() {
			got, err := receive(b, 1)
			if err != nil || got[0] != byte(i) {
				t.Errorf("receive: %v, %v", got, err)
			}
		})
	}
}

// testKickParked kicks a Receive that waits, again and again.
func testKickParked(t *testing.T, e *env) {
	_, b := e.pair(t)
	for range 5 {
		var g group
		g.Go(func() {
			if why, err := b.Receive(false, none); why != netio.Kicked || err != nil {
				t.Errorf("Receive: %v, %v; want Kicked", why, err)
			}
		})
		settle()
		b.Kick()
		g.wait(t, "a parked Receive")
	}
}

// testKickAnytime kicks at every moment: before, on the way in, parked, on the
// way out. No kick is lost and no byte.
func testKickAnytime(t *testing.T, e *env) {
	a, b := e.pair(t)
	rounds := e.size(2000)
	var wanted, seen atomic.Int64 // the kick with this number was asked for, and answered
	var g group
	g.Go(func() { // a caller who cancels
		for i := range rounds {
			wanted.Add(1)
			b.Kick()
			for seen.Load() <= int64(i) {
				runtime.Gosched()
			}
			for range rand.IntN(20) {
				runtime.Gosched()
			}
		}
	})
	g.Go(func() { // traffic
		for i := range rounds {
			if err := send(a, []byte{byte(i)}); err != nil {
				t.Error("send:", err)
			}
		}
	})
	g.Go(func() { // the reader
		n := 0
		for n < rounds || seen.Load() < int64(rounds) {
			why, err := b.Receive(false, func(in *buf.In) (bool, error) {
				for in.Len() > 0 {
					if p := in.Next(1); p[0] != byte(n) {
						t.Errorf("byte %d is %d", n, p[0])
					}
					n++
				}
				return n%3 != 0 && n < rounds, nil
			})
			switch why {
			case netio.Lost:
				t.Error("Receive:", err)
				return
			case netio.Kicked:
				seen.Store(wanted.Load())
			}
		}
	})
	g.wait(t, "kicks")
}

// testKickOwed kicks a Receive before it can pay: the debt is paid all the same.
func testKickOwed(t *testing.T, e *env) {
	a, b := e.pair(t)
	b.Kick()
	if !queue(b, []byte("paid")) {
		t.Fatal("not the flusher")
	}
	within(t, "Receive", func() {
		if why, err := b.Receive(true, none); why != netio.Kicked || err != nil {
			t.Errorf("Receive: %v, %v; want Kicked", why, err)
		}
	})
	within(t, "the peer", func() {
		got, err := receive(a, 4)
		if err != nil {
			t.Error(err)
		}
		same(t, "what was owed", got, []byte("paid"))
	})
}
