package http2

import (
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
)

// # Windows
//
// A send window of a stream is kept as its difference to the initial one, so that
// SETTINGS which change that are one assignment, and windows below zero come by
// themselves. What does not fit into the windows when a frame is ended is kept, in
// its stream, and leaves in Apply when the peer grants more, a frame of each stream
// in turn. Trailers behind it are kept as fields and encoded when they leave: a
// header block leaves in the order in which it was encoded.
//
// The connection's receive window is granted as bytes arrive. It must not depend on
// consumption, or a thousand slow streams would stop everybody else. A stream's is
// granted as its bytes are consumed; a gathered body's as they arrive.

// keptFactor times MessageBytes is what may wait for windows.
const keptFactor = 4

// kept is what of a stream waits for windows.
type kept struct {
	body   buf.Out
	end    bool // nothing comes behind
	tail   *Head
	fields []Field
	at     int  // its stream's place in waiting
	ready  bool // its stream is in ready
}

func (k *kept) hasTail() bool { return k.tail != nil || len(k.fields) > 0 }

// room is how many bytes a stream may send now.
func (s *Session) room(st *stream) int { return min(s.out.window, s.out.initial+st.send) }

// keeps gives the place where what a stream has to say waits.
func (s *Session) keeps(st *stream) *kept {
	o := &s.out
	if st.kept == nil {
		s.tidyReady()
		st.kept = &kept{at: len(o.waiting)}
		o.waiting = append(o.waiting, st)
	}
	return st.kept
}

// dropKept forgets what of a stream waits.
func (s *Session) dropKept(st *stream) {
	k, o := st.kept, &s.out
	if k == nil {
		return
	}
	o.kept -= k.body.Len()
	k.body.Reset()
	// The last of the list takes its place: the order in which streams wait does not matter, but a
	// connection with thousands of them must not be searched for one.
	last := o.waiting[len(o.waiting)-1]
	o.waiting[k.at], last.kept.at = last, k.at
	o.waiting[len(o.waiting)-1] = nil
	o.waiting = o.waiting[:len(o.waiting)-1]
	st.kept = nil
}

// sendKept sends the next frame of what waits in a stream; false: none could leave.
func (s *Session) sendKept(out *buf.Out, st *stream) bool {
	k, o := st.kept, &s.out
	left := k.body.Len()
	n := min(left, frameMax, max(0, s.room(st)))
	// Nothing left, or an end without a body, needs no window.
	if n == 0 && left > 0 {
		return false
	}
	f := frame{typ: typeData, id: st.id, size: n}
	if k.end && !k.hasTail() && n == left {
		f.flags = flagEnd
	}
	if n > 0 || f.flags != 0 {
		putHead(out, f)
		out.MovePart(&k.body, n)
		s.spend(st, n, n < left && n < frameMax)
		o.kept -= n
		o.moved++
	}
	if n < left {
		return true
	}
	if k.end && k.hasTail() {
		s.putBlock(out, frame{typ: typeHeaders, id: st.id, flags: flagEnd}, k.tail, k.fields, nil)
	}
	end := k.end
	s.dropKept(st)
	if end {
		s.endLocal(out, st)
	}
	return true
}

// dribble is the least that a frame which was cut short by a window carries if it is
// to earn updates of windows: a peer that grants a byte at a time pays for it.
const dribble = 1024

// spend takes n bytes of the send windows; cut: the frame is shorter for their sake.
func (s *Session) spend(st *stream, n int, cut bool) {
	o := &s.out
	o.window -= n
	st.send -= n
	o.sent = true
	// Two for a frame: one for its stream's window and one for the connection's.
	if !cut || n >= dribble {
		o.credits = min(o.credits+2, creditsMost)
	}
}

const creditsMost = 10000

// wake puts a stream that waits among those that can send, if its own window lets it.
func (s *Session) wake(st *stream) {
	if k := st.kept; k != nil && !k.ready && s.out.initial+st.send > 0 {
		k.ready = true
		s.out.ready = append(s.out.ready, st)
	}
}

// tidyReady takes those out of the list of ready streams that have ended since, once
// they are most of it: while the connection's window is used up nobody else does.
func (s *Session) tidyReady() {
	o := &s.out
	if len(o.ready) < 64 || len(o.ready) < 2*len(o.waiting) {
		return
	}
	k := 0
	for _, st := range o.ready {
		if st != nil && st.kept != nil && st.kept.ready {
			st.kept.ready = false // it may be there twice
			o.ready[k] = st
			k++
		}
	}
	clear(o.ready[k:])
	o.ready = o.ready[:k]
	for _, st := range o.ready {
		st.kept.ready = true
	}
}

