package conntest

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
)

// The net.Conn of a connection: for code that knows no other, such as a sniffing server
// that hands a connection on to HTTP. What was received and not taken, and what is queued,
// comes before. Deadlines are points in time, as package net has them, and may be
// changed while somebody waits; kicks and wakes that were meant for an engine are over.

// testNetConn echoes over the net.Conn view.
func testNetConn(t *testing.T, e *env) {
	a, b := e.pair(t)
	na, nb := a.NetConn(), b.NetConn()
	want := noise(1, e.size(2<<20))
	var g group
	g.Go(func() {
		io.CopyN(nb, nb, int64(len(want))) //nolint:errcheck // the other side tells
	})
	g.Go(func() {
		if n, err := na.Write(want); n != len(want) || err != nil {
			t.Errorf("Write: %d, %v", n, err)
		}
	})
	g.Go(func() {
		got := make([]byte, len(want))
		if n, err := io.ReadFull(na, got); err != nil {
			t.Errorf("Read: %d, %v", n, err)
		}
		same(t, "echo", got, want)
	})
	g.wait(t, "echo")
	if na.LocalAddr() == nil || na.RemoteAddr() == nil {
		t.Error("no addresses")
	}
	na.Close() //nolint:errcheck // never fails
	within(t, "Read", func() {
		if n, err := nb.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("Read after the peer's Close: %d, %v", n, err)
		}
	})
	nb.Close() //nolint:errcheck // never fails
}

// timesOut fails unless err is a timeout, as callers of net ask for it.
func timesOut(t *testing.T, what string, err error) {
	t.Helper()
	ne, ok := errors.AsType[net.Error](err)
	if !ok || !ne.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: %v, want a timeout", what, err)
	}
}

// testNetConnDeadlines sets deadlines in the past and the future, before and
// during reads and writes.
func testNetConnDeadlines(t *testing.T, e *env) {
	a, b := e.pair(t)
	na, nb := a.NetConn(), b.NetConn()
	past := time.Unix(1, 0)
	read := func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err }
	within(t, "Read", func() {
		na.SetReadDeadline(past) //nolint:errcheck // Read tells
		timesOut(t, "Read after its deadline", read(na))
		na.SetReadDeadline(time.Now().Add(5 * time.Millisecond)) //nolint:errcheck // Read tells
		timesOut(t, "Read until its deadline", read(na))
		timesOut(t, "another Read", read(na))
		na.SetReadDeadline(time.Time{}) //nolint:errcheck // Read tells
		var g group
		g.Go(func() { timesOut(t, "Read while its deadline is set", read(na)) })
		settle()
		na.SetDeadline(past) //nolint:errcheck // Read tells
		g.Wait()
	})
	na.SetDeadline(time.Time{}) //nolint:errcheck // Read tells
	within(t, "Read without a deadline", func() {
		if _, err := nb.Write([]byte("x")); err != nil {
			t.Error("Write:", err)
		}
		if err := read(na); err != nil {
			t.Error("Read:", err)
		}
	})
	within(t, "Write", func() {
		na.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)) //nolint:errcheck // Write tells
		_, err := na.Write(make([]byte, much))
		timesOut(t, "Write until its deadline", err)
	})
	var g group
	na.SetWriteDeadline(time.Time{}) //nolint:errcheck // Write tells
	g.Go(func() {
		_, err := na.Write(make([]byte, much))
		timesOut(t, "Write while its deadline is set", err)
	})
	settle()
	na.SetWriteDeadline(past) //nolint:errcheck // Write tells
	g.wait(t, "Write")
	a.Abort()
	b.Abort()
	nb.Close() //nolint:errcheck // gives back what is unread
	na.Close() //nolint:errcheck // gives back what is unread
}

// testNetConnLeftover looks at the first bytes, as a sniffing server does, and
// hands the connection on with them.
func testNetConnLeftover(t *testing.T, e *env) {
	a, b := e.pair(t)
	if err := send(a, []byte("GET / ")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Receive(false, none); err != nil {
		t.Fatal(err)
	}
	nb := b.NetConn()
	if err := send(a, []byte("HTTP/1.1")); err != nil {
		t.Fatal(err)
	}
	within(t, "Read", func() {
		got := make([]byte, 14)
		if _, err := io.ReadFull(nb, got); err != nil {
			t.Error(err)
		}
		same(t, "first bytes", got, []byte("GET / HTTP/1.1"))
	})
	nb.Close() //nolint:errcheck // never fails
}

// testNetConnKicked makes a net.Conn of a connection that was kicked, and woken,
// when nobody waited, and kicks it again: its deadlines are its user's alone.
func testNetConnKicked(t *testing.T, e *env) {
	a, b := e.pair(t)
	b.Kick()
	nb := b.NetConn()
	b.Kick()
	if err := send(a, []byte("for the view")); err != nil {
		t.Fatal(err)
	}
	within(t, "Read", func() {
		got := make([]byte, 12)
		if _, err := io.ReadFull(nb, got); err != nil {
			t.Error("Read:", err)
		}
		same(t, "what was sent", got, []byte("for the view"))
	})
	if _, err := nb.Write([]byte("x")); err != nil {
		t.Error("Write:", err)
	}
	within(t, "the peer", func() {
		if _, err := receive(a, 1); err != nil {
			t.Error("receive:", err)
		}
	})
	nb.Close() //nolint:errcheck // never fails
}

// testNetConnTrickle writes to a peer that takes little at a time: the deadline
// is a point in time, however often there is progress before it.
func testNetConnTrickle(t *testing.T, e *env) {
	a, b := e.pair(t)
	na := a.NetConn()
	var g group
	g.Go(func() {
		step := func(in *buf.In) (bool, error) { return in.Skip(in.Len()) == 0, nil }
		for {
			if why, _ := b.Receive(false, step); why == netio.Lost {
				return
			}
			<-time.After(time.Millisecond)
		}
	})
	within(t, "Write", func() {
		start := time.Now()
		na.SetWriteDeadline(start.Add(50 * time.Millisecond)) //nolint:errcheck // Write tells
		_, err := na.Write(make([]byte, 100<<20))
		d := time.Since(start)
		if err == nil { // a peer that takes that much so soon does not trickle
			t.Logf("everything was written after %v", d)
		} else {
			timesOut(t, "Write until its deadline", err)
		}
		if d > 5*time.Second {
			t.Errorf("Write returned after %v", d)
		}
	})
	a.Abort()
	b.Abort()
	g.wait(t, "the peer")
	na.Close() //nolint:errcheck // gives the role back
}
