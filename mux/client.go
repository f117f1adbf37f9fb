package mux

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// Config is what both halves need; Limits must have been filled in.
type Config struct {
	Limits *rpc.Limits
	Logger *slog.Logger // nil: only panics of user code are logged

	// Notify, on a client's connection, is called after its Status may have
	// changed, without a lock held. It must not block for long.
	Notify func()
}

// A Conn makes calls on one connection. It is an rpc.Caller; all methods may
// be called concurrently.
//
// Nobody stands by to read: a caller that finds no reader leads, which means
// that it reads the connection until its own answer has come. If others wait
// by then, a reader goroutine goes on, and ends when nobody waits any more.
type Conn struct {
	// Set by NewConn, then constant.
	nc    netio.Conn
	out   *netio.Output
	s     wire.Session
	lim   *rpc.Limits
	tell  func() // Config.Notify
	peer  string
	enc   rpc.Encoding // of requests
	step  netio.Step
	ready chan struct{} // closed once the peer's abilities are known
	ended chan struct{} // closed when the connection is gone and every call was told
	turn  chan struct{} // capacity 1: the reader is the last link of a chain of wake-ups
	large chan struct{} // capacity 1: held by who sends a piece of a large request
	work  sync.WaitGroup

	// Guarded by the output lock.
	slots     slots
	role      role
	inflight  int // calls that wait; with role nobody it is 0
	abandoned int // slots in state gone
	appended  uint64
	ev        wire.Event // of the request that is being encoded
	caps      wire.Caps
	gathers   bool // the reader waits for its turn after those it has woken: a flush is left to it
	owed      bool // and one was
	streams   streams
	streamed  bool        // a stream was opened: Kitex takes no calls on such a connection
	leading   *waiter     // with role caller: whose wait leads, if it is a stream's
	reads     uint32      // batches
	look      *time.Timer // see restLocked
	looking   bool        // look is armed
	looked    uint32      // reads when it was
	supposed  bool        // supposing was armed
	supposing *time.Timer // see supposeLocked
	hungUp    bool        // the peer went while nobody read
	leaving   bool        // no new calls: the peer drains, or Close was called
	err       error       // why the connection ended; set once

	// Owned by the holder of the read role, and not touched by it after the
	// unlock that gives the role away.
	batch []wire.Event
	found []*slot // of each event of the batch
	rest  frameTimer
}

// A role says who reads.
type role uint8

const (
	nobody role = iota // inflight is 0
	caller             // a caller that waits for its own answer
	reader             // a goroutine that serves everybody
	closed             // nobody will again
)

// NewConn begins to make calls on nc, which it owns from now on, in the
// frames of s.
func NewConn(nc netio.Conn, s wire.Session, cfg Config) *Conn {
	c := &Conn{
		nc: nc, out: nc.Output(), s: s, lim: cfg.Limits, tell: cfg.Notify, peer: nc.Remote().String(),
		ready: make(chan struct{}), ended: make(chan struct{}), turn: make(chan struct{}, 1), large: make(chan struct{}, 1),
		rest: frameTimer{nc: nc, limit: cfg.Limits.FrameRest},
	}
	if c.tell == nil {
		c.tell = func() {}
	}
	c.step = func(in *buf.In) (bool, error) { return cut(c.s, in, &c.batch, &c.rest) }
	c.caps = s.Caps()
	c.enc = c.caps.Encoding
	if !c.caps.Pending {
		close(c.ready)
	}
	nc.OnLost(c.hangUp)
	return c
}

// Peer gives the other side's address.
func (c *Conn) Peer() string { return c.peer }

// Ready is closed as soon as the peer has said what it can do, or at once if
// it was not asked.
func (c *Conn) Ready() <-chan struct{} { return c.ready }

// Ended is closed when the connection is gone.
func (c *Conn) Ended() <-chan struct{} { return c.ended }

// Status says what the connection can carry and whether it takes new calls.
func (c *Conn) Status() (caps wire.Caps, usable bool) {
	c.out.Lock()
	defer c.unlock(false)
	return c.caps, c.err == nil && !c.leaving && !c.hungUp
}

