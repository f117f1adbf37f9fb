package mux

import (
	"cmp"
	"context"
	"crypto/tls"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// flushAfter is the time that handlers of a batch may have taken, by estimate,
// before their answers are sent although the batch goes on.
const flushAfter = int64(200 * time.Microsecond)

// unpack makes the event of a packed request whole, and finds its handler. It
// runs on the worker that serves the request, with neither lock nor read role.
func (c *ServerConn) unpack(r *request) error {
	r.zip = true
	leave, err := c.enterZlib(r)
	if err != nil {
		return err
	}
	defer leave()
	if fault := c.sess.Unpack(&r.ev, c.lim.MessageBytes); fault != nil {
		return fault
	}
	var found routed
	found.h, found.why, _ = c.cfg.Route(r.ev.Service, r.ev.Method)
	r.ev.Flags &^= wire.Packed
	c.out.Lock()
	r.routed = found // others may ask what runs
	r.decide()
	c.account.unstakeLocked(&r.stake)
	c.chargeLocked(r, r.weight()-r.ev.Body.Len()+r.ev.Body.Footprint()-r.held) // it has a block of its own
	c.reserveLocked(r, c.needs(r))
	c.promiseLocked(r)
	c.unlock()
	return nil
}

// lookEvery is how often it is looked whether what waits for a place, or for room, is wanted still.
const lookEvery = 100 * time.Millisecond

// enterZlib waits for a place to inflate a request or compress its answer, and
// returns what gives it back. An error: nobody waits for r any more.
func (c *ServerConn) enterZlib(r *request) (leave func(), err error) {
	places := c.cfg.Zlib
	if places == nil || c.cfg.Handlers == Inline {
		return func() {}, nil
	}
	select {
	case places <- struct{}{}:
	default:
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		for placed := false; !placed; {
			select {
			case places <- struct{}{}:
				placed = true
			case <-look.C:
				if err := c.unwanted(r); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := c.unwanted(r); err != nil {
		<-places
		return nil, err
	}
	return func() { <-places }, nil
}

// unwanted says why nobody waits for r any more, if that is so. What a handler has
// returned is wanted also where a drain has ended its context.
func (c *ServerConn) unwanted(r *request) error {
	switch p := phase(r.phase.Load()); {
	case p == givenUp, p == cutOff, p == drained && r.call == nil:
		return p.err()
	case r.call == nil && time.Since(r.arrived) >= c.patience(r):
		return r.expired()
	}
	return nil
}

// serveLocked serves r, with a spare worker behind it where that is due. The
// lock is held on entry and on return.
func (c *ServerConn) serveLocked(r *request) {
	m := r.h.Method
	if r.place != nil || r.wants > 0 {
		c.lone.left = 0 // somebody has to read on meanwhile
	}
	lone := c.lone.next(m)
	r.lone = lone
	if c.out.ClaimLocked() { // a request before r was refused
		c.owed = true
	}
	if lone == 0 && c.cfg.Handlers == Spare {
		c.spareLocked()
	}
	c.out.Unlock()
	c.serveLocks(r)
	if lone != 0 {
		c.lone.done(lone, c.arrived)
	}
	if m != nil {
		c.unsent += int64(rpc.HintsOf(m).Cost())
	}
	if c.unsent > flushAfter && c.claimLocked() {
		others := among(c.runningLocked())
		c.out.Unlock()
		c.flush(others)
		c.out.Lock()
	}
}

// spareLocked starts a spare worker if there is anything that a handler, should
// it block, would hold up, and none is about to run already.
func (c *ServerConn) spareLocked() {
	if !c.spare && (c.waitingLocked() || c.unreadLocked() || c.owed) {
		c.startLocked()
	}
}

// apartLocked serves r on a goroutine of its own.
func (c *ServerConn) apartLocked(r *request) {
	c.stint.spent += beginCost
	c.staffLocked(1)
	go func() {
		c.serveLocks(r)
		for !c.leave() {
			continue // it has flushed
		}
	}()
}

// serveLocks runs a request and queues its answer. It returns with the lock held.
func (c *ServerConn) serveLocks(r *request) {
	err := c.await(r)
	if err == nil && r.ev.Flags&wire.Packed != 0 {
		err = c.unpack(r)
	}
	if err == nil {
		err = c.awaitRoom(r)
	}
	if err == nil {
		err = c.admit(r)
	}
	if err == nil {
		err = c.run(r)
	}
	c.answerLocks(r, err)
}

// timeEvery: of so many requests one is timed.
const timeEvery = 16

// servable says why r cannot be served by any server like this one.
func (c *ServerConn) servable(r *request) error {
	ev, h := &r.ev, r.h
	switch {
	case ev.Err != nil: // the protocol could not make sense of it
		return ev.Err
	case h.Method == nil:
		return &rpc.Error{Code: rpc.Unimplemented, Msg: r.why}
	}
	if e := Mismatch(h.Method, ev.Flags&wire.Stream != 0); e != nil { // no nil *rpc.Error in an error
		return e
	}
	return nil
}

// runningLocked is the number of requests that were begun and not answered.
func (c *ServerConn) runningLocked() int { return c.requests.n - c.queue.n - c.parked.n }

// admit makes the call object of a request. An error: it is not started.
func (c *ServerConn) admit(r *request) error {
	ev, h := &r.ev, r.h
	if err := c.servable(r); err != nil {
		return c.refuse(r, err)
	}
	if c.cfg.Gate != nil && !c.cfg.Gate.Enter() {
		return c.refuse(r, refusal(rpc.ResourceExhausted, "too many calls in flight on this server"))
	}
	call := h.Method.New()
	call.Method, call.Service, call.Asked, call.Peer, call.Header = h.Method, cmp.Or(h.Service, h.Method.Service), ev.Service, c.peer, ev.Header
	rpc.EngineOf(call).SetEncoding(ev.Encoding)
	if ev.Flags&wire.Stream == 0 {
		rpc.EngineOf(call).SetBody(ev.Body, c.lim)
		r.conn = c
		rpc.EngineOf(call).SetHolder(r)
		ev.Body = buf.View{}
	}
	rpc.EngineOf(call).SetPeer(c)
	r.call = call
	if err := r.show(); err != nil {
		c.leaveGate()
		rpc.EngineOf(call).Release()
		return err
	}
	return nil
}

// refuse has the interceptors see a request that is not served, and gives what it is
// answered with: why, or what they say instead. They cannot make it succeed.
func (c *ServerConn) refuse(r *request, why error) error {
	ev, m := &r.ev, r.h.Method
	if c.unseen(ev) {
		return why
	}
	if m == nil {
		m = &rpc.Method{Service: ev.Service, Name: ev.Method}
		rpc.HintsOf(m).FailsAs(c.cfg.Unknown)
	}
	var own rpc.ServerCall
	call := own.Init(nil, nil)
	call.Method, call.Service, call.Asked, call.Peer, call.Header = m, r.h.Service, ev.Service, c.peer, ev.Header
	rpc.EngineOf(call).Refuse(why)
	rpc.EngineOf(call).SetPeer(c)
	ctx := rpc.EngineOf(call).Begin(c.cfg.Base, r.deadline())
	exits := true
	defer func() {
		rpc.EngineOf(call).End(context.Canceled)
		switch {
		case !exits:
		case r.stream != nil:
			go c.endStream(r.stream, Exited(call, c.cfg.Logger))
		default:
			c.replace(r, Exited(call, c.cfg.Logger))
		}
	}()
	said := Handle(ctx, call, c.cfg.Chain(func(context.Context, *rpc.Call) error { return why }), c.cfg.Logger)
	exits = false
	if said != nil {
		return said
	}
	return why
}

// unseen reports requests that interceptors do not see if they are not served: there are no
// interceptors, or not even the method is sure.
func (c *ServerConn) unseen(ev *wire.Event) bool {
	return c.cfg.Chain == nil || ev.Err != nil && ev.Flags&wire.Refused == 0
}

// PeerInfo is rpc.Identifier's method.
func (c *ServerConn) PeerInfo() rpc.PeerInfo {
	info := rpc.PeerInfo{Addr: c.nc.Remote()}
	if t, ok := c.nc.(interface{ ConnectionState() tls.ConnectionState }); ok {
		info.TLS = new(t.ConnectionState())
	}
	if u, ok := c.nc.(interface {
		Credentials() (pid int, uid, gid uint32, ok bool)
	}); ok {
		if pid, uid, gid, ok := u.Credentials(); ok {
			info.Unix = &rpc.UnixPeer{PID: pid, UID: uid, GID: gid}
		}
	}
	return info
}

// CodecIn implements [rpc.Coder] by what the session brings.
func (c *ServerConn) CodecIn(m *rpc.Method, e rpc.Encoding) rpc.Codec {
	if by, ok := c.sess.(rpc.Coder); ok {
		return by.CodecIn(m, e)
	}
	return nil
}

// decodeFrom is the size of a request from which it waits for its place to be
// decoded: what it becomes may be many times that, and is known only then.
const decodeFrom = 64 << 10

// Decodes implements [rpc.Holder]. While the connections of the server hold a
// quarter more than they may, no large request becomes more than it is.
func (r *request) Decodes(n int) error {
	c := r.conn
	if n < decodeFrom || c.account.total == nil {
		return nil
	}
	if c.cfg.Handlers != Inline { // which nothing may hold up
		r.decodes = c.account.total.enter(c.lim.DecodeBudget(n))
	}
	var err error
	switch p := phase(r.phase.Load()); {
	case p == givenUp || p == cutOff:
		err = p.err()
	case c.account.overflows(n):
		c.account.total.refuse()
		err = rpc.Errorf(rpc.ResourceExhausted, "the connections of this server hold all that they may: no room to decode %d bytes", n)
	default:
		return nil
	}
	r.decoded()
	return err
}

// decoded gives back the room that r was decoded in.
func (r *request) decoded() {
	if leave := r.decodes; leave != nil {
		r.decodes = nil
		leave()
	}
}

// Decoded implements [rpc.Holder]. Where little is known of a method its first
// requests take what they take; the next ones wait until there is room for as much.
func (r *request) Decoded(n int) {
	defer r.decoded() // once what it takes is counted
	if !rpc.HintsOf(r.h.Method).NoteDecoded(n) {
		return
	}
	c := r.conn
	c.out.Lock()
	c.chargeLocked(r, n)
	c.reserveLocked(r, max(1, r.reserved-rpc.HintsOf(r.h.Method).DecodedBytes())) // not nothing: others are not alone
	c.unlock()
}

// leaveGate counts a call out of the server's.
func (c *ServerConn) leaveGate() {
	if c.cfg.Gate != nil {
		c.cfg.Gate.Leave()
	}
}

// Mismatch tells a caller of m, who has called it as a stream or as a method of one
// message, that its IDL is another; nil: it may be the same. The kinds of streams are
// one on the wire: how many messages each side sends is for their code to say.
func Mismatch(m *rpc.Method, stream bool) *rpc.Error {
	msg := ""
	switch {
	case m.Kind > rpc.Oneway == stream:
		return nil
	case stream:
		msg = m.String() + " has one message, and was called as a stream"
	default:
		msg = m.String() + " is a stream, and was called as a method of one message"
	}
	return &rpc.Error{Code: rpc.Unimplemented, Msg: msg}
}

// run runs the handler.
func (c *ServerConn) run(r *request) (err error) {
	var start time.Time
	if r.timed {
		start = time.Now()
	}
	exits := true
	defer func() {
		if exits {
			c.replace(r, Exited(r.call, c.cfg.Logger))
		}
	}()
	if public := Handle(rpc.EngineOf(r.call).Begin(c.cfg.Base, r.deadline()), r.call, r.h.Serve, c.cfg.Logger); public != nil {
		err = public
	}
	exits = false
	c.ran(r)
	if r.timed {
		rpc.HintsOf(r.call.Method).NoteCost(time.Since(start))
	}
	return err
}

// ran ends what a handler has while it runs.
func (c *ServerConn) ran(r *request) {
	rpc.EngineOf(r.call).End(context.Canceled)
	rpc.EngineOf(r.call).Release()
	c.leaveGate()
}

// replace goes on with a worker whose goroutine a handler has ended, on another; told
// is what the handler's caller gets.
func (c *ServerConn) replace(r *request, told *rpc.Error) {
	go func() { // counted as the worker that it stands for
		if r.call != nil {
			c.ran(r)
		}
		c.goOn(r, told)
	}()
}

// goOn goes on with a worker that was to answer r, on the caller's goroutine; told is
// what r is answered with.
func (c *ServerConn) goOn(r *request, told *rpc.Error) {
	c.lone.over(r.lone)
	c.answerLocks(r, told)
	c.workUnlocks()
}

// codecExited goes on with a worker whose goroutine a codec has ended while it encoded
// the answer of r outside the lock.
func (c *ServerConn) codecExited(r *request) {
	told, log := hidden(r.call, orDefault(c.cfg.Logger))
	if log != nil {
		log(codecExits)
	}
	c.goOn(r, told)
}

// codecExitedUnlocks is codecExited where the worker held the lock, which is the
// caller's since. The turn of r has come, or it has none.
func (c *ServerConn) codecExitedUnlocks(r *request) {
	told, log := hidden(r.call, orDefault(c.cfg.Logger))
	if log != nil {
		c.spawnLocked(func() { log(codecExits) })
	}
	c.lone.over(r.lone)
	ordered := r.ordered
	c.answerLocked(r, told)
	if ordered {
		c.turnLocked()
	}
	c.workUnlocks()
}

const codecExits = "rpc: a codec has ended its goroutine"
