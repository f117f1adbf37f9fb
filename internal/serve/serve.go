// Package serve is the inside of a server: it accepts connections, keeps them
// within their limits, finds out what each speaks, hands them to the engine, and
// drains them. docs/how/limosa.md tells its journeys.
//
// # A connection
//
//	accept:   a loop for each listener: enter the door (has its address too many?), wait
//	          for a place (when all are taken, those go that are idle for longest)
//	serve:    a goroutine: TLS, if it is asked for; then the first bytes say which protocol
//	          it is, within Limits.FirstBytes; then it is the engine's, mux.ServerConn
//	leave:    the door forgets it, and its place is another's
//
// A connection has a place from before its handshake until it is gone, so that strangers
// who never say a word are bounded by Limits.Conns too. What is accepted and waits for a
// place is one for each listener; the others wait in the kernel's backlog.
//
// # The end
//
//	Run:      ctx ends, or a listener fails -> listeners close, accepts are joined
//	drain:    handlers are told (rpc.Draining); each connection says that it takes no
//	          calls, and has until Config.Drain for those that it has; then their contexts
//	          end, and a second later the connection is aborted
//	join:     a second for handlers that do not look at their context; who is left then
//	          is named in the error, for nobody can end a goroutine from outside
//
// A connection whose protocol is not known yet when the drain begins is waited for, for
// a moment: the request on its way can be refused only in the words of its protocol.
//
// # Who may cost what
//
// Three bounds stand before a stranger: places over all (Limits.Conns), places for each
// address (ConnsPerAddress), and bytes held (HeldPerServer, of which an address has its
// share). Each is counted where it is taken and given back in one place, leave or forget.
package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/internal/secure"
	"github.com/limosa-rpc/limosa/internal/sys"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
	"github.com/limosa-rpc/limosa/wire"
)

// A Config is what one run serves, and how.
type Config struct {
	Route      mux.Router                    // finds handlers, with their interceptors
	Chain      func(final rpc.Next) rpc.Next // the interceptors, for calls that are refused; nil: none
	Limits     *rpc.Limits                   // with all fields set
	TLS        *tls.Config                   // not nil: TCP connections must speak TLS
	TLSAsks    bool                          // a client may be asked for a certificate, by TLS or by what it chooses
	Protocols  []wire.Protocol               // what a connection may speak, in the order in which its first bytes are compared
	Handlers   mux.Handlers
	Gate       *mux.Gate     // bounds the calls in flight
	Timeout    time.Duration // of calls of one message that come without a deadline; 0: none
	Drain      time.Duration // what calls have to end, and their answers to leave
	HandlerLog *slog.Logger  // for panics, and for errors that callers are not told
	ConnLog    *slog.Logger  // for what becomes of connections; nil: nothing
	Stats      *stats.Set    // may be nil
}

// A serving is one run.
type serving struct {
	// Set by Run, then constant.
	cfg    Config
	conns  *mux.ServerConfig       // of every connection
	drains context.CancelCauseFunc // tells handlers that the drain begins
	door   *door

	work       sync.WaitGroup // connections
	handshakes rpc.Method     // stands for TLS handshakes: counts those that panic
}