// Do makes one call and waits for its answer. It is rpc.Caller's method. An
// error with Sent == NotSent or Refused may be retried on another connection.
func (c *Conn) Do(ctx context.Context, call *rpc.Call) error {
	call.Peer = c.peer
	if err := call.Header.Check(c.lim); err != nil {
		return err
	}
	if call.Method.Kind > rpc.Oneway {
		return c.doStream(ctx, call)
	}
	r, err := c.send(ctx, call)
	if r.rest != nil {
		defer r.rest.Reset() // of what was not moved
	}
	switch {
	case err != nil || r.slot == nil:
		return err
	case r.leads:
		return c.lead(ctx, r)
	}
	if r.owes {
		flush(c.nc, r.others, c.spawn)
	}
	if r.total > 0 {
		c.sendRest(ctx, r)
	}
	return c.follow(ctx, r)
}

// A registered call is what send leaves its caller with.
type registered struct {
	slot   *slot // nil for a oneway call
	id     uint64
	leads  bool // the caller holds the read role
	owes   bool // the caller is the flusher
	others bool // others are in flight: it pays to let them add to the output

	rest  *buf.Out // a large request, encoded outside the lock; nil: it was small
	total int      // not 0: its size, and rest goes in pieces
}

// send puts the request into the output: the one critical section of a call.
func (c *Conn) send(ctx context.Context, call *rpc.Call) (r registered, err error) {
	timeout, err := c.remaining(ctx)
	if err != nil {
		return r, err
	}
	call.SetEncoding(c.enc)
	body := call.AppendRequest
	if call.Method.LargeRequest() {
		if r.rest, err = encodePrivate(body); err != nil {
			return r, err
		}
		body = func(out *buf.Out) error { out.MoveFrom(r.rest); return nil }
	}
	if c.out.Queued() > c.lim.QueuedBytes {
		if err := c.out.Wait(ctx, c.lim.QueuedBytes); err != nil && ctx.Err() != nil {
			return r, c.interrupted(ctx, rpc.NotSent)
		}
	}

	c.out.Lock()
	if err := c.refuseLocked(); err != nil {
		c.unlock(false)
		return r, err
	}
	s := c.slots.take(call)
	ev := &c.ev
	*ev = wire.Event{
		Flags: wire.Open | wire.Message | wire.End, ID: s.id(), Timeout: timeout,
		Service: call.Service, Method: call.Method.Name, Header: call.Header,
	}
	oneway := call.Method.Kind == rpc.Oneway
	if oneway {
		ev.Flags |= wire.Oneway
	}
	if r.rest != nil && r.rest.Len() > chunkFrom && c.caps.Chunks && !oneway {
		n := piece(ev, r.rest)
		s.apart = true
		body = func(out *buf.Out) error { movePiece(out, r.rest, n); return nil }
		r.total = ev.Total
	}
	out := c.out.Out()
	before := out.Len()
	if err := encode(out, c.s, ev, body); err != nil {
		c.slots.put(s)
		c.unlock(false)
		return r, err
	}
	s.size = uint64(out.Len() - before)
	c.appended += s.size
	s.end = c.appended
	call.Method.NoteRequest(max(int(s.size), r.total))
	if oneway {
		c.slots.put(s)
		c.unlock(c.inflight > 0)
		return r, nil
	}
	c.inflight++
	r.slot, r.id, r.others = s, s.id(), c.inflight > 1
	start := false
	if c.role == nobody {
		// Who has more to send than fits cannot read meanwhile.
		if start = r.total > 0; start {
			c.role = reader
		} else {
			c.role, r.leads = caller, true
		}
	}
	if r.owes = c.out.ClaimLocked(); r.owes && c.gathers {
		r.owes, c.owed = false, true
	}
	c.out.Unlock()
	if start {
		c.work.Go(c.readOn)
	}
	return r, nil
}

// remaining gives the time until ctx's deadline; it fails if ctx has ended.
func (c *Conn) remaining(ctx context.Context) (time.Duration, error) {
	if ctx.Err() != nil {
		return 0, c.interrupted(ctx, rpc.NotSent)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0, nil
	}
	left := time.Until(deadline)
	if left <= 0 {
		return 0, &rpc.Error{Code: rpc.DeadlineExceeded, Op: "call", Peer: c.peer, Sent: rpc.NotSent, Err: context.DeadlineExceeded}
	}
	return left, nil
}

