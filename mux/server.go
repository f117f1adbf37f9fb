package mux

import (
	"cmp"
	"context"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/wire"
)

// An input is what may still come from the peer.
type input uint8

const (
	inputOpen  input = iota // it is read
	inputEnded              // the peer has ended its sending side only: it may still read answers
	inputLost               // both sides have ended, or this one reads no more
)

// A ServerConn serves the calls of one connection.
//
// Its workers run one loop: take the next request and run it; with none there,
// read; with somebody else reading, leave. Whoever is about to run a handler
// that may block while requests wait or nobody reads starts a spare worker
// first, unless one is about to run already. So a handler that blocks holds
// nobody up: the spare takes over the queue, the reading and the flush that is
// owed. And a batch of requests costs a wake-up or two, not one for each.
type ServerConn struct {
	half

	// Set by NewServerConn, then constant.
	cfg   *ServerConfig
	over  chan struct{} // closed when the last worker has left
	ended func(error)   // set by Run
	loop  loopRole

	// Atomic: a part of a frame was received, or of a message in pieces.
	midFrame atomic.Bool

	// Guarded by the output lock.
	intake
	crew
	farewell

	// Owned by the read role, as half's.
	cutErr error // why nothing more can be cut
	broken bool  // the peer has closed both sides: it reads no answers
	deaf   bool  // and what it has sent before is dropped

	stint stint
	lone  lone

	probe probe
}

// An intake is the requests of a connection that were cut and not answered. All of it
// is guarded by the output lock.
type intake struct {
	requests table     // all that live
	queue    queue     // those that were not begun
	parked   queue     // and those that wait for room to begin
	outlook  *outlook  // what answers weighed lately; nil: they were small for all callers
	turns    turns     // those that are answered in the order of arrival
	late     turns     // those whose answers wait for room
	lateRuns bool      // and a goroutine that answers them
	reserved int       // what requests that run may come to hold besides, see fitsLocked
	arrived  time.Time // when the last batch was received
	fresh    bool      // and nothing of it was begun yet
	last     struct {  // what was looked for and found last
		service, method string
		routed
	}
	served uint32          // requests, to time one now and then
	opened []*serverStream // those that were not begun
}

// A crew is the workers of a connection: who of them does what all have in common. All
// of it is guarded by the output lock.
type crew struct {
	workers int   // goroutines of this connection
	reading bool  // somebody holds the read role
	spare   bool  // a worker was started and has not come to the loop yet
	halted  bool  // a worker waits at a barrier
	owed    bool  // whoever comes to the loop is the flusher
	unsent  int64 // time that handlers took since the last flush, ns, estimated
}

// A farewell is how far the end of a connection has come. Either side may begin it,
// and both at once, so its flags are not the phases of one life: each is set once, and
// only ending is taken back. All of it is guarded by the output lock.
type farewell struct {
	heard    bool          // a frame was cut: the peer has begun to use the connection
	draining bool          // this side takes no calls any more, and has said so
	parted   bool          // this side's last word was said: nothing is begun or appended any more
	mute     bool          // an answer could not be framed: the connection is aborted for it
	gone     bool          // netio has told of the end while nobody was in Receive
	ending   bool          // a goroutine reads to the end of it, see readToEnd
	idle     chan struct{} // closed when no request lives any more; nil while nobody waits for that
	input    input
	err      error       // why input is not open
	halfOpen *time.Timer // cancels what runs long after the end of a peer
	closing  *time.Timer // closes the connection long after its last answer; nil: that has not been given
}

// NewServerConn begins to serve nc, which it owns from now on. Run does the work.
func NewServerConn(nc netio.Conn, s wire.Session, cfg *ServerConfig) *ServerConn {
	// The step runs in the poller's callback: it cuts, notes, and decides nothing.
	c := &ServerConn{intake: intake{arrived: time.Now()}, cfg: cfg, over: make(chan struct{})}
	c.half.init(c, nc, s, &cfg.Config)
	c.serves = true
	c.loop.init(c)
	c.stint.init(c)
	c.account.init(cfg.Total, cfg.Limits.HeldPerConn, c.out)
	c.probe.may = s.Caps().Probes
	c.step = func(in *buf.In) (more bool, err error) {
		if c.deaf {
			in.Skip(in.Len())
			return false, nil
		}
		// To netio the connection is in order still: it is closed gently.
		c.tick()
		c.sess.Allow(c.account.allowance())
		more, c.cutErr = cut(c.sess, in, &c.batch, &c.frames)
		if mid := in.Len() > 0 || c.sess.Unfinished() != 0; mid != c.midFrame.Load() {
			c.midFrame.Store(mid)
		}
		c.account.received(in, c.sess)
		return more && c.cutErr == nil, nil
	}
	return c
}

// CountUnder has t, a share of the configuration's Total, count what this
// connection holds. It is called before Run.
func (c *ServerConn) CountUnder(t *Total) {
	c.account.init(t, c.lim.HeldPerConn, c.out)
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
	c.workUnlocks()
}

// startLocked makes another worker.
func (c *ServerConn) startLocked() {
	c.spare = true
	c.stint.spent += beginCost
	c.staffLocked(1)
	go func() { // the last worker to leave ends the connection
		c.out.Lock()
		c.spare = false
		c.workUnlocks()
	}()
}

