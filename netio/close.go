package netio

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A closing is a Close that runs, or has run.
type closing struct {
	err     error       // of the Close; set before drained
	drained atomic.Bool // from here on the connection is being closed
	once    sync.Once
	done    chan struct{} // closed when the connection is
}

// newClosing makes the end of a connection that nobody waits for yet.
func newClosing() *closing { return &closing{done: make(chan struct{})} }

// finish lets whoever waits for the Close return.
func (cl *closing) finish() { cl.once.Do(func() { close(cl.done) }) }

// An ender is a connection as conclude needs it.
type ender interface {
	Abort()
	// release closes what lies below, and wakes who waits there.
	release()
	// ended tells those who have asked to be told, in the caller's goroutine. They
	// may close the connection as well.
	ended()
}

// conclude is Close for all connections: it drains, then closes. patient, if not
// nil, tells whether the caller may wait for room at all.
func (c *Core) conclude(ctx context.Context, e ender, patient func() bool) error {
	mine := newClosing()
	if !c.closing.CompareAndSwap(nil, mine) {
		return c.concludeAgain(ctx, e, patient)
	}
	mine.err = c.out.drain(ctx, patient)
	if cut, ok := c.out.Err().(cutShort); ok {
		mine.err = cut.error
	}
	mine.drained.Store(true)
	if mine.err != nil {
		e.Abort()
	}
	c.shut(e.release, e.ended)
	mine.finish()
	return mine.err
}

// concludeAgain is a Close beside or after another one, whose drain it cuts off
// when its own ctx ends first.
func (c *Core) concludeAgain(ctx context.Context, e ender, patient func() bool) error {
	theirs := c.closing.Load()
	select {
	case <-theirs.done:
		return theirs.err
	default:
	}
	if patient == nil || patient() {
		select {
		case <-theirs.done:
			return theirs.err
		case <-ctx.Done():
		}
	}
	if c.out.Queued() > 0 {
		e.Abort() // ends the drain
	}
	c.shut(e.release, e.ended)
	if patient != nil && !patient() {
		return nil // whoever drains may wait for the very loop that calls
	}
	<-theirs.done
	return theirs.err
}

// errNoWait is why a Close on an event loop has not sent everything.
var errNoWait = errors.New("netio: Close on an event loop does not wait for room")

// drain sends what is queued, also when another is the flusher: at once, or, if
// the caller is patient, until ctx ends. The error says why not all was sent.
func (o *Output) drain(ctx context.Context, patient func() bool) error {
	o.mu.Lock()
	flusher := o.Unlock()
	if flusher {
		if full, err := o.flush(o.sender, 0, time.Time{}); !full {
			return err
		}
	}
	if o.Queued() == 0 {
		return nil
	}
	if patient != nil && !patient() {
		if flusher {
			o.forsake(net.ErrClosed)
		}
		return errNoWait
	}
	if !flusher {
		return o.drained(ctx)
	}
	if ctx.Err() == nil {
		defer context.AfterFunc(ctx, o.sender.Wake)()
	}
	for {
		var by time.Time
		over := ctx.Err() != nil
		if over {
			by = time.Now().Add(lastMoment)
		}
		full, err := o.flush(o.sender, o.stall, by)
		switch {
		case !full:
			return err
		case over:
			o.forsake(net.ErrClosed)
			return context.Cause(ctx)
		case err != errWoken:
			o.Fail(ErrStalled)
			o.giveUp()
			return o.Err()
		}
	}
}

// lastMoment is what "at once" means to a Close whose context has ended: not
// every connection can be tried without any waiting.
const lastMoment = time.Millisecond

// forsake is giveUp on a connection that has not failed: what was dropped leaves
// a hole, after which nobody may send. It fails with why.
func (o *Output) forsake(why error) {
	o.Fail(why)
	o.giveUp()
}

// drained waits until another flusher has sent everything.
func (o *Output) drained(ctx context.Context) error {
	for ctx.Err() == nil {
		queued, handed := o.Queued(), o.HandedToKernel()
		if queued == 0 || o.Err() != nil {
			return o.Err()
		}
		soon, cancel := context.WithTimeoutCause(ctx, o.stall, ErrStalled)
		err := o.Wait(soon, queued)
		cancel()
		switch {
		case err == ErrStalled && o.HandedToKernel() != handed: // others queue as much as is sent
		case err != nil && ctx.Err() == nil:
			return err
		}
	}
	moment, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), lastMoment, context.Cause(ctx))
	defer cancel()
	return o.Wait(moment, 1)
}

// CloseWithin is Close with a context that ends after d.
func CloseWithin(c Conn, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return c.Close(ctx)
}
