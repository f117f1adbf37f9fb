package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
)

// enter is the start of a handler: the ledger of the server.
func (w *simWorld) enter(ctx context.Context, c *simCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.starts++
	c.startedAt = time.Now()
	w.mu.handlers++
	w.eventLocked("call %d is started", c.id)
	if c.starts > 1 {
		w.failLocked("call %d is started %d times", c.id, c.starts)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Now().After(deadline) {
		w.failLocked("call %d is started %v after its deadline", c.id, time.Since(deadline))
	} else if ctx.Err() != nil {
		w.failLocked("call %d is started although its context has ended: %v", c.id, context.Cause(ctx))
	}
	// An Inline handler that blocks keeps what its connection has sent from being
	// read; and connections may be slow.
	if c.ended && w.plan.weather == calm && !w.plan.tiny && w.plan.handlers != limosa.Inline && c.kind != rpc.Oneway && time.Since(c.endedAt) > 15*time.Second {
		w.failLocked("call %d is started %v after its caller has gone", c.id, time.Since(c.endedAt))
	}
}

// leave is its end.
func (w *simWorld) leave(ctx context.Context, c *simCall, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.returned = true
	w.mu.handlers--
	w.eventLocked("call %d returns: %v; its context: %v", c.id, err, ctx.Err())
}

// untold is a handler that has waited for the end of its context for very long.
func (w *simWorld) untold(c *simCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !c.ended:
		w.failLocked("call %d waits for its end for %v, and its caller does too", c.id, simPatient)
	case w.plan.handlers == limosa.Inline && w.plan.clients[c.client].form == limosa.TTHeader:
		// A cancel cannot be read; a connection that goes is noticed all the same.
	case w.plan.vanishes: // perhaps nobody can tell it
	case time.Since(c.endedAt) > simPatient/2:
		w.failLocked("call %d is not told that its caller went %v ago", c.id, time.Since(c.endedAt))
	}
}

// check looks at all calls, with everything at rest.
func (w *simWorld) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.plan.calls {
		if !c.begun || c.ended {
			continue
		}
		if c.timeout > 0 && time.Since(c.beganAt) > c.timeout+simMoment {
			w.failLocked("call %d runs %v beyond its deadline", c.id, time.Since(c.beganAt)-c.timeout)
		}
		if !c.cancelledAt.IsZero() && time.Since(c.cancelledAt) > simMoment {
			w.failLocked("call %d runs %v after it was cancelled", c.id, time.Since(c.cancelledAt))
		}
	}
}

// judgeAll judges every call once more, when nothing can happen any more.
func (w *simWorld) judgeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.plan.calls {
		if !c.begun || !c.ended {
			w.failLocked("call %d has not ended", c.id)
			continue
		}
		w.judgeLocked(c)
		if c.starts == 0 && c.kind != rpc.Oneway && rpc.CodeOf(c.err) == rpc.Unavailable && rpc.SentOf(c.err) == rpc.Maybe && w.drainsOnlyLocked(c) {
			w.failLocked("call %d was never begun, and the drain of its server leaves that in doubt: %v", c.id, c.err)
		}
		// One that is on its way when its server is drained is lost: nobody answers it. One
		// that had not left when its client's time to close was over is lost too: Shutdown says so.
		if c.kind == rpc.Oneway && c.err == nil && c.starts == 0 && c.timeout == 0 && !w.mu.leftBy[c.client] && w.plan.weather == calm && w.plan.clients[c.client].form == limosa.TTHeader {
			w.failLocked("call %d is oneway, was accepted, and never ran", c.id)
		}
	}
}

// drainsOnlyLocked reports whether nothing but orderly drains has befallen the path
// of a call: no fault of the network, no limit, no drain that was cut off.
func (w *simWorld) drainsOnlyLocked(c *simCall) bool {
	p := w.plan
	client := p.clients[c.client]
	if p.limited || p.tiny || client.form != limosa.TTHeader || w.mu.lossy[client.name] || w.mu.cutOff[client.host] {
		return false
	}
	return !slices.ContainsFunc(p.actions, func(a simAction) bool {
		switch a.what {
		case doCall, doCancel, doRoll, doRestart:
			return false
		case doKill:
			return a.b == client.host
		case doReplace:
			return a.a == client.name
		}
		return a.a == client.name && a.b == client.host
	})
}

// judgeLocked sees whether a call that has ended did so as it may.
func (w *simWorld) judgeLocked(c *simCall) {
	code, sent := rpc.CodeOf(c.err), rpc.SentOf(c.err)
	took := c.endedAt.Sub(c.beganAt)
	if c.timeout > 0 && took > c.timeout+simMoment {
		w.failLocked("call %d ended %v after its deadline", c.id, took-c.timeout)
	}
	if !c.cancelledAt.IsZero() && c.endedAt.Sub(c.cancelledAt) > simMoment {
		w.failLocked("call %d ended %v after it was cancelled", c.id, c.endedAt.Sub(c.cancelledAt))
	}
	switch {
	case c.err != nil && sent.Retryable() && c.starts > 0:
		w.failLocked("call %d was %v, and was started", c.id, sent)
	case c.starts == 0 && c.kind != rpc.Oneway && (c.err == nil && c.leave != 0 || c.err != nil && sent == rpc.Processed && w.plan.clients[c.client].form == limosa.TTHeader):
		w.failLocked("call %d was %v, and was never started: %v", c.id, sent, c.err)
	}
	if why := w.unexplainedLocked(c, code, sent, took); why != "" {
		w.failLocked("call %d ended with %v: %s", c.id, c.err, why)
	}
}

// unexplainedLocked says why a call cannot have ended as it did.
func (w *simWorld) unexplainedLocked(c *simCall, code rpc.Code, sent rpc.Sent, took time.Duration) string {
	p := w.plan
	form := p.clients[c.client].form
	switch code {
	case rpc.OK:
		if c.kind == rpc.Oneway || c.leave >= 0 {
			return ""
		}
		if c.behaves != answers && c.behaves != stubborn {
			return "its handler does not answer"
		}
	case rpc.NotFound:
		if c.behaves != fails {
			return "its handler finds it"
		}
	case rpc.Internal:
		// Without an offer the wire has few codes.
		if c.behaves != panics && c.behaves != exits && form == limosa.TTHeader {
			return "its handler does not fail so"
		}
	case rpc.DeadlineExceeded:
		if c.timeout == 0 || took < c.timeout-2*time.Millisecond {
			return "its deadline is not over"
		}
	case rpc.Canceled:
		if c.cancelledAt.IsZero() && (p.weather == calm || w.mu.drains == 0) && !w.selfCancelled(c) {
			return "nobody cancelled it"
		}
	case rpc.Unavailable:
		if p.weather == calm {
			return "nothing was wrong"
		}
		if p.weather == gentle && !sent.Retryable() && form == limosa.TTHeader {
			return "a drain loses no call"
		}
	case rpc.ResourceExhausted:
		if !p.limited {
			return "the limits are far"
		}
	default:
		return "no call ends so"
	}
	return ""
}

// selfCancelled reports whether c is a call whose caller leaves it, which ends
// its handler.
func (w *simWorld) selfCancelled(c *simCall) bool {
	return c.leave >= 0 && errors.Is(c.err, rpc.Canceled)
}
