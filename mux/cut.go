package mux

import (
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/wire"
)

// maxBatch bounds the events that are cut before they are looked at.
const maxBatch = 128

// fewEvents is how many events a connection keeps the memory for.
const fewEvents = 8

// A batch is the events that were cut and are to be looked at. The memory of a large
// one is borrowed: a connection that sleeps would keep 30 KB of it, and nobody
// accounts for that.
type batch struct {
	list []wire.Event
	few  []wire.Event // not nil: list is borrowed, and this is the connection's own
}

// batches is a pool of plain memory: what is in it refers to nothing.
var batches = sync.Pool{New: func() any { return new([maxBatch]wire.Event) }}

func (b *batch) add(ev wire.Event) {
	if len(b.list) == fewEvents && b.few == nil {
		b.few = b.list
		b.list = append(batches.Get().(*[maxBatch]wire.Event)[:0], b.few...)
		clear(b.few)
	}
	b.list = append(b.list, ev)
}

// reset empties the batch, whose events were seen to.
func (b *batch) reset() {
	clear(b.list)
	if b.few != nil {
		batches.Put((*[maxBatch]wire.Event)(b.list[:maxBatch]))
		b.list, b.few = b.few, nil
	}
	b.list = b.list[:0]
}

// cut takes whole frames off in until none is left. It is the step of both
// halves' Receive, and does nothing but cut: it runs while the descriptor's
// read lock is held.
func cut(s wire.Session, in *buf.In, b *batch, rest *frameTimer) (more bool, err error) {
	had := len(b.list)
	for len(b.list) < maxBatch {
		ev, need, err := s.Cut(in)
		if ev.Flags != 0 {
			b.add(ev)
		}
		if err != nil {
			return false, err
		}
		if ev.Flags == 0 {
			in.Expect(need)
			rest.set(in.Len() > 0, len(b.list) > had, s.Unfinished())
			return len(b.list) == 0, nil
		}
	}
	rest.stop() // what may be there besides is looked at in the next turn
	return false, nil
}

// A frameTimer ends a connection whose peer began a frame and does not finish
// it, or has messages in pieces of which nothing more comes. Only the time in
// which this side reads counts. Owned by the reader.
type frameTimer struct {
	frame, pieces restTimer
	last          uint64 // what Unfinished was
}

func newFrameTimer(nc netio.Conn, limit time.Duration) frameTimer {
	t := restTimer{nc: nc, limit: limit}
	return frameTimer{frame: t, pieces: t}
}

// set tells whether a started frame waits for its rest, whether frames were cut
// before it, so that it is not the one that waited last time, and what the
// session's Unfinished is.
func (t *frameTimer) set(partial, another bool, unfinished uint64) {
	t.frame.set(partial, another)
	if unfinished != 0 || t.last != 0 {
		t.pieces.set(unfinished != 0, unfinished != t.last)
		t.last = unfinished
	}
}

// stop ends both.
func (t *frameTimer) stop() {
	t.frame.set(false, false)
	t.pieces.set(false, false)
}

// pause is for a reader that does not read: what is missing may be there.
func (t *frameTimer) pause() {
	t.frame.pause()
	t.pieces.pause()
}

// resume is for one that is about to.
func (t *frameTimer) resume() {
	t.frame.resume()
	t.pieces.resume()
}

// A restTimer aborts a connection that something is missing from.
type restTimer struct {
	nc    netio.Conn
	limit time.Duration
	timer *time.Timer
	armed bool          // something is missing
	until time.Time     // armed: when the timer fires, or
	left  time.Duration // paused: what is left of its time; 0: it runs
}

// set tells whether something is missing, and whether it is something else than
// last time.
func (t *restTimer) set(missing, another bool) {
	switch {
	case missing && (!t.armed || another):
		t.start(t.limit)
	case !missing && t.armed:
		t.timer.Stop()
	}
	t.armed = missing
}

func (t *restTimer) start(d time.Duration) {
	t.until, t.left = time.Now().Add(d), 0
	if t.timer == nil {
		t.timer = time.AfterFunc(d, t.nc.Abort)
	} else {
		t.timer.Reset(d)
	}
}

func (t *restTimer) pause() {
	if t.armed && t.left == 0 {
		t.timer.Stop()
		t.left = max(time.Until(t.until), 1)
	}
}

func (t *restTimer) resume() {
	if t.armed && t.left > 0 {
		t.start(t.left)
	}
}