// interrupted is the error of a call whose ctx ended.
func (c *Conn) interrupted(ctx context.Context, sent rpc.Sent) error {
	return &rpc.Error{Code: rpc.CodeOf(ctx.Err()), Op: "call", Peer: c.peer, Sent: sent, Err: context.Cause(ctx)}
}

// refuseLocked says why no call can begin now.
func (c *Conn) refuseLocked() error {
	switch {
	case c.err != nil:
		return lost(c.peer, rpc.NotSent, c.err)
	case c.leaving || c.hungUp:
		return &rpc.Error{Code: rpc.Unavailable, Op: "call", Peer: c.peer, Msg: "the connection is being closed", Sent: rpc.NotSent}
	case c.inflight >= c.lim.CallsPerConn, c.inflight+c.abandoned > indexMask:
		return &rpc.Error{Code: rpc.ResourceExhausted, Op: "call", Peer: c.peer, Sent: rpc.NotSent,
			Msg: fmt.Sprintf("%d calls in flight on one connection", c.inflight)}
	case (c.inflight > 0 || c.streamed) && !c.caps.Mux:
		return &rpc.Error{Code: rpc.Unavailable, Op: "call", Peer: c.peer, Sent: rpc.NotSent,
			Msg: "the connection carries one call at a time and is busy"}
	}
	return nil
}

// follow waits for the answer of a call that somebody else will read.
func (c *Conn) follow(ctx context.Context, r registered) error {
	s := r.slot
	select {
	case <-s.done:
	case <-ctx.Done():
		if s.word.CompareAndSwap(word(r.id, waiting), word(r.id, gone)) {
			return c.abandon(ctx, r, false)
		}
		<-s.done // the answer is being decoded, or the connection was lost
	}
	s.passOn()
	return c.own(r)
}

// lead reads the connection until the caller's own answer has come, and gives
// the answers of others out on the way. The caller holds the read role.
func (c *Conn) lead(ctx context.Context, r registered) error {
	if ctx.Done() != nil {
		// A kick that comes late costs the next leader one turn of its loop.
		defer context.AfterFunc(ctx, c.nc.Kick)()
	}
	owed := r.owes
	for {
		// The flush is Receive's: it reads first and so finds an end of the
		// connection or a goodbye before the request leaves, and after the
		// send only sleep is left to do.
		why, err := c.nc.Receive(owed, c.step)
		owed = false
		switch {
		case why == netio.Lost:
			c.deliver(r.slot, nil, shut)
			c.fail(err, r.slot)
			return c.own(r)
		case why == netio.Full:
			// Never park in a write while holding the read role: a peer that
			// writes much before it reads would wait for us for ever.
			over, _ := c.deliver(r.slot, nil, pass)
			flush(c.nc, false, c.spawn)
			if over {
				return c.own(r)
			}
			return c.follow(ctx, r)
		}
		if over, _ := c.deliver(r.slot, nil, keep); over {
			return c.own(r)
		}
		if ctx.Err() != nil && r.slot.word.CompareAndSwap(word(r.id, waiting), word(r.id, gone)) {
			return c.abandon(ctx, r, true)
		}
	}
}

// own takes the answer of a call whose slot is done.
func (c *Conn) own(r registered) error {
	s := r.slot
	err := s.err
	if s.answer != nil {
		err = c.fill(s.call, s.answer)
		s.answer.Body.Release()
	}
	c.slots.giveBack(s)
	return err
}

// readOn is the reader goroutine: it holds the read role until nobody waits.
func (c *Conn) readOn() {
	for over, owed := false, false; !over; {
		why, err := c.nc.Receive(owed, c.step)
		switch why {
		case netio.Lost:
			c.deliver(nil, nil, shut)
			c.fail(err, nil)
			return
		case netio.Full:
			flush(c.nc, false, c.spawn)
		}
		over, owed = c.deliver(nil, nil, keep)
	}
}

// apartBytes is the size from which an answer is decoded by its caller, not by
// whoever reads the connection: others' answers may be right behind it.
const apartBytes = 32 << 10

// A fate is what becomes of the read role after a batch.
type fate uint8

