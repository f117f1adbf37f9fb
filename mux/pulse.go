package mux

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/wire"
)

const (
	// deafDeadlines is how many calls in a row may meet their deadline without
	// a byte having come while they waited, before the peer is asked.
	deafDeadlines = 3
	// answerWithin is how soon a peer that was asked has to say anything, before
	// its connection gets no more calls.
	answerWithin = time.Second
)

// errSilent is why a connection is given up whose peer is no more to be heard.
var errSilent = errors.New("the peer was silent, and did not answer a ping")

// A pulse notices that a peer is gone of which nobody tells: its machine stopped,
// or packets vanish on the way. Who waits for it would wait for ever, and who
// calls meanwhile would be given the same connection.
//
// Nothing is sent on a connection that is well, or idle. After three deadlines in
// a row, or Limits.Silence, during which calls waited and not a byte came, the
// peer is asked for a sign of life. Without one within a second the connection
// takes no more calls, so that a pool replaces it; without one for
// Limits.Silence more it ends.
//
// A peer that takes many pings for an attack (Caps.Probes) is asked once like any other,
// and then at most every Limits.Keepalive.
//
// A connection without ids is not asked: what speaks no ids knows no ping. It
// ends with the deadline of its one call, or by TCP's own means.
type pulse struct {
	// Atomic: counts receipts of bytes.
	beats atomic.Uint32

	// Owned by the read role: bytes that were left in the input.
	left int

	// Guarded by the output lock.
	alarm           // the next look
	seen  uint32    // beats at the last look
	still int       // looks in a row during which calls waited and nothing came
	deaf  int       // deadlines, see deafDeadlines
	asked time.Time // when a ping was sent that nothing has followed; zero: none
	last  time.Time // when one was sent; zero: never
}

// note is told what the input holds before and after each cut.
func (p *pulse) note(in *buf.In) {
	if in.Len() != p.left {
		p.beats.Add(1)
	}
}

// watchLocked sees to it that somebody looks while calls wait.
func (c *Conn) watchLocked() {
	p := &c.pulse
	if p.armed {
		return
	}
	p.seen, p.still = p.beats.Load(), 0
	c.feelInLocked(c.lim.Silence / 2)
}

// feelInLocked has somebody look in d; an alarm that is set already is moved.
func (c *Conn) feelInLocked(d time.Duration) {
	if !c.pulse.again(d) {
		c.pulse.start(d, c.feel)
	}
}

// expiredLocked counts a call whose deadline is over; since is what beats was
// when it was sent.
func (c *Conn) expiredLocked(since uint32) (fx effects) {
	p := &c.pulse
	if p.beats.Load() != since {
		p.deaf = 0
		return fx
	}
	if p.deaf++; p.deaf >= deafDeadlines && p.asked.IsZero() && c.life.door == open {
		return c.askLocked()
	}
	return fx
}

// askLocked asks the peer for a sign of life, and has somebody read it.
func (c *Conn) askLocked() (fx effects) {
	p := &c.pulse
	if !c.caps.Mux || c.life.door == dead || c.caps.Probes && !p.last.IsZero() && time.Since(p.last) < c.lim.Keepalive+probeSlack {
		return fx
	}
	if c.appendLocked(&wire.Event{Flags: wire.Ping}, nil) != nil {
		return fx
	}
	p.asked, p.seen = time.Now(), p.beats.Load()
	p.last = p.asked
	c.feelInLocked(answerWithin)
	return c.life.read()
}

// feel looks whether the peer has been heard.
func (c *Conn) feel() {
	c.out.Lock()
	fx, abort := c.feelLocked()
	c.letInLocked()
	c.unlock()
	if abort {
		c.nc.Abort()
	}
	c.carryOut(fx)
}

// feelLocked is feel. abort: the connection is to be given up.
func (c *Conn) feelLocked() (fx effects, abort bool) {
	p := &c.pulse
	if p.armed = c.life.door != dead; !p.armed {
		return fx, false
	}
	now := p.beats.Load()
	heard := now != p.seen
	p.seen = now
	switch {
	case heard:
		p.asked, p.deaf, p.still = time.Time{}, 0, 0
	case !p.asked.IsZero():
		if left := c.lim.Silence - time.Since(p.asked); left > 0 {
			c.feelInLocked(left)
			return c.life.close(leaving).and(c.life.unread()).and(c.life.idle()), false
		}
		c.why = errSilent
		return fx, true
	case c.life.inflight > 0:
		if p.still++; p.still < 2 {
			break
		}
		if fx = c.askLocked(); !p.asked.IsZero() {
			p.still = 0
			return fx, false
		}
	}
	if c.life.inflight == 0 {
		p.armed = false
		return c.life.unread(), false // who was started to read the answer
	}
	c.feelInLocked(c.lim.Silence / 2)
	return fx, false
}
