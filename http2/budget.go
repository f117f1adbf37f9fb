package http2

import "time"

// A budget bounds how many of something a peer may send: as many as it may in a
// second at once, and so many a second. The zero budget is full.
type budget struct {
	spent float64
	at    time.Time
}

// take reports whether one more is within the budget.
func (b *budget) take(now time.Time, rate int) bool {
	if d := now.Sub(b.at); d > 0 {
		b.spent = max(0, b.spent-d.Seconds()*float64(rate))
		b.at = now
	}
	b.spent++
	return b.spent <= float64(rate)
}

// earnedMost bounds the resets that answered calls have earned: the callers of a
// client may all time out together. A connection begins with as many, since a
// client may have opened that many streams before it hears how many it may.
const earnedMost = 1000

// reset counts a stream that the peer has ended, or made us end, before its time.
func (s *Session) reset() bool {
	o := &s.out
	if s.side == Client {
		return true // it can end but what we have opened
	}
	if o.earned > 0 {
		o.earned--
		return true
	}
	return o.resets.take(s.in.now, s.cfg.Resets)
}

// ping counts one that asks for an answer. Those that follow what was sent are for
// free: some peers measure the way with each that they get.
func (s *Session) ping() bool {
	o := &s.out
	if o.sent {
		o.sent = false
		return true
	}
	return o.pings.take(s.in.now, s.cfg.Pings)
}

// update counts an update of a window.
func (s *Session) update() bool {
	o := &s.out
	if o.credits > 0 {
		o.credits--
		return true
	}
	return o.updates.take(s.in.now, s.cfg.Updates)
}