const (
	keep fate = iota // kept until the leader is answered, or nobody waits
	pass             // passed on in any case
	shut             // the connection is lost: nobody reads any more
)

// deliver makes of the batch what is to be made of it, and sees to the read
// role, which the caller holds. own is the slot of a leader, mine what a
// stream's leader waits for; both are nil for the reader goroutine. It reports
// whether the caller is done: the leader answered, the reader without a role;
// owed: a reader that goes on has a flush to pay.
//
// Those whose answers came are woken one by another, in a chain of which the
// reader is the last: by its turn they have made their next calls, which it
// sends at once. So they run one after the other on one processor, unless one
// of them keeps it; then the rest of the chain is taken over by an idle one.
func (c *Conn) deliver(own *slot, mine *waiter, f fate) (over, owed bool) {
	met := c.lookUp()
	answered := 0
	var woken chain
	for i := range c.batch {
		ev, s := &c.batch[i], c.found[i]
		if ev.Flags&(wire.Settings|wire.Ping|wire.GoAway) != 0 || ev.Flags&(wire.Credit|wire.Stream) == wire.Credit {
			c.apply(ev)
		}
		switch {
		case s == nil:
		case s.word.CompareAndSwap(word(ev.ID, waiting), word(ev.ID, filling)):
			if ev.Body.Len() < apartBytes {
				s.err = c.fill(s.call, ev)
			} else {
				large := *ev
				s.answer, ev.Body = &large, buf.View{}
			}
			s.word.Store(word(ev.ID, done))
			answered++
			switch {
			case s == own:
				over = true
			case s.apart: // its caller may wait for room, not for the answer
				s.done <- struct{}{}
			default:
				woken.add(s)
			}
		default:
			c.late(s, ev.ID)
		}
		ev.Body.Release()
		if ev.Flags&wire.Close != 0 {
			c.nc.Abort()
		}
	}
	clear(c.batch)
	c.batch = c.batch[:0]

	c.out.Lock()
	c.inflight -= answered
	c.reads++
	if mine != nil {
		over = !mine.on
	}
	leads := own != nil || mine != nil
	news := answered > 0 && c.knownLocked()
	if !leads && f == keep && woken.first != nil {
		wake(met)
		met, owed = nil, c.gatherLocked(&woken)
	}
	start, ends := c.settleLocked(!leads || over, over, f)
	if c.role != caller {
		c.leading = nil
	}
	over = over || !leads && c.role == nobody
	c.unlock(false)
	woken.start()     // after the unlock: who is woken finds the lock free
	if over && owed { // by a call that was given up since
		flush(c.nc, false, c.spawn)
		owed = false
	}
	wake(met)
	if news {
		c.tell()
	}
	if start {
		c.work.Go(c.readOn)
	}
	if ends {
		c.end()
	}
	return over, owed
}

// gatherLocked wakes those of a chain and has the reader wait for its turn
// behind them. It reports whether a flush was left to it.
func (c *Conn) gatherLocked(woken *chain) (owed bool) {
	c.gathers = true
	c.unlock(false)
	woken.last.next = c.turn
	woken.start()
	<-c.turn
	c.out.Lock()
	owed = c.owed
	c.gathers, c.owed = false, false
	return owed
}

// settleLocked decides who reads from now on. free: the holder does not wait
// itself; leaves: it gives the role up. After the unlock the caller starts the
// reader, or ends the connection, which is idle and takes no calls.
func (c *Conn) settleLocked(free, leaves bool, f fate) (start, ends bool) {
	switch {
	case f == shut:
		c.role = closed
	case free && c.inflight == 0 && (!c.hungUp || c.streams.open == 0):
		c.role = nobody
		c.restLocked()
		return false, (c.leaving || c.hungUp) && c.streams.open == 0
	case c.role == caller && (leaves || f == pass):
		c.role = reader
		return true, false
	}
	return false, false
}

