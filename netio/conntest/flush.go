package conntest

import (
	"errors"
	"io"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
)

// A debt is the flush of what somebody has queued, as the flusher. Receive takes it over
// (owed) and pays it before it parks, so that a caller that sends and then waits needs
// no system call to find that there is nothing yet, and no other goroutine to send.
// It reads first: what has come may make sending needless, such as the peer's goodbye.
// It must never park in the send: two sides that both write more than the sockets hold
// would wait for each other. So it returns Full, and the debt is the caller's again.

// much is more than a connection takes at once, by more than a MiB: whoever makes sockets
// for the suite bounds each of their buffers to a MiB, of which the kernel makes two.
const much = 9 << 20

// testReceiveFirst has an owed Receive look for input before it sends.
func testReceiveFirst(t *testing.T, e *env) {
	a, b := e.pair(t)
	if err := send(b, []byte("early")); err != nil {
		t.Fatal(err)
	}
	settle()
	if !queue(a, []byte("owed")) {
		t.Fatal("not the flusher")
	}
	queued := -1
	within(t, "Receive", func() {
		why, err := a.Receive(true, func(in *buf.In) (bool, error) {
			queued = a.Output().Queued()
			in.Skip(in.Len())
			return false, nil
		})
		if why != netio.Enough || err != nil {
			t.Errorf("Receive: %v, %v", why, err)
		}
	})
	if queued != 4 {
		t.Errorf("when input was seen, %d bytes were still queued, want all 4", queued)
	}
	within(t, "the peer", func() {
		got, err := receive(b, 4)
		if err != nil {
			t.Error(err)
		}
		same(t, "what was owed", got, []byte("owed"))
	})
}

// testOwedPaid parks with a debt, as a caller does: the peer's answer is what
// wakes it.
func testOwedPaid(t *testing.T, e *env) {
	a, b := e.pair(t)
	var g group
	g.Go(func() {
		for range 100 {
			p, err := receive(b, 4)
			if err == nil {
				err = send(b, p)
			}
			if err != nil {
				t.Error("echo:", err)
				return
			}
		}
	})
	g.Go(func() {
		for range 100 {
			owed := queue(a, []byte("ping"))
			if !owed && !e.caps.NoFull { // there, somebody else may still flush
				t.Error("not the flusher, though the debt was paid")
				return
			}
			n := 0
			step := func(in *buf.In) (bool, error) { n += in.Skip(4); return n < 4, nil }
			if why, err := a.Receive(owed, step); why != netio.Enough {
				t.Error("Receive:", why, err)
				return
			}
		}
	})
	g.wait(t, "ping-pong")
}

// testOwedFull owes more than the socket takes: Receive says Full and parks
// nowhere, and the flusher sends the rest.
func testOwedFull(t *testing.T, e *env) {
	a, b := e.pair(t)
	want := noise(3, much)
	if !queue(a, want) {
		t.Fatal("not the flusher")
	}
	within(t, "an owed Receive with a full socket", func() {
		if why, err := a.Receive(true, none); why != netio.Full || err != nil {
			t.Errorf("Receive: %v, %v; want Full", why, err)
		}
	})
	if a.Output().Queued() == 0 {
		t.Error("nothing is queued after Full")
	}
	var g group
	g.Go(func() { // who takes the read role over
		got, err := receive(a, 4)
		if err != nil || string(got) != "done" {
			t.Errorf("receive: %q, %v", got, err)
		}
	})
	g.Go(func() {
		if err := a.Output().Flush(); err != nil {
			t.Error("Flush:", err)
		}
	})
	g.Go(func() {
		got, err := receive(b, len(want))
		if err != nil {
			t.Error("receive:", err)
		}
		same(t, "what was queued", got, want)
		send(b, []byte("done")) //nolint:errcheck // the reader tells
	})
	g.wait(t, "the flush")
	if n := a.Output().Queued(); n != 0 {
		t.Errorf("%d bytes are queued after Flush", n)
	}
}

// testOwedFullError has a step fail while the owed flush meets a full socket:
// Full comes first, the step's error with the next Receive.
func testOwedFullError(t *testing.T, e *env) {
	a, b := e.pair(t)
	bad := errors.New("bad magic")
	if err := send(b, []byte("x")); err != nil {
		t.Fatal(err)
	}
	settle()
	queue(a, make([]byte, much))
	fail := func(*buf.In) (bool, error) { return true, bad }
	within(t, "Receive", func() {
		if why, err := a.Receive(true, fail); why != netio.Full || err != nil {
			t.Errorf("Receive: %v, %v; want Full", why, err)
		}
	})
	var g group
	g.Go(func() {
		if why, err := a.Receive(false, none); why != netio.Lost || err != bad {
			t.Errorf("Receive: %v, %v; want Lost and the step's error", why, err)
		}
	})
	g.Go(func() { receive(b, much) }) //nolint:errcheck // Flush tells
	if err := a.Output().Flush(); err != nil {
		t.Error("Flush:", err)
	}
	g.wait(t, "the flush")
}

// testOwedAtEnd owes an answer to a peer that has ended its side, as one-shot
// clients do: it is sent though Receive returns Lost.
func testOwedAtEnd(t *testing.T, e *env) {
	for range 20 {
		a, b := e.pair(t)
		var g group
		g.Go(func() {
			if err := send(a, []byte("ask")); err != nil {
				t.Error("send:", err)
			}
			if err := a.CloseWrite(); err != nil {
				t.Error("CloseWrite:", err)
			}
			got, err := receive(a, 6)
			if err != nil {
				t.Error("receive:", err)
			}
			same(t, "answer", got, []byte("answer"))
		})
		g.Go(func() {
			if _, err := receive(b, 3); err != nil {
				t.Error("receive:", err)
			}
			if !queue(b, []byte("answer")) {
				t.Error("not the flusher")
			}
			why, err := b.Receive(true, none)
			if why != netio.Lost || err != io.EOF {
				t.Errorf("Receive: %v, %v; want Lost, EOF", why, err)
			}
		})
		g.wait(t, "the answer")
		e.close()
	}
}

// testTryFlush sends what goes without waiting, and counts what was handed on.
func testTryFlush(t *testing.T, e *env) {
	a, b := e.pair(t)
	if !queue(a, []byte("small")) || a.Output().HandedToKernel() != 0 {
		t.Fatalf("before the flush %d bytes were handed on", a.Output().HandedToKernel())
	}
	if full, err := a.Output().TryFlush(); full || err != nil {
		t.Fatalf("TryFlush: %v, %v", full, err)
	}
	if n, q := a.Output().HandedToKernel(), a.Output().Queued(); n != 5 || q != 0 {
		t.Errorf("%d bytes were handed on, %d are queued", n, q)
	}
	want := noise(1, much)
	queue(a, want)
	within(t, "TryFlush", func() {
		if full, err := a.Output().TryFlush(); !full || err != nil {
			t.Errorf("TryFlush of too much: %v, %v", full, err)
		}
	})
	var g group
	g.Go(func() {
		got, err := receive(b, 5+much)
		if err != nil {
			t.Error("receive:", err)
		}
		same(t, "what was queued", got[5:], want)
	})
	if err := a.Output().Flush(); err != nil {
		t.Error("Flush:", err)
	}
	g.wait(t, "the flush")
	if n := a.Output().HandedToKernel(); n != 5+much {
		t.Errorf("%d bytes were handed on", n)
	}
}
