package serve

import (
	"context"
	"time"
)

const (
	// evictAtOnce idle connections go when all places are taken: looking for
	// them costs a walk over all.
	evictAtOnce = 16
	// evictGrace is what their peers have to go by themselves.
	evictGrace = 100 * time.Millisecond
	// evictAgain is when it is looked for more.
	evictAgain = 50 * time.Millisecond
)

// place waits for a place; false: ctx has ended.
func (v *serving) place(ctx context.Context) bool {
	for {
		select {
		case v.door.places <- struct{}{}:
			return true
		default:
		}
		// It is looked again now and then: who had calls a moment ago may be idle by
		// now, and nobody tells.
		v.evict(time.Now(), evictAtOnce)
		timer := time.NewTimer(evictAgain)
		select {
		case v.door.places <- struct{}{}:
			timer.Stop()
			return true
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

// evict drains at most n connections without calls since a moment before.
func (v *serving) evict(before time.Time, n int) {
	for _, g := range v.door.idle(before, n) {
		v.work.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(v.conns.Base), evictGrace)
			defer cancel()
			if g.c.DrainIdle(ctx) {
				v.door.evicted.Inc()
			} else {
				v.door.stays(g)
			}
		})
	}
}

// sweep looks eight times in Limits.ServerIdle, so that none stays for more than an
// eighth longer; a timer for each connection would cost each call a reset. It
// drains connections that have had no calls for Limits.ServerIdle.
func (v *serving) sweep(ctx context.Context) {
	tick := time.NewTicker(max(v.cfg.Limits.ServerIdle/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			v.evict(time.Now().Add(-v.cfg.Limits.ServerIdle), v.cfg.Limits.Conns)
		case <-ctx.Done():
			return
		}
	}
}