// lookUp finds the slots of the answers in the batch, in one critical section,
// and gives streams what is theirs. It returns the waits that are over.
func (c *Conn) lookUp() (woken *waiter) {
	c.found = c.found[:0]
	if len(c.batch) == 0 {
		return nil
	}
	c.out.Lock()
	for i := range c.batch {
		var s *slot
		if ev := &c.batch[i]; ev.Flags&wire.Stream != 0 {
			woken = c.streamLocked(ev, woken)
		} else if ev.Flags&wire.End != 0 {
			if s = c.slots.find(ev.ID); !c.caps.Mux && (s == nil || s.word.Load() != word(ev.ID, waiting)) {
				s = c.onlyLocked(ev)
			}
		}
		c.found = append(c.found, s)
	}
	woken, _ = c.metLocked(woken)
	c.unlock(false)
	return woken
}

// onlyLocked gives an answer with a strange id, on a connection that carries
// one call at a time, to that call: there is no other that it could be for. An
// error is believed, since some servers number theirs at will; of anything
// else it is not known what it answers.
func (c *Conn) onlyLocked(ev *wire.Event) *slot {
	for _, s := range c.slots.all {
		if w := s.word.Load(); state(w&0xff) == waiting {
			if ev.Err == nil {
				ev.Err = &rpc.Error{Code: rpc.DataLoss, Op: "call", Msg: "the answer has another call's id", Sent: rpc.Processed}
				ev.Flags |= wire.Close
			}
			ev.ID = w >> 8
			return s
		}
	}
	return nil
}

// abandon leaves a call whose ctx has ended; leads says that it holds the read
// role. Where calls carry ids the peer is told and the slot stays taken until
// its late answer; elsewhere the answer could be mistaken for the next call's,
// so the connection goes.
func (c *Conn) abandon(ctx context.Context, r registered, leads bool) error {
	c.out.Lock()
	if r.slot.word.Load() == word(r.id, gone) { // else the late answer came first, and the slot serves another call
		r.slot.call = nil
	}
	c.abandoned++
	c.inflight--
	if !c.caps.Mux {
		c.leaving = true
		if leads {
			c.role = closed
		}
		c.unlock(false)
		c.nc.Abort()
		if leads {
			c.fail(context.Cause(ctx), nil)
		}
		return c.interrupted(ctx, rpc.Maybe)
	}
	c.leaving = c.leaving || c.abandoned > c.lim.Abandoned
	if c.err == nil {
		out := c.out.Out()
		before := out.Len()
		// A peer that cannot be told frames nothing here.
		if encode(out, c.s, &wire.Event{Flags: wire.Reset, ID: r.id}, nil) == nil {
			c.appended += uint64(out.Len() - before)
		}
	}
	var start, ends bool
	if leads {
		start, ends = c.settleLocked(true, true, keep)
	}
	if !leads && c.inflight == 0 && c.role == reader {
		c.nc.Kick() // the reader has nobody to read for
	}
	others := c.inflight > 0
	c.unlock(others)
	if start {
		c.work.Go(c.readOn)
	}
	if ends {
		c.end()
	}
	return c.interrupted(ctx, rpc.Maybe)
}

// unlock gives the lock back, and flushes if that made this goroutine the flusher.
func (c *Conn) unlock(others bool) {
	if c.out.Unlock() {
		flush(c.nc, others, c.spawn)
	}
}

// spawn runs f on a goroutine that Close joins. Once the connection is lost
// there is nothing left to do for f.
func (c *Conn) spawn(f func()) {
	c.out.Lock()
	if c.err == nil {
		c.work.Go(f)
	}
	c.unlock(false)
}

// apply takes what the peer said about the connection into effect.
func (c *Conn) apply(ev *wire.Event) {
	c.out.Lock()
	out := c.out.Out()
	before := out.Len()
	c.s.Apply(out, ev)
	c.appended += uint64(out.Len() - before)
	if ev.Flags&wire.Settings != 0 {
		c.knownLocked()
	}
	if ev.Flags&wire.GoAway != 0 {
		c.leaving = true
	}
	c.unlock(false)
	c.tell()
}

// knownLocked ends the wait for the peer's hello: it has said it, or it has
// answered without one and will not. It reports whether that is news.
func (c *Conn) knownLocked() (news bool) {
	select {
	case <-c.ready:
		return false
	default:
	}
	c.caps = c.s.Caps()
	c.caps.Pending = false
	close(c.ready)
	return true
}

