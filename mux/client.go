package mux

import (
	"context"
	"fmt"
	"log/slog"
	"math"
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

	// Total counts what all connections of the client, or of the server, hold. nil:
	// nothing is counted over all of them.
	Total *Total

	// Notify, on a client's connection, is called after its Status may have
	// changed, without a lock held. It must not block for long.
	Notify func()
}

// A Conn makes calls on one connection. It implements [rpc.Caller]; all methods
// may be called concurrently.
//
// Nobody stands by to read: a caller that finds no reader leads, which means
// that it reads the connection until its own answer has come. If others wait
// by then, a reader goroutine goes on, and ends when nobody waits any more.
//
//	call:
//	    lock: take a slot, frame the request; nobody reads? take the read role
//	    have the role? lead : (am the flusher? flush); follow
//	lead:                                    // the role is mine
//	    loop: Receive (pays my flush); deliver
//	        my answer came            -> done, the role was given up
//	        the socket is full, or this side holds all it may -> the role was passed on; follow
//	        my context ended          -> abandon: tell the peer, give the role up
//	follow:                                  // the role is another's
//	    wait until my slot is signalled, or my context ends (-> abandon)
//	    wake the next of the chain; take the answer
//	reader (a goroutine):                    // the role is its own
//	    loop: Receive; deliver, until nobody waits
//	deliver:
//	    lock: find the slots of the batch; give streams their events; unlock
//	    for each answer: waiting -> filling, decode into the call, -> done
//	    lock: count the answers out; as the reader: wake the chain, be its last link,
//	          and go on with the flush that its callers have left to me
//	          decide who has the role now; unlock
//	    wake the chain; wake waits of streams, start a reader, kick, tell
//
// The role, the slots and the counts change under one lock, so that nobody waits
// while nobody reads. What a batch has left to be done is done after the unlock
// that gives the role away, and touches none of what the role owns.
type Conn struct {
	half

	// Set by NewConn, then constant.
	tell    func()        // Config.Notify
	enc     rpc.Encoding  // of requests
	orders  wire.Orderer  // nil: ids of events are the peer's
	unnamed bool          // answers do not say the method
	listens bool          // what the peer says wants an answer also while nothing is called
	final   bool          // a call that was given up has no late answer
	ready   chan struct{} // closed once the peer's abilities are known
	ended   chan struct{} // closed when the connection is gone and every call was told
	turn    chan struct{} // capacity 1: the reader is the last link of a chain of wake-ups
	work    sync.WaitGroup

	// Guarded by the output lock.
	slots     slots
	life      life
	line      line
	appended  uint64
	ev        wire.Event // of the request that is being encoded
	caps      wire.Caps
	gathers   bool  // the reader waits for its turn after those it has woken: a flush is left to it
	owed      bool  // and one was
	streamed  bool  // a stream was opened: Kitex takes no calls on such a connection
	onTheWay  bool  // a oneway call may not have come to the peer yet: nothing was answered since
	peek      peek  // while streams are open and nobody reads
	hark      hark  // while nothing is called
	supposing alarm // see supposeLocked
	why       error // what this side gives the connection up for

	// Owned by the holder of the read role, as half's.
	found   []*slot // of each event of the batch
	unsends bool    // sending has failed, and the connection is read to its end
	cutErr  error   // why nothing more can be cut
	parting bool    // the peer was told why the connection ends: it is given the time to read that

	pulse pulse
}

