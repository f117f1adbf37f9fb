package mux

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
	"github.com/limosa-rpc/limosa/wire"
)

// A Router finds the handler of a method; interceptors are part of Serve
// already. service is empty where the protocol does not say it. ok == false is
// answered with Unimplemented and why. A handler that was found stays the one
// of its names for as long as the connection lives.
type Router func(service, method string) (h rpc.Handler, why string, ok bool)

// ServerConfig is what every connection of a server shares.
type ServerConfig struct {
	Config
	Route Router
	Base  context.Context // the values that handlers see
	Gate  *Gate           // nil: no limit over all connections
	Total *Total          // nil: nothing is counted over all connections
	Watch *Watch          // nil: every batch has a spare worker
	Rush  *Rush           // nil: requests are begun in the order in which they are read, whoever leaves

	// Zlib has a place for each message that is inflated or compressed at a time: a
	// peer that sends little has this side work much, and an answer has its memory
	// twice while it is compressed. nil: no bound. Inline handlers, which nothing
	// may hold up, do without.
	Zlib chan struct{}

	Handlers Handlers
}

// Handlers says on which goroutines handlers run.
type Handlers uint8

const (
	// Spare, the default: on the goroutine that has read the request, with a
	// spare one behind it that takes over should the handler block.
	Spare Handlers = iota
	// Inline: on the goroutine that has read the request, and nothing behind
	// it. A handler that blocks stops its connection; one that calls back over
	// the same connection hangs.
	Inline
	// Goroutines: on a goroutine for each request.
	Goroutines
)

// A Gate bounds the calls in flight over all connections of a server.
type Gate struct {
	// Set by NewGate, then constant.
	limit   int64
	refused *stats.Counter // may be nil

	n atomic.Int64
}

// NewGate makes a gate for limit calls; 0 is no limit. It shows in set, which may be
// nil, how many it has refused.
func NewGate(limit int, set *stats.Set) *Gate {
	return &Gate{limit: int64(limit), refused: set.Counter("rpc_server_refused_calls", "Calls that were refused since as many were in flight as Limits.CallsPerServer allows.")}
}

// Enter counts a call in, unless the limit is met.
func (g *Gate) Enter() bool {
	if n := g.n.Add(1); g.limit > 0 && n > g.limit {
		g.n.Add(-1)
		g.refused.Inc()
		return false
	}
	return true
}

// Leave counts a call out.
func (g *Gate) Leave() { g.n.Add(-1) }

// A ServerConn serves the calls of one connection.
//
// Its workers run one loop: take the next request and run it; with none there,
// read; with somebody else reading, leave. Whoever is about to run a handler
// that may block while requests wait or nobody reads starts a spare worker
// first, unless one is about to run already. So a handler that blocks holds
// nobody up: the spare takes over the queue, the reading and the flush that is
// owed. And a batch of requests costs a wake-up or two, not one for each.
type ServerConn struct {
	// Set by NewServerConn, then constant.
	nc      netio.Conn
	out     *netio.Output
	s       wire.Session
	cfg     *ServerConfig
	peer    string
	step    netio.Step
	over    chan struct{} // closed when the last worker has left
	large   chan struct{} // capacity 1: held by who sends a large answer in pieces
	granted chan struct{} // capacity 1: the peer has granted credit for pieces, or waiting for it is over
	ended   func(error)   // set by Run
	loop    loopRole

	// Atomic: a part of a frame was received, or of a message in pieces.
	midFrame atomic.Bool

	// Guarded by the output lock.
	requests table // all that live
	queue    queue // those that were not begun
	parked   queue // and those that wait for room to begin
	turns    turns // those that are answered in the order of arrival
	late     turns // those whose answers wait for room
	lateRuns bool  // and a goroutine that answers them
	account  Account
	reserved int       // what requests that run may come to hold besides, see fitsLocked
	halted   bool      // a worker waits at a barrier
	arrived  time.Time // when the last batch was received
	fresh    bool      // and nothing of it was begun yet
	last     struct {  // what was looked for and found last
		service, method string
		routed
	}
	reading  bool   // somebody holds the read role
	spare    bool   // a worker was started and has not come to the loop yet
	owed     bool   // whoever comes to it is the flusher
	unsent   int64  // time that handlers took since the last flush, ns, estimated
	served   uint32 // requests, to time one now and then
	workers  int    // goroutines of this connection
	streams  streams
	opened   []*serverStream // those that were not begun
	mix      mix
	draining bool
	parted   bool          // this side's last word was said: nothing is begun or appended any more
	mute     bool          // an answer could not be framed: the connection is aborted for it
	heard    bool          // a frame was cut
	idle     chan struct{} // closed when no request lives any more; nil while nobody waits for that
	gone     bool          // netio has told of the end while nobody was in Receive
	looking  bool          // a goroutine finds out how it ended, see look
	lost     bool          // nothing more is read
	half     bool          // and yet answers are awaited, perhaps: only the peer's sending side has ended
	err      error         // why; set with lost
	halfOpen *time.Timer   // cancels what runs long after the end of a peer

	// Owned by the read role.
	batch  batch
	cutErr error // why nothing more can be cut
	broken bool  // the peer has closed both sides: it reads no answers
	rest   frameTimer

	stint stint
	lone  lone
}