// Run serves on all listeners, which it closes, until ctx ends or one of them
// fails, and drains. It returns when everything is joined, with nil after ctx; or
// soon after Drain, with an error that names the methods of calls that do not end
// although their contexts have.
func Run(ctx context.Context, cfg Config, listeners []*netio.Listener) error {
	v := &serving{cfg: cfg}
	v.door = newDoor(cfg.Limits, cmp.Or(cfg.Limits.HeldPerServer, sys.Budget()), cfg.Stats)
	var base context.Context
	base, v.drains = context.WithCancelCause(context.WithoutCancel(ctx))
	defer v.drains(nil)
	v.conns = &mux.ServerConfig{
		Config: mux.Config{Limits: cfg.Limits, Logger: cfg.HandlerLog, Total: v.door.total},
		Route:  cfg.Route, Base: base, Gate: cfg.Gate, Watch: new(mux.StallWatch), Rush: new(mux.Rush), Handlers: cfg.Handlers,
		Chain: cfg.Chain, Unknown: new(rpc.Method), Timeout: cfg.Timeout,
		Zlib: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
	}
	defer v.conns.Watch.Close()
	defer v.conns.Rush.Close()
	accepting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var accepts sync.WaitGroup
	for _, l := range listeners {
		accepts.Go(func() { stop(v.accept(accepting, l)) })
	}
	accepts.Go(func() { v.sweep(accepting) })
	<-accepting.Done()
	for _, l := range listeners {
		l.Close()
	}
	accepts.Wait()
	v.drain(context.WithoutCancel(ctx))
	if err := v.join(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(accepting)
}

// accept takes connections off l until ctx ends.
func (v *serving) accept(ctx context.Context, l *netio.Listener) error {
	for {
		nc, err := l.Accept(ctx)
		if err != nil {
			return err
		}
		if err := v.door.enter(nc); err != nil {
			secure.Discard(nc)
			v.debug("rpc: connection refused", nc, err)
			continue
		}
		if !v.place(ctx) {
			secure.Discard(nc)
			v.door.forget(nc)
			return ctx.Err()
		}
		v.work.Go(func() { v.serve(nc) })
	}
}

// serve is the goroutine of one connection: it finds the protocol, then reads.
func (v *serving) serve(plain netio.Conn) {
	nc, proto, err := v.identify(plain)
	if err != nil {
		secure.Discard(nc)
		v.door.leave(plain)
		v.debug("rpc: connection closed", plain, err)
		return
	}
	c := mux.NewServerConn(nc, proto.Open(wire.Server, v.cfg.Limits), v.conns)
	v.door.promote(plain, c)
	v.work.Add(1)
	c.Run(func(err error) {
		defer v.work.Done()
		v.door.leave(plain)
		v.debug("rpc: connection ended", plain, err)
	})
}

// debug logs what happened to a connection, for operators who ask; by default nobody does.
func (v *serving) debug(msg string, nc netio.Conn, err error) {
	if v.cfg.ConnLog != nil {
		v.cfg.ConnLog.Debug(msg, "peer", nc.Remote().String(), "err", err)
	}
}

// drain ends every connection, each with the same time for its calls.
func (v *serving) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, v.cfg.Drain)
	defer cancel()
	v.drains(rpc.ErrDraining)
	var each sync.WaitGroup
	for _, g := range v.door.guests() {
		each.Go(func() {
			if c := v.door.seen(g, youngGrace); c != nil {
				c.Drain(ctx)
			}
		})
	}
	each.Wait()
}

// youngGrace is how long a drain waits for the first bytes of a connection that
// was accepted before it: a request may be on its way, and can only be refused
// in the words of its protocol.
const youngGrace = time.Second

// joinGrace is how long Serve waits, after the drain, for handlers whose
// connections are gone already.
const joinGrace = time.Second

// join waits until nothing runs any more; what does not end is named.
func (v *serving) join() error {
	joined := make(chan struct{})
	go func() { // ends with the last handler, perhaps after Serve
		v.work.Wait()
		close(joined)
	}()
	timer := time.NewTimer(joinGrace)
	defer timer.Stop()
	select {
	case <-joined:
		return nil
	case <-timer.C:
	}
	running := map[string]int{}
	for _, c := range v.door.all() {
		for _, m := range c.Running() {
			running[m]++
		}
	}
	var names []string
	for m, n := range running {
		names = append(names, fmt.Sprintf("%s (%d)", m, n))
	}
	slices.Sort(names)
	msg := "calls still run after the drain: " + strings.Join(names, ", ")
	if names == nil {
		msg = "connections have not ended after the drain: no handler runs on them; it may be TLS code that does not return"
	}
	return &rpc.Error{Code: rpc.DeadlineExceeded, Op: "serve", Msg: msg}
}