// NewConn begins to make calls on nc, which it owns from now on, in the
// frames of s.
func NewConn(nc netio.Conn, s wire.Session, cfg Config) *Conn {
	c := &Conn{
		tell: cfg.Notify, ready: make(chan struct{}), ended: make(chan struct{}), turn: make(chan struct{}, 1),
	}
	c.half.init(c, nc, s, &cfg)
	if c.tell == nil {
		c.tell = func() {}
	}
	c.step = func(in *buf.In) (more bool, err error) {
		c.tick()
		c.pulse.note(in)
		// To netio the connection is in order still: the last word is yet to be said.
		more, c.cutErr = cut(c.sess, in, &c.batch, &c.frames)
		c.pulse.left = in.Len()
		c.account.received(in, c.sess)
		return more && c.cutErr == nil, nil
	}
	c.life.streams, c.life.kept = &c.streams, &c.keeping
	c.account.init(cfg.Total, cfg.Limits.HeldPerConn, c.out)
	c.caps = s.Caps()
	c.orders, _ = s.(wire.Orderer)
	c.enc, c.unnamed, c.final, c.listens = c.caps.Encoding, c.caps.Unnamed, c.caps.Final, c.caps.Listens
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

// Heard reports whether the peer has ever sent anything.
func (c *Conn) Heard() bool { return c.pulse.beats.Load() > 0 }

// Untouched reports whether nothing was sent yet.
func (c *Conn) Untouched() bool { return c.out.HandedToKernel() == 0 }

// Ended is closed when the connection is gone.
func (c *Conn) Ended() <-chan struct{} { return c.ended }

// Status says what the connection can carry and whether it takes new calls.
func (c *Conn) Status() (caps wire.Caps, usable bool) {
	c.out.Lock()
	defer c.unlock()
	return c.caps, c.life.door == open
}

// Err says why the connection is gone; nil: it is not.
func (c *Conn) Err() error {
	c.out.Lock()
	defer c.unlock()
	return c.life.err
}

// Do implements [rpc.Caller]: it makes one call and waits for its answer. An
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
	if r.private != nil {
		defer r.private.Reset() // of what was not moved
	}
	switch {
	case err != nil || r.slot == nil:
		return err
	case r.leads:
		return c.lead(ctx, r)
	}
	if r.flusher {
		c.flush(r.others)
	}
	if r.total > 0 {
		if err := c.sendRest(ctx, r); err != nil && r.slot.word.CompareAndSwap(word(r.id, waiting), word(r.id, gone)) {
			c.abandon(ctx, r)
			return unsendable(c.peer, err)
		}
	}
	return c.follow(ctx, r)
}

// A registered call is what send leaves its caller with.
type registered struct {
	slot    *slot // nil for a oneway call
	id      uint64
	leads   bool   // the caller holds the read role
	flusher bool   // the caller is the flusher
	others  haste  // yielding: calls are in flight that may add to the output
	beat    uint32 // of the connection's pulse, when it was sent

	private *buf.Out // a large request, encoded outside the lock; nil: it was small
	total   int      // not 0: its size, and private goes in pieces
}

// send puts the request into the output: one critical section, or two if a
// large request comes unexpected.
func (c *Conn) send(ctx context.Context, call *rpc.Call) (r registered, err error) {
	if ctx.Err() != nil {
		return r, c.interrupted(ctx, rpc.NotSent)
	}
	rpc.EngineOf(call).SetEncoding(c.enc)
	if !rpc.HintsOf(call.Method).LargeRequest() {
		if err = c.register(ctx, call, &r); err != errPieces {
			return r, err
		}
	}
	if r.private, err = c.encodePrivate(rpc.EngineOf(call).AppendRequest, nil); err != nil {
		return r, err
	}
	if r.private.Len() <= pieceFrom {
		err = c.register(ctx, call, &r)
		return r, err
	}
	if err = c.awaitTurn(ctx); err != nil {
		return r, err
	}
	if err = c.register(ctx, call, &r); r.total == 0 || err != nil {
		<-c.large // it went whole, or not at all
	}
	return r, err
}

// register is send's critical section; a request that was expected to be large
// is encoded already. errPieces: this one is, and was not expected to be;
// nothing has happened yet.
func (c *Conn) register(ctx context.Context, call *rpc.Call, r *registered) (err error) {
	if c.out.Queued() > c.lim.QueuedBytes {
		if err := c.out.Wait(ctx, c.lim.QueuedBytes); err != nil && ctx.Err() != nil {
			return c.interrupted(ctx, rpc.NotSent)
		}
	}
	timeout, err := c.remaining(ctx)
	if err != nil {
		return err
	}

	c.out.Lock()
	if err = c.refuseLocked(); err == nil && c.caps.Calls > 0 {
		err = c.awaitPlaceLocked(ctx, c.refuseLocked, &timeout)
	}
	if err != nil {
		c.unlock()
		return err
	}
	s := c.slots.take(call)
	if s == nil {
		c.letInLocked()
		c.unlock()
		return c.exhausted(errIDs)
	}
	if err := c.frameLocked(call, r, s, timeout); err != nil {
		c.slots.put(s)
		c.letInLocked()
		c.unlock()
		return c.unspent(err)
	}
	if call.Method.Kind == rpc.Oneway {
		c.onTheWay = true
		fx := c.life.readKept()
		c.slots.put(s)
		c.letInLocked()
		c.unlockThen(among(c.life.inflight))
		c.carryOut(fx)
		return nil
	}
	var fx effects
	r.leads, fx = c.life.enter(r.total == 0 && !c.fullLocked()) // who has more to send than fits cannot read meanwhile
	r.slot, r.id, r.others, r.beat = s, s.id(), among(c.life.inflight-1), c.pulse.beats.Load()
	c.watchLocked()
	if r.flusher = c.out.ClaimLocked(); r.flusher && c.gathers {
		r.flusher, c.owed = false, true
	}
	c.out.Unlock()
	c.carryOut(fx)
	return nil
}

