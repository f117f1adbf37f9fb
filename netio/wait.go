package netio

import "context"

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
}

func (o *Output) wakeAll() {
	o.wait.Lock()
	defer o.wait.Unlock()
	o.low.Store(0)
	if o.wait.ch != nil {
		close(o.wait.ch)
		o.wait.ch = nil
	}
}