// late frees the slot of an abandoned call whose answer has come after all.
// Anything else is an answer to nothing and is ignored.
func (c *Conn) late(s *slot, id uint64) {
	if !s.word.CompareAndSwap(word(id, gone), word(id, done)) {
		return
	}
	c.out.Lock()
	c.abandoned--
	c.slots.put(s)
	c.unlock(false)
}

// fill decodes an answer into its call. A codec that panics fails the call.
func (c *Conn) fill(call *rpc.Call, ev *wire.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &rpc.Error{Code: rpc.Internal, Op: "decode response", Peer: c.peer, Sent: rpc.Processed,
				Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	call.Trailer = ev.Trailer
	if ev.Err != nil {
		e := *ev.Err
		e.Peer = c.peer
		return &e
	}
	if ev.Method != call.Method.Name {
		return &rpc.Error{Code: rpc.DataLoss, Op: "call", Peer: c.peer, Sent: rpc.Processed,
			Msg: fmt.Sprintf("%q was answered, %q was called", ev.Method, call.Method.Name)}
	}
	call.SetEncoding(ev.Encoding)
	declared, err := call.DecodeResponse(ev.Body, c.lim)
	if err != nil {
		return &rpc.Error{Code: rpc.CodeOf(coded(err, rpc.Internal, "")), Op: "decode response", Peer: c.peer, Sent: rpc.Processed, Err: err}
	}
	return declared
}

// hangUp is told by netio that the peer went, or that the connection was
// closed on this side. If somebody reads, that one finds out by itself.
func (c *Conn) hangUp() {
	c.out.Lock()
	c.hungUp = true
	if c.role == nobody && c.streams.open > 0 {
		// What it said last is still to be read.
		c.role = reader
		c.work.Go(c.readOn)
	}
	c.unlock(false)
	c.failIdle()
}

// failIdle ends a connection that nobody reads.
func (c *Conn) failIdle() {
	c.out.Lock()
	idle := c.role == nobody
	if idle {
		c.role = closed
	}
	c.unlock(false)
	if idle {
		c.fail(io.EOF, nil)
	}
}

// end closes a connection that is idle and takes no calls.
func (c *Conn) end() {
	c.nc.Close()
	c.failIdle()
}

// fail ends the connection and every call on it but own, whose caller it is.
// It runs once, by whom the role closed was reached.
func (c *Conn) fail(cause error, own *slot) {
	c.rest.stop()
	c.nc.Abort()
	c.nc.Receive(false, nil) // gives back the memory of what was lent
	handed := c.out.Handed()
	c.out.Lock()
	c.err = cmp.Or(cause, io.EOF)
	c.knownLocked()
	for _, t := range []*time.Timer{c.look, c.supposing} {
		if t != nil {
			t.Stop()
		}
	}
	var woken *waiter
	for _, s := range c.slots.all {
		w := s.word.Load()
		if s.stream != nil {
			if state(w&0xff) == waiting {
				s.stream.endLocked(lost(c.peer, s.sentAt(handed), cause))
				woken = s.stream.stirLocked(woken)
			}
			continue
		}
		if state(w&0xff) != waiting || !s.word.CompareAndSwap(w, w&^0xff|uint64(done)) {
			continue
		}
		s.err = lost(c.peer, s.sentAt(handed), cause)
		if s != own {
			s.done <- struct{}{}
		}
	}
	woken, _ = c.metLocked(woken)
	c.unlock(false)
	wake(woken)
	c.tell()
	close(c.ended) // after it, so that who has waited for Close is told nothing more
}

// Shutdown takes no new calls, waits for those in flight until ctx ends, and
// closes the connection; calls that are left then fail. It joins what runs.
func (c *Conn) Shutdown(ctx context.Context) error {
	c.out.Lock()
	c.leaving = true
	idle := c.role == nobody && c.streams.open == 0
	c.unlock(false)
	if idle {
		c.end()
	}
	select {
	case <-c.ended:
	case <-ctx.Done():
	}
	return c.Close()
}

// Close ends the connection at once; calls in flight fail. It is idempotent
// and waits.
func (c *Conn) Close() error {
	c.nc.Abort()
	c.failIdle()
	<-c.ended
	c.work.Wait()
	return nil
}