// NewServerConn begins to serve nc, which it owns from now on. Run does the work.
func NewServerConn(nc netio.Conn, s wire.Session, cfg *ServerConfig) *ServerConn {
	c := &ServerConn{
		arrived: time.Now(), nc: nc, out: nc.Output(), s: s, cfg: cfg, peer: nc.Remote().String(), over: make(chan struct{}), large: make(chan struct{}, 1), granted: make(chan struct{}, 1),
		rest: newFrameTimer(nc, cfg.Limits.FrameRest),
	}
	c.loop.init(c)
	c.stint.init(c)
	c.account.init(cfg.Total, cfg.Limits.HeldPerConn, c.out)
	c.streams.account, c.streams.serves = &c.account, true
	c.step = func(in *buf.In) (more bool, err error) {
		// To netio the connection is in order still: it is closed gently.
		c.s.Allow(c.account.allowance())
		more, c.cutErr = cut(c.s, in, &c.batch, &c.rest)
		if mid := in.Len() > 0 || c.s.Unfinished() != 0; mid != c.midFrame.Load() {
			c.midFrame.Store(mid)
		}
		c.account.received(in, c.s)
		return more && c.cutErr == nil, nil
	}
	return c
}

// CountUnder has t, a share of the configuration's Total, count what this
// connection holds. It is called before Run.
func (c *ServerConn) CountUnder(t *Total) {
	c.account.init(t, c.cfg.Limits.HeldPerConn, c.out)
}

// Run serves on the caller's goroutine, as one of the connection's workers: it
// returns when that worker is not needed, which may be before the end of the
// connection. ended is called once, by the last worker, when the connection is
// closed and every handler has returned; its error is io.EOF after an orderly
// end. A peer that only closes its sending side still gets its answers.
func (c *ServerConn) Run(ended func(error)) {
	c.ended = ended
	c.out.Lock()
	c.staffLocked(1)
	c.unlock()
	c.nc.OnLost(c.hangUp)
	c.out.Lock()
	c.work()
}

// startLocked makes another worker.
func (c *ServerConn) startLocked() {
	c.spare = true
	c.stint.spent += beginCost
	c.staffLocked(1)
	go func() { // the last worker to leave ends the connection
		c.out.Lock()
		c.spare = false
		c.work()
	}()
}

// work is the loop of a worker. The output lock is held on entry, not on
// return.
func (c *ServerConn) work() {
	for {
		if c.yieldsLocked() {
			if c.yieldLocked() {
				return
			}
			continue
		}
		if len(c.opened) > 0 {
			c.beginStreamsLocked()
			continue
		}
		r, bar := c.stepLocked()
		switch {
		case r != nil && c.cfg.Handlers == Goroutines:
			c.apartLocked(r)
		case r != nil:
			c.serveLocked(r)
		case bar != passable && !c.halted:
			c.haltLocked(bar)
		case bar == passable && !c.reading && !c.lost:
			if c.readLocked() {
				return
			}
		case c.leaveLocked():
			return
		}
	}
}

