package mux

import (
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// What a stream receives: events arrive under the lock (arrivedLocked), are held
// within the limits, and are taken by Receive, which grants the peer credit anew.

// Receive implements [rpc.Stream].
func (s *stream) Receive(msg any) error {
	r := &s.receiving
	r.Lock()
	defer r.Unlock()
	for r.at == len(r.taken) || r.eaten >= s.lowWater() {
		if err := s.refill(); err != nil {
			return err
		}
	}
	m := r.taken[r.at]
	r.taken[r.at] = inbound{}
	r.at++
	r.eaten += m.cost
	if m.packed {
		return s.decodePacked(m.body, msg)
	}
	err := s.decode(m.body, msg)
	m.body.Release()
	return err
}

// decodePacked is decode for a message as the peer has compressed it. What it becomes is
// in no account, so a server has few of them at a time.
func (s *stream) decodePacked(v buf.View, msg any) error {
	leave, err := s.h.side.enterUnpack(s)
	if err != nil {
		v.Release()
		return err
	}
	defer leave()
	ev := wire.Event{Flags: wire.Stream | wire.Message | wire.Packed, ID: s.ev.ID, Tag: s.ev.Tag, Method: s.ev.Method, Body: v}
	if fault := s.h.sess.Unpack(&ev, s.h.lim.MessageBytes); fault != nil {
		e := *fault
		e.Op, e.Peer, e.Sent = "receive", s.h.peer, rpc.Processed
		return &e
	}
	err = s.decode(ev.Body, msg)
	ev.Body.Release()
	return err
}

// lowWater is what is consumed before credit is given anew.
func (s *stream) lowWater() int { return max(s.window/2, 1<<10) }

// decode runs the codec, on the goroutine that receives and without a lock. A panic of it
// is the error of this message; the stream goes on.
func (s *stream) decode(v buf.View, msg any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &rpc.Error{Code: rpc.Internal, Op: "decode", Peer: s.h.peer, Sent: rpc.Processed, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	if err := rpc.EngineOf(s.call).Codec().Decode(v, msg, s.h.lim); err != nil {
		return &rpc.Error{Code: rpc.CodeOf(coded(err, rpc.Internal, "")), Op: "decode", Peer: s.h.peer, Sent: rpc.Processed, Err: err}
	}
	return nil
}

// refill grants what was consumed and, if nothing is left, takes what has
// arrived, or waits for it.
func (s *stream) refill() error {
	r := &s.receiving
	s.h.out.Lock()
	s.grantLocked()
	switch {
	case r.at < len(r.taken):
		s.easeLocked()
	case len(s.queue) > 0:
		s.queue, r.taken = r.taken[:0], s.queue
		r.at = 0
		s.returnLocked()
		s.h.streams.held -= s.held
		s.lent, s.held = s.held, 0
		s.stakes.lent, s.stakes.held = s.stakes.held, s.stakes.lent
		s.easeLocked()
	case s.ended && s.err != nil:
		err := s.err
		s.h.unlockSent()
		return err
	case s.gone: // also after an orderly end: what came meanwhile was dropped
		s.h.unlockSent()
		return s.interrupted()
	case s.ended:
		s.h.unlockSent()
		return io.EOF
	default:
		s.inRow = 0
		s.returnLocked()
		if !s.opened {
			if _, err := s.appendLocked(0, nil); err != nil {
				s.h.unlockSent()
				return err
			}
		}
		s.h.side.waitUnlocks(s, &s.recv)
		return nil
	}
	s.h.unlockSent()
	return nil
}

// grantLocked gives the peer credit for what was consumed, once that is worth
// a frame.
func (s *stream) grantLocked() {
	n := s.receiving.eaten
	if n < s.lowWater() {
		return
	}
	s.receiving.eaten = 0
	if s.window == 0 && !s.strict || s.ended {
		return
	}
	if !s.strict { // else its session has windows of its own
		n += s.growLocked(time.Now())
	}
	ev := wire.Event{Flags: wire.Stream | wire.Credit, ID: s.ev.ID, Tag: s.ev.Tag, Method: s.ev.Method, Credit: n}
	before := s.h.out.Out().Len()
	if encode(s.h.out.Out(), s.h.sess, &ev, nil) == nil {
		s.credit += n
		s.h.side.wroteLocked(s, before)
	}
}

// growLocked doubles the window of a stream whose grants follow each other quickly, and
// gives by how much it has grown.
func (s *stream) growLocked(now time.Time) (more int) {
	if s.window < windowMax && s.h.streams.grown+s.window <= growBudget && !s.granted.IsZero() && now.Sub(s.granted) < growWithin {
		more = s.window
		s.h.streams.grown += more
		s.window += more
	}
	s.granted = now
	return more
}

// arrivedLocked takes an event of the peer's, whose body it owns. An error: it is
// not taken, and the stream is to be refused.
func (s *stream) arrivedLocked(ev *wire.Event) *rpc.Error {
	body := ev.Body
	ev.Body = buf.View{}
	if err := s.toldLocked(ev); err != nil {
		body.Release()
		return err
	}
	switch {
	case s.ended && ev.Flags&wire.Reset == 0 || s.gone && ev.Flags&^wire.Early == wire.Message|wire.Stream:
		body.Release()
	case ev.Flags&wire.Message != 0:
		s.early = ev.Flags&wire.Early != 0
		if err := s.holdLocked(ev, body); err != nil {
			body.Release()
			return err
		}
		if ev.Flags&wire.End != 0 {
			s.endLocked(s.endOf(ev))
		}
	case ev.Err != nil && ev.Flags&(wire.End|wire.Reset) == 0:
		return ev.Err
	case ev.Flags&(wire.End|wire.Reset) != 0:
		s.endLocked(s.endOf(ev))
	}
	return nil
}

// endOf is what the peer has ended its side with, nil if that is in order.
func (s *stream) endOf(ev *wire.Event) error {
	switch {
	case ev.Err == nil:
		return nil
	case s.first&wire.Open == 0: // a handler may return it, as one of rpc.Errorf
		return &rpc.Error{Code: ev.Err.Code, Msg: "the caller has given the call up"}
	}
	e := *ev.Err
	e.Peer = s.h.peer
	return &e
}

// toldLocked keeps the metadata of an event. All of a stream's together is bounded
// as that of one call is.
func (s *stream) toldLocked(ev *wire.Event) *rpc.Error {
	n := len(s.trailer) + len(ev.Header) + len(ev.Trailer)
	if n == len(s.trailer) || s.over {
		return nil // after the end nobody looks at it
	}
	for _, p := range ev.Header {
		s.told += len(p.Key) + len(p.Value)
	}
	for _, p := range ev.Trailer {
		s.told += len(p.Key) + len(p.Value)
	}
	if n > s.h.lim.HeaderEntries || s.told > s.h.lim.HeaderBytes {
		return &rpc.Error{Code: rpc.ResourceExhausted, Op: "receive", Peer: s.h.peer, Sent: rpc.Processed,
			Msg: fmt.Sprintf("%d pairs and %d bytes of metadata on one stream", n, s.told)}
	}
	kept := weight(ev.Header) + weight(ev.Trailer)
	s.meta += kept
	s.h.account.changeLocked(kept)
	s.trailer = append(append(s.trailer, ev.Header...), ev.Trailer...)
	return nil
}

// pairBytes is what a pair of metadata costs besides its text.
const pairBytes = 32

// weight is what metadata costs to hold.
func weight(md rpc.Metadata) (n int) {
	for _, p := range md {
		n += len(p.Key) + len(p.Value) + pairBytes
	}
	return n + n/8 // the allocator rounds up
}

// holdLocked puts a message of ev into the queue, within the limits.
func (s *stream) holdLocked(ev *wire.Event, body buf.View) *rpc.Error {
	m := inbound{body, body.Len() + s.cost, ev.Flags&wire.Packed != 0}
	if s.strict {
		m.cost = int(ev.Took)
	}
	n := body.Len() + max(s.cost, messageLeast)
	switch {
	case s.h.crowdsLocked():
		return &rpc.Error{Code: rpc.ResourceExhausted, Op: "receive", Peer: s.h.peer, Sent: rpc.Processed, Msg: "the connections of this server hold all that they may"}
	case s.h.account.refusingLocked():
		return &rpc.Error{Code: rpc.ResourceExhausted, Op: "receive", Peer: s.h.peer, Sent: rpc.Processed, Msg: "this connection holds all that it may"}
	case s.credit <= 0 && s.bounded() && !s.strict:
		return &rpc.Error{Code: rpc.ResourceExhausted, Op: "receive", Peer: s.h.peer, Msg: "the peer sends more than it was granted", Sent: rpc.Processed}
	case s.held > s.h.lim.QueuedBytes && !s.bounded():
		return &rpc.Error{Code: rpc.ResourceExhausted, Op: "receive", Peer: s.h.peer, Sent: rpc.Processed,
			Msg: fmt.Sprintf("%d bytes of messages wait to be received, and the peer cannot be told to stop", s.held)}
	case s.h.streams.held > heldFactor*s.h.lim.MessageBytes:
		return &rpc.Error{Code: rpc.ResourceExhausted, Op: "receive", Peer: s.h.peer, Sent: rpc.Processed,
			Msg: fmt.Sprintf("%d bytes of messages wait to be received on this connection", s.h.streams.held)}
	}
	s.credit -= m.cost
	s.held += n
	s.h.streams.held += n
	s.h.account.changeLocked(n)
	s.stakes.held = s.h.account.addLocked(s.stakes.held, body)
	s.queue = append(s.queue, m)
	s.pressLocked()
	return nil
}

// bounded reports whether the peer knows credit, and knew that it does when it
// sent what came last.
func (s *stream) bounded() bool { return s.strict || !s.early && s.h.sess.Caps().Window > 0 }

// returnLocked takes what was lent out of the connection's account.
func (s *stream) returnLocked() {
	s.h.account.changeLocked(-s.lent)
	s.lent = 0
	for i := range s.stakes.lent {
		s.h.account.unstakeLocked(&s.stakes.lent[i])
	}
	s.stakes.lent = s.stakes.lent[:0]
}

// drain gives back what was taken from the queue and not received.
func (s *stream) drain() {
	r := &s.receiving
	r.Lock()
	defer r.Unlock()
	for _, m := range r.taken[r.at:] {
		m.body.Release()
	}
	r.taken, r.at = nil, 0
}
