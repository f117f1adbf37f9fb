package conntest

import (
	"bytes"
	"context"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
)

// A loss is told once: by the Receive that runs, with Lost, or by OnLost's function if
// none does. A call would wait for ever after a loss that is told to nobody; one that is
// told twice would end twice. An orderly end is io.EOF and comes behind all the data; it
// ends one direction only. Whatever else is sticky: each later use tells the same error.

// testEndWithData ends a side right after its data, 20 times over in each of
// three moments: an edge-triggered reader that trusts a short read never sees
// the end when both come in one event.
func testEndWithData(t *testing.T, e *env) {
	for _, moment := range []string{"parked", "away", "on the way"} {
		for i := range 20 {
			a, b := e.pair(t)
			want := noise(uint64(i), 1+i*100)
			var g group
			reader := func() {
				got, err := receiveAll(b)
				if err != io.EOF {
					t.Errorf("%s: the end is %v", moment, err)
				}
				same(t, moment, got, want)
			}
			writer := func() {
				if !queue(a, want) {
					t.Errorf("%s: not the flusher", moment)
				}
				a.Output().Flush() //nolint:errcheck // the reader tells
				if err := a.CloseWrite(); err != nil {
					t.Errorf("%s: CloseWrite: %v", moment, err)
				}
			}
			switch moment {
			case "parked":
				g.Go(reader)
				for range 10 {
					runtime.Gosched()
				}
				writer()
			case "away":
				writer()
				g.Go(reader)
			default:
				g.Go(reader)
				g.Go(writer)
			}
			g.wait(t, "the end, "+moment)
			e.close()
		}
	}
}

// testHalfClose ends one side, then the other; the second still carries data.
func testHalfClose(t *testing.T, e *env) {
	a, b := e.pair(t)
	want := noise(1, 300<<10)
	var g group
	g.Go(func() {
		if err := a.CloseWrite(); err != nil {
			t.Error("CloseWrite:", err)
		}
		got, err := receiveAll(a)
		is(t, "the end of b's side", err, io.EOF)
		same(t, "b's side", got, want)
	})
	g.Go(func() {
		got, err := receiveAll(b)
		is(t, "the end of a's side", err, io.EOF)
		if len(got) != 0 {
			t.Errorf("got %d bytes", len(got))
		}
		if err := b.Output().Err(); err != nil {
			t.Error("the peer's end is no failure of the output:", err)
		}
		if err := send(b, want); err != nil {
			t.Error("send:", err)
		}
		if err := b.CloseWrite(); err != nil {
			t.Error("CloseWrite:", err)
		}
	})
	g.wait(t, "half-close")
}

// counted is a function for OnLost that counts.
func counted() (f func(), n *atomic.Int32) {
	n = new(atomic.Int32)
	return func() { n.Add(1) }, n
}

// testLossIdle closes the peer while nobody receives.
func testLossIdle(t *testing.T, e *env) {
	for _, end := range []func(netio.Conn){func(c netio.Conn) { closeSoon(c) }, netio.Conn.Abort} {
		a, b := e.pair(t)
		f, n := counted()
		b.OnLost(f)
		end(a)
		if !eventually(patience, func() bool { return n.Load() == 1 }) {
			t.Error("nobody told of the loss")
		}
		closeSoon(b) //nolint:errcheck // never fails
		if n.Load() != 1 {
			t.Errorf("OnLost ran %d times", n.Load())
		}
		late, n := counted()
		b.OnLost(late)
		// Perhaps by who is still about to tell of the loss.
		if !eventually(patience, func() bool { return n.Load() == 1 }) {
			t.Error("OnLost on a closed connection does not run")
		}
	}
}

// testLossUnread closes the peer behind data: what is unread can still be had.
func testLossUnread(t *testing.T, e *env) {
	a, b := e.pair(t)
	f, n := counted()
	b.OnLost(f)
	if err := send(a, []byte("last words")); err != nil {
		t.Fatal(err)
	}
	closeSoon(a) //nolint:errcheck // never fails
	if !eventually(patience, func() bool { return n.Load() == 1 }) {
		t.Error("nobody told of the loss")
	}
	within(t, "Receive", func() {
		got, err := receiveAll(b)
		is(t, "the end", err, io.EOF)
		same(t, "unread data", got, []byte("last words"))
	})
}