// workUnlocks is the loop of a worker.
func (c *ServerConn) workUnlocks() {
	for {
		if c.yieldsLocked() {
			if c.yield() {
				return
			}
			continue
		}
		if len(c.opened) > 0 && !c.leavingLocked() {
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
		case bar == passable && c.unreadLocked():
			if c.readOnce() {
				return
			}
		case c.leave():
			return
		}
	}
}

// readOnce holds the read role for one batch. parked: there is none yet, and
// the event loop goes on; the worker is over, without having left, and the lock
// released.
func (c *ServerConn) readOnce() (parked bool) {
	c.reading = true
	// What has come of a peer that is known to be gone is dropped where its calls end with the
	// connection: to cut it costs more than to send it. Other protocols have oneway calls, which run.
	c.deaf = c.deaf || c.gone && (c.closer != nil || c.sess.Caps().Final) && netio.Broken(c.nc)
	owed, others := c.claimLocked(), among(c.runningLocked())
	c.out.Unlock()
	if owed && others == yielding {
		runtime.Gosched() // those that run now add their answers
	}
	c.frames.resume()
	why, err := c.receive(owed)
	if why == netio.Parked {
		return true
	}
	c.tookLocks(why, err)
	return false
}

// tookLocks ends a turn of the read role, which is the caller's, with what
// Receive returned.
func (c *ServerConn) tookLocks(why netio.Outcome, err error) {
	if why == netio.Full {
		c.spawn(func() { c.out.Flush() })
	}
	c.frames.pause()
	now := time.Now()
	c.out.Lock()
	c.broken = (why == netio.Lost || c.gone) && netio.Broken(c.nc)
	c.arrived, c.fresh = now, true
	var fx aftermath
	c.batchLocked(&fx)
	c.reading = false
	if why == netio.Lost || c.cutErr != nil {
		c.loseLocked(cmp.Or(c.cutErr, err, io.EOF), &fx)
	}
	c.noticeEndLocked()
	// What answers the batch itself, a hello above all, leaves before any handler runs;
	// acknowledgements and credit leave with the answers.
	flusher := c.out.ClaimLocked()
	if flusher && fx.later > 0 && c.out.Out().Len() == fx.later {
		c.owed, flusher = true, false
	}
	if flusher || fx.any() {
		c.out.Unlock()
		if flusher {
			c.flush(atOnce)
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
	c.probe.batches++
	c.account.turnLocked()
	if c.parted {
		c.dropLocked()
	}
	c.stint.batchLocked(len(c.batch.list))
	for i := range c.batch.list {
		ev := &c.batch.list[i]
		if ev.Flags&wire.Applied != 0 {
			settings := ev.Flags&wire.Settings != 0
			var n int
			if n, fx.woken = c.applyLocked(ev, fx.woken); !settings {
				fx.later += n
			}
		}
		switch {
		case ev.Flags&wire.Stream != 0:
			c.streamLocked(ev, fx)
		case ev.Flags&wire.Open != 0:
			if r := c.openLocked(ev); r != nil {
				took, sure := r.cost(c.cfg.Chain != nil)
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
	c.closeLocked()
	c.batch.reset()
}

// dropLocked makes nothing of a batch, which crossed this side's last word.
func (c *ServerConn) dropLocked() {
	for i := range c.batch.list {
		c.batch.list[i].Body.Release()
	}
	c.batch.reset()
}

// unreadLocked reports whether nobody reads what may still come.
func (c *ServerConn) unreadLocked() bool { return !c.reading && c.input == inputOpen }

// routeLocked finds the handler of a request; mostly it is the last one's. One that its protocol
// has refused has that of the service it names, or none.
func (c *ServerConn) routeLocked(ev *wire.Event) routed {
	if ev.Flags&wire.Refused != 0 {
		h, why, ok := c.cfg.Route(ev.Service, ev.Method)
		if !ok || cmp.Or(h.Service, h.Method.Service) != ev.Service {
			return routed{why: why}
		}
		return routed{h, why}
	}
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

// leave ends a worker, which pays what is owed before, and releases the
// lock. If there is something to do again by then it returns false, with the
// lock held. The last one to leave a lost connection ends it.
func (c *ServerConn) leave() (left bool) {
	if c.claimLocked() {
		others := among(c.runningLocked())
		c.out.Unlock()
		c.flush(others)
		c.out.Lock()
		return false
	}
	c.staffLocked(-1)
	last := c.workers == 0 && c.input != inputOpen
	if last {
		c.keeping.stop()
		c.probe.stop()
		c.account.close()
	}
	c.out.Unlock()
	if last {
		c.frames.stop()
		if c.halfOpen != nil {
			c.halfOpen.Stop()
		}
		if c.closing != nil {
			c.closing.Stop()
		}
		if c.cutErr != nil {
			c.linger() // so that the answer that tells the peer what was wrong comes
		}
		c.nc.Close(context.Background()) //nolint:errcheck // what the peer still reads, it gets; Limits.WriteStall bounds that
		c.nc.Receive(false, nil)         // gives back the memory of what was lent
		close(c.over)
		c.ended(c.err)
	}
	return true
}

// staffLocked counts n workers in, or out.
func (c *ServerConn) staffLocked(n int) {
	c.workers += n
	c.account.staffLocked(c.workers, c.workers-n)
}

// spawnLocked implements [side]: the goroutine counts as a worker.
func (c *ServerConn) spawnLocked(f func()) {
	c.staffLocked(1)
	go func() {
		f()
		c.out.Lock()
		c.workUnlocks()
	}()
}
