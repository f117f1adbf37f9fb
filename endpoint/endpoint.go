package endpoint

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/internal/sys"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
	"github.com/limosa-rpc/limosa/wire"
)

const (
	// helloWait is how long a call waits for a peer to say that it can carry
	// many calls, before it opens a connection of its own.
	helloWait = 5 * time.Millisecond
	// crowded is the load from which another connection is opened: so many small
	// calls in flight, or few large ones. shared is the most connections for small
	// calls, wide the most for large ones, of bulkBytes and more: in one socket one
	// after the other they wait for the kernel's buffers, and cost .3 more.
	crowded   = 16
	shared    = 2
	wide      = 8
	bulkBytes = 64 << 10
	// loadBytes is what weighs as much as one call more.
	loadBytes = 16 << 10
	// dialTimeout bounds one attempt, firstPause to lastPause the time
	// between attempts after failures.
	dialTimeout = 5 * time.Second
	firstPause  = 20 * time.Millisecond
	lastPause   = 2 * time.Second
	// attempts is how often one call is tried on connections that turn out to
	// be gone before it was sent; retryPause is before each but the second.
	attempts   = 3
	retryPause = 10 * time.Millisecond
	// A call that its server has refused spends a retry, which retryCalls calls
	// earn; at most retriesSaved are kept, and there at first.
	retryCalls   = 10
	retriesSaved = 1000
	// dialsAtOnce is how many calls to a peer of one call at a time dial at the
	// same time; others wait for the first connection that is free.
	dialsAtOnce = 16
)

// A Dialer makes a connection, as netio.Dial does.
type Dialer = func(ctx context.Context, network, addr string, cfg *netio.Config) (netio.Conn, error)

// A Config says what an Endpoint connects to, and how.
type Config struct {
	Network, Addr string        // "tcp" with host:port, "unix" with a path
	Protocol      wire.Protocol // what connections speak
	Plain         wire.Protocol // the same, without an offer: for streams to a peer that is known to heed none
	Limits        *rpc.Limits   // with all fields set: Limits.WithDefaults
	TLS           *tls.Config   // not nil: TCP connections speak TLS
	Logger        *slog.Logger  // nil: nothing is logged
	Stats         *stats.Set    // where connections and dials are counted; may be nil, and shared
	Dial          Dialer        // nil: netio.Dial
}

// An Endpoint holds the connections to one target. A peer that answers the offer
// gets one connection for all calls, a second one under load and some more for
// large messages; any other peer one connection for each call in flight, kept for the next.
//
// It is an rpc.Caller without interceptors and without options: what a call
// carries and how long it may take is settled before. All methods may be called
// concurrently.
type Endpoint struct {
	// Set by New, then constant.
	cfg     Config
	streams bool            // the protocol has calls of several messages
	total   *mux.Total      // what all connections hold
	ctx     context.Context // ends when calls in flight have to
	cancel  context.CancelFunc
	dialing context.Context // ends when the endpoint is closed
	stop    context.CancelFunc

	open          *stats.Gauge
	dials, failed *stats.Counter

	work sync.WaitGroup // dials and closes

	mu struct {
		sync.Mutex
		kind   kind // what the peer is known to be
		all    map[*pooled]struct{}
		muxed  []*pooled // carry many calls
		idle   []*pooled // carry one call at a time and have none; the last used at the end
		opened []*pooled // carry streams and nothing else
		flight *flight   // the dial that others wait for
		own    int       // dials of calls that each need a connection of their own
		queue  []*turn   // calls that wait for one of these to end, or for an idle connection
		earned int       // by calls, toward retries of refused ones
		patience
		reaper *time.Timer
		closed bool
		heard  bool // the peer has answered a call
	}
}

// kind is what is known of a peer; remembered for later connections.
type kind uint8

const (
	unknown   kind = iota
	multiplex      // says hello
	exclusive      // does not, or was not asked
)

// pooled is a connection of an endpoint; its fields are guarded by Endpoint.mu.
type pooled struct {
	conn  *mux.Conn
	calls int       // in flight
	load  int       // what they weigh
	muxed bool      // carries many
	opens bool      // its first call was a stream: a peer that says no hello takes only streams on it
	used  bool      // it has carried something
	known bool      // whether it does is settled
	made  time.Time // dialled
	since time.Time // idle since
}

// load is what a call weighs whose messages have so many bytes.
func load(bytes int) int { return 1 + bytes/loadBytes }

// enter counts a call of so many bytes in. The endpoint's lock is held, or pc is new.
func (pc *pooled) enter(bytes int) {
	pc.calls++
	pc.load += load(bytes)
}

