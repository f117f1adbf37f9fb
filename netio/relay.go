package netio

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// Relayed is how many bytes a Relay has moved: handed to the kernel, or to what
// lies below a connection that is no socket.
type Relayed struct{ AToB, BToA int64 }

// Relay moves bytes between a and b, in both directions, until both sides have
// ended, one of the connections fails, or ctx ends. The end of one side is
// passed on after its last byte; the other direction goes on. What a connection
// has received already and what is queued on it goes first.
//
// Relay holds both read roles and is the only writer: until it returns neither
// Receive nor Output may be used. It closes neither connection. The error is nil
// after two orderly ends, ctx's cause, or that of the first failure. After an
// error bytes may be lost, so close both: Close of a connection whose stream was
// cut short is as Abort, so that its peer does not take what came for all there was.
//
// To end a relay, end ctx. Close and Abort of a connection end it too, but not
// while bytes of that connection wait for the other one to take them; nor is
// the loss of a peer noticed then, before Config.WriteStall.
//
// It uses the caller's goroutine and one more. Between TCP and unix sockets on
// Linux bulk data goes through a kernel pipe of the Net of whoever sends it,
// without being copied into this process; small pieces are copied, which is
// cheaper for them, as is everything where pipes are not to be had.
func Relay(ctx context.Context, a, b Conn) (Relayed, error) {
	r := &relay{ends: [2]Conn{a, b}}
	unhook := context.AfterFunc(ctx, func() { r.stop(context.Cause(ctx)) })
	ab, ba := r.lane(a, b), r.lane(b, a)
	var back sync.WaitGroup
	back.Go(func() { r.run(ctx, ba, a) })
	r.run(ctx, ab, b)
	back.Wait()
	unhook()
	return Relayed{ab.moved(), ba.moved()}, r.end()
}

// A relay is what the two directions of a Relay share.
type relay struct {
	ends    [2]Conn
	stopped atomic.Bool // set before the ends are woken

	mu struct {
		sync.Mutex
		err error // why it was stopped
	}
}

// A relayLane is one direction.
type relayLane interface {
	// run moves bytes until the end of the source, which it passes on, or until
	// the relay is stopped: then it returns errStopped.
	run(ctx context.Context) error
	moved() int64
}

var errStopped = errors.New("netio: the relay is stopped")

// run runs the lane that ends in dst.
func (r *relay) run(ctx context.Context, l relayLane, dst Conn) {
	err := l.run(ctx)
	if err == nil {
		return
	}
	if err != errStopped {
		r.stop(err)
	}
	dst.Output().Fail(cutShort{r.cause()})
}

// cutShort is what an Output fails with behind which something is missing of
// which the peer cannot know: no end may be sent.
type cutShort struct{ error }

// Unwrap gives the cause.
func (e cutShort) Unwrap() error { return e.error }

// lane finds the best way from src to dst.
func (r *relay) lane(src, dst Conn) relayLane {
	if l := r.sockLane(src, dst); l != nil {
		return l
	}
	return &anyLane{r: r, src: src, dst: dst}
}

// stop ends both directions; the first cause counts.
func (r *relay) stop(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.err != nil {
		return
	}
	r.mu.err = cause
	r.stopped.Store(true)
	for _, c := range r.ends {
		c.Kick()
		c.Output().sender.Wake()
	}
}

func (r *relay) cause() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.err
}

// end is called when both directions have ended.
func (r *relay) end() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.err == nil {
		// A context that ends from here on comes too late.
		r.mu.err = io.EOF
		return nil
	}
	return r.mu.err
}

// clearOutput sends what is queued on c. It waits for another flusher.
func (r *relay) clearOutput(ctx context.Context, c Conn) error {
	o := c.Output()
	o.Lock()
	if o.Unlock() {
		return r.flush(o)
	}
	err := o.Wait(ctx, 1)
	if ctx.Err() != nil {
		return context.Cause(ctx) // as the stop that is about to be
	}
	return err
}

// flush is Output.Flush, and ends when the relay is stopped.
func (r *relay) flush(o *Output) error {
	for {
		full, err := o.flush(o.sender, o.stall, time.Time{})
		switch {
		case !full:
			return err
		case err != errWoken:
			return o.stalled()
		case r.stopped.Load():
			o.forsake(cutShort{r.cause()})
			return errStopped
		}
	}
}

// passEnd ends our side of dst; nothing is queued there.
func (r *relay) passEnd(dst Conn) error {
	if _, own := dst.(interface{ noteLost() bool }); !own {
		return dst.CloseWrite()
	}
	// CloseWrite, so that it ends with the relay: TLS has bytes to send.
	o := dst.Output()
	o.Lock()
	o.EndLocked()
	if o.Unlock() {
		return r.flush(o)
	}
	return o.Err()
}

// An anyLane is a direction between any two Conns: what is received is queued
// as it is, without a copy, and flushed before more is received.
type anyLane struct {
	r        *relay
	src, dst Conn
	n        int64
}

func (l *anyLane) moved() int64 { return l.n }

func (l *anyLane) run(ctx context.Context) error {
	if err := l.r.clearOutput(ctx, l.dst); err != nil {
		return err
	}
	o := l.dst.Output()
	var v buf.View
	step := func(in *buf.In) (bool, error) {
		v = in.View(in.Len())
		return v.Len() == 0, nil
	}
	for !l.r.stopped.Load() {
		why, err := l.src.Receive(false, step)
		if n := v.Len(); n > 0 {
			o.Lock()
			o.Out().Move(v)
			v = buf.View{}
			if o.Unlock() {
				if err := l.r.flush(o); err != nil {
					return err
				}
			}
			if err := o.Err(); err != nil {
				return err
			}
			l.n += int64(n)
		}
		switch {
		case why == Lost && l.r.stopped.Load():
			return errStopped
		case why == Lost && err == io.EOF:
			return l.r.passEnd(l.dst)
		case why == Lost:
			return err
		}
	}
	return errStopped
}
