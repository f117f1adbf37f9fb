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
	// changed; by its reader, without a lock held. It must not block for long.
	Notify func()
}

// A Conn makes calls on one connection. It is an rpc.Caller; all methods may
// be called concurrently.
type Conn struct {
	// Set by NewConn, then constant.
	nc    netio.Conn
	out   *netio.Output
	s     wire.Session
	lim   *rpc.Limits
	tell  func() // Config.Notify
	peer  string
	ready chan struct{} // closed once the peer's abilities are known
	ended chan struct{} // closed when the connection is lost or closed and every call was told
	work  sync.WaitGroup

	// Guarded by the output lock.
	slots     slots
	inflight  int // calls that wait
	abandoned int // slots in state gone
	appended  uint64
	caps      wire.Caps
	leaving   bool  // no new calls: the peer drains, or Close was called
	err       error // why the connection ended; set once

	// Owned by the reader.
	batch []wire.Event
}

// NewConn begins to make calls on nc, which it owns from now on, in the
// frames of s. It starts the connection's reader, which Close joins.
func NewConn(nc netio.Conn, s wire.Session, cfg Config) *Conn {
	c := &Conn{
		nc: nc, out: nc.Output(), s: s, lim: cfg.Limits, tell: cfg.Notify, peer: nc.Remote().String(),
		ready: make(chan struct{}), ended: make(chan struct{}),
	}
	if c.tell == nil {
		c.tell = func() {}
	}
	c.caps = s.Caps()
	if !c.caps.Pending {
		close(c.ready)
	}
	c.work.Go(c.read)
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
	return c.caps, c.err == nil && !c.leaving
}

// Do makes one call and waits for its answer. It is rpc.Caller's method. An
// error with Sent == NotSent or Refused may be retried on another connection.
func (c *Conn) Do(ctx context.Context, call *rpc.Call) error {
	call.Peer = c.peer
	if err := call.Header.Check(c.lim); err != nil {
		return err
	}
	s, err := c.send(ctx, call)
	if err != nil || s == nil {
		return err
	}
	return c.wait(ctx, s, s.id())
}

// send puts the request into the output and sees to its flush. The slot is
// nil for a oneway call.
func (c *Conn) send(ctx context.Context, call *rpc.Call) (*slot, error) {
	timeout, err := c.remaining(ctx)
	if err != nil {
		return nil, err
	}
	body := call.AppendRequest
	if call.Method.LargeRequest() {
		private, err := encodePrivate(body)
		if err != nil {
			return nil, err
		}
		defer private.Reset() // of what was not moved
		body = func(out *buf.Out) error { out.MoveFrom(private); return nil }
	}
	if c.out.Queued() > c.lim.QueuedBytes {
		if err := c.out.Wait(ctx, c.lim.QueuedBytes); err != nil && ctx.Err() != nil {
			return nil, c.interrupted(ctx, rpc.NotSent)
		}
	}

	c.out.Lock()
	if err := c.refuseLocked(); err != nil {
		c.unlock(false)
		return nil, err
	}
	s := c.slots.take(call)
	s.ev = wire.Event{
		Flags: wire.Open | wire.Message | wire.End, ID: s.id(), Timeout: timeout,
		Service: call.Service, Method: call.Method.Name, Header: call.Header,
	}
	oneway := call.Method.Kind == rpc.Oneway
	if oneway {
		s.ev.Flags |= wire.Oneway
	}
	out := c.out.Out()
	before := out.Len()
	if err := encode(out, c.s, &s.ev, body); err != nil {
		c.slots.put(s)
		c.unlock(false)
		return nil, err
	}
	s.size = uint64(out.Len() - before)
	c.appended += s.size
	s.end = c.appended
	call.Method.NoteRequest(int(s.size))
	if oneway {
		c.slots.put(s)
		s = nil
	} else {
		c.inflight++
	}
	c.unlock(c.inflight > 1)
	return s, nil
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
	case c.leaving:
		return &rpc.Error{Code: rpc.Unavailable, Op: "call", Peer: c.peer, Msg: "the connection is being closed", Sent: rpc.NotSent}
	case c.inflight >= c.lim.CallsPerConn, c.inflight+c.abandoned > indexMask:
		return &rpc.Error{Code: rpc.ResourceExhausted, Op: "call", Peer: c.peer, Sent: rpc.NotSent,
			Msg: fmt.Sprintf("%d calls in flight on one connection", c.inflight)}
	case c.inflight > 0 && !c.caps.Mux:
		return &rpc.Error{Code: rpc.Unavailable, Op: "call", Peer: c.peer, Sent: rpc.NotSent,
			Msg: "the connection carries one call at a time and is busy"}
	}
	return nil
}

// wait waits for the answer of the call in s.
func (c *Conn) wait(ctx context.Context, s *slot, id uint64) error {
	select {
	case <-s.done:
	case <-ctx.Done():
		if s.word.CompareAndSwap(word(id, waiting), word(id, gone)) {
			return c.abandon(ctx, s, id)
		}
		<-s.done // the answer is being decoded, or the connection was lost
	}
	err := s.err
	c.out.Lock()
	c.slots.put(s)
	c.leaveLocked()
	c.unlock(false)
	return err
}

