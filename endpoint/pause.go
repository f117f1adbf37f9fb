package endpoint

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

const (
	// firstPause to lastPause is the time between dials after failures.
	firstPause = 20 * time.Millisecond
	lastPause  = 2 * time.Second
)

// A patience is what an endpoint has of a peer that cannot be reached. Guarded by
// Endpoint.mu; zero once a connection has turned out to be good.
type patience struct {
	pause   time.Duration
	last    time.Time // when something failed last
	resume  time.Time // no dial before it
	why     error     // what the last dial failed with; nil: it has not
	useless int       // connections in a row that were lost soon, without an answer to a call
	said    error     // the last words of one of them, such as an alert of TLS
}

// fail makes the pause before the next dial twice as long, varied so that the
// clients of a restarted server do not come at once. What has begun before the
// last failure has failed together with that: it counts once.
func (p *patience) fail(begun time.Time) {
	if begun.Before(p.last) {
		return
	}
	p.last = time.Now()
	p.pause = min(max(2*p.pause, firstPause), lastPause)
	p.resume = p.last.Add(p.pause/2 + rand.N(p.pause/2+1))
}

// restedLocked is the error of a call that comes too soon after a failed dial.
func (e *Endpoint) restedLocked() error {
	if left := time.Until(e.mu.resume); left > 0 && e.mu.why != nil {
		return e.mu.why
	}
	return nil
}

// failedLocked notes a failed dial.
func (e *Endpoint) failedLocked(op string, err error, begun time.Time) error {
	e.failed.Inc()
	e.mu.fail(begun)
	fault := e.fault(rpc.Unavailable, "", e.atStage(op, err))
	fault.Op = op
	e.mu.why = fault
	return fault
}

// soundLocked ends the patience with a peer if pc is good for something: it has brought an
// answer, or its peer was heard and has kept it for a while. A hello alone is no service.
// Connections made before the last failure say nothing of the next one.
func (e *Endpoint) soundLocked(pc *pooled) {
	if e.mu.pause == 0 && e.mu.useless == 0 || pc.made.Before(e.mu.last) {
		return
	}
	if pc.answered || pc.conn.Heard() && time.Since(pc.made) > lastPause {
		e.mu.patience = patience{}
	}
}

// uselessLocked notes that pc was lost, for cause if that is known, if it was soon and
// without an answer to a call. A peer, or what stands before it, that accepts and closes
// is as good as one that refuses, whatever it has said in between; but what may be
// chance, as often as a call is tried, costs no pause.
func (e *Endpoint) uselessLocked(pc *pooled, cause error) {
	if e.mu.closed || pc.answered || pc.made.Before(e.mu.last) || time.Since(pc.made) > lastPause {
		return // or lost with others, or as an idle one
	}
	if !silent(cause) {
		e.mu.said = cause
	}
	if e.mu.useless++; e.mu.useless < attempts {
		e.mu.last = time.Now()
		return
	}
	e.mu.fail(pc.made)
	msg := fmt.Sprintf("the last %d connections were lost before their peer ", e.mu.useless)
	switch heard := pc.conn.Heard(); {
	case heard:
		msg += "answered a call"
	case e.mu.said == nil:
		msg += "said anything; does it speak " + e.cfg.Protocol.Name() + "?"
	default:
		msg += "said anything"
	}
	e.mu.why = e.fault(rpc.Unavailable, msg, e.mu.said)
}