// readLocked holds the read role for one batch. parked: there is none yet, and
// the event loop goes on; the worker is over, without having left, and the lock
// released.
func (c *ServerConn) readLocked() (parked bool) {
	c.reading = true
	owed, others := c.claimLocked(), c.runningLocked() > 0
	c.out.Unlock()
	if owed && others {
		runtime.Gosched() // those that run now add their answers
	}
	c.rest.resume()
	why, err := c.receive(owed)
	if why == netio.Parked {
		return true
	}
	c.took(why, err)
	return false
}

// took ends a turn of the read role, which is the caller's, with what
// Receive returned. The lock is held on return, not on entry.
func (c *ServerConn) took(why netio.Outcome, err error) {
	if why == netio.Full {
		c.spawn(func() { c.out.Flush() })
	}
	c.rest.pause()
	c.broken = why == netio.Lost && netio.Broken(c.nc)
	now := time.Now()
	c.out.Lock()
	c.arrived, c.fresh = now, true
	var fx aftermath
	c.batchLocked(&fx)
	c.reading = false
	if why == netio.Lost || c.cutErr != nil {
		c.loseLocked(cmp.Or(c.cutErr, err, io.EOF), &fx)
	}
	c.lookLocked()
	// What answers the batch itself, a hello above all, leaves before any handler runs.
	if owes := c.out.ClaimLocked(); owes || fx.any() {
		c.out.Unlock()
		if owes {
			flush(c.nc, false, c.spawn)
		}
		c.apply(&fx)
		c.out.Lock()
	}
}

// batchLocked makes of the events of a batch what is to be made of them, in
// their order: a request is known before the event that gives it up.
func (c *ServerConn) batchLocked(fx *aftermath) {
	had, cost, known := c.queue.n, time.Duration(0), true
	c.heard = c.heard || len(c.batch.list) > 0
	c.account.turnLocked()
	if c.parted {
		c.dropLocked()
	}
	c.stint.batchLocked(len(c.batch.list))
	for i := range c.batch.list {
		ev := &c.batch.list[i]
		if ev.Flags&(wire.Settings|wire.Ping|wire.GoAway) != 0 || ev.Flags&(wire.Credit|wire.Stream) == wire.Credit {
			c.s.Apply(c.out.Out(), ev)
			if ev.Flags&wire.Credit != 0 {
				signal(c.granted)
			}
		}
		switch {
		case ev.Flags&wire.Stream != 0:
			c.streamLocked(ev, fx)
		case ev.Flags&wire.Open != 0:
			if r := c.openLocked(ev); r != nil {
				took, sure := r.cost()
				cost, known = cost+took, known && sure
			}
		case ev.Flags&wire.Reset != 0:
			c.cancelLocked(ev.ID, fx)
		}
		ev.Body.Release()
		// If the connection is to be closed upon a request, Cut says so next.
		fx.shut = fx.shut || ev.Flags&wire.Close != 0 && ev.Flags&(wire.Open|wire.Stream) == 0
	}
	if n := c.queue.n; n > had && known && c.cfg.Watch != nil && c.cfg.Handlers == Spare && c.lone.fits(n, cost) && !c.spare {
		c.lone.begin(c, n)
	}
	c.batch.reset()
}

// dropLocked makes nothing of a batch, which crossed this side's last word.
func (c *ServerConn) dropLocked() {
	for i := range c.batch.list {
		c.batch.list[i].Body.Release()
	}
	c.batch.reset()
}

