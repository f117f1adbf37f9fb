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
// Endpoint.mu; zero once the peer was heard.
type patience struct {
	pause   time.Duration
	last    time.Time // when something failed last
	resume  time.Time // no dial before it
	why     error     // what the last dial failed with; nil: it has not
	unheard int       // connections in a row that were lost before their peer said anything
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

// hearLocked ends the patience with a peer that was heard on pc. Those made before the
// last failure say nothing of the next one.
func (e *Endpoint) hearLocked(pc *pooled) {
	if (e.mu.pause > 0 || e.mu.unheard > 0) && !pc.made.Before(e.mu.last) && pc.conn.Heard() {
		e.mu.patience = patience{}
	}
}

// unheardLocked notes that pc was lost, for cause if that is known, if it was before its peer said anything. A peer, or
// what stands before it, that accepts and closes is as good as one that refuses;
// but what may be chance, as often as a call is tried, costs no pause.
func (e *Endpoint) unheardLocked(pc *pooled, cause error) {
	if e.mu.closed || pc.conn.Heard() || pc.made.Before(e.mu.last) || time.Since(pc.made) > lastPause {
		return // or lost with others, or as an idle one
	}
	if !silent(cause) {
		e.mu.said = cause
	}
	if e.mu.unheard++; e.mu.unheard < attempts {
		e.mu.last = time.Now()
		return
	}
	e.mu.fail(pc.made)
	msg := fmt.Sprintf("the last %d connections were lost before their peer said anything", e.mu.unheard)
	if e.mu.said == nil {
		msg += "; does it speak " + e.cfg.Protocol.Name() + "?"
	}
	e.mu.why = e.fault(rpc.Unavailable, msg, e.mu.said)
}
