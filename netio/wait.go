package netio

import (
	"context"
	"sync/atomic"

	"github.com/limosa-rpc/limosa/stats"
)

// Wait returns when fewer than below bytes are queued, or with the error that
// the connection failed with, or with ctx's cause. It does not reserve room:
// who waits together may go on together. Without ctx ending and with room it
// neither blocks nor allocates. It must not be called under the lock, nor by
// the flusher.
func (o *Output) Wait(ctx context.Context, below int) error {
	for {
		if err := o.Err(); err != nil {
			return err
		}
		if o.Queued() < below {
			return nil
		}
		ch := o.waiting(below)
		// Look again: whoever sent or failed before low was set woke nobody.
		if o.Queued() < below || o.Err() != nil {
			continue
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waiting registers a waiter and returns what is closed to wake it.
func (o *Output) waiting(below int) <-chan struct{} {
	o.wait.Lock()
	defer o.wait.Unlock()
	if o.wait.ch == nil {
		o.wait.ch = make(chan struct{})
	}
	// The waiter with the highest mark decides when all look again. Some wake
	// in vain; waiters of one connection mostly have the same mark.
	o.low.Store(max(o.low.Load(), int64(below)))
	return o.wait.ch
}

// count adds d to the bytes queued and wakes waiters when there is room.
func (o *Output) count(d int) {
	if d == 0 {
		return
	}
	n := o.queued.Add(int64(d))
	if low := o.low.Load(); d < 0 && low != 0 && n < low {
		o.wakeAll()
	}
	if o.sum != nil {
		o.sum.tell(&o.queued)
	}
}

// sumEvery is the least change of Queued that the gauges of CountInto are told
// of, so that connections do not meet on their cache lines with each message. Of
// much it is an eighth.
const sumEvery = 4 << 10

// A sum counts what is queued into gauges that others count into as well.
type sum struct {
	gauges []*stats.Gauge // constant
	told   atomic.Int64   // what of Queued they have
}

// CountInto has each of the gauges count what is queued here, to within 4 KB or
// an eighth, and exactly once it is nothing. It is called before anything is.
func (o *Output) CountInto(gauges ...*stats.Gauge) { o.sum = &sum{gauges: gauges} }

// tell brings sum up to date. Several may do so at a time: each looks again
// after it has told something.
func (s *sum) tell(queued *atomic.Int64) {
	for {
		told, n := s.told.Load(), queued.Load()
		few := max(sumEvery, told/8)
		if d := n - told; d == 0 || n > 0 && d < few && -d < few {
			return
		}
		if s.told.CompareAndSwap(told, n) {
			for _, g := range s.gauges {
				g.Add(n - told)
			}
		}
	}
}

// wakeAll wakes everybody who waits for room, because the connection has ended.
func (o *Output) wakeAll() {
	o.wait.Lock()
	defer o.wait.Unlock()
	o.low.Store(0)
	if o.wait.ch != nil {
		close(o.wait.ch)
		o.wait.ch = nil
	}
}
