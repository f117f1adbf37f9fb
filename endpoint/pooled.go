package endpoint

import (
	"errors"
	"slices"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
)

// loadBytes is what weighs as much as one call more.
const loadBytes = 16 << 10

// kind is what is known of a peer; remembered for later connections.
type kind uint8

const (
	unknown   kind = iota
	multiplex      // says hello
	exclusive      // does not, or was not asked
)

// pooled is a connection of an endpoint; its fields are guarded by Endpoint.mu.
type pooled struct {
	conn     *mux.Conn
	calls    int       // in flight
	load     int       // what they weigh
	most     int       // that its peer takes at once; 0: any number
	settles  bool      // its peer has not said yet how many that are
	muxed    bool      // carries many
	streams  bool      // its first call was a stream: a peer that says no hello takes only streams on it
	used     bool      // it has carried something
	known    bool      // whether it does is settled
	answered bool      // it has brought an answer to a call
	made     time.Time // dialled
	since    time.Time // idle since
}

// load is what a call weighs whose messages have so many bytes.
func load(bytes int) int { return 1 + bytes/loadBytes }

// enter counts a call of so many bytes in. The endpoint's lock is held, or pc is new.
func (pc *pooled) enter(bytes int) {
	pc.calls++
	pc.load += load(bytes)
}

// full reports whether the next call would wait for its peer to have ended another.
func (pc *pooled) full() bool { return pc.most > 0 && pc.calls >= pc.most }

// fits reports whether pc, which has nothing in flight, can carry a call, or
// a stream. Until its peer is known it goes on with what it began with.
func (pc *pooled) fits(stream bool) bool {
	switch {
	case !pc.used:
		return !stream || !pc.known
	case pc.known:
		return !stream
	}
	return pc.streams == stream
}

// untouchedMost is how long after its dial a connection may carry its first call. A
// server ends one on which nothing came, after a second if it drains, and has no
// words for a call that crosses that: it does not know what the connection speaks.
const untouchedMost = 500 * time.Millisecond

// stale reports whether pc was dialled a while ago and nothing was sent on it.
func (pc *pooled) stale() bool {
	return pc.conn.Untouched() && time.Since(pc.made) > untouchedMost
}

// spare counts out the call that pc was dialled for, and that it does not carry.
func (e *Endpoint) spare(pc *pooled, bytes int) {
	e.mu.Lock()
	pc.used = false
	e.mu.Unlock()
	e.release(pc, bytes, false)
}

// known is what the peer has turned out to be.
func (e *Endpoint) known() kind {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.kind
}

// changed is told by a connection that its status may differ.
func (e *Endpoint) changed(pc *pooled) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settleLocked(pc)
}

// greeted settles a connection whose peer has said hello, if it has not told yet: who
// has waited for that would find no connection with room, and dial one.
func (e *Endpoint) greeted(pc *pooled) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !pc.known {
		e.settleLocked(pc)
	}
}

// settleLocked brings pc onto the list where it belongs.
func (e *Endpoint) settleLocked(pc *pooled) {
	if _, ok := e.mu.all[pc]; !ok {
		return
	}
	defer e.seatLocked()
	caps, usable := pc.conn.Status()
	if !usable {
		if !pc.used { // else its call tells: who gives one up ends the connection
			e.uselessLocked(pc, pc.conn.Err())
		}
		e.dropLocked(pc)
		return
	}
	e.soundLocked(pc)
	pc.most, pc.settles = caps.Calls, caps.Settling
	if pc.known || caps.Pending {
		return
	}
	pc.known, pc.muxed = true, caps.Mux
	e.mu.kind = exclusive
	switch {
	case pc.muxed:
		e.mu.kind = multiplex
		e.mu.idle = without(e.mu.idle, pc)
		e.mu.muxed = append(e.mu.muxed, pc)
		for len(e.mu.queue) > 0 {
			e.passLocked() // there is room for all
		}
	case pc.streams:
		e.mu.idle = without(e.mu.idle, pc)
		e.mu.opened = append(e.mu.opened, pc)
	}
}

// dropLocked forgets a connection that takes no new calls; it closes itself
// when its last call has ended.
func (e *Endpoint) dropLocked(pc *pooled) {
	delete(e.mu.all, pc)
	e.open.Dec()
	e.mu.idle = without(e.mu.idle, pc)
	e.mu.muxed = without(e.mu.muxed, pc)
	e.mu.opened = without(e.mu.opened, pc)
	e.work.Go(func() {
		e.seat() // another may be dialled in its place
		pc.conn.Shutdown(e.ctx)
	})
}

// without is list without pc; it reuses the list's memory.
func without(list []*pooled, pc *pooled) []*pooled {
	return slices.DeleteFunc(list, func(x *pooled) bool { return x == pc })
}

// dropAfter drops pc if err, of a call on it, says that the next call had better not meet it.
//
// A connection that takes no calls tells, and is gone from the endpoint by then; one
// that refuses all the same is not to be given every call from now on.
//
// And its server may be about to close it. Many servers, those of Kitex and
// Apache Thrift among them, close behind the exception that says that they did
// not understand the request; the next call would meet that close.
func (e *Endpoint) dropAfter(pc *pooled, err error) {
	fault, ok := errors.AsType[*rpc.Error](err)
	fails := ok && !fault.Remote && fault.Code == rpc.Unavailable
	refuses := fails && fault.Sent.Retryable()
	closes := ok && fault.Remote && (fault.Code == rpc.Unimplemented || fault.Code == rpc.InvalidArgument)
	if !fails && !closes {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if fails {
		e.uselessLocked(pc, fault.Err)
	}
	e.settleLocked(pc)
	if _, ok := e.mu.all[pc]; ok && (refuses || closes && !pc.muxed && !pc.streams) {
		e.dropLocked(pc)
	}
}

// release counts a call of so many bytes out of pc, which its peer has answered
// or not.
func (e *Endpoint) release(pc *pooled, bytes int, answered bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.heard = e.mu.heard || answered
	pc.answered = pc.answered || answered
	e.soundLocked(pc)
	pc.calls--
	pc.load -= load(bytes)
	defer e.seatLocked()
	if pc.calls > 0 {
		return
	}
	defer e.passLocked()
	if _, ok := e.mu.all[pc]; !ok {
		return
	}
	pc.since = time.Now()
	// One that carries a call at a time is idle now, unless its status says otherwise:
	// a peer may have said with its answer that it carries many, or that it goes.
	if !pc.muxed {
		e.settleLocked(pc)
		if _, ok := e.mu.all[pc]; ok && !pc.muxed && !slices.Contains(e.mu.opened, pc) {
			e.mu.idle = append(e.mu.idle, pc)
		}
	}
	if e.mu.reaper == nil && !e.mu.closed {
		e.mu.reaper = time.AfterFunc(e.cfg.Limits.Idle, e.reap)
	}
}

// reap closes connections that had no call for longer than the limit. Its
// timer runs only while there is something idle.
func (e *Endpoint) reap() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closed {
		return
	}
	e.mu.reaper = nil
	next := time.Duration(-1)
	for pc := range e.mu.all {
		if pc.calls > 0 {
			continue
		}
		left := e.cfg.Limits.Idle - time.Since(pc.since)
		if left <= 0 {
			e.dropLocked(pc)
		} else if next < 0 || left < next {
			next = left
		}
	}
	if next >= 0 {
		e.mu.reaper = time.AfterFunc(next, e.reap)
	}
}
