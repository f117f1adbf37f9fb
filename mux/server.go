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
	Watch *Watch          // nil: every batch has a spare worker

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
	limit int64
	n     atomic.Int64
}

// NewGate makes a gate for limit calls; 0 is no limit.
func NewGate(limit int) *Gate { return &Gate{limit: int64(limit)} }

// InFlight is the number of calls that run.
func (g *Gate) InFlight() int { return int(g.n.Load()) }

// Enter counts a call in, unless the limit is met.
func (g *Gate) Enter() bool {
	if n := g.n.Add(1); g.limit > 0 && n > g.limit {
		g.n.Add(-1)
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
	large   chan struct{} // capacity 1: held by who sends a piece of a large answer
	granted chan struct{} // capacity 1: the peer has granted credit for pieces, or waiting for it is over
	ended   func(error)   // set by Run
	loop    loopRole

	// Guarded by the output lock.
	queue   []arrival // requests that were cut and not begun, from head on
	head    int
	arrived time.Time // when they were received
	last    struct {  // what was looked for and found last
		service, method string
		routed
	}
	reading  bool       // somebody holds the read role
	spare    bool       // a worker was started and has not come to the loop yet
	owed     bool       // whoever comes to it is the flusher
	unsent   int64      // time that handlers took since the last flush, ns, estimated
	served   uint32     // requests, to time one now and then
	workers  int        // goroutines of this connection
	running  *request   // list of the calls that run, or that wait for their turn to be answered
	count    int        // its length
	inOrder  []*request // those to be answered in the order of arrival
	open     map[uint64]*serverStream
	streams  streams
	mix      mix
	draining bool
	idle     chan struct{} // closed when no call runs any more; nil while nobody waits for that
	lost     bool          // nothing more is read
	err      error         // why; set with lost
	halfOpen *time.Timer   // cancels what runs long after the end of a peer

	// Owned by the read role.
	batch  []wire.Event
	cutErr error // why nothing more can be cut
	rest   frameTimer

	lone lone
}

// An arrival is a request that nobody has begun, with its handler.
type arrival struct {
	ev wire.Event
	routed
}

// What a Router said of a request.
type routed struct {
	h   rpc.Handler
	why string // why there is no handler
}

// A request is one call on the server, from dispatch to answer.
type request struct {
	// Set by beginLocked, then constant.
	routed
	arrived time.Time
	timed   bool // note what the handler takes

	// Owned by the worker that runs it.
	call *rpc.Call // nil until admit has made it

	// Atomic: call, for those that may cancel it.
	shown atomic.Pointer[rpc.Call]

	// Guarded by the output lock once it is listed.
	ev         wire.Event // as it came; later its answer
	prev, next *request
	ordered    bool
	listed     bool // in inOrder
	finished   bool
	err        error    // what is to be answered instead of the result
	private    *buf.Out // a large result, encoded outside the lock
	beside     bool     // small answers are beside it
	left       bool     // the peer has given the call up
	failed     error    // why its first piece could not be framed
}

// NewServerConn begins to serve nc, which it owns from now on. Run does the work.
func NewServerConn(nc netio.Conn, s wire.Session, cfg *ServerConfig) *ServerConn {
	c := &ServerConn{
		nc: nc, out: nc.Output(), s: s, cfg: cfg, peer: nc.Remote().String(), over: make(chan struct{}), large: make(chan struct{}, 1), granted: make(chan struct{}, 1),
		rest: frameTimer{nc: nc, limit: cfg.Limits.FrameRest},
	}
	c.loop.init(c)
	c.step = func(in *buf.In) (more bool, err error) {
		// To netio the connection is in order still: it is closed gently.
		more, c.cutErr = cut(c.s, in, &c.batch, &c.rest)
		return more && c.cutErr == nil, nil
	}
	return c
}

// Run serves on the caller's goroutine, as one of the connection's workers: it
// returns when that worker is not needed, which may be before the end of the
// connection. ended is called once, by the last worker, when the connection is
// closed and every handler has returned; its error is io.EOF after an orderly
// end. A peer that only closes its sending side still gets its answers.
func (c *ServerConn) Run(ended func(error)) {
	c.ended = ended
	c.out.Lock()
	c.workers++
	c.work()
}

// startLocked makes another worker.
func (c *ServerConn) startLocked() {
	c.spare = true
	c.workers++
	go func() { // the last worker to leave ends the connection
		c.out.Lock()
		c.spare = false
		c.work()
	}()
}

// work is the loop of a worker. The output lock is held on entry, not on
// return.
func (c *ServerConn) work() {
	var r *request
	for {
		switch {
		case c.head < len(c.queue) && c.cfg.Handlers == Goroutines:
			c.apartLocked()
		case c.head < len(c.queue):
			if r == nil || r.listed {
				r = new(request) // the last one waits for its turn to be answered
			}
			c.serveLocked(r)
		case !c.reading && !c.lost:
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
	owed, others := c.claimLocked(), c.count > 0
	full := c.out.Queued() > c.cfg.Limits.QueuedBytes
	c.out.Unlock()
	switch {
	case full && owed:
		// The peer does not read its answers: take no more of its calls
		// before it has. That Flush may park is the point here.
		c.out.Flush()
		owed = false
	case full:
		c.out.Wait(context.Background(), c.cfg.Limits.QueuedBytes)
	case owed && others:
		runtime.Gosched() // those that run now add their answers
	}
	if p := &c.streams.pace; p.pressed.Load() != nil && (c.loop.nc == nil || c.cfg.Handlers != Inline) {
		if owed {
			flush(c.nc, others, c.spawn)
			owed = false
		}
		c.rest.stop() // it is not the peer's doing
		p.wait(c.out, c.unlock)
	}
	why, err := c.receive(owed)
	if why == netio.Parked {
		return true
	}
	c.took(why, err)
	return false
}

// took ends a turn of the read role, which is the caller's, with what
// Receive returned. The lock is held on return, not on entry.
func (c *ServerConn) took(why netio.Why, err error) {
	if why == netio.Full {
		c.spawn(func() { c.out.Flush() })
	}
	for i := range c.batch {
		c.takeEvent(&c.batch[i])
	}
	now := time.Now()
	c.out.Lock()
	c.arrived = now
	woken := c.enqueueLocked()
	c.reading = false
	cancels := false
	if why == netio.Lost || c.cutErr != nil {
		c.lost, c.err = true, cmp.Or(c.cutErr, err, io.EOF)
		woken = c.loseLocked(woken)
		signal(c.granted)
		cancels = !errors.Is(c.err, io.EOF) || c.s.Caps().Mux
		if !cancels && c.count > 0 {
			// A peer that only ended its sending side, or one that is gone.
			c.halfOpen = time.AfterFunc(halfOpenTime, func() { c.cancelAll(context.Canceled) })
		}
	}
	if woken != nil || cancels {
		c.out.Unlock()
		wake(woken)
		if cancels {
			c.cancelAll(context.Canceled)
		}
		c.out.Lock()
	}
}

// enqueueLocked moves the requests of the batch to the queue, and gives streams
// what is theirs. It returns the waits that are over.
func (c *ServerConn) enqueueLocked() (woken *waiter) {
	var cost time.Duration
	known := true
	for i := range c.batch {
		ev := &c.batch[i]
		if ev.Flags&wire.Stream != 0 {
			woken = c.streamLocked(ev, woken)
		}
		if ev.Flags&(wire.Open|wire.Stream) != wire.Open {
			continue
		}
		a := arrival{*ev, c.routeLocked(ev)}
		if a.h.Method != nil {
			took := a.h.Method.Cost()
			cost, known = cost+took, known && took > 0
		}
		if c.head == len(c.queue) {
			c.queue, c.head = c.queue[:0], 0
		}
		c.queue = append(c.queue, a)
	}
	if n := len(c.queue) - c.head; n > 0 && known && c.cfg.Watch != nil && c.cfg.Handlers == Spare && c.lone.fits(n, cost) && !c.spare {
		c.lone.begin(c, n)
	}
	clear(c.batch)
	c.batch = c.batch[:0]
	return woken
}

// routeLocked finds the handler of a request; mostly it is the last one's.
func (c *ServerConn) routeLocked(ev *wire.Event) routed {
	if c.last.h.Method == nil || ev.Service != c.last.service || ev.Method != c.last.method {
		c.last.service, c.last.method = ev.Service, ev.Method
		c.last.h, c.last.why, _ = c.cfg.Route(ev.Service, ev.Method)
	}
	return c.last.routed
}

// takeEvent makes what is to be made of an event that is no request.
func (c *ServerConn) takeEvent(ev *wire.Event) {
	if ev.Flags&(wire.Settings|wire.Ping|wire.GoAway) != 0 || ev.Flags&(wire.Credit|wire.Stream) == wire.Credit {
		c.out.Lock()
		c.s.Apply(c.out.Out(), ev)
		c.unlock()
		if ev.Flags&wire.Credit != 0 {
			signal(c.granted)
		}
	}
	if ev.Flags&wire.Reset != 0 {
		c.cancel(ev.ID)
	}
	if ev.Flags&(wire.Open|wire.Stream) != 0 {
		return // enqueueLocked takes it; if the connection is to be closed upon it, Cut says so next
	}
	ev.Body.Release()
	if ev.Flags&wire.Close != 0 {
		c.nc.CloseWrite() // after what is queued
	}
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
		others := c.count > 0
		c.out.Unlock()
		flush(c.nc, others, c.spawn)
		c.out.Lock()
		return false
	}
	c.workers--
	last := c.workers == 0 && c.lost
	c.out.Unlock()
	if last {
		c.rest.stop()
		if c.halfOpen != nil {
			c.halfOpen.Stop()
		}
		if c.cutErr != nil {
			c.linger()
		}
		c.nc.Close()
		c.nc.Receive(false, nil) // gives back the memory of what was lent
		close(c.over)
		c.ended(c.err)
	}
	return true
}

// linger ends our side and reads past what the peer still sends, for a moment:
// a close with bytes unread would be a reset, which could overtake the answer
// that tells the peer what was wrong.
func (c *ServerConn) linger() {
	timer := time.AfterFunc(lingerTime, c.nc.Abort)
	defer timer.Stop()
	if c.nc.CloseWrite() != nil {
		return
	}
	why := netio.Enough
	for why != netio.Lost {
		why, _ = c.nc.Receive(false, func(in *buf.In) (bool, error) { in.Skip(in.Len()); return true, nil })
	}
}

const lingerTime = time.Second

// halfOpenTime is how long handlers may go on after a peer without the offer
// has ended its sending side: it may wait for answers, or be gone. Peers of our
// kind never end one side only; their calls are cancelled at once.
const halfOpenTime = 30 * time.Second

// spawn runs f on a goroutine that counts as a worker.
func (c *ServerConn) spawn(f func()) {
	c.out.Lock()
	c.spawnLocked(f)
	c.unlock()
}

func (c *ServerConn) spawnLocked(f func()) {
	c.workers++
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
