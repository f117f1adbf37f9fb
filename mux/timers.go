package mux

import (
	"time"

	"github.com/limosa-rpc/limosa/wire"
)

// An alarm calls a function once a time is over. Guarded by the output lock, which
// the function has to take.
type alarm struct {
	timer   *time.Timer // made by the first start
	armed   bool        // until its user says otherwise
	stopped bool        // for good: it is not set any more
}

// again sets an alarm that was started before, to d from now, unless it was stopped.
// False: it was not started, and is to be. (To name the function each time would allocate
// each time.)
func (a *alarm) again(d time.Duration) bool {
	if a.stopped {
		return true
	}
	if a.timer == nil {
		return false
	}
	a.armed = true
	a.timer.Reset(d)
	return true
}

// start sets an alarm for the first time, unless it was stopped.
func (a *alarm) start(d time.Duration, f func()) {
	if a.stopped {
		return
	}
	a.armed = true
	a.timer = time.AfterFunc(d, f)
}

// stop ends it for good: it is not armed again, and keeps nothing of its connection. Its
// function may run once more, if its time was over already.
func (a *alarm) stop() {
	a.armed, a.stopped = false, true
	if a.timer != nil {
		a.timer.Stop()
	}
}

// A frameTimer ends a connection whose peer began a frame and does not finish
// it, or has messages in pieces of which nothing more comes. Only the time in
// which this side reads counts. Owned by the reader.
type frameTimer struct {
	frame, pieces missingTimer
	last          uint64 // what Unfinished was
}

// newFrameTimer makes one that aborts the connection of h; nothing is missing yet.
func newFrameTimer(h *half, limit time.Duration) frameTimer {
	return frameTimer{frame: missingTimer{over: h.nc.Abort, limit: limit}, pieces: missingTimer{over: h.lookPieces, limit: limit}}
}

// lookPieces ends a connection that has messages of which nothing more comes, unless all of
// them are for calls that were given up since: the reader does not know yet.
func (h *half) lookPieces() {
	if a, ok := h.sess.(wire.Awaiter); ok {
		h.out.Lock()
		awaited := a.Awaited()
		if h.unlock(); !awaited {
			return
		}
	}
	h.nc.Abort()
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

// A missingTimer ends a connection that something is missing from. Owned by the reader.
type missingTimer struct {
	over  func() // ends it
	limit time.Duration
	timer *time.Timer
	armed bool          // something is missing
	until time.Time     // armed: when the timer fires, or
	left  time.Duration // paused: what is left of its time; 0: it runs
}

// set tells whether something is missing, and whether it is something else than
// last time.
func (t *missingTimer) set(missing, another bool) {
	switch {
	case missing && (!t.armed || another):
		t.start(t.limit)
	case !missing && t.armed:
		t.timer.Stop()
	}
	t.armed = missing
}

// start has what is left of the time begin now.
func (t *missingTimer) start(d time.Duration) {
	t.until, t.left = time.Now().Add(d), 0
	if t.timer == nil {
		t.timer = time.AfterFunc(d, t.over)
	} else {
		t.timer.Reset(d)
	}
}

// pause keeps what is left of the time, at least a nanosecond: 0 says that it runs. A
// timer that has just fired aborts all the same.
func (t *missingTimer) pause() {
	if t.armed && t.left == 0 {
		t.timer.Stop()
		t.left = max(time.Until(t.until), 1)
	}
}

// resume has a paused time go on.
func (t *missingTimer) resume() {
	if t.armed && t.left > 0 {
		t.start(t.left)
	}
}
