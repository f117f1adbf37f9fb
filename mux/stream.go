package mux

import (
	"cmp"
	"context"
	"io"
	"math"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

const (
	// windowMax is what a stream's window grows to while its messages are
	// consumed quickly: half a window within growWithin.
	windowMax  = 1 << 20
	growWithin = 100 * time.Millisecond
	// growBudget is what the streams of one connection may have beyond their
	// first windows, together.
	growBudget = 16 << 20
	// heldFactor times Limits.MessageBytes is what messages that arrived and
	// that nobody has taken may weigh, on one connection.
	heldFactor = 4
)

// A stream is one side of a call of several messages. It is an rpc.Stream.
//
// Its messages are cut by whoever reads the connection and wait in queue, all
// under the output lock; Receive takes them from there many at a time and
// decodes them on its own goroutine.
//
// Its two directions end apart from each other, and the call with or after them:
//
//	this side     not opened ──first frame──► opened ──End──────► sendDone
//	              (client only)                 └──Reset──► reset, sendDone
//	the peer's    receiving ──its End, Reset, loss──► ended (err says why)
//	the call      lives ──client: ended; server: ended with an error, finish──► over
//	              lives ──its context ends, or finish──► gone
//
// ended: nothing more arrives, what is queued may be received. over: nothing more
// is sent. gone: what arrives is dropped, and who waits is told.
type stream struct {
	// Set when made, then constant.
	h      *half
	call   *rpc.Call       // server: set by the handler's goroutine before the handler runs
	ctx    context.Context // server: set with call
	base   int             // the first window
	cost   int             // what a message counts besides its bytes
	lone   bool            // client: there is one message from this side
	strict bool            // the session sees to it that the peer sends no more than it was granted
	first  wire.Flags      // what the first frame of this side has besides: a client's Open

	// Guarded by the output lock.
	ev       wire.Event // of the frame at hand, and what all its frames have in common
	sending  any        // the message that is framed
	private  *buf.Out   // or this, encoded outside the lock
	opened   bool       // client: the first frame was appended
	leads    bool       // server: its first message is to come, with what goes before that
	queues   bool       // server: answers before it are to leave first
	sendDone bool       // this side has ended
	ended    bool       // the peer's side has ended: nothing more arrives
	over     bool       // and the call with it: nothing more is sent
	gone     bool       // this side has given the call up, or its context has ended
	reset    bool       // and has told the peer
	err      error      // with ended: why; nil is the peer's orderly end
	trailer  rpc.Metadata
	told     int // bytes of trailer
	queue    []inbound
	held     int                          // of the queue, in bytes as they weigh
	lent     int                          // the same of what Receive has taken
	stakes   struct{ held, lent []stake } // in the blocks of both, one each
	meta     int                          // the same of the metadata that came
	early    bool                         // the last message was sent before the peer had heard of credit
	stalled  bool                         // peers without credit: was waited for in vain, see pace
	credit   int                          // what the peer may still send
	window   int
	granted  time.Time            // when the last credit was
	frame    func(*buf.Out) error // appends sending or private; made by the first Send
	inRow    int                  // messages that were sent without waiting in between
	before   *stream              // in the list of those whose Send waits
	behind   *stream
	recv     waiter // Receive waits
	send     waiter // Send waits for credit

	// receiving is held by who receives, and then by who ends the call. Lock
	// order: receiving before the output lock.
	receiving struct {
		sync.Mutex
		taken []inbound
		at    int // in taken
		eaten int // bytes, as they count, that were consumed and not granted anew
	}
}

// streams is what the streams of a connection share, guarded by the output lock.
type streams struct {
	open    int
	senders struct {
		first, last *stream // those whose Send waits, in order
		next        *stream // where to look for another that may go on; nil: nobody may
	}
	held  int // what waits in their queues
	grown int // what their windows have beyond the first
	pace  pace
}

// crowdsLocked reports whether the connections of a server hold all that they may.
// What a client's hold is bounded by who opens streams.
func (h *half) crowdsLocked() bool { return h.serves && h.account.crowdedLocked() }

// clogged reports whether more output waits for the peer than is good; a client
// sends what its own callers want.
func (h *half) clogged() bool {
	n, most := h.out.Queued(), h.lim.QueuedBytes
	if h.serves {
		return h.account.clogged(n, most)
	}
	return n > most
}

// unclogged is what the output is waited to be below.
func (h *half) unclogged() int {
	if h.serves {
		return h.account.unclogged(h.lim.QueuedBytes)
	}
	return h.lim.QueuedBytes
}

// An inbound message waits to be received.
type inbound struct {
	body   buf.View
	cost   int  // what it has taken of the window
	packed bool // it is to be unpacked by who receives it
}

// messageLeast is what a message that waits weighs at the least: its place in
// the queue.
const messageLeast = 64

// A waiter is a place where one goroutine may wait for the peer.
type waiter struct {
	on   bool          // guarded by the output lock
	ch   chan struct{} // capacity 1: signalled once for each time it was on; made by the first
	next *waiter       // list of those to be woken; the waker's
}

// init gives the stream its first window, which the peer assumes without being told. It
// is called under the output lock, once h is set.
func (s *stream) init(caps wire.Caps) {
	s.credit, s.window, s.base = caps.Window, caps.Window, caps.Window
	s.cost, s.strict = caps.MessageCost, caps.Strict
	if p := &s.h.streams.pace; p.eased == nil {
		p.eased = newSignal()
	}
}

// appendMessage is request.appendResult for a message of a stream.
func (s *stream) appendMessage(out *buf.Out) error {
	if s.private != nil {
		out.MoveFrom(s.private)
		return nil
	}
	return rpc.EngineOf(s.call).Codec().Append(out, s.sending)
}

// Send implements [rpc.Stream].
func (s *stream) Send(msg any) error {
	var private *buf.Out
	large := rpc.HintsOf(s.call.Method).LargeRequest
	if s.first&wire.Open == 0 {
		large = rpc.HintsOf(s.call.Method).LargeResponse
	}
	if large() {
		var err error
		if private, err = s.h.encodePrivate(func(out *buf.Out) error { return rpc.EngineOf(s.call).Codec().Append(out, msg) }, nil); err != nil {
			s.h.out.Lock()
			err = s.unsentLocked(err)
			s.h.unlockSent()
			return err
		}
		defer private.Reset() // of what was not moved
	}
	if err := s.awaitCreditLocks(); err != nil {
		return err
	}
	s.sending, s.private = msg, private
	flags := wire.Message
	if s.lone {
		flags |= wire.End
	}
	if s.frame == nil {
		s.frame = s.appendMessage
	}
	n, err := s.appendLocked(flags, s.frame)
	s.sending, s.private = nil, nil
	s.inRow++
	if s.inRow > 1 {
		s.h.unlockMore()
	} else {
		s.h.unlockSent()
	}
	if err == nil {
		s.note(n)
	}
	return err
}

// note has the method learn how large its messages are: those that are expected to be
// large are encoded outside the lock.
func (s *stream) note(n int) {
	if s.first&wire.Open != 0 {
		rpc.HintsOf(s.call.Method).NoteRequest(n)
	} else {
		rpc.HintsOf(s.call.Method).NoteResponse(n)
	}
}

// awaitCreditLocks waits until a message may be sent. With an error the lock is not
// held on return.
func (s *stream) awaitCreditLocks() error {
	for {
		if s.h.clogged() {
			s.h.out.Wait(s.ctx, s.h.unclogged()) //nolint:errcheck // seen below
		}
		s.h.out.Lock()
		var err error
		switch {
		case s.gone:
			err = s.interrupted()
		case s.over:
			if err = io.EOF; s.first&wire.Open == 0 && s.err != nil {
				err = s.err // a handler returns it
			}
		case s.opened && s.h.out.Err() != nil: // who reads is about to find out, and is not to be kept from that
			if err = io.EOF; s.first&wire.Open == 0 {
				err = errLost()
			}
		case s.sendDone:
			err = &rpc.Error{Code: rpc.FailedPrecondition, Op: "send", Msg: "this side of the stream has ended"}
		case !s.queues && s.h.sess.Credit(s.ev.ID) > 0:
			return nil
		default:
			s.h.side.waitUnlocks(s, &s.send)
			continue
		}
		s.h.unlockSent()
		return err
	}
}

// errLost is what a handler of a stream is told whose connection has gone.
func errLost() error { return rpc.Errorf(rpc.Unavailable, "the connection was lost") }

// interrupted is the error of a call whose context has ended. A handler that
// returns it tells its caller the same.
func (s *stream) interrupted() error {
	code := rpc.CodeOf(cmp.Or(s.ctx.Err(), context.Canceled))
	if s.first&wire.Open == 0 {
		return rpc.Errorf(code, "the call has ended")
	}
	return &rpc.Error{Code: code, Op: "call", Peer: s.h.peer, Sent: rpc.Maybe, Err: context.Cause(s.ctx)}
}

// appendLocked frames an event of this side.
func (s *stream) appendLocked(flags wire.Flags, body func(*buf.Out) error) (n int, err error) {
	out := s.h.out.Out()
	before := out.Len()
	ev := &s.ev
	ev.Flags = wire.Stream | flags
	if !s.opened {
		ev.Flags |= s.first
	}
	exitsUnlocks := func() {
		s.sending, s.private = nil, nil
		s.h.unlockSent()
	}
	leads := s.leads && flags&wire.Message != 0
	if leads {
		ev.Trailer = s.call.Trailer
	}
	err = encodeUpTo(out, s.h.sess, ev, body, math.MaxInt, exitsUnlocks)
	if leads {
		ev.Trailer = nil
	}
	if err != nil {
		return 0, s.unsentLocked(err)
	}
	s.leads = s.leads && !leads
	s.h.side.wroteLocked(s, before)
	kept := s.h.watchKeptLocked()
	s.opened = true
	s.ev.Header, s.ev.Timeout = nil, 0
	s.sendDone = s.sendDone || ev.Flags&wire.End != 0
	return out.Len() - before + kept, nil
}

// unsentLocked is the error of a message that could not be encoded or framed. Once
// the stream is opened its handler may run.
func (s *stream) unsentLocked(err error) error {
	if s.opened {
		return unsendable(s.h.peer, err)
	}
	return s.h.unspent(err)
}

// CloseSend implements [rpc.Stream]. What a server ends with is known, and framed, once
// its handler has returned.
func (s *stream) CloseSend() error {
	s.h.out.Lock()
	defer s.h.unlockSent()
	if s.sendDone || s.over || s.gone {
		return nil
	}
	if s.first&wire.Open == 0 {
		s.sendDone = true
		return nil
	}
	_, err := s.appendLocked(wire.End, nil)
	s.sendDone = true
	return err
}

// refuseLocked ends the call from this side because of what the peer sent.
func (s *stream) refuseLocked(err *rpc.Error) {
	s.resetLocked(err)
	s.endLocked(err)
}

// resetLocked tells the peer that this side has given the call up.
func (s *stream) resetLocked(why *rpc.Error) {
	s.ev.Err = why
	if s.queues { // it is the first thing that is said of the call, in its turn
		s.reset = true
	} else if _, err := s.appendLocked(wire.Reset, nil); err == nil {
		s.reset = true
	}
	s.ev.Err = nil
	s.sendDone = true
}

// endLocked notes the end of the peer's side, which is the call's unless it is
// a client's orderly one. What has arrived can still be received.
func (s *stream) endLocked(err error) {
	if s.over {
		return
	}
	s.ended, s.err = true, err
	s.over = err != nil || s.first&wire.Open != 0
}

// stirLocked adds the waiters whose wait is over to list.
func (s *stream) stirLocked(list *waiter) *waiter {
	if s.recv.on && (len(s.queue) > 0 || s.ended || s.gone) {
		list = s.recv.offLocked(list)
	}
	if s.send.on && (s.over || s.gone || s.sendDone || !s.queues && s.h.sess.Credit(s.ev.ID) > 0) {
		s.h.streams.removeLocked(s)
		list = s.send.offLocked(list)
	}
	return list
}

// stirLocked has those whose Send waits look whether they may go on: the connection has
// more room.
func (t *streams) stirLocked(list *waiter) *waiter {
	t.senders.next = t.senders.first
	return t.passLocked(list)
}

// passLocked adds the next of those to list that may go on. It passes that on itself once
// it has sent, if there is room still (side.stirredLocked): were all woken by each byte of
// room, a peer that grants little at a time would keep a thousand of them running.
func (t *streams) passLocked(list *waiter) *waiter {
	for s := t.senders.next; s != nil; s = t.senders.next {
		t.senders.next = s.behind
		if list = s.stirLocked(list); !s.send.on {
			break
		}
	}
	return list
}

// addLocked puts s behind all others whose Send waits.
func (t *streams) addLocked(s *stream) {
	if s.before = t.senders.last; s.before != nil {
		s.before.behind = s
	} else {
		t.senders.first = s
	}
	t.senders.last = s
}

// removeLocked takes s, whose Send waits no more, out.
func (t *streams) removeLocked(s *stream) {
	if t.senders.next == s {
		t.senders.next = s.behind
	}
	if s.before != nil {
		s.before.behind = s.behind
	} else {
		t.senders.first = s.behind
	}
	if s.behind != nil {
		s.behind.before = s.before
	} else {
		t.senders.last = s.before
	}
	s.before, s.behind = nil, nil
}

// onLocked begins the wait w of s. From here on a change that ends it may signal ch
// before the waiter gets there; the signal stays in ch.
func (s *stream) onLocked(w *waiter) {
	if w.ch == nil { // most streams of a flood never wait
		w.ch = make(chan struct{}, 1)
	}
	if w.on = true; w == &s.send {
		s.h.streams.addLocked(s)
	}
}

// offLocked ends a wait: the waiter is put on the list of those to be woken after the
// unlock. Each wait is ended once, so ch never holds more than one signal.
func (w *waiter) offLocked(list *waiter) *waiter {
	w.on, w.next = false, list
	return w
}

// wake wakes those in list; no lock is held.
func wake(list *waiter) {
	for list != nil {
		w := list
		list, w.next = w.next, nil
		w.ch <- struct{}{}
	}
}

// dropLocked ends the stream here and takes it out of its connection's
// accounts. Who waits is to be woken; then drain gives back what was received.
func (s *stream) dropLocked() {
	for _, m := range s.queue {
		m.body.Release()
	}
	s.queue = nil
	s.h.streams.held -= s.held
	s.h.account.changeLocked(-s.held - s.meta)
	s.returnLocked()
	s.stakes.lent, s.stakes.held = s.stakes.held, nil
	s.returnLocked()
	s.meta = 0
	s.h.streams.open--
	s.h.streams.grown -= s.window - s.base
	s.held, s.ended, s.over, s.gone = 0, true, true, true
	s.easeLocked()
}