// leaveLocked counts a call out.
func (c *Conn) leaveLocked() {
	c.inflight--
	if c.inflight == 0 && c.leaving && c.err == nil {
		c.work.Go(func() { c.nc.Close() }) // outside the lock; the reader ends with it
	}
}

// abandon leaves a call whose ctx has ended. Where calls carry ids the peer is
// told and the slot stays taken until its late answer; elsewhere the answer
// could be mistaken for the next call's, so the connection goes.
func (c *Conn) abandon(ctx context.Context, s *slot, id uint64) error {
	c.out.Lock()
	s.call, s.ev = nil, wire.Event{}
	c.abandoned++
	if !c.caps.Mux {
		c.inflight--
		c.leaving = true
		c.unlock(false)
		c.nc.Abort()
		return c.interrupted(ctx, rpc.Maybe)
	}
	c.leaving = c.leaving || c.abandoned > c.lim.Abandoned
	if c.err == nil {
		out := c.out.Out()
		before := out.Len()
		// A peer that cannot be told frames nothing here.
		if encode(out, c.s, &wire.Event{Flags: wire.Reset, ID: id}, nil) == nil {
			c.appended += uint64(out.Len() - before)
		}
	}
	c.leaveLocked()
	c.unlock(c.inflight > 1)
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
		c.work.Go(f) // the reader runs still, so nobody can be past work.Wait
	}
	c.unlock(false)
}

// read is the reader: it owns the receiving half until the connection ends.
func (c *Conn) read() {
	defer close(c.ended)
	rest := frameTimer{nc: c.nc, limit: c.lim.FrameRest}
	defer rest.stop()
	step := func(in *buf.In) (bool, error) { return cut(c.s, in, &c.batch, &rest) }
	for {
		why, err := c.nc.Receive(false, step)
		for i := range c.batch {
			c.take(&c.batch[i])
		}
		clear(c.batch)
		c.batch = c.batch[:0]
		if why == netio.Lost {
			c.fail(err)
			return
		}
	}
}

// take makes what is to be made of one event.
func (c *Conn) take(ev *wire.Event) {
	if ev.Flags&(wire.Settings|wire.Credit|wire.Ping|wire.GoAway) != 0 {
		c.apply(ev)
	}
	if ev.Flags&wire.End != 0 {
		c.answer(ev)
	}
	ev.Body.Release()
	if ev.Flags&wire.Close != 0 {
		c.nc.Close()
	}
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
		if c.inflight == 0 {
			c.work.Go(func() { c.nc.Close() })
		}
	}
	c.unlock(false)
	c.tell()
}

// answer ends the call that ev answers.
func (c *Conn) answer(ev *wire.Event) {
	c.out.Lock()
	s := c.slots.find(ev.ID)
	known := c.knownLocked()
	c.unlock(false)
	if known {
		c.tell()
	}
	if s == nil {
		return
	}
	if !s.word.CompareAndSwap(word(ev.ID, waiting), word(ev.ID, filling)) {
		c.late(s, ev.ID)
		return
	}
	s.err = c.fill(s.call, ev)
	s.word.Store(word(ev.ID, done))
	s.done <- struct{}{}
}

// knownLocked ends the wait for the peer's hello: it has said it, or it has
// answered without one and will not.
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
	declared, err := call.DecodeResponse(ev.Body, c.lim)
	if err != nil {
		return &rpc.Error{Code: rpc.CodeOf(coded(err, rpc.Internal, "")), Op: "decode response", Peer: c.peer, Sent: rpc.Processed, Err: err}
	}
	return declared
}

// fail ends the connection and every call on it. Only the reader calls it.
func (c *Conn) fail(cause error) {
	c.nc.Abort()
	handed := c.out.Handed()
	c.out.Lock()
	c.err = cmp.Or(cause, io.EOF)
	c.knownLocked()
	for _, s := range c.slots.all {
		w := s.word.Load()
		if state(w&0xff) != waiting || !s.word.CompareAndSwap(w, w&^0xff|uint64(done)) {
			continue
		}
		sent := rpc.Maybe
		if s.end-s.size >= handed {
			sent = rpc.NotSent
		}
		s.err = lost(c.peer, sent, cause)
		s.done <- struct{}{}
	}
	c.unlock(false)
	c.tell()
}

// Shutdown takes no new calls, waits for those in flight until ctx ends, and
// closes the connection; calls that are left then fail. It joins the reader.
func (c *Conn) Shutdown(ctx context.Context) error {
	c.out.Lock()
	c.leaving = true
	idle := c.inflight == 0
	c.unlock(false)
	if idle {
		c.nc.Close()
	}
	select {
	case <-c.ended:
	case <-ctx.Done():
		c.nc.Abort()
	}
	c.work.Wait()
	return nil
}

// Close ends the connection at once; calls in flight fail. It is idempotent
// and waits for the reader.
func (c *Conn) Close() error {
	c.nc.Abort()
	c.work.Wait()
	return nil
}