// flush sends what waits, a frame of each stream in turn, as far as windows go.
func (s *Session) flush(out *buf.Out) {
	o := &s.out
	for i := 0; i < len(o.ready) && o.window > 0; i++ {
		st := o.ready[i]
		o.ready[i] = nil
		if st.kept != nil && st.kept.ready {
			st.kept.ready = false
			if s.sendKept(out, st) && st.kept != nil {
				s.wake(st)
			}
		}
		if i >= 64 && i > len(o.ready)/2 { // the list must not grow for ever
			o.ready = append(o.ready[:0], o.ready[i+1:]...)
			i = -1
		}
	}
	k := 0
	for _, st := range o.ready {
		if st != nil {
			o.ready[k] = st
			k++
		}
	}
	clear(o.ready[k:])
	o.ready = o.ready[:k]
}

// credited takes a WINDOW_UPDATE in; ev's stream is st, nil for the connection.
func (s *Session) credited(out *buf.Out, st *stream, ev *Event) {
	o := &s.out
	if !s.update() {
		s.kill(out, ev, EnhanceYourCalm, "too many updates of windows")
		return
	}
	if st == nil {
		if beyondMax(o.window, ev.Credit) {
			s.kill(out, ev, FlowControlError, "connection's window beyond 2^31-1")
			return
		}
		o.window += ev.Credit
		s.flush(out)
		return
	}
	if beyondMax(o.initial+st.send, ev.Credit) {
		s.fail(out, st, ev, &Error{Code: FlowControlError, Why: "stream's window beyond 2^31-1"})
		return
	}
	st.send += ev.Credit
	o.most = max(o.most, st.send)
	s.wake(st)
	s.flush(out)
}

// beyondMax reports whether two parts of a window make more than a window may be: RFC 9113,
// section 6.9.1. The sum may be more than an int of 32 bits holds.
func beyondMax(a, b int) bool { return int64(a)+int64(b) > maxWindow }

// setInitial takes SETTINGS_INITIAL_WINDOW_SIZE in. Who waits is woken by the caller.
func (s *Session) setInitial(out *buf.Out, ev *Event, n int) {
	o := &s.out
	o.initial = n
	if beyondMax(n, o.most) && s.beyond(n) {
		s.kill(out, ev, FlowControlError, "initial window of "+strconv.Itoa(n)+" puts a stream's beyond 2^31-1")
		return
	}
}

// beyond finds the largest send window anew, of the streams that are open, and
// reports whether it is too large with an initial one of n.
func (s *Session) beyond(n int) bool {
	o := &s.out
	o.most = 0
	for _, st := range o.streams.direct {
		if st != nil && st.live {
			o.most = max(o.most, st.send)
		}
	}
	for _, st := range o.streams.over {
		o.most = max(o.most, st.send)
	}
	return beyondMax(n, o.most)
}

// received polices the connection's window and grants it anew; false: it was overrun.
func (s *Session) received(out *buf.Out, ev *Event) bool {
	o := &s.out
	if o.recv -= ev.Took; o.recv < 0 {
		s.kill(out, ev, FlowControlError, "more than the connection's window")
		return false
	}
	if o.owed += ev.Took; o.owed >= s.cfg.ConnWindow/2 {
		putWord(out, typeWindowUpdate, 0, uint32(o.owed))
		o.recv += o.owed
		o.owed = 0
	}
	return true
}

// consumed grants n bytes of a stream anew, once that is worth a frame.
func (s *Session) consumed(out *buf.Out, st *stream, n int) {
	st.owed += n
	st.used += n
	if st.remoteEnded || st.owed < st.window/2 {
		return
	}
	// A consumer that has taken in two windows, and has hardly anything left, may
	// be held up by the way to the peer: that is all the measurement there is. One
	// that lags behind gets no more to sit on.
	left := st.window - st.recv - st.owed
	if st.used >= 2*st.window && left <= st.window/4 && st.window < s.cfg.StreamWindowMax {
		more := min(st.window, s.cfg.StreamWindowMax-st.window)
		st.window += more
		st.owed += more
		st.used = 0
	}
	putWord(out, typeWindowUpdate, st.id, uint32(st.owed))
	st.recv += st.owed
	st.owed = 0
}