// loseLocked notes that nothing more comes, and why. Those whose callers have
// gone with the connection are given up, and those whose callers have not, since
// it is this side that ends it.
func (c *ServerConn) loseLocked(err error, fx *aftermath) {
	c.lost, c.err = true, err
	signal(c.granted)
	c.account.easeLocked()
	c.half = errors.Is(err, io.EOF) && !c.broken && !c.s.Caps().Mux
	if c.leftLocked(err) {
		c.cfg.Rush.left(c.arrived)
	}
	how := givenUp
	if c.cutErr != nil {
		how = cutOff
	}
	var next *request
	for r := c.requests.first; r != nil; r = next {
		next = r.next
		if r.stream != nil {
			r.stream.endLocked(errLost())
			fx.woken = r.stream.stirLocked(fx.woken)
			c.giveUpLocked(r, how, fx)
		} else if !c.half && !r.oneway { // nobody waits for a oneway call anyway: it was accepted, and runs
			c.giveUpLocked(r, how, fx)
		}
	}
	if c.requests.n > 0 {
		total, end := c.account.total, time.Now().Add(halfOpenTime)
		c.halfOpen = time.AfterFunc(halfOpenLook, func() { c.endHalfOpen(total, end) })
	}
}

// routeLocked finds the handler of a request; mostly it is the last one's.
func (c *ServerConn) routeLocked(ev *wire.Event) routed {
	if c.last.h.Method == nil || ev.Service != c.last.service || ev.Method != c.last.method {
		c.last.service, c.last.method = ev.Service, ev.Method
		c.last.h, c.last.why, _ = c.cfg.Route(ev.Service, ev.Method)
	}
	return c.last.routed
}

// claimLocked takes the flush that is owed over to the caller.
func (c *ServerConn) claimLocked() bool {
	owed := c.owed || c.out.ClaimLocked()
	c.owed, c.unsent = false, 0
	return owed
}

// leaveLocked ends a worker, which pays what is owed before, and releases the
// lock. If there is something to do again by then it returns false, with the
// lock held. The last one to leave a lost connection ends it.
func (c *ServerConn) leaveLocked() (left bool) {
	if c.claimLocked() {
		others := c.runningLocked() > 0
		c.out.Unlock()
		flush(c.nc, others, c.spawn)
		c.out.Lock()
		return false
	}
	c.staffLocked(-1)
	last := c.workers == 0 && c.lost
	if last {
		c.account.close()
	}
	c.out.Unlock()
	if last {
		c.rest.stop()
		if c.halfOpen != nil {
			c.halfOpen.Stop()
		}
		if c.cutErr != nil {
			linger(c.nc) // so that the answer that tells the peer what was wrong comes
		}
		c.nc.Close(context.Background()) //nolint:errcheck // what the peer still reads, it gets; Limits.WriteStall bounds that
		c.nc.Receive(false, nil)         // gives back the memory of what was lent
		close(c.over)
		c.ended(c.err)
	}
	return true
}

// halfOpenTime is how long handlers may go on after a peer without the offer
// has ended its sending side: it may wait for answers, or be gone. Peers of our
// kind never end one side only; their calls are cancelled at once.
const (
	halfOpenTime = 30 * time.Second
	// halfOpenLook is how often it is looked whether the server is full, for
	// those who have said that nothing more comes of them are the first to go then:
	// whether they still read is not known, and their reset is not told.
	halfOpenLook = time.Second
)

// endHalfOpen gives up what runs for a peer that has ended its side, at end or
// once the server is full, as total tells.
func (c *ServerConn) endHalfOpen(total *Total, end time.Time) {
	c.out.Lock()
	over := total.Full() || !time.Now().Before(end)
	if !over && c.requests.n > 0 {
		c.halfOpen.Reset(halfOpenLook)
	}
	c.unlock()
	if over {
		c.giveUpAll(givenUp)
	}
}

// staffLocked counts n workers in, or out.
func (c *ServerConn) staffLocked(n int) {
	c.workers += n
	c.account.staffLocked(c.workers, c.workers-n)
}

// spawn runs f on a goroutine that counts as a worker.
func (c *ServerConn) spawn(f func()) {
	c.out.Lock()
	c.spawnLocked(f)
	c.unlock()
}

func (c *ServerConn) spawnLocked(f func()) {
	c.staffLocked(1)
	go func() {
		f()
		c.out.Lock()
		c.work()
	}()
}

// unlock gives the lock back, and flushes if that made this goroutine, which
// is not about to come to the loop, the flusher.
func (c *ServerConn) unlock() {
	if c.out.Unlock() {
		flush(c.nc, false, c.spawn)
	}
}