// fits reports whether pc, which has nothing in flight, can carry a call, or
// with opens a stream. Until its peer is known it goes on with what it began with.
func (pc *pooled) fits(opens bool) bool {
	switch {
	case !pc.used:
		return !opens || !pc.known
	case pc.known:
		return !opens
	}
	return pc.opens == opens
}

// New makes an endpoint. It connects when calls need it.
func New(cfg Config) *Endpoint {
	if cfg.Dial == nil {
		cfg.Dial = netio.Dial
	}
	if cfg.Network != "tcp" {
		cfg.TLS = nil
	}
	p := &Endpoint{
		cfg:     cfg,
		streams: cfg.Protocol.Open(wire.Client, cfg.Limits).Caps().Streams,
		total:   mux.NewTotal(cmp.Or(cfg.Limits.HeldPerClient, sys.Budget()), cfg.Stats, "rpc_client_"),
		open:    cfg.Stats.Gauge("rpc_client_conns", "Connections that take calls."),
		dials:   cfg.Stats.Counter("rpc_client_dials", "Dials that were begun."),
		failed:  cfg.Stats.Counter("rpc_client_dials_failed", "Dials that have failed, in their TLS handshake for example."),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.dialing, p.stop = context.WithCancel(p.ctx)
	p.mu.all = map[*pooled]struct{}{}
	p.mu.earned = retriesSaved * retryCalls
	return p
}

// Do makes one call on a connection of the endpoint. What was certainly not begun,
// because its connection was gone or draining, is tried on another one.
func (p *Endpoint) Do(ctx context.Context, call *rpc.Call) error {
	opens := call.Method.Kind > rpc.Oneway
	if opens && !p.streams {
		return p.fault(rpc.Unimplemented, fmt.Sprintf("%v is a stream, which %s messages cannot be", call.Method, p.cfg.Protocol.Name()), nil)
	}
	bytes := call.Method.RequestBytes() + call.Method.ResponseBytes()
	for n := 1; ; n++ {
		again, err := p.try(ctx, call, search{opens: opens, again: n > 1, bytes: bytes}, n)
		if !again {
			return err
		}
	}
}

// try makes the nth attempt at a call. again: there is to be another one.
func (p *Endpoint) try(ctx context.Context, call *rpc.Call, q search, n int) (again bool, err error) {
	pc, err := p.acquire(ctx, &q)
	if err != nil {
		return false, err
	}
	if err = p.use(ctx, call, pc, q.bytes); err == nil || rpc.EngineOf(call).Driven() {
		return false, err
	}
	if n < attempts && p.again(ctx, n, call, err) {
		return true, err
	}
	return false, p.doubt(err)
}

// doubt has the error of a call whose peer has never answered one ask what the
// peer speaks: most say nothing to what they do not understand.
func (p *Endpoint) doubt(err error) error {
	e, ok := errors.AsType[*rpc.Error](err)
	if !ok || e.Sent != rpc.Maybe || e.Code != rpc.Unavailable && e.Code != rpc.DeadlineExceeded {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.heard || p.mu.kind == multiplex {
		return err
	}
	x := *e
	x.Msg = strings.TrimPrefix(x.Msg+"; no call to this peer was answered yet: does it speak "+p.cfg.Protocol.Name()+"?", "; ")
	return &x
}

// use makes a call on pc, which it is counted into, and counts it out: also
// when the caller's own code, which drives a stream, panics.
func (p *Endpoint) use(ctx context.Context, call *rpc.Call, pc *pooled, bytes int) error {
	answered := false
	defer func() { p.release(pc, bytes, answered) }()
	err := pc.conn.Do(ctx, call)
	answered = err == nil || rpc.SentOf(err) == rpc.Processed
	if err != nil {
		p.mistrust(pc, err)
	}
	return err
}

// again decides whether a call that failed for the nth time with err is tried
// once more, and waits until then. What was not sent has cost no server
// anything; what was refused has, or was lost with its connection and does no
// harm twice: it is paid from what calls have earned.
func (p *Endpoint) again(ctx context.Context, n int, call *rpc.Call, err error) bool {
	sent := rpc.SentOf(err)
	may := sent.Retryable() || sent == rpc.Maybe && call.Method.Idempotent
	if rpc.CodeOf(err) != rpc.Unavailable || !may || sent != rpc.NotSent && !p.spend() {
		return false
	}
	if n > 1 {
		pause := time.NewTimer(retryPause + rand.N(retryPause))
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// spend takes a retry from what was earned.
func (p *Endpoint) spend() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.earned < retryCalls {
		return false
	}
	p.mu.earned -= retryCalls
	return true
}

// changed is told by a connection that its status may differ.
func (p *Endpoint) changed(pc *pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settleLocked(pc)
}

// settleLocked brings pc onto the list where it belongs.
func (p *Endpoint) settleLocked(pc *pooled) {
	if _, ok := p.mu.all[pc]; !ok {
		return
	}
	caps, usable := pc.conn.Status()
	if !usable {
		if !pc.used { // else its call tells: who gives one up ends the connection
			p.unheardLocked(pc)
		}
		p.dropLocked(pc)
		return
	}
	p.hearLocked(pc)
	if pc.known || caps.Pending {
		return
	}
	pc.known, pc.muxed = true, caps.Mux
	p.mu.kind = exclusive
	switch {
	case pc.muxed:
		p.mu.kind = multiplex
		p.mu.idle = without(p.mu.idle, pc)
		p.mu.muxed = append(p.mu.muxed, pc)
		for len(p.mu.queue) > 0 {
			p.passLocked() // there is room for all
		}
	case pc.opens:
		p.mu.idle = without(p.mu.idle, pc)
		p.mu.opened = append(p.mu.opened, pc)
	}
}

// dropLocked forgets a connection that takes no new calls; it closes itself
// when its last call has ended.
func (p *Endpoint) dropLocked(pc *pooled) {
	delete(p.mu.all, pc)
	p.open.Dec()
	p.mu.idle = without(p.mu.idle, pc)
	p.mu.muxed = without(p.mu.muxed, pc)
	p.mu.opened = without(p.mu.opened, pc)
	p.work.Go(func() { pc.conn.Shutdown(p.ctx) })
}

func without(list []*pooled, pc *pooled) []*pooled {
	return slices.DeleteFunc(list, func(x *pooled) bool { return x == pc })
}

// mistrust drops pc if err says that the next call had better not meet it.
//
// A connection that takes no calls tells, and is gone from the endpoint by then; one
// that refuses all the same is not to be given every call from now on.
//
// And its server may be about to close it. Many servers, those of Kitex and
// Apache Thrift among them, close behind the exception that says that they did
// not understand the request; the next call would meet that close.
func (p *Endpoint) mistrust(pc *pooled, err error) {
	e, ok := errors.AsType[*rpc.Error](err)
	fails := ok && !e.Remote && e.Code == rpc.Unavailable
	refuses := fails && e.Sent.Retryable()
	closes := ok && e.Remote && (e.Code == rpc.Unimplemented || e.Code == rpc.InvalidArgument)
	if !fails && !closes {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if fails {
		p.unheardLocked(pc)
	}
	p.settleLocked(pc)
	if _, ok := p.mu.all[pc]; ok && (refuses || closes && !pc.muxed && !pc.opens) {
		p.dropLocked(pc)
	}
}

// release counts a call of so many bytes out of pc, which its peer has answered
// or not.
func (p *Endpoint) release(pc *pooled, bytes int, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.heard = p.mu.heard || answered
	p.hearLocked(pc)
	pc.calls--
	pc.load -= load(bytes)
	if pc.calls > 0 {
		return
	}
	defer p.passLocked()
	if _, ok := p.mu.all[pc]; !ok {
		return
	}
	pc.since = time.Now()
	if !pc.muxed {
		p.settleLocked(pc)
		if _, ok := p.mu.all[pc]; ok && !pc.muxed && !slices.Contains(p.mu.opened, pc) {
			p.mu.idle = append(p.mu.idle, pc)
		}
	}
	if p.mu.reaper == nil && !p.mu.closed {
		p.mu.reaper = time.AfterFunc(p.cfg.Limits.Idle, p.reap)
	}
}

// reap closes connections that had no call for longer than the limit. Its
// timer runs only while there is something idle.
func (p *Endpoint) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.closed {
		return
	}
	p.mu.reaper = nil
	next := time.Duration(-1)
	for pc := range p.mu.all {
		if pc.calls > 0 {
			continue
		}
		left := p.cfg.Limits.Idle - time.Since(pc.since)
		if left <= 0 {
			p.dropLocked(pc)
		} else if next < 0 || left < next {
			next = left
		}
	}
	if next >= 0 {
		p.mu.reaper = time.AfterFunc(next, p.reap)
	}
}

// closeGrace is what Close gives calls in flight.
const closeGrace = 5 * time.Second

// Close is Shutdown with five seconds. It is idempotent.
func (p *Endpoint) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	return p.Shutdown(ctx)
}

// Shutdown takes no new calls, which fail with Sent == NotSent, waits for
// those in flight until ctx ends, then fails them, and frees everything.
func (p *Endpoint) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	p.mu.closed = true
	if p.mu.reaper != nil {
		p.mu.reaper.Stop()
	}
	var each sync.WaitGroup
	for pc := range p.mu.all {
		each.Go(func() { pc.conn.Shutdown(ctx) })
	}
	p.mu.Unlock()
	p.stop()
	defer context.AfterFunc(ctx, p.cancel)()
	each.Wait()
	p.work.Wait()
	p.cancel()
	return nil
}
