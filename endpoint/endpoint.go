package endpoint

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/internal/sys"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
	"github.com/limosa-rpc/limosa/wire"
)

// A Dialer makes a connection, as netio.Dial does.
type Dialer = func(ctx context.Context, network, addr string, cfg *netio.Config) (netio.Conn, error)

// A Config says what an Endpoint connects to, and how.
type Config struct {
	Network, Addr string        // "tcp" with host:port, "unix" with a path
	Protocol      wire.Protocol // what connections speak
	WithoutOffer  wire.Protocol // the same, without an offer: for streams to a peer that is known to heed none
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
		muxed  []*pooled   // carry many calls
		idle   []*pooled   // carry one call at a time and have none; the last used at the end
		opened []*pooled   // carry streams and nothing else
		flight *flight     // the dial that others wait for
		own    int         // dials of calls that each need a connection of their own
		queue  []*turn     // calls that wait for one of these to end, or for an idle connection
		line   []*place    // calls that wait for a place: all that carry many are full
		redial *time.Timer // for those in the line, once the pause is over; nil: none is set
		earned int         // by calls, toward retries of refused ones
		patience
		reaper *time.Timer
		closed bool
		heard  bool // the peer has answered a call
	}
}

// New makes an endpoint. It connects when calls need it.
func New(cfg Config) *Endpoint {
	if cfg.Dial == nil {
		cfg.Dial = netio.Dial
	}
	if cfg.Network != "tcp" {
		cfg.TLS = nil
	}
	e := &Endpoint{
		cfg:     cfg,
		streams: cfg.Protocol.Open(wire.Client, cfg.Limits).Caps().Streams,
		total:   mux.NewTotal(cmp.Or(cfg.Limits.HeldPerClient, sys.Budget()), cfg.Stats, "rpc_client_"),
		open:    cfg.Stats.Gauge("rpc_client_conns", "Connections that take calls."),
		dials:   cfg.Stats.Counter("rpc_client_dials", "Dials that were begun."),
		failed:  cfg.Stats.Counter("rpc_client_dials_failed", "Dials that have failed, in their TLS handshake for example."),
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.dialing, e.stop = context.WithCancel(e.ctx)
	e.mu.all = map[*pooled]struct{}{}
	e.mu.earned = retriesSaved * retryCalls // a new client may meet a restart at once
	return e
}

// Do makes one call on a connection of the endpoint. What was certainly not begun,
// because its connection was gone or draining, is tried on another one.
func (e *Endpoint) Do(ctx context.Context, call *rpc.Call) error {
	stream := call.Method.Kind > rpc.Oneway
	if stream && !e.streams {
		return e.fault(rpc.Unimplemented, fmt.Sprintf("%v is a stream, which %s messages cannot be", call.Method, e.cfg.Protocol.Name()), nil)
	}
	bytes := rpc.HintsOf(call.Method).RequestBytes() + rpc.HintsOf(call.Method).ResponseBytes()
	for n := 1; ; n++ {
		again, err := e.try(ctx, call, search{stream: stream, again: n > 1, bytes: bytes}, n)
		if !again {
			return err
		}
	}
}

// try makes the nth attempt at a call. again: there is to be another one.
func (e *Endpoint) try(ctx context.Context, call *rpc.Call, q search, n int) (again bool, err error) {
	pc, err := e.acquire(ctx, &q)
	if err != nil {
		return false, err
	}
	// A stream that was driven has used its caller's messages up: no second attempt could send them.
	if err = e.use(ctx, call, pc, q.bytes); err == nil || rpc.EngineOf(call).Driven() {
		return false, err
	}
	if n < attempts && e.again(ctx, n, call, err) {
		return true, err
	}
	return false, e.doubt(err)
}

// use makes a call on pc, which it is counted into, and counts it out: also
// when the caller's own code, which drives a stream, panics.
func (e *Endpoint) use(ctx context.Context, call *rpc.Call, pc *pooled, bytes int) error {
	answered := false
	defer func() { e.release(pc, bytes, answered) }()
	err := pc.conn.Do(ctx, call)
	answered = err == nil || rpc.SentOf(err) == rpc.Processed
	if err != nil {
		e.dropAfter(pc, err)
	}
	return late(ctx, err)
}

// late makes the error of a call whose time was over say that, where its server was the
// first to notice: those of gRPC reset such a call as if its caller had left.
func late(ctx context.Context, err error) error {
	fault, ok := errors.AsType[*rpc.Error](err)
	if !ok || !fault.Remote || fault.Code != rpc.Canceled {
		return err
	}
	if by, has := ctx.Deadline(); !has || time.Now().Before(by) {
		return err
	}
	x := *fault
	x.Code = rpc.DeadlineExceeded
	return &x
}

// closeGrace is what Close gives calls in flight.
const closeGrace = 5 * time.Second

// Close is Shutdown with five seconds. It is idempotent.
func (e *Endpoint) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	return e.Shutdown(ctx)
}

// Shutdown takes no new calls, which fail with Sent == NotSent, waits for
// those in flight until ctx ends, then fails them, and frees everything. It
// returns the cause of ctx if calls were left then, or requests that had not left,
// such as those of oneway calls.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	e.mu.closed = true
	e.scatterLocked()
	for _, t := range []*time.Timer{e.mu.reaper, e.mu.redial} {
		if t != nil {
			t.Stop()
		}
	}
	var each sync.WaitGroup
	var cutOff atomic.Bool
	for pc := range e.mu.all {
		each.Go(func() {
			if pc.conn.Shutdown(ctx) != nil {
				cutOff.Store(true)
			}
		})
	}
	e.mu.Unlock()
	e.stop()
	defer context.AfterFunc(ctx, e.cancel)()
	each.Wait()
	e.work.Wait()
	e.cancel()
	if cutOff.Load() {
		return context.Cause(ctx)
	}
	return nil
}
