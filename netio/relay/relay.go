// Package relay moves opaque bytes between two connections, as a proxy does. Between
// sockets bulk is spliced through pooled kernel pipes, and small pieces are copied.
//
// It owns nothing of the connections: who has made them closes them. What it owns is
// a pool of [Pipes], which belongs to whoever makes one; a process needs one.
package relay

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
)

// Moved is how many bytes a relay has moved: handed to the kernel, or to what lies
// below a connection that is no socket.
type Moved struct{ AToB, BToA int64 }

// Run moves bytes between a and b, in both directions, until both sides have ended,
// one of the connections fails, or ctx ends. The end of one side is passed on after
// its last byte; the other direction goes on. What a connection has received already
// and what is queued on it goes first.
//
// It holds both read roles and is the only writer: until it returns neither Receive
// nor Output may be used. It closes neither connection. The error is nil after two
// orderly ends, ctx's cause, or that of the first failure. After an error bytes may
// be lost, so close both: Close of a connection whose stream was cut short is as
// Abort, so that its peer does not take what came for all there was.
//
// To end a relay, end ctx. Close and Abort of a connection end it too, but not while
// bytes of that connection wait for the other one to take them; nor is the loss of a
// peer noticed then, before Config.WriteStall.
//
// It uses the caller's goroutine and one more. Between TCP and unix sockets on Linux
// bulk goes through a kernel pipe of pipes, without being copied into this process;
// small pieces are copied, which is cheaper for them, as is everything where pipes
// is nil or has none to give.
func Run(ctx context.Context, a, b netio.Conn, pipes *Pipes) (Moved, error) {
	r := &relay{ends: [2]netio.Conn{a, b}, pipes: pipes}
	r.deadline = r.until
	unhook := context.AfterFunc(ctx, func() { r.stop(context.Cause(ctx)) })
	ab, ba := r.lane(a, b), r.lane(b, a)
	var back sync.WaitGroup
	back.Go(func() { r.run(ctx, ba, a) })
	r.run(ctx, ab, b)
	back.Wait()
	unhook()
	return Moved{ab.moved(), ba.moved()}, r.end()
}

// A relay is what the two directions of a Run share.
type relay struct {
	// Set by Run, then constant.
	ends     [2]netio.Conn
	pipes    *Pipes
	deadline func() time.Time // r.until, bound once

	stopped atomic.Bool // set before the ends are woken

	mu struct {
		sync.Mutex
		err error // why it was stopped
	}
}

// A lane is one direction.
type lane interface {
	// run moves bytes until the end of the source, which it passes on, or until
	// the relay is stopped: then it returns errStopped.
	run(ctx context.Context) error
	moved() int64
}

var errStopped = errors.New("relay: the relay is stopped")

// run runs the lane that ends in dst.
func (r *relay) run(ctx context.Context, l lane, dst netio.Conn) {
	err := l.run(ctx)
	if err == nil {
		return
	}
	if err != errStopped {
		r.stop(err)
	}
	dst.Output().CutShort(r.cause())
}

// lane finds the best way from src to dst.
func (r *relay) lane(src, dst netio.Conn) lane {
	if l := r.spliceLane(src, dst); l != nil {
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
		c.Output().Wake()
	}
}

// cause is why the relay was stopped.
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
func (r *relay) clearOutput(ctx context.Context, c netio.Conn) error {
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
func (r *relay) flush(o *netio.Output) error {
	owing, err := o.FlushBy(r.deadline)
	if !owing {
		return err
	}
	o.CutShort(r.cause())
	o.GiveUp()
	return errStopped
}

// until is the deadline of a flush: none, until the relay is stopped.
func (r *relay) until() (by time.Time) {
	if r.stopped.Load() {
		by = longAgo
	}
	return by
}

// longAgo is a deadline in the past.
var longAgo = time.Unix(1, 0)

// passEnd ends our side of dst; nothing is queued there. It ends with the relay, as
// CloseWrite would not: TLS has bytes to send.
func (r *relay) passEnd(dst netio.Conn) error {
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
	src, dst netio.Conn
	n        int64
}

// moved implements lane; it is read once both lanes have ended.
func (l *anyLane) moved() int64 { return l.n }

// run implements lane. What was received is a View, which the output takes over: the
// block that the bytes came in is what is sent.
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
		outcome, err := l.src.Receive(false, step)
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
		case outcome == netio.Lost && l.r.stopped.Load():
			return errStopped
		case outcome == netio.Lost && err == io.EOF:
			return l.r.passEnd(l.dst)
		case outcome == netio.Lost:
			return err
		}
	}
	return errStopped
}