// frameLocked frames a request, for slot s, or of a large one the first piece.
func (c *Conn) frameLocked(call *rpc.Call, r *registered, s *slot, timeout time.Duration) error {
	ev := &c.ev
	*ev = wire.Event{
		Flags: wire.Open | wire.Message | wire.End, ID: s.id(), Timeout: timeout,
		Service: call.Service, Method: call.Method.Name, Header: call.Header,
	}
	cuts, n := c.caps.Pieces, 0
	if call.Method.Kind == rpc.Oneway {
		ev.Flags |= wire.Oneway
		cuts = false
	}
	body := rpc.EngineOf(call).AppendRequest
	most := math.MaxInt
	if cuts && r.private != nil && r.private.Len() > pieceFrom {
		n = c.mix.begin(r.private.Len()).size
	}
	switch {
	case n > 0:
		n = describe(ev, r.private, n)
		s.apart = true
		body = func(out *buf.Out) error { out.MovePart(r.private, n); return nil }
		r.total = ev.Total
	case r.private != nil:
		body = func(out *buf.Out) error { out.MoveFrom(r.private); return nil }
	case cuts:
		most = pieceFrom
	}
	out := c.out.Out()
	before := out.Len()
	exitsUnlocks := func() {
		c.slots.put(s)
		c.letInLocked()
		c.unlock()
	}
	if err := encodeUpTo(out, c.sess, ev, body, most, exitsUnlocks); err != nil {
		return err
	}
	kept := c.watchKeptLocked()
	s.size = uint64(out.Len() - before)
	c.appended += s.size
	s.end = c.appended
	if r.total == 0 && s.size <= pieceFrom {
		c.mix.small()
	}
	rpc.HintsOf(call.Method).NoteRequest(max(int(s.size)+kept, r.total))
	return nil
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
	case c.life.door == dead:
		return lost(c.peer, rpc.NotSent, c.life.err)
	case c.life.door != open:
		return &rpc.Error{Code: rpc.Unavailable, Op: "call", Peer: c.peer, Msg: "the connection is being closed", Sent: rpc.NotSent}
	case c.life.inflight >= c.lim.CallsPerConn:
		return c.exhausted(fmt.Sprintf("%d calls in flight on one connection", c.life.inflight))
	case c.account.crowdedLocked():
		c.account.total.refuse()
		return c.exhausted("this client holds all that it may of answers that nobody has taken")
	case !c.caps.Mux && (c.life.inflight > 0 || c.streamed && (!c.caps.Exclusive || c.streams.open > 0)):
		return &rpc.Error{Code: rpc.Unavailable, Op: "call", Peer: c.peer, Sent: rpc.NotSent,
			Msg: "the connection carries one call at a time and is busy"}
	}
	return nil
}

// exhausted is the error of a call for which this connection has no place.
func (c *Conn) exhausted(msg string) error {
	return &rpc.Error{Code: rpc.ResourceExhausted, Op: "call", Peer: c.peer, Sent: rpc.NotSent, Msg: msg}
}

// unspent is err, of a first frame, as what it means where the ids of the connection are
// used up: another connection has some.
func (h *half) unspent(err error) error {
	if err != wire.ErrSpent { //nolint:errorlint // sessions return it as it is
		return err
	}
	return &rpc.Error{Code: rpc.Unavailable, Op: "call", Peer: h.peer, Sent: rpc.NotSent, Err: err}
}

// errIDs is why a call is refused for which there is no id.
const errIDs = "all ids of the connection are in use by calls, streams and late answers"

// follow waits for the answer of a call that somebody else will read.
func (c *Conn) follow(ctx context.Context, r registered) error {
	s := r.slot
	select {
	case <-s.done:
	case <-ctx.Done():
		if s.word.CompareAndSwap(word(r.id, waiting), word(r.id, gone)) {
			return c.abandon(ctx, r)
		}
		<-s.done // the answer is being decoded, or the connection was lost
	}
	s.passOn()
	return c.own(r)
}

// carryOut does what a transition of the connection's life has left to be done.
// No lock is held.
func (c *Conn) carryOut(fx effects) {
	wake(fx.wake)
	if fx.kick {
		c.nc.Kick()
	}
	if fx.start {
		c.work.Go(c.readOn)
	}
	if fx.lost != nil {
		c.fail(fx.lost, nil)
	}
	if fx.tell {
		c.tell()
	}
	if fx.end {
		c.work.Go(c.end) // it may wait for room, which no caller has to
	}
}

// spawnLocked implements [side]: Close joins the goroutine. Once the connection is
// lost there is nothing left to do for f.
func (c *Conn) spawnLocked(f func()) {
	if c.life.door != dead {
		c.work.Go(f)
	}
}
