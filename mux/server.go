package mux

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A Router finds the handler of a method; interceptors are part of Serve
// already. service is empty where the protocol does not say it. ok == false is
// answered with Unimplemented and why.
type Router func(service, method string) (h rpc.Handler, why string, ok bool)

// ServerConfig is what every connection of a server shares.
type ServerConfig struct {
	Config
	Route Router
	Base  context.Context // the values that handlers see
	Gate  *Gate           // nil: no limit over all connections
}

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
type ServerConn struct {
	// Set by NewServerConn, then constant.
	nc   netio.Conn
	out  *netio.Output
	s    wire.Session
	cfg  *ServerConfig
	peer string
	work sync.WaitGroup
	over chan struct{} // closed when Run is about to return

	// Guarded by the output lock.
	running  *request   // list of the calls that run
	count    int        // its length
	inOrder  []*request // those to be answered in the order of arrival
	draining bool
	idle     chan struct{} // closed when no call runs any more; nil while nobody waits for that
	err      error         // why the connection ended; set once

	// Owned by the reader.
	batch []wire.Event
}

// A request is one call on the server, from dispatch to answer.
type request struct {
	// Set by dispatch, then constant.
	c     *ServerConn
	call  *rpc.Call
	serve rpc.Next
	ev    wire.Event // as it came; later its answer

	// Guarded by the output lock.
	prev, next *request
	ordered    bool
	finished   bool
	err        error    // what is to be answered instead of the result
	private    *buf.Out // a large result, encoded outside the lock
}

// NewServerConn begins to serve nc, which it owns from now on. Run does the work.
func NewServerConn(nc netio.Conn, s wire.Session, cfg *ServerConfig) *ServerConn {
	return &ServerConn{
		nc: nc, out: nc.Output(), s: s, cfg: cfg, peer: nc.Remote().String(),
		over: make(chan struct{}),
	}
}

// Run reads and dispatches until the connection ends and every handler has
// returned. A peer that only closes its sending side still gets its answers.
func (c *ServerConn) Run() error {
	defer close(c.over)
	rest := frameTimer{nc: c.nc, limit: c.cfg.Limits.FrameRest}
	step := func(in *buf.In) (bool, error) { return cut(c.s, in, &c.batch, &rest) }
	var why netio.Why
	var err error
	for why != netio.Lost {
		if c.out.Queued() > c.cfg.Limits.QueuedBytes {
			// The peer does not read its answers: take no more of its calls.
			c.out.Wait(context.Background(), c.cfg.Limits.QueuedBytes)
		}
		why, err = c.nc.Receive(false, step)
		for i := range c.batch {
			c.take(&c.batch[i])
		}
		clear(c.batch)
		c.batch = c.batch[:0]
	}
	rest.stop()
	c.finish(err)
	return err
}

// finish lets the calls that run end: with their answers sent after a clean
// FIN, else with their contexts cancelled.
func (c *ServerConn) finish(cause error) {
	if !errors.Is(cause, io.EOF) {
		c.cancelAll(context.Canceled)
	}
	c.waitIdle(nil)
	c.out.Lock()
	c.err = cmp.Or(cause, io.EOF)
	c.unlock(false)
	c.work.Wait()
	c.nc.Close()
}