// testLossActive closes the peer of a Receive: it reports the loss itself, and
// OnLost's function runs at Close.
func testLossActive(t *testing.T, e *env) {
	a, b := e.pair(t)
	f, n := counted()
	b.OnLost(f)
	var g group
	g.Go(func() {
		why, err := b.Receive(false, none)
		if why != netio.Lost || err != io.EOF {
			t.Errorf("Receive: %v, %v; want Lost, EOF", why, err)
		}
	})
	settle()
	closeSoon(a) //nolint:errcheck // never fails
	g.wait(t, "Receive")
	closeSoon(b) //nolint:errcheck // never fails
	if n.Load() != 1 {
		t.Errorf("OnLost ran %d times", n.Load())
	}
}

// testLossByClose closes and aborts the own side.
func testLossByClose(t *testing.T, e *env) {
	a, b := e.pair(t)
	fa, na := counted()
	fb, nb := counted()
	never, nn := counted()
	a.OnLost(never)
	a.OnLost(fa)
	b.OnLost(never)
	b.OnLost(nil)
	b.OnLost(fb)
	closeSoon(a) //nolint:errcheck // never fails
	b.Abort()
	// b may have been told of a's end first, by a goroutine that Abort does not wait for.
	eventually(patience, func() bool { return nb.Load() == 1 })
	if na.Load() != 1 || nb.Load() != 1 || nn.Load() != 0 {
		t.Errorf("OnLost ran %d times after Close, %d after Abort, %d after it was replaced", na.Load(), nb.Load(), nn.Load())
	}
}

// parked has one goroutine in Receive, one in Flush and one in Wait, ends the
// connection and waits for all of them.
func parked(t *testing.T, e *env, end func(netio.Conn)) {
	a, _ := e.pair(t)
	var g group
	g.Go(func() {
		why, err := a.Receive(false, none)
		if why != netio.Lost {
			t.Errorf("Receive: %v", why)
		}
		is(t, "Receive", err, net.ErrClosed)
	})
	g.Go(func() { is(t, "Flush", send(a, make([]byte, much)), net.ErrClosed) })
	eventually(patience, func() bool { return a.Output().Queued() > 1<<20 })
	g.Go(func() { is(t, "Wait", a.Output().Wait(context.Background(), 1), net.ErrClosed) })
	settle()
	within(t, "the end", func() { end(a) })
	g.wait(t, "who was parked")
	is(t, "Err", a.Output().Err(), net.ErrClosed)
	if queue(a, []byte("too late")) || a.Output().Queued() != 0 {
		t.Error("a closed connection takes output")
	}
	if why, err := a.Receive(false, none); why != netio.Lost {
		t.Errorf("Receive after the end: %v, %v", why, err)
	}
}

func testCloseParked(t *testing.T, e *env) { parked(t, e, func(c netio.Conn) { closeSoon(c) }) }
func testAbortParked(t *testing.T, e *env) { parked(t, e, netio.Conn.Abort) }

// testCloseTwice ends a connection from many sides at a time.
func testCloseTwice(t *testing.T, e *env) {
	a, b := e.pair(t)
	var g group
	for range 4 {
		g.Go(func() { closeSoon(a) })
		g.Go(a.Abort)
		g.Go(func() { closeSoon(b) })
		g.Go(a.Kick)
		g.Go(func() { b.CloseWrite() })
		g.Go(func() { a.OnLost(func() {}) })
	}
	g.wait(t, "Close")
}

// testSticky breaks a connection: one error stays.
func testSticky(t *testing.T, e *env) {
	a, b := e.pair(t)
	b.Abort()
	var first error
	ok := eventually(patience, func() bool {
		first = send(a, bytes.Repeat([]byte("x"), 1000))
		return first != nil
	})
	if !ok {
		t.Fatal("sending to an aborted peer never fails")
	}
	for range 3 {
		if err := send(a, []byte("x")); err != first {
			t.Errorf("the error was %v and is %v", first, err)
		}
	}
	if a.Output().Err() != first || a.Output().Queued() != 0 {
		t.Errorf("Err %v, %d bytes queued", a.Output().Err(), a.Output().Queued())
	}
	within(t, "Receive", func() {
		if why, err := a.Receive(false, func(in *buf.In) (bool, error) { in.Skip(in.Len()); return true, nil }); why != netio.Lost || err == nil {
			t.Errorf("Receive: %v, %v; want Lost", why, err)
		}
	})
}
