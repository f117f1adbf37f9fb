package endpoint

import (
	"context"
	"slices"
	"time"
)

const (
	// helloWait is how long a call waits for a peer to say that it can carry
	// many calls, before it opens a connection of its own.
	helloWait = 5 * time.Millisecond
	// loadForAnother is the load from which another connection is opened: so many small
	// calls in flight, or few large ones. mostForSmall is the most connections for small
	// calls, mostForLarge the most for large ones, of largeBytes and more: in one socket one
	// after the other they wait for the kernel's buffers, and cost .3 more.
	loadForAnother = 16
	mostForSmall   = 2
	mostForLarge   = 8
	largeBytes     = 64 << 10
	// mostWhenFull is the most connections where those that there are carry as many
	// calls as their peer takes at once.
	mostWhenFull = 32
	// dialsAtOnce is how many calls to a peer of one call at a time dial at the
	// same time; others wait for the first connection that is free.
	dialsAtOnce = 16
)

// A step is what acquire has to do next; exactly one field is set.
type step struct {
	use   *pooled // take this connection
	wait  *flight // wait for this dial
	turn  *turn   // wait for this turn
	line  *place  // wait for this place
	greet *pooled // wait a moment for this connection's peer to say hello
	dial  *flight // wait for this dial, which is for this call alone
	err   error   // give up
}

// A search is what a call that looks for a connection wants, and has done.
type search struct {
	stream  bool  // it is a stream
	again   bool  // it was counted before
	bytes   int   // what its messages are expected to have
	spare   bool  // it is no call's own: the connection is for whoever comes first
	greeted bool  // it has waited for a hello
	had     *turn // it has waited for this turn
}

// acquire finds or opens a connection with room for a call, and counts it in.
func (e *Endpoint) acquire(ctx context.Context, q *search) (*pooled, error) {
	for {
		s := e.choose(ctx, q)
		if q.had != nil && s.turn == nil && (q.stream || s.use == nil && s.dial == nil) {
			e.pass() // to somebody who may make something of it
		}
		q.had = nil
		switch {
		case s.err != nil:
			return nil, s.err
		case s.use != nil:
			return s.use, nil
		case s.dial != nil:
			return e.await(ctx, s.dial)
		case s.line != nil:
			if pc, err := e.inLine(ctx, s.line); pc != nil || err != nil {
				return pc, err
			}
			continue
		}
		if err := e.wait(ctx, q, s); err != nil {
			return nil, err
		}
	}
}

// wait waits for what may bring a call a connection: its turn, the dial of
// others, or a hello.
func (e *Endpoint) wait(ctx context.Context, q *search, s step) error {
	switch {
	case s.turn != nil:
		select {
		case <-s.turn.come:
			q.had = s.turn
			return nil
		case <-ctx.Done():
			e.leave(s.turn)
			return e.interrupted(ctx)
		}
	case s.wait != nil:
		select {
		case <-s.wait.done:
			return s.wait.err
		case <-ctx.Done():
			return e.interrupted(ctx)
		}
	}
	q.greeted = true
	timer := time.NewTimer(helloWait)
	defer timer.Stop()
	select {
	case <-s.greet.conn.Ready():
		e.greeted(s.greet)
	case <-timer.C:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return e.interrupted(ctx)
	}
	return nil
}

// choose decides how a call gets its connection. What it dials may outlive ctx.
func (e *Endpoint) choose(ctx context.Context, q *search) step {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !q.again {
		q.again = true
		e.mu.earned = min(e.mu.earned+1, retriesSaved*retryCalls)
	}
	if e.mu.closed {
		return step{err: e.closedErr()}
	}
	if pc := e.leastLocked(); pc != nil {
		return e.shareLocked(ctx, pc, q)
	}
	// Who comes now does not overtake those that wait, but streams, which take other
	// connections, and while the kind of the peer is open: the queue may end any moment.
	if len(e.mu.queue) > 0 && q.had == nil && !q.stream && e.mu.kind == exclusive {
		return step{turn: e.queueLocked(nil)}
	}
	if pc := e.idleLocked(q.stream); pc != nil {
		pc.enter(q.bytes)
		return step{use: pc}
	}
	if e.mu.flight != nil {
		return step{wait: e.mu.flight}
	}
	// A connection of which it is not known yet whether it carries many calls: to dial
	// another for each call of a burst would cost a peer of our kind as many connections.
	if e.mu.kind != exclusive && !q.greeted {
		for pc := range e.mu.all {
			if !pc.known {
				return step{greet: pc}
			}
		}
	}
	if err := e.restedLocked(); err != nil {
		return step{err: err}
	}
	if e.mu.kind == exclusive || len(e.mu.all) > 0 {
		if e.mu.own >= dialsAtOnce {
			return step{turn: e.queueLocked(q.had)}
		}
		return step{dial: e.dialLocked(ctx, q)}
	}
	return step{wait: e.launchLocked(ctx)}
}

// shareLocked decides for a call where least, which carries many, is the connection with
// the least load.
func (e *Endpoint) shareLocked(ctx context.Context, least *pooled, q *search) step {
	s := step{use: least}
	if least.load >= loadForAnother || least.full() {
		s = e.relieveLocked(ctx, least, q)
	}
	if s.use != nil {
		s.use.enter(q.bytes)
	}
	return s
}

// relieveLocked is shareLocked where busy carries much: the call takes a connection that
// has nothing to carry yet, or else busy, while another is dialled for the next calls if
// there may be more. Where busy is full, and so all are, the call waits for a place.
func (e *Endpoint) relieveLocked(ctx context.Context, busy *pooled, q *search) step {
	if pc := e.idleLocked(q.stream); pc != nil {
		return step{use: pc}
	}
	if busy.full() {
		return step{line: e.lineUpLocked(ctx, q)}
	}
	most := mostForSmall
	if q.bytes >= largeBytes {
		most = mostForLarge
	}
	if len(e.mu.all) < most && e.mu.flight == nil && e.restedLocked() == nil {
		e.launchLocked(ctx)
	}
	return step{use: busy}
}

// idleLocked takes a connection that has nothing else to carry: one for calls
// off the idle ones, or one for streams, which may have some. A connection that
// was not used yet is good for either.
func (e *Endpoint) idleLocked(stream bool) *pooled {
	if stream {
		var best *pooled
		for _, pc := range e.mu.opened {
			if pc.calls < e.cfg.Limits.StreamsPerConn && (best == nil || pc.calls < best.calls) {
				best = pc
			}
		}
		if best != nil {
			return best
		}
	}
	for i, pc := range slices.Backward(e.mu.idle) {
		if !pc.fits(stream) {
			continue
		}
		e.mu.idle = slices.Delete(e.mu.idle, i, i+1)
		if pc.stale() {
			e.dropLocked(pc)
		} else if _, usable := pc.conn.Status(); usable {
			pc.streams, pc.used = stream, true
			return pc
		}
	}
	return nil
}

// leastLocked is the connection for the next call among those that carry many:
// the first with nothing in flight, else the one with the least load, unless it is full
// and another is not.
func (e *Endpoint) leastLocked() *pooled {
	var best *pooled
	for _, pc := range e.mu.muxed {
		if best == nil || best.full() && !pc.full() || pc.load < best.load && (best.full() || !pc.full()) {
			best = pc
		}
	}
	return best
}