// waitIdle waits until no call runs, or until stop is closed.
func (c *ServerConn) waitIdle(stop <-chan struct{}) (idle bool) {
	c.out.Lock()
	if c.count == 0 {
		c.unlock(false)
		return true
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	wait := c.idle
	c.unlock(false)
	select {
	case <-wait:
		return true
	case <-stop:
		return false
	}
}

// Drain tells the peer to go elsewhere, refuses new calls, and waits for
// those that run until ctx ends; then their contexts are cancelled and they
// have a second more. A peer that was told is given the time to close the
// connection itself, so that no call of it is lost on the way.
func (c *ServerConn) Drain(ctx context.Context) {
	c.out.Lock()
	c.draining = true
	told := c.s.Caps().Mux
	encode(c.out.Out(), c.s, &wire.Event{Flags: wire.GoAway}, nil) // a peer that cannot be told frames nothing
	c.unlock(false)
	if !c.waitIdle(ctx.Done()) {
		c.cancelAll(context.Canceled)
		grace, cancel := context.WithTimeout(context.Background(), cancelGrace)
		defer cancel()
		if !c.waitIdle(grace.Done()) {
			c.nc.Abort()
			return
		}
	}
	if told {
		grace, cancel := context.WithTimeout(ctx, cancelGrace)
		defer cancel()
		select {
		case <-c.over:
		case <-grace.Done():
		}
	}
	c.nc.Close()
}

// cancelGrace is what a handler has left once its context was cancelled, and
// what a peer has to close a drained connection.
const cancelGrace = time.Second

// Abort closes the connection at once; the contexts of its calls end.
func (c *ServerConn) Abort() { c.nc.Abort() }

func (c *ServerConn) cancelAll(err error) {
	var calls []*rpc.Call
	c.out.Lock()
	for r := c.running; r != nil; r = r.next {
		if r.call != nil {
			calls = append(calls, r.call)
		}
	}
	c.unlock(false)
	for _, call := range calls {
		call.End(err)
	}
}

// take makes what is to be made of one event.
func (c *ServerConn) take(ev *wire.Event) {
	if ev.Flags&(wire.Settings|wire.Credit|wire.Ping|wire.GoAway) != 0 {
		c.out.Lock()
		c.s.Apply(c.out.Out(), ev)
		c.unlock(false)
	}
	switch {
	case ev.Flags&wire.Reset != 0:
		c.cancel(ev.ID)
	case ev.Flags&wire.Open != 0:
		c.dispatch(ev)
		return // dispatch took the body over
	}
	ev.Body.Release()
	if ev.Flags&wire.Close != 0 {
		c.nc.Close()
	}
}

// cancel ends the context of the call that the peer gave up.
func (c *ServerConn) cancel(id uint64) {
	var call *rpc.Call
	c.out.Lock()
	for r := c.running; r != nil; r = r.next {
		if r.ev.ID == id && r.call != nil {
			call = r.call
			break
		}
	}
	c.unlock(false)
	if call != nil {
		call.End(context.Canceled)
	}
}

// dispatch starts the call that ev asks for, or answers at once why not.
func (c *ServerConn) dispatch(ev *wire.Event) {
	r := &request{c: c, ev: *ev, ordered: ev.Flags&(wire.Unordered|wire.Oneway) == 0}
	err := c.room()
	if err == nil {
		err = c.admit(r)
	}
	c.out.Lock()
	c.enterLocked(r)
	c.unlock(false)
	if err != nil {
		c.answer(r, err)
		return
	}
	c.work.Go(r.run)
}

// room says why this connection takes no further call, if it does not. Only
// the reader adds calls, so what it says stays true until dispatch has entered.
func (c *ServerConn) room() error {
	c.out.Lock()
	defer c.unlock(false)
	switch {
	case c.draining:
		return refusal(rpc.Unavailable, "the server is shutting down")
	case c.count >= c.cfg.Limits.CallsPerConn:
		return refusal(rpc.ResourceExhausted, "too many calls in flight on this connection")
	}
	return nil
}

// refusal is the error of a call that was not started; its caller may try elsewhere.
func refusal(code rpc.Code, msg string) *rpc.Error {
	return &rpc.Error{Code: code, Msg: msg, Sent: rpc.Refused}
}

// admit finds the handler of a request and makes its call object.
func (c *ServerConn) admit(r *request) error {
	ev := &r.ev
	if ev.Err != nil { // the protocol could not make sense of it
		return ev.Err
	}
	h, why, ok := c.cfg.Route(ev.Service, ev.Method)
	if !ok {
		return &rpc.Error{Code: rpc.Unimplemented, Msg: why}
	}
	if h.Method.Kind == rpc.Oneway {
		ev.Flags |= wire.Oneway // the IDL decides, whatever the frame says
		r.ordered = false
	} else if ev.Flags&wire.Oneway != 0 {
		ev.Flags &^= wire.Oneway
		r.ordered = ev.Flags&wire.Unordered == 0
	}
	if c.cfg.Gate != nil && !c.cfg.Gate.Enter() {
		return refusal(rpc.ResourceExhausted, "too many calls in flight on this server")
	}
	call := h.Method.New()
	call.Method, call.Service, call.Peer, call.Header = h.Method, ev.Service, c.peer, ev.Header
	if call.Service == "" {
		call.Service = h.Method.Service
	}
	call.SetBody(ev.Body, c.cfg.Limits)
	ev.Body = buf.View{}
	r.call, r.serve = call, h.Serve
	return nil
}

func (c *ServerConn) enterLocked(r *request) {
	r.next = c.running
	if r.next != nil {
		r.next.prev = r
	}
	c.running = r
	c.count++
	if r.ordered {
		c.inOrder = append(c.inOrder, r)
	}
}

func (c *ServerConn) exitLocked(r *request) {
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		c.running = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	}
	if c.count--; c.count == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// run is the goroutine of one request.
func (r *request) run() {
	var deadline time.Time
	if r.ev.Timeout > 0 {
		deadline = time.Now().Add(r.ev.Timeout)
	}
	ctx := r.call.Begin(r.c.cfg.Base, deadline)
	err := Handle(ctx, r.call, r.serve, r.c.cfg.Logger)
	r.call.End(context.Canceled)
	r.call.Release()
	if r.c.cfg.Gate != nil {
		r.c.cfg.Gate.Leave()
	}
	r.c.answer(r, err)
}

// answer queues the answer of r, and with it those that waited for their turn.
func (c *ServerConn) answer(r *request, err error) {
	err = c.public(r, err)
	r.ev.Body.Release()
	r.ev.Body = buf.View{}
	if err == nil && r.ev.Flags&wire.Oneway == 0 && r.call.Method.LargeResponse() {
		if r.private, err = encodePrivate(r.call.AppendResponse); err != nil {
			err = c.public(r, err)
		}
	}
	c.out.Lock()
	r.finished, r.err = true, err
	if !r.ordered {
		c.appendLocked(r)
	}
	for len(c.inOrder) > 0 && c.inOrder[0].finished {
		c.appendLocked(c.inOrder[0])
		c.inOrder[0] = nil
		c.inOrder = c.inOrder[1:]
	}
	c.exitLocked(r)
	c.unlock(c.count > 0)
}

// appendLocked frames the answer of r.
func (c *ServerConn) appendLocked(r *request) {
	if r.private != nil {
		defer r.private.Reset() // of what was not moved
	}
	if r.ev.Flags&wire.Oneway != 0 || c.err != nil {
		return
	}
	out, reply := c.out.Out(), &r.ev
	reply.Flags, reply.Header, reply.Timeout, reply.Err = wire.Message|wire.End, nil, 0, nil
	if r.err == nil {
		reply.Trailer = r.call.Trailer
		before := out.Len()
		if r.err = encode(out, c.s, reply, r.appendResult); r.err == nil {
			r.call.Method.NoteResponse(out.Len() - before)
			return
		}
		r.err = c.public(r, r.err)
	}
	reply.Flags, reply.Trailer = wire.End, nil
	reply.Err, _ = errors.AsType[*rpc.Error](r.err)
	if err := encode(out, c.s, reply, nil); err != nil {
		c.nc.Abort() // its caller would wait for ever
	}
}

func (r *request) appendResult(out *buf.Out) error {
	if r.private != nil {
		out.MoveFrom(r.private)
		return nil
	}
	return r.call.AppendResponse(out)
}

// public is what the peer may know of err.
func (c *ServerConn) public(r *request, err error) error {
	if e := Public(r.call, err, c.cfg.Logger); e != nil {
		return e
	}
	return nil
}

// unlock gives the lock back, and flushes if that made this goroutine the flusher.
func (c *ServerConn) unlock(others bool) {
	if c.out.Unlock() {
		flush(c.nc, others, c.spawn)
	}
}

// spawn runs f on a goroutine that Run joins. Once the connection is lost
// there is nothing left to do for f.
func (c *ServerConn) spawn(f func()) {
	c.out.Lock()
	if c.err == nil {
		c.work.Go(f)
	}
	c.unlock(false)
}
