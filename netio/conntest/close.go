package conntest

import (
	"context"
	"io"
	"testing"
	"time"
)

// Close sends what is queued, whoever is the flusher, and then ends the connection; its
// context bounds the first, not the second. So a Close whose context has ended already
// is the way to end a connection at once, and in order where nothing is queued. What
// did not leave is told by the error, for the peer cannot know of it: it sees a reset.
// Several Closes are one; the least patient cuts the drain off.

// testCloseSends queues and closes while the flusher is on its way: the peer
// gets it all.
func testCloseSends(t *testing.T, e *env) {
	a, b := e.pair(t)
	want := noise(1, 50<<10)
	var g group
	if queue(a, want) {
		g.Go(func() { a.Output().Flush() }) //nolint:errcheck // Close may be first to end it
	}
	g.Go(func() {
		got, err := receiveAll(b)
		is(t, "the end", err, io.EOF)
		same(t, "what was queued", got, want)
	})
	closeSoon(a) //nolint:errcheck // the peer tells
	g.wait(t, "the peer")
}

// testCloseWaits closes beside a flusher, with more queued than the connection
// holds: the peer, which begins late, gets it all.
func testCloseWaits(t *testing.T, e *env) {
	a, b := e.pair(t)
	want := noise(1, much)
	if !queue(a, want) {
		t.Fatal("not the flusher")
	}
	var g group
	g.Go(func() { a.Output().Flush() }) //nolint:errcheck // Close tells
	g.Go(func() {
		if err := a.Close(t.Context()); err != nil {
			t.Error("Close:", err)
		}
	})
	<-time.After(120 * time.Millisecond) // longer than the fixed moment that there once was
	g.Go(func() {
		got, err := receiveAll(b)
		is(t, "the end", err, io.EOF)
		same(t, "what was queued", got, want)
	})
	g.wait(t, "Close")
}

// testCloseCut closes with more queued than the peer will ever take: Close ends
// with its context, at once if that has ended, and says so.
func testCloseCut(t *testing.T, e *env) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{over, soon(t, 30*time.Millisecond)} {
		a, _ := e.pair(t)
		var g group
		g.Go(func() { send(a, make([]byte, much)) }) //nolint:errcheck // Close ends it
		eventually(patience, func() bool { return a.Output().Queued() > 1<<20 })
		within(t, "Close", func() { is(t, "Close", a.Close(ctx), context.Cause(ctx)) })
		g.wait(t, "the flush")
		if n := a.Output().Queued(); n != 0 {
			t.Errorf("%d bytes are queued after Close", n)
		}
	}
}

// testCloseOver closes with a context that has ended and nothing queued: the
// peer sees an orderly end.
func testCloseOver(t *testing.T, e *env) {
	a, b := e.pair(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Close(over); err != nil {
		t.Error("Close:", err)
	}
	within(t, "the peer", func() {
		_, err := receiveAll(b)
		is(t, "the end", err, io.EOF)
	})
}

// testCloseBeside closes twice against a flusher whose peer reads late: neither
// Close cuts off the other's drain.
func testCloseBeside(t *testing.T, e *env) {
	a, b := e.pair(t)
	want := noise(2, much)
	var g group
	g.Go(func() { send(a, want) }) //nolint:errcheck // the peer tells
	eventually(patience, func() bool { return a.Output().Queued() > 1<<20 })
	for range 3 {
		g.Go(func() {
			if err := a.Close(t.Context()); err != nil {
				t.Error("Close:", err)
			}
			if a.Output().Err() == nil {
				t.Error("Close returned before the connection was closed")
			}
		})
	}
	settle()
	g.Go(func() {
		got, err := receiveAll(b)
		is(t, "the end", err, io.EOF)
		same(t, "what was queued", got, want)
	})
	g.wait(t, "Close")
}

// testCloseSooner cuts off a Close by another one whose context ends first.
func testCloseSooner(t *testing.T, e *env) {
	a, _ := e.pair(t)
	var g group
	g.Go(func() { send(a, make([]byte, much)) }) //nolint:errcheck // Close ends it
	eventually(patience, func() bool { return a.Output().Queued() > 1<<20 })
	g.Go(func() {
		if a.Close(context.Background()) == nil {
			t.Error("Close says that everything was sent")
		}
	})
	settle()
	within(t, "the second Close", func() {
		if a.Close(soon(t, time.Millisecond)) == nil {
			t.Error("the second Close says that everything was sent")
		}
	})
	g.wait(t, "the first Close")
}
